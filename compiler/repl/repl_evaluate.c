/* Evaluates a line of the language: elaborated like a test, computed by the interpreter in double
 * precision, printed or kept.
 *
 * Variables that a statement uses are local to it, so that a repeat can carry them; blocks access them as
 * outside variables. */
#include "repl_private.h"

#include <stdlib.h>
#include <string.h>

/* --- names in a statement ------------------------------------------------------------------------------------------ */

static void evaluation_see(ReplEvaluation *v, const char *name)
{
        KeptValue *k = value_seen(v->s, name);
        if (!k || vars_find(&v->seen, name))
                return;
        Value value = value_of_kept(v->s, v->e, k);
        vars_set(&v->arena, &v->seen, name, value, (Span){0});
        scope_set(v->e, v->scope, name, value, (Span){0});
}

static void see_all(ReplEvaluation *v, const Ast *ast)
{
        if (!ast)
                return;
        if (ast->kind == AST_NAME || (ast->kind == AST_ARG && ast->name && !ast->kid[0]))
                evaluation_see(v, ast->name);
        for (int i = 0; i < ast->nkid; i++)
                see_all(v, ast->kid[i]);
}

/* --- steps of an evaluation ------------------------------------------------------------------------------------------- */

static bool is_changed(const ReplEvaluation *v, const Binding *b)
{
        Binding *seen = vars_find(&v->seen, b->name);
        return !seen || seen->value.kind != b->value.kind ||
               memcmp(&seen->value.number, &b->value.number, sizeof(double)) != 0;
}

static bool belongs_to_model(const ReplEvaluation *v)
{
        switch ((int)v->line->kind) {
        case AST_OUTPUT:
                return poisoned(v->e, v->line->span, "outputs belong to a model, outside its repeats"), true;
        case AST_INPUT:
                return poisoned(v->e, v->line->span, "inputs belong to a model, outside its repeats"), true;
        default: return false;
        }
}

static Value elaborate_line(ReplEvaluation *v)
{
        const Ast *line = v->line;
        Value value = NOTHING;
        v->e->in_test = true;
        see_all(v, line->kind == AST_LET ? line->kid[1] : line);
        if (belongs_to_model(v))
                return POISON;
        ask_for_iterations(v->e, line);
        if (ast_is_expression(line->kind))
                value = eval(v->e, v->scope, line, NULL);
        else if (line->kind == AST_TEST)
                run_statements(v->e, v->scope, line->kid[0]);
        else
                run_statement(v->e, v->scope, line);
        if (line->kind == AST_TEST && !v->diag.count && !v->e->g->nrequire && !v->e->work)
                poisoned(v->e, line->span, "this test requires nothing");
        if (!v->diag.count)
                number_slots(v->e);
        return value;
}

static bool evaluation_compute(ReplEvaluation *v)
{
        Graph *g = elaborator_finish(v->e);
        if (!g)
                return false;
        int64_t size[MAX_NAMED] = {0};
        for (int i = 0; i < g->nnamed; i++)
                size[i] = g->named[i].bound;
        int n = 2 * g->nrequire;
        Node **node = NEW_ARRAY(&v->arena, Node *, n + v->nwant);
        v->value = NEW_ARRAY(&v->arena, Tensor, n + v->nwant);
        for (int i = 0; i < g->nrequire; i++) {
                node[2L * i] = g->require[i].left ? g->require[i].left : g->require[i].right;
                node[2L * i + 1] = g->require[i].right;
        }
        for (int i = 0; i < v->nwant; i++)
                node[n + i] = v->want[i];
        WeightSource source = {weights_hashed(&v->arena, g), weights_read, weights_why};
        const char *error = interpret_nodes(g, size, NULL, &source, NULL, node, n + v->nwant, v->value);
        if (error)
                diag_error(&v->diag, (Span){0}, "%s", error);
        else
                check_requirements(&v->diag, g, v->value);
        return !v->diag.count;
}

/* Keeps the variables that the statement assigned. */
static bool commit(ReplEvaluation *v)
{
        const Vars *vars = v->scope->vars;
        KeptValue **kept = NEW_ARRAY(&v->arena, KeptValue *, vars->n);
        bool good = true;
        for (int i = 0; i < vars->n; i++) {
                const Binding *b = &vars->binding[i];
                if (!is_changed(v, b))
                        continue;
                kept[i] = is_kept_as_value(b->value) ? keep_value(v, b->value) : keep_statement(v, b->name);
                good &= kept[i] != NULL;
        }
        for (int i = 0; i < vars->n; i++) {
                if (!kept[i])
                        continue;
                if (!good)
                        kept_drop(kept[i]);
                else
                        good = variables_set(&v->s->variables, vars->binding[i].name, kept[i]);
        }
        if (!good)
                diag_error(&v->diag, (Span){0}, "out of memory");
        if (v->s->runner->reads_variables)
                session_changed(v->s);
        return good;
}

/* --- printing ---------------------------------------------------------------------------------------------------------- */

static void evaluate_print_block(FILE *f, const Block *b)
{
        if (!b->def) {
                fprintf(f, b->builtin ? "builtin %s\n" : "none\n", b->name);
                return;
        }
        print_signature(f, b->def, b->name);
        for (int i = 0; i < b->bound.n; i++)
                fprintf(f, "%s%s:", i ? ", " : " with ", b->bound.binding[i].name);
        fputc('\n', f);
}

