/* The syntax tree: building, comparing, dumping, and printing it back as source. See language.h. */
#include "language.h"

#include <string.h>

const char *ast_kind_name(AstKind kind)
{
        static const char *const name[] = {
#define X(kind, printed) printed,
                AST_KINDS(X)
#undef X
        };
        return name[kind];
}

bool ast_is_expression(AstKind kind)
{
        return kind >= AST_NAME;
}

bool is_name_text(const char *text)
{
        bool good = *text && (*text < '0' || *text > '9');
        for (; *text && good; text++)
                good = (*text >= '0' && *text <= '9') || (*text >= 'A' && *text <= 'Z') ||
                       (*text >= 'a' && *text <= 'z') || *text == '_';
        return good;
}

Ast *ast_new(Arena *arena, AstKind kind, Span span, int nkid)
{
        Ast *tree = NEW(arena, Ast);
        tree->kind = kind;
        tree->span = tree->name_span = span;
        tree->depth = 1;
        tree->nkid = tree->capacity = nkid;
        tree->kid = nkid ? NEW_ARRAY(arena, Ast *, nkid) : NULL;
        return tree;
}

void ast_append(Arena *arena, Ast *list, Ast *kid)
{
        if (!kid)
                return;
        GROW(arena, list->kid, list->nkid, list->capacity);
        list->kid[list->nkid++] = kid;
        if (list->depth <= kid->depth)
                list->depth = kid->depth + 1;
}

bool ast_equal(const Ast *a, const Ast *b)
{
        if (!a || !b)
                return a == b;
        if (a->kind != b->kind || a->nkid != b->nkid || a->is_int != b->is_int)
                return false;
        if (!text_equal(a->name, b->name))
                return false;
        for (int i = 0; i < a->nkid; i++)
                if (!ast_equal(a->kid[i], b->kid[i]))
                        return false;
        return true;
}

/* --- the dump ------------------------------------------------------------------------------------------ */

enum { DUMP_WIDTH = 100 };

static bool name_is_text(AstKind kind)
{
        return kind == AST_STRING || kind == AST_TEST || kind == AST_MAP || kind == AST_ARCHITECTURE ||
               kind == AST_KEY;
}

/* A lower bound of the width of tree on one line; room or more if it is too wide. */
static int flat_width(const Ast *tree, int room)
{
        if (!tree)
                return 2;
        int width = (int)strlen(ast_kind_name(tree->kind)) + 3;
        if (tree->name)
                width += (int)strlen(tree->name) + 1;
        for (int i = 0; i < tree->nkid && width < room; i++)
                width += flat_width(tree->kid[i], room - width);
        return width;
}

static void ast_dump_head(const Ast *tree, FILE *stream)
{
        bool is_word = tree->kind == AST_NAME || tree->kind == AST_NUMBER;
        if (!is_word && tree->kind != AST_STRING)
                fputs(ast_kind_name(tree->kind), stream);
        if (!tree->name)
                return;
        if (!is_word && tree->kind != AST_STRING)
                putc(' ', stream);
        if (name_is_text(tree->kind))
                print_text(stream, tree->name);
        else
                fputs(tree->name, stream);
        if (tree->kind == AST_ARG)
                putc(':', stream);
}

static bool ast_is_leaf(AstKind kind)
{
        return kind >= AST_NAME && kind <= AST_NONE;
}

static void dump_tree(const Ast *tree, int indent, FILE *stream)
{
        if (!tree) {
                putc('-', stream);
                return;
        }
        if (ast_is_leaf(tree->kind)) {
                ast_dump_head(tree, stream);
                return;
        }
        bool flat = flat_width(tree, DUMP_WIDTH - indent) < DUMP_WIDTH - indent;
        putc('(', stream);
        ast_dump_head(tree, stream);
        for (int i = 0; i < tree->nkid; i++) {
                if (flat)
                        putc(' ', stream);
                else
                        fprintf(stream, "\n%*s", indent + 2, "");
                dump_tree(tree->kid[i], indent + 2, stream);
        }
        putc(')', stream);
}

