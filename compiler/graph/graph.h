/* graph: a model's computation as ops on tensors of known shape.
 *
 * A graph is a tree of bodies.  The nodes of a body are ordered so that every input comes before its uses.  A
 * repeat (layers, experts) is one REPEAT node whose region holds the distinct bodies of its iterations, so a
 * model of 80 layers has as many nodes as one of 2.  A node may use nodes of the enclosing bodies.
 *
 * All memory is in the graph's arena.  Only the current pass may change nodes after they are made.  Facts
 * about nodes are stored in arrays by id.
 *
 * This room makes graphs (graph.c, type.c, view.c, build.c), checks and prints them (verify.c, dump.c),
 * interprets them (interpret.c, evaluate.c), and derives facts from them: names (taps.c), dependencies
 * (stage.c, uses.c), costs (cost.c), bounds of integers (integers.c). */
#ifndef GRAPH_H
#define GRAPH_H
#include "base/base.h"
#include "block_storages.h"

/* A model declares at most MAX_DECLARED named dimensions.  The elaborator adds the positions of `along`
 * (Graph.along), passes the others: past, and those of kernels.h. */
enum {
        MAX_DECLARED = 6,
        MAX_ALONG = 2,
        NAMED_ALONG = MAX_DECLARED + 1, /* the first position of an `along` */
        MAX_NAMED = 13,
        MAX_RANK = 8,
        MAX_REGIONS = 4, /* nested repeats */
        MAX_ATOM = 16
};

typedef enum { REAL, INT, BOOL } DType;

/* A size: fixed + the sum over named dimensions of per[i] * its size.  Named dimensions have a bound; see
 * Graph.named. */
typedef struct {
        int64_t fixed;
        int64_t per[MAX_NAMED];
} Dim;

typedef struct {
        DType dtype;
        int rank;
        Dim dim[MAX_RANK]; /* outermost first */
} Type;

typedef enum {
#define OP(name, ...) OP_##name,
#include "ops.def"
#undef OP
        OP_COUNT
} Op;

typedef enum { LEAF, MOVE, POINT, REDUCE, CONTRACT, STATE, CONTROL } OpFamily;
typedef enum { SAME, JOINED, REALS, INTS, BOOLS, OWN } OpResult;
typedef struct {
        const char *name; /* "MATMUL" */
        const char *text; /* "matmul" */
        OpFamily family;
        int min_in, max_in;
        OpResult result;
        const char *vector; /* "add": v_add() computes it by lane; "": no vector function */
        const char *equation;
} OpInfo;
extern const OpInfo op_info[OP_COUNT];

/* A view: one affine map from output to input elements.
 *
 * The output's index is a sequence of digits, the atoms, outermost first.  Consecutive atoms with the same `out` make up
 * that output axis in mixed radix (the last one fastest); so an axis split in two is one output axis each, and two axes
 * merged are two atoms of one output axis.  Each atom moves the input's axis `axis` by `stride` per step (axis -1: not at
 * all, a broadcast).  Input index of axis a = offset[a] + sum of stride * digit over its atoms.
 *
 *   transpose [T, n] -> [n, T]            atoms (n: out 0, axis 1, stride 1) (T: out 1, axis 0, stride 1)
 *   split     [T, h*d] -> [h, T, d]       atoms (h: out 0, axis 1, stride d) (T: out 1, axis 0, 1) (d: out 2, axis 1, 1)
 *   merge     [h, T, d] -> [T, h*d]       atoms (T: out 0, axis 1, 1) (h: out 1, axis 0, 1) (d: out 1, axis 2, 1)
 *   slice     x[.., 4..8]                 offset[last] = 4
 *   spread    [g, ..] -> [n, ..]          atoms (g: out 0, axis 0, 1) (n/g: out 0, axis -1) ...
 * Every output axis has at least one atom (size 1 axes: an atom of size 1, axis -1). */
typedef struct {
        Dim size;
        int out, axis;
        int64_t stride;
} Atom;
typedef struct {
        int natom;
        Atom atom[MAX_ATOM];
        Dim offset[MAX_RANK]; /* by input axis */
} View;

typedef struct Node Node;
typedef struct Body Body;
typedef struct Region Region;
typedef struct Graph Graph;
typedef struct Instance Instance;
/* Storage type of numbers in memory: weights, buffers.  Loads and stores depend on it. */
typedef enum {
#define STORAGE(name, ...) STORAGE_##name,
#include "storage.def"
#undef STORAGE
        STORAGE_COUNT
} Storage;
typedef struct {
        const char *name, *text, *c; /* "F64", "f64", "double" */
        int values;
        int64_t bytes;
        int floats, halves, codes;
        const char *one, *set, *load, *gather, *gather_wide, *store; /* see storage.def */
} StorageInfo;
extern const StorageInfo storage_info[STORAGE_COUNT];
#define WEIGHT_STORAGES ((int)STORAGE_I32) /* the first types are those of weights */
bool is_in_blocks(Storage s);              /* whether several elements share a scale */
int storage_steps(Storage s);              /* of weights: those of k in a block */
bool storage_is_narrow(Storage s);         /* of weights: whether many rows read them widened to f32 */
int64_t storage_size(Storage s, int64_t elements);  /* bytes of whole blocks with this number of elements */
int64_t storage_elements(Storage s, int64_t bytes); /* number of elements in whole blocks */

