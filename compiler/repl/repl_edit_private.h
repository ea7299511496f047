/* Lines from a terminal: editing, history and completion, by libedit.  What it includes must not clash with libedit's names. */
#ifndef REPL_EDIT_PRIVATE_H
#define REPL_EDIT_PRIVATE_H
#include <stdbool.h>
#include <stddef.h>

#include "base/base.h"

typedef struct LineEditor LineEditor;
struct ReplSession;

LineEditor *editor_new(struct ReplSession *s); /* NULL: no memory; then lines are read plainly */
void editor_free(LineEditor *e);               /* NULL is allowed */
/* A line without its end, which stays until the next call.  False: interrupted, or the end. */
bool editor_line(LineEditor *e, const char *prompt, const char **line, size_t *length);
/* An input, of one line or several, goes into the history, which is written at once: a terminal may be closed at any time. */
void editor_remember(LineEditor *e, const char *input, size_t length);

/* repl_complete.c: what the word before the cursor could become, by name. */
typedef struct {
        const char **word;
        int n;
        size_t length;   /* of the current word */
        bool in_command; /* not in the language */
} Completions;
Completions complete_word(struct ReplSession *s, Arena *a, const char *line, size_t cursor);
#endif
