/* The syntax tree: what the parser builds and the elaborator reads.
 *
 * Kids stand at fixed places, NULL where absent. In the table below `a b? c…` reads: kid[0] is a, kid[1] is b
 * or NULL, kid[2] and all later ones are c. `name` says what the node's name holds; it is NULL where the
 * table says nothing. EXPR is any expression kind (NAME to OVER), STMT any statement kind (LET to SETTING).
 */
#ifndef AST_H
#define AST_H

#include "arena.h"
#include "diag.h"

#include <stdbool.h>
#include <stdio.h>

/* clang-format off */
/*      kind            printed as       name               kids */
#define AST_KINDS(X)                                                                                         \
        /* files */                                                                                          \
        X(FILE, "file")             /*                    (IMPORT BLOCK SCHEME MODEL CHECKPOINT TEST)… */    \
        X(LINES, "lines")           /* a REPL's input:    (STMT EXPR or what a FILE holds)… */               \
        X(IMPORT, "import")         /* module's name or NULL; STRING? (its path: import "path") */           \
        X(BLOCK, "block")           /* its name           PARAMS DO? EXPR? (a body, or = EXPR) */            \
        X(SCHEME, "scheme")         /* its name           PARAMS MEMBERS */                                  \
        X(MODEL, "model")           /* its name           NAME? (the parent) DO */                           \
        X(CHECKPOINT, "checkpoint") /* its name (NULL in a model)  NAME? (the parent) ENTRIES */             \
        X(TEST, "test")             /* its title          DO */                                              \
        /* their parts */                                                                                    \
        X(PARAMS, "params")         /*                    PARAM_LIST (by position) PARAM_LIST (by name) */   \
        X(PARAM_LIST, "list")       /*                    PARAM… */                                          \
        X(PARAM, "param")           /* its name           type? EXPR? (the default); type: EXPR or TYPE */   \
        X(TYPE, "type")             /* "block" or "scheme" */                                                \
        X(DO, "do")                 /*                    STMT… */                                           \
        X(MEMBERS, "members")       /*                    (MEMBER or STMT)… */                               \
        X(MEMBER, "member")         /* its name           PARAMS DO? EXPR? (as BLOCK) */                     \
        X(ENTRIES, "entries")       /*                    (MAP RULE ENTRY_IF)… */                            \
        X(MAP, "map")               /* published name     EXPR */                                            \
        X(RULE, "rule")             /* "drop", "optional" STRING (published name) */                         \
        X(ENTRY_IF, "entry-if")     /*                    EXPR ENTRIES (ENTRIES or ENTRY_IF)? */             \
        X(NAMES, "names")           /*                    NAME… (at least one) */                            \
        X(EACH, "each")             /* of the slots       NAME? (the index)    layer[i] */                   \
        X(ARG, "arg")               /* or NULL            EXPR?   f(e) | f(n: e) | f(n:), then kid[0] NULL */ \
        X(RANGE, "range")           /*                    EXPR? EXPR?   a..b | a.. | ..b | ..  */            \
        /* statements */                                                                                     \
        X(LET, "let")               /*                    NAMES EXPR */                                      \
        X(DECL, "decl")             /*                    NAMES type EXPR? (default); type: EXPR or TYPE */  \
        X(SHARED, "shared")         /* its name           EXPR */                                            \
        X(RETURN, "return")         /*                    EXPR… (at least one) */                            \
        X(REQUIRE, "require")       /*                    EXPR EXPR? (within) STRING? (the message) */       \
        X(IF, "if")                 /*                    EXPR DO (DO or IF)? */                             \
        X(REPEAT, "repeat")         /*                    EACH EXPR (trips) DO */                            \
        X(INPUT, "input")           /* a group's, or NULL DECL… (one without a group) */                     \
        X(OUTPUT, "output")         /* its name           EXPR */                                            \
        X(CHECKPOINT_USE, "checkpoint-use") /*            EXPR */                                            \
        X(LOOP, "loop")             /* its name           SETTING… */                                        \
        X(LOOP_NONE, "loop-none")   /* its name */                                                           \
        X(SETTING, "set")           /* its name           EXPR */                                            \
        /* expressions */                                                                                    \
        X(NAME, "name")             /* the name */                                                           \
        X(NUMBER, "number")         /* as written; its value is `number`, whole as written if is_int */      \
        X(STRING, "string")         /* the text, escapes resolved */                                         \
        X(TRUE, "true")                                                                                      \
        X(FALSE, "false")                                                                                    \
        X(NONE, "none")                                                                                      \
        X(LIST, "list")             /*                    (EXPR RANGE)…; a RANGE here has no bounds */       \
        X(COND, "if")               /*                    EXPR (condition) EXPR EXPR */                      \
        X(OR, "or")                 /*                    EXPR EXPR, and so for all binary operators */      \
        X(AND, "and")                                                                                        \
        X(NOT, "not")               /*                    EXPR */                                            \
        X(EQ, "==")                                                                                          \
        X(NE, "!=")                                                                                          \
        X(LT, "<")                                                                                           \
        X(GT, ">")                                                                                           \
        X(LE, "<=")                                                                                          \
        X(GE, ">=")                                                                                          \
        X(ADD, "+")                                                                                          \
        X(SUB, "-")                                                                                          \
        X(MUL, "*")                                                                                          \
        X(DIV, "/")                                                                                          \
        X(FLOORDIV, "//")                                                                                    \
        X(MOD, "%")                                                                                          \
        X(MATMUL, "@")                                                                                       \
        X(POW, "^")                                                                                          \
        X(NEG, "neg")               /*                    EXPR */                                            \
        X(TRANSPOSE, "'")           /*                    EXPR */                                            \
        X(FIELD, ".")               /* after the dot      EXPR (the object) */                               \
        X(CALL, "call")             /*                    EXPR (the callee) ARG… */                          \
        X(INDEX, "index")           /*                    EXPR (the object) (EXPR or RANGE)… */              \
        X(AS, "as")                 /* the instance's     EXPR */                                            \
        X(OVER, "over")             /*                    EACH EXPR (trips) DO */
/* clang-format on */

typedef enum AstKind {
#define X(kind, printed) AST_##kind,
        AST_KINDS(X)
#undef X
                AST_NKIND
} AstKind;

/* No tree is deeper: a recursive walk is safe. (A longer chain of operators is a syntax error.) */
enum { AST_MAX_DEPTH = 4000 };

typedef struct Ast Ast;
struct Ast {
        AstKind kind;
        Span span;        /* all of it */
        Span name_span;   /* the name alone, where a declaration, argument or field has one; else span */
        const char *name; /* interned, or NULL */
        double number;    /* of a NUMBER */
        bool is_int;      /* a NUMBER written without point and exponent */
        int depth;        /* 1 + the deepest kid's */
        int nkid, capacity;
        Ast **kid;
};

const char *ast_kind_name(AstKind kind);
bool ast_is_expression(AstKind kind);

/* As an s-expression, broken over lines where it is wide: for tests. */
void ast_dump(const Ast *tree, FILE *stream);
/* Back to source, in one canonical layout: parsing the output gives the same tree, spans aside. */
void ast_print(const Ast *tree, FILE *stream);
/* The same tree, spans aside. Both may be NULL. */
bool ast_equal(const Ast *a, const Ast *b);

/* For the parser. */
Ast *ast_new(Arena *arena, AstKind kind, Span span, int nkid);
void ast_append(Arena *arena, Ast *list, Ast *kid); /* a kid of NULL is dropped */

#endif
