/* kernels: what the graph becomes before it is written as C.
 *
 * A body of the graph becomes a list of kernels.  A kernel computes one or more nodes (its roots) over a domain of loops and
 * stores them in buffers; the nodes between its roots and the buffers it reads are its expression and are never stored.
 *
 *   graph ── fuse ──► kernels and buffers ── tile ── plan ── sync ──► program ── emit ──► C */
#ifndef KERNELS_H
#define KERNELS_H
#include "../../runtime/window_cache.h"
#include "../../runtime/pages.h"
#include "../../runtime/scan_state.h"
#include "passes/passes.h"

/* Targets: the instruction sets that lathe writes C for, one row each. */

typedef struct {
        const char *condition;         /* of the preprocessor, in portable files; "": any machine */
        const char *compiler, *runner; /* from another machine: compiler, and emulator; "": there is none */
        const char *header,
                *base;       /* of vector instructions; what GCC wants before features joined by +, or "" */
        const char *defined; /* macros that surely are; "": nothing is known */
} Machine;

/* Of a product: rows of x by panels of 16 outputs, whose sums are held in registers. */
typedef struct {
        int rows, panels;
} Tile;

/* How a product with weights is blocked; the same as runtime/matmul.h has it. */
typedef struct {
        int rows, panels, cut, rows_at_once;
} ProductTiling;

typedef struct {
        const char *name; /* --target NAME */
        /* the headers in runtime/ that define v16, n16 and products of codes; NULL: the portable file of all targets */
        const char *vector, *integers, *dot;
        const char *flags;      /* what the C compiler must be told */
        const char *guard;      /* macros that it then defines; the emitted C asks for them */
        const Tile *tile;       /* that products choose among, up to one without rows: tiles.def */
        const Tile *few, *code; /* likewise the further ones of few rows; those of codes */
        int registers, vectors; /* of vectors; that 16 floats take */
        int rows, panels;       /* the tile of attention, and in portable files of products .. */
        int few_panels;         /* .. and with four rows or fewer .. */
        int one_panels;         /* .. and with one */
        int code_rows;          /* rows of a tile of codes, which has a panel of them at a time */
        const Machine *machine;
        const char *features; /* of the compiler's attribute `target`, in portable files; "": none */
        const char *test;     /* in C: whether a processor of the machine runs it */
        bool (*runs)(void);   /* the same, of this processor */
        const char *about;
} Target;

extern const Target
        target_table[]; /* the first is plain C; of one machine, a faster one stands behind a slower one */
extern const int target_count;

/* NULL: no such target.  "native": the best that this processor runs. */
const Target *target_find(const char *name);
bool target_is_portable(const Target *t);
bool target_is_wasm(const Target *t);
bool target_has_own_vectors(const Target *t); /* no row above it has the same, so f32 code is its own */
bool target_runs_here(const Target *t);
bool target_is_cross(const Target *t); /* another machine's; there is a compiler and an emulator for it */

enum {
        MAX_LOOPS = 12, /* an axis each, one that is summed over, and what they are cut into */
        LANES = 16,
        TILE_MOST = 12,     /* rows of any target's tile */
        MOST_AT_ONCE = 384, /* rows of a product with many: ProductTiling.rows_at_once */
        MAX_CACHES = 3,
        CODE_GROUPS = 2,
        NAMED_FIRST = MAX_NAMED - 1, /* the first row wanted as output */
        /* of each window cache: the first position that its states hold */
        NAMED_BASE = NAMED_FIRST - MAX_CACHES
};
_Static_assert(MAX_DECLARED + 1 <= NAMED_BASE, "declared sizes, past, bases, first");

/* A loop of a kernel, outermost first; the last is the one that runs in lanes.  Axis `axis` of the kernel's roots is the
 * sum of stride * loop over the loops of that axis. */
typedef struct {
        Dim size;
        int axis;
        int64_t stride;
} DomainLoop;
typedef struct {
        int n;
        DomainLoop loop[MAX_LOOPS];
} Domain;

/* Where a kernel looks in a tensor: the index of each of its axes is offset + sum of coef[d] * loop d. */
typedef struct {
        Dim offset;
        int64_t coef[MAX_LOOPS];
} AxisIndex;
typedef struct {
        int rank;
        AxisIndex axis[MAX_RANK];
} Map;