/* Purpose of the product with a weight, derived from the graph: roles.c. */
typedef enum { ROLE_NONE, ROLE_HEAD, ROLE_DOWN, ROLE_JOINT, ROLE_VALUES } WeightRole;

typedef struct Weight Weight;
typedef struct StateVar StateVar;

/* A constant's values, row-major; every dim of its type is fixed.  iterations > 1: the values of each
 * iteration of the node's region, in order (the innermost region). */
typedef struct {
        int64_t iterations; /* 1: the same in every iteration */
        int64_t count;      /* elements of one iteration */
        double *value;      /* [iterations][count] */
} Literal;

/* A product that skips terms whose left or right factor is 0, even if the other factor is infinite or NaN. */
enum { ZEROS_LEFT = 1, ZEROS_RIGHT = 2 };
enum { DEAD_ROWS_NAN = 1 }; /* a row of only -inf becomes NaN, not 0 */
/* Kinds of scans. */
enum { SCAN_SUMS, SCAN_MAXIMA };

typedef struct {
        int axis; /* PAD JOIN SUM MAXOF ARGMAX READ APPEND */
        int index; /* INPUT CARRY RESULT; TOP CHOSEN: k; MATMUL: ZEROS_..; SOFTMAX: DEAD_ROWS_NAN; SCAN: its kind */
        int slot;          /* WEIGHT: -1, or a slot fixed by a checkpoint entry */
        Dim dim;           /* SIZE; INDEX: offset; AMONG: size of the last axis */
        Dim before, after; /* PAD */
        double value;      /* PAD */
        View *view;        /* VIEW */
        Weight *weight;    /* WEIGHT */
        Literal *literal;  /* CONST */
        StateVar *state;   /* READ APPEND; SCAN: initial state, or NULL */
        Region *region;    /* REPEAT */
} Attr;

struct Node {
        Op op;
        int id;    /* unique in the graph, < graph->nnode */
        int depth; /* when made: length of the longest path to it */
        /* In the body of an `along`, as elaborated: 1 + the axis, of size 1, that the position has in it; 0:
         * none (position.c). */
        int position;
        int nin;
        Node **in;
        Attr attr;
        Type type;
        Body *body;       /* the body that contains it */
        Span span;        /* source text */
        Instance *where;  /* the innermost block call that created it; NULL at the top */
        const char *name; /* the first variable or `as` name that held it; may be NULL */
};

/* One call of a block: notes about a node print the chain, innermost first. */
struct Instance {
        Instance *outer;
        const char *name;   /* the path element, e.g. "attn" */
        const char *block;  /* the callee, e.g. "attention" */
        const char *scheme; /* "rope": the callee is a member of that scheme; else NULL */
        Span call;
        bool is_whole; /* the call is all of the block that makes it: no path element of its own */
};

/* A name in a model file: of a variable, or of an instance, which has the name of its result.  See
 * tap_add(). */
typedef enum { VARIABLE, INSTANCE, INNER_REPEAT } NamedKind;
typedef struct {
        NamedKind kind;
        const char *name;
        /* the instance of the variable, or the one that contains the call or repeat */
        const Instance *where;
        Node *node; /* the value; INNER_REPEAT: the repeat, whose bodies have their own names */
} ValueName;

struct Body {
        Region *region; /* NULL: the top */
        Node **node;    /* in order */
        int nnode, cap;
        Node **next;      /* [region->ncarry] carried values at the end of the iteration */
        Node **stack;     /* [region->nstack] values stacked over the iterations */
        ValueName *named; /* as elaborated, in the order of the file; passes do not maintain them */
        int nnamed, cap_named;
};

struct Region {
        const char *name; /* "layer" */
        Node *repeat;     /* its REPEAT node; repeat->body is the outer body; NULL: no node needs it */
        int64_t iterations;
        Body **body; /* the distinct bodies */
        int nbody;
        uint8_t *body_of; /* [iterations] */
        int ncarry, nstack;
        /* Of an `along`: 1 + its index in Graph.along; its one body runs for each position in turn, which is
         * not an iteration: `iterations` is 1.  0: a repeat. */
        int along;
        /* of an `along` in state form: [ncarry] the state from which each carried value continues, or NULL */
        StateVar **kept;
};

/* A tensor of the model, with one slot for each iteration of its regions that has it. */
struct Weight {
        int id;            /* index in graph->weight */
        const char *path;  /* "layer.attn.q.w"; slot names contain the iteration: weight_slot_name */
        const char **part; /* path elements; region_part gives those that are names of regions */
        int npart;
        Type type;       /* of one slot; every dim fixed */
        Storage storage; /* its numbers are rounded to this type */
        Storage asked;   /* as requested by --quant; shape or use may not permit it */
        WeightRole role;
        /* layer of its first iteration, and number of layers, among weights of the same role */
        int64_t layer, layers;
        int contracted;               /* the axis that products sum over, along which blocks run; -1: none */
        double centre;                /* declared default: centre of the hash weights */
        const double *centre_values;  /* or NULL: a default given as a tensor, row-major */
        int nregion;                  /* 0: a weight outside of repeats */
        int shared_regions;           /* the last of them that lie within a shared block */
        Region *region[MAX_REGIONS];  /* outermost first */
        int region_part[MAX_REGIONS]; /* for each region: index of its name in `part` */
        int64_t slots;                /* number of iterations that have it */
        /* [product of iterations, outermost slowest]: slot, or -1 if an iteration's body lacks it; NULL at
         * the top */
        int32_t *slot_of;
        int32_t *iteration_of; /* [slots]: the slot's iteration; NULL at the top */
        Span span;
};