void ast_dump(const Ast *tree, FILE *stream)
{
        dump_tree(tree, 0, stream);
        putc('\n', stream);
}

/* --- back to source ------------------------------------------------------------------------------------ */

/* Precedence of an expression, loosest first; an operand looser than its position needs is put in
 * parentheses. */
typedef enum Level {
        ANY,
        OR_LEVEL,
        AND_LEVEL,
        NOT_LEVEL,
        COMPARE,
        SUM,
        PRODUCT,
        UNARY,
        POWER,
        POSTFIX
} Level;

/* Precedence of a binary operator and of its operands, and its spelling with spaces. */
typedef struct BinaryLevels {
        AstKind kind;
        Level level, left, right;
} BinaryLevels;

static const BinaryLevels binaries[] = {
        {AST_OR, OR_LEVEL, OR_LEVEL, AND_LEVEL},
        {AST_AND, AND_LEVEL, AND_LEVEL, NOT_LEVEL},
        {AST_EQ, COMPARE, SUM, SUM},
        {AST_NE, COMPARE, SUM, SUM},
        {AST_LT, COMPARE, SUM, SUM},
        {AST_GT, COMPARE, SUM, SUM},
        {AST_LE, COMPARE, SUM, SUM},
        {AST_GE, COMPARE, SUM, SUM},
        {AST_ADD, SUM, SUM, PRODUCT},
        {AST_SUB, SUM, SUM, PRODUCT},
        {AST_MUL, PRODUCT, PRODUCT, UNARY},
        {AST_DIV, PRODUCT, PRODUCT, UNARY},
        {AST_FLOORDIV, PRODUCT, PRODUCT, UNARY},
        {AST_MOD, PRODUCT, PRODUCT, UNARY},
        {AST_MATMUL, PRODUCT, PRODUCT, UNARY},
        {AST_POW, POWER, POSTFIX, UNARY},
};

static const BinaryLevels *binary_of(AstKind kind)
{
        for (size_t i = 0; i < sizeof binaries / sizeof *binaries; i++)
                if (binaries[i].kind == kind)
                        return &binaries[i];
        return NULL;
}

static Level level_of(const Ast *e)
{
        const BinaryLevels *binary = binary_of(e->kind);
        if (binary)
                return binary->level;
        if (e->kind == AST_COND)
                return ANY;
        if (e->kind == AST_NOT)
                return NOT_LEVEL;
        return e->kind == AST_NEG ? UNARY : POSTFIX;
}

/* Output stream and indentation. */
typedef struct AstPrinter {
        FILE *stream;
        int indent;
} AstPrinter;

static void print_expr(AstPrinter *p, const Ast *e, Level place);
static void ast_print_body(AstPrinter *p, const Ast *list);

static void text(AstPrinter *p, const char *words)
{
        fputs(words, p->stream);
}

/* Prints kid[first], kid[first + 1], … separated by commas. */
static void ast_print_list(AstPrinter *p, const Ast *tree, int first)
{
        for (int i = first; i < tree->nkid; i++) {
                if (i > first)
                        text(p, ", ");
                print_expr(p, tree->kid[i], ANY);
        }
}

static void print_each(AstPrinter *p, const Ast *each)
{
        fprintf(p->stream, each->kid[0] ? "%s[%s] : " : "%s : ", each->name,
                each->kid[0] ? each->kid[0]->name : "");
}

static void print_range(AstPrinter *p, const Ast *range)
{
        if (range->kid[0])
                print_expr(p, range->kid[0], ANY);
        text(p, "..");
        if (range->kid[1])
                print_expr(p, range->kid[1], ANY);
}

static void print_arg(AstPrinter *p, const Ast *arg)
{
        if (arg->name)
                fprintf(p->stream, arg->kid[0] ? "%s: " : "%s:", arg->name);
        if (arg->kid[0])
                print_expr(p, arg->kid[0], ANY);
}

