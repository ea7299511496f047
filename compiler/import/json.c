/* Reads a JSON file as values, with the position of each key.
 *
 * jansson parses the file and returns keys in the file's order.  So their positions are found by a cursor
 * over the text that stops at each string followed by a colon. */
#include <jansson.h>
#include <math.h>

#include "import_private.h"

typedef struct {
        Arena *arena;
        Interner *names;
        Diag *diag;
        const Source *source;
        int32_t at; /* offset after the last key */
        bool failed;
} JsonReader;

static ConfigValue refuse_json(JsonReader *r, Span span, const char *why)
{
        if (!r->failed)
                diag_error(r->diag, span, "%s", why);
        r->failed = true;
        return (ConfigValue){0};
}

/* End of the string that begins at i. */
static int32_t string_end(const Source *s, int32_t i)
{
        for (i++; i < s->length && s->text[i] != '"'; i++)
                i += s->text[i] == '\\';
        return i + 1;
}

/* The next key: a string followed by a colon. */
static Span next_key(JsonReader *r)
{
        const Source *s = r->source;
        while (r->at < s->length) {
                int32_t begin = r->at, colon;
                if (s->text[begin] != '"') {
                        r->at++;
                        continue;
                }
                r->at = colon = string_end(s, begin);
                while (colon < s->length && strchr(" \t\r\n", s->text[colon]))
                        colon++;
                if (colon < s->length && s->text[colon] == ':')
                        return (Span){s, begin, r->at};
        }
        return (Span){s, s->length, s->length};
}

static ConfigValue value_of_json(JsonReader *r, const json_t *json, Span key, int depth);

static ConfigValue list_of_json(JsonReader *r, const json_t *json, Span key, int depth)
{
        size_t n = json_array_size(json);
        ConfigList *list = NEW(r->arena, ConfigList);
        *list = (ConfigList){(int)n, NEW_ARRAY(r->arena, ConfigValue, (int64_t)n)};
        for (size_t i = 0; i < n; i++)
                list->item[i] = value_of_json(r, json_array_get(json, i), key, depth);
        return (ConfigValue){.kind = CONFIG_LIST, .list = list};
}

/* transformers writes numbers that are not finite as {"__float__": "Infinity"}; other objects are
 * unchanged. */
static ConfigValue tagged_number(ConfigObject *o)
{
        static const struct {
                const char *word;
                double value;
        } tag[] = {{"NaN", NAN}, {"Infinity", INFINITY}, {"-Infinity", -INFINITY}};
        bool tagged =
                o->n == 1 && !strcmp(o->field[0].key, "__float__") && o->field[0].value.kind == CONFIG_TEXT;
        for (int i = 0; tagged && i < 3; i++)
                if (!strcmp(o->field[0].value.text, tag[i].word))
                        return config_number(tag[i].value, false);
        return (ConfigValue){.kind = CONFIG_OBJECT, .object = o};
}

static ConfigValue object_of(JsonReader *r, json_t *json, int depth)
{
        ConfigObject *o = NEW(r->arena, ConfigObject);
        o->field = NEW_ARRAY(r->arena, ConfigField, (int64_t)json_object_size(json));
        const char *key;
        json_t *value;
        json_object_foreach (json, key, value) {
                Span span = next_key(r);
                ConfigField *field = &o->field[o->n++];
                *field = (ConfigField){.key = intern(r->names, key, -1), .span = span};
                field->value = value_of_json(r, value, span, depth);
        }
        return tagged_number(o);
}

static ConfigValue integer_of_json(JsonReader *r, const json_t *json, Span key)
{
        static const json_int_t exact = INT64_C(1) << 53;
        json_int_t n = json_integer_value(json);
        if (n > exact || n < -exact)
                return refuse_json(r, key, "a whole number beyond 2^53 can't be held exactly");
        return config_number((double)n, true);
}

static ConfigValue value_of_json(JsonReader *r, const json_t *json, Span key, int depth)
{
        if (depth > MAX_JSON_DEPTH)
                return refuse_json(r, key,
                                   arena_printf(r->arena, "nested more than %d deep", MAX_JSON_DEPTH));
        double number;
        switch (json_typeof(json)) {
        case JSON_OBJECT: return object_of(r, (json_t *)json, depth + 1);
        case JSON_ARRAY: return list_of_json(r, json, key, depth + 1);
        case JSON_STRING:
                return json_not_finite(json, &number)
                               ? config_number(number, false)
                               : config_text(arena_strdup(r->arena, json_string_value(json)));
        case JSON_INTEGER: return integer_of_json(r, json, key);
        case JSON_REAL: return config_number(json_real_value(json), false);
        case JSON_TRUE: return config_bool(true);
        case JSON_FALSE: return config_bool(false);
        case JSON_NULL: return (ConfigValue){0};
        }
        return (ConfigValue){0};
}

ConfigValue config_of_json(Arena *arena, Interner *names, Diag *diag, const json_t *json, Span span)
{
        JsonReader r = {.arena = arena, .names = names, .diag = diag, .source = span.source};
        return value_of_json(&r, json, span, 0);
}

/* The error of jansson, more specific if possible. */
static const char *fault_of(Arena *arena, const json_error_t *error)
{
        switch (json_error_code(error)) {
        case json_error_duplicate_key: return "this key occurs twice in one object";
        case json_error_stack_overflow:
                return arena_printf(arena, "nested more than %d deep", MAX_JSON_DEPTH);
        default: return arena_printf(arena, "this is not valid JSON: %s", error->text);
        }
}

bool json_read(Arena *arena, Interner *names, Diag *diag, const Source *source, ConfigValue *value)
{
        JsonReader r = {.arena = arena, .names = names, .diag = diag, .source = source};
        json_error_t error;
        if (source->length > MAX_JSON_BYTES)
                return refuse_json(&r, (Span){source, 0, 0}, "larger than 1 MB: this is not a configuration"),
                       false;
        const char *zero = memchr(source->text, 0, (size_t)source->length);
        if (zero) { /* jansson would stop there */
                int32_t at = (int32_t)(zero - source->text);
                return refuse_json(&r, (Span){source, at, at}, "byte 0 is not part of JSON"), false;
        }
        json_begin();
        json_t *json = json_parse(source->text, (size_t)source->length, 0, &error);
        if (!json && json_out_of_memory())
                arena_fail(arena);
        if (!json) {
                int32_t at = error.position > 0 ? error.position - 1 : 0;
                at = at < source->length ? at : source->length;
                return refuse_json(&r, (Span){source, at, at}, fault_of(arena, &error)), false;
        }
        *value = value_of_json(&r, json, (Span){source, 0, 1}, 0);
        json_decref(json);
        return !r.failed;
}