typedef struct {
        const char *name;       /* in the model; after planning, in C */
        const char *model_name; /* NULL before planning */
        Type type;
        int64_t bound; /* id(n): values are 0 .. bound - 1; 0: reals */
        int group;     /* inputs with one group are fed together */
        const char *group_name;
        Span span;
} Input;

typedef struct {
        const char *name;       /* in the model; after planning, in C */
        const char *model_name; /* NULL before planning */
        Node *node;
        Span span;
        const char *tap; /* name in the file, or NULL; no other value depends on a tap */
        /* a tap with two growing axes, in state form: value of the columns after the row's position */
        double later;
} Output;

typedef struct {
        const char *name;       /* in the model; after planning, in C */
        const char *model_name; /* NULL before planning */
        int64_t bound;          /* 1 .. bound */
        Span span;
} Named;

/* The position of `along t : count`, 0 to count - 1: in its body the named dimension NAMED_ALONG + i, which
 * occurs in offsets of views and in values of sizes, never in a shape.  Bodies with equal counts share it,
 * since none contains another. */
typedef struct {
        const char *name; /* of the first one */
        Dim count;
} Along;

/* Data that an instance keeps between calls: rows of `time` along axis, or values computed from inputs
 * that are fed separately.  One slot for each iteration of its regions. */
struct StateVar {
        int id;
        const char *name;       /* "layer.attn.k" */
        Type type;              /* of the whole history: the axis has the bound of time */
        int axis;               /* -1: not a history but one value, of a scan or of separately fed inputs */
        uint64_t groups;        /* axis -1: groups of inputs that it depends on */
        int64_t lookahead;      /* row i belongs to position i - lookahead, since the value looks ahead */
        int64_t window;         /* 0: all past positions are read; else only this many */
        Storage storage;        /* type of the stored numbers: F32, F16 or Q8 */
        int64_t group;          /* Q8: number of neighbours in a row that share a scale; divides the row */
        bool per_head;          /* axis 0 counts heads, each stored separately */
        Region *region;         /* NULL: top */
        int64_t slots;          /* number of iterations of its regions that have it */
        const int32_t *slot_of; /* [product of iterations]: slot, or -1; NULL: all iterations have it */
};

typedef enum { SETTING_NUMBER, SETTING_LIST, SETTING_TEXT, SETTING_BOOL } SettingKind;
typedef struct {
        const char *name;
        SettingKind kind;
        double number; /* also for bools */
        const char *text;
        double *list;
        int nlist;
        Span span;
} Setting;

/* A loop around the model: `loop generate { stop 2 }`. */
typedef struct {
        const char *name;
        Setting *setting;
        int nsetting;
        bool inherited; /* not declared by the model itself */
        Span span;
} Loop;

/* The parts of a model that a loop uses, found by driver/loops.c. */
typedef struct {
        const Input *input;
        int output;                /* index in the graph */
        const Input *step, *class; /* of denoise; class: may be NULL */
        const Input *types;        /* of classify and answer: the input of token types; NULL: none */
        const Input *padding;      /* of loop rank: 0 for tokens that are not seen; NULL: none */
} LoopParts;

/* A checkpoint entry: the published tensor `name` equals `expr`, composed of WEIGHT nodes with a fixed
 * slot, views, joins, + constant and x constant.  Entries of several iterations may share an expression: then
 * the slot of a WEIGHT node n is slot[n->attr.index]. */
typedef enum { CK_MAP, CK_DROP, CK_OPTIONAL } CkKind;
typedef struct {
        CkKind kind;
        const char *name;    /* with {i} replaced */
        Node *expr;          /* NULL for drop; of an optional tensor the weights that it repeats, or NULL */
        const int32_t *slot; /* NULL: attr.slot of the nodes */
        Span span;
} CkEntry;

typedef struct {
        /* left NULL: `require condition`, right is the condition (a scalar bool or a tensor of bools) */
        Node *left, *right;
        double within;   /* < 0: exact */
        bool want_equal; /* false: `!=`, at least one element differs by more than `within` */
        const char *message;
        Span span;
} Requirement;

struct Graph {
        Arena *arena;
        const char *name; /* of the model or the test */
        const Source *source;
        Span stated; /* the model's name in its file; or nowhere */
        Body *top;
        int nnode;   /* number of ids in use */
        int deepest; /* the largest Node.depth */
        Named named[MAX_NAMED];
        int nnamed;
        Along along[MAX_ALONG];
        int nalong;
        int time, past; /* named dimensions after the causal pass; -1 before */
        int64_t block;  /* after it: each call must end with a block of this many positions; 0: it need not */
        Input *input;
        int ninput, ngroup;
        uint64_t fed_separately; /* after entries: groups of inputs that are fed separately */
        /* [npart] sets of groups that have a part of the top body, in its order; the calls are last */
        uint64_t *part;
        int npart;
        Output *output;
        int noutput;
        Weight **weight;
        int nweight;
        StateVar **state;
        int nstate;
        /* tensors of a checkpoint for iterations that this model does not have are left out: :set layers 3 */
        bool first_iterations;
        Setting *hyper; /* the model's hyperparameters and their values, in order of declaration */
        int nhyper;
        Loop *loop;
        int nloop;
        CkEntry *entry; /* empty: tensors have the model's names */
        int nentry;
        Requirement *require; /* tests only */
        int nrequire;
        /* by id: set of outputs that need the node (output_bit); all outputs, if a state needs it */
        uint64_t *wanted;
        int nwanted;       /* number of nodes in `wanted` */
        Node **stands_for; /* by id: the node that it is a copy of, for taps, or NULL */
        /* [nmixture] storage type of each slot of each weight, as elaborated; NULL: no weight has several
         * (passes/mixture.c) */
        uint8_t *mixture;
        int64_t nmixture;
};

