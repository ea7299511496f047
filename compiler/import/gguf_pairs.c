/* The pairs of a GGUF as an object for config items: `NAME.rope.freq_base` is freq_base in the object
 * rope, where NAME is the architecture; the keys of Apertus's activation, `xielu.beta`, are without NAME. */
#include <jansson.h>

#include "import_private.h"

enum { LONGEST_LIST = 4096, MAX_PAIRS = 4096 };

static const char general_architecture[] = "general.architecture";

/* What items call a key; NULL: it is not for them. */
static const char *known_as(const char *key, const char *prefix)
{
        static const char unnamed[] = "xielu.";
        size_t skipped = strlen(prefix);
        if (!strncmp(key, prefix, skipped))
                return key + skipped;
        return strncmp(key, unnamed, sizeof unnamed - 1) ? NULL : key;
}

/* The object in a field, created if missing; NULL: the field has a value. */
static ConfigObject *inner_object(Arena *arena, ConfigObject *o, const char *key, Span span)
{
        ConfigField *f = object_find(o, key);
        if (f)
                return f->value.kind == CONFIG_OBJECT ? f->value.object : NULL;
        ConfigObject *inner = NEW(arena, ConfigObject);
        GROW(arena, o->field, o->n, o->capacity);
        o->field[o->n++] =
                (ConfigField){.key = key, .span = span, .value = {.kind = CONFIG_OBJECT, .object = inner}};
        return inner;
}

/* Stores a value under its path, whose parts are separated by dots. */
static bool gguf_put(Arena *arena, Interner *names, ConfigObject *root, const char *path, Span span,
                     ConfigValue value)
{
        ConfigObject *o = root;
        for (const char *dot; o && (dot = strchr(path, '.')); path = dot + 1)
                o = inner_object(arena, o, intern(names, path, (int)(dot - path)), span);
        const char *key = intern(names, path, -1);
        if (!o || object_find(o, key))
                return false;
        GROW(arena, o->field, o->n, o->capacity);
        o->field[o->n++] = (ConfigField){.key = key, .span = span, .value = value};
        return true;
}

/* The architecture's pairs, one per line, `NAME.rope.freq_base = 10000.0`, for messages. */
static Source *listed(Arena *arena, const char *path, const json_t *pairs, const char *prefix)
{
        Text *t = text_new(arena);
        const char *key;
        json_t *value;
        json_object_foreach ((json_t *)pairs, key, value) {
                char *shown = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_ENSURE_ASCII);
                if (known_as(key, prefix))
                        text_printf(t, "%s = %.80s\n", key, shown ? shown : "");
                free(shown);
        }
        return source_new(arena, path, t->data, (int32_t)t->n);
}

static bool put_all(Arena *arena, Interner *names, Diag *diag, const Source *source, json_t *pairs,
                    const char *prefix, ConfigObject *root)
{
        const char *key;
        json_t *value;
        int line = 0;
        json_object_foreach (pairs, key, value) {
                const char *path = known_as(key, prefix);
                if (!path)
                        continue;
                if (line == MAX_PAIRS) {
                        diag_error(diag, (Span){0}, "%s: more than %d keys begin with %s", source->path,
                                   MAX_PAIRS, prefix);
                        return false;
                }
                int32_t begin = source->line[line++];
                Span span = {source, begin, begin + (int32_t)strlen(key)};
                ConfigValue said = config_of_json(arena, names, diag, value, span);
                if (!gguf_put(arena, names, root, path, span, said)) {
                        diag_error(diag, span, "%s has a value, and keys below it", key);
                        return false;
                }
        }
        return diag->count == 0;
}

bool pairs_read(Arena *arena, Interner *names, Diag *diag, const Checkpoint *file, ConfigObject **root,
                const char **architecture)
{
        CkError error;
        json_t *pairs = checkpoint_pairs_json(file, LONGEST_LIST, &error);
        if (!pairs) {
                diag_error(diag, (Span){0}, "%s", error.message);
                return false;
        }
        const char *of = json_string_value(json_object_get(pairs, general_architecture));
        bool good = of && *of;
        if (good) {
                const char *prefix = arena_printf(arena, "%s.", of);
                *architecture = intern(names, arena_printf(arena, "gguf:%s", of), -1);
                *root = NEW(arena, ConfigObject);
                good = put_all(arena, names, diag, listed(arena, checkpoint_path(file), pairs, prefix), pairs,
                               prefix, *root);
        } else {
                diag_error(diag, (Span){0}, "%s: it has no %s, which names the architecture",
                           checkpoint_path(file), general_architecture);
        }
        json_decref(pairs);
        return good;
}
