/* The filters of templates, one table: value | name(arguments). */
#include <math.h>
#include <stdlib.h>

#include "chat_private.h"

static Value own_text(const Call *k)
{
        return chat_str(k->chat, k->self);
}

static Value trim(const Call *k)
{
        return chat_strip(k->chat, own_text(k), k->arg[0], true, true);
}

static Value length(const Call *k)
{
        return chat_int(chat_length(k->chat, k->self));
}

static Value tojson(const Call *k)
{
        return chat_json(k->chat, k->self, k->arg[0], k->arg[1], k->arg[2], k->arg[3]);
}

static Value with_default(const Call *k)
{
        bool absent = k->self.kind == V_UNDEFINED || (chat_truth(k->arg[1]) && !chat_truth(k->self));
        if (!absent)
                return k->self;
        return k->arg[0].kind == V_ABSENT ? chat_word("") : k->arg[0];
}

static Value items(const Call *k)
{
        Chat *c = k->chat;
        Items *pairs = chat_items_new(c);
        if (k->self.kind != V_DICT && k->self.kind != V_UNDEFINED)
                FAIL(c, "items wants a dict, not a %s", chat_kind_name(k->self));
        for (int64_t i = 0; k->self.kind == V_DICT && i < k->self.dict->n; i++) {
                Items *pair = chat_items_new(c);
                chat_items_add(c, pair, k->self.dict->key[i]);
                chat_items_add(c, pair, k->self.dict->value[i]);
                chat_items_add(c, pairs, chat_list(V_TUPLE, pair));
        }
        return chat_list(V_GENERATOR, pairs);
}

static Value upper(const Call *k)
{
        return chat_cased(k->chat, own_text(k), CASE_UPPER);
}

static Value lower_case(const Call *k)
{
        return chat_cased(k->chat, own_text(k), CASE_LOWER);
}

static Value capitalize(const Call *k)
{
        return chat_cased(k->chat, own_text(k), CASE_CAPITAL);
}

static Value replace(const Call *k)
{
        Chat *c = k->chat;
        Value text = own_text(k);
        text.safe = false;
        int64_t most = k->arg[2].kind == V_ABSENT || k->arg[2].kind == V_NONE
                               ? -1
                               : chat_integer(c, k->arg[2], "replace");
        return chat_replace(c, text, chat_str(c, k->arg[0]), chat_str(c, k->arg[1]), most);
}

static Value list(const Call *k)
{
        const Items *all = chat_iterate(k->chat, k->self);
        Items *copy = chat_items_new(k->chat);
        for (int64_t i = 0; i < all->n; i++)
                chat_items_add(k->chat, copy, all->at[i]);
        return chat_list(V_LIST, copy);
}

static Value string(const Call *k)
{
        return own_text(k);
}

static Value safe(const Call *k)
{
        Value v = own_text(k);
        v.safe = true;
        return v;
}

static Value escape(const Call *k)
{
        Value v = own_text(k);
        return v.safe ? v : chat_escape(k->chat, v);
}

static Value first(const Call *k)
{
        const Items *all = chat_iterate(k->chat, k->self);
        return all->n ? all->at[0] : chat_undefined(k->chat, "there is no first of none");
}

