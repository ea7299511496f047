/* kernels: the form between graph and C.
 *
 * A body of the graph becomes a list of kernels.  A kernel computes one or more nodes (its roots) over a
 * domain of loops and stores them in buffers; the nodes between its roots and the buffers it reads are its
 * expression and are never stored.
 *
 *   graph ── fuse ──► kernels and buffers ── tile ── plan ── sync ──► program ── emit ──► C */
#ifndef KERNELS_H
#define KERNELS_H
#include "../../runtime/window_cache.h"
#include "../../runtime/pages.h"
#include "../../runtime/scan_state.h"
#include "passes/passes.h"

/* Targets: the instruction sets of emitted C, one row each. */

typedef struct {
        const char *condition;         /* preprocessor condition in portable files; "": any machine */
        const char *compiler, *runner; /* cross compiler and emulator on other machines; "": none */
        /* of vector instructions: prefix of GCC's list of features joined by +, or "" */
        const char *header, *base;
        const char *defined; /* macros that are surely defined; "": unknown */
} Machine;

/* Tile of a product: rows of x by panels of 16 outputs, whose sums are held in registers. */
typedef struct {
        int rows, panels;
} Tile;

/* Blocking of a product with weights; the same as in runtime/matmul.h. */
typedef struct {
        int rows, panels, k_block, rows_at_once;
} ProductTiling;

typedef struct {
        const char *name; /* --target NAME */
        /* Headers in runtime/ that define v16, n16 and products of codes.  NULL: the portable file of all
         * targets. */
        const char *vector, *integers, *dot;
        const char *flags;      /* flags for the C compiler */
        const char *guard;      /* macros that these define; the emitted C requires them */
        const Tile *tile;       /* tiles for products, ended by one without rows: tiles.def */
        const Tile *few, *code; /* the same for few rows, and for codes */
        int registers, vectors; /* number of vector registers; vectors for 16 floats */
        int rows, panels;       /* tile of attention; in portable files also of products */
        int few_panels;         /* portable files: panels of products with at most four rows */
        int one_panels;         /* portable files: panels of products with one row */
        int code_rows;          /* rows of a tile of codes, which has one panel */
        const Machine *machine;
        const char *features; /* for the compiler's attribute `target`, in portable files; "": none */
        const char *test;     /* C expression: whether a processor of the machine supports the target */
        bool (*runs)(void);   /* whether this processor supports it */
        const char *about;
} Target;

extern const Target target_table[]; /* the first is plain C; of one machine, faster ones follow slower ones */
extern const int target_count;

/* NULL: unknown.  "native": the best that this processor supports. */
const Target *target_find(const char *name);
bool target_is_portable(const Target *t);
bool target_is_wasm(const Target *t);
/* no earlier row has the same vectors, so its f32 code differs */
bool target_has_own_vectors(const Target *t);
bool target_runs_here(const Target *t);
bool target_has_amx(const Target *t);  /* products of several rows use runtime/amx.h */
bool target_is_cross(const Target *t); /* for another machine, with a compiler and an emulator */

enum {
        MAX_LOOPS = 12, /* one per axis, one that is summed over, and those that splits add */
        LANES = 16,
        MAX_TILE_ROWS = 12, /* maximum of rows in any target's tile */
        MAX_AT_ONCE = 384,  /* maximum of ProductTiling.rows_at_once */
        MAX_CACHES = 3,
        CODE_GROUPS = 2,
        NAMED_FIRST = MAX_NAMED - 1, /* the first row that is requested as output */
        /* for each window cache: the first position in its states */
        NAMED_BASE = NAMED_FIRST - MAX_CACHES
};
_Static_assert(NAMED_ALONG + MAX_ALONG <= NAMED_BASE, "declared sizes, past, positions, bases, first");

/* A loop of a kernel, outermost first; the last one runs in lanes.  Axis `axis` of the kernel's roots is
 * the sum of stride * loop over the loops of that axis. */
typedef struct {
        Dim size;
        int axis;
        int64_t stride;
} DomainLoop;
typedef struct {
        int n;
        DomainLoop loop[MAX_LOOPS];
} Domain;

/* Access of a kernel to a tensor: the index of each axis is offset + sum of coef[d] * loop d. */
typedef struct {
        Dim offset;
        int64_t coef[MAX_LOOPS];
} AxisIndex;
typedef struct {
        int rank;
        AxisIndex axis[MAX_RANK];
} Map;

