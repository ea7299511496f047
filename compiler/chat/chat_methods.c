/* The methods of texts, dicts, lists and loops, a table each: value.name(arguments).  What Python has and is not here is refused by its
 * name; what would change a value is refused as by the sandbox. */
#include "chat_private.h"

static Value plain_text(Chat *c, Value v, const char *what)
{
        chat_need(c, v);
        if (v.kind != V_TEXT)
                FAIL(c, "%s is a text, not a %s", what, chat_kind_name(v));
        return v;
}

/* A safe text escapes what it is given, which is not done here. */
static Value self_text(const Call *k)
{
        if (k->self.safe)
                FAIL(k->chat, "methods of safe texts are not supported");
        return k->self;
}

static Value strip(const Call *k)
{
        return chat_strip(k->chat, self_text(k), k->arg[0], true, true);
}

static Value lstrip(const Call *k)
{
        return chat_strip(k->chat, self_text(k), k->arg[0], true, false);
}

static Value rstrip(const Call *k)
{
        return chat_strip(k->chat, self_text(k), k->arg[0], false, true);
}

static Items *split_at_white(Chat *c, Value text, int64_t most)
{
        Items *parts = chat_items_new(c);
        int64_t at = 0, n;
        for (;;) {
                while (at < text.n && (n = chat_white_at(text.text, text.n, at)) > 0)
                        at += n;
                if (at == text.n)
                        return parts;
                int64_t from = at;
                if (most >= 0 && parts->n == most) {
                        chat_items_add(c, parts, chat_part(c, text, from, text.n));
                        return parts;
                }
                while (at < text.n && !chat_white_at(text.text, text.n, at))
                        at++;
                chat_items_add(c, parts, chat_part(c, text, from, at));
        }
}

static Items *split_at(Chat *c, Value text, Value by, int64_t most)
{
        Items *parts = chat_items_new(c);
        int64_t from = 0;
        for (int64_t at; most != 0 && (at = chat_find(text, by, from)) >= 0; most--) {
                chat_items_add(c, parts, chat_part(c, text, from, at));
                from = at + by.n;
        }
        chat_items_add(c, parts, chat_part(c, text, from, text.n));
        return parts;
}

static int64_t most_parts(const Call *k)
{
        return k->arg[1].kind == V_ABSENT ? -1 : chat_integer(k->chat, k->arg[1], "split: how often");
}

static Value split(const Call *k)
{
        Chat *c = k->chat;
        Value text = self_text(k), by = k->arg[0];
        int64_t most = most_parts(k);
        chat_charge(c, text.n / 64);
        if (by.kind == V_ABSENT || by.kind == V_NONE)
                return chat_list(V_LIST, split_at_white(c, text, most));
        if (plain_text(c, by, "what is split by").n == 0)
                FAIL(c, "split by nothing");
        return chat_list(V_LIST, split_at(c, text, by, most));
}

/* from the end; without a number it is split() */
static Value rsplit(const Call *k)
{
        Chat *c = k->chat;
        int64_t most = most_parts(k);
        if (most < 0)
                return split(k);
        if (k->arg[0].kind == V_ABSENT || k->arg[0].kind == V_NONE)
                FAIL(c, "rsplit at white with a number is not supported");
        const Items *all = split_at(c, self_text(k), plain_text(c, k->arg[0], "what is split by"), -1);
        if (k->arg[0].n == 0)
                FAIL(c, "split by nothing");
        int64_t kept = all->n - 1 > most ? all->n - 1 - most : 0;
        const Value *last = &all->at[kept];
        Items *parts = chat_items_new(c);
        chat_items_add(c, parts, chat_part(c, k->self, 0, last->text + last->n - k->self.text));
        for (int64_t i = kept + 1; i < all->n; i++)
                chat_items_add(c, parts, all->at[i]);
        return chat_list(V_LIST, parts);
}

static Value splitlines(const Call *k)
{
        return chat_list(V_LIST, chat_lines(k->chat, self_text(k)));
}

static bool has_end(Value text, Value part, bool at_end)
{
        return part.n <= text.n &&
               !memcmp(text.text + (at_end ? text.n - part.n : 0), part.text, (size_t)part.n);
}

