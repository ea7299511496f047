/* Values of a template, with Python's truth, equality, order and iteration. */
#include <math.h>

#include "chat_private.h"

ChatValue chat_undefined(Chat *c, const char *format, ...)
{
        va_list args;
        va_start(args, format);
        ChatValue v = {.kind = V_UNDEFINED, .text = arena_vprintf(c->arena, format, args)};
        va_end(args);
        return v;
}

ChatValue chat_bool(bool truth)
{
        return (ChatValue){.kind = V_BOOL, .truth = truth};
}

ChatValue chat_int(int64_t i)
{
        return (ChatValue){.kind = V_INT, .integer = i};
}

ChatValue chat_float(double x)
{
        return (ChatValue){.kind = V_FLOAT, .real = x};
}

ChatValue chat_text(const char *text, int64_t n)
{
        return (ChatValue){.kind = V_TEXT, .text = text, .n = n};
}

ChatValue chat_word(const char *text)
{
        return chat_text(text, (int64_t)strlen(text));
}

ChatValue chat_none(void)
{
        return (ChatValue){.kind = V_NONE};
}

ChatValue chat_list(ChatKind kind, Items *items)
{
        return (ChatValue){.kind = kind, .items = items};
}

/* Long work takes more steps than one. */
void chat_charge(Chat *c, int64_t steps)
{
        c->steps += steps;
        if (c->steps > CHAT_STEPS)
                FAIL(c, "it takes more than %d steps", CHAT_STEPS);
}

void chat_charge_bytes(Chat *c, int64_t bytes)
{
        if (bytes > CHAT_BYTES)
                FAIL(c, "a text would have more than %d bytes", CHAT_BYTES);
        chat_charge(c, bytes / 64);
}

/* --- lists and dicts --- */

static int nesting_of(ChatValue v)
{
        if (v.kind >= V_LIST && v.kind <= V_GENERATOR)
                return v.items->nesting;
        return v.kind == V_DICT ? v.dict->nesting : 0;
}

/* Values within values are gone through by recursion: never deep. */
static void hold(Chat *c, int *nesting, ChatValue v)
{
        if (nesting_of(v) >= *nesting)
                *nesting = nesting_of(v) + 1;
        if (*nesting > CHAT_NESTING)
                FAIL(c, "lists and dicts are nested too deeply: at most %d", CHAT_NESTING);
}

Items *chat_items_new(Chat *c)
{
        Items *items = NEW(c->arena, Items);
        items->nesting = 1;
        return items;
}

void chat_items_add(Chat *c, Items *items, ChatValue v)
{
        chat_charge(c, 1);
        hold(c, &items->nesting, v);
        GROW(c->arena, items->at, items->n, items->cap);
        items->at[items->n++] = v;
}

Dict *chat_dict_new(Chat *c)
{
        Dict *d = NEW(c->arena, Dict);
        d->nesting = 1;
        return d;
}

bool chat_hashable(ChatValue v)
{
        if (v.kind != V_TUPLE)
                return v.kind != V_LIST && v.kind != V_DICT;
        for (int64_t i = 0; i < v.items->n; i++)
                if (!chat_hashable(v.items->at[i]))
                        return false;
        return true;
}

static ChatValue *find_key(Chat *c, const Dict *d, ChatValue key)
{
        if (!chat_hashable(key))
                FAIL(c, "a %s can't be a key", chat_kind_name(key));
        chat_charge(c, d->n / 16);
        for (int64_t i = 0; i < d->n; i++)
                if (chat_equal(c, d->key[i], key))
                        return &d->value[i];
        return NULL;
}

const ChatValue *chat_dict_get(Chat *c, const Dict *d, ChatValue key)
{
        return find_key(c, d, key);
}

void chat_dict_set(Chat *c, Dict *d, ChatValue key, ChatValue value)
{
        chat_charge(c, 1);
        hold(c, &d->nesting, key);
        hold(c, &d->nesting, value);
        ChatValue *known = find_key(c, d, key);
        if (known) {
                *known = value;
                return;
        }
        GROW(c->arena, d->key, d->n, d->cap_keys);
        GROW(c->arena, d->value, d->n, d->cap_values);
        d->key[d->n] = key;
        d->value[d->n++] = value;
}

