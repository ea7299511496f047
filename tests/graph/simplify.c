/* simplify: random graphs give the same bits before and after, and nearly the same behind recognise; given graphs become what they
 * should. */
#include "harness.h"

#include "passes/passes.h"

static const int64_t time5[MAX_NAMED] = {5};

/* --- random graphs --- */

enum { POOL = 64 };
typedef struct {
        Fixture *f;
        Body *body;
        Node *node[POOL];
        int n;
} Pool;

static void add(Pool *p, Node *n)
{
        if (n && type_count(&n->type, time5) <= 2000 && p->n < POOL)
                p->node[p->n++] = n;
        diag_clear(&p->f->diag);
}

static Node *pick(Pool *p)
{
        return p->node[random_below(&p->f->random, p->n)];
}

static double interesting_number(Random *r)
{
        static const double value[] = {0, -0.0, 1, 2, -1, 0.5, -0.5, 3, 8, 0.25, -INFINITY, 1.5};
        return value[random_below(r, 12)];
}

static Node *random_literal(Pool *p)
{
        Random *r = &p->f->random;
        Type type = {.dtype = (DType)random_below(r, 3), .rank = random_below(r, 3)};
        double value[64];
        for (int i = 0; i < type.rank; i++)
                type.dim[i] = dim_fixed(random_below(r, 2) ? 4 : 1);
        int64_t iterations = p->body->region && random_below(r, 2) ? p->body->region->iterations : 1;
        bool uniform = random_below(r, 2);
        for (int i = 0; i < 64; i++) {
                value[i] = i && uniform ? value[0] : interesting_number(r);
                value[i] = type.dtype == BOOL                     ? value[i] > 0
                           : type.dtype == INT && isinf(value[i]) ? 5
                                                                  : value[i];
                value[i] = type.dtype == INT ? floor(value[i]) : value[i];
        }
        return new_literal(p->f, p->body, type, iterations, value);
}

static Node *random_view(Pool *p, Node *x)
{
        Random *r = &p->f->random;
        Graph *g = p->f->g;
        Span s = {0};
        int rank = x->type.rank, perm[MAX_RANK];
        Type to = x->type;
        for (int i = 0; i < rank; i++)
                perm[i] = rank - 1 - i;
        switch (random_below(r, 6)) {
        case 0: return view_transpose(g, p->body, x, perm, s, NULL);
        case 1: return view_split(g, p->body, x, 2, s, NULL);
        case 2: return view_merge(g, p->body, x, s, NULL);
        case 3: return rank < 5 ? view_rank(g, p->body, x, rank + 1, s, NULL) : NULL;
        case 4: return rank ? view_slice(g, p->body, x, 0, dim_fixed(0), dim_fixed(1), s, NULL) : NULL;
        default:
                if (rank == 0 || !dim_is(to.dim[0], 1))
                        return NULL;
                to.dim[0] = random_below(r, 2) ? dim_named(0) : dim_fixed(4);
                return view_broadcast(g, p->body, x, &to, s, NULL);
        }
}

static Node *random_op(Pool *p)
{
        static const Op two[] = {OP_ADD,   OP_SUB, OP_MUL, OP_DIV,      OP_POW, OP_MAX,    OP_MIN, OP_LESS,
                                 OP_EQUAL, OP_AND, OP_OR,  OP_FLOORDIV, OP_MOD, OP_MATMUL, OP_ADD, OP_MUL};
        static const Op one[] = {OP_NEG, OP_EXP, OP_SQRT, OP_TANH, OP_FLOOR, OP_REAL_OF, OP_NOT, OP_SOFTMAX};
        static const Op axis[] = {OP_SUM, OP_MAXOF, OP_ARGMAX};
        Random *r = &p->f->random;
        Node *a = pick(p), *b = pick(p), *c = pick(p);
        Attr attr = {.axis = random_below(r, 3)};
        switch (random_below(r, 8)) {
        case 0: return random_literal(p);
        case 1: return random_view(p, a);
        case 2: return op_in(p->f, p->body, one[random_below(r, 8)], 1, &a, NULL);
        case 3: return op_in(p->f, p->body, axis[random_below(r, 3)], 1, &a, &attr);
        case 4: return op_in(p->f, p->body, OP_WHERE, 3, (Node *[]){a, b, random_below(r, 4) ? c : b}, NULL);
        case 5: return op_in(p->f, p->body, OP_JOIN, 1 + random_below(r, 2), (Node *[]){a, b}, &attr);
        default:
                return op_in(p->f, p->body, two[random_below(r, 16)], 2,
                             (Node *[]){a, random_below(r, 8) ? b : a}, NULL);
        }
}

