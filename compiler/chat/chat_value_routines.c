/* Table of routines on numbers, lists, dicts and loops: filters, value | name(arguments), and methods,
 * value.name(arguments).  Routines that would change a value are rejected, as by the sandbox. */
#include <math.h>
#include <stdlib.h>

#include "chat_private.h"

static ChatValue call_length(const ChatCall *k)
{
        return chat_int(chat_length(k->chat, k->self));
}

static ChatValue call_default(const ChatCall *k)
{
        bool absent = k->self.kind == V_UNDEFINED || (chat_truth(k->arg[1]) && !chat_truth(k->self));
        if (!absent)
                return k->self;
        return k->arg[0].kind == V_ABSENT ? chat_word("") : k->arg[0];
}

/* --- numbers --- */

/* A text of digits, as Python reads numbers: white around, a sign; false: it is none. */
static bool text_digits(Chat *c, ChatValue text, const char *allowed, char **digits)
{
        ChatValue v = chat_strip(c, text, chat_none(), true, true);
        *digits = arena_strndup(c->arena, v.text, v.n);
        return v.n > 0 && v.n < 400 && strspn(*digits, allowed) == (size_t)v.n;
}

static bool text_real(Chat *c, ChatValue v, double *x)
{
        char *digits, *end;
        if (chat_is_number(v)) {
                *x = chat_real(v);
                return true;
        }
        if (v.kind != V_TEXT || (!text_digits(c, v, "0123456789+-.eE", &digits) &&
                                 !text_digits(c, v, "+-infatyINFATY", &digits))) /* inf, Infinity, NaN */
                return false;
        *x = strtod(digits, &end);
        return end > digits && !*end;
}

static ChatValue call_int(const ChatCall *k)
{
        Chat *c = k->chat;
        char *digits, *end;
        ChatValue otherwise = k->arg[0].kind == V_ABSENT ? chat_int(0) : k->arg[0];
        if (k->arg[1].kind != V_ABSENT && chat_integer(c, k->arg[1], "int: the base") != 10)
                FAIL(c, "int: bases other than 10 are not supported");
        chat_need(c, k->self);
        if (k->self.kind == V_INT)
                return k->self;
        if (k->self.kind == V_TEXT && text_digits(c, k->self, "0123456789+-", &digits)) {
                if (strlen(digits) > 18)
                        FAIL(c, "whole numbers beyond 64 bits are not supported");
                int64_t i = strtoll(digits, &end, 10);
                if (end > digits && !*end)
                        return chat_int(i);
        }
        double x;
        if (!text_real(c, k->self, &x) || isnan(x) || isinf(x))
                return otherwise;
        if (fabs(x) >= 0x1p63)
                FAIL(c, "whole numbers beyond 64 bits are not supported");
        return chat_int((int64_t)x);
}

static ChatValue call_float(const ChatCall *k)
{
        double x;
        chat_need(k->chat, k->self);
        if (text_real(k->chat, k->self, &x))
                return chat_float(x);
        return k->arg[0].kind == V_ABSENT ? chat_float(0) : k->arg[0];
}

static ChatValue call_abs(const ChatCall *k)
{
        Chat *c = k->chat;
        chat_need(c, k->self);
        if (k->self.kind == V_FLOAT)
                return chat_float(fabs(k->self.real));
        int64_t i = chat_integer(c, k->self, "abs");
        if (i == INT64_MIN)
                FAIL(c, "whole numbers beyond 64 bits are not supported");
        return chat_int(i < 0 ? -i : i);
}

/* --- attributes: "a.b.0" of a value --- */

static ChatValue by_path(Chat *c, ChatValue v, ChatValue path)
{
        if (path.kind == V_INT)
                return chat_item(c, v, path);
        if (path.kind != V_TEXT)
                FAIL(c, "an attribute is a text, not a %s", chat_kind_name(path));
        for (int64_t from = 0; from <= path.n;) {
                int64_t dot = chat_find(path, chat_word("."), from);
                int64_t to = dot < 0 ? path.n : dot;
                char *name = arena_strndup(c->arena, path.text + from, to - from);
                bool digits = *name && strspn(name, "0123456789") == strlen(name) && strlen(name) < 10;
                v = chat_item(c, v, digits ? chat_int(atoi(name)) : chat_word(name));
                from = to + 1;
        }
        return v;
}

ChatValue chat_attribute(Chat *c, ChatValue v, ChatValue attribute)
{
        return attribute.kind == V_ABSENT || attribute.kind == V_NONE ? v : by_path(c, v, attribute);
}

/* --- lists --- */

static ChatValue call_list(const ChatCall *k)
{
        const Items *all = chat_iterate(k->chat, k->self);
        Items *copy = chat_items_new(k->chat);
        for (int64_t i = 0; i < all->n; i++)
                chat_items_add(k->chat, copy, all->at[i]);
        return chat_list(V_LIST, copy);
}