/* Where an element lies: offset + sum of stride[a] * i[a], in floats; the tiled axis, if any, counts for
 * (i / 16) * tile + i % 16 instead.  Tiled over n, [n, k] is the panels [n/16][k][16] that matmul reads; tiled over the
 * keys, [keys, d] is what attention reads. */
typedef struct {
        int rank;
        int64_t stride[MAX_RANK];
        int tiled; /* axis, or -1 */
        int64_t tile;
        int64_t offset;
} Layout;

/* Where a buffer lives, and what its offset counts from. */
typedef enum { IN_ARENA, IN_WEIGHTS, IN_STATE, IN_INPUT, IN_OUTPUT, IN_LITERAL } Home;

/* Bytes as the floats in which emitted C counts its arena, weights and state. */
#define FLOATS(bytes) ((bytes) / (int64_t)sizeof(float))

typedef struct Buffer Buffer;
struct Buffer {
        int id;
        Home home;
        Storage storage;
        int64_t group;           /* of STORAGE_Q8: StateVar.group */
        const char *name;        /* as comments call it: "layer.attn.q" */
        const char *role;        /* as C calls its pointer: "q" */
        const char *offset_name; /* as C calls `offset`: "ARENA_Q"; NULL: it has none of its own */
        Type type;               /* of what it holds (one slot) */
        Layout layout;
        Buffer *part_of; /* its storage is a part of that buffer's; layout.offset counts from there */
        int64_t size;    /* bytes of one slot; 0: a part of another's */
        int64_t slots;   /* weights and state: slots, `slot_stride` bytes apart */
        int64_t slot_stride;
        int cache; /* IN_STATE: of which it is, so that its shift_axis holds less than the context; else -1 */
        bool per_head; /* IN_STATE: each index of axis 0 is stored separately */
        bool paged; /* IN_STATE: lies in pages, behind the arena: index i of shift_axis + shift is held in row page_row(i) */
        const int32_t *slot_of; /* NULL: the slot is the iteration */
        Region *region;         /* weights and state: whose iterations the slots are; the innermost */
        Weight *weight;         /* IN_WEIGHTS: a weight .. */
        Node *table;            /* .. or a node that depends on constants and indices alone, precomputed */
        int shift_axis; /* -1, or the axis whose index i is stored at i + shift: rows of the past stand before */
        Dim shift;
        int index;       /* IN_INPUT, IN_OUTPUT: which; IN_STATE: which StateVar */
        bool replicated; /* IN_ARENA: in a call of one row each thread has one, row `thread` of it */
        bool dense; /* IN_INPUT, IN_OUTPUT: an inner axis is named, so strides follow from the sizes of the call */
        int64_t offset;  /* plan: bytes from the start of its home */
        int first, last; /* plan: the span of kernels in which it is live */
        Buffer *alias;   /* plan: shares the memory of this one, which dies where it is born */
};

typedef struct {
        Node *node;
        Buffer *to;
        bool copy; /* node has its value elsewhere */
} Store;

typedef enum {
        K_LOOP,              /* expression over a domain, with folds along the lanes' loop or others */
        K_MATMUL,            /* x @ packed weights, and a fused expression on what comes out */
        K_ACTIVATION_MATMUL, /* matmul of two tensors that are both computed */
        K_ATTENTION,         /* softmax(expression(q @ k')) @ v, online */
        K_SCAN,              /* causal sums over all rows before */
        K_SELECT,            /* top, argmax */
        K_ACTIVE,            /* the rows where a condition holds: those that an iteration changes */
        K_FILL,              /* a constant into a buffer (what pad leaves around) */
        K_REPEAT             /* the bodies of a region, iteration by iteration */
} KernelOp;

/* One part of a merged matmul: its own weights (two where the expression needs both results at once) and its own expression. */
typedef struct {
        Node *product[2]; /* the MATMUL nodes whose results the expression reads */
        Buffer *w[2];
        int nproduct;
        int64_t n;        /* outputs */
        Store store;      /* the root, and where it goes */
        const char *name; /* of its expression's C function */
        ProductTiling tiling;
} Segment;

/* Most threads of an instance: TEAM_MAX of runtime/team.h (run/engine.c). */
enum { MAX_THREADS = 64 };