static void fill(Pool *p, int nodes)
{
        for (int i = 0; i < nodes; i++)
                add(p, random_op(p));
}

/* A value of the body with the type of `like`, the last made; else `otherwise`. */
static Node *last_of_type(Pool *p, const Node *like, Node *otherwise)
{
        for (int i = p->n - 1; i >= 0; i--)
                if (type_equal(&p->node[i]->type, &like->type))
                        return p->node[i];
        return otherwise;
}

static void add_repeat(Pool *p, int depth);

static void fill_body(Pool *around, Body *body, int depth)
{
        Region *region = body->region;
        Node *repeat = region->repeat;
        Pool inside = *around;
        inside.body = body;
        inside.n = inside.n > POOL / 2 ? POOL / 2 : inside.n;
        for (int i = 0; i < region->ncarry; i++) {
                Attr attr = {.index = i};
                body->next[i] = node_new(around->f->g, body, OP_CARRY, 0, NULL, attr, repeat->in[i]->type,
                                         (Span){0}, NULL);
                add(&inside, body->next[i]);
        }
        fill(&inside, 10);
        if (depth < 2 && random_below(&around->f->random, 3) == 0)
                add_repeat(&inside, depth + 1);
        fill(&inside, 4);
        for (int i = 0; i < region->ncarry; i++)
                if (random_below(&around->f->random, 4)) /* else it stays as it came */
                        body->next[i] = last_of_type(&inside, repeat->in[i], body->next[i]);
        for (int i = 0; i < region->nstack; i++)
                body->stack[i] = last_of_type(&inside, repeat->in[0], body->next[0]);
}

static void add_repeat(Pool *p, int depth)
{
        Fixture *f = p->f;
        Region *region = NEW(&f->arena, Region);
        *region = (Region){.name = "layer",
                           .iterations = 1 + random_below(&f->random, 3),
                           .nbody = 1 + random_below(&f->random, 2)};
        region->ncarry = 1 + random_below(&f->random, 3);
        region->nstack = random_below(&f->random, 2);
        region->body = NEW_ARRAY(&f->arena, Body *, region->nbody);
        region->body_of = NEW_ARRAY(&f->arena, uint8_t, region->iterations);
        for (int64_t t = 0; t < region->iterations; t++)
                region->body_of[t] = (uint8_t)random_below(&f->random, region->nbody);
        Node *in[3];
        for (int i = 0; i < region->ncarry; i++)
                in[i] = pick(p);
        Attr attr = {.region = region};
        Node *repeat = node_new(f->g, p->body, OP_REPEAT, region->ncarry, in, attr, (Type){.dtype = REAL},
                                (Span){0}, NULL);
        region->repeat = repeat;
        for (int k = 0; k < region->nbody; k++) {
                region->body[k] = body_new(f->g, region);
                region->body[k]->next = NEW_ARRAY(&f->arena, Node *, region->ncarry);
                region->body[k]->stack = NEW_ARRAY(&f->arena, Node *, region->nstack);
                fill_body(p, region->body[k], depth);
        }
        for (int i = 0; i < region->ncarry + region->nstack; i++) {
                Attr index = {.index = i};
                add(p, op_in(f, p->body, OP_RESULT, 1, &repeat, &index));
        }
}

static int count_nodes(const Body *body)
{
        int count = body->nnode;
        for (int i = 0; i < body->nnode; i++)
                for (int k = 0; body->node[i]->op == OP_REPEAT && k < body->node[i]->attr.region->nbody; k++)
                        count += count_nodes(body->node[i]->attr.region->body[k]);
        return count;
}

