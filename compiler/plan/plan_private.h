/* Shared by the files of fusion and layout. */
#ifndef PLAN_PRIVATE_H
#define PLAN_PRIVATE_H
#include "plan.h"
#include "lower/code.h"

typedef struct {
        Arena *arena;
        Plan *plan;
        Uses *uses;
        Kernel **owner;      /* by id: the kernel in whose expression it is */
        bool *needs_buffer;  /* by id: its value is stored in a buffer */
        bool *force_buffer;  /* by id: it has a buffer because no expression could read it */
        bool *tower;         /* by id: needs a buffer since the expression is too deep */
        bool *apart;         /* by id: a product that no attention kernel can be made of */
        bool *bare;          /* by id: a product whose results are stored before anything is done to them */
        Kernel *stuck;       /* the kernel that the last attempt could not make */
        bool *table;         /* by id: precomputed */
        bool *is_dead;       /* by id: needed only to precompute tables */
        bool *trivial;       /* by id: worked out again wherever it is needed, never worth a buffer */
        const char **called; /* by id: name of the kernel that stores it, not yet unique */
        Kernel **kernel;     /* all, unordered */
        int nkernel, cap_kernel;
        int explained; /* lines of Plan.explained before those of this pass */
} Fuse;

/* fuse.c */
bool walks_time(const Plan *p, const Kernel *k, const Node *stored); /* k may be NULL: a kernel of loops */
void plan_explain(Plan *p, const char *format, ...);
Kernel *fuse_kernel(Fuse *f, KernelOp op, Node *root);
/* kernel_names.c: names a kernel after the values that it computes */
void name_kernel(Fuse *f, Kernel *k);
/* The innermost named block instance around a value; NULL: the value is directly in the model. */
const Instance *named_instance(const Node *n);
/* A member of a scheme has the scheme's name ("rope"), whatever variable holds it. */
const char *name_of_instance(const Instance *i);
/* "q", if the value comes from the weight layer.attn.q.w; NULL: no weight is among its close ancestors. */
const char *source_name(const Node *root);
/* Whether the name is one letter other than x.  Then the name of the block is better: "ln1" instead of
 * "y". */
bool is_single_letter(const char *name);
bool is_table(const Fuse *f, const Node *n); /* depends only on constants and indices */
void fuse_attention(Fuse *f, Node *product); /* fuse_attention.c: if it is attention */
/* Whether n is computed within the attention kernel of this product: the product, its weights, or their
 * scores. */
bool is_part_of_scores(const Fuse *f, const Node *product, const Node *n);
bool writes_rows(const Kernel *k, const Node *n, int axis); /* layout.c */
bool fuse_matmul(Fuse *f, Node *product); /* fuse_matmul.c: false if its right operand is not a weight */
bool fuse_by_heads(Fuse *f, Node *product);
void merge_matmuls(Fuse *f);

/* plan.c: numbers kernels in the order of execution, and computes the life of each buffer */
void find_lives(Plan *p);

/* own.c: whether a function of a kernel's Code touches a buffer */
bool function_names(const Function *f, const Buffer *b);

/* heads.c: whether a product of n columns stores column c at an offset that is c modulo n */
bool lies_by_columns(const Plan *p, const Function *f, const Stmt *store, int64_t n);

/* heads.c: how threads divide kernels by heads in a call of one row; sets Plan.heads and Kernel.one_row */
void find_heads(Plan *p);
int64_t exchanged_row(const Kernel *k); /* spread.c: floats per row that ranks exchange after k */
int64_t kv_heads_of(const Kernel *k);   /* spread.c: key heads of an attention kernel */

/* row_access.c */
/* An access of a kernel's, whose elements are from `at` on (NULL: that is not known), up to `reach` further, with `ldr` elements from row to
 * row besides. */
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
/* Whether tiles of 16 of the rows that a loop counts are consecutive, so that each access is in its row's
 * tile. */
bool lies_by_rows(const Plan *p, const Access *a, int row, SharedRows *to);

typedef struct {
        SharedRows *of;
        int n, cap;
} RowList;
/* rows.c: rows that a kernel stores and its rank has; whether a kernel reads only its own of them */
bool shared_rows_equal(const SharedRows *a, const SharedRows *b);
RowList rows_stored(const Plan *p, const Kernel *k);
bool reads_own_rows(const Plan *p, const Kernel *k, const SharedRows *r);
/* exchanges.c: whether a product reads only the elements of b that it stores itself */
bool reads_what_it_stores(const Plan *p, const Kernel *k, const Buffer *b);

