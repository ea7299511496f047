/* The scanner and the grammar: as a file, and as a REPL's lines.  What is read survives being printed and read again. */
#include <stdlib.h>

#include "harness.h"
#include "tokens.h"
#include "language/language.h"

static void print_again(Arena *arena, Interner *names, const Ast *tree)
{
        char *printed = NULL;
        size_t n = 0;
        FILE *f = open_memstream(&printed, &n);
        ast_print(tree, f);
        fclose(f);
        Diag diag = {.arena = arena};
        const Source *source = source_new(arena, "printed", printed, (int32_t)n);
        harness_require(ast_equal(tree, parse_source(arena, names, &diag, source)),
                        "printing changes the tree");
        free(printed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        char *text = harness_text(data, size);
        Arena arena = {0};
        Interner names = {.arena = &arena};
        Diag diag = {.arena = &arena};
        const Source *source = source_new(&arena, "f.model", text, (int32_t)size);
        harness_listen();
        Ast *tree = parse_source(&arena, &names, &diag, source), *lines;
        diag_print(&diag, stderr);
        harness_heard_why(!tree);
        harness_require(!tree == (diag.count > 0), "errors without refusal, or refusal without errors");
        if (tree)
                print_again(&arena, &names, tree);
        diag_clear(&diag);
        harness_listen();
        ParseResult result = parse_lines(&arena, &names, &diag, source, &lines);
        diag_print(&diag, stderr);
        harness_heard_why(result == PARSE_ERROR);
        arena_free(&arena);
        free(text);
        return 0;
}
