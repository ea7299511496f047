/* Values that config items compute with: making them, comparing them, showing them in messages. */
#include <math.h>
#include <stdlib.h>

#include "import_private.h"

enum { SHOWN = 80 };

Said said_bool(bool b)
{
        return (Said){.kind = SAID_BOOL, .number = b};
}

/* An integer that a double can't hold exactly is a real. */
Said said_number(double x, bool is_int)
{
        return (Said){
                .kind = SAID_NUMBER, .is_int = is_int && fabs(x) <= 9007199254740992.0, .number = x + 0.0};
}

Said said_text(const char *text)
{
        return (Said){.kind = SAID_TEXT, .text = text};
}

SaidField *object_find(const SaidObject *o, const char *key)
{
        for (int i = 0; o && i < o->n; i++)
                if (o->field[i].key == key)
                        return &o->field[i];
        return NULL;
}

static bool same_name(const char *a, const char *b)
{
        return a == b || (a && b && !strcmp(a, b));
}

static bool call_same(const SaidCall *a, const SaidCall *b)
{
        if (strcmp(a->head, b->head) != 0 || a->n != b->n)
                return false;
        for (int i = 0; i < a->n; i++)
                if (!same_name(a->name[i], b->name[i]) || !said_same(a->value[i], b->value[i]))
                        return false;
        return true;
}

bool said_same(Said a, Said b)
{
        if (a.kind != b.kind)
                return false;
        switch (a.kind) {
        case SAID_NONE: return true;
        case SAID_BOOL:
        case SAID_NUMBER: return a.number == b.number;
        case SAID_TEXT: return !strcmp(a.text, b.text);
        case SAID_LIST:
                for (int i = 0; i < a.list->n && a.list->n == b.list->n; i++)
                        if (!said_same(a.list->item[i], b.list->item[i]))
                                return false;
                return a.list->n == b.list->n;
        case SAID_OBJECT: return a.object == b.object;
        case SAID_CALL: return call_same(a.call, b.call);
        case SAID_BLOCK: return a.block == b.block;
        }
        return false;
}

const char *said_kind_name(Said v)
{
        switch (v.kind) {
        case SAID_NONE: return "none";
        case SAID_BOOL: return v.number != 0 ? "true" : "false";
        case SAID_NUMBER: return v.is_int || v.number == floor(v.number) ? "a whole number" : "a real number";
        case SAID_TEXT: return "a text";
        case SAID_LIST: return "a list";
        case SAID_OBJECT: return "an object";
        case SAID_CALL: return v.call->head;
        case SAID_BLOCK: return "a block";
        }
        return "";
}

/* Only flat: what is inside of what is inside is left out. */
static void show(Text *t, Said v, int depth)
{
        if (depth > 2 && (v.kind == SAID_LIST || v.kind == SAID_OBJECT)) {
                text_printf(t, "…");
                return;
        }
        switch (v.kind) {
        case SAID_NONE: text_printf(t, "null"); break;
        case SAID_NUMBER: text_printf(t, "%s", shortest_number(t->arena, v.number)); break;
        case SAID_TEXT: text_printf(t, "\"%.*s\"", 2 * SHOWN, v.text); break;
        case SAID_LIST:
                for (int i = 0; i < v.list->n && t->n < INT64_C(4) * SHOWN; i++) {
                        text_printf(t, i ? ", " : "[");
                        show(t, v.list->item[i], depth + 1);
                }
                text_printf(t, v.list->n ? "]" : "[]");
                break;
        case SAID_OBJECT:
                for (int i = 0; i < v.object->n && t->n < INT64_C(4) * SHOWN; i++) {
                        text_printf(t, "%s\"%s\": ", i ? ", " : "{", v.object->field[i].key);
                        show(t, v.object->field[i].value, depth + 1);
                }
                text_printf(t, v.object->n ? "}" : "{}");
                break;
        case SAID_BOOL:
        case SAID_CALL:
        case SAID_BLOCK: text_printf(t, "%s", said_kind_name(v)); break;
        }
}

/* Of a long object its texts: a quantization_config's method is one. */
static Said texts_of(Arena *arena, const SaidObject *o)
{
        SaidObject *texts = NEW(arena, SaidObject);
        texts->field = NEW_ARRAY(arena, SaidField, o->n);
        for (int i = 0; i < o->n; i++)
                if (o->field[i].value.kind == SAID_TEXT)
                        texts->field[texts->n++] = o->field[i];
        return (Said){.kind = SAID_OBJECT, .object = texts->n ? texts : (SaidObject *)o};
}

/* The fewest digits that name the number, as one writes it: 32000, 5e5, 1e-5. */
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

const char *said_shown(Arena *arena, Said v)
{
        Text *t = text_new(arena);
        show(t, v, 1);
        if (t->n > SHOWN && v.kind == SAID_OBJECT) {
                t = text_new(arena);
                show(t, texts_of(arena, v.object), 1);
        }
        if (t->n <= SHOWN)
                return t->data;
        int64_t n = SHOWN;
        while (n > 0 && ((unsigned char)t->data[n] & 0xc0) == 0x80)
                n--;
        return arena_printf(arena, "%.*s…", (int)n, t->data);
}
