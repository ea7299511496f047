/* Table of routines on texts: filters, value | name(arguments), and methods, value.name(arguments).  A filter
 * converts its value to a text as str() does; a method requires one.  Routines of Python that are not
 * supported are rejected by name. */
#include "chat_private.h"

static ChatValue plain_text(Chat *c, ChatValue v, const char *what)
{
        chat_need(c, v);
        if (v.kind != V_TEXT)
                FAIL(c, "%s is a text, not a %s", what, chat_kind_name(v));
        return v;
}

/* Methods of a safe text would escape their arguments, which is not supported. */
static ChatValue call_self(const ChatCall *k)
{
        if (k->as == A_FILTER)
                return chat_str(k->chat, k->self);
        if (k->self.safe)
                FAIL(k->chat, "methods of safe texts are not supported");
        return k->self;
}

static ChatValue call_argument_text(const ChatCall *k, int i, const char *what)
{
        return k->as == A_FILTER ? chat_str(k->chat, k->arg[i]) : plain_text(k->chat, k->arg[i], what);
}

/* How often something is done; -1: always. */
static int64_t call_times(const ChatCall *k, int i, const char *what)
{
        bool always = k->arg[i].kind == V_ABSENT || (k->as == A_FILTER && k->arg[i].kind == V_NONE);
        return always ? -1 : chat_integer(k->chat, k->arg[i], what);
}

enum { LEFT = 1, RIGHT = 2 };

static ChatValue call_strip(const ChatCall *k)
{
        int sides = k->routine->variant;
        return chat_strip(k->chat, call_self(k), k->arg[0], sides & LEFT, sides & RIGHT);
}

static ChatValue call_case(const ChatCall *k)
{
        return chat_cased(k->chat, call_self(k), (LetterCase)k->routine->variant);
}

static ChatValue call_replace(const ChatCall *k)
{
        ChatValue text = call_self(k);
        text.safe = false;
        int64_t most = call_times(k, 2, "replace: how often");
        return chat_replace(k->chat, text, call_argument_text(k, 0, "the text to replace"),
                            call_argument_text(k, 1, "the replacement"), most);
}

static Items *split_at_white(Chat *c, ChatValue text, int64_t most)
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

static Items *split_at(Chat *c, ChatValue text, ChatValue by, int64_t most)
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

static ChatValue call_split(const ChatCall *k)
{
        Chat *c = k->chat;
        ChatValue text = call_self(k), by = k->arg[0];
        int64_t most = call_times(k, 1, "split: how often");
        chat_charge(c, text.n / 64);
        if (by.kind == V_ABSENT || by.kind == V_NONE)
                return chat_list(V_LIST, split_at_white(c, text, most));
        if (plain_text(c, by, "the separator").n == 0)
                FAIL(c, "the separator is empty");
        return chat_list(V_LIST, split_at(c, text, by, most));
}

/* from the end; without a number it is call_split() */
static ChatValue call_rsplit(const ChatCall *k)
{
        Chat *c = k->chat;
        int64_t most = call_times(k, 1, "split: how often");
        if (most < 0)
                return call_split(k);
        if (k->arg[0].kind == V_ABSENT || k->arg[0].kind == V_NONE)
                FAIL(c, "rsplit at white space with a number is not supported");
        const Items *all = split_at(c, call_self(k), plain_text(c, k->arg[0], "the separator"), -1);
        if (k->arg[0].n == 0)
                FAIL(c, "the separator is empty");
        int64_t kept = all->n - 1 > most ? all->n - 1 - most : 0;
        const ChatValue *last = &all->at[kept];
        Items *parts = chat_items_new(c);
        chat_items_add(c, parts, chat_part(c, k->self, 0, last->text + last->n - k->self.text));
        for (int64_t i = kept + 1; i < all->n; i++)
                chat_items_add(c, parts, all->at[i]);
        return chat_list(V_LIST, parts);
}

static ChatValue call_splitlines(const ChatCall *k)
{
        return chat_list(V_LIST, chat_lines(k->chat, call_self(k)));
}

static bool has_end(ChatValue text, ChatValue part, bool at_end)
{
        return part.n <= text.n &&
               !memcmp(text.text + (at_end ? text.n - part.n : 0), part.text, (size_t)part.n);
}

/* startswith, endswith: a text, or one of a tuple */
static ChatValue call_ends(const ChatCall *k)
{
        Chat *c = k->chat;
        bool several = k->arg[0].kind == V_TUPLE;
        for (int64_t i = 0; i < (several ? k->arg[0].items->n : 1); i++) {
                chat_charge(c, several);
                if (has_end(call_self(k),
                            plain_text(c, several ? k->arg[0].items->at[i] : k->arg[0], "the text to find"),
                            k->routine->variant == RIGHT))
                        return chat_bool(true);
        }
        return chat_bool(false);
}

/* removeprefix, removesuffix */
static ChatValue call_without_end(const ChatCall *k)
{
        ChatValue part = plain_text(k->chat, k->arg[0], "the text to remove"), text = call_self(k);
        bool right = k->routine->variant == RIGHT;
        int64_t gone = has_end(text, part, right) ? part.n : 0;
        return chat_part(k->chat, text, right ? 0 : gone, text.n - (right ? gone : 0));
}

