/* The tokens that the grammar reads.
 *
 * The newline rule is applied between scanner and grammar: a line may end with an operator and never
 * begins with one, so a line end is a token only where a statement can end: outside ( and [, after a token
 * that can end a statement, and not before else, then or {. This file also tracks open brackets:
 * it reports those that are never closed or have no opening one, so that the grammar sees only matching
 * brackets; and after a syntax error it skips to the next statement of the body, over whole brackets. */
#include "lathe.tab.h"
#include "parser_private.h"

#include <string.h>

/* --- tokens -------------------------------------------------------------------------------------------- */

Token scanned_token(Parser *p)
{
        if (p->nahead)
                return p->ahead[--p->nahead];
        Token token = {0};
        token.code = scan_token(&token, p->scanner);
        if (token.code == END)
                token.span = (Span){p->source, p->last_end, p->last_end};
        return token;
}

static void put_back(Parser *p, Token token)
{
        p->ahead[p->nahead++] = token;
}

/* A token that is not in the source, after the last one read. */
static Token token_here(const Parser *p, int code)
{
        return (Token){code, {p->source, p->last_end, p->last_end}, {NULL}};
}

bool can_end_statement(int code)
{
        switch (code) {
        case NAME:
        case NUMBER:
        case STRING:
        case TRUE:
        case FALSE:
        case NONE:
        case RANGE:
        case BLOCK: /* only as types */
        case SCHEME:
        case YYerror: /* any invalid token */
        case ')':
        case ']':
        case '}':
        case '\'': return true;
        default: return false;
        }
}

/* Whether the line end is a token.  Reads the next token, and puts it back. */
static bool line_end_counts(Parser *p)
{
        bool hidden = p->depth && p->bracket[p->depth - 1].code != '{';
        if (hidden || !can_end_statement(p->last_code))
                return false;
        Token next;
        do
                next = scanned_token(p);
        while (next.code == NL);
        put_back(p, next);
        return next.code != ELSE && next.code != THEN && next.code != '{';
}

/* --- brackets ------------------------------------------------------------------------------------------ */

bool is_opening(int code)
{
        return code == '(' || code == '[' || code == '{';
}

/* Number of open brackets up to and including the innermost {. */
static int enclosing_body(const Parser *p, int depth)
{
        while (depth && p->bracket[depth - 1].code != '{')
                depth--;
        return depth;
}

static Token open_bracket(Parser *p, Token token)
{
        if (p->depth < MAX_BRACKETS) {
                p->bracket[p->depth++] = token;
                return token;
        }
        syntax_error(p, token.span, "more than %d brackets are open at once", MAX_BRACKETS);
        p->stopped = true;
        return token_here(p, END);
}

/* Reports the innermost brackets down to depth as never closed, and removes them. */
static void give_up_brackets(Parser *p, int depth, Span before)
{
        if (p->depth > depth)
                p->quiet_to = before.begin + 1;
        while (p->depth > depth)
                report_unclosed(p, p->bracket[--p->depth], before);
}

/* Index + 1 of the opening bracket that a closing one matches, or 0.  ) and ] match only within the body. */
static int opening_of(const Parser *p, int closing)
{
        int opening = closing == ')' ? '(' : closing == ']' ? '[' : '{';
        int depth = p->depth;
        while (depth && p->bracket[depth - 1].code != opening && p->bracket[depth - 1].code != '{')
                depth--;
        return depth && p->bracket[depth - 1].code == opening ? depth : 0;
}

/* A closing bracket without a match: one of the wrong kind counts as the right one; else it is an error
 * from which the grammar recovers. */
static void mend_bracket(Parser *p, Token *token)
{
        const Token *open = p->depth ? &p->bracket[p->depth - 1] : NULL;
        if (open && open->code != '{' && token->code != '}') {
                int closing = open->code == '(' ? ')' : ']';
                syntax_error(p, token->span, "expected '%c', found '%c'", closing, token->code);
                diag_note(p->diag, open->span, "to close this '%c'", open->code);
                token->code = closing;
                p->depth--;
                return;
        }
        if (open && open->code != '{')
                give_up_brackets(p, 0, token->span);
        else
                syntax_error(p, token->span, "unmatched '%c'", token->code);
        token->code = YYerror;
}

static void close_bracket(Parser *p, Token *token)
{
        int opening = opening_of(p, token->code);
        if (opening == 0) {
                mend_bracket(p, token);
                return;
        }
        give_up_brackets(p, opening, token->span);
        p->depth--;
}

/* A word at the left margin that begins an item of a file, and nothing within a body. */
static bool begins_item(Token token)
{
        int code = token.code, begin = token.span.begin;
        bool at_margin = begin == 0 || token.span.source->text[begin - 1] == '\n';
        return at_margin &&
               (code == MODEL || code == IMPORT || code == TEST || code == SCHEME || code == CONFIG);
}

/* An item begins although brackets are open: the innermost was not closed.  All are closed for the
 * grammar. */
static void close_before_item(Parser *p, Token item)
{
        report_unclosed(p, p->bracket[p->depth - 1], item.span);
        p->quiet_to = item.span.begin;
        put_back(p, item);
        put_back(p, token_here(p, NL));
        int kept = 0;
        for (int i = 0; i < p->depth; i++) {
                if (p->bracket[i].code != '{')
                        continue;
                put_back(p, token_here(p, '}'));
                p->bracket[kept++] = p->bracket[i];
        }
        p->depth = kept;
}

