/* Brute force, for graphs with one input x of [time, WIDTH]: what the proof and the state form are held against. */
#ifndef BRUTE_H
#define BRUTE_H

#include "cases.h"
#include "passes/facts_private.h"

enum { LENGTH = 9, MOST_OUTPUTS = 4 };
extern const WeightSource test_weights;

double *random_input(uint64_t seed); /* [LENGTH][WIDTH], malloc'd */
/* Whether outputs up to t stay when later inputs change or are missing. */
bool brute_causal(const Graph *g, const double *x);
/* Whether every fact of every node of the top body holds; prints the first that does not. */
bool brute_facts(const Graph *g, const Facts *f, const double *x);
/* Whether rows up to t of the state form stay to the bit whatever later inputs are: huge, infinite, NaN. */
bool brute_any_values(const Graph *steps, const double *x);
/* Whether the state form, fed in chunks of several sizes, gives what the whole sequence does.  Changes steps: rows that no
 * window keeps are spoilt. */
bool brute_steps(const Graph *g, Graph *steps, const double *x);
#endif