static ChatValue call_end(const ChatCall *k)
{
        bool last = k->routine->variant;
        const char *name = last ? "last" : "first";
        if (last && k->self.kind == V_GENERATOR)
                FAIL(k->chat, "a generator has no last; make a list of it");
        const Items *all = chat_iterate(k->chat, k->self);
        return all->n ? all->at[last ? all->n - 1 : 0]
                      : chat_undefined(k->chat, "an empty sequence has no %s element", name);
}

static ChatValue call_reverse(const ChatCall *k)
{
        Chat *c = k->chat;
        if (k->self.kind == V_GENERATOR)
                FAIL(c, "a generator can't be reversed; make a list of it");
        const Items *all = chat_iterate(c, k->self);
        Items *back = chat_items_new(c);
        Text *t = text_new(c->arena);
        for (int64_t i = all->n; i-- > 0;) {
                chat_items_add(c, back, all->at[i]);
                if (k->self.kind == V_TEXT)
                        chat_add(c, t, all->at[i].text, all->at[i].n);
        }
        return k->self.kind == V_TEXT ? chat_copy(c, t) : chat_list(V_GENERATOR, back);
}

/* The key for sorting: an attribute, texts in lower case. */
static ChatValue sort_key(Chat *c, ChatValue v, ChatValue attribute, ChatValue with_case)
{
        ChatValue key = chat_attribute(c, v, attribute);
        return key.kind == V_TEXT && !chat_truth(with_case) ? chat_cased(c, key, CASE_LOWER) : key;
}

static Items *sort_keys(Chat *c, const Items *all, ChatValue attribute, ChatValue with_case)
{
        Items *keys = chat_items_new(c);
        for (int64_t i = 0; i < all->n; i++)
                chat_items_add(c, keys, sort_key(c, all->at[i], attribute, with_case));
        return keys;
}

static ChatValue call_sort(const ChatCall *k)
{
        Chat *c = k->chat;
        ChatValue all = call_list(k);
        if (k->arg[2].kind == V_TEXT && memchr(k->arg[2].text, ',', (size_t)k->arg[2].n))
                FAIL(c, "sort by several attributes is not supported");
        chat_sort(c, all.items, sort_keys(c, all.items, k->arg[2], k->arg[1]), chat_truth(k->arg[0]));
        return all;
}

static ChatValue call_unique(const ChatCall *k)
{
        Chat *c = k->chat;
        const Items *all = chat_iterate(c, k->self);
        Items *seen = chat_items_new(c), *kept = chat_items_new(c);
        for (int64_t i = 0; i < all->n; i++) {
                ChatValue key = sort_key(c, all->at[i], k->arg[1], k->arg[0]);
                if (chat_contains(c, chat_list(V_LIST, seen), key))
                        continue;
                chat_items_add(c, seen, key);
                chat_items_add(c, kept, all->at[i]);
        }
        return chat_list(V_GENERATOR, kept);
}

/* The first item that precedes all others, or (1) follows them. */
static ChatValue call_extreme(const ChatCall *k)
{
        Chat *c = k->chat;
        const Items *all = chat_iterate(c, k->self);
        const Items *keys = sort_keys(c, all, k->arg[1], k->arg[0]);
        int64_t best = 0;
        for (int64_t i = 1; i < all->n; i++)
                if (chat_order(c, keys->at[i], keys->at[best]) == k->routine->variant)
                        best = i;
        return all->n ? all->at[best]
                      : chat_undefined(c, "an empty sequence has no least or greatest element");
}

static ChatValue call_sum(const ChatCall *k)
{
        Chat *c = k->chat;
        const Items *all = chat_iterate(c, k->self);
        ChatValue total = k->arg[1].kind == V_ABSENT ? chat_int(0) : k->arg[1];
        for (int64_t i = 0; i < all->n; i++) {
                ChatValue v = chat_attribute(c, all->at[i], k->arg[0]);
                if (!chat_is_number(total) || !chat_is_number(v))
                        FAIL(c, "sum needs numbers, not a %s", chat_kind_name(v));
                if (total.kind == V_FLOAT || v.kind == V_FLOAT) {
                        total = chat_float(chat_real(total) + chat_real(v));
                        continue;
                }
                int64_t x = chat_integer(c, total, "sum"), y = chat_integer(c, v, "sum"), z;
                if (__builtin_add_overflow(x, y, &z))
                        FAIL(c, "whole numbers beyond 64 bits are not supported");
                total = chat_int(z);
        }
        return total;
}

static ChatValue call_list_count(const ChatCall *k)
{
        int64_t n = 0;
        chat_charge(k->chat, k->self.items->n / 4);
        for (int64_t i = 0; i < k->self.items->n; i++)
                n += chat_equal(k->chat, k->self.items->at[i], k->arg[0]);
        return chat_int(n);
}

