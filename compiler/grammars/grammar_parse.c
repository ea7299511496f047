/* Parses a grammar's file to trees.
 *
 *     file     = { name "::=" choice }
 *     choice   = sequence { "|" sequence }
 *     sequence = { item [ "*" | "+" | "?" | "{n}" | "{n,}" | "{n,m}" ] }
 *     item     = "literal" | [class] | name | "(" choice ")"
 *
 * White space and comments, # to the end of the line, are allowed everywhere.  A name followed by ::= begins
 * the next rule. */
#include "grammars_private.h"

#include <setjmp.h>

typedef struct {
        Arena *arena;
        Diag *diag;
        const Source *source;
        int32_t at;
        int depth;
        Grammar *g;
        jmp_buf wrong;
} GrammarReader;

static _Noreturn void refuse_at(GrammarReader *r, int32_t begin, int32_t end, const char *what)
{
        diag_error(r->diag, (Span){r->source, begin, end > begin ? end : begin + 1}, "%s", what);
        longjmp(r->wrong, 1);
}

/* --- characters ------------------------------------------------------------------------------------------------------ */

/* 0 at the end.  Invalid bytes are detected by their position. */
static char peek_byte(const GrammarReader *r)
{
        return r->at < r->source->length ? r->source->text[r->at] : 0;
}

static uint32_t next_character(GrammarReader *r)
{
        uint32_t code = 0;
        const int n = decode_utf8(r->source->text + r->at, r->source->length - r->at, &code);
        if (!n)
                refuse_at(r, r->at, r->at + 1, "this is not UTF-8");
        r->at += n;
        return code;
}

static void pass_over(GrammarReader *r)
{
        for (char c; (c = peek_byte(r)); r->at++) {
                if (c == '#')
                        r->at += (int32_t)strcspn(r->source->text + r->at, "\n");
                else if (!strchr(" \t\r\n", c))
                        return;
                if (r->at >= r->source->length)
                        return;
        }
}

static uint32_t hex_digits(GrammarReader *r, int32_t begin, int n)
{
        uint32_t code = 0;
        for (int i = 0; i < n; i++, r->at++) {
                static const char digits[] = "0123456789abcdef";
                const char c = peek_byte(r),
                           *found = c ? strchr(digits, c | (c >= 'A' && c <= 'F' ? 32 : 0)) : NULL;
                if (!found)
                        refuse_at(r, begin, r->at + 1,
                                  arena_printf(r->arena, "expected %d hexadecimal digits here", n));
                code = code << 4 | (uint32_t)(found - digits);
        }
        if (code > LAST_CHARACTER || (code >= 0xd800 && code < 0xe000))
                refuse_at(r, begin, r->at, "there is no character of this number");
        return code;
}

/* A character of a literal or a class, which ends with `close` on its line. */
static uint32_t quoted_character(GrammarReader *r, int32_t begin, char close)
{
        static const char letter[] = "ntr\\\"[]-^", value[] = "\n\t\r\\\"[]-^";
        const int32_t here = r->at;
        if (!peek_byte(r) || peek_byte(r) == '\n')
                refuse_at(r, begin, r->at,
                          arena_printf(r->arena, "this ends with its line: a %c is missing", close));
        uint32_t code = next_character(r);
        if (code != '\\')
                return code;
        const char c = peek_byte(r), *known = c ? strchr(letter, c) : NULL;
        r->at += c != 0;
        if (known)
                return (unsigned char)value[known - letter];
        if (c == 'x' || c == 'u' || c == 'U')
                return hex_digits(r, here, c == 'x' ? 2 : c == 'u' ? 4 : 8);
        refuse_at(r, here, r->at,
                  "expected \\n \\t \\r \\\\ \\\" \\[ \\] \\- \\^ \\xHH \\uHHHH or \\UHHHHHHHH");
}

/* --- items ------------------------------------------------------------------------------------------------------------- */

static GrammarItem *grammar_item(GrammarReader *r, GrammarItemKind kind, int32_t begin)
{
        GrammarItem *item = NEW(r->arena, GrammarItem);
        item->kind = kind;
        item->span = (Span){r->source, begin, r->at > begin ? r->at : begin + 1};
        return item;
}

static void item_add(GrammarReader *r, GrammarItem *to, GrammarItem *kid)
{
        GROW(r->arena, to->kid, to->nkid, to->cap);
        to->kid[to->nkid++] = kid;
}