/* Interprets the outputs; false if that fails. */
static bool outputs(Fixture *f, const Tensor *in, Tensor *out)
{
        const char *error = interpret(f->g, time5, in, NULL, NULL, out);
        if (error)
                printf("     %s\n", error);
        return !error;
}

/* Within the rounding of sums in another order, of the largest value. */
static bool nearly_same(const Tensor *a, const Tensor *b)
{
        int64_t count = 1;
        double largest = 0;
        for (int i = 0; i < a->rank; i++) {
                if (a->rank != b->rank || a->dim[i] != b->dim[i])
                        return false;
                count *= a->dim[i];
        }
        for (int64_t i = 0; i < count; i++)
                if (isfinite(a->data[i]))
                        largest = fmax(largest, fabs(a->data[i]));
        for (int64_t i = 0; i < count; i++) {
                double x = a->data[i], y = b->data[i];
                bool finite = isfinite(x) && isfinite(y);
                if (finite ? fabs(x - y) > 1e-11 * largest : !(x == y || (isnan(x) && isnan(y))))
                        return false;
        }
        return true;
}

typedef Graph *Pass(Graph *g);
typedef bool Agree(const Tensor *a, const Tensor *b);

static bool one_graph(uint64_t seed, Pass *pass, Agree *agree, int *before, int *after)
{
        Fixture f;
        fixture_start(&f, seed);
        add_named(&f, "time", 9);
        Pool pool = {.f = &f, .body = f.g->top};
        add(&pool, new_input(&f, "a", of_shape(REAL, 2, TIME, 4)));
        add(&pool, new_input(&f, "b", of_shape(REAL, 1, 4)));
        add(&pool, new_input(&f, "c", of_shape(INT, 2, TIME, 1)));
        add(&pool, new_input(&f, "d", of_shape(BOOL, 2, 4, 4)));
        add(&pool, new_index(&f, f.g->top, dim_fixed(4), 0));
        fill(&pool, 12);
        add_repeat(&pool, 0);
        fill(&pool, 12);
        for (int i = 0; i < 4; i++)
                add_output(&f, pool.node[pool.n - 1 - i]);
        add_output(&f, pick(&pool));
        Tensor *in = random_inputs(&f, time5), was[5], is[5];
        verify(f.g, "making");
        bool right = outputs(&f, in, was);
        *before += count_nodes(f.g->top);
        f.g = pass(f.g);
        verify(f.g, "the pass");
        *after += count_nodes(f.g->top);
        right = right && outputs(&f, in, is);
        for (int i = 0; right && i < 5; i++) {
                if (!agree(&was[i], &is[i])) {
                        printf("     seed %llu, output %d\n", (unsigned long long)seed, i);
                        right = false;
                }
        }
        for (int i = 0; i < 5; i++) {
                tensor_free(&was[i]);
                tensor_free(&is[i]);
        }
        free_tensors(in, f.g->ninput);
        fixture_end(&f);
        return right;
}

static void test_random_graphs(void)
{
        int before = 0, after = 0;
        bool right = true;
        for (uint64_t seed = 0; right && seed < 1500; seed++)
                right = one_graph(seed, simplify, same_bits, &before, &after);
        verdict("simplify: 1500 random graphs give the same bits", right);
        for (uint64_t seed = 0; right && seed < 1500; seed++)
                right = one_graph(seed, recognise, nearly_same, &(int){0}, &(int){0});
        verdict("recognise: 1500 random graphs give nearly the same", right);
        verdict("simplify: and less than two thirds of the nodes stay", after * 3 < before * 2);
}

/* --- given graphs --- */

typedef struct {
        const char *name;
        Op op;
        double number; /* op(x, number), or op(number, x) */
        bool on_left;
        const char *expected; /* the dump of what is left after the input */
} Rule;

