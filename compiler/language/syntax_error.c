/* Syntax errors in the user's terms: what was expected after what, and a hint for the usual mistakes.
 *
 * The grammar gives the tokens that could have followed, by the names it prints. Those are folded into what a
 * user thinks in (an expression, a statement, the end of the statement), and operators are left out where an
 * expression may simply go on. Hints are one table of rules, each a test and a note; the first that fits
 * speaks. */
#include "parser_private.h"

#include "lathe.tab.h"

#include <string.h>

enum { MAX_LISTED = 6, SHOWN = 40 };

void syntax_error(Parser *p, Span span, const char *format, ...)
{
        p->errors++;
        va_list args;
        va_start(args, format);
        if (p->diag)
                diag_error(p->diag, span, "%s", arena_vprintf(p->arena, format, args));
        va_end(args);
}

void report_unclosed(Parser *p, Token bracket, Span before)
{
        int closing = bracket.code == '(' ? ')' : bracket.code == '[' ? ']' : '}';
        syntax_error(p, bracket.span, "this '%c' is never closed", bracket.code);
        if (before.begin < before.end)
                diag_note(p->diag, before, "expected '%c' before this", closing);
}

/* An unexpected token, the tokens before it, and the expected ones. */
typedef struct Misfit {
        Parser *p;
        Token at, before, earlier;
        const char *found; /* the grammar's name for it */
        const char *const *expected;
        int nexpected;
} Misfit;

static bool expects(const Misfit *m, const char *name)
{
        for (int i = 0; i < m->nexpected; i++)
                if (strcmp(m->expected[i], name) == 0)
                        return true;
        return false;
}

static bool may_go_on(const Misfit *m)
{
        return expects(m, "'*'");
}

static bool expects_expression(const Misfit *m)
{
        return expects(m, "number");
}

static bool is_one_of(const char *name, const char *const *list)
{
        for (; *list; list++)
                if (strcmp(name, *list) == 0)
                        return true;
        return false;
}

static bool is_operator(const char *name)
{
        static const char *const list[] = {"or",  "and", "==",  "!=",    "<=",  ">=",  "//",
                                           "as",  "'<'", "'>'", "'+'",   "'-'", "'*'", "'/'",
                                           "'%'", "'@'", "'^'", "'\\''", "'.'", NULL};
        return is_one_of(name, list);
}

/* Reserved words that look like names. */
static bool is_reserved_noun(const char *name)
{
        static const char *const list[] = {"block",  "scheme", "model",  "checkpoint", "import",
                                           "test",   "input",  "output", "repeat",     "over",
                                           "along",  "shared", "loop",   "config",     "require",
                                           "within", "return", "as",     NULL};
        return is_one_of(name, list);
}

/* A token as written, in quotes. */
static const char *quoted(const Misfit *m, Token token)
{
        if (token.code == NL)
                return "the end of the line";
        if (token.code == END)
                return "the end of the file";
        const char *text = token.span.source->text + token.span.begin;
        int length = token.span.end - token.span.begin;
        if (length <= SHOWN)
                return arena_printf(m->p->arena, "'%.*s'", length, text);
        for (length = SHOWN; length > 0 && ((unsigned char)text[length] & 0xc0) == 0x80;)
                length--;
        return arena_printf(m->p->arena, "'%.*s…'", length, text);
}

/* The innermost bracket around the misfit, or 0. */
static int bracket_around(const Misfit *m)
{
        int code = m->at.code, depth = m->p->depth - (code == '(' || code == '[' || code == '{');
        return depth > 0 ? m->p->bracket[depth - 1].code : 0;
}

/* --- expected tokens ----------------------------------------------------------------------------------- */

/* A list of alternatives for a sentence. */
typedef struct Alternatives {
        const char *item[MAX_LISTED];
        int n;
} Alternatives;

static void alternatives_add(Alternatives *list, const char *item)
{
        if (list->n < MAX_LISTED)
                list->item[list->n++] = item;
}

static const char *alternatives_joined(Arena *arena, const Alternatives *list)
{
        const char *text = list->item[0];
        for (int i = 1; i < list->n; i++)
                text = arena_printf(arena, "%s%s%s", text, i + 1 < list->n ? ", " : " or ", list->item[i]);
        return text;
}

