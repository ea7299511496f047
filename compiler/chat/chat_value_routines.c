/* What is done with numbers, lists, dicts and loops: filters, value | name(arguments), and methods, value.name(arguments), in one table.  What would
 * change a value is refused as by the sandbox. */
#include <math.h>
#include <stdlib.h>

#include "chat_private.h"

static Value length(const Call *k)
{
        return chat_int(chat_length(k->chat, k->self));
}

static Value with_default(const Call *k)
{
        bool absent = k->self.kind == V_UNDEFINED || (chat_truth(k->arg[1]) && !chat_truth(k->self));
        if (!absent)
                return k->self;
        return k->arg[0].kind == V_ABSENT ? chat_word("") : k->arg[0];
}

/* --- numbers --- */

/* A text of digits, as Python reads numbers: white around, a sign; false: it is none. */
static bool read_number(Chat *c, Value text, const char *allowed, char **digits)
{
        Value v = chat_strip(c, text, chat_none(), true, true);
        *digits = arena_strndup(c->arena, v.text, v.n);
        return v.n > 0 && v.n < 400 && strspn(*digits, allowed) == (size_t)v.n;
}

static bool as_real(Chat *c, Value v, double *x)
{
        char *digits, *end;
        if (chat_is_number(v)) {
                *x = chat_real(v);
                return true;
        }
        if (v.kind != V_TEXT || !read_number(c, v, "0123456789+-.eE", &digits))
                return false;
        *x = strtod(digits, &end);
        return end > digits && !*end;
}

static Value to_int(const Call *k)
{
        Chat *c = k->chat;
        char *digits, *end;
        Value otherwise = k->arg[0].kind == V_ABSENT ? chat_int(0) : k->arg[0];
        if (k->arg[1].kind != V_ABSENT && chat_integer(c, k->arg[1], "int: the base") != 10)
                FAIL(c, "int: bases other than 10 are not supported");
        chat_need(c, k->self);
        if (k->self.kind == V_INT)
                return k->self;
        if (k->self.kind == V_TEXT && read_number(c, k->self, "0123456789+-", &digits)) {
                if (strlen(digits) > 18)
                        FAIL(c, "whole numbers beyond 64 bits are not supported");
                int64_t i = strtoll(digits, &end, 10);
                if (end > digits && !*end)
                        return chat_int(i);
        }
        double x;
        if (!as_real(c, k->self, &x) || isnan(x) || isinf(x))
                return otherwise;
        if (fabs(x) >= 0x1p63)
                FAIL(c, "whole numbers beyond 64 bits are not supported");
        return chat_int((int64_t)x);
}

static Value to_float(const Call *k)
{
        double x;
        chat_need(k->chat, k->self);
        if (as_real(k->chat, k->self, &x))
                return chat_float(x);
        return k->arg[0].kind == V_ABSENT ? chat_float(0) : k->arg[0];
}

static Value absolute(const Call *k)
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

static Value by_path(Chat *c, Value v, Value path)
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

Value chat_attribute(Chat *c, Value v, Value attribute)
{
        return attribute.kind == V_ABSENT || attribute.kind == V_NONE ? v : by_path(c, v, attribute);
}

/* --- lists --- */

static Value list(const Call *k)
{
        const Items *all = chat_iterate(k->chat, k->self);
        Items *copy = chat_items_new(k->chat);
        for (int64_t i = 0; i < all->n; i++)
                chat_items_add(k->chat, copy, all->at[i]);
        return chat_list(V_LIST, copy);
}

static Value end_of(const Call *k)
{
        bool last = k->routine->variant;
        const char *name = last ? "last" : "first";
        if (last && k->self.kind == V_GENERATOR)
                FAIL(k->chat, "a generator has no last; make a list of it");
        const Items *all = chat_iterate(k->chat, k->self);
        return all->n ? all->at[last ? all->n - 1 : 0]
                      : chat_undefined(k->chat, "there is no %s of none", name);
}

static Value reverse(const Call *k)
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

/* What sorting and the like go by: an attribute, texts in lower case. */
static Value sort_key(Chat *c, Value v, Value attribute, Value with_case)
{
        Value key = chat_attribute(c, v, attribute);
        return key.kind == V_TEXT && !chat_truth(with_case) ? chat_cased(c, key, CASE_LOWER) : key;
}

static Items *sort_keys(Chat *c, const Items *all, Value attribute, Value with_case)
{
        Items *keys = chat_items_new(c);
        for (int64_t i = 0; i < all->n; i++)
                chat_items_add(c, keys, sort_key(c, all->at[i], attribute, with_case));
        return keys;
}

static Value sort(const Call *k)
{
        Chat *c = k->chat;
        Value all = list(k);
        if (k->arg[2].kind == V_TEXT && memchr(k->arg[2].text, ',', (size_t)k->arg[2].n))
                FAIL(c, "sort by several attributes is not supported");
        chat_sort(c, all.items, sort_keys(c, all.items, k->arg[2], k->arg[1]), chat_truth(k->arg[0]));
        return all;
}

