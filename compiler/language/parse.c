/* Parses a source's bytes to its tree.
 *
 * Expects UTF-8 in memory. Leaves a tree in the arena, or errors in the Diag. */
#include "lathe.tab.h"
#include "parser_private.h"

#include <errno.h>
#include <setjmp.h>
#include <string.h>

enum { MAX_SOURCE = 16 << 20 };

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

/* --- rules outside the grammar ------------------------------------------------------------------------- */

/* Checks the rules of a checkpoint, whose words are parsed as names. */
static void check_rules(Parser *p, const Ast *tree)
{
        static const char *const rule[] = {"drop", "optional"};
        if (!tree || ast_is_expression(tree->kind))
                return;
        for (int i = 0; i < tree->nkid; i++)
                check_rules(p, tree->kid[i]);
        if (tree->kind == AST_MAP && tree->nkid > 1 && strcmp(tree->kid[1]->name, rule[0]) == 0)
                syntax_error(p, tree->kid[1]->name_span, "a tensor that is dropped has no weights");
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

/* Checks the words of a config item, which are not reserved. */
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
                diag_hint(p->diag, "keys are listed after 'read', 'ignore', 'omit', 'part' and 'imply'");
        return false;
}

static void check_key(Parser *p, const Ast *keys, const Ast *key)
{
        static const char *const type[] = {"int", "real", "bool", "text", "list", "object"};
        const Ast *alias = key->kid[0], *kind = key->kid[1], *value = key->kid[2];
        bool reads = strcmp(keys->name, "read") == 0;
        if (!reads && (alias || kind || value))
                syntax_error(p, key->span, "'%s' lists only names", keys->name);
        if (!reads)
                return;
        if (!kind && !value)
                syntax_error(p, key->span,
                             "expected '= default' or ': type' after %s: its default for files without it",
                             key->name);
        if (!alias && !is_name_text(key->name))
                syntax_error(p, key->name_span, "this key is not a name: write '\"...\" as name = default'");
        for (int i = 0; kind && i < 6; i++)
                if (strcmp(kind->name, type[i]) == 0)
                        return;
        if (kind)
                syntax_error(p, kind->span, "the types of keys are int, real, bool, text, list and object");
}

/* Checks config items: their words, and the parts after each key. */
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

static Parser *parser_new(Arena *arena, Interner *names, Diag *diag, Span text, int start)
{
        Parser *p = NEW(arena, Parser);
        p->arena = arena;
        p->names = names;
        p->diag = diag;
        p->source = text.source;
        p->offset = p->last_end = text.begin;
        p->end = text.end;
        p->start = start;
        p->last_code = NL;
        p->skip_to = -1;
        if (!scan_begin(p))
                arena_fail(arena);
        return p;
}

static Span whole_span(const Source *source)
{
        return (Span){source, 0, source->length};
}

static Ast *parse_start(Parser *p)
{
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
        return parse_start(parser_new(arena, names, diag, whole_span(source), FILE_START));
}

Ast *parse_outline(Arena *arena, Interner *names, Diag *diag, const Source *source)
{
        Parser *p = parser_new(arena, names, diag, whole_span(source), FILE_START);
        p->outline = true;
        Ast *tree = parse_start(p);
        for (int i = 0; tree && i < tree->nkid; i++)
                tree->kid[i]->unread = tree->kid[i]->kind != AST_IMPORT;
        return tree;
}

void parse_rest(Arena *arena, Interner *names, const Ast *item)
{
        const Ast *tree = parse_start(parser_new(arena, names, NULL, item->span, FILE_START));
        if (tree) /* NULL: a mistake in the library, which its tests find */
                *(Ast *)item = *tree->kid[0];
}

bool wants_line(LineState *state, const Source *source)
{
        Arena arena = {0};
        Interner names = {.arena = &arena};
        Parser *p = parser_new(&arena, &names, NULL, whole_span(source), 0);
        Token token = scanned_token(p);
        while (token.code != END && token.code != YYerror && state->open >= 0) {
                state->open += is_opening(token.code);
                state->open -= token.code == ')' || token.code == ']' || token.code == '}';
                if (token.code != NL)
                        state->wants_operand = token.code != ';' && !can_end_statement(token.code);
                token = scanned_token(p);
        }
        state->wrong |= token.code == YYerror || state->open < 0;
        scan_end(p);
        arena_free(&arena);
        return !state->wrong && (state->open > 0 || state->wants_operand);
}

Ast *parse_input(Arena *arena, Interner *names, Diag *diag, const Source *source)
{
        return parse_start(parser_new(arena, names, diag, whole_span(source), LINES_START));
}

ParseResult parse_lines(Arena *arena, Interner *names, Diag *diag, const Source *source, Ast **tree)
{
        *tree = NULL;
        if (wants_line(&(LineState){0}, source))
                return PARSE_INCOMPLETE;
        *tree = parse_input(arena, names, diag, source);
        return *tree ? PARSE_COMPLETE : PARSE_ERROR;
}

/* --- reading ------------------------------------------------------------------------------------------- */

/* A whole file, ended by NUL.  NULL with errno set, EFBIG above the limit. */
static char *parse_read_all(Arena *arena, FILE *file, int64_t *length)
{
        int64_t room = 1 << 13;
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
        FILE *file = is_stdin ? stdin : input_open(path, why);
        int64_t length = 0;
        char *text = file ? parse_read_all(arena, file, &length) : NULL;
        if (!text)
                *why = errno == EFBIG ? "larger than 16 MB"
                       : file         ? arena_strdup(arena, strerror(errno))
                                      : arena_strdup(arena, *why);
        if (file && !is_stdin) {
                fclose(file);
                input_read(path);
        }
        int64_t mark = text ? text_mark(text, length) : 0;
        return text ? source_new(arena, is_stdin ? "<stdin>" : path, text + mark, (int32_t)(length - mark))
                    : NULL;
}

/* --- the developer's command --------------------------------------------------------------------------- */

typedef enum Mode { DUMP, PRINT, LINES, CHECK, OUTLINE } Mode;

static bool is_option(const char *text, Mode *mode)
{
        static const char *const option[] = {"--dump", "--print", "--lines", "--check", "--outline"};
        for (int i = 0; i < 5; i++) {
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
        char *text = parse_read_all(arena, scratch, &length);
        fclose(scratch);
        if (!text)
                return false;
        Source *printed = source_new(arena, "printed", text, (int32_t)length);
        return ast_equal(tree, parse_source(arena, names, diag, printed));
}

/* Whether its outline, after all bodies are added, is the tree; `lathe parse --outline`, for files of the library. */
static bool outline_is_whole(Arena *arena, Interner *names, Diag *diag, const Source *source, const Ast *tree)
{
        const Ast *outline = parse_outline(arena, names, diag, source);
        for (int i = 0; outline && i < outline->nkid; i++)
                parse_rest(arena, names, outline->kid[i]);
        return outline && ast_equal(tree, outline);
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
                if (tree && mode == OUTLINE && !outline_is_whole(arena, &names, &diag, source, tree)) {
                        fprintf(stderr, "lathe: %s: its outline is another tree\n", source->path);
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
                fputs("usage: lathe parse [--dump | --print | --lines | --check | --outline] FILE...\n",
                      stderr);
        return files ? status : 2;
}