/* Adds the tokens that belong to no group, in the order of likelihood. */
static void add_tokens(const Misfit *m, Alternatives *list)
{
        static const char *const order[] = {"'='", "':'", "','",  "';'",  "')'",    "']'", "'('",
                                            "'['", "'{'", "then", "else", "string", NULL};
        bool statement_ends = expects(m, "end of line") || expects(m, "return");
        for (int i = 0; order[i]; i++) {
                if (!expects(m, order[i]))
                        continue;
                bool implied = (strcmp(order[i], "';'") == 0 && statement_ends) ||
                               (strcmp(order[i], "else") == 0 && statement_ends) ||
                               (strcmp(order[i], "':'") == 0 && may_go_on(m)) ||
                               (strpbrk(order[i], "([") && (may_go_on(m) || expects_expression(m))) ||
                               (strcmp(order[i], "string") == 0 && expects_expression(m));
                if (implied)
                        continue;
                if (strcmp(order[i], "string") == 0)
                        alternatives_add(list, "a string");
                else
                        alternatives_add(list, order[i][0] == '\''
                                                       ? order[i]
                                                       : arena_printf(m->p->arena, "'%s'", order[i]));
        }
}

static const char *what_was_expected(const Misfit *m)
{
        Alternatives list = {.n = 0};
        if (expects(m, "return"))
                alternatives_add(&list, "a statement");
        else if (expects(m, "import"))
                alternatives_add(&list, "import, block, scheme, model, checkpoint, config or test");
        else if (expects(m, "require"))
                alternatives_add(&list, "a config item's statement (read, ignore, omit, part, imply, name = "
                                        "value, require, if, "
                                        "block or model)");
        else if (expects_expression(m))
                alternatives_add(&list, "an expression");
        else if (expects(m, "name") && !may_go_on(m))
                alternatives_add(&list, "a name");
        if (!expects(m, "require") && !expects(m, "import"))
                add_tokens(m, &list);
        if (expects(m, "end of line") && !expects(m, "return") && !expects(m, "import") &&
            !expects(m, "name"))
                alternatives_add(&list, may_go_on(m) || expects(m, "else") ? "the end of the statement"
                                                                           : "the end of the line");
        else if (expects(m, "end of line") && may_go_on(m))
                alternatives_add(&list, "the end of the statement");
        else if (list.n == 0 && expects(m, "'}'"))
                alternatives_add(&list, "'}'");
        return list.n ? alternatives_joined(m->p->arena, &list) : NULL;
}

/* --- hints --------------------------------------------------------------------------------------------- */

typedef struct Habit {
        const char *word, *instead;
} Habit;

/* Words of other languages. */
static const char *habit_of(Token token)
{
        static const Habit habit[] = {
                {"lambda", "a block is written 'block name(x) = value'"},
                {"end", "a body ends with '}'"},
                {"endif", "a body ends with '}'"},
                {"done", "a body ends with '}'"},
                {"def", "a block is written 'block name(x) { ... }'"},
                {"func", "a block is written 'block name(x) { ... }'"},
                {"function", "a block is written 'block name(x) { ... }'"},
                {"fn", "a block is written 'block name(x) { ... }'"},
                {"class", "a family is written 'model name { ... }'"},
                {"let", "a value is named by 'name = value'"},
                {"var", "a value is named by 'name = value'"},
                {"const", "a value is named by 'name = value'"},
                {"param", "weights are declared by 'name : weight[n, d]'"},
                {"for", "write 'repeat name[i] : count { ... }', or 'over' for values side by side"},
                {"while", "write 'repeat name[i] : count { ... }'"},
                {"elif", "write 'else if'"},
                {"elseif", "write 'else if'"},
                {"assert", "write 'require'"},
                {"from", "a file is imported by 'import name'"},
                {"include", "a file is imported by 'import name'"},
        };
        if (token.code != NAME)
                return NULL;
        for (size_t i = 0; i < sizeof habit / sizeof *habit; i++)
                if (strcmp(habit[i].word, token.value.name) == 0)
                        return habit[i].instead;
        return NULL;
}

/* Whether the token is a reserved noun, with its text. */
static bool is_reserved(Token token, char *word, int room)
{
        int length = token.span.end - token.span.begin;
        if (!token.span.source || token.code == NAME || length <= 0 || length >= room)
                return false;
        memcpy(word, token.span.source->text + token.span.begin, (size_t)length);
        word[length] = '\0';
        return is_reserved_noun(word);
}

/* Whether the token follows the first name of its statement. */
static bool follows_first_name(const Misfit *m)
{
        if (m->before.code != NAME)
                return false;
        int code = m->earlier.code;
        return code == NL || code == ';' || code == '{' || code == '}' || code == 0 || code == FILE_START;
}