/* A row range that each rank may have computed in part (plan/rows.c); offsets in elements. */
typedef struct {
        Buffer *buffer;
        Dim rows;
        int64_t base, tile; /* the first one; from 16 of them to the next 16 */
        bool whole_tiles;   /* they lie in tiles of 16, the last of which has room for 16 too */
} SharedRows;

typedef struct Kernel Kernel;

typedef struct {
        Store *of; /* [n]; of a K_LOOP all have the same domain */
        int n;
} KernelStores;

/* K_MATMUL, K_ACTIVATION_MATMUL: the operands have buffers, perhaps through views. */
typedef struct {
        Node *x, *y;      /* y: of K_ACTIVATION_MATMUL */
        Segment *segment; /* of K_MATMUL */
        int nsegment;
        int64_t k;                  /* size of the contracted axis */
        int64_t codes[CODE_GROUPS]; /* offsets in the scratch of x as codes, for each size of group */
} KernelProduct;

/* K_ATTENTION: q [h, T, d], k [h, d, S] and v [h, S, dv] are seen through views. */
typedef struct {
        Node *q, *k, *v;
        Node *sink;              /* the softmax's other input, or NULL */
        Node *core, *score;      /* the MATMUL of q and k, and the scores made of it */
        Node *softmax, *weights; /* of the scores, or what replaces it; the operand of the product with v */
        bool mixes;              /* heads are mixed between core and softmax, or softmax and product */
        bool all_weigh;          /* they are, and a masked key has a weight too */
        bool dead_nan;           /* a row without a live key becomes NaN, not 0 */
        bool plain;              /* scores are weights, without a softmax */
} KernelAttention;

/* K_REPEAT */
typedef struct {
        Region *region;
        Kernel *active_rows; /* finds the rows that an iteration changes; NULL: all iterations are run, for all rows */
} KernelRepeat;

/* Floats beside the arena: of each thread, and of all threads together (partial sums of attention of one row by blocks of keys). */
typedef struct {
        int64_t thread, all;
} KernelScratch;

/* Rows that a kernel computes. */
typedef enum {
        ROWS_ALL,
        ROWS_REQUESTED, /* as output */
        ROWS_ACTIVE     /* that active_rows of its repeat finds */
} ComputedRows;

/* How a kernel runs in a call of several sequences (plan/batch.c); from one to the next a kernel depends more on its sequence. */
typedef enum {
        BATCH_NONE,           /* the plan is for one sequence */
        BATCH_ROWS,           /* once, over the rows of all sequences */
        BATCH_ROWS_LOOKED_UP, /* the same; the epilogue of a product looks up the sequence of each row */
        BATCH_SEQUENCES       /* for each sequence, over its rows */
} Batching;

/* How threads share a kernel in a call of one row (plan/own.c, heads.c). */
typedef enum {
        ONE_ROW_SHARED,
        ONE_ROW_REPLICATED, /* every thread computes all of it, in memory of its own */
        ONE_ROW_BY_HEADS    /* threads share all its stores by heads */
} OneRow;

/* How ranks share a kernel: by outputs or heads (plan/spread.c), or in calls of many rows by rows (plan/rows.c). */
typedef struct {
        bool sharded; /* by outputs or heads; the results are exchanged .. */
        int64_t heads; /* .. unless this is not 0: they belong to so many heads, and are read for the same head only */
        bool by_rows; /* in calls of many of `rows` by rows, whatever `sharded` says */
        Dim rows;
        int row_loop; /* 1 + the loop that counts those rows; 0: every rank computes all of them */
} KernelRanks;

/* Place in the plan. */
typedef struct {
        int at;           /* in its body; 0: that of its root .. */
        Node *after_root; /* .. or of this root */
        int step, last;   /* of all kernels; last: of a repeat's body */
} KernelOrder;

struct Kernel {
        KernelOp op;
        const char *name; /* of its C function */
        Body *body;
        Domain domain;
        KernelStores stores;
        KernelProduct product;
        KernelAttention attention;
        Buffer *kept; /* K_SCAN: the state that it goes on from and updates; NULL: each call is complete */
        double fill;  /* K_FILL */
        KernelRepeat repeat;
        int64_t max_active; /* K_ACTIVE: most rows */
        KernelScratch scratch;
        uint64_t wanted; /* outputs that depend on it (Graph.wanted) */
        ComputedRows rows;
        Batching batching;
        OneRow one_row;
        KernelRanks ranks;
        uint64_t part; /* of the top body: groups of inputs that it waits for; 0: the calls (Graph.part) */
        KernelOrder order;
        Buffer *from_copy;       /* K_LOOP that copies: reads this instead */
        const struct Code *code; /* lower/code.h */
        Span span;
        Instance *where;
};

