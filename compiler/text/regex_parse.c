/* Parses regexes of tokenizer.json, in the syntax of Oniguruma, to trees over sets of characters.
 *
 * Alternation, groups that capture or not, (?i:…), * + ? {n,m}, lazy and possessive, classes within classes,
 * \p{…} \s \S \d \D \w \W, (?=X) and (?!X) of one character, $.  Other syntax is rejected with its position,
 * so that no regex is misread. */
#include "form_private.h"

#include <stdlib.h>

enum { MAX_DEPTH = 64, MAX_REPEAT = 255 };

typedef struct {
        Arena *arena;
        const char *text;
        int n, at, depth;
        bool fold; /* within (?i: */
        jmp_buf wrong;
        const char *why;
} RegexParser;

static _Noreturn void regex_refuse(RegexParser *p, int at, const char *what)
{
        p->why = arena_printf(
                p->arena, "byte %d of the regex, at \"%.*s\": %s", at,
                (int)strcspn(arena_strndup(p->arena, p->text + at, p->n - at < 12 ? p->n - at : 12), "\n"),
                p->text + at, what);
        longjmp(p->wrong, 1);
}

/* The next byte, 0 at the end; a regex contains no byte 0. */
static char peek(const RegexParser *p)
{
        return p->at < p->n ? p->text[p->at] : 0;
}

static bool parse_follows(const RegexParser *p, const char *what)
{
        int n = (int)strlen(what);
        return p->n - p->at >= n && !strncmp(p->text + p->at, what, (size_t)n);
}

static bool parse_takes(RegexParser *p, const char *what)
{
        if (!parse_follows(p, what))
                return false;
        p->at += (int)strlen(what);
        return true;
}

static uint32_t take_character(RegexParser *p)
{
        uint32_t code;
        int n = p->at < p->n ? decode_utf8(p->text + p->at, p->n - p->at, &code) : 0;
        if (!n)
                regex_refuse(p, p->at < p->n ? p->at : p->n, p->at < p->n ? "not UTF-8" : "ends too early");
        p->at += n;
        return code;
}

static CharSet single(RegexParser *p, uint32_t code)
{
        CharRange one = {code, code};
        return charset_of(p->arena, &one, 1);
}

static RegexTree *tree_new(RegexParser *p, RegexKind kind, int at)
{
        RegexTree *t = NEW(p->arena, RegexTree);
        t->kind = kind;
        t->at = at;
        return t;
}

/* --- escapes --------------------------------------------------------------------------------------------------------- */

static CharSet property(RegexParser *p, int begin, bool negative)
{
        int name = ++p->at;
        const char *close = memchr(p->text + name, '}', (size_t)(p->n - name));
        CharSet set;
        if (!close)
                regex_refuse(p, begin, "this property lacks its }");
        int length = (int)(close - p->text) - name;
        if (length > 1 && p->text[name] == '^') {
                negative = !negative;
                name++;
                length--;
        }
        if (!charset_category(p->arena, p->text + name, length, &set))
                regex_refuse(p, begin,
                             "lathe supports only the general categories, such as L and Lu, but not C…");
        p->at = (int)(close - p->text) + 1;
        return negative ? charset_without(p->arena, set) : set;
}

static uint32_t hexadecimal(RegexParser *p, int begin, int digits)
{
        char number[9] = "";
        int n = 0;
        while (n < digits && p->at < p->n && strchr("0123456789abcdefABCDEF", peek(p)))
                number[n++] = p->text[p->at++];
        unsigned long code = strtoul(number, NULL, 16);
        if (n == 0 || code > LAST_CHARACTER)
                regex_refuse(p, begin, "not the number of a character");
        return (uint32_t)code;
}

static uint32_t escaped_character(RegexParser *p, int begin, char c)
{
        static const char from[] = "nrtfvae", to[] = "\n\r\t\f\v\a\x1b";
        const char *known = strchr(from, c);
        if (known && c)
                return (uint32_t)(unsigned char)to[known - from];
        if (c == 'x' && parse_takes(p, "{")) {
                uint32_t code = hexadecimal(p, begin, 8);
                if (!parse_takes(p, "}"))
                        regex_refuse(p, begin, "this lacks its }");
                return code;
        }
        if (c == 'u')
                return hexadecimal(p, begin, 4);
        uint32_t code = c == 'x' ? hexadecimal(p, begin, 2) : 0;
        if (c == 'x' && code < 0x80)
                return code;
        if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'))
                regex_refuse(p, begin,
                             "unsupported escape; lathe has \\p{…} \\P{…} \\w \\W \\s \\S \\d \\D \\n "
                             "\\r \\t "
                             "\\x{…} \\u….");
        return (uint32_t)(unsigned char)c;
}