/* --- hints: each returns whether it printed --- */

static bool hint_reserved(const Misfit *m)
{
        char word[16];
        if (!expects(m, "name") || expects(m, "return") || may_go_on(m))
                return false;
        int code = m->at.code;
        bool used_as_name = code == '=' || code == ':' || code == '.' || code == ',';
        if (code == ':' && (m->before.code == OVER || m->before.code == ALONG || m->before.code == REPEAT))
                return false;
        bool reserved = is_reserved(m->at, word, sizeof word);
        if (!reserved && !(used_as_name && is_reserved(m->before, word, sizeof word)))
                return false;
        diag_hint(m->p->diag, "'%s' is a word of the language and can't be a name", word);
        return true;
}

static bool hint_habit(const Misfit *m)
{
        const char *instead = habit_of(m->before);
        if (!instead)
                instead = habit_of(m->at);
        if (instead)
                diag_hint(m->p->diag, "%s", instead);
        return instead != NULL;
}

/* a += b, a ** b */
static bool hint_double_operator(const Misfit *m)
{
        int code = m->at.code;
        const char *next = m->at.span.source->text + m->at.span.end;
        if (code == '*' && m->before.code == '*')
                diag_hint(m->p->diag, "a power is written '^'");
        else if (code == '=' && m->before.code < 256 && strchr("+-*/", m->before.code) &&
                 m->earlier.code == NAME)
                diag_hint(m->p->diag, "write '%s = %s %c ...'", m->earlier.value.name, m->earlier.value.name,
                          m->before.code);
        else if (follows_first_name(m) && strchr("+-*/", code) && *next == '=')
                diag_hint(m->p->diag, "write '%s = %s %c ...'", m->before.value.name, m->before.value.name,
                          code);
        else
                return false;
        return true;
}

/* The misfit begins a line that was not meant to continue the statement. */
static bool hint_continued(const Misfit *m)
{
        int around = bracket_around(m), before = m->before.code;
        if (!begins_line(m->at) || m->at.code == '}' || around == '(' || around == '[')
                return false;
        if (before == NL || before == '{' || before == ';' || m->before.span.end == m->before.span.begin)
                return false;
        diag_note(m->p->diag, m->before.span, "a line that ends with %s continues in the next",
                  quoted(m, m->before));
        return true;
}

static bool hint_equals(const Misfit *m)
{
        if (m->at.code != '=')
                return false;
        const char *name = m->before.code == NAME ? m->before.value.name : "name";
        bool continued = m->before.code == NAME && begins_line(m->before) && !follows_first_name(m);
        if (continued && m->earlier.span.end > m->earlier.span.begin)
                diag_note(m->p->diag, m->earlier.span, "a line that ends with %s continues in the next",
                          quoted(m, m->earlier));
        else if (bracket_around(m) == '(' && expects(m, "':'"))
                diag_hint(m->p->diag, "an argument by name is written '%s: value'", name);
        else if (expects_expression(m) && follows_first_name(m))
                diag_hint(m->p->diag, "a setting is written without '=': '%s value'", name);
        else if (expects(m, "==") && m->before.code != NUMBER)
                diag_hint(m->p->diag, "to compare, write '=='");
        else
                return false;
        return true;
}

static bool hint_colon(const Misfit *m)
{
        if (m->at.code != ':')
                return false;
        if (bracket_around(m) == '[') {
                diag_hint(m->p->diag, "a range is written 'a..b', and a whole axis '..'");
                return true;
        }
        if (expects_expression(m) && follows_first_name(m))
                diag_hint(m->p->diag, "a setting is written without ':': '%s value'", m->before.value.name);
        else if (m->before.code == STRING && expects(m, "'='"))
                diag_hint(m->p->diag, "a checkpoint's entry is written '\"name\" = weights'");
        else
                return false;
        return true;
}

static bool hint_quote(const Misfit *m)
{
        if (m->at.code != '\'' || !expects_expression(m))
                return false;
        diag_hint(m->p->diag, "strings are written in double quotes; ' after a value transposes it");
        return true;
}

/* A line that begins with // or with / and *. */
static bool opens_comment(const Misfit *m)
{
        bool starred = m->at.code == '/' && m->at.span.source->text[m->at.span.end] == '*';
        return begins_line(m->at) && (m->at.code == FLOORDIV || starred);
}

static bool hint_comment(const Misfit *m)
{
        if (!opens_comment(m))
                return false;
        diag_hint(m->p->diag, "a comment begins with '#'");
        return true;
}