static ChatValue call_list_index(const ChatCall *k)
{
        chat_charge(k->chat, k->self.items->n / 4);
        for (int64_t i = 0; i < k->self.items->n; i++)
                if (chat_equal(k->chat, k->self.items->at[i], k->arg[0]))
                        return chat_int(i);
        FAIL(k->chat, "index: it is not in the list");
}

/* --- of each --- */

static Args without(const Args *all, int n)
{
        Args rest = *all;
        rest.at += n;
        rest.n -= n;
        return rest;
}

static ChatValue named_argument(const Args *all, const char *name)
{
        for (int i = 0; i < all->nnamed; i++)
                if (!strcmp(all->name[i], name))
                        return all->named[i];
        return (ChatValue){.kind = V_ABSENT};
}

static const char *name_argument(const ChatCall *k, int i, const char *what)
{
        if (i >= k->all->n || k->all->at[i].kind != V_TEXT)
                FAIL(k->chat, "needs the name of a %s", what);
        return arena_strndup(k->chat->arena, k->all->at[i].text, k->all->at[i].n);
}

static ChatValue map_attribute(const ChatCall *k, ChatValue attribute)
{
        Chat *c = k->chat;
        ChatValue otherwise = named_argument(k->all, "default");
        const Items *all = chat_iterate(c, k->self);
        Items *mapped = chat_items_new(c);
        for (int64_t i = 0; i < all->n; i++) {
                ChatValue v = by_path(c, all->at[i], attribute);
                chat_items_add(c, mapped,
                               v.kind == V_UNDEFINED && otherwise.kind != V_ABSENT ? otherwise : v);
        }
        return chat_list(V_GENERATOR, mapped);
}

static ChatValue call_map(const ChatCall *k)
{
        Chat *c = k->chat;
        ChatValue attribute = named_argument(k->all, "attribute");
        if (k->all->n == 0 && attribute.kind != V_ABSENT)
                return map_attribute(k, attribute);
        const char *filter = name_argument(k, 0, "filter");
        Args rest = without(k->all, 1);
        const Items *all = chat_iterate(c, k->self);
        Items *mapped = chat_items_new(c);
        for (int64_t i = 0; i < all->n; i++)
                chat_items_add(c, mapped, chat_apply(c, filter, all->at[i], &rest));
        return chat_list(V_GENERATOR, mapped);
}

enum { KEEP = 1, BY_ATTRIBUTE = 2 };

/* The items for which a test (default: truth) of them, or of an attribute, succeeds or fails. */
static ChatValue call_select(const ChatCall *k)
{
        Chat *c = k->chat;
        bool wanted = k->routine->variant & KEEP, of_attribute = k->routine->variant & BY_ATTRIBUTE;
        int before = of_attribute ? 1 : 0;
        const char *test = k->all->n > before ? name_argument(k, before, "test") : NULL;
        if (of_attribute && k->all->n == 0)
                FAIL(c, "needs an attribute");
        Args rest = without(k->all, before + (test != NULL));
        const Items *all = chat_iterate(c, k->self);
        Items *kept = chat_items_new(c);
        for (int64_t i = 0; i < all->n; i++) {
                ChatValue v = of_attribute ? by_path(c, all->at[i], k->all->at[0]) : all->at[i];
                chat_charge(c, 1);
                if ((test ? chat_test(c, test, v, &rest) : chat_truth(v)) == wanted)
                        chat_items_add(c, kept, all->at[i]);
        }
        return chat_list(V_GENERATOR, kept);
}

/* --- dicts --- */

static ChatValue call_get(const ChatCall *k)
{
        const ChatValue *found = chat_dict_get(k->chat, k->self.dict, k->arg[0]);
        if (found)
                return *found;
        return k->arg[1].kind == V_ABSENT ? chat_none() : k->arg[1];
}

typedef enum { KEYS, VALUES, PAIRS } DictView;

static Items *view(Chat *c, const Dict *d, DictView of)
{
        Items *items = chat_items_new(c);
        for (int64_t i = 0; i < d->n; i++) {
                Items *pair = of == PAIRS ? chat_items_new(c) : NULL;
                if (pair) {
                        chat_items_add(c, pair, d->key[i]);
                        chat_items_add(c, pair, d->value[i]);
                }
                chat_items_add(c, items,
                               pair         ? chat_list(V_TUPLE, pair)
                               : of == KEYS ? d->key[i]
                                            : d->value[i]);
        }
        return items;
}

static ChatValue call_view(const ChatCall *k)
{
        return chat_list(V_VIEW, view(k->chat, k->self.dict, (DictView)k->routine->variant));
}