static void print_kept(FILE *f, const KeptValue *k, Value v, int indent)
{
        switch ((int)k->kind) {
        case V_NONE: fprintf(f, "none\n"); break;
        case V_BOOL: fprintf(f, k->number != 0 ? "true\n" : "false\n"); break;
        case V_INT:
        case V_REAL:
                print_shortest(f, k->number);
                fputc('\n', f);
                break;
        case V_TEXT:
                print_text(f, k->text);
                fputc('\n', f);
                break;
        case V_TENSOR: print_tensor(f, &(Shown){k->dtype, k->rank, k->dim, k->data}, indent); break;
        case V_LIST:
                if (k->data) {
                        print_tensor(f, &(Shown){k->dtype, k->rank, k->dim, k->data}, indent);
                        break;
                }
                fprintf(f, "a list of %d\n", k->n);
                for (int i = 0; i < k->n; i++) {
                        int width = fprintf(f, "%*s[%d] ", indent + 2, "", i);
                        print_kept(f, k->item[i], v.list->item[i], width);
                }
                break;
        default: break;
        }
}

const char last_result[] = "it";

static void print_value(ReplEvaluation *v, Value value)
{
        if (value.kind == V_BLOCK) {
                evaluate_print_block(stdout, value.block);
        } else if (!is_kept_as_value(value)) {
                printf("%s\n", value_text_of(v->e, value));
        } else {
                KeptValue *k = keep_value(v, value);
                if (k)
                        print_kept(stdout, k, value, 0);
                if (!k || !variables_set(&v->s->variables,
                                         intern(&v->s->names, last_result, (int)sizeof last_result - 1), k))
                        diag_error(&v->diag, (Span){0}, "out of memory");
        }
}

static void take_result(ReplEvaluation *v, Value value)
{
        *v->result = is_kept_as_value(value) ? keep_value(v, value) : NULL;
        if (!*v->result)
                diag_error(&v->diag, v->line->span, "this is not a value");
}

/* --- main function ----------------------------------------------------------------------------------------------------------- */

static void evaluation_begin(ReplEvaluation *v)
{
        Program *p = v->s->program;
        v->s->evaluation++;
        v->diag.arena = p->work = &v->arena;
        p->diag = &v->diag;
        v->e = elaborator_new(p, v->line->kind == AST_TEST ? v->line->name : "repl", &v->diag);
        v->scope = scope_new(v->e, &p->main->scope, true);
}

static void evaluate_all(ReplEvaluation *v)
{
        evaluation_begin(v);
        Value value = elaborate_line(v);
        const Vars *vars = v->scope->vars;
        bool shows = ast_is_expression(v->line->kind), keeps = v->line->kind != AST_TEST && !v->result,
             changes = !shows; /* of expressions only an `along` assigns variables */
        if (shows && is_kept_as_value(value))
                want_all(v, value);
        for (int i = 0; keeps && i < vars->n; i++) {
                if (!is_changed(v, &vars->binding[i]))
                        continue;
                changes = true;
                if (is_kept_as_value(vars->binding[i].value))
                        want_all(v, vars->binding[i].value);
        }
        bool good = !v->diag.count && evaluation_compute(v);
        if (v->line->kind == AST_TEST)
                printf("%s %s\n", good ? "ok" : "FAIL", v->line->name);
        else if (good && v->result)
                take_result(v, value);
        else if (good && shows)
                print_value(v, value);
        if (good && keeps && changes) /* values are taken in the order in which they were wanted */
                commit(v);
}

static bool evaluate_into(ReplSession *s, Unit *u, const Ast *line, KeptValue **result)
{
        if (!take_model_values(s, line))
                return false;
        ReplEvaluation *v = calloc(1, sizeof *v);
        jmp_buf out_of_memory;
        if (!v)
                return repl_error("%s", no_memory);
        v->s = s;
        v->unit = u;
        v->line = line;
        v->result = result;
        v->arena.out_of_memory = s->words.out_of_memory = s->files->out_of_memory = &out_of_memory;
        volatile bool good = false;
        if (!setjmp(out_of_memory)) {
                evaluate_all(v);
                good = !v->diag.count;
                fflush(stdout);
                diag_print(&v->diag, stderr);
        } else {
                repl_error("%s", no_memory);
        }
        if (v->value)
                for (int i = 0; i < 2 * v->e->g->nrequire + v->nwant; i++)
                        tensor_free(&v->value[i]);
        s->words.out_of_memory = s->files->out_of_memory = NULL;
        s->program->diag = NULL;
        arena_free(&v->arena);
        free(v);
        return good;
}

bool evaluate_line(ReplSession *s, Unit *u, const Ast *line)
{
        return evaluate_into(s, u, line, NULL);
}

KeptValue *evaluate_text(ReplSession *s, const char *text)
{
        Unit *u = unit_new();
        KeptValue *value = NULL;
        if (!u)
                return repl_error("%s", no_memory), NULL;
        Diag diag = {.arena = &u->arena};
        const char *copy = arena_strdup(&u->arena, text);
        const Ast *tree = parse_input(&u->arena, &s->names, &diag,
                                      source_new(&u->arena, "<input>", copy, (int32_t)strlen(copy)));
        diag_print(&diag, stderr);
        if (tree && (tree->nkid != 1 || !ast_is_expression(tree->kid[0]->kind)))
                repl_error("not an expression: %s", text);
        else if (tree)
                evaluate_into(s, u, tree->kid[0], &value);
        unit_drop(u);
        return value;
}