static Value ends(const Call *k, bool at_end)
{
        Chat *c = k->chat;
        if (k->arg[0].kind != V_TUPLE)
                return chat_bool(
                        has_end(self_text(k), plain_text(c, k->arg[0], "what is looked for"), at_end));
        for (int64_t i = 0; i < k->arg[0].items->n; i++) {
                chat_charge(c, 1);
                if (has_end(self_text(k), plain_text(c, k->arg[0].items->at[i], "what is looked for"),
                            at_end))
                        return chat_bool(true);
        }
        return chat_bool(false);
}

static Value startswith(const Call *k)
{
        return ends(k, false);
}

static Value endswith(const Call *k)
{
        return ends(k, true);
}

static Value removeprefix(const Call *k)
{
        Value part = plain_text(k->chat, k->arg[0], "what is removed"), text = self_text(k);
        return chat_part(k->chat, text, has_end(text, part, false) ? part.n : 0, text.n);
}

static Value removesuffix(const Call *k)
{
        Value part = plain_text(k->chat, k->arg[0], "what is removed"), text = self_text(k);
        return chat_part(k->chat, text, 0, text.n - (has_end(text, part, true) ? part.n : 0));
}

static Value replace(const Call *k)
{
        Chat *c = k->chat;
        int64_t most = k->arg[2].kind == V_ABSENT ? -1 : chat_integer(c, k->arg[2], "replace: how often");
        return chat_replace(c, self_text(k), plain_text(c, k->arg[0], "what is replaced"),
                            plain_text(c, k->arg[1], "what it is replaced by"), most);
}

static Value lower_case(const Call *k)
{
        return chat_cased(k->chat, self_text(k), CASE_LOWER);
}

static Value upper(const Call *k)
{
        return chat_cased(k->chat, self_text(k), CASE_UPPER);
}

static Value capitalize(const Call *k)
{
        return chat_cased(k->chat, self_text(k), CASE_CAPITAL);
}

static Value join(const Call *k)
{
        Chat *c = k->chat;
        const Items *all = chat_iterate(c, k->arg[0]);
        Text *t = text_new(c->arena);
        Value between = self_text(k);
        for (int64_t i = 0; i < all->n; i++) {
                Value v = plain_text(c, all->at[i], "what is joined");
                chat_charge(c, 1);
                if (i)
                        chat_add(c, t, between.text, between.n);
                chat_add(c, t, v.text, v.n);
        }
        return chat_copy(c, t);
}

static Value find(const Call *k)
{
        Value text = self_text(k);
        chat_charge(k->chat, text.n / 64);
        int64_t at = chat_find(text, plain_text(k->chat, k->arg[0], "what is looked for"), 0);
        return chat_int(at < 0 ? -1 : chat_points(chat_text(text.text, at)));
}

static Value count(const Call *k)
{
        Chat *c = k->chat;
        Value part = plain_text(c, k->arg[0], "what is counted");
        if (part.n == 0)
                return chat_int(chat_points(self_text(k)) + 1);
        return chat_int(split_at(c, self_text(k), part, -1)->n - 1);
}

