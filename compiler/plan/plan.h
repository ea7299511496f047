/* plan: kernels in their order, and buffers with their offsets.
 *
 * fuse.c makes kernels of the graph's nodes, and layout.c buffers of values, such that lower() can make Code
 * of them.  The passes after them tile products, mark kernels that run once per sequence of a batch, let
 * values reuse each other's memory, place buffers in the arena, and find the barriers. */
#ifndef PLAN_H
#define PLAN_H
#include "lower/code.h"
#include "program.h"

/* fuse.c: a plan before its passes.  off: [PASS_COUNT], the disabled passes; must outlive the plan. */
Plan *plan_new(Arena *a, Graph *g, const char *c_name, const Target *target, int64_t chunk, int slots,
               int64_t rewind, int64_t pages, const bool *off);

/* A product with weights, as its tiling depends on it: at most `rows` rows in a call; sequences of a
 * batch. */
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

/* tile.c: the distinct shapes of a plan's products; returns their number */
int product_shapes(const Plan *p, ProductShape **shape);
const TunedProduct *tuned_find(const Tuned *tuned, const Target *t, const ProductShape *of); /* or NULL */

/* tile_cost.c: the tiling with the lowest estimate; *why: the estimates of all tiles, or "" */
ProductTiling estimated_tiling(const Plan *p, const ProductShape *of, const char **why);
/* Other tilings that may be faster: with other tiles (which 0), blocks of k (1), rows at once (2).
 * Returns their number, at most `most`. */
int candidate_tilings(const Target *t, const ProductShape *of, const ProductTiling *tiling, int which,
                      ProductTiling *further, int most);
/* NULL, or the reason why a product can't have this tiling. */
const char *tiling_fault(Arena *a, const Target *t, const ProductShape *of, const ProductTiling *tiling);

/* The passes of kind KERNELS (passes.def).  False: there is no code; diag or p->alone has the reason. */
#define PASS(name, kind, ...) PASS_OF_##kind(name)
#define PASS_OF_GRAPHS(name)
#define PASS_OF_PART(name)
#define PASS_OF_KERNELS(name) bool pass_##name(Plan *p, Diag *diag);
#define PASS_OF_PLANNING(name)
#include "passes/passes.def"
#undef PASS

/* buffer_names.c: sets Buffer.role and Buffer.offset_name of all buffers. */
void name_buffers(Plan *p);

/* heads.c: if the number of threads divides Plan.heads and they run k for one row, thread t of T accesses
 * only the elements of b whose offset, modulo the result, is in t / T to (t + 1) / T of it; 0: unknown */
int64_t heads_modulus(const Plan *p, const Kernel *k, const Buffer *b);
/* KernelRepeat.parts of an `along`; whether a kernel is in the body of one that has parts */
int64_t parts_of_along(const Plan *p, const Kernel *along);
bool runs_by_parts(const Plan *p, const Kernel *k);
/* The loop over heads that threads divide: the outermost with more than one iteration; -1: none. */
int loop_of_heads(const Plan *p, const Function *f, const Stmt *rows);

/* shard.c: the only statement of its kind in a function; NULL: none, or several */
const Stmt *only_statement(const Function *f, StmtOp op);
const Function *own_function(const Kernel *k); /* its last function, which threads run */

/* rank_stages.c: the buffer in which a repeat carries a value; or NULL */
const Buffer *carried_buffer(const Plan *p, const Region *r, int carry);

/* heads.c: whether a product's store of n columns, 16 at a time, stores column c at an offset that is c modulo n: contiguously */
bool stores_by_columns(const Plan *p, const Function *f, const Stmt *store, int64_t n);

/* smallest number of floats in an exchange of ranks: a row of a kernel's result */
int64_t widest_exchange(const Plan *p);

/* kernel_cost.c: the cost of one run of a kernel in a call of given sizes, by the rule of cost_flops() */
typedef struct {
        int64_t flops, products; /* all; the part in products and attention */
        int64_t read, written;   /* bytes of the buffers that it accesses, each once */
        int64_t units;           /* units of work that threads divide; 1: one thread does everything */
        const char *unit;        /* name of the units: "panels of 16 outputs" */
        int64_t blocks; /* attention of one row: blocks of keys, shared if units are uneven; else 1 */
        int64_t runs;   /* in a call: the iterations around it; of those with a gate, the ones in use */
        /* of a causal model: positions that a run computes, all of the call or those that its iteration
         * changes */
        int64_t rows;
} KernelCost;
/* [p->steps], by Kernel.order.step.  size: of the named dimensions; size[NAMED_FIRST]: the first requested
 * row. */
KernelCost *kernel_costs(Arena *a, const Plan *p, const int64_t *size);

/* rank_cost.c: maxima over ranks: bytes of weights and of caches, bytes read and FLOPs of a call; gathers,
 * and the floats that they copy; the maximum over stages, and the floats that a stage passes on. */
typedef struct {
        int64_t weights, caches, read, flops, gathers, floats, carried;
} RankCost;
bool calls_share_rows(const Plan *p); /* whole calls, not only parts of them */
/* Whether this many ranks divide rows in a call of these sizes (size: as for kernel_costs()). */
bool shares_rows(const Plan *p, const int64_t *size, int ranks);
bool is_exchanged(const Kernel *k); /* its stores are sent to all ranks */
RankCost rank_cost(Arena *a, const Plan *p, const int64_t *size, int ranks, int stages, bool by_rows);

/* rank_weights.c: byte ranges of the packed weights that a rank of a stage reads, in ascending order;
 * returns their number. */
typedef struct {
        int rank, ranks, stage, stages; /* stages: 1 or more */
} RankPlace;
typedef struct {
        int64_t begin, end;
} ByteRange;
int rank_ranges(const Plan *p, RankPlace place, ByteRange **range);
uint64_t sharding_hash(const Plan *p); /* plans with the same one, and layout_hash(), have the same ranges */

/* Ceilings of a machine per second: bytes that one thread reads, and FLOPs. */
typedef struct {
        double read, flops;
} Ceilings;

/* dump_plan.c: the word for each kind of kernel */
extern const char *const kernel_word[];
/* Prints the program, then buffers with home, offset, size and life, as text or as members of a JSON object;
 * product_weights(): bytes of the weights that products read, for a decoder in a step. */
int64_t product_weights(const Plan *p);
void plan_dump(FILE *f, const Plan *p);
void plan_json(const Plan *p, json_t *to);
#endif