/* Position of an element: offset + sum of stride[a] * i[a], in floats; for the tiled axis, if any, (i /
 * 16) * tile + i % 16.  Tiled over n, [n, k] is the panels [n/16][k][16] that matmul reads; tiled over the
 * keys, [keys, d] is the form that attention reads. */
typedef struct {
        int rank;
        int64_t stride[MAX_RANK];
        int tiled; /* axis, or -1 */
        int64_t tile;
        int64_t offset;
} Layout;

/* Address space of a buffer, to which its offset is relative. */
typedef enum { IN_ARENA, IN_WEIGHTS, IN_STATE, IN_INPUT, IN_OUTPUT, IN_LITERAL } Home;

/* Bytes as floats, in which emitted C counts arena, weights and state. */
#define FLOATS(bytes) ((bytes) / (int64_t)sizeof(float))

typedef struct Buffer Buffer;
struct Buffer {
        int id;
        Home home;
        Storage storage;
        int64_t group;           /* of STORAGE_Q8: StateVar.group */
        const char *name;        /* in comments: "layer.attn.q" */
        const char *role;        /* name of its pointer in C: "q" */
        const char *offset_name; /* name of `offset` in C: "ARENA_Q"; NULL: none */
        Type type;               /* type of one slot */
        Layout layout;
        Buffer *part_of; /* the buffer that contains it; layout.offset is relative to that */
        int64_t size;    /* bytes of one slot; 0: part of another buffer */
        int64_t slots;   /* weights and state: slots, `slot_stride` bytes apart */
        int64_t slot_stride;
        int cache;     /* IN_STATE: its window cache, so that shift_axis has less than the context; else -1 */
        bool per_head; /* IN_STATE: each index of axis 0 is stored separately */
        /* IN_STATE: stored in pages, after the arena: index i of shift_axis + shift is in row page_row(i) */
        bool paged;
        const int32_t *slot_of; /* NULL: slots are iterations */
        Region *region;         /* weights and state: region of the slots' iterations; the innermost */
        /* IN_STATE: number of positions after which an `along` keeps its value, that of n positions at n % ring;
         * 0: the last one alone.  A part is the value before a position, or after it. */
        int64_t ring;
        bool is_after;
        Weight *weight; /* IN_WEIGHTS: the weight, or NULL */
        Node *table;    /* IN_WEIGHTS: precomputed node, which depends only on constants and indices */
        int shift_axis; /* -1, or the axis whose index i is stored at i + shift, after past rows */
        Dim shift;
        int index;       /* index of the IN_INPUT or IN_OUTPUT; of the StateVar if IN_STATE */
        bool replicated; /* IN_ARENA: in a call of one row each thread has its own: row `thread` */
        bool dense;      /* IN_INPUT, IN_OUTPUT: an inner axis is named, so strides depend on the call */
        int64_t offset;  /* plan: bytes from the start of its home */
        int first, last; /* plan: first and last kernel of its lifetime */
        Buffer *alias;   /* plan: shares the memory of this one, whose lifetime ends where its own begins */
};

typedef struct {
        Node *node;
        Buffer *to;
        bool copy; /* node's value is copied here from another buffer */
} Store;

typedef enum {
        K_LOOP,              /* expression over a domain, with folds along the lanes' or other loops */
        K_MATMUL,            /* x @ packed weights, and an epilogue */
        K_ACTIVATION_MATMUL, /* matmul of two computed tensors */
        K_ATTENTION,         /* softmax(expression(q @ k')) @ v, online */
        K_SCAN,              /* causal sums over all earlier rows */
        K_SELECT,            /* top, argmax */
        K_ACTIVE,            /* finds the rows where a condition holds: those that an iteration changes */
        K_FILL,              /* stores a constant in a buffer (around a padded value) */
        K_REPEAT             /* the bodies of a region, iteration by iteration */
} KernelOp;

/* One part of a merged matmul, with its own weights (two if the expression needs both results) and
 * expression. */
typedef struct {
        Node *product[2]; /* the MATMUL nodes of the expression */
        Buffer *w[2];
        int nproduct;
        int64_t n;        /* number of outputs */
        Store store;      /* the root and its buffer */
        const char *name; /* name of its epilogue in C */
        ProductTiling tiling;
} Segment;

/* Maximum of threads of an instance: TEAM_MAX of runtime/team.h (run/engine.c). */
enum { MAX_THREADS = 64 };

/* A row range that each rank may have computed in part (plan/rows.c); offsets in elements. */
typedef struct {
        Buffer *buffer;
        Dim rows;
        int64_t base, tile; /* offset of the first row; distance of groups of 16 rows */
        bool whole_tiles;   /* rows are in tiles of 16; the last one has room for 16 too */
} SharedRows;