/* Parses the part after a backslash.  *code: the character if it is a single one, otherwise UINT32_MAX. */
static CharSet parse_escape(RegexParser *p, uint32_t *code)
{
        int begin = p->at - 1;
        char c = peek(p);
        CharSet digits;
        *code = UINT32_MAX;
        if (p->at >= p->n)
                regex_refuse(p, begin, "nothing follows it");
        if ((unsigned char)c >= 0x80) {
                *code = take_character(p);
                return single(p, *code);
        }
        p->at++;
        switch (c) {
        case 'p':
        case 'P':
                if (peek(p) != '{')
                        regex_refuse(p, begin, "a property is written in {}");
                return property(p, begin, c == 'P');
        case 'w': return charset_word(p->arena);
        case 'W': return charset_without(p->arena, charset_word(p->arena));
        case 's': return charset_space(p->arena);
        case 'S': return charset_without(p->arena, charset_space(p->arena));
        case 'd':
        case 'D':
                charset_category(p->arena, "Nd", 2, &digits);
                return c == 'd' ? digits : charset_without(p->arena, digits);
        default: *code = escaped_character(p, begin, c); return single(p, *code);
        }
}

/* --- letters of either case ------------------------------------------------------------------------------------------ */

static bool is_ascii_letter(uint32_t c)
{
        return (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
}

/* Adds the other case; Unicode folds U+017F to s and U+212A to k. */
static CharSet folded(RegexParser *p, int at, uint32_t c)
{
        CharRange range[3] = {{c, c}, {c ^ 0x20, c ^ 0x20}, {0x17f, 0x17f}};
        if (c >= 0x80)
                regex_refuse(p, at, "in (?i: only letters of ASCII are supported");
        if (!is_ascii_letter(c))
                return single(p, c);
        if ((c | 0x20) == 'k')
                range[2] = (CharRange){0x212a, 0x212a};
        return charset_of(p->arena, range, (c | 0x20) == 's' || (c | 0x20) == 'k' ? 3 : 2);
}

/* Whether a single character also matches these two letters if case is ignored: ß for ss, a ligature for
 * st. */
static bool is_folded_pair(uint32_t a, uint32_t b)
{
        static const char *const pair[] = {"ss", "st", "ff", "fi", "fl"};
        for (int i = 0; i < 5; i++)
                if ((a | 0x20) == (uint32_t)pair[i][0] && (b | 0x20) == (uint32_t)pair[i][1])
                        return true;
        return false;
}

/* --- classes --------------------------------------------------------------------------------------------------------- */

static CharSet class_part(RegexParser *p, int begin, uint32_t *code)
{
        *code = UINT32_MAX;
        if (parse_follows(p, "&&"))
                regex_refuse(p, p->at, "intersection of classes by && is not supported");
        if (parse_follows(p, "[:"))
                regex_refuse(p, p->at, "POSIX classes are not supported; \\p{…} has categories");
        if (p->at >= p->n)
                regex_refuse(p, begin, "this class lacks its ]");
        if (parse_takes(p, "\\"))
                return parse_escape(p, code);
        *code = take_character(p);
        return single(p, *code);
}

static CharSet parse_class(RegexParser *p)
{
        int begin = p->at - 1;
        bool negative = parse_takes(p, "^");
        CharSet all = {NULL, 0};
        if (++p->depth > MAX_DEPTH)
                regex_refuse(p, begin, "too deep");
        if (peek(p) == ']')
                regex_refuse(p, begin, "an empty class, or one that begins with ]: write \\]");
        while (!parse_takes(p, "]")) {
                if (peek(p) == '[' && !parse_follows(p, "[:")) {
                        p->at++;
                        all = charset_join(p->arena, all, parse_class(p));
                        continue;
                }
                uint32_t first, last;
                int at = p->at;
                CharSet part = class_part(p, begin, &first);
                if (first != UINT32_MAX && peek(p) == '-' && p->at + 1 < p->n && p->text[p->at + 1] != ']') {
                        p->at++;
                        class_part(p, begin, &last);
                        if (last == UINT32_MAX || last < first)
                                regex_refuse(p, at, "not a range of characters");
                        CharRange range = {first, last};
                        part = charset_of(p->arena, &range, 1);
                }
                if (p->fold && first != UINT32_MAX)
                        regex_refuse(p, at, "classes in (?i: are not supported");
                all = charset_join(p->arena, all, part);
        }
        p->depth--;
        return negative ? charset_without(p->arena, all) : all;
}

/* --- the rest -------------------------------------------------------------------------------------------------------- */

static RegexTree *parse_choice(RegexParser *p);

static RegexTree *set_tree(RegexParser *p, int at, CharSet set)
{
        RegexTree *t = tree_new(p, REGEX_SET, at);
        t->set = set;
        return t;
}

/* The set of a tree that matches one character, also as alternatives. */
static bool one_character(RegexParser *p, const RegexTree *t, CharSet *out)
{
        if (t->kind == REGEX_SET) {
                *out = t->set;
                return true;
        }
        if (t->kind == REGEX_SEQUENCE)
                return t->n == 1 && one_character(p, t->part[0], out);
        if (t->kind != REGEX_CHOICE)
                return false;
        *out = (CharSet){NULL, 0};
        for (int i = 0; i < t->n; i++) {
                CharSet part;
                if (!one_character(p, t->part[i], &part))
                        return false;
                *out = charset_join(p->arena, *out, part);
        }
        return true;
}

static RegexTree *look_ahead(RegexParser *p, int begin, bool negative)
{
        RegexTree *t = tree_new(p, REGEX_LOOK, begin);
        t->negative = negative;
        RegexTree *inner = parse_choice(p);
        if (!one_character(p, inner, &t->set))
                regex_refuse(p, begin, "look-ahead of more than one character is not supported");
        return t;
}

static RegexTree *parse_group(RegexParser *p)
{
        int begin = p->at - 1;
        bool fold = p->fold;
        RegexTree *t;
        if (++p->depth > MAX_DEPTH)
                regex_refuse(p, begin, "too deep");
        if (parse_takes(p, "?!"))
                t = look_ahead(p, begin, true);
        else if (parse_takes(p, "?="))
                t = look_ahead(p, begin, false);
        else {
                if (parse_takes(p, "?i:"))
                        p->fold = true;
                else if (parse_takes(p, "?-i:"))
                        p->fold = false;
                else if (!parse_takes(p, "?:") && peek(p) == '?')
                        regex_refuse(p, begin, "unsupported group; lathe has (…) (?:…) (?i:…) (?=X) (?!X)");
                t = parse_choice(p);
        }
        if (!parse_takes(p, ")"))
                regex_refuse(p, begin, "this group lacks its )");
        p->fold = fold;
        p->depth--;
        return t;
}

static RegexTree *end_of_line(RegexParser *p, int begin)
{
        RegexTree *t = tree_new(p, REGEX_LOOK, begin);
        t->set = single(p, '\n');
        t->or_end = true;
        return t;
}

static RegexTree *parse_atom(RegexParser *p)
{
        int begin = p->at;
        uint32_t code;
        char c = peek(p);
        if (c == '*' || c == '+' || c == '?' || c == '{')
                regex_refuse(p, begin, "nothing to repeat");
        if (c == '^')
                regex_refuse(p, begin, "^ is not supported: matching begins where the last piece ended");
        if (parse_takes(p, "("))
                return parse_group(p);
        if (parse_takes(p, "["))
                return set_tree(p, begin, parse_class(p));
        if (parse_takes(p, "$"))
                return end_of_line(p, begin);
        if (parse_takes(p, "."))
                return set_tree(p, begin, charset_without(p->arena, single(p, '\n')));
        if (parse_takes(p, "\\")) {
                CharSet set = parse_escape(p, &code);
                return set_tree(p, begin, p->fold && code != UINT32_MAX ? folded(p, begin, code) : set);
        }
        code = take_character(p);
        return set_tree(p, begin, p->fold ? folded(p, begin, code) : single(p, code));
}

static int bound(RegexParser *p, int begin)
{
        int n = 0;
        while (peek(p) >= '0' && peek(p) <= '9') {
                n = 10 * n + (p->text[p->at++] - '0');
                if (n > MAX_REPEAT)
                        regex_refuse(p, begin, "repeated at most 255 times");
        }
        return n;
}

/* {n} {n,} {n,m} {,m} */
static void bounds(RegexParser *p, RegexTree *t)
{
        int begin = p->at - 1;
        if (!strchr("0123456789,", peek(p)) || !peek(p))
                regex_refuse(p, begin, "expected numbers in {}; the character is \\{");
        t->least = bound(p, begin);
        t->most = t->least;
        if (parse_takes(p, ","))
                t->most = peek(p) == '}' ? -1 : bound(p, begin);
        if (!parse_takes(p, "}") || (t->most >= 0 && t->most < t->least) || (!t->least && !t->most))
                regex_refuse(p, begin, "not a number of repetitions");
}

static RegexTree *parse_repeated(RegexParser *p, RegexTree *what)
{
        for (char c; (c = peek(p)) != 0 && strchr("*+?{", c);) {
                RegexTree *t = tree_new(p, REGEX_REPEAT, p->at++);
                t->part = NEW(p->arena, RegexTree *);
                t->part[0] = what;
                t->n = 1;
                t->least = c == '+';
                t->most = c == '?' ? 1 : -1;
                if (c == '{')
                        bounds(p, t);
                if (c == '{' && peek(p) == '?')
                        regex_refuse(p, t->at, "a lazy {} is not supported");
                if (c != '{' && parse_takes(p, "+")) /* in {n,m}+ the + is a further repetition */
                        t->possessive = true;
                else if (c != '{' && parse_takes(p, "?"))
                        t->lazy = true;
                if (what->kind == REGEX_LOOK)
                        regex_refuse(p, t->at, "nothing to repeat");
                what = t;
                if (++p->depth > MAX_DEPTH)
                        regex_refuse(p, t->at, "too deep");
        }
        return what;
}

static void sequence_add(RegexParser *p, RegexTree *t, RegexTree *part)
{
        if ((t->n & (t->n - 1)) == 0)
                t->part = arena_grow(p->arena, t->part, t->n * (int64_t)sizeof *t->part,
                                     (2 * t->n + 1) * (int64_t)sizeof *t->part);
        t->part[t->n++] = part;
}

static RegexTree *sequence(RegexParser *p)
{
        RegexTree *t = tree_new(p, REGEX_SEQUENCE, p->at);
        uint32_t before = 0;
        while (p->at < p->n && peek(p) != '|' && peek(p) != ')') {
                int begin = p->at, depth = p->depth;
                RegexTree *part = parse_repeated(p, parse_atom(p));
                uint32_t letter = p->fold && part->kind == REGEX_SET && part->set.n > 1
                                          ? (uint32_t)(unsigned char)p->text[begin]
                                          : 0;
                if (before && letter && is_folded_pair(before, letter))
                        regex_refuse(
                                p, begin,
                                "in (?i: one character matches these two letters, which is not supported");
                before = letter;
                p->depth = depth;
                sequence_add(p, t, part);
        }
        return t;
}

static RegexTree *parse_choice(RegexParser *p)
{
        int begin = p->at;
        RegexTree *first = sequence(p), *all = NULL;
        while (parse_takes(p, "|")) {
                if (!all) {
                        all = tree_new(p, REGEX_CHOICE, begin);
                        sequence_add(p, all, first);
                }
                sequence_add(p, all, sequence(p));
        }
        return all ? all : first;
}

/* --- trees without a regex -------------------------------------------------------------------------------------------- */

RegexTree *regex_of_set(Arena *a, CharSet set, bool many)
{
        RegexTree *one = NEW(a, RegexTree), *t = NEW(a, RegexTree);
        *one = (RegexTree){.kind = REGEX_SET, .set = set};
        *t = (RegexTree){.kind = REGEX_REPEAT, .least = 1, .most = -1, .part = NEW(a, RegexTree *), .n = 1};
        t->part[0] = one;
        return many ? t : one;
}

static RegexTree *tree_of_two(Arena *a, RegexKind kind, RegexTree *first, RegexTree *second)
{
        RegexTree *t = NEW(a, RegexTree);
        *t = (RegexTree){.kind = kind, .part = NEW_ARRAY(a, RegexTree *, 2), .n = 2};
        t->part[0] = first;
        t->part[1] = second;
        return t;
}

RegexTree *regex_either(Arena *a, RegexTree *first, RegexTree *second)
{
        return tree_of_two(a, REGEX_CHOICE, first, second);
}

RegexTree *regex_then(Arena *a, RegexTree *first, RegexTree *second)
{
        return tree_of_two(a, REGEX_SEQUENCE, first, second);
}

int64_t regex_least_bytes(const RegexTree *t)
{
        enum { MOST = 1 << 16 };
        int64_t least = t->kind == REGEX_SET, part;
        for (int i = 0; i < t->n; i++) {
                part = regex_least_bytes(t->part[i]);
                if (t->kind == REGEX_SEQUENCE)
                        least += part;
                else if (t->kind == REGEX_CHOICE)
                        least = i && least < part ? least : part;
                else
                        least = part * t->least;
        }
        return least < MOST ? least : MOST;
}

RegexTree *regex_parse(Arena *a, Bytes regex, const char **why)
{
        enum { LONGEST = 1 << 16 };
        RegexParser *p = NEW(a, RegexParser);
        *p = (RegexParser){.arena = a, .text = regex.at, .n = (int)(regex.n < LONGEST ? regex.n : LONGEST)};
        *why = regex.n < LONGEST ? NULL : "a regex of 65536 bytes or more";
        if (*why)
                return NULL;
        if (setjmp(p->wrong)) {
                *why = p->why;
                return NULL;
        }
        RegexTree *t = parse_choice(p);
        if (p->at < p->n)
                regex_refuse(p, p->at, "a ) too much");
        return t;
}
