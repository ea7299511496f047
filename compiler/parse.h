/* Parsing: a source to its syntax tree. Scanner and grammar are grammar/lathe.l and grammar/lathe.y. */
#ifndef PARSE_H
#define PARSE_H

#include "arena.h"
#include "ast.h"
#include "diag.h"

/* How a REPL's input stands: INCOMPLETE wants another line and reports nothing. */
typedef enum ParseResult { PARSE_COMPLETE, PARSE_INCOMPLETE, PARSE_ERROR } ParseResult;

/* Reads a file whole (16 MB at most), or standard input for "-". NULL if it can't be read; then *why says so ("No such file or
 * directory"). */
Source *read_source(Arena *arena, const char *path, const char **why);

/* The AST_FILE of a source, or NULL after reporting what is wrong. */
Ast *parse_source(Arena *arena, Interner *names, Diag *diag, const Source *source);

/* Given a REPL's input line by line: whether it wants another, since a bracket is open or its last token can't end a
 * statement, and no token is wrong. Start with `LineState state = {0};`. */
typedef struct LineState {
        int open; /* brackets */
        bool wants_operand, wrong;
} LineState;
bool wants_line(LineState *state, const Source *line);

/* The AST_LINES of a REPL's input, wanting another line or not; NULL after reporting what is wrong. */
Ast *parse_input(Arena *arena, Interner *names, Diag *diag, const Source *source);

/* The same for input that may not be whole. *tree is NULL unless the result is PARSE_COMPLETE. */
ParseResult parse_lines(Arena *arena, Interner *names, Diag *diag, const Source *source, Ast **tree);

/* `lathe parse [--print | --lines | --check] FILE…`, for developers: dumps the tree of each file; --print
 * prints it as source, --lines reads REPL input and says how it stands, --check prints and parses again and
 * compares. Returns the exit code. */
int parse_command(int argc, char **argv);

#endif
