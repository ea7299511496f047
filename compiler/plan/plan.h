/* plan: kernels and buffers, in order and in place.
 *
 * fuse.c makes kernels of the graph's nodes and layout.c buffers of values, where lower() can make Code of them; the passes behind
 * them cut products into tiles, mark what runs for each sequence of a batch, let values take each other's place, place buffers in
 * the arena, and find the barriers. */
#ifndef PLAN_H
#define PLAN_H
#include "lower/code.h"

/* fuse.c: a plan with kernels in order and buffers laid out; p->unreadable: no kernel can be made of this node.  off: [PASS_COUNT],
 * passes that are left out, which must outlive the plan. */
Plan *fuse(Arena *a, Graph *g, const char *c_name, const Target *target, int64_t chunk, int slots,
           int64_t pages, const bool *off);

/* The passes of kinds KERNELS and NEEDED (passes.def).  False: code can't be made; diag says why, or p->alone does. */
#define PASS(name, kind, ...) PASS_OF_##kind(name)
#define PASS_OF_GRAPHS(name)
#define PASS_OF_FUSING(name)
#define PASS_OF_KERNELS(name) bool pass_##name(Plan *p, Diag *diag);
#define PASS_OF_NEEDED(name) bool pass_##name(Plan *p, Diag *diag);
#include "passes/passes.def"
#undef PASS

/* heads.c: where as many threads as divide Plan.heads run k for one row, thread t of T touches those elements of b alone whose
 * number, modulo this, is from t / T of it to (t + 1) / T; 0: that is not known */
int64_t heads_modulus(const Plan *p, const Kernel *k, const Buffer *b);

/* sync.c: "8 barriers a call, 6 with one row, 5 where threads divide 8 heads": those of a body, with the repeats in it rolled out; in: " a call" */
const char *barriers_text(Arena *a, const Plan *p, int body, const char *in);

/* dump_plan.c: kernels in order with their barriers, then buffers with home, offset, size and life; bytes of the weights that
 * products read: of a decoder, what a step reads (of experts: all) */
int64_t product_weights(const Plan *p);
void plan_dump(FILE *f, const Plan *p);
#endif