typedef struct Kernel Kernel;

typedef struct {
        Store *of; /* [n]; all of a K_LOOP have the same domain */
        int n;
} KernelStores;

/* K_MATMUL, K_ACTIVATION_MATMUL: the operands have buffers, maybe through views. */
typedef struct {
        Node *x, *y;      /* y: only K_ACTIVATION_MATMUL */
        Segment *segment; /* only K_MATMUL */
        int nsegment;
        int64_t k;                  /* size of the contracted axis */
        int64_t codes[CODE_GROUPS]; /* offsets in scratch of x as codes, for each size of group */
} KernelProduct;

/* K_ATTENTION: q [h, T, d], k [h, d, S] and v [h, S, dv], through views. */
typedef struct {
        Node *q, *k, *v;
        Node *sink;              /* the second input of the softmax, or NULL */
        Node *chosen;            /* the AMONG node outside of whose list no key has a weight; NULL: none */
        Node *core, *score;      /* the MATMUL of q and k, and the scores computed from it */
        Node *softmax, *weights; /* of the scores, or its equivalent; the operand of the product with v */
        bool mixes;              /* heads are mixed between core and softmax, or softmax and product */
        bool all_weigh;          /* then: a masked key has a weight too */
        bool dead_nan;           /* a row without an unmasked key becomes NaN, not 0 */
        bool plain;              /* scores are weights, without a softmax */
} KernelAttention;

/* K_REPEAT */
typedef struct {
        Region *region;
        Kernel *active_rows; /* finds the active rows of an iteration; NULL: all iterations run for all rows */
        /* of an `along`: number of parts, such as heads, that never read each other; a thread runs all
         * positions of its own.  0: threads share each kernel at each position */
        int64_t parts;
} KernelRepeat;

/* Floats of scratch: of each thread, and of all threads together (partial sums of attention for one row by
 * blocks of keys). */
typedef struct {
        int64_t thread, all;
} KernelScratch;

/* Rows that a kernel computes. */
typedef enum {
        ROWS_ALL,
        ROWS_AT_START,  /* all, in the first call of a sequence alone: what an `along` starts from */
        ROWS_REQUESTED, /* those that are requested as output */
        ROWS_ACTIVE     /* those found by active_rows of its repeat */
} ComputedRows;

/* How a kernel runs in a call of several sequences (plan/batch.c), in the order of its dependence on the
 * sequence. */
typedef enum {
        BATCH_NONE,           /* the plan is for one sequence */
        BATCH_ROWS,           /* once, over the rows of all sequences */
        BATCH_ROWS_LOOKED_UP, /* the same; the epilogue of a product looks up the sequence of each row */
        BATCH_SEQUENCES       /* for each sequence, over its rows */
} Batching;

/* How threads share a kernel in a call of one row (plan/replicate.c, heads.c). */
typedef enum {
        ONE_ROW_SHARED,
        ONE_ROW_REPLICATED, /* every thread computes all of it, in its own memory */
        ONE_ROW_BY_HEADS    /* threads divide its stores by heads */
} OneRow;

/* How ranks share a kernel: by outputs or heads (plan/shard.c), or in calls of many rows by rows (plan/rows.c). */
typedef struct {
        bool sharded;  /* by outputs or heads; results are exchanged if `heads` is 0 */
        int64_t heads; /* not 0: number of heads, each of which reads only results of the same head */
        bool by_rows;  /* in calls with many of `rows`: by rows instead */
        Dim rows;
        int row_loop; /* 1 + the loop of those rows; 0: every rank computes all of them */
} KernelRanks;

/* Position in the plan. */
typedef struct {
        int at;         /* index in its body; 0: that of its first root, of a loop its last one */
        int step, last; /* number of the kernel; last: last one in a repeat's body */
} KernelOrder;

struct Kernel {
        KernelOp op;
        const char *name; /* of its C function */
        Body *body;
        Domain domain;
        KernelStores stores;
        KernelProduct product;
        KernelAttention attention;
        Buffer *kept; /* K_SCAN: the state that it continues and updates; NULL: each call is complete */
        double fill;  /* K_FILL */
        KernelRepeat repeat;
        int64_t max_active; /* K_ACTIVE: maximum of rows */
        KernelScratch scratch;
        uint64_t wanted; /* outputs that need it (Graph.wanted) */
        ComputedRows rows;
        Batching batching;
        OneRow one_row;
        KernelRanks ranks;
        /* part of the top body: groups of inputs that it waits for; 0: the calls (Graph.part) */
        uint64_t part;
        KernelOrder order;
        Buffer *from_copy;       /* K_LOOP that copies: it reads this buffer */
        const struct Code *code; /* lower/code.h */
        Span span;
        Instance *where;
};