/* Names in the model file.  An output that is a tap has the tap's name. */
static inline const char *input_name(const Input *in)
{
        return in->model_name ? in->model_name : in->name;
}

static inline const char *output_name(const Output *o)
{
        return o->tap ? o->tap : o->model_name ? o->model_name : o->name;
}

#define WANTED_BY_TAPS (UINT64_C(1) << 63)
/* Nodes that no output needs; they are computed in all calls. */
#define WANTED_BY_NOTHING (~(UINT64_C(1) << 62))

/* graph.c */
Graph *graph_new(Arena *arena, const char *name);
Body *body_new(Graph *g, Region *region);
Node *node_new(Graph *g, Body *body, Op op, int nin, Node *const *in, Attr attr, Type type, Span span,
               Instance *where);
/* Slots of a value in the body: the number of outer iterations that contain it, and the slot of each
 * (StateVar.slot_of). */
int64_t iteration_slots(Arena *a, const Body *body, const int32_t **slot_of);
void body_append(Graph *g, Body *body, Node *n); /* for passes that move nodes; node_new calls it */
/* An output's bit in sets of outputs.  All taps share the bit WANTED_BY_TAPS. */
uint64_t output_bit(const Graph *g, int output);
bool graph_has_blocks(const Graph *g);             /* whether a weight is in blocks that codes multiply */
bool is_tapped(const Graph *g, const Node *n);     /* whether it is computed only for taps */
bool is_fed_separately(const Graph *g, int group); /* whether its inputs are constant over many calls */
/* Whether a SCAN is in state form: it reads or stores data between calls. */
bool keeps_scan(const Node *n);
/* position.c: the axis of a node's result that is the position's, by those of its inputs: Node.position. */
int position_of_result(const Node *n);
/* The number of the positions of a region, an `along`. */
Dim positions_of(const Graph *g, const Region *r);
/* The `along` around a body, or NULL. */
const Region *along_around(const Body *b);
/* Whether it is an `along` in state form: it continues from the values that the last call carried. */
bool keeps_carried(const Node *n);
/* stage.c: whether the node itself takes the position of an `along`, as a number or for an offset */
bool takes_position(const Node *n);
bool names_position(Dim d);                            /* whether it depends on the position of an `along` */
bool is_visible_from(const Node *n, const Body *from); /* whether n's body is `from` or an outer one */
const Loop *graph_loop(const Graph *g, const char *name);       /* NULL: the model has no such loop */
const Setting *loop_setting(const Loop *l, const char *name);   /* NULL: not set, or l is NULL */
const char *loop_text_setting(const Loop *l, const char *name); /* the same for a text */
/* the same for a number or a bool; `without`: of a loop that does not set it */
double loop_number_setting(const Loop *l, const char *name, double without);
/* List of ids in a setting of `loop generate`, ended by -1; in the graph's arena. */
const int32_t *loop_tokens(const Graph *g, const char *setting);
/* First token of a text without a tokenizer: the loop's start, else 1, or 0 if that is the only id. */
int32_t start_token(const Graph *g);
/* element i of a CONST in an iteration of its region */
double literal_at(const Node *n, int64_t iteration, int64_t i);

/* type.c: dims, shapes */
Dim dim_fixed(int64_t n);
Dim dim_named(int which);
Dim dim_add(Dim a, Dim b);
Dim dim_sub(Dim a, Dim b);
Dim dim_scale(Dim a, int64_t by);
bool dim_equal(Dim a, Dim b);
bool dim_is_fixed(Dim a);
bool dim_is(Dim a, int64_t n);                 /* whether a is fixed and equal to n */
bool dim_mul(Dim a, Dim b, Dim *product);      /* false: not affine, or too large */
bool dim_div(Dim a, Dim b, Dim *quotient);     /* false: not exact */
int64_t dim_value(Dim a, const int64_t *size); /* size[MAX_NAMED]: sizes of the named dimensions */
int64_t dim_bound(const Graph *g, Dim a);      /* maximum over all sizes */
int64_t dim_least(const Graph *g, Dim a);      /* minimum; `past` may be 0, other sizes are at least 1 */
bool dim_is_positions(const Graph *g, Dim d);  /* whether d is the positions of a call of a causal graph */
bool type_has_positions(const Graph *g, const Type *t);
bool type_is_dense(const Type *t); /* whether an inner axis is named: row-major strides depend on the call */
int64_t type_count(const Type *t, const int64_t *size); /* elements */
/* whether `times` of it have at most 2^42 elements */
bool type_is_bounded(const Graph *g, const Type *t, int64_t times);
bool type_is_fixed(const Type *t);
bool type_equal(const Type *a, const Type *b); /* dtype and shape */
bool same_dims(const Type *a, const Type *b);  /* shape */
/* shapes aligned at the right; false: they do not match */
bool type_broadcast(const Type *a, const Type *b, Type *out);
const char *dim_text(Arena *a, const Graph *g, Dim d); /* "time + 4" */
/* "[heads, time, 64]" with numbers for fixed dims */
const char *type_text(Arena *a, const Graph *g, const Type *t);
const char *shape_text(Arena *a, int rank, const int64_t *shape); /* "[64, 172]" */
/* "[2, 3]" of element i, row-major */
const char *element_index_text(Arena *a, int rank, const int64_t *shape, int64_t i);
const char *dtype_name(DType dtype);
const char *setting_text(Arena *a, const Setting *s); /* dump.c: its value, as in a model file */