static ChatValue from_json_object(Chat *c, const json_t *j, int nesting)
{
        Dict *d = chat_dict_new(c);
        const char *key;
        json_t *value;
        json_object_foreach ((json_t *)j, key, value) {
                ChatValue name = chat_word(arena_strdup(c->arena, key));
                chat_dict_set(c, d, name, chat_from_json(c, value, nesting + 1));
        }
        return (ChatValue){.kind = V_DICT, .dict = d};
}

ChatValue chat_from_json(Chat *c, const json_t *j, int nesting)
{
        if (nesting > CHAT_NESTING)
                FAIL(c, "the arguments are nested too deeply: at most %d", CHAT_NESTING);
        if (json_is_object(j))
                return from_json_object(c, j, nesting);
        if (json_is_array(j)) {
                Items *items = chat_items_new(c);
                for (size_t i = 0; i < json_array_size(j); i++)
                        chat_items_add(c, items, chat_from_json(c, json_array_get(j, i), nesting + 1));
                return chat_list(V_LIST, items);
        }
        if (json_is_string(j)) {
                int64_t n = (int64_t)json_string_length(j);
                chat_charge_bytes(c, n);
                return chat_text(arena_strndup(c->arena, json_string_value(j), n), n);
        }
        if (json_is_integer(j))
                return chat_int(json_integer_value(j));
        if (json_is_real(j))
                return chat_float(json_real_value(j));
        return json_is_boolean(j) ? chat_bool(json_is_true(j)) : chat_none();
}

/* --- kinds of values --- */

const char *chat_kind_name(ChatValue v)
{
        static const char *const name[] = {[V_ABSENT] = "nothing",      [V_UNDEFINED] = "missing value",
                                           [V_NONE] = "none",           [V_BOOL] = "truth",
                                           [V_INT] = "whole number",    [V_FLOAT] = "float",
                                           [V_TEXT] = "text",           [V_LIST] = "list",
                                           [V_TUPLE] = "tuple",         [V_RANGE] = "range",
                                           [V_VIEW] = "view of a dict", [V_GENERATOR] = "generator",
                                           [V_DICT] = "dict",           [V_NAMESPACE] = "namespace",
                                           [V_LOOP] = "loop",           [V_MACRO] = "macro",
                                           [V_METHOD] = "method",       [V_FUNCTION] = "function"};
        return name[v.kind];
}

bool chat_is_number(ChatValue v)
{
        return v.kind == V_BOOL || v.kind == V_INT || v.kind == V_FLOAT;
}

static int64_t whole_value(ChatValue v)
{
        return v.kind == V_BOOL ? v.truth : v.integer;
}

double chat_real(ChatValue v)
{
        return v.kind == V_FLOAT ? v.real : (double)whole_value(v);
}

bool chat_is_list(ChatValue v)
{
        return v.kind == V_LIST || v.kind == V_TUPLE || v.kind == V_RANGE;
}

bool chat_is_word(ChatValue v, const char *word)
{
        return v.kind == V_TEXT && v.n == (int64_t)strlen(word) && !memcmp(v.text, word, (size_t)v.n);
}

void chat_need(Chat *c, ChatValue v)
{
        if (v.kind == V_UNDEFINED)
                FAIL(c, "%s", v.text);
}

int64_t chat_integer(Chat *c, ChatValue v, const char *what)
{
        chat_need(c, v);
        if (v.kind != V_INT && v.kind != V_BOOL)
                FAIL(c, "%s is a whole number, not a %s", what, chat_kind_name(v));
        return whole_value(v);
}

