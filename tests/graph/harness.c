#include "harness.h"

#include <stdarg.h>

int failures;

void verdict(const char *name, bool holds)
{
        printf("%s %s\n", holds ? "ok" : "FAIL", name);
        failures += !holds;
}

/* splitmix64 */
static uint64_t random_bits(Random *r)
{
        uint64_t z = r->state += UINT64_C(0x9e3779b97f4a7c15);
        z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
        z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
        return z ^ (z >> 31);
}

int random_below(Random *r, int n)
{
        return (int)(random_bits(r) % (uint64_t)n);
}

double random_number(Random *r)
{
        if (random_below(r, 4) == 0)
                return (random_below(r, 33) - 16) / 8.0;
        return (double)(random_bits(r) >> 11) * 0x1p-51 - 2;
}

void fixture_start(Fixture *f, uint64_t seed)
{
        memset(f, 0, sizeof *f);
        f->g = graph_new(&f->arena, "test");
        f->diag.arena = &f->arena;
        f->random.state = seed;
}

void fixture_end(Fixture *f)
{
        arena_free(&f->arena);
}

Type of_shape(DType dtype, int rank, ...)
{
        Type t = {.dtype = dtype, .rank = rank};
        va_list args;
        va_start(args, rank);
        for (int i = 0; i < rank; i++) {
                int n = va_arg(args, int);
                t.dim[i] = n == TIME ? dim_named(0) : dim_fixed(n);
        }
        va_end(args);
        return t;
}

static const Span nowhere;

Node *new_input(Fixture *f, const char *name, Type type)
{
        Graph *g = f->g;
        int64_t size = (int64_t)sizeof *g->input;
        g->input = arena_grow(g->arena, g->input, g->ninput * size, (g->ninput + 1) * size);
        g->input[g->ninput] = (Input){.name = name, .type = type};
        Attr attr = {.index = g->ninput++};
        return build(g, g->top, &f->diag, OP_INPUT, 0, NULL, &attr, nowhere, NULL);
}

Node *new_literal(Fixture *f, Body *body, Type type, int64_t iterations, const double *value)
{
        static const int64_t none[MAX_NAMED];
        Literal *literal = NEW(&f->arena, Literal);
        literal->iterations = iterations;
        literal->count = type_count(&type, none);
        literal->value = NEW_ARRAY(&f->arena, double, iterations * literal->count);
        memcpy(literal->value, value, (size_t)(iterations * literal->count) * sizeof *value);
        return node_new(f->g, body, OP_CONST, 0, NULL, (Attr){.literal = literal}, type, nowhere, NULL);
}

Node *new_index(Fixture *f, Body *body, Dim size, int64_t from)
{
        Type type = {.dtype = INT, .rank = 1, .dim = {size}};
        return node_new(f->g, body, OP_INDEX, 0, NULL, (Attr){.dim = dim_fixed(from)}, type, nowhere, NULL);
}

Node *op_in(Fixture *f, Body *body, Op op, int nin, Node *const *in, const Attr *attr)
{
        return build(f->g, body, &f->diag, op, nin, in, attr, nowhere, NULL);
}

Node *op1(Fixture *f, Op op, Node *a)
{
        return op_in(f, f->g->top, op, 1, &a, NULL);
}

Node *op2(Fixture *f, Op op, Node *a, Node *b)
{
        return op_in(f, f->g->top, op, 2, (Node *[]){a, b}, NULL);
}

Node *op3(Fixture *f, Op op, Node *a, Node *b, Node *c)
{
        return op_in(f, f->g->top, op, 3, (Node *[]){a, b, c}, NULL);
}

Node *op_axis(Fixture *f, Op op, Node *a, int axis)
{
        Attr attr = {.axis = axis};
        return op_in(f, f->g->top, op, 1, &a, &attr);
}

void add_output(Fixture *f, Node *n)
{
        Graph *g = f->g;
        int64_t size = (int64_t)sizeof *g->output;
        g->output = arena_grow(g->arena, g->output, g->noutput * size, (g->noutput + 1) * size);
        g->output[g->noutput++] = (Output){.name = "y", .node = n};
}

int add_named(Fixture *f, const char *name, int64_t bound)
{
        f->g->named[f->g->nnamed] = (Named){.name = name, .bound = bound};
        return f->g->nnamed++;
}