/* print_tensor.c: prints in the language, with the shape after `#`, so that the text is valid input.
 * Large tensors are abridged.  indent: columns before it on the line. */
typedef struct {
        DType dtype;
        int rank;
        const int64_t *dim; /* [rank] */
        const double *data; /* row-major */
} Shown;
void print_tensor(FILE *f, const Shown *t, int indent);
void print_shortest(FILE *f, double x);

/* view.c: makes and combines affine maps.  Functions return x itself if nothing changes, one map if x is a
 * view that can be combined with the new one, and NULL if the move cannot be expressed or exceeds the
 * bounds of x. */
Node *base_of(const Node *n); /* the node that n is a view of, through all views; else n */
View *view_identity(Arena *a, const Type *in);
/* canonical form: equal maps compare equal */
bool view_equal(const View *a, const View *b, int rank_in);
/* type of the output; false: a size is not affine */
bool view_type(const View *v, const Type *in, Type *out);
/* Any map from rank_out axes to x, made canonical and combined with x's own map. */
Node *view_apply(Graph *g, Body *b, Node *x, const View *v, int rank_out, Span span, Instance *where);
/* outer after inner; false: not a single map */
bool view_compose(Arena *a, const View *outer, const View *inner, const Type *mid, View *out);
void view_index(const View *v, const int64_t *size, const int64_t *out_index, int rank_out, int rank_in,
                int64_t *in_index);
/* perm[output axis] = input axis */
Node *view_transpose(Graph *g, Body *b, Node *x, const int *perm, Span span, Instance *where);
Node *view_slice(Graph *g, Body *b, Node *x, int axis, Dim first, Dim count, Span span, Instance *where);
/* NULL: not expressible */
Node *view_reshape(Graph *g, Body *b, Node *x, const Type *to, Span span, Instance *where);
/* [.., n*d] -> [n, .., d] */
Node *view_split(Graph *g, Body *b, Node *x, int64_t n, Span span, Instance *where);
Node *view_merge(Graph *g, Body *b, Node *x, Span span, Instance *where); /* [n, .., d] -> [.., n*d] */
/* [g, ..] -> [n, ..], each repeated n/g times */
Node *view_spread(Graph *g, Body *b, Node *x, int64_t n, Span span, Instance *where);
/* adds leading axes of size 1 */
Node *view_rank(Graph *g, Body *b, Node *x, int rank, Span span, Instance *where);
/* removes an axis of size 1 */
Node *view_drop(Graph *g, Body *b, Node *x, int axis, Span span, Instance *where);
Node *view_broadcast(Graph *g, Body *b, Node *x, const Type *to, Span span, Instance *where);

/* build.c: makes a node and infers its shape.  On a shape error it reports both shapes and the chain of
 * instances, and returns NULL.  `attr` may be NULL if the op needs none.  CONST, INDEX and CARRY have
 * their own type: node_new. */
Node *build(Graph *g, Body *b, Diag *diag, Op op, int nin, Node *const *in, const Attr *attr, Span span,
            Instance *where);
/* a scalar CONST, rank 0 */
Node *build_number(Graph *g, Body *b, double value, DType dtype, Span span, Instance *where);
void note_instances(Diag *diag, const Instance *where); /* "in attention, called here as attn" ... */
/* Reports an error at `span` of the instance `where`.  In the library: at the line of the user's file that led
 * there, if one of `in` or a call has one, else at the model's name; notes give the lines of the library. */
void report_fault(Diag *diag, const Graph *g, Span span, const Instance *where, int nin, Node *const *in,
                  const char *text);
/* type of a node that is not yet made */
bool infer_type(Graph *g, Diag *diag, const Node *draft, Type *type);

/* verify.c: checks the graph's invariants after a pass; on a violation, a bug in lathe, prints the node
 * and aborts. */
void verify(const Graph *g, const char *after);

/* dump.c */
void graph_dump(FILE *f, const Graph *g);
void graph_dump_json(FILE *f, const Graph *g); /* dump_json.c */
/* A shape as numbers, and texts such as "time" for sizes that are known only at run time. */
json_t *shape_json(Arena *a, const Graph *g, const Type *t);
void graph_print_node(FILE *f, const Graph *g, const Node *n);