bool chat_truth(ChatValue v)
{
        switch (v.kind) {
        case V_ABSENT:
        case V_UNDEFINED:
        case V_NONE: return false;
        case V_BOOL: return v.truth;
        case V_INT: return v.integer != 0;
        case V_FLOAT: return v.real != 0;
        case V_TEXT: return v.n > 0;
        case V_LIST:
        case V_TUPLE:
        case V_RANGE:
        case V_VIEW: return v.items->n > 0;
        case V_DICT: return v.dict->n > 0;
        case V_LOOP:
        case V_GENERATOR:
        case V_NAMESPACE:
        case V_MACRO:
        case V_METHOD:
        case V_FUNCTION: break;
        }
        return true;
}

int64_t chat_length(Chat *c, ChatValue v)
{
        if (v.kind == V_TEXT)
                return chat_points(v);
        if (v.kind == V_DICT)
                return v.dict->n;
        if (chat_is_list(v) || v.kind == V_VIEW)
                return v.items->n;
        if (v.kind == V_UNDEFINED)
                return 0;
        FAIL(c, "a %s has no length", chat_kind_name(v));
}

/* --- equality and order --- */

static bool equal_items(Chat *c, const Items *a, const Items *b)
{
        if (a->n != b->n)
                return false;
        chat_charge(c, a->n);
        for (int64_t i = 0; i < a->n; i++)
                if (!chat_equal(c, a->at[i], b->at[i]))
                        return false;
        return true;
}

static bool equal_dicts(Chat *c, const Dict *a, const Dict *b)
{
        if (a->n != b->n)
                return false;
        chat_charge(c, a->n);
        for (int64_t i = 0; i < a->n; i++) {
                const ChatValue *other = chat_dict_get(c, b, a->key[i]);
                if (!other || !chat_equal(c, a->value[i], *other))
                        return false;
        }
        return true;
}

/* Compares two numbers: -1, 0, 1; 2 if one is not a number.  Integers are not rounded. */
static int order_numbers(ChatValue a, ChatValue b)
{
        if (a.kind != V_FLOAT && b.kind != V_FLOAT)
                return (whole_value(a) > whole_value(b)) - (whole_value(a) < whole_value(b));
        double x = chat_real(a), y = chat_real(b);
        if (isnan(x) || isnan(y))
                return 2;
        if (x != y || (a.kind == V_FLOAT && b.kind == V_FLOAT) || fabs(x) >= 0x1p63)
                return (x > y) - (x < y);
        int64_t i = a.kind == V_FLOAT ? (int64_t)x : whole_value(a),
                j = b.kind == V_FLOAT ? (int64_t)y : whole_value(b);
        return (i > j) - (i < j);
}

bool chat_equal(Chat *c, ChatValue a, ChatValue b)
{
        if (chat_is_number(a) && chat_is_number(b))
                return order_numbers(a, b) == 0;
        if (a.kind != b.kind)
                return false;
        switch (a.kind) {
        case V_TEXT:
                chat_charge(c, a.n == b.n ? a.n / 256 : 0);
                return a.n == b.n && (a.text == b.text || !memcmp(a.text, b.text, (size_t)a.n));
        case V_LIST:
        case V_TUPLE:
        case V_RANGE: return equal_items(c, a.items, b.items);
        case V_DICT: return equal_dicts(c, a.dict, b.dict);
        case V_UNDEFINED:
        case V_NONE: return true;
        case V_VIEW: FAIL(c, "views of dicts can't be compared here; make lists of them");
        default: return a.dict == b.dict;
        }
}

static int order_texts(Chat *c, ChatValue a, ChatValue b)
{
        int64_t n = a.n < b.n ? a.n : b.n;
        chat_charge(c, n / 256);
        int first = memcmp(a.text, b.text, (size_t)n);
        return first ? (first > 0) - (first < 0) : (a.n > b.n) - (a.n < b.n);
}