static void print_postfix(AstPrinter *p, const Ast *e)
{
        print_expr(p, e->kid[0], POSTFIX);
        if (e->kind == AST_TRANSPOSE)
                text(p, "'");
        else if (e->kind == AST_FIELD)
                fprintf(p->stream, ".%s", e->name);
        else if (e->kind == AST_AS)
                fprintf(p->stream, " as %s", e->name);
        else {
                text(p, e->kind == AST_CALL ? "(" : "[");
                ast_print_list(p, e, 1);
                text(p, e->kind == AST_CALL ? ")" : "]");
        }
}

static void print_cond(AstPrinter *p, const Ast *e)
{
        text(p, "if ");
        print_expr(p, e->kid[0], ANY);
        text(p, " then ");
        print_expr(p, e->kid[1], ANY);
        text(p, " else ");
        print_expr(p, e->kid[2], ANY);
}

/* `over` or `along` */
static void print_over(AstPrinter *p, const Ast *e)
{
        fprintf(p->stream, "%s ", ast_kind_name(e->kind));
        print_each(p, e->kid[0]);
        print_expr(p, e->kid[1], SUM);
        ast_print_body(p, e->kid[2]);
}

static void print_binary(AstPrinter *p, const Ast *e, const BinaryLevels *binary)
{
        print_expr(p, e->kid[0], binary->left);
        fprintf(p->stream, " %s ", ast_kind_name(e->kind));
        print_expr(p, e->kid[1], binary->right);
}

static void print_bare(AstPrinter *p, const Ast *e)
{
        const BinaryLevels *binary = binary_of(e->kind);
        if (binary)
                print_binary(p, e, binary);
        else if (e->kind == AST_STRING)
                print_text(p->stream, e->name);
        else if (e->kind == AST_NAME || e->kind == AST_NUMBER || e->kind == AST_TYPE)
                text(p, e->name);
        else if (ast_is_leaf(e->kind))
                text(p, ast_kind_name(e->kind));
        else if (e->kind == AST_COND)
                print_cond(p, e);
        else if (e->kind == AST_OVER || e->kind == AST_ALONG)
                print_over(p, e);
        else if (e->kind == AST_RANGE)
                print_range(p, e);
        else if (e->kind == AST_ARG)
                print_arg(p, e);
        else if (e->kind == AST_LIST) {
                text(p, "[");
                ast_print_list(p, e, 0);
                text(p, "]");
        } else if (e->kind == AST_NOT || e->kind == AST_NEG) {
                text(p, e->kind == AST_NOT ? "not " : "-");
                print_expr(p, e->kid[0], e->kind == AST_NOT ? NOT_LEVEL : UNARY);
        } else
                print_postfix(p, e);
}

static void print_expr(AstPrinter *p, const Ast *e, Level place)
{
        bool parenthesised = level_of(e) < place;
        if (parenthesised)
                text(p, "(");
        print_bare(p, e);
        if (parenthesised)
                text(p, ")");
}

static void print_typed(AstPrinter *p, const Ast *type, const Ast *value)
{
        if (type) {
                text(p, " : ");
                print_expr(p, type, POSTFIX);
        }
        if (value) {
                text(p, " = ");
                print_expr(p, value, ANY);
        }
}

static void print_param_list(AstPrinter *p, const Ast *list)
{
        for (int i = 0; i < list->nkid; i++) {
                fprintf(p->stream, "%s%s", i ? ", " : "", list->kid[i]->name);
                print_typed(p, list->kid[i]->kid[0], list->kid[i]->kid[1]);
        }
}

static void print_params(AstPrinter *p, const Ast *params)
{
        text(p, "(");
        print_param_list(p, params->kid[0]);
        if (params->kid[1]->nkid)
                text(p, "; ");
        print_param_list(p, params->kid[1]);
        text(p, ")");
}

static void ast_print_names(AstPrinter *p, const Ast *names)
{
        for (int i = 0; i < names->nkid; i++)
                fprintf(p->stream, "%s%s", i ? ", " : "", names->kid[i]->name);
}