typedef struct {
        Kernel **kernel;
        int n, cap;
} KernelList;

/* How ranks share the program's work; of an engine for a single process all is 0. */
typedef struct {
        int ranks; /* of each stage */
        int stages;
        bool prompt_rows; /* ranks share rows in calls of a decoder too */
        bool under_way;   /* stages may begin a batch before the outputs of others are taken */
        bool by_rows;     /* ranks share rows of calls, or of values computed once for inputs: */
        Dim rows;         /* these */
} PlanSharing;

/* Bytes. */
typedef struct {
        int64_t weights, arena;
        int64_t arena_bound; /* a lower bound of the arena: the most that is live at once */
        int64_t state;       /* of one sequence */
        int64_t pool;        /* of all pages */
} PlanBytes;

/* Facts about nodes, by node id. */
typedef struct {
        const Interval *interval; /* bounds of the values */
        Buffer **value;           /* where it is stored, or NULL */
        bool *copy;               /* a view that is stored as it is seen */
        bool *single;             /* its kernel computes one element at a time */
} PlanNodes;

/* What states that are read within a window hold of it. */
typedef struct {
        WindowCache cache[MAX_CACHES];
        int n;
        int *of_state; /* by number of the state: its window cache, or -1 */
} PlanWindows;

/* What was fused, and what stopped it. */
typedef struct {
        const char **line;
        int n, cap;
} PlanExplained;

typedef struct {
        Graph *graph;
        const Target *target;
        const bool *off;    /* [PASS_COUNT] passes that are left out */
        const char *c_name; /* of the model, as a C identifier */
        bool timed;         /* for libtcc: each kernel's time is taken (profile_into()) */
        bool names_offsets; /* emitted with constants for offsets, and a table of them */
        bool by_address;    /* emitted for libtcc: vectors are arrays, passed by address */
        int64_t chunk;      /* most new rows a call */
        int slots;          /* most sequences a call */
        PlanSharing sharing;
        int64_t rows;      /* most rows of all sequences */
        int64_t pages;     /* shared by their states (runtime/pages.h); 0: each has room for all positions */
        int64_t heads;     /* own: by which attention counts its heads of keys, all kernels' */
        const char *alone; /* batch: why a call can't take several sequences; NULL: it can */
        int64_t bound[MAX_NAMED]; /* most of each named dimension within one call */
        PlanNodes of_node;
        PlanWindows windows;
        Buffer **buffer;
        int nbuffer, cap_buffer;
        KernelList *list; /* by body number */
        KernelList all;   /* list after list */
        Body **body;      /* [0] is the top */
        int nbody;
        PlanBytes bytes;
        int steps;                 /* of the linear order of kernels */
        const struct Tuned *tuned; /* tile: measurements; or NULL */
        struct StepList *program;  /* schedule: plan/program.h */
        PlanExplained explained;
} Plan;

/* map.c */
typedef struct {
        int loop;   /* to be cut in two .. */
        int64_t at; /* .. the inner of this size */
} Refine;
Domain domain_of(const Graph *g, const Type *t);
void domain_refine(Domain *d, Refine r);
Map map_identity(const Domain *d, const Type *t);
Map map_broadcast(const Map *m,
                  const Type *in); /* the same place in an operand that broadcasts to m's tensor */
Map map_fold(const Map *m, int axis, int loop); /* in a fold's input: axis runs with loop */
typedef enum { MAP_OK, MAP_REFINE, MAP_FAIL } MapResult;
MapResult map_view(const Domain *d, const Map *m, const View *v, int in_rank, Map *out, Refine *refine);
bool map_same(const Map *a, const Map *b);
bool map_uses(const Map *m, int loop);
typedef struct {
        Dim offset; /* floats; the tiled axis's part apart */
        int64_t coef[MAX_LOOPS];
        bool tiled;
        AxisIndex tile_index; /* index along the tiled axis, counted as (i / 16) * tile + i % 16 */
        int64_t tile;
        bool dense; /* the row-major place of `map` in a tensor of `type` instead (tiled is set too) */
        bool paged; /* tile_index is a position, of which the page says where it is held (tiled is set too) .. */
        int64_t apart; /* .. and what is held so far apart; 0: tiled */
        const Type *type;
        Map map;
} Address;
Address address_of(const Buffer *b, const Map *m);
bool reads_straight(
        const Buffer *b,
        const Address
                *at); /* floats that lie by strides alone: no tiles, no sizes of the call, nothing else */
