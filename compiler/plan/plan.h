/* plan: kernels and buffers, in order and in place.
 *
 * fuse.c makes kernels of the graph's nodes and layout.c buffers of values, where lower() can make Code of them; the passes behind
 * them cut products into tiles, mark what runs for each sequence of a batch, let values take each other's place, place buffers in
 * the arena, and find the barriers. */
#ifndef PLAN_H
#define PLAN_H
#include "lower/code.h"
#include "program.h"

/* fuse.c: a plan before its passes.  off: [PASS_COUNT], passes that are left out, which must outlive the plan. */
Plan *plan_new(Arena *a, Graph *g, const char *c_name, const Target *target, int64_t chunk, int slots,
               int64_t pages, const bool *off);

/* A product with weights, as far as its tiling depends on it: at most `rows` rows in a call; sequences of a batch. */
typedef struct {
        Storage storage;
        int64_t depth, panels, rows;
        int slots;
} ProductShape;

/* One that was measured, and where; of a file. */
typedef struct {
        const Target *target;
        ProductShape of;
        ProductTiling tiling;
        int line;
} TunedProduct;
typedef struct Tuned {
        const char *path;
        TunedProduct *product;
        int n, cap;
} Tuned;

/* tile.c: those of a plan, each once; how many */
int product_shapes(const Plan *p, ProductShape **shape);
const TunedProduct *tuned_find(const Tuned *tuned, const Target *t, const ProductShape *of); /* or NULL */

/* tile_cost.c: the tiling that is estimated to cost least; *why: the estimates of all tiles, or "" */
ProductTiling estimated_tiling(const Plan *p, const ProductShape *of, const char **why);
/* Others that may be faster: with other tiles (which 0), pieces of k (1), rows at once (2); how many, at most `most`. */
int further_tilings(const Target *t, const ProductShape *of, const ProductTiling *tiling, int which,
                    ProductTiling *further, int most);
/* NULL, or why a product can't be blocked so. */
const char *tiling_fault(Arena *a, const Target *t, const ProductShape *of, const ProductTiling *tiling);

/* The passes of kind KERNELS (passes.def).  False: code can't be made; diag says why, or p->alone does. */
#define PASS(name, kind, ...) PASS_OF_##kind(name)
#define PASS_OF_GRAPHS(name)
#define PASS_OF_PART(name)
#define PASS_OF_KERNELS(name) bool pass_##name(Plan *p, Diag *diag);
#define PASS_OF_PLANNING(name)
#include "passes/passes.def"
#undef PASS

/* buffer_names.c: Buffer.role and Buffer.offset_name of all */
void name_buffers(Plan *p);

/* heads.c: where as many threads as divide Plan.heads run k for one row, thread t of T touches those elements of b alone whose
 * number, modulo this, is from t / T of it to (t + 1) / T; 0: that is not known */
int64_t heads_modulus(const Plan *p, const Kernel *k, const Buffer *b);
/* The loop over heads that threads share: the outermost with more than one turn; -1: there is none. */
int loop_of_heads(const Plan *p, const Function *f, const Stmt *rows);

/* spread.c: the one statement of its kind in a function; NULL: there is none, or there are several */
const Stmt *only_statement(const Function *f, StmtOp op);
const Function *own_function(const Kernel *k); /* its last, that threads run */

/* rank_stages.c: where a repeat carries a value on; or NULL */
const Buffer *carried_buffer(const Plan *p, const Region *r, int carry);

/* heads.c: does a product's store of n columns, 16 at a time, put them side by side? */
bool row_is_one_piece(const Plan *p, const Function *f, const Stmt *store, int64_t n);

int64_t widest_exchange(
        const Plan *p); /* floats that ranks exchange at least at once: a row of what a kernel stores */

/* kernel_cost.c: what one run of a kernel in a call of given sizes costs, by the rule of cost_flops() */
typedef struct {
        int64_t flops, products; /* all; those of products and of attention among them */
        int64_t read, written;   /* bytes of buffers that it touches, each once */
        int64_t units;           /* pieces that threads share; 1: one thread does it all */
        const char *unit;        /* name of the units: "panels of 16 outputs" */
        int64_t blocks; /* of attention of one row: blocks of keys, which are shared where whole units are not shared evenly; else 1 */
        int64_t runs;   /* in a call: the iterations around it; of those with a gate, the ones in use */
        int64_t rows; /* of a causal model: positions that a run computes, all of the call or those that its iteration changes */
} KernelCost;
/* [p->steps], by Kernel.order.step.  size: of the named dimensions; size[NAMED_FIRST]: the first row wanted as output. */
KernelCost *kernel_costs(Arena *a, const Plan *p, const int64_t *size);

/* rank_cost.c: of the rank that has most: bytes of weights and of caches; in a call bytes that it reads, and FLOPs; gathers, and the floats that
 * these bring together; of stages the one that has most, and floats that it hands on. */
typedef struct {
        int64_t weights, caches, read, flops, gathers, floats, carried;
} RankCost;
bool calls_share_rows(const Plan *p); /* .. if they have enough of them, not only parts do */
/* Do this many ranks share rows in a call of these sizes?  (size: as for kernel_costs()) */
bool shares_rows(const Plan *p, const int64_t *size, int ranks);
bool is_exchanged(const Kernel *k); /* its stores are sent to all ranks */
RankCost rank_cost(Arena *a, const Plan *p, const int64_t *size, int ranks, int stages, bool by_rows);

/* rank_weights.c: which bytes of the packed weights a rank of a stage reads, in ascending order; how many ranges */
typedef struct {
        int rank, ranks, stage, stages; /* stages: 1 or more */
} RankPlace;
typedef struct {
        int64_t begin, end;
} ByteRange;
int rank_ranges(const Plan *p, RankPlace place, ByteRange **range);
uint64_t spread_hash(const Plan *p); /* plans with the same one, and layout_hash(), have the same ranges */

/* What a machine does at most in a second: bytes that one thread reads, and FLOPs. */
typedef struct {
        double read, flops;
} Ceilings;

/* dump_plan.c: the word for a kind of kernels */
extern const char *const kernel_word[];
/* The program, then buffers with home, offset, size and life; bytes of the weights that products read: of a decoder, those that a
 * step reads (of experts: all).  As text, and as members of a JSON object. */
int64_t product_weights(const Plan *p);
void plan_dump(FILE *f, const Plan *p);
void plan_json(const Plan *p, json_t *to);
#endif