/* "layer.3.attn.q.w": the iteration follows the region's name */
const char *weight_slot_name(Arena *a, const Weight *w, int64_t slot);
void weight_iterations(const Weight *w, int64_t slot, int64_t iteration[4]); /* [nregion], outermost first */

/* Whether a finite number rounds to an infinite f32: it is at least halfway from the largest f32 to the
 * next power of two. */
static inline bool beyond_f32(double x)
{
        double size = x < 0 ? -x : x;
        return size >= 0x1.ffffffp+127 && size <= 0x1.fffffffffffffp+1023;
}

/* interpret.c: evaluates a graph in double precision. */
typedef struct {
        int rank;
        int64_t dim[MAX_RANK];
        double *data; /* row-major */
} Tensor;
typedef struct {
        void *from;
        /* Fills value[count of w->type] with slot `slot` of w.  False on error. */
        bool (*weight)(void *from, const Weight *w, int64_t slot, double *value);
        /* reason of the last failure, unless memory or a truncated file is the cause; may be NULL */
        const char *(*why)(const void *from);
} WeightSource;
typedef struct InterpState InterpState; /* values of state variables, for graphs after the causal pass */
InterpState *interp_state_new(const Graph *g);
void interp_state_free(InterpState *s);
/* The rounded state of another program: element index[] of a slot and, of Q8, its scale.  NAN: unknown. */
typedef struct {
        void *from;
        double (*value)(void *from, const StateVar *s, int64_t slot, const int64_t *index, double *scale);
} KeptSource;
/* If a number is so close to the middle of two rounded ones that float errors decide between them, the
 * state takes the number of the source.  NULL: it does not. */
void interp_state_follow(InterpState *s, const KeptSource *kept);
/* input[i] is for graph->input[i], with shapes given by size[]; output[i] is filled (malloc'd data:
 * tensor_free). Returns NULL, or an error message in the arena (out of memory, bad index ...). */
const char *interpret(const Graph *g, const int64_t *size, const Tensor *input, const WeightSource *weights,
                      InterpState *state, Tensor *output);
/* The same for any nodes of the top body. */
const char *interpret_nodes(const Graph *g, const int64_t *size, const Tensor *input,
                            const WeightSource *weights, InterpState *state, Node *const *want, int nwant,
                            Tensor *output);
/* The same, with every computed value rounded to float: shows the error of float arithmetic. */
const char *interpret_rounded(const Graph *g, const int64_t *size, const Tensor *input,
                              const WeightSource *weights, InterpState *state, Tensor *output);
void tensor_free(Tensor *t);

/* evaluate.c: computes one op in double precision, for every op whose result depends only on its inputs,
 * the sizes and its attributes: SIZE, INDEX and the families MOVE, POINT, REDUCE and CONTRACT.  in[i] and
 * out: row-major, of the nodes' types. */
void evaluate(const Node *n, const int64_t *size, const double *const *in, double *out);

/* scan.c: the inputs of a SCAN by name. */
typedef struct {
        Node *v, *q, *k, *powers; /* [.., T, width], [.., T, depth] or NULL, [.., 1, SCAN_POWERS] or NULL */
        int64_t heads, depth, width; /* heads: product of the leading axes; depth 0: without q and k */
        bool maxima;
} ScanInputs;
enum { SCAN_POWERS = 65 }; /* c^0 to c^64 */
ScanInputs scan_of(const Node *n);
/* shape of the state that an instance keeps for it: [units, floats], as in runtime/scan_state.h */
Type scan_state(const Node *n);
int64_t scan_sum_count(const Node *n);        /* elements of `sums` */
void scan_start(const Node *n, double *sums); /* sums of no rows */
/* sums: of all earlier rows, for each head [depth][width]; updated to include these rows. */
void evaluate_scan(const Node *n, const int64_t *size, const double *const *in, double *sums, double *y);

/* Value of a pointwise op on numbers; NaN for other ops. */
double op_of(Op op, double a, double b, double c);

/* contracted.c: the weight that is a product's right operand, whole, maybe transposed, and the axis that
 * is summed over; or NULL. */
Node *product_weight(Node *right, int *contracted);
/* Size of the groups in which a product with weights in blocks rounds its left operand to codes; 0: it does not. */
int rounded_group(const Node *product);
/* Whether the rows of a product's left operand are counted by two sizes of the call.  Such a product is
 * computed in several passes over its rows, and its weight has no blocks. */
bool has_rows_in_turns(const Node *left);
/* A product's right operand [heads.., depth, outputs] that is a weight split by heads: each head has a
 * part of `axis`, which is the summed one (depth) or that of the outputs.  The weight's other axis is
 * whole. */
typedef struct {
        Node *weight;
        int axis;                      /* the weight's axis that heads divide */
        bool is_depth;                 /* whether it is summed over */
        int64_t first, step[MAX_RANK]; /* a part begins at first + step * index, by leading axes */
        int64_t depth, outputs;
} WeightByHeads;
bool weight_by_heads(const Node *right, WeightByHeads *found); /* contracted.c */
void find_contracted(const Graph *g);                          /* sets Weight.contracted of all weights */
void find_roles(const Graph *g); /* roles.c: sets Weight.role of all weights of an elaborated graph */