/* A region of `iterations` iterations with empty bodies; its REPEAT stands in `around`. */
Region *new_region(Fixture *f, const char *name, int64_t iterations, int nbody, int ncarry, int nstack)
{
        Region *region = NEW(&f->arena, Region);
        *region = (Region){
                .name = name, .iterations = iterations, .nbody = nbody, .ncarry = ncarry, .nstack = nstack};
        region->body = NEW_ARRAY(&f->arena, Body *, nbody);
        region->body_of = NEW_ARRAY(&f->arena, uint8_t, iterations);
        for (int k = 0; k < nbody; k++) {
                region->body[k] = body_new(f->g, region);
                region->body[k]->next = NEW_ARRAY(&f->arena, Node *, ncarry);
                region->body[k]->stack = NEW_ARRAY(&f->arena, Node *, nstack);
        }
        return region;
}

/* The REPEAT is made before its bodies are filled, so its type is given. */
Node *new_repeat(Fixture *f, Body *around, Region *region, Node *const *in)
{
        Attr attr = {.region = region};
        region->repeat = node_new(f->g, around, OP_REPEAT, region->ncarry, in, attr, (Type){.dtype = REAL},
                                  (Span){0}, NULL);
        return region->repeat;
}

Node *new_carry(Fixture *f, Body *body, int index)
{
        Attr attr = {.index = index};
        Type type = body->region->repeat->in[index]->type;
        return node_new(f->g, body, OP_CARRY, 0, NULL, attr, type, (Span){0}, NULL);
}

Node *new_result(Fixture *f, Node *repeat, int index)
{
        Attr attr = {.index = index};
        return op_in(f, repeat->body, OP_RESULT, 1, &repeat, &attr);
}

Tensor *random_inputs(Fixture *f, const int64_t *size)
{
        Tensor *t = calloc((size_t)f->g->ninput + 1, sizeof *t);
        for (int i = 0; i < f->g->ninput; i++) {
                const Type *type = &f->g->input[i].type;
                int64_t count = type_count(type, size);
                t[i].rank = type->rank;
                for (int k = 0; k < type->rank; k++)
                        t[i].dim[k] = dim_value(type->dim[k], size);
                t[i].data = malloc((size_t)count * sizeof(double) + 1);
                for (int64_t k = 0; k < count; k++) {
                        double x = random_number(&f->random);
                        t[i].data[k] = type->dtype == REAL ? x : type->dtype == INT ? floor(x * 3) : x > 0;
                }
        }
        return t;
}

void free_tensors(Tensor *t, int n)
{
        for (int i = 0; i < n; i++)
                tensor_free(&t[i]);
        free(t);
}

bool run_nodes(Fixture *f, const int64_t *size, const Tensor *input, Node *const *want, int n, Tensor *output)
{
        const char *error = interpret_nodes(f->g, size, input, &test_weights, NULL, want, n, output);
        if (error)
                verdict(error, false);
        return !error;
}

bool same_bits(const Tensor *a, const Tensor *b)
{
        int64_t count = 1;
        if (a->rank != b->rank)
                return false;
        for (int i = 0; i < a->rank; i++) {
                if (a->dim[i] != b->dim[i])
                        return false;
                count *= a->dim[i];
        }
        for (int64_t i = 0; i < count; i++)
                if (memcmp(&a->data[i], &b->data[i], sizeof(double)) != 0 &&
                    !(isnan(a->data[i]) && isnan(b->data[i])))
                        return false;
        return true;
}

double weight_value(const Weight *w, int64_t slot, int64_t i)
{
        return (double)(w->id + 1) + (double)slot / 4 + (double)(i % 7) / 16;
}

static bool fill_weight(void *from, const Weight *w, int64_t slot, double *value)
{
        static const int64_t none[MAX_NAMED];
        (void)from;
        for (int64_t i = 0; i < type_count(&w->type, none); i++)
                value[i] = weight_value(w, slot, i);
        return true;
}

const WeightSource test_weights = {NULL, fill_weight, NULL};

int main(void)
{
        test_shapes();
        test_views();
        test_meaning();
        test_repeats();
        test_verifier();
        test_simplify();
        return failures != 0;
}
