/* The grammar of --grammar: a built-in one by name, or a file. */
#include <string.h>

#include "driver.h"

int grammar_open(Arena *a, const char *name, const Grammar **grammar)
{
        *grammar = NULL;
        if (!name)
                return DONE;
        const char *why = NULL, *file = arena_printf(a, "%s.grammar", name), *own = embedded_text(file);
        const Source *source =
                own ? source_new(a, file, own, (int32_t)strlen(own)) : read_source(a, name, &why);
        if (!source) {
                fprintf(stderr, "lathe: --grammar %s: %s\n", name, why);
                return WRONG_ENVIRONMENT;
        }
        Diag diag = {.arena = a};
        *grammar = grammar_read(a, &diag, source);
        diag_print(&diag, stderr);
        return *grammar ? DONE : WRONG_INPUT;
}

int grammar_needs_text(const Graph *g, const char *name, bool has_text)
{
        if (!name || has_text)
                return DONE;
        fprintf(stderr,
                "lathe: --grammar requires text, and %s generates token numbers without --tokenizer\n",
                g->name);
        return WRONG_USAGE;
}

int constraint_open(Arena *a, const Graph *g, const char *name, const Tokenizer *t, Constraint **constraint)
{
        const Grammar *grammar = NULL;
        int code = grammar_needs_text(g, name, t != NULL);
        if (code == DONE)
                code = grammar_open(a, name, &grammar);
        if (code != DONE || !grammar)
                return code;
        *constraint = constraint_new(grammar, t, loop_tokens(g, "stop"));
        if (*constraint)
                return DONE;
        fprintf(stderr, "lathe: %s\n", no_memory);
        return WRONG_ENVIRONMENT;
}
