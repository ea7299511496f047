/* Rejects keys that nothing reads.
 *
 * A key of the file must be read or ignored by the item, or its value must be null.  The same holds for each
 * field of an object whose fields are read.  All other keys are rejected, also with values `false` and 0,
 * since an unknown key may change the model.  Keys of quantization_config are those of its method, which
 * the reader of weights knows. */
#include "import_private.h"

typedef struct {
        Import *m;
        const char *file;
        bool force;
        Paths *forced;
        bool good;
} Strict;

/* The most similar key of the item. */
static const char *nearest_key(const Import *m, const char *key)
{
        const char *name[512];
        int n = 0;
        for (int i = 0; i < m->nentry && n < 512; i++)
                if (m->entry[i].kind == OF_KEY)
                        name[n++] = m->entry[i].ast->name;
        for (int i = 0; i < n; i++)
                if (strlen(key) > 3 && strstr(name[i], key))
                        return name[i];
        return nearest_name(key, name, n);
}

static void strict_report(Strict *s, const char *path, const ConfigField *f)
{
        if (s->force) {
                fprintf(stderr, "%s:%d: warning: %s is never used; it may change the model's results\n",
                        s->file, span_line(f->span), path);
                paths_add(s->m->arena, s->forced, path);
                return;
        }
        s->good = false;
        diag_error(s->m->diag, f->span, "%s is never used", path);
        const char *near = nearest_key(s->m, f->key);
        if (near && !strchr(path, '.'))
                diag_hint(s->m->diag, "config %s reads %s", s->m->item->name, near);
        diag_hint(s->m->diag, "it may change the model's results; --force ignores it");
}

static bool is_read(const Import *m, const char *key)
{
        for (int i = 0; i < m->nentry; i++)
                if (m->entry[i].kind == OF_KEY && m->entry[i].ast->name == key)
                        return true;
        return false;
}

static bool key_is_known(const Import *m, const char *path)
{
        return paths_have(&m->ignored, path) || paths_have(&m->omitted, path);
}

/* A field of a part that is itself a configuration: ignored keys are ignored there too. */
static bool is_known_in_part(const Import *m, const char *part, const char *key)
{
        return paths_have(&m->parts, part) && key_is_known(m, key);
}

/* Checks the fields of an object that an item has read. */
static void check_fields(Strict *s, const char *path, const ConfigObject *o)
{
        for (int i = 0; o->looked_into && i < o->n; i++) {
                const ConfigField *f = &o->field[i];
                const char *inside = arena_printf(s->m->arena, "%s.%s", path, f->key);
                if (f->value.kind == CONFIG_NONE || key_is_known(s->m, inside) ||
                    is_known_in_part(s->m, path, f->key))
                        continue;
                if (!f->seen)
                        strict_report(s, inside, f);
                else if (f->value.kind == CONFIG_OBJECT)
                        check_fields(s, inside, f->value.object);
        }
}

/* Whether it is the quantization_config of a method that is read; checks its keys. */
static bool is_quantization(Strict *s, const ConfigField *f)
{
        const char *method = NULL;
        if (strcmp(f->key, QUANTIZATION) != 0 || f->value.kind != CONFIG_OBJECT)
                return false;
        const ConfigObject *o = f->value.object;
        for (int i = 0; i < o->n; i++)
                if (!strcmp(o->field[i].key, "quant_method") && o->field[i].value.kind == CONFIG_TEXT)
                        method = o->field[i].value.text;
        if (!method || !quantization_is_read(method))
                return false;
        for (int i = 0; i < o->n; i++)
                if (o->field[i].value.kind != CONFIG_NONE && !quantization_has_key(method, o->field[i].key))
                        strict_report(s, arena_printf(s->m->arena, "%s.%s", QUANTIZATION, o->field[i].key),
                                      &o->field[i]);
        return true;
}

static void check_object(Strict *s, const ConfigObject *o, const char *inner)
{
        for (int i = 0; i < o->n; i++) {
                const ConfigField *f = &o->field[i];
                if (f->value.kind == CONFIG_NONE || f->key == inner || key_is_known(s->m, f->key) ||
                    is_quantization(s, f))
                        continue;
                if (!is_read(s->m, f->key))
                        strict_report(s, f->key, f);
                else if (f->value.kind == CONFIG_OBJECT)
                        check_fields(s, f->key, f->value.object);
        }
}

bool strict_keys(Import *m, const char *file, bool force, Paths *forced)
{
        Strict s = {m, file, force, forced, true};
        check_object(&s, m->inner, NULL);
        if (m->inner != m->root)
                check_object(&s, m->root, m->path.path[0]);
        return s.good;
}