static ChatValue call_items(const ChatCall *k)
{
        Chat *c = k->chat;
        if (k->self.kind != V_DICT && k->self.kind != V_UNDEFINED)
                FAIL(c, "items needs a dict, not a %s", chat_kind_name(k->self));
        return chat_list(V_GENERATOR,
                         k->self.kind == V_DICT ? view(c, k->self.dict, PAIRS) : chat_items_new(c));
}

static ChatValue call_dictsort(const ChatCall *k)
{
        Chat *c = k->chat;
        if (k->self.kind != V_DICT)
                FAIL(c, "dictsort needs a dict, not a %s", chat_kind_name(k->self));
        bool by_value = chat_is_word(k->arg[1], "value");
        if (!by_value && k->arg[1].kind != V_ABSENT && !chat_is_word(k->arg[1], "key"))
                FAIL(c, "dictsort: by is key or value");
        Items *pairs = view(c, k->self.dict, PAIRS);
        chat_sort(c, pairs, sort_keys(c, pairs, chat_int(by_value), k->arg[0]), chat_truth(k->arg[2]));
        return chat_list(V_LIST, pairs);
}

static ChatValue call_copy(const ChatCall *k)
{
        return k->self; /* nothing changes it */
}

static ChatValue call_changes(const ChatCall *k)
{
        FAIL(k->chat, "the sandbox refuses to change a %s", chat_kind_name(k->self));
}

/* --- loops --- */

static ChatValue call_cycle(const ChatCall *k)
{
        if (k->all->n == 0)
                FAIL(k->chat, "cycle needs values");
        return k->all->at[k->self.loop->index % k->all->n];
}

static ChatValue call_changed(const ChatCall *k)
{
        Chat *c = k->chat;
        Items *now = chat_items_new(c);
        for (int i = 0; i < k->all->n; i++)
                chat_items_add(c, now, k->all->at[i]);
        ChatValue v = chat_list(V_TUPLE, now);
        bool differs = k->self.loop->changed.kind == V_ABSENT || !chat_equal(c, k->self.loop->changed, v);
        k->self.loop->changed = v;
        return chat_bool(differs);
}

const Routine chat_value_routines[] = {
        {A_FILTER, "abs", "", 0, call_abs, 0},
        {OF_LOOP, "changed", "*", 0, call_changed, 0},
        {OF_DICT | OF_LIST, "copy", "", 0, call_copy, 0},
        {A_FILTER, "count", "", 0, call_length, 0},
        {OF_LIST, "count", "value", 1, call_list_count, 0},
        {OF_LOOP, "cycle", "*", 0, call_cycle, 0},
        {A_FILTER, "d", "default_value boolean", 0, call_default, 0},
        {A_FILTER, "default", "default_value boolean", 0, call_default, 0},
        {A_FILTER, "dictsort", "case_sensitive by reverse", 0, call_dictsort, 0},
        {A_FILTER, "first", "", 0, call_end, false},
        {A_FILTER, "float", "default", 0, call_float, 0},
        {OF_DICT, "get", "key default", 1, call_get, 0},
        {OF_LIST, "index", "value", 1, call_list_index, 0},
        {A_FILTER, "int", "default base", 0, call_int, 0},
        {A_FILTER, "items", "", 0, call_items, 0},
        {OF_DICT, "items", "", 0, call_view, PAIRS},
        {OF_DICT, "keys", "", 0, call_view, KEYS},
        {A_FILTER, "last", "", 0, call_end, true},
        {A_FILTER, "length", "", 0, call_length, 0},
        {A_FILTER, "list", "", 0, call_list, 0},
        {A_FILTER, "map", "*", 0, call_map, 0},
        {A_FILTER, "max", "case_sensitive attribute", 0, call_extreme, 1},
        {A_FILTER, "min", "case_sensitive attribute", 0, call_extreme, -1},
        {A_FILTER, "reject", "*", 0, call_select, 0},
        {A_FILTER, "rejectattr", "*", 0, call_select, BY_ATTRIBUTE},
        {A_FILTER, "reverse", "", 0, call_reverse, 0},
        {A_FILTER, "select", "*", 0, call_select, KEEP},
        {A_FILTER, "selectattr", "*", 0, call_select, KEEP | BY_ATTRIBUTE},
        {A_FILTER, "sort", "reverse case_sensitive attribute", 0, call_sort, 0},
        {A_FILTER, "sum", "attribute start", 0, call_sum, 0},
        {A_FILTER, "unique", "case_sensitive attribute", 0, call_unique, 0},
        {OF_DICT, "values", "", 0, call_view, VALUES},
        {OF_DICT, "fromkeys", "*", 0, NULL, 0},
        {OF_DICT, "clear pop popitem setdefault update", "*", 0, call_changes, 0},
        {OF_LIST, "append clear extend insert pop remove reverse sort", "*", 0, call_changes, 0},
        {0, NULL, "", 0, NULL, 0},
};