static Value last(const Call *k)
{
        if (k->self.kind == V_GENERATOR)
                FAIL(k->chat, "a generator has no last; make a list of it");
        const Items *all = chat_iterate(k->chat, k->self);
        return all->n ? all->at[all->n - 1] : chat_undefined(k->chat, "there is no last of none");
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

static Value part_of(Chat *c, Value v, Value attribute)
{
        return attribute.kind == V_ABSENT || attribute.kind == V_NONE ? v : by_path(c, v, attribute);
}

static Value join(const Call *k)
{
        Chat *c = k->chat;
        Value between = k->arg[0].kind == V_ABSENT ? chat_word("") : chat_str(c, k->arg[0]);
        const Items *all = chat_iterate(c, k->self);
        Text *t = text_new(c->arena);
        for (int64_t i = 0; i < all->n; i++) {
                Value v = chat_str(c, part_of(c, all->at[i], k->arg[1]));
                chat_charge(c, 1);
                if (i)
                        chat_add(c, t, between.text, between.n);
                chat_add(c, t, v.text, v.n);
        }
        return chat_copy(c, t);
}

/* What sorting and the like go by: an attribute, texts in lower case. */
static Value sort_key(Chat *c, Value v, Value attribute, Value with_case)
{
        Value key = part_of(c, v, attribute);
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

static Value dictsort(const Call *k)
{
        Chat *c = k->chat;
        if (k->self.kind != V_DICT)
                FAIL(c, "dictsort wants a dict, not a %s", chat_kind_name(k->self));
        bool by_value = chat_is_word(k->arg[1], "value");
        if (!by_value && k->arg[1].kind != V_ABSENT && !chat_is_word(k->arg[1], "key"))
                FAIL(c, "dictsort: by is key or value");
        Value pairs = items(k);
        chat_sort(c, pairs.items, sort_keys(c, pairs.items, chat_int(by_value), k->arg[0]),
                  chat_truth(k->arg[2]));
        return chat_list(V_LIST, pairs.items);
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

static Value extreme(const Call *k, int sign)
{
        Chat *c = k->chat;
        const Items *all = chat_iterate(c, k->self);
        const Items *keys = sort_keys(c, all, k->arg[1], k->arg[0]);
        int64_t best = 0;
        for (int64_t i = 1; i < all->n; i++)
                if (chat_order(c, keys->at[i], keys->at[best]) == sign)
                        best = i;
        return all->n ? all->at[best] : chat_undefined(c, "there is no least or greatest of none");
}

static Value least(const Call *k)
{
        return extreme(k, -1);
}

static Value greatest(const Call *k)
{
        return extreme(k, 1);
}

static Value sum(const Call *k)
{
        Chat *c = k->chat;
        const Items *all = chat_iterate(c, k->self);
        Value total = k->arg[1].kind == V_ABSENT ? chat_int(0) : k->arg[1];
        for (int64_t i = 0; i < all->n; i++) {
                Value v = part_of(c, all->at[i], k->arg[0]);
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

static Value indent(const Call *k)
{
        Chat *c = k->chat;
        Text *t = text_new(c->arena), *width = text_new(c->arena);
        Value text = own_text(k);
        if (k->arg[0].kind == V_TEXT)
                chat_add(c, width, k->arg[0].text, k->arg[0].n);
        else
                for (int64_t n = k->arg[0].kind == V_ABSENT ? 4 : chat_integer(c, k->arg[0], "indent");
                     n-- > 0;)
                        chat_add(c, width, " ", 1);
        bool first_too = chat_truth(k->arg[1]), blank_too = chat_truth(k->arg[2]);
        Text *whole = text_new(c->arena);
        chat_add(c, whole, text.text, text.n);
        chat_add(c, whole, "\n", 1);
        const Items *lines = chat_lines(c, chat_copy(c, whole));
        for (int64_t i = 0; i < lines->n; i++) {
                if (i)
                        chat_add(c, t, "\n", 1);
                if (i ? blank_too || lines->at[i].n > 0 : first_too)
                        chat_add(c, t, width->data, width->n);
                chat_add(c, t, lines->at[i].text, lines->at[i].n);
        }
        return chat_copy(c, t);
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

/* Those for which a test (by default truth) of them, or of an attribute, says `wanted`. */
static Value those(const Call *k, bool of_attribute, bool wanted)
{
        Chat *c = k->chat;
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

static Value choose(const Call *k)
{
        return those(k, false, true);
}

static Value reject(const Call *k)
{
        return those(k, false, false);
}

static Value selectattr(const Call *k)
{
        return those(k, true, true);
}

static Value rejectattr(const Call *k)
{
        return those(k, true, false);
}

const Routine chat_filter_table[] = {
        {"abs", "", 0, absolute},
        {"capitalize", "", 0, capitalize},
        {"count", "", 0, length},
        {"d", "default_value boolean", 0, with_default},
        {"default", "default_value boolean", 0, with_default},
        {"dictsort", "case_sensitive by reverse", 0, dictsort},
        {"e", "", 0, escape},
        {"escape", "", 0, escape},
        {"first", "", 0, first},
        {"float", "default", 0, to_float},
        {"indent", "width first blank", 0, indent},
        {"int", "default base", 0, to_int},
        {"items", "", 0, items},
        {"join", "d attribute", 0, join},
        {"last", "", 0, last},
        {"length", "", 0, length},
        {"list", "", 0, list},
        {"lower", "", 0, lower_case},
        {"map", "*", 0, map},
        {"max", "case_sensitive attribute", 0, greatest},
        {"min", "case_sensitive attribute", 0, least},
        {"reject", "*", 0, reject},
        {"rejectattr", "*", 0, rejectattr},
        {"replace", "old new count", 2, replace},
        {"reverse", "", 0, reverse},
        {"safe", "", 0, safe},
        {"select", "*", 0, choose},
        {"selectattr", "*", 0, selectattr},
        {"sort", "reverse case_sensitive attribute", 0, sort},
        {"string", "", 0, string},
        {"sum", "attribute start", 0, sum},
        {"tojson", "ensure_ascii indent separators sort_keys", 0, tojson},
        {"trim", "chars", 0, trim},
        {"unique", "case_sensitive attribute", 0, unique},
        {"upper", "", 0, upper},
        {NULL, "", 0, NULL},
};