static bool hint_then(const Misfit *m)
{
        if (m->at.code != THEN || !expects(m, "'{'"))
                return false;
        diag_hint(m->p->diag, "'if' with a body has no 'then'; 'if a then b else c' is an expression");
        return true;
}

static bool hint_missing_comma(const Misfit *m)
{
        static const char *const starts[] = {"name", "number", "string", "true", "false", "none", NULL};
        int around = bracket_around(m);
        if (!expects(m, "','") || !is_one_of(m->found, starts) || (around != '(' && around != '['))
                return false;
        diag_hint(m->p->diag, "is a ',' missing before %s?", quoted(m, m->at));
        return true;
}

static bool hint_bare_expression(const Misfit *m)
{
        bool goes_on = m->at.code == '(' || m->at.code == '[' || is_operator(m->found) || m->at.code == NL;
        if (!goes_on || !follows_first_name(m) || bracket_around(m) == '(')
                return false;
        if (!expects(m, "'='"))
                return false;
        diag_hint(m->p->diag, "a statement names its value: '%s = ...'; a bare expression is for the REPL",
                  m->at.code == NL ? m->before.value.name : "y");
        return true;
}

static bool hint_chain(const Misfit *m)
{
        static const char *const comparison[] = {"==", "!=", "<=", ">=", "'<'", "'>'", NULL};
        if (!is_one_of(m->found, comparison) || !expects(m, "and") || expects(m, "=="))
                return false;
        diag_hint(m->p->diag, "comparisons do not chain: write 'a < b and b < c'");
        return true;
}

static bool hint_semicolon(const Misfit *m)
{
        if (m->at.code != ';' || !expects(m, "','") || bracket_around(m) != '(' || !may_go_on(m))
                return false;
        diag_hint(m->p->diag, "arguments are separated by ','; ';' is for a block's parameters");
        return true;
}

static bool hint_outside(const Misfit *m)
{
        if (!expects(m, "import") || expects(m, "return") || m->at.code == '}')
                return false;
        diag_hint(m->p->diag, "statements are written in the body of a block, scheme, model or test");
        return true;
}

static void give_hint(const Misfit *m)
{
        static bool (*const hint[])(const Misfit *) = {
                hint_double_operator, hint_continued, hint_reserved,      hint_equals,          hint_colon,
                hint_quote,           hint_comment,   hint_then,          hint_habit,           hint_chain,
                hint_semicolon,       hint_outside,   hint_missing_comma, hint_bare_expression,
        };
        for (size_t i = 0; i < sizeof hint / sizeof *hint; i++)
                if (hint[i](m))
                        return;
}

/* --- the report ---------------------------------------------------------------------------------------- */

/* A body or a new statement begins while ( or [ is open: the bracket is the error. */
static bool leaves_bracket_open(const Misfit *m)
{
        int around = bracket_around(m);
        if (around != '(' && around != '[')
                return false;
        if (m->at.code == '{')
                return true;
        return begins_statement(m->at) && (m->at.code != NAME || !expects(m, "';'"));
}

static bool begins_with_operator(const Misfit *m)
{
        bool more = m->at.code == WITHIN || m->at.code == '(' || m->at.code == '[';
        return m->before.code == NL && (is_operator(m->found) || more) && !opens_comment(m);
}

static void misfit_describe(const Misfit *m)
{
        const char *found = quoted(m, m->at);
        if (begins_with_operator(m)) {
                syntax_error(m->p, m->at.span, "a line can't begin with %s", found);
                diag_hint(m->p->diag, "to continue the line before, end it with %s", found);
                return;
        }
        const char *expected = what_was_expected(m);
        int before = m->before.code;
        const char *after = before == NL || before == 0 || before == FILE_START || before == LINES_START
                                    ? ""
                                    : arena_printf(m->p->arena, " after %s", quoted(m, m->before));
        if (expected)
                syntax_error(m->p, m->at.span, "expected %s%s, found %s", expected, after, found);
        else
                syntax_error(m->p, m->at.span, "unexpected %s%s", found, after);
        give_hint(m);
}

void report_unexpected(Parser *p, const char *found, const char *const *expected, int nexpected)
{
        Misfit m = {p, p->recent[0], p->recent[1], p->recent[2], found, expected, nexpected};
        begin_recovery(p);
        if (p->stopped || m.at.span.begin < p->quiet_to)
                return;
        if (!leaves_bracket_open(&m))
                misfit_describe(&m);
        else if (m.at.code == '{')
                close_before_body(p);
        else
                close_before_line(p, m.at);
}