/* --- recovery ------------------------------------------------------------------------------------------ */

void begin_recovery(Parser *p)
{
        const Token *found = &p->recent[0];
        int depth = p->depth - is_opening(found->code);
        int body = enclosing_body(p, depth);
        bool resumes = found->code == END || found->code == '}' || found->code == NL ||
                       (found->code == ';' && depth == body);
        p->skip_to = resumes ? -1 : body;
}

static bool ends_recovery(const Parser *p, int code)
{
        if (code == END)
                return true;
        if (code == '}')
                return p->depth == p->skip_to - 1;
        return (code == NL || code == ';') && p->depth == p->skip_to;
}

void close_before_line(Parser *p, Token token)
{
        report_unclosed(p, p->bracket[p->depth - 1], token.span);
        p->depth = enclosing_body(p, p->depth);
        p->skip_to = -1;
        put_back(p, token);
        put_back(p, token_here(p, NL));
        p->last_code = ')'; /* the token before the line end */
}

void close_before_body(Parser *p)
{
        Token body = p->bracket[--p->depth];
        report_unclosed(p, p->bracket[p->depth - 1], body.span);
        p->depth = enclosing_body(p, p->depth);
        p->skip_to = p->depth;
        p->bracket[p->depth++] = body;
}

static bool is_statement_word(int code)
{
        static const int word[] = {BLOCK, CHECKPOINT, INPUT, OUTPUT, REPEAT, SHARED, LOOP, REQUIRE, RETURN};
        for (size_t i = 0; i < sizeof word / sizeof *word; i++)
                if (word[i] == code)
                        return true;
        return false;
}

bool begins_line(Token token)
{
        const Source *source = token.span.source;
        int32_t i = token.span.begin;
        while (i > 0 && (source->text[i - 1] == ' ' || source->text[i - 1] == '\t'))
                i--;
        return i == 0 || source->text[i - 1] == '\n';
}

bool begins_statement(Token token)
{
        if (!begins_line(token))
                return false;
        if (is_statement_word(token.code))
                return true;
        const char *next = token.span.source->text + token.span.end;
        next += strspn(next, " \t");
        return token.code == NAME && ((next[0] == '=' && next[1] != '=') || next[0] == ',' || next[0] == ':');
}

/* While skipping within ( or [: a line that begins with a statement's word shows that the bracket was not
 * closed. */
static bool is_left_open(const Parser *p, Token token)
{
        bool hidden = p->depth && p->bracket[p->depth - 1].code != '{';
        return p->skip_to >= 0 && hidden && is_statement_word(token.code) && begins_line(token);
}

/* --- the token stream the grammar sees ----------------------------------------------------------------- */

/* The unclosed string may contain the closing brackets of its line. */
static bool is_open_string(Token token)
{
        return token.span.source->text[token.span.begin] == '"';
}

/* Bytes of the body that begins here and ends on a line of its own: an outline leaves them out. */
static int32_t skipped_body(const Parser *p, Token open)
{
        if (!p->outline || open.code != '{' || p->depth != 1 || p->nahead)
                return 0;
        const char *body = p->source->text + open.span.end, *line = strchr(body, '\n'),
                   *end = strstr(body, "\n}");
        return line && end && !memchr(body, '}', (size_t)(line - body)) ? (int32_t)(end - body) : 0;
}

/* The next token after the newline rule, with brackets tracked.  False: skipped, read on. */
static bool next_token(Parser *p, Token *token)
{
        *token = scanned_token(p);
        if (token->code == NL) {
                if (!line_end_counts(p))
                        return false;
                *token = token_here(p, NL);
        }
        if (p->depth && begins_item(*token)) {
                close_before_item(p, *token);
                return false;
        }
        if (is_left_open(p, *token)) {
                int body = p->skip_to;
                close_before_line(p, *token);
                p->skip_to = body;
                return false;
        }
        if (is_opening(token->code))
                *token = open_bracket(p, *token);
        p->skip = skipped_body(p, *token);
        bool closing = token->code == ')' || token->code == ']' || token->code == '}';
        if (closing)
                close_bracket(p, token);
        if (token->code == YYerror && is_open_string(*token))
                p->depth = enclosing_body(p, p->depth);
        if (token->code == END && !p->stopped)
                give_up_brackets(p, 0, token->span);
        p->last_code = token->code;
        p->last_end = token->span.end;
        return true;
}

/* The grammar's next token.  During recovery: the first token at the next statement's boundary. */
static Token token_for_grammar(Parser *p)
{
        Token token;
        for (;;) {
                if (p->diag && p->diag->full)
                        p->stopped = true;
                if (p->stopped)
                        return token_here(p, END);
                if (!next_token(p, &token))
                        continue;
                if (p->skip_to < 0 || p->stopped || ends_recovery(p, token.code))
                        return token;
        }
}

int yylex(TokenValue *value, Span *span, Parser *p)
{
        Token token = p->start ? token_here(p, p->start) : token_for_grammar(p);
        p->start = 0;
        p->skip_to = -1;
        memmove(p->recent + 1, p->recent, (RECENT - 1) * sizeof *p->recent);
        p->recent[0] = token;
        *value = token.value;
        *span = token.span;
        if (token.code == YYerror)
                begin_recovery(p);
        return token.code;
}
