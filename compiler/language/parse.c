/* Parsing: from a source's bytes to its tree.
 *
 * Between scanner and grammar stands the newline rule: a line ends with its operator and never begins with
 * one, so a line end is a token only where a statement can end, which is outside ( and [, after a token that
 * can end one, and not before else, then or {. The same place keeps the open brackets: it reports those that
 * are never closed or close nothing, so that the grammar sees balanced ones; and after a syntax error it
 * skips, over whole bracketed parts, to where the next statement of the same body begins.
 *
 * Expects UTF-8 in memory. Leaves a tree in the arena, or errors in the Diag. */
#include "lathe.tab.h"
#include "parser_private.h"

#include <errno.h>
#include <setjmp.h>
#include <string.h>

enum { MAX_SOURCE = 16 << 20 };

/* --- tokens -------------------------------------------------------------------------------------------- */

static Token read_token(Parser *p)
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

/* A token that stands in no source, behind what was read last. */
static Token token_here(const Parser *p, int code)
{
        return (Token){code, {p->source, p->last_end, p->last_end}, {NULL}};
}

static bool can_end_statement(int code)
{
        switch (code) {
        case NAME:
        case NUMBER:
        case STRING:
        case TRUE:
        case FALSE:
        case NONE:
        case RANGE:
        case BLOCK: /* as types, the last two */
        case SCHEME:
        case YYerror: /* whatever it was meant to be */
        case ')':
        case ']':
        case '}':
        case '\'': return true;
        default: return false;
        }
}

/* Whether the line end just read counts; reads on to the next token, which it puts back. */
static bool line_end_counts(Parser *p)
{
        bool hidden = p->depth && p->bracket[p->depth - 1].code != '{';
        if (hidden || !can_end_statement(p->last_code))
                return false;
        Token next;
        do
                next = read_token(p);
        while (next.code == NL);
        put_back(p, next);
        return next.code != ELSE && next.code != THEN && next.code != '{';
}

/* --- brackets ------------------------------------------------------------------------------------------ */

static bool is_opening(int code)
{
        return code == '(' || code == '[' || code == '{';
}

/* How many brackets are open up to the innermost { and with it. */
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

/* Reports the innermost brackets down to depth as never closed, and forgets them. */
static void give_up_brackets(Parser *p, int depth, Span before)
{
        if (p->depth > depth)
                p->quiet_to = before.begin + 1;
        while (p->depth > depth)
                report_unclosed(p, p->bracket[--p->depth], before);
}

/* The bracket that a closing one closes: its place + 1, or 0. A ) or ] reaches no further than the body. */
static int opening_of(const Parser *p, int closing)
{
        int opening = closing == ')' ? '(' : closing == ']' ? '[' : '{';
        int depth = p->depth;
        while (depth && p->bracket[depth - 1].code != opening && p->bracket[depth - 1].code != '{')
                depth--;
        return depth && p->bracket[depth - 1].code == opening ? depth : 0;
}

/* A closing bracket that matches nothing: of the wrong kind it is taken for the right one, else it is an
 * error that the grammar recovers from. */
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
                syntax_error(p, token->span, "this '%c' closes nothing", token->code);
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

/* At the left margin, a word that begins an item of a file and nothing within a body. */
static bool begins_item(Token token)
{
        int code = token.code, begin = token.span.begin;
        bool at_margin = begin == 0 || token.span.source->text[begin - 1] == '\n';
        return at_margin &&
               (code == MODEL || code == IMPORT || code == TEST || code == SCHEME || code == CONFIG);
}

/* An item begins though brackets are open: the innermost was meant to be closed. All are closed for the
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
        p->last_code = ')'; /* what the line end shall follow */
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

/* While skipping within ( or [: a line that begins with a statement's word shows that the bracket is never
 * closed. */
static bool is_left_open(const Parser *p, Token token)
{
        bool hidden = p->depth && p->bracket[p->depth - 1].code != '{';
        return p->skip_to >= 0 && hidden && is_statement_word(token.code) && begins_line(token);
}

