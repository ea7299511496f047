/* Lines from a terminal: editing, history and completion, by libedit.  Its includes must not conflict with
 * libedit's names. */
#ifndef REPL_EDIT_PRIVATE_H
#define REPL_EDIT_PRIVATE_H
#include <stdbool.h>
#include <stddef.h>

#include "base/base.h"

typedef struct LineEditor LineEditor;
struct ReplSession;

LineEditor *editor_new(struct ReplSession *s); /* NULL: out of memory; then lines are read without editing */
void editor_free(LineEditor *e);               /* NULL is allowed */
/* A line without its end, valid until the next call.  False: interrupted, or the end. */
bool editor_line(LineEditor *e, const char *prompt, const char **line, size_t *length);
/* Adds an input, of one or several lines, to the history, and writes it: a terminal may be closed at any
 * time. */
void editor_remember(LineEditor *e, const char *input, size_t length);

/* repl_complete.c: completions of the word before the cursor, by name. */
typedef struct {
        const char **word;
        int n;
        size_t length;   /* of the current word */
        bool in_command; /* in a command, not in the language */
} Completions;
Completions complete_word(struct ReplSession *s, Arena *a, const char *line, size_t cursor);
#endif