int chat_order(Chat *c, ChatValue a, ChatValue b)
{
        chat_need(c, a);
        chat_need(c, b);
        if (chat_is_number(a) && chat_is_number(b))
                return order_numbers(a, b);
        if (a.kind == V_TEXT && b.kind == V_TEXT)
                return order_texts(c, a, b);
        if (a.kind != b.kind || (a.kind != V_LIST && a.kind != V_TUPLE))
                FAIL(c, "a %s and a %s have no order", chat_kind_name(a), chat_kind_name(b));
        chat_charge(c, 1);
        for (int64_t i = 0; i < a.items->n && i < b.items->n; i++)
                if (!chat_equal(c, a.items->at[i], b.items->at[i]))
                        return chat_order(c, a.items->at[i], b.items->at[i]);
        return (a.items->n > b.items->n) - (a.items->n < b.items->n);
}

bool chat_contains(Chat *c, ChatValue container, ChatValue v)
{
        if (container.kind == V_TEXT) {
                chat_need(c, v);
                if (v.kind != V_TEXT)
                        FAIL(c, "a text contains only texts, not a %s", chat_kind_name(v));
                chat_charge(c, container.n / 64);
                return chat_find(container, v, 0) >= 0;
        }
        if (container.kind == V_DICT)
                return chat_dict_get(c, container.dict, v) != NULL;
        const Items *items = chat_iterate(c, container);
        chat_charge(c, items->n / 4);
        for (int64_t i = 0; i < items->n; i++)
                if (chat_equal(c, items->at[i], v))
                        return true;
        return false;
}

/* --- iteration --- */

static Items *text_characters(Chat *c, ChatValue text)
{
        Items *items = chat_items_new(c);
        for (int64_t at = 0; at < text.n;) {
                int64_t end = at + 1;
                while (end < text.n && ((unsigned char)text.text[end] & 0xc0) == 0x80)
                        end++;
                chat_items_add(c, items, chat_text(text.text + at, end - at));
                at = end;
        }
        return items;
}

static Items *keys(Chat *c, const Dict *d)
{
        Items *items = chat_items_new(c);
        for (int64_t i = 0; i < d->n; i++)
                chat_items_add(c, items, d->key[i]);
        return items;
}

Items *chat_iterate(Chat *c, ChatValue v)
{
        if (v.kind == V_GENERATOR) {
                Items *all = NEW(c->arena, Items);
                *all = *v.items;
                v.items->n = v.items->cap = 0;
                v.items->at = NULL;
                return all;
        }
        if (chat_is_list(v) || v.kind == V_VIEW)
                return v.items;
        if (v.kind == V_DICT)
                return keys(c, v.dict);
        if (v.kind == V_TEXT)
                return text_characters(c, v);
        if (v.kind == V_UNDEFINED)
                return chat_items_new(c);
        FAIL(c, "a %s can't be iterated", chat_kind_name(v));
}

/* Two sorted halves [from, middle), [middle, to) of places to one. */
static void merge(Chat *c, const Items *keys_of, bool reverse, int64_t *place, int64_t *aside, int64_t from,
                  int64_t middle, int64_t to)
{
        int64_t i = from, j = middle, n = from;
        while (i < middle || j < to) {
                bool right = i == middle;
                if (!right && j < to) {
                        int order = chat_order(c, keys_of->at[place[j]], keys_of->at[place[i]]);
                        right = reverse ? order == 1 : order == -1;
                        chat_charge(c, 1);
                }
                aside[n++] = right ? place[j++] : place[i++];
        }
        memcpy(place + from, aside + from, (size_t)(to - from) * sizeof *place);
}

void chat_sort(Chat *c, Items *items, Items *keys_of, bool reverse)
{
        int64_t n = items->n;
        int64_t *place = NEW_ARRAY(c->arena, int64_t, n), *aside = NEW_ARRAY(c->arena, int64_t, n);
        for (int64_t i = 0; i < n; i++)
                place[i] = i;
        for (int64_t width = 1; width < n; width *= 2)
                for (int64_t from = 0; from + width < n; from += 2 * width)
                        merge(c, keys_of, reverse, place, aside, from, from + width,
                              from + 2 * width < n ? from + 2 * width : n);
        ChatValue *sorted = NEW_ARRAY(c->arena, ChatValue, n);
        for (int64_t i = 0; i < n; i++)
                sorted[i] = items->at[place[i]];
        items->at = sorted;
        items->cap = n;
}
