/* Repeats: every iteration is elaborated with its index, and the distinct bodies are kept.
 *
 * An iteration after the first is elaborated in scratch memory.  If its body is a known one, that memory
 * is reused, and the constants that differ go into tables; if not, the iteration is undone and elaborated
 * again in permanent memory.  So a repeat costs time for each iteration, and memory for each distinct
 * body.
 *
 * If bodies differ only in the start of slices (gate[.., e..e + 1]), the repeat starts again with those
 * slices written as gathers by a constant index, which may differ, so that they are one body.
 *
 * An iteration whose body is known in advance (index_uses.c) is not run: it takes the slots of weights that
 * the known one took. */
#include "elaborate_private.h"

#include <string.h>

typedef struct {
        const char *name;
        Value value;         /* before the iteration; a tensor: before the first */
        int carry;           /* index among the carried tensors, or -1: known at compile time */
        bool becomes_tensor; /* an iteration makes it a tensor, so it must start as one */
        Type type;           /* type of the tensor */
} CarriedName;

typedef struct {
        Elaborator *elaborator;
        Scope *scope;   /* outer scope */
        const Ast *ast; /* REPEAT or OVER */
        const Ast *each, *body;
        Region *region;
        CarriedName *carried;
        int ncarried, capacity;
        int64_t identity;
        Iteration kept[MAX_BODIES];
        Iterations *iterations;
        IndexUses *uses;
        Arena scratch; /* memory of the current iteration */
        Node **asked;  /* of the last elaborated iteration */
        int nreturned;
        bool stays;  /* a carried value is in an iteration's memory, which must be kept */
        bool stacks; /* OVER */
        bool again;  /* start again from the first iteration */
} Repeat;

/* ---- carried values ---- */

static void repeat_add_carried(void *to, const char *name)
{
        Repeat *r = to;
        Elaborator *e = r->elaborator;
        Binding *b = scope_local(r->scope, name);
        for (int i = 0; i < r->ncarried; i++)
                if (r->carried[i].name == name)
                        return;
        if (!b)
                return;
        GROW(e->keep, r->carried, r->ncarried, r->capacity);
        bool is_tensor = b->value.kind == V_TENSOR;
        r->carried[r->ncarried++] =
                (CarriedName){.name = name, .value = b->value, .carry = is_tensor ? r->region->ncarry++ : -1};
}

void find_assigned(const Ast *s, void (*found)(void *to, const char *name), void *to)
{
        for (int i = 0; s->kind == AST_LET && i < s->kid[0]->nkid; i++)
                found(to, s->kid[0]->kid[i]->name);
        if (s->kind == AST_OVER || s->kind == AST_BLOCK) /* which assign names of their own */
                return;
        for (int i = 0; i < s->nkid; i++)
                if (s->kid[i])
                        find_assigned(s->kid[i], found, to);
}

/* ---- one iteration ---- */

static bool lives_in_arena(Value v)
{
        return v.kind == V_LIST || v.kind == V_BLOCK || v.kind == V_SCHEME;
}

static Scope *enter_iteration(Elaborator *e, Repeat *r, Body *body, int64_t iteration)
{
        Scope *scope = scope_new(e, r->scope, false);
        for (int i = 0; i < r->ncarried; i++) {
                CarriedName *c = &r->carried[i];
                Value v = c->value;
                if (c->carry >= 0) {
                        Attr attr = {.index = c->carry, .slot = -1};
                        v = value_tensor(node_new(e->g, body, OP_CARRY, 0, NULL, attr, c->value.tensor->type,
                                                  r->each->span, e->where));
                        v.tensor->name = c->name;
                        v.tensor->position = c->value.tensor->position;
                }
                scope_set(e, scope, c->name, v, r->each->span);
        }
        const Ast *index = r->each->kid[0] ? r->each->kid[0] : r->each; /* `over a : n` also counts in a */
        scope_set(e, scope, index->name, value_int(iteration), r->each->span);
        iterations_show(scope, r->iterations, false);
        return scope;
}

const char *whole_type(Elaborator *e, const Type *t)
{
        static const char *const dtype[] = {"reals", "integers", "booleans"};
        return arena_printf(e->diag->arena, "%s of %s", type_text(e->diag->arena, e->g, t), dtype[t->dtype]);
}