static const Rule rules[] = {
        {"x - 0", OP_SUB, 0, false, ""},
        {"x + 0 stays, for x may be -0", OP_ADD, 0, false, "add %0 0\n"},
        {"x + -0", OP_ADD, -0.0, false, ""},
        {"0 - x stays", OP_SUB, 0, true, "sub 0 %0\n"},
        {"x 1", OP_MUL, 1, false, ""},
        {"1 x", OP_MUL, 1, true, ""},
        {"x 0 stays", OP_MUL, 0, false, "mul %0 0\n"},
        {"x / 8", OP_DIV, 8, false, "mul %0 0.125\n"},
        {"x / 3 stays", OP_DIV, 3, false, "div %0 3\n"},
        {"x / 2^99", OP_DIV, 0x1p99, false, "mul %0 1.57772e-30\n"},
        {"x / 2^100 stays", OP_DIV, 0x1p100, false, "div %0 1.26765e+30\n"},
        {"x / 2^-101", OP_DIV, 0x1p-101, false, "mul %0 2.5353e+30\n"},
        {"x / 2^-102 stays", OP_DIV, 0x1p-102, false, "div %0 1.97215e-31\n"},
        {"x^2", OP_POW, 2, false, "mul %0 %0\n"},
        {"x^3", OP_POW, 3, false, "mul %0 %0\nmul %1 %0\n"},
        {"x^0.5", OP_POW, 0.5, false, "sqrt %0\n"},
        {"x^-0.5", OP_POW, -0.5, false, "sqrt %0\ndiv 1 %1\n"},
        {"x^0.75 stays", OP_POW, 0.75, false, "pow %0 0.75\n"},
};

/* What is left, but inputs and numbers: op and operands of each node, in order. */
static bool leaves(Fixture *f, const char *expected)
{
        const char *text = "";
        const Body *body = f->g->top;
        for (int i = 0; i < body->nnode; i++) {
                const Node *n = body->node[i];
                if (n->op == OP_INPUT || (n->op == OP_CONST && n->type.rank == 0))
                        continue;
                text = arena_printf(&f->arena, "%s%s", text, op_info[n->op].text);
                for (int k = 0; k < n->nin; k++)
                        text = n->in[k]->op == OP_CONST && n->in[k]->type.rank == 0
                                       ? arena_printf(&f->arena, "%s %g", text,
                                                      n->in[k]->attr.literal->value[0])
                                       : arena_printf(&f->arena, "%s %%%d", text, n->in[k]->id);
                text = arena_printf(&f->arena, "%s\n", text);
        }
        if (strcmp(text, expected) == 0)
                return true;
        printf("expected:\n%sfound:\n%s", expected, text);
        return false;
}

static void test_rules(void)
{
        for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
                Fixture f;
                char name[80];
                fixture_start(&f, 1);
                Node *x = new_input(&f, "x", of_shape(REAL, 1, 4));
                Node *number = build_number(f.g, f.g->top, rules[i].number, REAL, (Span){0}, NULL);
                add_output(&f, rules[i].on_left ? op2(&f, rules[i].op, number, x)
                                                : op2(&f, rules[i].op, x, number));
                simplify(f.g);
                snprintf(name, sizeof name, "simplify: %s", rules[i].name);
                verdict(name, leaves(&f, rules[i].expected));
                fixture_end(&f);
        }
}

/* y + 0 is y, where y is never -0: a truth, a size, a position, one of two such values.  A join of one is its operand. */
static void test_never_minus_zero(void)
{
        Fixture f;
        fixture_start(&f, 1);
        static const double minus_one = -1;
        add_named(&f, "time", 9);
        Node *x = new_input(&f, "x", of_shape(REAL, 2, TIME, 4)), *b = new_input(&f, "b", of_shape(BOOL, 0));
        Node *number = new_literal(&f, f.g->top, of_shape(INT, 0), 1, &minus_one);
        Node *size = op_in(&f, f.g->top, OP_SIZE, 0, NULL, &(Attr){.dim = dim_named(0)});
        Node *never[] = {op1(&f, OP_REAL_OF, b), op1(&f, OP_REAL_OF, size), op_axis(&f, OP_ARGMAX, x, 1),
                         op3(&f, OP_WHERE, b, op_axis(&f, OP_SUM, x, 1), number)};
        for (int i = 0; i < 4; i++)
                add_output(&f, op2(&f, OP_ADD, never[i],
                                   build_number(f.g, f.g->top, 0, never[i]->type.dtype, (Span){0}, NULL)));
        add_output(&f, op2(&f, OP_ADD, b, build_number(f.g, f.g->top, 0, REAL, (Span){0}, NULL)));
        add_output(&f, op_in(&f, f.g->top, OP_JOIN, 1, &x, &(Attr){.axis = 1}));
        simplify(f.g);
        verdict("simplify: no + 0 where -0 can't be, no join of one",
                leaves(&f, "size\nreal %1\nreal %3\nargmax %0\nsum %0\nwhere %1 %7 -1\n"));
        fixture_end(&f);
}