/* block name(params) { … } or = e; a member begins with its name. */
static void ast_print_block(AstPrinter *p, const Ast *block)
{
        fprintf(p->stream, "%s%s", block->kind == AST_BLOCK ? "block " : "", block->name);
        print_params(p, block->kid[0]);
        if (block->kid[1])
                ast_print_body(p, block->kid[1]);
        else
                print_typed(p, NULL, block->kid[2]);
}

/* if e { … } else if … else { … }, of statements or of checkpoint entries. */
static void print_if(AstPrinter *p, const Ast *branch)
{
        text(p, "if ");
        print_expr(p, branch->kid[0], ANY);
        ast_print_body(p, branch->kid[1]);
        const Ast *other = branch->kid[2];
        if (!other)
                return;
        text(p, " else");
        if (other->kind != branch->kind) {
                ast_print_body(p, other);
                return;
        }
        text(p, " ");
        print_if(p, other);
}

static void print_require(AstPrinter *p, const Ast *require)
{
        text(p, "require ");
        print_expr(p, require->kid[0], ANY);
        if (require->kid[1]) {
                text(p, " within ");
                print_expr(p, require->kid[1], ANY);
        }
        if (require->kid[2]) {
                text(p, ", ");
                print_expr(p, require->kid[2], ANY);
        }
}

static void ast_print_input(AstPrinter *p, const Ast *input)
{
        text(p, "input ");
        if (input->name) {
                text(p, input->name);
                ast_print_body(p, input);
                return;
        }
        ast_print_names(p, input->kid[0]->kid[0]);
        print_typed(p, input->kid[0]->kid[1], input->kid[0]->kid[2]);
}

/* word name : parent { … } of models and checkpoints. */
static void print_family(AstPrinter *p, const Ast *tree)
{
        text(p, ast_kind_name(tree->kind));
        if (tree->name)
                fprintf(p->stream, " %s", tree->name);
        if (tree->kid[0])
                fprintf(p->stream, " : %s", tree->kid[0]->name);
        ast_print_body(p, tree->kid[1]);
}

/* word name = e */
static void print_defined(AstPrinter *p, const char *word, const Ast *tree)
{
        fprintf(p->stream, "%s %s = ", word, tree->name);
        print_expr(p, tree->kid[0], ANY);
}

/* A key, a.b of an object; in quotes if it is not a name. */
static void print_path(AstPrinter *p, const char *path)
{
        bool plain = true;
        for (const char *part = path; plain; part += strcspn(part, ".") + 1) {
                char word[64] = {0};
                size_t n = strcspn(part, ".");
                plain = n < sizeof word;
                memcpy(word, part, plain ? n : 0);
                plain = plain && is_name_text(word);
                if (!part[n])
                        break;
        }
        if (plain)
                text(p, path);
        else
                print_text(p->stream, path);
}

/* read a = 1, "b-c" as b : int */
static void print_keys(AstPrinter *p, const Ast *keys)
{
        text(p, keys->name);
        for (int i = 0; i < keys->nkid; i++) {
                const Ast *key = keys->kid[i];
                text(p, i ? ", " : " ");
                print_path(p, key->name);
                if (key->kid[0])
                        fprintf(p->stream, " as %s", key->kid[0]->name);
                print_typed(p, key->kid[1], key->kid[2]);
        }
}

static void print_config(AstPrinter *p, const Ast *config)
{
        fprintf(p->stream, "config %s", config->name);
        if (config->kid[0])
                fprintf(p->stream, " : %s", config->kid[0]->name);
        for (int i = 0; i < config->kid[2]->nkid; i++) {
                const Ast *source = config->kid[2]->kid[i];
                text(p, " ");
                print_text(p->stream, source->name);
                for (int k = 0; k < source->nkid; k++)
                        fprintf(p->stream, ".%s", source->kid[k]->name);
        }
        ast_print_body(p, config->kid[1]);
}