/* The method joins only texts; the filter converts items, or an attribute of each, to texts. */
static ChatValue call_join(const ChatCall *k)
{
        Chat *c = k->chat;
        bool filter = k->as == A_FILTER;
        ChatValue between = !filter                      ? chat_word("")
                            : k->arg[0].kind == V_ABSENT ? chat_word("")
                                                         : chat_str(c, k->arg[0]);
        const Items *all = chat_iterate(c, filter ? k->self : k->arg[0]);
        Text *t = text_new(c->arena);
        if (!filter)
                between = call_self(k);
        for (int64_t i = 0; i < all->n; i++) {
                ChatValue v = filter ? chat_str(c, chat_attribute(c, all->at[i], k->arg[1]))
                                     : plain_text(c, all->at[i], "an element to join");
                chat_charge(c, 1);
                if (i)
                        chat_add(c, t, between.text, between.n);
                chat_add(c, t, v.text, v.n);
        }
        return chat_copy(c, t);
}

static ChatValue call_find(const ChatCall *k)
{
        ChatValue text = call_self(k);
        chat_charge(k->chat, text.n / 64);
        int64_t at = chat_find(text, plain_text(k->chat, k->arg[0], "the text to find"), 0);
        return chat_int(at < 0 ? -1 : chat_points(chat_text(text.text, at)));
}

static ChatValue call_count(const ChatCall *k)
{
        Chat *c = k->chat;
        ChatValue part = plain_text(c, k->arg[0], "the text to count");
        if (part.n == 0)
                return chat_int(chat_points(call_self(k)) + 1);
        return chat_int(split_at(c, call_self(k), part, -1)->n - 1);
}

static ChatValue call_isdigit(const ChatCall *k)
{
        ChatValue text = call_self(k);
        for (int64_t i = 0; i < text.n; i++) {
                if ((unsigned char)text.text[i] >= 0x80)
                        FAIL(k->chat, "isdigit is not supported beyond ASCII");
                if (text.text[i] < '0' || text.text[i] > '9')
                        return chat_bool(false);
        }
        return chat_bool(text.n > 0);
}

/* --- filters alone --- */

static ChatValue call_string(const ChatCall *k)
{
        return call_self(k);
}

static ChatValue call_safe(const ChatCall *k)
{
        ChatValue v = call_self(k);
        v.safe = true;
        return v;
}

static ChatValue call_escape(const ChatCall *k)
{
        ChatValue v = call_self(k);
        return v.safe ? v : chat_escape(k->chat, v);
}

static ChatValue call_tojson(const ChatCall *k)
{
        return chat_json(k->chat, k->self, k->arg[0], k->arg[1], k->arg[2], k->arg[3]);
}

static ChatValue call_indent(const ChatCall *k)
{
        Chat *c = k->chat;
        Text *t = text_new(c->arena), *width = text_new(c->arena);
        ChatValue text = call_self(k);
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

const Routine chat_text_routines[] = {
        {A_FILTER | OF_TEXT, "capitalize", "", 0, call_case, CASE_CAPITAL},
        {OF_TEXT, "count", "sub", 1, call_count, 0},
        {A_FILTER, "e", "", 0, call_escape, 0},
        {OF_TEXT, "endswith", "suffix", 1, call_ends, RIGHT},
        {A_FILTER, "escape", "", 0, call_escape, 0},
        {OF_TEXT, "find", "sub", 1, call_find, 0},
        {A_FILTER, "indent", "width first blank", 0, call_indent, 0},
        {OF_TEXT, "isdigit", "", 0, call_isdigit, 0},
        {A_FILTER, "join", "d attribute", 0, call_join, 0},
        {OF_TEXT, "join", "iterable", 1, call_join, 0},
        {A_FILTER | OF_TEXT, "lower", "", 0, call_case, CASE_LOWER},
        {OF_TEXT, "lstrip", "chars", 0, call_strip, LEFT},
        {OF_TEXT, "removeprefix", "prefix", 1, call_without_end, LEFT},
        {OF_TEXT, "removesuffix", "suffix", 1, call_without_end, RIGHT},
        {A_FILTER | OF_TEXT, "replace", "old new count", 2, call_replace, 0},
        {OF_TEXT, "rsplit", "sep maxsplit", 0, call_rsplit, 0},
        {OF_TEXT, "rstrip", "chars", 0, call_strip, RIGHT},
        {A_FILTER, "safe", "", 0, call_safe, 0},
        {OF_TEXT, "split", "sep maxsplit", 0, call_split, 0},
        {OF_TEXT, "splitlines", "", 0, call_splitlines, 0},
        {OF_TEXT, "startswith", "prefix", 1, call_ends, LEFT},
        {A_FILTER, "string", "", 0, call_string, 0},
        {OF_TEXT, "strip", "chars", 0, call_strip, LEFT | RIGHT},
        {A_FILTER, "tojson", "ensure_ascii indent separators sort_keys", 0, call_tojson, 0},
        {A_FILTER, "trim", "chars", 0, call_strip, LEFT | RIGHT},
        {A_FILTER | OF_TEXT, "upper", "", 0, call_case, CASE_UPPER},
        {OF_TEXT,
         "casefold center encode expandtabs format format_map index isalnum isalpha isascii isdecimal "
         "isidentifier "
         "islower isnumeric isprintable isspace istitle isupper ljust maketrans partition rfind rindex rjust "
         "rpartition swapcase title translate zfill",
         "*", 0, NULL, 0},
        {0, NULL, "", 0, NULL, 0},
};