typedef struct {
        Kernel **kernel;
        int n, cap;
} KernelList;

/* How ranks share the program; for a single process all members are 0. */
typedef struct {
        int ranks; /* of each stage */
        int stages;
        bool prompt_rows; /* ranks share rows in calls of a decoder too */
        bool under_way;   /* stages may begin a batch before the outputs of earlier ones are taken */
        bool by_rows;     /* ranks share rows of calls, or of values that are computed once */
        Dim rows;         /* number of rows that ranks share */
} PlanSharing;

/* Sizes in bytes. */
typedef struct {
        int64_t weights, arena;
        int64_t arena_bound; /* lower bound of the arena: maximum of live buffers */
        int64_t state;       /* of one sequence */
        int64_t pool;        /* of all pages */
} PlanBytes;

/* Facts about nodes, by node id. */
typedef struct {
        const Interval *interval; /* bounds of the values */
        Buffer **value;           /* its buffer, or NULL */
        bool *copy;               /* a view that is stored in the order of its output */
        bool *single;             /* its kernel computes one element at a time */
} PlanNodes;

/* Window caches: states that hold a window instead of the context. */
typedef struct {
        WindowCache cache[MAX_CACHES];
        int n;
        int *of_state; /* by state: its window cache, or -1 */
} PlanWindows;

/* Fused products, and the reasons against fusion. */
typedef struct {
        const char **line;
        int n, cap;
} PlanExplained;

typedef struct {
        Graph *graph;
        const Target *target;
        const bool *off;    /* [PASS_COUNT] passes that are disabled */
        const char *c_name; /* of the model, as a C identifier */
        bool timed;         /* libtcc: the time of each kernel is measured (profile_into()) */
        bool names_offsets; /* emitted with constants for offsets, and a table of them */
        bool by_address;    /* emitted for libtcc: vectors are arrays, passed by address */
        int64_t chunk;      /* maximum of new rows per call */
        int slots;          /* maximum of sequences per call */
        int64_t rewind;     /* number of positions that can always be taken back; 0: what states allow */
        PlanSharing sharing;
        int64_t rows; /* maximum of rows of all sequences */
        int64_t pages; /* pages shared by the sequences (runtime/pages.h); 0: each has room for all positions */
        int64_t heads;            /* own: number of KV heads by which kernels are divided */
        const char *alone;        /* batch: reason why a call can't have several sequences, or NULL */
        int64_t bound[MAX_NAMED]; /* maximum of each named dimension within one call */
        PlanNodes of_node;
        PlanWindows windows;
        Buffer **buffer;
        int nbuffer, cap_buffer;
        KernelList *list; /* by body number */
        KernelList all;   /* all kernels, in the order of the lists */
        Body **body;      /* [0] is the top */
        int nbody;
        PlanBytes bytes;
        int steps;                 /* number of kernels in linear order */
        const struct Tuned *tuned; /* tile: measurements, or NULL */
        struct StepList *program;  /* schedule: plan/program.h */
        PlanExplained explained;
} Plan;

/* map.c */
typedef struct {
        int loop;   /* loop to split */
        int64_t at; /* size of the inner loop */
} Refine;
Domain domain_of(const Graph *g, const Type *t);
void domain_refine(Domain *d, Refine r);
Map map_identity(const Domain *d, const Type *t);
/* the same index in an operand that is broadcast to m's tensor */
Map map_broadcast(const Map *m, const Type *in);
Map map_fold(const Map *m, int axis, int loop); /* map of a fold's input: axis runs with loop */
typedef enum { MAP_OK, MAP_REFINE, MAP_FAIL } MapResult;
MapResult map_view(const Domain *d, const Map *m, const View *v, int in_rank, Map *out, Refine *refine);
bool map_same(const Map *a, const Map *b);
bool map_uses(const Map *m, int loop);
typedef struct {
        Dim offset; /* in floats, without that of the tiled axis */
        int64_t coef[MAX_LOOPS];
        bool tiled;
        AxisIndex tile_index; /* index along the tiled axis: (i / 16) * tile + i % 16 */
        int64_t tile;
        bool dense;    /* instead: the row-major index of `map` in a tensor of `type` (tiled is set too) */
        bool paged;    /* tile_index is a position, stored in a page (tiled is set too) */
        int64_t apart; /* paged: distance of positions; 0: tiled */
        const Type *type;
        Map map;
} Address;
Address address_of(const Buffer *b, const Map *m);
/* whether it has only strides: no tiles, pages or sizes of the call */
bool reads_straight(const Buffer *b, const Address *at);
Buffer *whole_buffer(Buffer *b); /* the buffer that b is a part of, or b */
/* The affine map of a whole operand: d starts as its axes and is split until its buffer can be read. */
bool map_operand(const Plan *p, Node *n, Domain *d, Map *m, Node **base);
/* Address of the buffer under n (through views without buffers), for n accessed through m.  MAP_REFINE:
 * only a domain with that split has an affine map.  unstored: a view whose own buffer is being filled, or
 * NULL. */
