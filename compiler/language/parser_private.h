/* The parser's state, shared by scanner, grammar, newline rule and messages: only for
 * compiler/language/parse.c, parse_tokens.c and syntax_error.c, grammar/lathe.l and grammar/lathe.y. */
#ifndef PARSER_PRIVATE_H
#define PARSER_PRIVATE_H

#include "language.h"

#include <stdbool.h>

enum { MAX_BRACKETS = 1000, MAX_AHEAD = MAX_BRACKETS + 8, RECENT = 3 };

typedef union TokenValue {
        Ast *ast;
        const char *name; /* interned */
} TokenValue;

typedef struct Token {
        int code; /* number in lathe.tab.h */
        Span span;
        TokenValue value;
} Token;

typedef struct Parser {
        Arena *arena;
        Interner *names;
        Diag *diag; /* NULL: report nothing */
        const Source *source;
        void *scanner;

        int32_t offset, end;    /* position of the scanner; where it ends */
        bool outline;           /* bodies of items are skipped */
        int32_t skip;           /* bytes that the scanner leaves out before the next token */
        int start;              /* the token that selects the start symbol; 0 after it was passed */
        Token ahead[MAX_AHEAD]; /* read but not yet passed, the next one last */
        int nahead;
        Token recent[RECENT];        /* passed to the grammar, newest first */
        int last_code;               /* the last token that passed the newline rule, skipped or not */
        int32_t last_end;            /* its end */
        Token bracket[MAX_BRACKETS]; /* open, innermost last */
        int depth;

        int skip_to;      /* during recovery: the bracket depth at which a statement can begin; else -1 */
        int32_t quiet_to; /* errors before this offset were reported */
        bool stopped;     /* nothing further is read or reported */
        int errors;
        Ast *root;
} Parser;

/* --- grammar/lathe.l --- */
int scan_token(Token *token, void *scanner); /* one token, including line ends; returns its code */
int scan_begin(Parser *parser);              /* sets parser->scanner; 0 if memory is exhausted */
void scan_end(Parser *parser);

/* --- compiler/language/parse.c, for the actions of grammar/lathe.y --- */
Ast *node(Parser *parser, AstKind kind, Span span, Ast *const *kid, int nkid);
#define KIDS(...) (Ast *[]){__VA_ARGS__}, (int)(sizeof((Ast *[]){__VA_ARGS__}) / sizeof(Ast *))
#define NO_KIDS NULL, 0
Ast *name_tree(Ast *tree, const char *name, Span name_span);
Ast *spanning(Ast *tree, Span span);
const char *dotted(Parser *parser, const char *path, const char *name); /* path.name */
Ast *append_kid(Parser *parser, Ast *list, Ast *kid, Span span);
Ast *append_all(Parser *parser, Ast *list, const Ast *from, Span span);
/* Converts a list to a node of another kind, with `head` in its first kid, which was reserved. */
Ast *retagged(Ast *list, AstKind kind, Span span);
Ast *headed(Parser *parser, Ast *list, Span span, Ast *head);

/* --- compiler/language/parse_tokens.c --- */
Token scanned_token(Parser *parser); /* the next token: one that was put back, or the scanner's */
bool is_opening(int code);           /* ( [ { */
bool can_end_statement(int code);
/* For compiler/language/syntax_error.c: skips from the newest token to the next statement of its body. */
void begin_recovery(Parser *parser);
/* The token begins a line although ( or [ is open: reports that bracket as never closed, and continues as
 * if brackets were closed before the line. */
void close_before_line(Parser *parser, Token token);
/* The same before a {: a body begins, and is skipped. */
void close_before_body(Parser *parser);
bool begins_line(Token token);      /* nothing but blanks before it */
bool begins_statement(Token token); /* a line begins like a statement: with its word, or name =, name : */

/* --- compiler/language/syntax_error.c --- */
void syntax_error(Parser *parser, Span span, const char *format, ...) __attribute__((format(printf, 3, 4)));
void report_unexpected(Parser *parser, const char *found, const char *const *expected, int nexpected);
void report_unclosed(Parser *parser, Token bracket, Span before);

#endif