/* x[i] of a repeat is a gather until i is known to be the same in all iterations. */
static void test_gathered_part(void)
{
        Fixture f;
        fixture_start(&f, 1);
        Node *x = new_input(&f, "x", of_shape(REAL, 3, 4, 2, 3));
        Node *at[] = {x, build_number(f.g, f.g->top, 2, INT, (Span){0}, NULL),
                      build_number(f.g, f.g->top, 1, INT, (Span){0}, NULL)};
        Node *far[] = {x, build_number(f.g, f.g->top, 9, INT, (Span){0}, NULL)};
        add_output(&f, op_in(&f, f.g->top, OP_GATHER, 3, at, NULL));
        add_output(&f, op_in(&f, f.g->top, OP_GATHER, 2, far, NULL));
        simplify(f.g);
        verdict("simplify: a row at a place that is known is a view", leaves(&f, "view %0\ngather %0 9\n"));
        fixture_end(&f);
}

/* slopes = 2 ^ (-8 (head + 1) / heads): one constant. */
static void test_folding(void)
{
        Fixture f;
        fixture_start(&f, 1);
        Node *x = new_input(&f, "x", of_shape(REAL, 3, 4, 2, 2));
        Node *number[4];
        static const double value[] = {1, -8, 4, 2};
        for (int i = 0; i < 4; i++)
                number[i] = build_number(f.g, f.g->top, value[i], i == 3 ? REAL : INT, (Span){0}, NULL);
        Node *head = new_index(&f, f.g->top, dim_fixed(4), 0);
        Node *power =
                op2(&f, OP_DIV, op2(&f, OP_MUL, op2(&f, OP_ADD, head, number[0]), number[1]), number[2]);
        Node *slope = op2(&f, OP_POW, number[3], power);
        Type column = of_shape(REAL, 3, 4, 1, 1);
        Node *tall = view_reshape(f.g, f.g->top, slope, &column, (Span){0}, NULL);
        add_output(&f, op2(&f, OP_MUL, x, tall));
        simplify(f.g);
        verdict("simplify: slopes fold into one table", leaves(&f, "const\nview %1\nmul %0 %2\n"));
        const Node *table = f.g->top->node[1];
        bool right = table->op == OP_CONST && table->attr.literal->count == 4;
        for (int i = 0; right && i < 4; i++)
                right = table->attr.literal->value[i] == pow(2, -2.0 * (i + 1));
        verdict("simplify: with the slopes' values", right);
        fixture_end(&f);
}

static void test_sharing(void)
{
        Fixture f;
        fixture_start(&f, 1);
        add_named(&f, "time", 9);
        Node *x = new_input(&f, "x", of_shape(REAL, 2, TIME, 4)),
             *y = new_input(&f, "y", of_shape(REAL, 1, 4));
        Node *sum = op2(&f, OP_ADD, x, y), *again = op2(&f, OP_ADD, y, x);
        Node *wide = view_broadcast(f.g, f.g->top, y, &x->type, (Span){0}, NULL);
        add_output(&f, op2(&f, OP_MUL, sum, again));
        add_output(&f, op2(&f, OP_MUL, sum, op2(&f, OP_ADD, x, wide)));
        op1(&f, OP_EXP, x);
        simplify(f.g);
        verdict("simplify: one sum for three, broadcasts and dead code gone",
                leaves(&f, "add %0 %1\nmul %2 %2\n"));
        fixture_end(&f);
}