MapResult address_through(const Plan *p, const Domain *d, const Map *m, Node *n, const Node *unstored,
                          Address *at, Buffer **b, Refine *refine);

/* kernel.c */
/* Whether a state has keys or values in fewer bits. */
bool is_kept_narrow(const Buffer *b);
/* Bytes of a number of elements, as whole blocks if they share scales; number of elements in bytes. */
int64_t buffer_size(const Buffer *b, int64_t elements);
int64_t buffer_elements(const Buffer *b, int64_t bytes);
int storage_number(const Buffer *b); /* its number in the runtime, including STORAGE_KEPT() */
int cache_of(const Buffer *b);       /* window cache of b's whole buffer, or -1 */
CachedState cached_state(const Buffer *b);
/* Number of buffers of states in pages; blocks of a page for a slot's positions; start of the pool of
 * pages, in bytes from the arena. */
int paged_states(const Plan *p);
int64_t page_blocks(const Plan *p);
int64_t pool_offset(const Plan *p);
/* A state of scans (runtime/scan_state.h), whose blocks are where those of all others are; buffer NULL: none. */
typedef struct {
        const Buffer *buffer;
        int64_t floats; /* of a block */
        int older;      /* blocks beside the last one */
} KeptSums;
KeptSums kept_sums(const Plan *p);
/* Name of a state that an `along` carries, of which Plan.rewind + 1 values are kept.  NULL: none. */
const char *carried_state(const Plan *p);
bool keeps_ring(const Plan *p); /* several values of such states */
/* Number of buffers of states in window caches: those with a `cache` other than -1. */
int cached_states(const Plan *p);
int64_t bound_of(const Plan *p, Dim d);
/* Batches: the memory of a value contains the rows of all sequences of a call, one sequence after another
 * along its outermost axis.  A sequence begins after `fixed` rows for each earlier one, and `per` for each
 * of their positions.  With tiles of 16 rows it begins with a new tile. */
bool has_whole_sequences(const Plan *p); /* of a model that is not causal and needs whole sequences */
int varying_size(const Graph *g);        /* the size that differs between sequences; -1: none */
Dim sequence_rows(const Plan *p, const Buffer *b); /* rows of a sequence in a whole buffer */
int64_t sequence_row(const Buffer *b);             /* elements of a row, or of a tile of 16 */
int64_t all_rows(const Plan *p, Dim one);          /* maximum of rows of all sequences, given those of one */
int64_t own_row(const Plan *p, const Buffer *b);   /* elements between rows of a replicated buffer */
int body_number(const Plan *p, const Body *b);
int64_t round_up(int64_t n, int64_t to);

/* Activations as codes for products with blocks (runtime/blocks.h): sizes of groups that share a scale;
 * bytes of a row. */
extern const int code_group[CODE_GROUPS];
#define CODES_BYTES(k) ((int64_t)(k)*5 / 4)
bool wants_codes(const Kernel *k, int group); /* MATMUL: whether a part reads its rows as such codes */

/* As in runtime/matmul.h: floats of scratch for a product of this number of rows at once. */
#define PRODUCT_SCRATCH(rows_at_once) (INT64_C(6) * LANES * ((rows_at_once) + LANES))
#define PRODUCT_WIDE(k_block) (INT64_C(4) * LANES * (k_block))

/* c_names.c */
/* whether it is a keyword, or a word of the runtime or of emitted functions */
bool is_c_word(const char *name);
const char *c_word_kind(const char *name); /* "a keyword of C"; NULL: not taken */
/* "no identifier of C": reason why a model can't have the name; NULL: it can */
const char *c_name_fault(const char *name);
const char *c_model_name(Arena *a, const char *name); /* a valid name, equal or similar */
/* Gives repeats, inputs, outputs and dimensions valid names in C. */
void name_for_c(Graph *g, const char *c_name, bool batched);
#endif