static bool leave_tensor(Elaborator *e, Repeat *r, const CarriedName *c, const Binding *b, Body *body)
{
        const Type *before = &c->value.tensor->type;
        if (is_poison(b->value))
                return false;
        Node *next = to_tensor(e, b->value, b->span);
        if (!next)
                return false;
        if (!type_equal(before, &next->type)) {
                poisoned(e, b->span,
                         "%s changes its shape in an iteration of %s: it enters as %s and leaves as %s",
                         c->name, r->region->name, whole_type(e, before), whole_type(e, &next->type));
                return false;
        }
        body->next[c->carry] = next;
        return true;
}

/* Records the values at the end of an iteration.  False after an error. */
static bool leave_iteration(Elaborator *e, Repeat *r, Scope *scope, Body *body)
{
        bool good = true;
        for (int i = 0; i < r->ncarried; i++) {
                CarriedName *c = &r->carried[i];
                Binding *b = vars_find(scope->vars, c->name);
                if (c->carry >= 0) {
                        good = leave_tensor(e, r, c, b, body) && good;
                } else if (b->value.kind == V_TENSOR && (is_number(c->value) || c->value.kind == V_LIST)) {
                        c->becomes_tensor = r->again = true;
                        c->type = b->value.tensor->type;
                        good = false;
                } else if (b->value.kind == V_TENSOR) {
                        poisoned(e, b->span, "%s is %s before the iteration and %s after it", c->name,
                                 value_text_of(e, c->value), value_text_of(e, b->value));
                        good = false;
                } else {
                        r->stays = r->stays || lives_in_arena(b->value);
                        c->value = b->value;
                }
        }
        return good;
}

static bool stack_returned(Elaborator *e, Repeat *r, Body *body, int64_t iteration)
{
        Value v = e->returned;
        if (!e->has_returned)
                return poisoned(e, r->ast->span, "%s returns nothing", r->region->name), false;
        bool several = e->returned_several && v.kind == V_LIST;
        int n = several ? v.list->n : 1;
        const Value *item = several ? v.list->item : &v;
        if (iteration > 0 && n != r->region->nstack)
                return poisoned(e, r->ast->span, "%s returns %d values in one iteration and %d in another",
                                r->region->name, r->region->nstack, n),
                       false;
        r->region->nstack = n;
        body->stack = NEW_ARRAY(e->arena, Node *, n);
        for (int i = 0; i < n; i++) {
                body->stack[i] = is_poison(item[i]) ? NULL : to_tensor(e, item[i], r->body->span);
                if (!body->stack[i])
                        return false;
                if (iteration == 0)
                        continue;
                const Type *first = &r->region->body[0]->stack[i]->type;
                if (!type_equal(first, &body->stack[i]->type))
                        return poisoned(e, r->ast->span,
                                        "%s returns %s in iteration 0 and %s in iteration %lld",
                                        r->region->name, whole_type(e, first),
                                        whole_type(e, &body->stack[i]->type), (long long)iteration),
                               false;
        }
        return true;
}

/* Records the values that are named after the repeat.  False: it must start again. */
static bool leave_asked(Elaborator *e, Repeat *r, const Scope *scope, int64_t iteration)
{
        bool again = false;
        r->asked = iterations_leave(e, r->iterations, scope, iteration, &again);
        r->again = r->again || again;
        return !again;
}

static PathScope *path_of_iteration(Elaborator *e, const Repeat *r, int64_t iteration)
{
        PathScope *path = path_new(e, r->region->name, r->each->span);
        path->identity = r->identity;
        path->region = r->region;
        path->iteration = iteration;
        return path;
}

/* Elaborates an iteration into e->arena.  NULL after an error. */
static Body *elaborate_iteration(Elaborator *e, Repeat *r, int64_t iteration)
{
        Body *outer_body = e->body, *body = body_new(e->g, r->region);
        PathScope *outer_path = e->path, *path = path_of_iteration(e, r, iteration);
        Value returned = e->returned;
        bool has_returned = e->has_returned, may_return = e->may_return;
        int errors = e->diag->count;
        body->next = NEW_ARRAY(e->arena, Node *, r->region->ncarry);
        e->body = body;
        e->path = path;
        e->has_returned = false;
        e->may_return = r->stacks;
        Scope *scope = enter_iteration(e, r, body, iteration);
        run_statements(e, scope, r->body);
        bool good = e->diag->count == errors && !e->stopped;
        good = good && leave_iteration(e, r, scope, body) &&
               (!r->stacks || stack_returned(e, r, body, iteration)) && leave_asked(e, r, scope, iteration);
        e->body = outer_body;
        e->path = outer_path;
        e->returned = returned;
        e->has_returned = has_returned;
        e->may_return = may_return;
        return good ? body : NULL;
}

/* ---- all iterations ---- */