/* sync.c: whether two buffers share memory; a buffer of shared memory that one of two kernels stores, in
 * calls of a kind (WAIT_ROWS, ..), or NULL */
bool share_memory(const Buffer *a, const Buffer *b);
const Buffer *kernels_conflict(const Plan *p, const Kernel *a, const Kernel *b, int wait);

/* schedule.c: adds a step to a list; returns it */
Step *step_insert(const Plan *p, StepList *to, int at, Step step);
Step *step_add(const Plan *p, StepList *to, Step step);
/* The list for steps that are run for some outputs only, or for each sequence or range: a new step's, or the same one. */
StepList *add_wanted(const Plan *p, StepList *to, const Kernel *k);
StepList *add_views(const Plan *p, StepList *to, const Kernel *k, bool sequences);
/* Where a list has the call or repeat of a kernel, with its views and conditions; list NULL: nowhere. */
typedef struct {
        StepList *list;
        int at;
} StepPlace;
StepPlace place_of_kernel(StepList *list, const Kernel *k);
/* Adds a condition for steps between ranks, of one thread: at this place, or before or after all steps of a kernel.  Returns their list; sync
 * adds barriers. */
StepList *add_transfer(const Plan *p, StepList *to, int at, Step condition);
StepList *insert_transfer(const Plan *p, const Kernel *k, bool after, Step condition);

/* rank_stages.c: the repeat of the top body that runs a body; NULL: it is the top body */
const Kernel *repeat_around(const Plan *p, const Body *b);
bool is_by_stages(const Plan *p, const Kernel *repeat); /* do stages of ranks share its iterations? */
bool body_is_inside(const Body *b, const Region *r);
bool is_carried_on(const Plan *p, const Region *r, const Buffer *b);
/* Do all kernels of the top body after k compute requested rows only? */
bool rest_is_requested(const Plan *p, const Kernel *k);
void insert_stages(Plan *p);
void insert_exchanges(Plan *p); /* exchanges.c */

/* conditional.c: iterations that may be skipped */
void conditional_iterations(Fuse *f);

/* window.c: states that do not need the whole context */
void window_caches(Fuse *f);
bool is_all_positions(const Plan *p, const Node *append); /* rows for all positions */
/* whether only attention reads n, directly and through views */
bool is_for_attention(const Fuse *f, const Node *n, bool but_for_taps);

/* layout.c: gives every value in memory a buffer */
void layout(Fuse *f);

/* Shared by the files of layout: layout.c, place.c, layout_repeat.c. */

Buffer *buffer_new(Plan *p, Home home, const Type *t, const char *name);
void explain_storage(Plan *p);                    /* layout.c */
Storage storage_of(const Plan *p, const Node *n); /* of the buffer for its values */
/* Strides: last axis innermost, named dimensions outermost, the others in order between; axis `tiled` (or -1)
 * is split into tiles of 16. */
void layout_buffer(const Plan *p, Buffer *b, int tiled);

/* place.c */
Buffer *part_buffer(Plan *p, Buffer *whole, const Type *t, const Layout *l, const char *name);
bool is_made_by_kernel(const Fuse *f, const Node *n); /* by one kernel, or part by part */
/* Adds a kernel to `body`, at index `at`, that copies n. */
void copy_kernel(Fuse *f, Node *n, Buffer *to, Body *body, int at);
/* Copies n from its buffer first, since a kernel can't read it there. */
void copy_to_read(Fuse *f, Node *n, Buffer *from);
/* Assigns `to` to n's value, and parts of it to the values of which n is composed. */
void settle(Fuse *f, Node *n, Buffer *to);
/* Puts n's value into `to`: computed there if possible, else copied there by a kernel of `body` at index
 * `at`. */
void place_value(Fuse *f, Node *n, Buffer *to, Body *body, int at);

/* layout_state.c: the buffer of a state, and of the value of its new rows; tiled: as for layout_buffer() */
void lay_state(Fuse *f, Node *append, int tiled);
void lay_scan(Fuse *f, Kernel *k);
void lay_kept(Fuse *f, Node *keep, const int *tiled);

/* layout_repeat.c */
void lay_repeat(Fuse *f, Node *repeat);
#endif