/* uses.c: users of each node. */
typedef struct {
        Node ***user; /* by id: nodes that have it as an input */
        int *nuser;
        bool *leaves; /* by id: leaves an iteration, maybe that of an outer body */
        bool *pinned; /* by id: leaves an iteration, or is an output */
        int *place;   /* by id: index in its body */
        Node **all;   /* every node; a body's nodes follow those of its outer body */
        int n;
} Uses;
Uses *uses_of(Arena *a, const Graph *g);

/* Stages: the dependencies of each node, which decide how early it can be computed. */

typedef struct {
        bool weights;     /* on weights */
        uint64_t groups;  /* on inputs: set of groups (Input.group) */
        bool state;       /* on data of earlier calls */
        unsigned named;   /* on indices along these named dimensions; past rows count as time */
        unsigned lengths; /* on these lengths: sizes, and folds over such axes */
        /* on the iteration of an outer repeat: weights with slots, constants per iteration, carried values */
        bool iterations;
} Stage;

/* The named dimensions on whose lengths an op depends: it folds over them, or counts from their ends. */
unsigned stage_lengths(const Graph *g, const Node *n);

/* [g->nnode], by id */
Stage *stage_of(Arena *arena, const Graph *g);

/* Moves every node that does not depend on the iteration, and whose inputs are outside, out of its repeat.
 * Changes g. */
Graph *hoist(Graph *g);

/* Costs of a model, counted exactly from its graph without running it.
 *
 * The counting rule.  A multiply-add is 2 FLOPs.  Counted separately:
 *
 *      product    x @ weights
 *      pair       products of two computed tensors: attention's scores and its weighted sum.  Masked
 *      positions count.
 *      pointwise  1 for each output element of an elementwise op and each input element of a sum or
 *      maximum; 5 for each element of a softmax
 *
 * Values that depend on no input (tables, folded weights) are computed once and not counted.  Moving
 * elements is free.
 *
 * All numbers are int64_t; on overflow they stay at INT64_MAX. */

enum { COST_DEGREE = MAX_RANK + 2 };

/* sum of factor[i] n^i */
typedef struct {
        int64_t factor[COST_DEGREE + 1];
} Polynomial;

typedef struct {
        Polynomial product, pair, pointwise;
} Flops;

/* FLOPs of a call, as polynomials in the named dimension `over` (-1: constants); the other sizes are
 * given. */
Flops cost_flops(const Graph *g, const int64_t *size, int over);
int64_t polynomial_at(const Polynomial *p, int64_t n);
/* By node id: FLOPs of one iteration, for these sizes (only factor[0]). */
Flops *flops_by_node(Arena *a, const Graph *g, const int64_t *size);

/* FLOPs of the first position: products and pairs with time = 1, past = 0, and other sizes at their
 * bounds. */
int64_t cost_per_token(const Graph *g);

/* Number of values that an instance keeps between calls, at the bound of time, in one state and in all.
 * held: number of positions that are held, by state; 0: all. */
int64_t state_count(const Graph *g, const StateVar *s, int64_t held);
int64_t cache_count(const Graph *g, const int64_t *held);

/* Integers: the bounds of each node's values, and so the type in which they are exact.
 *
 *   up to 2^24      floats, like other values
 *   below 2^53      doubles: "wide" integers
 *   beyond, or of   doubles for floor() of a real without a bound; else an error: the interpreter could not
 *   unknown bound   compute it either
 *
 * The bounds are those of float arithmetic and of exact integers; NaN and divisions by zero are ignored. */

typedef struct {
        double low, high;
} Interval;

/* By node id.  For a node in a repeat: over all iterations. */
Interval *intervals_of(Arena *a, const Graph *g);
bool is_wide(const Interval *of, const Node *n); /* whether it is an integer that floats may not represent */
/* whether it is computed in doubles, for itself or for an intermediate value */
bool computes_wide(const Interval *of, const Node *n);

/* False: a node may have integers that are not exact; this is reported. */
bool integers_check(const Graph *g, Diag *diag);
/* Products take reals: converts their wide integers.  Returns whether there were any. */
bool wide_operands_as_reals(Graph *g);

/* Gates: factors that a mask sets to 0, and their consequences. */

/* A factor of a value [.., d], itself [.., 1], that is exactly 0 wherever `top` is false. */
typedef struct {
        Node *factor;
        const Node *top; /* the TOP node of its mask */
} Gate;

bool find_gate(Node *value, Gate *gate); /* false: no gate */
/* The factor [.., 1] of a row of all results of a body; a row where it is 0 has no effect.  NULL: none. */
Node *gate_of_body(const Body *b);

/* The value v that an iteration adds to a carried value: carry + v, in all rows or some.  NULL: it does
 * not add. */
Node *added_to_carry(const Body *b, int index);

/* Number of the region's iterations that add anything at one position: k of `top` if it selects among as
 * many iterations; else iterations. */
int64_t iterations_in_use(const Region *r);

/* Taps: values of a model by their names in its file, as further outputs.
 *
 * A name is the path of instances and a variable of the last one, with an iteration for each repeat on the
 * way:
 *
 *      x                       a variable of the model
 *      layer[1].x              a variable of a repeat, at the end of iteration 1; layer[i].x (or layer.x):
 *      of all iterations, stacked, outermost first
 *      layer[1].attn.scores    a variable of the block called as attn
 *      layer[1].attn           the value that this block returned
 *
 * Parts of a path may be omitted if only one value is possible: layer[1].scores, scores.
 *
 * A variable that is assigned more than once has its last value; variables take precedence over instances.
 * A name with several values, as of two calls of one block without weights, is not valid.
 *
 * Names are those of the elaborated graph; passes do not maintain them, so taps are added before. */