static Iteration as_iteration(const Repeat *r, const Body *body, int first)
{
        return (Iteration){
                .body = body, .first = first, .asked = r->asked, .nasked = iterations_asked(r->iterations)};
}

static int find_body(const Repeat *r, const Body *fresh, int first)
{
        for (int i = 0; i < r->region->nbody; i++)
                if (body_match(r->kept[i], as_iteration(r, fresh, first), r->region->iterations, NULL))
                        return i;
        return -1;
}

bool is_varying(const Elaborator *e, Span index)
{
        for (int i = 0; i < e->nvarying; i++)
                if (e->varying[i].source == index.source && e->varying[i].begin == index.begin &&
                    e->varying[i].end == index.end)
                        return true;
        return false;
}

/* Whether a body would equal a known one if some more slices were gathers; marks these. */
static bool find_varying(Elaborator *e, const Repeat *r, const Body *fresh, int first)
{
        bool found = false;
        for (int i = 0; i < r->region->nbody && !found; i++) {
                Varying varying = {0};
                if (!body_match(r->kept[i], as_iteration(r, fresh, first), r->region->iterations, &varying))
                        continue;
                for (int k = 0; k < varying.n; k++) {
                        if (is_varying(e, varying.span[k]))
                                continue;
                        GROW(e->keep, e->varying, e->nvarying, e->varying_cap);
                        e->varying[e->nvarying++] = varying.span[k];
                        found = true;
                }
        }
        return found;
}

/* Values of the iteration on which the body depends.  NULL: unknown, or bodies depend on something else
 * too. */
static const Value *answers_of(Elaborator *e, Repeat *r, int64_t iteration)
{
        for (int i = 0; i < r->ncarried; i++)
                if (r->carried[i].carry < 0)
                        return NULL;
        if (iterations_asked(r->iterations) > 0)
                return NULL;
        Body *body = e->body;
        PathScope *path = e->path;
        e->body = body_new(e->g, r->region);
        e->path = path_of_iteration(e, r, iteration);
        const Value *answers = index_uses_answers(e, r->uses, r->scope, iteration);
        e->body = body;
        e->path = path;
        return answers;
}

/* Adds an iteration whose body is known without running it.  arena: of the bodies.  False: not known. */
static bool repeat_known(Elaborator *e, Repeat *r, Arena *arena, int64_t iteration)
{
        const Value *answers = answers_of(e, r, iteration);
        for (int i = 0; answers && i < r->region->nbody; i++) {
                const Iteration *known = &r->kept[i];
                if (!index_uses_same(e, r->uses, known->answers, answers) ||
                    !index_uses_move(arena, e, r->uses, known, answers, iteration))
                        continue;
                /* weights have no slot for each position of an `along` */
                changes_repeat(e, known->change, known->changes, e->nregion - e->in_along - 1,
                               iteration - known->iteration);
                r->region->body_of[iteration] = (uint8_t)i;
                return true;
        }
        return false;
}

static bool keep_body(Elaborator *e, Repeat *r, Body *body, int first, int64_t iteration, int64_t change)
{
        Region *region = r->region;
        int capacity = region->nbody;
        if (region->nbody == MAX_BODIES)
                return poisoned(e, r->each->span, "%s has more than %d different bodies", region->name,
                                MAX_BODIES),
                       false;
        if ((capacity & (capacity - 1)) == 0)
                region->body = arena_grow(e->arena, region->body, capacity * (int64_t)sizeof(Body *),
                                          (capacity ? 2 * capacity : 1) * (int64_t)sizeof(Body *));
        Iteration *kept = &r->kept[region->nbody];
        *kept = as_iteration(r, body, first);
        kept->answers = answers_of(e, r, iteration);
        kept->iteration = iteration;
        kept->change = change;
        kept->changes = changes_mark(e);
        region->body_of[iteration] = (uint8_t)region->nbody;
        region->body[region->nbody++] = body;
        return true;
}

static void set_arena(Elaborator *e, Arena *arena)
{
        e->arena = arena;
        e->g->arena = arena;
}

/* Elaborates an iteration in scratch memory.  1: its body is known; 0: it must be elaborated permanently;
 * -1: an error. */
