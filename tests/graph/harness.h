/* What the graph's tests share: verdicts, short ways to build nodes, seeded numbers, and running a graph. */
#ifndef HARNESS_H
#define HARNESS_H
#include "graph/graph.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

extern int failures;
void verdict(const char *name, bool holds);

/* Seeded, the same everywhere. */
typedef struct {
        uint64_t state;
} Random;
int random_below(Random *r, int n);
double random_number(Random *r); /* from -2 to 2, small multiples of 1/8 now and then */

typedef struct {
        Arena arena;
        Graph *g;
        Diag diag;
        Random random;
} Fixture;
void fixture_start(Fixture *f, uint64_t seed);
void fixture_end(Fixture *f);

/* A shape: of_shape(REAL, 2, 3, 4) is real [3, 4].  TIME stands for the first named dimension. */
enum { TIME = -1 };
Type of_shape(DType dtype, int rank, ...);
Node *new_input(Fixture *f, const char *name, Type type);
Node *new_literal(Fixture *f, Body *body, Type type, int64_t iterations, const double *value);
Node *new_index(Fixture *f, Body *body, Dim size, int64_t from);
Node *op1(Fixture *f, Op op, Node *a);
Node *op2(Fixture *f, Op op, Node *a, Node *b);
Node *op3(Fixture *f, Op op, Node *a, Node *b, Node *c);
Node *op_axis(Fixture *f, Op op, Node *a, int axis);
Node *op_in(Fixture *f, Body *body, Op op, int nin, Node *const *in, const Attr *attr);
Region *new_region(Fixture *f, const char *name, int64_t iterations, int nbody, int ncarry, int nstack);
Node *new_repeat(Fixture *f, Body *around, Region *region, Node *const *in);
Node *new_carry(Fixture *f, Body *body, int index);
Node *new_result(Fixture *f, Node *repeat, int index);
void add_output(Fixture *f, Node *n);
/* A named dimension; its index. */
int add_named(Fixture *f, const char *name, int64_t bound);

/* Random values for every input, owned by the caller. */
Tensor *random_inputs(Fixture *f, const int64_t *size);
void free_tensors(Tensor *t, int n);
/* The wanted nodes' values; a failure to run is a failed test, and *output stays empty. */
bool run_nodes(Fixture *f, const int64_t *size, const Tensor *input, Node *const *want, int n,
               Tensor *output);
bool same_bits(const Tensor *a, const Tensor *b);

/* Weights for tests: slot and element decide the value. */
double weight_value(const Weight *w, int64_t slot, int64_t i);
extern const WeightSource test_weights;

void test_shapes(void);
void test_views(void);
void test_meaning(void);
void test_repeats(void);
void test_verifier(void);
void test_simplify(void);
#endif
