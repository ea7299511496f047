/* A file of JSON to values, with the place of each key.
 *
 * jansson says what is valid; keys come out of it in the file's order, so that a cursor over the text, which stops at each string with
 * a colon behind it, finds their places. */
#include <jansson.h>
#include <math.h>

#include "import_private.h"

typedef struct {
        Arena *arena;
        Interner *names;
        Diag *diag;
        const Source *source;
        int32_t at; /* behind the last key */
        bool failed;
} Reader;

static Said fail(Reader *r, Span span, const char *why)
{
        if (!r->failed)
                diag_error(r->diag, span, "%s", why);
        r->failed = true;
        return (Said){0};
}

/* Behind the string that begins at i. */
static int32_t string_end(const Source *s, int32_t i)
{
        for (i++; i < s->length && s->text[i] != '"'; i++)
                i += s->text[i] == '\\';
        return i + 1;
}

/* The next key: a string with a colon behind it. */
static Span next_key(Reader *r)
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

static Said value_of(Reader *r, const json_t *json, Span key, int depth);

static Said list_of(Reader *r, const json_t *json, Span key, int depth)
{
        size_t n = json_array_size(json);
        SaidList *list = NEW(r->arena, SaidList);
        *list = (SaidList){(int)n, NEW_ARRAY(r->arena, Said, (int64_t)n)};
        for (size_t i = 0; i < n; i++)
                list->item[i] = value_of(r, json_array_get(json, i), key, depth);
        return (Said){.kind = SAID_LIST, .list = list};
}

static Said object_of(Reader *r, json_t *json, int depth)
{
        SaidObject *o = NEW(r->arena, SaidObject);
        o->field = NEW_ARRAY(r->arena, SaidField, (int64_t)json_object_size(json));
        const char *key;
        json_t *value;
        json_object_foreach (json, key, value) {
                Span span = next_key(r);
                SaidField *field = &o->field[o->n++];
                *field = (SaidField){.key = intern(r->names, key, -1), .span = span};
                field->value = value_of(r, value, span, depth);
        }
        return (Said){.kind = SAID_OBJECT, .object = o};
}

static Said integer_of(Reader *r, const json_t *json, Span key)
{
        static const json_int_t exact = INT64_C(1) << 53;
        json_int_t n = json_integer_value(json);
        if (n > exact || n < -exact)
                return fail(r, key, "a whole number beyond 2^53 can't be held exactly");
        return said_number((double)n, true);
}

static Said value_of(Reader *r, const json_t *json, Span key, int depth)
{
        if (depth > MAX_JSON_DEPTH)
                return fail(r, key, arena_printf(r->arena, "nested more than %d deep", MAX_JSON_DEPTH));
        switch (json_typeof(json)) {
        case JSON_OBJECT: return object_of(r, (json_t *)json, depth + 1);
        case JSON_ARRAY: return list_of(r, json, key, depth + 1);
        case JSON_STRING: return said_text(arena_strdup(r->arena, json_string_value(json)));
        case JSON_INTEGER: return integer_of(r, json, key);
        case JSON_REAL: return said_number(json_real_value(json), false);
        case JSON_TRUE: return said_bool(true);
        case JSON_FALSE: return said_bool(false);
        case JSON_NULL: return (Said){0};
        }
        return (Said){0};
}

Said json_said(Arena *arena, Interner *names, Diag *diag, const json_t *json, Span span)
{
        Reader r = {.arena = arena, .names = names, .diag = diag, .source = span.source};
        return value_of(&r, json, span, 0);
}

/* What jansson found wrong, in our words where those say more. */
static const char *fault_of(Arena *arena, const json_error_t *error)
{
        switch (json_error_code(error)) {
        case json_error_duplicate_key: return "this key stands twice in one object";
        case json_error_stack_overflow:
                return arena_printf(arena, "nested more than %d deep", MAX_JSON_DEPTH);
        default: return arena_printf(arena, "this is no valid JSON: %s", error->text);
        }
}

bool json_read(Arena *arena, Interner *names, Diag *diag, const Source *source, Said *value)
{
        Reader r = {.arena = arena, .names = names, .diag = diag, .source = source};
        json_error_t error;
        if (source->length > MAX_JSON_BYTES)
                return fail(&r, (Span){source, 0, 0}, "larger than 1 MB: this is no configuration"), false;
        const char *zero = memchr(source->text, 0, (size_t)source->length);
        if (zero) { /* jansson would end there */
                int32_t at = (int32_t)(zero - source->text);
                return fail(&r, (Span){source, at, at}, "byte 0 is no part of JSON"), false;
        }
        json_t *json = json_loadb(source->text, (size_t)source->length, JSON_REJECT_DUPLICATES, &error);
        if (!json) {
                int32_t at = error.position > 0 ? error.position - 1 : 0;
                at = at < source->length ? at : source->length;
                return fail(&r, (Span){source, at, at}, fault_of(arena, &error)), false;
        }
        *value = value_of(&r, json, (Span){source, 0, 1}, 0);
        json_decref(json);
        return !r.failed;
}