static int try_iteration(Elaborator *e, Repeat *r, int64_t iteration)
{
        Arena *outer = e->arena;
        int first = e->g->nnode, found = -1;
        int64_t change = changes_mark(e), instances = e->ninstance;
        Value value[64];
        bool restorable = r->ncarried <= 64;
        for (int i = 0; restorable && i < r->ncarried; i++)
                value[i] = r->carried[i].value;
        if (r->stays || !restorable)
                return 0;
        r->scratch.out_of_memory = outer->out_of_memory;
        set_arena(e, &r->scratch);
        bool repeats = repeat_known(e, r, outer, iteration);
        Body *body = repeats ? NULL : elaborate_iteration(e, r, iteration);
        set_arena(e, outer);
        if (repeats)
                return arena_clear(&r->scratch), 1;
        if (body)
                found = find_body(r, body, first);
        r->again = r->again || (body && found < 0 && find_varying(e, r, body, first));
        if (found >= 0 && !r->stays) {
                body_merge(outer, r->region, r->region->body[found], body, iteration);
                r->region->body_of[iteration] = (uint8_t)found;
                instance_names_pop(e, instances);
        } else { /* undone: to be elaborated again; or after an error, in which case the memory is released too */
                changes_undo(e, change, instances);
                for (int i = 0; i < r->ncarried; i++)
                        r->carried[i].value = value[i];
        }
        e->g->nnode = first;
        bool known = found >= 0 && !r->stays;
        arena_clear(&r->scratch);
        return !body && !r->again ? -1 : known;
}

/* False: an error, or r->again. */
static bool run_iterations(Elaborator *e, Repeat *r)
{
        for (int64_t iteration = 0; iteration < r->region->iterations; iteration++) {
                int done = iteration > 0 ? try_iteration(e, r, iteration) : 0;
                if (done < 0 || r->again)
                        return false;
                if (done)
                        continue;
                int first = e->g->nnode;
                int64_t change = changes_mark(e);
                Body *body = elaborate_iteration(e, r, iteration);
                if (!body)
                        return false;
                int found = r->stays ? find_body(r, body, first) : -1;
                r->again = r->stays && found < 0 && find_varying(e, r, body, first);
                if (r->again)
                        return false;
                if (found >= 0) {
                        body_merge(e->arena, r->region, r->region->body[found], body, iteration);
                        r->region->body_of[iteration] = (uint8_t)found;
                        e->g->nnode = first;
                } else if (!keep_body(e, r, body, first, iteration, change)) {
                        return false;
                }
        }
        return true;
}

/* A number or list that the iterations make a tensor must start as one: `total = 0` before `total = total
 * + x`. */
static bool start_as_tensor(Elaborator *e, Repeat *r, CarriedName *c, Value *start)
{
        Span span = scope_local(r->scope, c->name)->span;
        if (is_number(*start) && !check_float(e, start->number, span))
                return false;
        Node *n = is_number(*start)
                          ? build_number(e->g, e->body, start->number, c->type.dtype, span, e->where)
                          : to_tensor(e, *start, span);
        if (!n)
                return false;
        if (n->op == OP_CONST)
                n->type.dtype = c->type.dtype;
        if (is_number(*start) && c->type.rank > 0)
                n = view_broadcast(e->g, e->body, n, &c->type, span, e->where);
        c->becomes_tensor = false;
        c->carry = r->region->ncarry++;
        *start = value_tensor(n);
        return n != NULL;
}

/* Runs all iterations, and starts again as long as that reduces the number of bodies. */
static bool run_all_iterations(Elaborator *e, Repeat *r)
{
        int64_t change = changes_mark(e), instances = e->ninstance;
        int first = e->g->nnode;
        Value *start = NEW_ARRAY(e->arena, Value, r->ncarried);
        for (int i = 0; i < r->ncarried; i++)
                start[i] = r->carried[i].value;
        for (;;) {
                bool good = run_iterations(e, r);
                if (!r->again)
                        return good;
                changes_undo(e, change, instances);
                e->g->nnode = first;
                r->again = false;
                r->region->nbody = 0;
                r->region->body = NULL;
                for (int i = 0; i < r->ncarried; i++) {
                        if (r->carried[i].becomes_tensor && !start_as_tensor(e, r, &r->carried[i], &start[i]))
                                return false;
                        r->carried[i].value = start[i];
                }
                first = e->g->nnode;
        }
}

/* The number of iterations, within limits; -1 after an error. */
static int64_t repeat_iterations(Elaborator *e, Scope *scope, const Ast *ast)
{
        int64_t n;
        Value v = eval(e, scope, ast->kid[1], NULL);
        const char *name = ast->kid[0]->name;
        if (!want_int(e, v, ast->kid[1]->span,
                      arena_printf(e->diag->arena, "the number of iterations of %s", name), &n))
                return -1;
        if (n < 0)
                return poisoned(e, ast->kid[1]->span, "%s can't be repeated %lld times", name, (long long)n),
                       -1;
        if (n > MAX_ITERATIONS || n * e->iterations > MAX_ITERATIONS) {
                poisoned(e, ast->kid[1]->span,
                         "%s has %lld iterations: more than %d in all are not elaborated", name,
                         (long long)(n * (n > MAX_ITERATIONS ? 1 : e->iterations)), MAX_ITERATIONS);
                return -1;
        }
        if (e->nregion == MAX_REGIONS)
                return poisoned(e, ast->span, "repeats are more than %d deep", MAX_REGIONS), -1;
        return n;
}