static GrammarItem *read_literal(GrammarReader *r)
{
        const int32_t begin = r->at++;
        GrammarItem *all = grammar_item(r, ITEM_SEQUENCE, begin);
        while (peek_byte(r) != '"') {
                const int32_t here = r->at;
                const uint32_t code = quoted_character(r, begin, '"');
                GrammarItem *one = grammar_item(r, ITEM_SET, here);
                one->set = charset_of(r->arena, &(CharRange){code, code}, 1);
                item_add(r, all, one);
        }
        r->at++;
        all->span.end = r->at;
        return all;
}

/* Without surrogates, which are not valid in UTF-8. */
static CharSet all_but(Arena *a, CharSet set)
{
        const CharRange surrogates = {0xd800, 0xdfff};
        return charset_without(a, charset_join(a, set, charset_of(a, &surrogates, 1)));
}

static GrammarItem *read_class(GrammarReader *r)
{
        const int32_t begin = r->at++;
        const bool negative = peek_byte(r) == '^';
        int n = 0, cap = 8;
        CharRange *range = NEW_ARRAY(r->arena, CharRange, cap);
        for (r->at += negative; peek_byte(r) != ']';) {
                const int32_t here = r->at;
                CharRange one;
                one.first = one.last = quoted_character(r, begin, ']');
                const char behind = r->at + 1 < r->source->length ? r->source->text[r->at + 1] : 0;
                if (peek_byte(r) == '-' && behind != ']') {
                        r->at++;
                        one.last = quoted_character(r, begin, ']');
                }
                if (one.last < one.first)
                        refuse_at(r, here, r->at, "this range ends before it begins");
                GROW(r->arena, range, n, cap);
                range[n++] = one;
        }
        r->at++;
        if (n == 0 && !negative)
                refuse_at(r, begin, r->at, "a class without a character allows nothing");
        GrammarItem *item = grammar_item(r, ITEM_SET, begin);
        item->set = all_but(r->arena, charset_of(r->arena, range, n));
        if (!negative)
                item->set = all_but(r->arena, item->set);
        if (item->set.n == 0)
                refuse_at(r, begin, r->at, "this class leaves no character");
        return item;
}

static bool is_name_byte(char c, bool first)
{
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
               (!first && ((c >= '0' && c <= '9') || c == '-'));
}

/* Reads a name; NULL: none. */
static const char *grammar_read_name(GrammarReader *r)
{
        const int32_t begin = r->at;
        while (is_name_byte(peek_byte(r), r->at == begin))
                r->at++;
        return r->at > begin ? arena_strndup(r->arena, r->source->text + begin, r->at - begin) : NULL;
}

static bool takes_sign(GrammarReader *r)
{
        if (strncmp(r->source->text + r->at, "::=", 3) != 0)
                return false;
        r->at += 3;
        return true;
}

/* Whether the next rule begins here, or the file ends. */
static bool ends_rule(GrammarReader *r)
{
        const int32_t here = r->at;
        bool ends = peek_byte(r) == 0 && here >= r->source->length;
        if (!ends && grammar_read_name(r)) {
                pass_over(r);
                ends = takes_sign(r);
        }
        r->at = here;
        return ends;
}

static GrammarItem *grammar_read_choice(GrammarReader *r);

static GrammarItem *read_group(GrammarReader *r)
{
        const int32_t begin = r->at++;
        if (++r->depth > MAX_NESTING)
                refuse_at(r, begin, r->at,
                          arena_printf(r->arena, "more than %d groups in one another", MAX_NESTING));
        GrammarItem *all = grammar_read_choice(r);
        if (peek_byte(r) != ')')
                refuse_at(r, begin, begin + 1, "the ) of this group is missing");
        r->at++;
        r->depth--;
        return all;
}

static GrammarItem *read_item(GrammarReader *r)
{
        const int32_t begin = r->at;
        switch (peek_byte(r)) {
        case '"': return read_literal(r);
        case '[': return read_class(r);
        case '(': return read_group(r);
        default: break;
        }
        const char *name = grammar_read_name(r);
        if (!name)
                refuse_at(r, begin, begin + 1,
                          strchr("*+?{", peek_byte(r)) && peek_byte(r)
                                  ? "there is nothing to repeat before this"
                                  : "expected a \"literal\", a [class], a rule's name or a group in ( )");
        GrammarItem *item = grammar_item(r, ITEM_RULE, begin);
        item->name = name;
        return item;
}