/* --- the token stream the grammar sees ----------------------------------------------------------------- */

/* The string took with it what would have closed the brackets of its line. */
static bool is_open_string(Token token)
{
        return token.span.source->text[token.span.begin] == '"';
}

/* The next token that the newline rule lets through, brackets kept; false: read on. */
static bool next_token(Parser *p, Token *token)
{
        *token = read_token(p);
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

/* What the grammar sees next: while recovering, the first token of the next statement's boundary. */
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

/* --- building the tree --------------------------------------------------------------------------------- */

static Ast *within_depth(Parser *p, Ast *tree)
{
        if (tree->depth > AST_MAX_DEPTH && !p->stopped) {
                syntax_error(p, tree->span, "nested more than %d levels deep", AST_MAX_DEPTH);
                p->stopped = true;
        }
        return tree;
}

Ast *node(Parser *p, AstKind kind, Span span, Ast *const *kid, int nkid)
{
        Ast *tree = ast_new(p->arena, kind, span, nkid);
        for (int i = 0; i < nkid; i++) {
                tree->kid[i] = kid[i];
                if (kid[i] && kid[i]->depth >= tree->depth)
                        tree->depth = kid[i]->depth + 1;
        }
        return within_depth(p, tree);
}

Ast *name_tree(Ast *tree, const char *name, Span name_span)
{
        tree->name = name;
        tree->name_span = name_span;
        return tree;
}

Ast *spanning(Ast *tree, Span span)
{
        tree->span = tree->name_span = span;
        return tree;
}

const char *dotted(Parser *p, const char *path, const char *name)
{
        return intern(p->names, arena_printf(p->arena, "%s.%s", path, name), -1);
}

Ast *append_kid(Parser *p, Ast *list, Ast *kid, Span span)
{
        ast_append(p->arena, list, kid);
        return within_depth(p, spanning(list, span));
}

Ast *append_all(Parser *p, Ast *list, const Ast *from, Span span)
{
        for (int i = 0; i < from->nkid; i++)
                ast_append(p->arena, list, from->kid[i]);
        return within_depth(p, spanning(list, span));
}

Ast *retagged(Ast *list, AstKind kind, Span span)
{
        list->kind = kind;
        return spanning(list, span);
}

Ast *headed(Parser *p, Ast *list, Span span, Ast *head)
{
        list->kid[0] = head;
        if (list->depth <= head->depth)
                list->depth = head->depth + 1;
        return within_depth(p, spanning(list, span));
}

/* --- what the grammar can't say ------------------------------------------------------------------------ */

/* The rules of a checkpoint: names to it, words to its reader. */
static void check_rules(Parser *p, const Ast *tree)
{
        static const char *const rule[] = {"drop", "optional"};
        if (!tree || ast_is_expression(tree->kind))
                return;
        for (int i = 0; i < tree->nkid; i++)
                check_rules(p, tree->kid[i]);
        if (tree->kind != AST_RULE || strcmp(tree->name, rule[0]) == 0 || strcmp(tree->name, rule[1]) == 0)
                return;
        syntax_error(p, tree->name_span, "a checkpoint has no rule '%s'", tree->name);
        const char *near = nearest_name(tree->name, rule, 2);
        if (near)
                diag_hint(p->diag, "did you mean '%s'?", near);
        else
                diag_hint(p->diag, "the rules are 'drop \"name\"' and 'optional \"name\"'; a map is "
                                   "'\"name\" = weights'");
}

/* The words of a config item that are names elsewhere. */
static bool check_word(Parser *p, const Ast *keys)
{
        static const char *const word[] = {"read", "ignore", "omit", "part", "imply"};
        int n = sizeof word / sizeof *word;
        for (int i = 0; i < n; i++)
                if (strcmp(keys->name, word[i]) == 0)
                        return true;
        syntax_error(p, keys->name_span, "a config item has no statement '%s'", keys->name);
        const char *near = nearest_name(keys->name, word, n);
        if (near)
                diag_hint(p->diag, "did you mean '%s'?", near);
        else
                diag_hint(p->diag, "keys are listed behind 'read', 'ignore', 'omit', 'part' and 'imply'");
        return false;
}

static void check_key(Parser *p, const Ast *keys, const Ast *key)
{
        static const char *const type[] = {"int", "real", "bool", "text", "list", "object"};
        const Ast *alias = key->kid[0], *kind = key->kid[1], *value = key->kid[2];
        bool reads = strcmp(keys->name, "read") == 0;
        if (!reads && (alias || kind || value))
                syntax_error(p, key->span, "'%s' lists names alone", keys->name);
        if (!reads)
                return;
        if (!kind && !value)
                syntax_error(p, key->span,
                             "expected '= default' or ': type' behind %s: what it is where a file lacks it",
                             key->name);
        if (!alias && !is_name_text(key->name))
                syntax_error(p, key->name_span, "this key is no name: write '\"...\" as name = default'");
        for (int i = 0; kind && i < 6; i++)
                if (strcmp(kind->name, type[i]) == 0)
                        return;
        if (kind)
                syntax_error(p, kind->span, "the types of keys are int, real, bool, text, list and object");
}

/* Of config items: their words, and what a key has behind it. */
static void check_configs(Parser *p, const Ast *tree)
{
        if (!tree || ast_is_expression(tree->kind))
                return;
        for (int i = 0; i < tree->nkid; i++)
                check_configs(p, tree->kid[i]);
        if (tree->kind != AST_KEYS || !check_word(p, tree))
                return;
        for (int i = 0; i < tree->nkid; i++)
                check_key(p, tree, tree->kid[i]);
}

/* --- entry points -------------------------------------------------------------------------------------- */

static Parser *parser_new(Arena *arena, Interner *names, Diag *diag, const Source *source, int start)
{
        Parser *p = NEW(arena, Parser);
        p->arena = arena;
        p->names = names;
        p->diag = diag;
        p->source = source;
        p->start = start;
        p->last_code = NL;
        p->skip_to = -1;
        if (!scan_begin(p))
                arena_fail(arena);
        return p;
}

static Ast *parse(Arena *arena, Interner *names, Diag *diag, const Source *source, int start)
{
        Parser *p = parser_new(arena, names, diag, source, start);
        int failed = yyparse(p);
        if (!failed && !p->stopped) {
                check_rules(p, p->root);
                check_configs(p, p->root);
        }
        scan_end(p);
        return failed || p->errors ? NULL : p->root;
}

Ast *parse_source(Arena *arena, Interner *names, Diag *diag, const Source *source)
{
        return parse(arena, names, diag, source, FILE_START);
}

bool wants_line(LineState *state, const Source *source)
{
        Arena arena = {0};
        Interner names = {.arena = &arena};
        Parser *p = parser_new(&arena, &names, NULL, source, 0);
        Token token = read_token(p);
        while (token.code != END && token.code != YYerror && state->open >= 0) {
                state->open += is_opening(token.code);
                state->open -= token.code == ')' || token.code == ']' || token.code == '}';
                if (token.code != NL)
                        state->wants_operand = token.code != ';' && !can_end_statement(token.code);
                token = read_token(p);
        }
        state->wrong |= token.code == YYerror || state->open < 0;
        scan_end(p);
        arena_free(&arena);
        return !state->wrong && (state->open > 0 || state->wants_operand);
}

Ast *parse_input(Arena *arena, Interner *names, Diag *diag, const Source *source)
{
        return parse(arena, names, diag, source, LINES_START);
}

ParseResult parse_lines(Arena *arena, Interner *names, Diag *diag, const Source *source, Ast **tree)
{
        *tree = NULL;
        if (wants_line(&(LineState){0}, source))
                return PARSE_INCOMPLETE;
        *tree = parse(arena, names, diag, source, LINES_START);
        return *tree ? PARSE_COMPLETE : PARSE_ERROR;
}

/* --- reading ------------------------------------------------------------------------------------------- */

/* All of a file, NUL behind it; NULL with errno set, EFBIG above the limit. */
static char *read_all(Arena *arena, FILE *file, int64_t *length)
{
        int64_t room = 1 << 16;
        char *text = arena_alloc(arena, room);
        for (*length = 0;;) {
                size_t got = fread(text + *length, 1, (size_t)(room - *length), file);
                *length += (int64_t)got;
                if (ferror(file))
                        return NULL;
                if (*length > MAX_SOURCE) {
                        errno = EFBIG;
                        return NULL;
                }
                if (*length < room)
                        return text;
                text = arena_grow(arena, text, room, 2 * room);
                room *= 2;
        }
}

Source *read_source(Arena *arena, const char *path, const char **why)
{
        bool is_stdin = !strcmp(path, "-");
        FILE *file = is_stdin ? stdin : fopen(path, "rb");
        int64_t length = 0;
        char *text = file ? read_all(arena, file, &length) : NULL;
        if (!text)
                *why = errno == EFBIG ? "larger than 16 MB" : arena_strdup(arena, strerror(errno));
        if (file && !is_stdin)
                fclose(file);
        return text ? source_new(arena, is_stdin ? "<stdin>" : path, text, (int32_t)length) : NULL;
}

/* --- the developer's command --------------------------------------------------------------------------- */

typedef enum Mode { DUMP, PRINT, LINES, CHECK } Mode;

static bool is_option(const char *text, Mode *mode)
{
        static const char *const option[] = {"--dump", "--print", "--lines", "--check"};
        for (int i = 0; i < 4; i++) {
                if (strcmp(text, option[i]) != 0)
                        continue;
                *mode = (Mode)i;
                return true;
        }
        return false;
}

/* Prints the tree as source, parses that, and compares. */
static bool survives_printing(Arena *arena, Interner *names, Diag *diag, const Ast *tree)
{
        FILE *scratch = tmpfile();
        if (!scratch)
                return false;
        ast_print(tree, scratch);
        rewind(scratch);
        int64_t length = 0;
        char *text = read_all(arena, scratch, &length);
        fclose(scratch);
        if (!text)
                return false;
        Source *printed = source_new(arena, "printed", text, (int32_t)length);
        return ast_equal(tree, parse_source(arena, names, diag, printed));
}

static int show_lines(Arena *arena, Interner *names, Diag *diag, const Source *source)
{
        static const char *const said[] = {"complete", "incomplete", "error"};
        Ast *tree;
        ParseResult result = parse_lines(arena, names, diag, source, &tree);
        printf("%s\n", said[result]);
        if (tree)
                ast_dump(tree, stdout);
        return result == PARSE_ERROR;
}

static int show_source(Arena *arena, const Source *source, Mode mode)
{
        Interner names = {.arena = arena};
        Diag diag = {.arena = arena};
        int status = 0;
        if (mode == LINES) {
                status = show_lines(arena, &names, &diag, source);
        } else {
                Ast *tree = parse_source(arena, &names, &diag, source);
                status = !tree;
                if (tree && mode == DUMP)
                        ast_dump(tree, stdout);
                if (tree && mode == PRINT)
                        ast_print(tree, stdout);
                if (tree && mode == CHECK && !survives_printing(arena, &names, &diag, tree)) {
                        fprintf(stderr, "lathe: %s: printing changes the tree\n", source->path);
                        status = 1;
                }
        }
        fflush(stdout);
        diag_print(&diag, stderr);
        return status;
}

int parse_command(int argc, char **argv)
{
        Mode mode = DUMP;
        int status = 0, files = 0;
        for (int i = 0; i < argc; i++) {
                if (is_option(argv[i], &mode))
                        continue;
                Arena arena = {0};
                const char *why = NULL;
                Source *source = read_source(&arena, argv[i], &why);
                if (!source)
                        fprintf(stderr, "lathe: %s: %s\n", argv[i], why);
                int here = source ? show_source(&arena, source, mode) : 3;
                if (here > status)
                        status = here;
                arena_free(&arena);
                files++;
        }
        if (files == 0)
                fputs("usage: lathe parse [--dump | --print | --lines | --check] FILE...\n", stderr);
        return files ? status : 2;
}
