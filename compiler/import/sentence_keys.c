/* Files, keys and values of sentence-transformers: each file's object, and its unknown keys. */
#include <math.h>
#include <string.h>
#include <sys/stat.h>

#include "sentence_private.h"

bool sentence_refuse(Modules *r, Span span, const char *message)
{
        if (!r->m->failed)
                diag_error(r->m->diag, span, "%s", message);
        r->m->failed = true;
        return false;
}

const char *sentence_text(Modules *r, const char *format, const char *a, const char *b)
{
        return arena_printf(r->m->arena, format, a, b);
}

/* --- files -------------------------------------------------------------------------------------------------------- */

bool sentence_has(Modules *r, const char *path)
{
        struct stat about;
        return stat(sentence_text(r, "%s%s", r->folder, path), &about) == 0;
}

bool sentence_file(Modules *r, const char *path, ConfigKind kind, ConfigValue *value)
{
        const char *why = NULL, *whole = sentence_text(r, "%s%s", r->folder, path);
        const Source *source = read_source(r->m->arena, whole, &why);
        if (!source) {
                fprintf(stderr, "lathe: can't read %s: %s\n", whole, why);
                r->m->failed = r->s->env_error = true;
                return false;
        }
        if (!json_read(r->m->arena, r->names, r->m->diag, source, value))
                return r->m->failed = true, false;
        return value->kind == kind ||
               sentence_refuse(r, (Span){source, 0, 1},
                               kind == CONFIG_OBJECT ? "expected an object of keys, { … }, here"
                                                     : "expected a list, [ … ], here");
}

/* --- keys --------------------------------------------------------------------------------------------------------- */

const ConfigField *sentence_key(Modules *r, const ConfigObject *o, const char *key)
{
        return object_find(o, intern(r->names, key, -1));
}

/* Whether every key of the object is one of `known`, names with a space after each, or has the value null. */
bool sentence_keys(Modules *r, const ConfigObject *o, const char *known, const char *of)
{
        for (int i = 0; i < o->n; i++) {
                const ConfigField *f = &o->field[i];
                const char *at = known;
                size_t n = strlen(f->key);
                while ((at = strstr(at, f->key)) && ((at > known && at[-1] != ' ') || at[n] != ' '))
                        at++;
                if ((!at || !n) && f->value.kind != CONFIG_NONE)
                        return sentence_refuse(
                                r, f->span,
                                sentence_text(r, "%s of %s is not supported; it may change the vectors",
                                              f->key, of));
        }
        return true;
}

bool sentence_wants(Modules *r, const ConfigField *f, const char *what)
{
        return sentence_refuse(r, f->span,
                               arena_printf(r->m->arena, "%s: expected %s, not %s", f->key, what,
                                            config_shown(r->m->arena, f->value)));
}

/* The value of a bool; `otherwise` if it is absent or null. */
bool sentence_truth(Modules *r, const ConfigObject *o, const char *key, bool otherwise)
{
        const ConfigField *f = sentence_key(r, o, key);
        if (!f || f->value.kind == CONFIG_NONE)
                return otherwise;
        if (f->value.kind != CONFIG_BOOL)
                sentence_wants(r, f, "true or false");
        return f->value.number != 0;
}

/* A size; 0: the key is absent or null. */
int64_t sentence_size(Modules *r, const ConfigObject *o, const char *key)
{
        const ConfigField *f = sentence_key(r, o, key);
        if (!f || f->value.kind == CONFIG_NONE)
                return 0;
        double x = f->value.kind == CONFIG_NUMBER ? f->value.number : 0;
        if (x < 1 || x != floor(x) || x > INT32_MAX) {
                sentence_wants(r, f, "a whole number of at least 1");
                return 0;
        }
        return (int64_t)x;
}

/* A text; NULL: the key is absent or null. */
const char *sentence_word(Modules *r, const ConfigObject *o, const char *key)
{
        const ConfigField *f = sentence_key(r, o, key);
        if (!f || f->value.kind == CONFIG_NONE)
                return NULL;
        if (f->value.kind == CONFIG_TEXT)
                return f->value.text;
        sentence_wants(r, f, "a text");
        return NULL;
}

bool sentence_is_empty(ConfigValue v)
{
        return v.kind == CONFIG_NONE || (v.kind == CONFIG_OBJECT && v.object->n == 0) ||
               (v.kind == CONFIG_LIST && v.list->n == 0);
}