static Value unique(const Call *k)
{
        Chat *c = k->chat;
        const Items *all = chat_iterate(c, k->self);
        Items *seen = chat_items_new(c), *kept = chat_items_new(c);
        for (int64_t i = 0; i < all->n; i++) {
                Value key = sort_key(c, all->at[i], k->arg[1], k->arg[0]);
                if (chat_contains(c, chat_list(V_LIST, seen), key))
                        continue;
                chat_items_add(c, seen, key);
                chat_items_add(c, kept, all->at[i]);
        }
        return chat_list(V_GENERATOR, kept);
}

/* The first one that all others are behind, or (1) before. */
static Value extreme(const Call *k)
{
        Chat *c = k->chat;
        const Items *all = chat_iterate(c, k->self);
        const Items *keys = sort_keys(c, all, k->arg[1], k->arg[0]);
        int64_t best = 0;
        for (int64_t i = 1; i < all->n; i++)
                if (chat_order(c, keys->at[i], keys->at[best]) == k->routine->variant)
                        best = i;
        return all->n ? all->at[best] : chat_undefined(c, "there is no least or greatest of none");
}

static Value sum(const Call *k)
{
        Chat *c = k->chat;
        const Items *all = chat_iterate(c, k->self);
        Value total = k->arg[1].kind == V_ABSENT ? chat_int(0) : k->arg[1];
        for (int64_t i = 0; i < all->n; i++) {
                Value v = chat_attribute(c, all->at[i], k->arg[0]);
                if (!chat_is_number(total) || !chat_is_number(v))
                        FAIL(c, "sum wants numbers, not a %s", chat_kind_name(v));
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

static Value list_count(const Call *k)
{
        int64_t n = 0;
        chat_charge(k->chat, k->self.items->n / 4);
        for (int64_t i = 0; i < k->self.items->n; i++)
                n += chat_equal(k->chat, k->self.items->at[i], k->arg[0]);
        return chat_int(n);
}

static Value list_index(const Call *k)
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

static Value named(const Args *all, const char *name)
{
        for (int i = 0; i < all->nnamed; i++)
                if (!strcmp(all->name[i], name))
                        return all->named[i];
        return (Value){.kind = V_ABSENT};
}

static const char *name_argument(const Call *k, int i, const char *what)
{
        if (i >= k->all->n || k->all->at[i].kind != V_TEXT)
                FAIL(k->chat, "wants the name of a %s", what);
        return arena_strndup(k->chat->arena, k->all->at[i].text, k->all->at[i].n);
}

static Value map_attribute(const Call *k, Value attribute)
{
        Chat *c = k->chat;
        Value otherwise = named(k->all, "default");
        const Items *all = chat_iterate(c, k->self);
        Items *mapped = chat_items_new(c);
        for (int64_t i = 0; i < all->n; i++) {
                Value v = by_path(c, all->at[i], attribute);
                chat_items_add(c, mapped,
                               v.kind == V_UNDEFINED && otherwise.kind != V_ABSENT ? otherwise : v);
        }
        return chat_list(V_GENERATOR, mapped);
}

static Value map(const Call *k)
{
        Chat *c = k->chat;
        Value attribute = named(k->all, "attribute");
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

/* Those for which a test (by default truth) of them, or of an attribute, holds; or does not. */
static Value those(const Call *k)
{
        Chat *c = k->chat;
        bool wanted = k->routine->variant & KEEP, of_attribute = k->routine->variant & BY_ATTRIBUTE;
        int before = of_attribute ? 1 : 0;
        const char *test = k->all->n > before ? name_argument(k, before, "test") : NULL;
        if (of_attribute && k->all->n == 0)
                FAIL(c, "wants an attribute");
        Args rest = without(k->all, before + (test != NULL));
        const Items *all = chat_iterate(c, k->self);
        Items *kept = chat_items_new(c);
        for (int64_t i = 0; i < all->n; i++) {
                Value v = of_attribute ? by_path(c, all->at[i], k->all->at[0]) : all->at[i];
                chat_charge(c, 1);
                if ((test ? chat_test(c, test, v, &rest) : chat_truth(v)) == wanted)
                        chat_items_add(c, kept, all->at[i]);
        }
        return chat_list(V_GENERATOR, kept);
}

/* --- dicts --- */

static Value get(const Call *k)
{
        const Value *found = chat_dict_get(k->chat, k->self.dict, k->arg[0]);
        if (found)
                return *found;
        return k->arg[1].kind == V_ABSENT ? chat_none() : k->arg[1];
}

typedef enum { KEYS, VALUES, PAIRS } View;

static Items *view(Chat *c, const Dict *d, View of)
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

static Value viewed(const Call *k)
{
        return chat_list(V_VIEW, view(k->chat, k->self.dict, (View)k->routine->variant));
}

static Value items(const Call *k)
{
        Chat *c = k->chat;
        if (k->self.kind != V_DICT && k->self.kind != V_UNDEFINED)
                FAIL(c, "items wants a dict, not a %s", chat_kind_name(k->self));
        return chat_list(V_GENERATOR,
                         k->self.kind == V_DICT ? view(c, k->self.dict, PAIRS) : chat_items_new(c));
}

static Value dictsort(const Call *k)
{
        Chat *c = k->chat;
        if (k->self.kind != V_DICT)
                FAIL(c, "dictsort wants a dict, not a %s", chat_kind_name(k->self));
        bool by_value = chat_is_word(k->arg[1], "value");
        if (!by_value && k->arg[1].kind != V_ABSENT && !chat_is_word(k->arg[1], "key"))
                FAIL(c, "dictsort: by is key or value");
        Items *pairs = view(c, k->self.dict, PAIRS);
        chat_sort(c, pairs, sort_keys(c, pairs, chat_int(by_value), k->arg[0]), chat_truth(k->arg[2]));
        return chat_list(V_LIST, pairs);
}

static Value copy(const Call *k)
{
        return k->self; /* nothing changes it */
}

static Value changes(const Call *k)
{
        FAIL(k->chat, "the sandbox refuses what changes a %s", chat_kind_name(k->self));
}

/* --- loops --- */

static Value cycle(const Call *k)
{
        if (k->all->n == 0)
                FAIL(k->chat, "cycle wants values");
        return k->all->at[k->self.loop->index % k->all->n];
}

static Value changed(const Call *k)
{
        Chat *c = k->chat;
        Items *now = chat_items_new(c);
        for (int i = 0; i < k->all->n; i++)
                chat_items_add(c, now, k->all->at[i]);
        Value v = chat_list(V_TUPLE, now);
        bool differs = k->self.loop->changed.kind == V_ABSENT || !chat_equal(c, k->self.loop->changed, v);
        k->self.loop->changed = v;
        return chat_bool(differs);
}

const Routine chat_value_routines[] = {
        {A_FILTER, "abs", "", 0, absolute, 0},
        {OF_LOOP, "changed", "*", 0, changed, 0},
        {OF_DICT | OF_LIST, "copy", "", 0, copy, 0},
        {A_FILTER, "count", "", 0, length, 0},
        {OF_LIST, "count", "value", 1, list_count, 0},
        {OF_LOOP, "cycle", "*", 0, cycle, 0},
        {A_FILTER, "d", "default_value boolean", 0, with_default, 0},
        {A_FILTER, "default", "default_value boolean", 0, with_default, 0},
        {A_FILTER, "dictsort", "case_sensitive by reverse", 0, dictsort, 0},
        {A_FILTER, "first", "", 0, end_of, false},
        {A_FILTER, "float", "default", 0, to_float, 0},
        {OF_DICT, "get", "key default", 1, get, 0},
        {OF_LIST, "index", "value", 1, list_index, 0},
        {A_FILTER, "int", "default base", 0, to_int, 0},
        {A_FILTER, "items", "", 0, items, 0},
        {OF_DICT, "items", "", 0, viewed, PAIRS},
        {OF_DICT, "keys", "", 0, viewed, KEYS},
        {A_FILTER, "last", "", 0, end_of, true},
        {A_FILTER, "length", "", 0, length, 0},
        {A_FILTER, "list", "", 0, list, 0},
        {A_FILTER, "map", "*", 0, map, 0},
        {A_FILTER, "max", "case_sensitive attribute", 0, extreme, 1},
        {A_FILTER, "min", "case_sensitive attribute", 0, extreme, -1},
        {A_FILTER, "reject", "*", 0, those, 0},
        {A_FILTER, "rejectattr", "*", 0, those, BY_ATTRIBUTE},
        {A_FILTER, "reverse", "", 0, reverse, 0},
        {A_FILTER, "select", "*", 0, those, KEEP},
        {A_FILTER, "selectattr", "*", 0, those, KEEP | BY_ATTRIBUTE},
        {A_FILTER, "sort", "reverse case_sensitive attribute", 0, sort, 0},
        {A_FILTER, "sum", "attribute start", 0, sum, 0},
        {A_FILTER, "unique", "case_sensitive attribute", 0, unique, 0},
        {OF_DICT, "values", "", 0, viewed, VALUES},
        {OF_DICT, "fromkeys", "*", 0, NULL, 0},
        {OF_DICT, "clear pop popitem setdefault update", "*", 0, changes, 0},
        {OF_LIST, "append clear extend insert pop remove reverse sort", "*", 0, changes, 0},
        {0, NULL, "", 0, NULL, 0},
};