static Repeat *repeat_new(Elaborator *e, Scope *scope, const Ast *ast, int64_t iterations)
{
        Repeat *r = NEW(e->arena, Repeat);
        r->elaborator = e;
        r->scope = scope;
        r->ast = ast;
        r->each = ast->kid[0];
        r->body = ast->kid[2];
        r->identity = ++e->next_id;
        r->region = NEW(e->arena, Region);
        r->region->name = r->each->name;
        r->region->iterations = iterations;
        r->region->body_of = NEW_ARRAY(e->arena, uint8_t, iterations);
        r->iterations = iterations_begin(e, ast, iterations);
        r->uses = index_uses_new(e, ast);
        return r;
}

/* Runs the iterations and makes the REPEAT node.  NULL after an error. */
static Node *finish_repeat(Elaborator *e, Repeat *r)
{
        Region *region = r->region;
        int64_t outer_iterations = e->iterations;
        e->iterations *= region->iterations;
        e->nregion++;
        int64_t changes = changes_mark(e);
        bool good = run_all_iterations(e, r);
        arena_free(&r->scratch);
        e->iterations = outer_iterations;
        e->nregion--;
        if (!good)
                return NULL;
        if (changes_mark(e) > changes) {
                PathScope *path = path_new(e, region->name, r->each->span);
                path->identity = r->identity;
                if (!list_instance(e, path))
                        return NULL;
        }
        r->nreturned = region->nstack;
        iterations_stack(e, r->iterations, region, r->kept);
        Node **start = NEW_ARRAY(e->arena, Node *, region->ncarry);
        for (int i = 0; i < r->ncarried; i++)
                if (r->carried[i].carry >= 0)
                        start[r->carried[i].carry] = r->carried[i].value.tensor;
        region->repeat = build(e->g, e->body, e->diag, OP_REPEAT, region->ncarry, start,
                               &(Attr){.region = region, .slot = -1}, r->ast->span, e->where);
        record_name(e, INNER_REPEAT, region->name, e->where, value_tensor(region->repeat));
        if (region->repeat)
                iterations_end(e, r->iterations, region->repeat);
        return region->repeat;
}

static Node *result(Elaborator *e, Node *repeat, int index, Span span)
{
        return build(e->g, e->body, e->diag, OP_RESULT, 1, &repeat, &(Attr){.index = index, .slot = -1}, span,
                     e->where);
}

void elaborate_repeat(Elaborator *e, Scope *scope, const Ast *ast)
{
        int64_t iterations = repeat_iterations(e, scope, ast);
        if (iterations <= 0) {
                iterations_show(scope, iterations_begin(e, ast, 0), true);
                return;
        }
        Repeat *r = repeat_new(e, scope, ast, iterations);
        find_assigned(r->body, repeat_add_carried, r);
        Node *repeat = finish_repeat(e, r);
        iterations_show(scope, r->iterations, true);
        if (!repeat)
                return;
        for (int i = 0; i < r->ncarried; i++) {
                CarriedName *c = &r->carried[i];
                Value v = c->carry >= 0 ? value_tensor(result(e, repeat, c->carry, r->each->span)) : c->value;
                name_variable(e, v, c->name);
                scope_set(e, scope, c->name, v, r->each->span);
        }
}

Value eval_over(Elaborator *e, Scope *scope, const Ast *ast)
{
        int64_t iterations = repeat_iterations(e, scope, ast);
        if (iterations < 0)
                return POISON;
        if (iterations == 0)
                return poisoned(e, ast->kid[1]->span, "%s has no iterations, so its values have no shape",
                                ast->kid[0]->name);
        Repeat *r = repeat_new(e, scope, ast, iterations);
        r->stacks = true;
        Node *repeat = finish_repeat(e, r);
        iterations_show(scope, r->iterations, true);
        if (!repeat)
                return POISON;
        int n = r->nreturned;
        Value *item = NEW_ARRAY(e->arena, Value, n);
        for (int i = 0; i < n; i++)
                item[i] = value_tensor(result(e, repeat, i, ast->span));
        return n == 1 ? item[0] : value_list(e, n, item);
}