typedef struct {
        const char *name; /* "layer[i].attn.scores" */
        Type type;        /* of all iterations: with a leading axis for each repeat */
        int at;           /* order of computation */
        /* false: some iterations lack it, or have another shape; it is tapped by iteration */
        bool in_all_iterations;
} Tap;

/* All names except those of inputs, outputs and weights, in the order of the file.  *n: their number. */
Tap *taps_of(Arena *arena, Graph *g, int *n);

/* Makes the value the last output, marked as a tap.  Returns its index in g->output, or that of an
 * existing output of this name.  -1: error, with the reason in *why and a suggestion if a name is similar. */
int tap_add(Graph *g, const char *name, const char **why);
/* The same for a list "layer[0].attn.weights,final". */
bool taps_add(Graph *g, const char *names, const char **why);

/* lens.c: adds outputs for the logit lens: the first output's last row [1, ..], computed as if the last
 * repeat at the top ended after each iteration.  They are taps, first layer first; *layers is the repeat's
 * name.  Returns their number, or -1 with the reason in *why.  Before passes. */
enum { MAX_LENS = 1024 };
int lens_add(Graph *g, const char **layers, const char **why);

/* product_taps.c: the operands that products multiply with weights, as taps.  Before passes. */
typedef struct {
        const Node *weight, *product;
        /* index of the output: the product's left operand, with a leading axis for each outer repeat */
        int output;
        Node *gate; /* the factor of each row of the product, which has no effect where that is 0; or NULL */
        int gate_output; /* index of its output, as `output` */
} ProductTap;
ProductTap *product_taps_add(Graph *g, int *n); /* [*n] */

/* A model's attentions, found by their formula: softmaxes that weigh values in a product. */

/* One attention, in the order of execution, counted from 0 over the iterations of repeats. */
typedef struct {
        Node *softmax;
        Body *body;
        int64_t iteration[4]; /* of outer repeats, outermost first */
        int niteration;
        const char *path; /* prefix of names in its body: "layer[2]." */
        /* name of its block: "layer[2].attn.dot_product"; "": the model itself */
        const char *name;
} AttentionSite;
/* *n: number of attentions */
bool attention_find(Graph *g, Arena *a, int which, AttentionSite *found, int *n);

/* origin.c: the input element to which the query of a row of attention weights corresponds, and the key of
 * a column. index, origin: [MAX_RANK], of the softmax and of the input; stage: of stage_of().  False: no
 * input element, as for a class token, or an op that hides it. */
bool query_origin(const Graph *g, const Stage *stage, const int64_t *size, const AttentionSite *at, int input,
                  const int64_t *index, int64_t *origin);
bool key_origin(const Graph *g, const Stage *stage, const int64_t *size, const AttentionSite *at, int input,
                const int64_t *index, int64_t *origin);

/* scores.c: the scores and weights of attention. */
typedef struct {
        Node **node; /* the nodes from the weights to the core */
        int n;
        Node *core;    /* product of two tensors */
        Node *weights; /* a softmax, or its equivalent; NULL: none */
        /* number of products that mix heads; they are among the nodes, as is the softmax (mixed_heads.c) */
        int mixes;
        bool all_weigh; /* a key has a weight even if it is masked, because heads are mixed */
} Scores;
/* scores of a softmax, or scores that are the weights; NULL: not weights */
Node *scores_under(const Node *weights);
bool scores_hold(const Scores *s, const Node *n);
/* NULL, or the reason why the product, whose left operand has these scores, is not attention.  stored: by
 * id, nodes that are not part of an expression; or NULL. */
const char *find_scores(Arena *a, const Graph *g, const Node *product, Node *scores, const bool *stored,
                        Scores *s);

const char *find_mixed_heads(Arena *a, const Graph *g, const Node *product, const bool *stored, Scores *s);
/* find_scores or find_mixed_heads */
const char *find_attention(Arena *a, const Graph *g, const Node *product, const bool *stored, Scores *s);
/* The same; fails too if its values are used elsewhere, so that they must be stored. */
const char *why_no_attention(Arena *a, const Graph *g, const Uses *uses, const Node *product,
                             const bool *stored, Scores *s);
/* choice.c: the TOP (or choice of blocks) or AMONG node outside of which all scores are -inf; NULL: none */
Node *find_choice(Node *scores, Op op);
/* The TOP node whose blocks of *size keys a view reads as keys; NULL: it is no choice of blocks. */
Node *choice_of_blocks(const Node *choice, int64_t *size);
/* The reason why attention with these scores can't read only the keys that `top` chooses; NULL: it can. */
const char *why_not_chosen(const Graph *g, const Scores *s, const Node *choice);
/* whether it is a weight of few bits whose codes products read directly */
bool is_read_as_codes(const Node *n);

/* Adds the weights of an attention as the last output.  Returns its index, or -1 with *why.  Before
 * passes, as taps. */
int attention_tap_add(Graph *g, int which, const char **why);
/* The same for all attentions, one in each iteration of a repeat, or a single one: [iterations, heads,
 * rows, columns], or without the first axis. */
int attention_taps_add(Graph *g, const char **why);
#endif