static Value isdigit_text(const Call *k)
{
        Value text = self_text(k);
        for (int64_t i = 0; i < text.n; i++) {
                if ((unsigned char)text.text[i] >= 0x80)
                        FAIL(k->chat, "isdigit is not supported beyond ASCII");
                if (text.text[i] < '0' || text.text[i] > '9')
                        return chat_bool(false);
        }
        return chat_bool(text.n > 0);
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

static Value view(const Call *k, View of)
{
        Chat *c = k->chat;
        Items *items = chat_items_new(c);
        for (int64_t i = 0; i < k->self.dict->n; i++) {
                Value key = k->self.dict->key[i], value = k->self.dict->value[i];
                Items *pair = of == PAIRS ? chat_items_new(c) : NULL;
                if (pair) {
                        chat_items_add(c, pair, key);
                        chat_items_add(c, pair, value);
                }
                chat_items_add(c, items, pair ? chat_list(V_TUPLE, pair) : of == KEYS ? key : value);
        }
        return chat_list(V_VIEW, items);
}

static Value keys(const Call *k)
{
        return view(k, KEYS);
}

static Value values(const Call *k)
{
        return view(k, VALUES);
}

static Value items(const Call *k)
{
        return view(k, PAIRS);
}

static Value copy(const Call *k)
{
        return k->self; /* nothing changes it */
}

static Value changes(const Call *k)
{
        FAIL(k->chat, "the sandbox refuses what changes a %s", chat_kind_name(k->self));
}

/* --- lists --- */

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

#define UNSUPPORTED(name)                                                                                    \
        {                                                                                                    \
                name, "*", 0, NULL                                                                           \
        }
#define CHANGES(name)                                                                                        \
        {                                                                                                    \
                name, "*", 0, changes                                                                        \
        }

const Routine chat_text_methods[] = {
        {"capitalize", "", 0, capitalize},
        {"count", "sub", 1, count},
        {"endswith", "suffix", 1, endswith},
        {"find", "sub", 1, find},
        {"isdigit", "", 0, isdigit_text},
        {"join", "iterable", 1, join},
        {"lower", "", 0, lower_case},
        {"lstrip", "chars", 0, lstrip},
        {"removeprefix", "prefix", 1, removeprefix},
        {"removesuffix", "suffix", 1, removesuffix},
        {"replace", "old new count", 2, replace},
        {"rsplit", "sep maxsplit", 0, rsplit},
        {"rstrip", "chars", 0, rstrip},
        {"split", "sep maxsplit", 0, split},
        {"splitlines", "", 0, splitlines},
        {"startswith", "prefix", 1, startswith},
        {"strip", "chars", 0, strip},
        {"upper", "", 0, upper},
        UNSUPPORTED("casefold"),
        UNSUPPORTED("center"),
        UNSUPPORTED("encode"),
        UNSUPPORTED("expandtabs"),
        UNSUPPORTED("format"),
        UNSUPPORTED("format_map"),
        UNSUPPORTED("index"),
        UNSUPPORTED("isalnum"),
        UNSUPPORTED("isalpha"),
        UNSUPPORTED("isascii"),
        UNSUPPORTED("isdecimal"),
        UNSUPPORTED("isidentifier"),
        UNSUPPORTED("islower"),
        UNSUPPORTED("isnumeric"),
        UNSUPPORTED("isprintable"),
        UNSUPPORTED("isspace"),
        UNSUPPORTED("istitle"),
        UNSUPPORTED("isupper"),
        UNSUPPORTED("ljust"),
        UNSUPPORTED("maketrans"),
        UNSUPPORTED("partition"),
        UNSUPPORTED("rfind"),
        UNSUPPORTED("rindex"),
        UNSUPPORTED("rjust"),
        UNSUPPORTED("rpartition"),
        UNSUPPORTED("swapcase"),
        UNSUPPORTED("title"),
        UNSUPPORTED("translate"),
        UNSUPPORTED("zfill"),
        {NULL, "", 0, NULL},
};

const Routine chat_dict_methods[] = {
        {"copy", "", 0, copy},     {"get", "key default", 1, get},
        {"items", "", 0, items},   {"keys", "", 0, keys},
        {"values", "", 0, values}, UNSUPPORTED("fromkeys"),
        CHANGES("clear"),          CHANGES("pop"),
        CHANGES("popitem"),        CHANGES("setdefault"),
        CHANGES("update"),         {NULL, "", 0, NULL},
};

const Routine chat_list_methods[] = {
        {"copy", "", 0, copy},
        {"count", "value", 1, list_count},
        {"index", "value", 1, list_index},
        CHANGES("append"),
        CHANGES("clear"),
        CHANGES("extend"),
        CHANGES("insert"),
        CHANGES("pop"),
        CHANGES("remove"),
        CHANGES("reverse"),
        CHANGES("sort"),
        {NULL, "", 0, NULL},
};

const Routine chat_loop_methods[] = {
        {"changed", "*", 0, changed},
        {"cycle", "*", 0, cycle},
        {NULL, "", 0, NULL},
};