static void print_item(AstPrinter *p, const Ast *item)
{
        if (item->kind == AST_IMPORT) {
                text(p, "import ");
                if (item->name)
                        text(p, item->name);
                else
                        print_expr(p, item->kid[0], ANY);
        } else if (item->kind == AST_SCHEME) {
                fprintf(p->stream, "scheme %s", item->name);
                print_params(p, item->kid[0]);
                ast_print_body(p, item->kid[1]);
        } else if (item->kind == AST_TEST) {
                text(p, "test ");
                print_text(p->stream, item->name);
                ast_print_body(p, item->kid[0]);
        } else if (item->kind == AST_CONFIG)
                print_config(p, item);
        else
                print_family(p, item);
}

static void ast_print_line(AstPrinter *p, const Ast *tree)
{
        switch (tree->kind) {
        case AST_BLOCK:
        case AST_MEMBER: ast_print_block(p, tree); return;
        case AST_IF:
        case AST_ENTRY_IF: print_if(p, tree); return;
        case AST_REQUIRE: print_require(p, tree); return;
        case AST_INPUT: ast_print_input(p, tree); return;
        case AST_SHARED: print_defined(p, "shared", tree); return;
        case AST_OUTPUT: print_defined(p, "output", tree); return;
        case AST_LET:
                ast_print_names(p, tree->kid[0]);
                print_typed(p, NULL, tree->kid[1]);
                return;
        case AST_DECL:
                ast_print_names(p, tree->kid[0]);
                print_typed(p, tree->kid[1], tree->kid[2]);
                return;
        case AST_RETURN:
                text(p, "return ");
                ast_print_list(p, tree, 0);
                return;
        case AST_REPEAT:
                text(p, "repeat ");
                print_each(p, tree->kid[0]);
                print_expr(p, tree->kid[1], ANY);
                ast_print_body(p, tree->kid[2]);
                return;
        case AST_KEYS: print_keys(p, tree); return;
        case AST_STATED:
                fprintf(p->stream, tree->kid[0] ? "model %s" : "model",
                        tree->kid[0] ? tree->kid[0]->name : "");
                ast_print_body(p, tree->kid[1]);
                return;
        case AST_CHECKPOINT_USE:
                text(p, "checkpoint ");
                print_expr(p, tree->kid[0], ANY);
                return;
        case AST_LOOP:
                fprintf(p->stream, "loop %s", tree->name);
                ast_print_body(p, tree);
                return;
        case AST_LOOP_NONE: fprintf(p->stream, "loop %s none", tree->name); return;
        case AST_SETTING:
        case AST_RULE:
                fprintf(p->stream, "%s ", tree->name);
                print_expr(p, tree->kid[0], ANY);
                return;
        case AST_MAP:
                if (tree->nkid > 1)
                        fprintf(p->stream, "%s ", tree->kid[1]->name);
                print_text(p->stream, tree->name);
                print_typed(p, NULL, tree->kid[0]);
                return;
        default: /* an item of a file, or an expression of a REPL */
                if (ast_is_expression(tree->kind))
                        print_expr(p, tree, ANY);
                else
                        print_item(p, tree);
        }
}

static void ast_print_lines(AstPrinter *p, const Ast *list)
{
        for (int i = 0; i < list->nkid; i++) {
                fprintf(p->stream, "%*s", 4 * p->indent, "");
                ast_print_line(p, list->kid[i]);
                putc('\n', p->stream);
        }
}

static void ast_print_body(AstPrinter *p, const Ast *list)
{
        text(p, " {\n");
        p->indent++;
        ast_print_lines(p, list);
        p->indent--;
        fprintf(p->stream, "%*s}", 4 * p->indent, "");
}

void ast_print(const Ast *tree, FILE *stream)
{
        AstPrinter printer = {stream, 0};
        if (tree->kind == AST_FILE || tree->kind == AST_LINES)
                ast_print_lines(&printer, tree);
        else
                ast_print_line(&printer, tree);
}
