/* Shared by the files of fusion and layout. */
#ifndef PLAN_PRIVATE_H
#define PLAN_PRIVATE_H
#include "plan.h"
#include "lower/code.h"

typedef struct {
        Arena *arena;
        Plan *plan;
        Uses *uses;
        Kernel **owner;      /* by id: the kernel whose expression contains the node */
        bool *needs_buffer;  /* by id: the value is stored in a buffer */
        bool *force_buffer;  /* by id: has a buffer because no expression could compute it */
        bool *too_deep;      /* by id: needs a buffer because its expression would be too deep */
        bool *split;         /* by id: a product that cannot be part of an attention kernel */
        bool *bare;          /* by id: a product that is stored without an epilogue */
        Kernel *stuck;       /* the kernel that could not be lowered in the last attempt */
        bool *table;         /* by id: precomputed */
        bool *is_dead;       /* by id: needed only to precompute tables */
        bool *trivial;       /* by id: recomputed wherever it is used, since it is cheaper than a buffer */
        const char **called; /* by id: name of the kernel that stores the value, not yet unique */
        Kernel **kernel;     /* all kernels, unordered */
        int nkernel, cap_kernel;
        int explained; /* number of lines in Plan.explained before this pass */
} Fuse;

/* fuse.c */
bool walks_time(const Plan *p, const Kernel *k, const Node *stored); /* k may be NULL: a kernel of loops */
void plan_explain(Plan *p, const char *format, ...);
Kernel *fuse_kernel(Fuse *f, KernelOp op, Node *root);
/* kernel_names.c: names a kernel after the values that it computes. */
void name_kernel(Fuse *f, Kernel *k);
/* The innermost named block instance that contains a value.  NULL: the value is directly in the model. */
const Instance *named_instance(const Node *n);
/* Name of a block instance.  A member of a scheme has the scheme's name ("rope"), not that of its
 * variable. */
const char *name_of_instance(const Instance *i);
/* "q", if the value comes from the weight layer.attn.q.w.  NULL: no weight is among its close ancestors. */
const char *source_name(const Node *root);
/* Whether the name is a single letter other than x.  The block's name is then better: "ln1" instead of
 * "y". */
bool is_single_letter(const char *name);
bool is_table(const Fuse *f, const Node *n); /* whether n depends only on constants and indices */
/* fuse_attention.c: makes an attention kernel, if the product is part of attention */
void fuse_attention(Fuse *f, Node *product);
/* Whether n is computed within the attention kernel of this product: the product, its weights, or their
 * scores. */
bool is_part_of_scores(const Fuse *f, const Node *product, const Node *n);
bool writes_rows(const Kernel *k, const Node *n, int axis); /* layout.c */
bool fuse_matmul(Fuse *f, Node *product); /* fuse_matmul.c: false if the right operand is not a weight */
bool fuse_by_heads(Fuse *f, Node *product);
void merge_matmuls(Fuse *f);

/* plan.c: numbers kernels in the order of execution and computes the lifetime of each buffer. */
void find_lives(Plan *p);

/* replicate.c: whether a function of a kernel's Code accesses a buffer. */
bool function_accesses(const Function *f, const Buffer *b);

/* heads.c: decides how threads divide kernels by heads in a call of one row.  Sets Plan.heads and
 * Kernel.one_row. */
void find_heads(Plan *p);
int64_t exchanged_row(const Kernel *k); /* shard.c: floats per row that ranks exchange after k */
int64_t kv_heads_of(const Kernel *k);   /* shard.c: KV heads of an attention kernel */

/* row_access.c */
/* An access of a kernel: elements from `at` (NULL: unknown) to `at` + reach, in each row, with rows ldr
 * elements apart. */
typedef struct {
        const Function *f;
        Buffer *buffer;
        const Index *at;
        int64_t ldr, reach;
        const CodeLoop *lanes;
        bool whole_lanes;
} Access;

typedef struct Accesses {
        Arena *arena;
        Access *of;
        int n, cap;
} Accesses;
/* The buffers that a kernel stores, or those that it reads except attention's keys and values. */
Accesses accesses_of(Arena *arena, const Kernel *k, bool stores);
/* Whether tiles of 16 of the rows of loop `row` are consecutive and each access remains in the tile of its
 * row. */
bool access_is_by_rows(const Plan *p, const Access *a, int row, SharedRows *to);

typedef struct {
        SharedRows *of;
        int n, cap;
} RowList;
/* rows.c: the rows that a kernel stores and only its rank has; whether a kernel reads only rows of its own
 * rank. */
