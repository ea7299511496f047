/* Values of config items: construction, comparison, and their text in messages. */
#include <math.h>
#include <stdlib.h>

#include "import_private.h"

enum { SHOWN = 80 };

ConfigValue config_bool(bool b)
{
        return (ConfigValue){.kind = CONFIG_BOOL, .number = b};
}

/* An integer that a double can't represent exactly is a real. */
ConfigValue config_number(double x, bool is_int)
{
        return (ConfigValue){
                .kind = CONFIG_NUMBER, .is_int = is_int && fabs(x) <= 9007199254740992.0, .number = x + 0.0};
}

ConfigValue config_text(const char *text)
{
        return (ConfigValue){.kind = CONFIG_TEXT, .text = text};
}

ConfigField *object_find(const ConfigObject *o, const char *key)
{
        for (int i = 0; o && i < o->n; i++)
                if (o->field[i].key == key)
                        return &o->field[i];
        return NULL;
}

static bool call_same(const ConfigTerm *a, const ConfigTerm *b)
{
        if (strcmp(a->head, b->head) != 0 || a->n != b->n)
                return false;
        for (int i = 0; i < a->n; i++)
                if (!text_equal(a->name[i], b->name[i]) || !config_same(a->value[i], b->value[i]))
                        return false;
        return true;
}

bool config_same(ConfigValue a, ConfigValue b)
{
        if (a.kind != b.kind)
                return false;
        switch (a.kind) {
        case CONFIG_NONE: return true;
        case CONFIG_BOOL:
        case CONFIG_NUMBER: return a.number == b.number;
        case CONFIG_TEXT: return !strcmp(a.text, b.text);
        case CONFIG_LIST:
                for (int i = 0; i < a.list->n && a.list->n == b.list->n; i++)
                        if (!config_same(a.list->item[i], b.list->item[i]))
                                return false;
                return a.list->n == b.list->n;
        case CONFIG_OBJECT: return a.object == b.object;
        case CONFIG_CALL: return call_same(a.call, b.call);
        case CONFIG_BLOCK: return a.block == b.block;
        }
        return false;
}

static const char *not_finite_word(double x)
{
        return isnan(x) ? "NaN" : x > 0 ? "Infinity" : "-Infinity";
}

const char *config_kind_name(ConfigValue v)
{
        switch (v.kind) {
        case CONFIG_NONE: return "none";
        case CONFIG_BOOL: return v.number != 0 ? "true" : "false";
        case CONFIG_NUMBER:
                if (!isfinite(v.number))
                        return not_finite_word(v.number);
                return v.is_int || v.number == floor(v.number) ? "a whole number" : "a real number";
        case CONFIG_TEXT: return "a text";
        case CONFIG_LIST: return "a list";
        case CONFIG_OBJECT: return "an object";
        case CONFIG_CALL: return v.call->head;
        case CONFIG_BLOCK: return "a block";
        }
        return "";
}

/* Only one level: nested values are omitted. */
static void config_value_show(Text *t, ConfigValue v, int depth)
{
        if (depth > 2 && (v.kind == CONFIG_LIST || v.kind == CONFIG_OBJECT)) {
                text_printf(t, "…");
                return;
        }
        switch (v.kind) {
        case CONFIG_NONE: text_printf(t, "null"); break;
        case CONFIG_NUMBER:
                text_printf(t, "%s",
                            isfinite(v.number) ? shortest_number(t->arena, v.number)
                                               : not_finite_word(v.number));
                break;
        case CONFIG_TEXT: text_printf(t, "\"%.*s\"", 2 * SHOWN, v.text); break;
        case CONFIG_LIST:
                for (int i = 0; i < v.list->n && t->n < INT64_C(4) * SHOWN; i++) {
                        text_printf(t, i ? ", " : "[");
                        config_value_show(t, v.list->item[i], depth + 1);
                }
                text_printf(t, v.list->n ? "]" : "[]");
                break;
        case CONFIG_OBJECT:
                for (int i = 0; i < v.object->n && t->n < INT64_C(4) * SHOWN; i++) {
                        text_printf(t, "%s\"%s\": ", i ? ", " : "{", v.object->field[i].key);
                        config_value_show(t, v.object->field[i].value, depth + 1);
                }
                text_printf(t, v.object->n ? "}" : "{}");
                break;
        case CONFIG_BOOL:
        case CONFIG_CALL:
        case CONFIG_BLOCK: text_printf(t, "%s", config_kind_name(v)); break;
        }
}

/* The texts of a long object, such as the method of a quantization_config. */
static ConfigValue texts_of(Arena *arena, const ConfigObject *o)
{
        ConfigObject *texts = NEW(arena, ConfigObject);
        texts->field = NEW_ARRAY(arena, ConfigField, o->n);
        for (int i = 0; i < o->n; i++)
                if (o->field[i].value.kind == CONFIG_TEXT)
                        texts->field[texts->n++] = o->field[i];
        return (ConfigValue){.kind = CONFIG_OBJECT, .object = texts->n ? texts : (ConfigObject *)o};
}

/* The shortest form of the number: 32000, 5e5, 1e-5. */
const char *shortest_number(Arena *arena, double x)
{
        char text[40];
        if (x == floor(x) && fabs(x) < 9007199254740992.0) {
                snprintf(text, sizeof text, "%.0f", x);
                size_t n = strlen(text), zeros = 0;
                while (zeros < n && text[n - 1 - zeros] == '0')
                        zeros++;
                if (zeros < 4 || n - zeros > 2 || x < 0)
                        return arena_strdup(arena, text);
                return n - zeros == 1 ? arena_printf(arena, "%ce%d", text[0], (int)zeros)
                                      : arena_printf(arena, "%c.%ce%d", text[0], text[1], (int)zeros + 1);
        }
        for (int digits = 1; digits <= 17; digits++) {
                snprintf(text, sizeof text, "%.*g", digits, x);
                if (strtod(text, NULL) == x)
                        break;
        }
        char *e = strchr(text, 'e');
        int power = e ? (int)strtol(e + 1, NULL, 10) : 0;
        return e ? arena_printf(arena, "%.*se%d", (int)(e - text), text, power) : arena_strdup(arena, text);
}

const char *config_shown(Arena *arena, ConfigValue v)
{
        Text *t = text_new(arena);
        config_value_show(t, v, 1);
        if (t->n > SHOWN && v.kind == CONFIG_OBJECT) {
                t = text_new(arena);
                config_value_show(t, texts_of(arena, v.object), 1);
        }
        if (t->n <= SHOWN)
                return t->data;
        int64_t n = SHOWN;
        while (n > 0 && ((unsigned char)t->data[n] & 0xc0) == 0x80)
                n--;
        return arena_printf(arena, "%.*s…", (int)n, t->data);
}