static int read_times(GrammarReader *r, int32_t begin)
{
        int n = 0;
        const int32_t first = r->at;
        for (char c; (c = peek_byte(r)) >= '0' && c <= '9' && n <= MAX_TIMES; r->at++)
                n = 10 * n + c - '0';
        if (r->at == first || n > MAX_TIMES)
                refuse_at(r, begin, r->at,
                          arena_printf(r->arena, "expected {3}, {3,} or {3,5}, with numbers up to %d",
                                       MAX_TIMES));
        return n;
}

/* {n}, {n,} or {n,m} */
static void read_braces(GrammarReader *r, GrammarItem *times)
{
        const int32_t begin = r->at++;
        pass_over(r);
        times->least = times->most = read_times(r, begin);
        pass_over(r);
        if (peek_byte(r) == ',') {
                r->at++;
                pass_over(r);
                times->most = peek_byte(r) == '}' ? -1 : read_times(r, begin);
                pass_over(r);
        }
        if (peek_byte(r) != '}')
                refuse_at(r, begin, r->at, "the } of this repetition is missing");
        r->at++;
        if (times->most == 0 || (times->most > 0 && times->most < times->least))
                refuse_at(r, begin, r->at,
                          times->most ? "this ends before it begins" : "no times at all: leave it out");
}

static GrammarItem *read_repeated(GrammarReader *r)
{
        GrammarItem *item = read_item(r);
        pass_over(r);
        const char c = peek_byte(r);
        if (c != '*' && c != '+' && c != '?' && c != '{')
                return item;
        GrammarItem *times = grammar_item(r, ITEM_TIMES, r->at);
        times->least = c == '+';
        times->most = c == '?' ? 1 : -1;
        item_add(r, times, item);
        if (c == '{')
                read_braces(r, times);
        else
                r->at++;
        return times;
}

static GrammarItem *read_sequence(GrammarReader *r)
{
        GrammarItem *all = grammar_item(r, ITEM_SEQUENCE, r->at);
        for (;;) {
                pass_over(r);
                if (peek_byte(r) == '|' || peek_byte(r) == ')' || ends_rule(r))
                        return all;
                item_add(r, all, read_repeated(r));
        }
}

static GrammarItem *grammar_read_choice(GrammarReader *r)
{
        GrammarItem *all = grammar_item(r, ITEM_EITHER, r->at);
        for (;; r->at++) {
                item_add(r, all, read_sequence(r));
                if (peek_byte(r) != '|')
                        return all;
        }
}

static void read_rule(GrammarReader *r)
{
        Grammar *g = r->g;
        const int32_t begin = r->at;
        const char *name = grammar_read_name(r);
        const Span span = {r->source, begin, r->at};
        if (name)
                pass_over(r);
        if (!name || !takes_sign(r))
                refuse_at(r, begin, span.end, "expected a rule: its name, and ::= behind it");
        for (int i = 0; i < g->nrule; i++)
                if (!strcmp(g->rule[i].name, name)) {
                        diag_error(r->diag, span, "the rule %s stands twice", name);
                        diag_note(r->diag, g->rule[i].span, "here it is the first time");
                        longjmp(r->wrong, 1);
                }
        if (g->nrule == MAX_RULES)
                refuse_at(r, begin, span.end, arena_printf(r->arena, "more than %d rules", MAX_RULES));
        GrammarItem *body = grammar_read_choice(r);
        if (peek_byte(r) == ')')
                refuse_at(r, r->at, r->at + 1, "no ( stands before this )");
        GROW(r->arena, g->rule, g->nrule, g->cap_rules);
        g->rule[g->nrule++] = (GrammarRuleText){.name = name, .span = span, .body = body};
}

/* A JSON schema begins with { or [, unlike any grammar. */
static void refuse_schema(GrammarReader *r)
{
        if (peek_byte(r) == '{' || peek_byte(r) == '[')
                refuse_at(r, r->at, r->at + 1,
                          "this is JSON, such as a JSON schema; expected the rules of a grammar, as root ::= "
                          "\"yes\" | "
                          "\"no\". JSON schemas are not read; --grammar json allows any JSON");
}

bool grammar_parse(Arena *a, Diag *diag, const Source *source, Grammar *g)
{
        GrammarReader *r = NEW(a, GrammarReader);
        r->arena = a;
        r->diag = diag;
        r->source = source;
        r->g = g;
        if (setjmp(r->wrong))
                return false;
        pass_over(r);
        refuse_schema(r);
        for (; r->at < source->length; pass_over(r))
                read_rule(r);
        return true;
}