Buffer *whole_buffer(Buffer *b); /* that b is a part of, or b */
/* the affine walk of a whole operand: d starts as its own axes and is refined until its buffer can be read */
bool map_operand(const Plan *p, Node *n, Domain *d, Map *m, Node **base);
/* Where the buffer under n (through views that have none of their own) is read, for n looked at through m.  MAP_REFINE: only
 * a domain with that cut walks it evenly.  unstored: a view whose own buffer is just being filled, or NULL. */
MapResult address_through(const Plan *p, const Domain *d, const Map *m, Node *n, const Node *unstored,
                          Address *at, Buffer **b, Refine *refine);

/* kernel.c */
/* A state of keys or values in fewer bits. */
bool is_kept_narrow(const Buffer *b);
/* Bytes of so many elements, whole blocks of those with scales; elements in so many bytes. */
int64_t buffer_size(const Buffer *b, int64_t elements);
int64_t buffer_elements(const Buffer *b, int64_t bytes);
int storage_number(const Buffer *b); /* as the runtime has it, STORAGE_KEPT() too */
int cache_of(const Buffer *b);       /* of what b is a part of, or -1 */
CachedState cached_state(const Buffer *b);
/* how many buffers are states that lie in pages; blocks of a page that a slot's positions have; where the pool of pages begins,
 * counted in bytes from the arena */
int paged_states(const Plan *p);
int64_t page_blocks(const Plan *p);
int64_t pool_offset(const Plan *p);
/* A state of scans (runtime/scan_state.h); NULL: there is none. */
const Buffer *scan_buffer(const Plan *p);
/* how many buffers are states of window caches: those whose `cache` is not -1 */
int cached_states(const Plan *p);
int64_t bound_of(const Plan *p, Dim d);
/* Batches: the memory of a value has the rows of all sequences of a call one after another along its outermost axis.  Those of a sequence
 * begin behind `fixed` for each one before it, and `per` for each position of these.  Rows in tiles of 16 begin with a tile of their own. */
bool has_whole_sequences(const Plan *p); /* of a model that is not causal, which takes no pieces of them */
int varying_size(const Graph *g);        /* the size that differs between the sequences; -1: none does */
Dim sequence_rows(const Plan *p, const Buffer *b); /* how many rows a sequence has in a whole buffer .. */
int64_t sequence_row(const Buffer *b);             /* .. elements of each, or of 16 that are a tile */
int64_t all_rows(const Plan *p, Dim one);          /* most rows of all sequences, each of which has so many */
int64_t own_row(const Plan *p, const Buffer *b);   /* elements from one row of an own buffer to the next */
int body_number(const Plan *p, const Body *b);
int64_t round_up(int64_t n, int64_t to);

/* Activations as codes for products with blocks (runtime/blocks.h): the sizes of groups that share a scale; bytes of a row. */
extern const int code_group[CODE_GROUPS];
#define CODES_BYTES(k) ((int64_t)(k)*5 / 4)
bool wants_codes(const Kernel *k, int group); /* MATMUL: does a part read its rows so? */

/* As in runtime/matmul.h: floats of scratch for a product of so many rows at once. */
#define PRODUCT_SCRATCH(rows_at_once) (INT64_C(6) * LANES * ((rows_at_once) + TILE_MOST))
#define PRODUCT_WIDE(cut) (INT64_C(4) * LANES * (cut))

/* c_names.c */
bool is_c_word(const char *name); /* a keyword, or something of the runtime or of every emitted function */
const char *c_word_kind(const char *name); /* "a keyword of C"; NULL: free */
const char *
c_name_fault(const char *name); /* "no identifier of C": why no model can have the name; NULL: it can */
const char *c_model_name(Arena *a, const char *name); /* the name, or like it, without a fault */
/* repeats, inputs, outputs and dimensions get names that C can bear */
void name_for_c(Graph *g, const char *c_name, bool batched);
#endif