/* A table of two rows around a repeat whose own table looks the same: each is read by its own iteration.  x
 * becomes, for each pair of iterations, x (2 t) + t u. */
static void test_tables(void)
{
        Fixture f;
        fixture_start(&f, 1);
        static const double row[] = {3, 5};
        Node *x = new_input(&f, "x", of_shape(REAL, 0));
        Region *outer = new_region(&f, "layer", 2, 1, 1, 0), *inner = new_region(&f, "expert", 2, 1, 1, 0);
        Node *repeat = new_repeat(&f, f.g->top, outer, &x);
        Body *body = outer->body[0], *deep = inner->body[0];
        Node *h = new_carry(&f, body, 0), *t = new_literal(&f, body, of_shape(REAL, 0), 2, row);
        Node *twice = op_in(&f, body, OP_ADD, 2, (Node *[]){t, t}, NULL),
             *again = new_repeat(&f, body, inner, &h);
        Node *e = new_carry(&f, deep, 0), *u = new_literal(&f, deep, of_shape(REAL, 0), 2, row);
        Node *both = op_in(&f, deep, OP_MUL, 2, (Node *[]){t, u}, NULL);
        Node *scaled = op_in(&f, deep, OP_MUL, 2, (Node *[]){e, twice}, NULL);
        deep->next[0] = op_in(&f, deep, OP_ADD, 2, (Node *[]){scaled, both}, NULL);
        body->next[0] = new_result(&f, again, 0);
        add_output(&f, new_result(&f, repeat, 0));
        simplify(f.g);
        verify(f.g, "simplify");
        double expected = 0.5;
        for (int i = 0; i < 4; i++)
                expected = expected * (2 * row[i / 2]) + row[i / 2] * row[i % 2];
        Tensor in = {.data = (double[]){0.5}}, out;
        bool right = !interpret(f.g, time5, &in, NULL, NULL, &out) && out.data[0] == expected;
        verdict("simplify: tables belong to their own repeat", right);
        verdict("simplify: tables fold iteration by iteration",
                count_nodes(body) == 10 && body->node[2]->op == OP_CONST);
        tensor_free(&out);
        fixture_end(&f);
}

/* x goes through unchanged, y makes only itself, z is used: of three carried values one stays, for 2 iterations
 * as for 80. */
static int nodes_of_iterations(int64_t iterations)
{
        Fixture f;
        fixture_start(&f, 1);
        Node *in[3] = {new_input(&f, "x", of_shape(REAL, 1, 4)), new_input(&f, "y", of_shape(REAL, 1, 4)),
                       new_input(&f, "z", of_shape(REAL, 1, 4))};
        Region *region = new_region(&f, "layer", iterations, 1, 3, 0);
        Node *repeat = new_repeat(&f, f.g->top, region, in), *carry[3];
        Body *body = region->body[0];
        for (int i = 0; i < 3; i++)
                carry[i] = new_carry(&f, body, i);
        body->next[0] = carry[0];
        body->next[1] = op_in(&f, body, OP_EXP, 1, &carry[1], NULL);
        body->next[2] = op_in(&f, body, OP_ADD, 2, (Node *[]){carry[2], carry[0]}, NULL);
        add_output(&f, new_result(&f, repeat, 2));
        simplify(f.g);
        verify(f.g, "simplify");
        int count = region->ncarry == 1 ? count_nodes(f.g->top) : -1;
        fixture_end(&f);
        return count;
}

void test_simplify(void)
{
        test_rules();
        test_never_minus_zero();
        test_gathered_part();
        test_folding();
        test_sharing();
        test_tables();
        int two = nodes_of_iterations(2);
        verdict("simplify: a repeat carries what is needed", two == 6); /* x z repeat carry add result */
        verdict("simplify: as many nodes for 80 iterations as for 2", nodes_of_iterations(80) == two);
        test_random_graphs();
}