bool shared_rows_equal(const SharedRows *a, const SharedRows *b);
RowList rows_stored(const Plan *p, const Kernel *k);
bool reads_own_rows(const Plan *p, const Kernel *k, const SharedRows *r);

/* sync.c: whether two buffers share memory; a buffer in shared memory that makes two kernels conflict in
 * calls of a kind (WAIT_ROWS, ..), or NULL. */
bool share_memory(const Buffer *a, const Buffer *b);
const Buffer *kernels_conflict(const Plan *p, const Kernel *a, const Kernel *b, int wait);

/* schedule.c: adds a step to a list and returns it. */
Step *step_insert(const Plan *p, StepList *to, int at, Step step);
Step *step_add(const Plan *p, StepList *to, Step step);
/* The list for steps that run only for some outputs, or for each sequence or range: that of a new step, or
 * `to`. */
StepList *add_wanted(const Plan *p, StepList *to, const Kernel *k);
StepList *add_views(const Plan *p, StepList *to, const Kernel *k, bool sequences);
/* The list and index of the call or repeat of a kernel, including its views and conditions.  list NULL:
 * not found. */
typedef struct {
        StepList *list;
        int at;
} StepPosition;
StepPosition find_kernel_step(StepList *list, const Kernel *k);
/* Adds a condition with a ONE_THREAD step for steps between ranks: at an index, or before or after all
 * steps of a kernel. Returns the inner list.  sync adds the barriers. */
StepList *add_transfer(const Plan *p, StepList *to, int at, Step condition);
StepList *insert_transfer(const Plan *p, const Kernel *k, bool after, Step condition);

/* rank_stages.c: the repeat of the top body that contains a body.  NULL: it is the top body. */
const Kernel *repeat_around(const Plan *p, const Body *b);
bool is_by_stages(const Plan *p, const Kernel *repeat); /* whether stages of ranks share its iterations */
bool body_is_inside(const Body *b, const Region *r);
bool is_carried_value(const Plan *p, const Region *r, const Buffer *b);
/* Whether all kernels of the top body after k compute only requested rows. */
bool rest_is_requested(const Plan *p, const Kernel *k);
void insert_stages(Plan *p);
void insert_exchanges(Plan *p); /* exchanges.c */

/* conditional.c: finds iterations that may be skipped. */
void conditional_iterations(Fuse *f);

/* window.c: finds states that need less than the whole context. */
void window_caches(Fuse *f);
bool is_all_positions(const Plan *p, const Node *append); /* whether all positions of a call have rows */
/* Whether only attention reads n, directly or through views. */
bool is_for_attention(const Fuse *f, const Node *n, bool but_for_taps);

/* layout.c: assigns a buffer to every value in memory. */
void layout(Fuse *f);

/* Shared by the files of layout: layout.c, place.c, layout_repeat.c. */

Buffer *buffer_new(Plan *p, Home home, const Type *t, const char *name);
void explain_storage(Plan *p);                    /* layout.c */
Storage storage_of(const Plan *p, const Node *n); /* storage type of the value's buffer */
/* Sets strides: last axis innermost, named dimensions outermost, the others in order between.  Axis
 * `tiled` (or -1) is split into tiles of 16. */
void layout_buffer(const Plan *p, Buffer *b, int tiled);

/* place.c */
Buffer *part_buffer(Plan *p, Buffer *whole, const Type *t, const Layout *l, const char *name);
bool is_made_by_kernel(const Fuse *f, const Node *n); /* by one kernel, or in parts */
/* Adds a kernel to `body`, at index `at`, that copies n. */
void copy_kernel(Fuse *f, Node *n, Buffer *to, Body *body, int at);
/* Copies n from its buffer first, since a kernel cannot read it there. */
void copy_to_read(Fuse *f, Node *n, Buffer *from);
/* Assigns `to` to n's value, and its parts to the values of which n is composed. */
void settle(Fuse *f, Node *n, Buffer *to);
/* Puts n's value into `to`: computes it there if possible, else adds a copying kernel to `body` at index
 * `at`. */
void place_value(Fuse *f, Node *n, Buffer *to, Body *body, int at);

/* layout_state.c: the buffer of a state and of the value of its new rows.  tiled: as for layout_buffer(). */
void lay_state(Fuse *f, Node *append, int tiled);
void lay_scan(Fuse *f, Kernel *k);
void lay_kept(Fuse *f, Node *keep, const int *tiled);

/* layout_repeat.c */
void lay_repeat(Fuse *f, Node *repeat);
#endif
