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

/* A model declares at most MAX_DECLARED named dimensions; the rest of a size's are of passes: past, and those of kernels.h. */
enum { MAX_DECLARED = 6, MAX_NAMED = 11, MAX_RANK = 8, MAX_ATOM = 16 };

typedef enum { REAL, INT, BOOL } DType;

/* A size: fixed + sum over named dimensions of per[i] * its size.  Named dimensions have a bound; see Graph.named. */
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
        const char *vector; /* "add": v_add() computes it by lane; "": nothing does */
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
/* How numbers lie in memory: those of weights, of buffers; every load and store asks. */
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
        int codes;
        const char *one, *set, *load, *gather, *gather_far, *store; /* see storage.def */
} StorageInfo;
extern const StorageInfo storage_info[STORAGE_COUNT];
#define WEIGHT_STORAGES (STORAGE_Q6_K + 1)          /* the first ones are those of weights */
bool is_in_blocks(Storage s);                       /* several elements have one scale */
int64_t storage_size(Storage s, int64_t elements);  /* bytes of whole blocks that hold them */
int64_t storage_elements(Storage s, int64_t bytes); /* in whole blocks */

/* What a product with a weight is for, as the graph shows it: see roles.c. */
typedef enum { ROLE_NONE, ROLE_HEAD, ROLE_DOWN, ROLE_JOINT, ROLE_VALUES } WeightRole;

typedef struct Weight Weight;
typedef struct StateVar StateVar;

/* A constant's values, row-major; every dim of its type is fixed.  iterations > 1: the values of each iteration of the region that
 * the node stands in, one after another (the iteration is that of the innermost region). */
typedef struct {
        int64_t iterations; /* 1: the same in every iteration */
        int64_t count;      /* elements an iteration */
        double *value;      /* [iterations][count] */
} Literal;

/* A product that passes over terms whose left or right factor is 0, whatever the other factor is: 0 x NaN is not added. */
enum { ZEROS_LEFT = 1, ZEROS_RIGHT = 2 };
enum { DEAD_ROWS_NAN = 1 }; /* a row that is -inf throughout becomes NaN, not 0 */
/* Kinds of scans. */
enum { SCAN_SUMS, SCAN_MAXIMA };

typedef struct {
        int axis;  /* PAD JOIN SUM MAXOF ARGMAX READ APPEND */
        int index; /* INPUT CARRY RESULT; TOP: k; MATMUL: ZEROS_..; SOFTMAX: DEAD_ROWS_NAN; SCAN: its kind */
        int slot;  /* WEIGHT: -1, or a slot fixed by a checkpoint entry */
        Dim dim;   /* SIZE; INDEX: what is added */
        Dim before, after; /* PAD */
        double value;      /* PAD */
        View *view;        /* VIEW */
        Weight *weight;    /* WEIGHT */
        Literal *literal;  /* CONST */
        StateVar *state;   /* READ APPEND; SCAN: NULL, or what it goes on from */
        Region *region;    /* REPEAT */
} Attr;

struct Node {
        Op op;
        int id;    /* unique in the graph, < graph->nnode */
        int depth; /* as it was made: how many nodes stand one on another, up to it */
        int nin;
        Node **in;
        Attr attr;
        Type type;
        Body *body;       /* where it stands */
        Span span;        /* source text */
        Instance *where;  /* the chain of blocks it was elaborated through; NULL at the top */
        const char *name; /* the variable or `as` name that first held it; may be NULL */
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

/* What a model file calls a value: a variable, or an instance, whose name is that of its result.  See tap_add(). */
typedef enum { VARIABLE, INSTANCE, INNER_REPEAT } NamedKind;
typedef struct {
        NamedKind kind;
        const char *name;
        const Instance
                *where; /* the instance whose variable it is, or in which the call or the repeat stands */
        Node *node;     /* the value; INNER_REPEAT: the repeat, whose bodies have names of their own */
} ValueName;

struct Body {
        Region *region; /* NULL: the top */
        Node **node;    /* in order */
        int nnode, cap;
        Node **next;      /* [region->ncarry] the carried values as they leave the iteration */
        Node **stack;     /* [region->nstack] values stacked over the iterations */
        ValueName *named; /* as elaborated, in the order of the file; passes do not keep them */
        int nnamed, cap_named;
};

struct Region {
        const char *name; /* "layer" */
        Node *repeat;     /* its REPEAT node; repeat->body is the body around it; NULL: nothing needed it */
        int64_t iterations;
        Body **body; /* the distinct bodies */
        int nbody;
        uint8_t *body_of; /* [iterations] */
        int ncarry, nstack;
};

/* A tensor of the model: one slot for each iteration of the regions around it that has it. */
struct Weight {
        int id;            /* index in graph->weight */
        const char *path;  /* "layer.attn.q.w"; slot names insert the iteration: weight_slot_name */
        const char **part; /* path elements, and for each whether it is a region's name: see region_part */
        int npart;
        Type type;       /* of one slot; every dim fixed */
        Storage storage; /* what its numbers are rounded to */
        Storage asked;   /* what --quant wanted, which its shape or its use may not allow */
        WeightRole role;
        int64_t layer,
                layers; /* of all layers with a weight of the role: its first iteration's, and how many there are */
        int contracted; /* the axis that products sum over, if it is one: blocks run along it; else -1 */
        double centre;  /* declared default: hash weights are centred on it */
        const double *centre_values; /* or NULL: a default given as a tensor, row-major */
        int nregion;                 /* 0: a weight of the top */
        Region *region[4];           /* outermost first */
        int region_part[4];          /* which part each region's name is */
        int64_t slots;               /* how many iterations have it */
        /* [product of iterations, outermost slowest]: slot, or -1 where an iteration's body lacks it; NULL for the top */
        int32_t *slot_of;
        int32_t *iteration_of; /* [slots]: the iteration that has it; NULL for the top */
        Span span;
};

typedef struct {
        const char *name;       /* in the model; from planning on, in C */
        const char *model_name; /* NULL before planning */
        Type type;
        int64_t bound; /* id(n): values are 0 .. bound - 1; 0: reals */
        int group;     /* inputs with one group are fed together */
        const char *group_name;
        Span span;
} Input;

typedef struct {
        const char *name;       /* in the model; from planning on, in C */
        const char *model_name; /* NULL before planning */
        Node *node;
        Span span;
        const char *tap; /* NULL; or its name in the file: what else is computed does not depend on it */
        double later; /* of a tap with two growing axes, in state form: what stands in columns after the row's position */
} Output;

typedef struct {
        const char *name;       /* in the model; from planning on, in C */
        const char *model_name; /* NULL before planning */
        int64_t bound;          /* 1 .. bound */
        Span span;
} Named;

/* What an instance keeps between calls: rows of `time` along axis, or what was computed of inputs that are fed separately; in a
 * slot for each iteration of the regions around it. */
struct StateVar {
        int id;
        const char *name;       /* "layer.attn.k" */
        Type type;              /* of the whole history: the axis has the bound of time */
        int axis;               /* -1: no history but one value, a scan's or of what is fed separately: */
        uint64_t groups;        /* the groups that it depends on */
        int64_t late;           /* row i is of position i - late: what is kept looks ahead by that much */
        int64_t window;         /* 0: all of the past; else only this many positions back are read */
        Storage storage;        /* what its numbers are rounded to when they are kept: F32, F16 or Q8 */
        int64_t group;          /* Q8: how many neighbours in a row share a scale, which they divide */
        bool apart;             /* axis 0 counts heads, each of which lies by itself */
        Region *region;         /* NULL: top */
        int64_t slots;          /* iterations of the regions around it that have it */
        const int32_t *slot_of; /* [product of iterations]: slot, or -1; NULL: all iterations have it */
};

typedef enum { SETTING_NUMBER, SETTING_LIST, SETTING_TEXT, SETTING_BOOL } SettingKind;
typedef struct {
        const char *name;
        SettingKind kind;
        double number; /* bools too */
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
        bool inherited; /* the model itself says nothing of it */
        Span span;
} Loop;

/* What of a model is a loop's, as driver/loops.c finds it. */
typedef struct {
        const Input *input;
        int output;                /* of the graph */
        const Input *step, *class; /* of denoise; class: NULL, there is none */
} LoopParts;

/* A checkpoint entry: the published tensor `name` is `expr`, made of WEIGHT nodes with a fixed slot, views, joins,
 * + constant and x constant. */
typedef enum { CK_MAP, CK_DROP, CK_OPTIONAL } CkKind;
typedef struct {
        CkKind kind;
        const char *name; /* {i} filled in */
        Node *expr;       /* NULL for drop and optional */
        Span span;
} CkEntry;

typedef struct {
        Node *left,
                *right; /* left NULL: `require condition`, right is the condition (a scalar bool or a tensor of them) */
        double within;   /* < 0: exact */
        bool want_equal; /* false: `!=`, i.e. must differ by more than `within` somewhere */
        const char *message;
        Span span;
} Requirement;

struct Graph {
        Arena *arena;
        const char *name; /* the model's, or the test's */
        const Source *source;
        Body *top;
        int nnode;   /* ids given out */
        int deepest; /* the largest Node.depth */
        Named named[MAX_NAMED];
        int nnamed;
        int time, past; /* after the causal pass: which named dimensions; -1 before */
        Input *input;
        int ninput, ngroup;
        uint64_t fed_separately; /* after entries: the groups that are given once for many calls; */
        uint64_t *
                part; /* [npart] the sets of groups that have a part of the top body, in its order; the calls last */
        int npart;
        Output *output;
        int noutput;
        Weight **weight;
        int nweight;
        StateVar **state;
        int nstate;
        Setting *hyper; /* the model's hyperparameters with their values, in order of declaration */
        int nhyper;
        Loop *loop;
        int nloop;
        CkEntry *entry; /* empty: tensors are published under our own names */
        int nentry;
        Requirement *require; /* tests only */
        int nrequire;
        uint64_t *wanted;  /* by id: the outputs that need it (output_bit); all, where a state does */
        int nwanted;       /* nodes that `wanted` is for */
        Node **stands_for; /* by id: the node that it is a copy of, for taps, or NULL */
        /* [nmixture] the storage of each slot of each weight, as elaborated; NULL: no weight has several (see passes/mixture.c) */
        uint8_t *mixture;
        int64_t nmixture;
};

/* What the model calls them; an output that is a tap by its tap. */
static inline const char *input_name(const Input *in)
{
        return in->model_name ? in->model_name : in->name;
}

static inline const char *output_name(const Output *o)
{
        return o->tap ? o->tap : o->model_name ? o->model_name : o->name;
}

#define WANTED_BY_TAPS (UINT64_C(1) << 63)
/* Of a node that nothing needs, which is computed in all calls. */
#define WANTED_BY_NOTHING (~(UINT64_C(1) << 62))

/* graph.c */
Graph *graph_new(Arena *arena, const char *name);
Body *body_new(Graph *g, Region *region);
Node *node_new(Graph *g, Body *body, Op op, int nin, Node *const *in, Attr attr, Type type, Span span,
               Instance *where);
/* The slots of what stands in the body: how many of the iterations around it take it, and the slot of each (StateVar.slot_of). */
int64_t iteration_slots(Arena *a, const Body *body, const int32_t **slot_of);
void body_append(Graph *g, Body *body, Node *n); /* for passes that move nodes; node_new does it itself */
/* An output's bit in sets of outputs; all taps are one, WANTED_BY_TAPS. */
uint64_t output_bit(const Graph *g, int output);
bool graph_has_blocks(const Graph *g);             /* a weight is in blocks of codes */
bool is_tapped(const Graph *g, const Node *n);     /* computed for taps alone */
bool is_fed_separately(const Graph *g, int group); /* its inputs are given once for many calls */
/* Whether it leaves something to the next call, or is computed from what one left: a SCAN in state form. */
bool keeps_scan(const Node *n);
bool is_visible_from(const Node *n, const Body *from);        /* n stands in `from` or in a body around it */
const Loop *graph_loop(const Graph *g, const char *name);     /* NULL: it has none */
const Setting *loop_setting(const Loop *l, const char *name); /* NULL: it has none, or l is NULL */
const char *loop_text_setting(const Loop *l, const char *name); /* the same of a text */
/* ids that a setting of `loop generate` lists, -1 behind them; in the graph's arena */
const int32_t *loop_tokens(const Graph *g, const char *setting);
/* what a text begins with where there is no tokenizer: the loop's start, else 1, or 0 where that is the only id */
int32_t start_token(const Graph *g);
double literal_at(const Node *n, int64_t iteration,
                  int64_t i); /* element i of a CONST in an iteration of its region */

/* type.c: dims, shapes */
Dim dim_fixed(int64_t n);
Dim dim_named(int which);
Dim dim_add(Dim a, Dim b);
Dim dim_sub(Dim a, Dim b);
Dim dim_scale(Dim a, int64_t by);
bool dim_equal(Dim a, Dim b);
bool dim_is_fixed(Dim a);
bool dim_is(Dim a, int64_t n);                 /* fixed and equal to n */
bool dim_mul(Dim a, Dim b, Dim *product);      /* false: not affine, or too large */
bool dim_div(Dim a, Dim b, Dim *quotient);     /* false: not exact */
int64_t dim_value(Dim a, const int64_t *size); /* size[MAX_NAMED] of the named dimensions */
int64_t dim_bound(const Graph *g, Dim a);      /* the largest value for any sizes */
int64_t dim_least(const Graph *g, Dim a);      /* the smallest; `past` may be 0, other names are at least 1 */
bool dim_is_positions(const Graph *g, Dim d);  /* of a causal graph, the positions of a call */
bool type_has_positions(const Graph *g, const Type *t);
bool type_is_dense(const Type *t); /* an inner axis is named: row-major strides follow from the call */
int64_t type_count(const Type *t, const int64_t *size); /* elements */
bool type_is_bounded(const Graph *g, const Type *t,
                     int64_t times); /* at most 2^42 elements in all `times` of it */
bool type_is_fixed(const Type *t);
bool type_equal(const Type *a, const Type *b);                /* dtype and shape */
bool same_dims(const Type *a, const Type *b);                 /* shape */
bool type_broadcast(const Type *a, const Type *b, Type *out); /* shapes right-aligned; false: do not fit */
const char *dim_text(Arena *a, const Graph *g, Dim d);        /* "time + 4" */
const char *type_text(Arena *a, const Graph *g,
                      const Type *t); /* "[heads, time, 64]" with numbers for fixed dims */
const char *shape_text(Arena *a, int rank, const int64_t *shape); /* "[64, 172]" */
const char *element_index_text(Arena *a, int rank, const int64_t *shape,
                               int64_t i); /* "[2, 3]" of element i, row-major */
const char *dtype_name(DType dtype);
const char *setting_text(Arena *a, const Setting *s); /* dump.c: its value, as a model file has it */

/* print_tensor.c: in the language, the shape behind `#`, so that it may be typed in again; large ones abridged.  indent: columns that
 * precede it on its line. */
typedef struct {
        DType dtype;
        int rank;
        const int64_t *dim; /* [rank] */
        const double *data; /* row-major */
} Shown;
void print_tensor(FILE *f, const Shown *t, int indent);
void print_shortest(FILE *f, double x);

/* view.c: making and combining affine maps.  The makers return x itself where nothing changes, one map where x is a view
 * already and the two combine, and NULL where the move cannot be expressed or leaves the bounds of x. */
Node *base_of(const Node *n); /* the node that n is a view of, through all views; n if it is none */
View *view_identity(Arena *a, const Type *in);
bool view_equal(const View *a, const View *b,
                int rank_in); /* views are kept canonical: equal maps compare equal */
bool view_type(const View *v, const Type *in, Type *out); /* the output's; false: a size is not affine */
/* any map from rank_out axes onto x: made canonical, combined with x's own */
Node *view_apply(Graph *g, Body *b, Node *x, const View *v, int rank_out, Span span, Instance *where);
bool view_compose(Arena *a, const View *outer, const View *inner, const Type *mid,
                  View *out); /* outer after inner; false: not one map */
void view_index(const View *v, const int64_t *size, const int64_t *out_index, int rank_out, int rank_in,
                int64_t *in_index);
Node *view_transpose(Graph *g, Body *b, Node *x, const int *perm, Span span,
                     Instance *where); /* perm[out axis] = in axis */
Node *view_slice(Graph *g, Body *b, Node *x, int axis, Dim first, Dim count, Span span, Instance *where);
Node *view_reshape(Graph *g, Body *b, Node *x, const Type *to, Span span,
                   Instance *where); /* NULL: cannot be expressed */
Node *view_split(Graph *g, Body *b, Node *x, int64_t n, Span span,
                 Instance *where);                                        /* [.., n*d] -> [n, .., d] */
Node *view_merge(Graph *g, Body *b, Node *x, Span span, Instance *where); /* [n, .., d] -> [.., n*d] */
Node *view_spread(Graph *g, Body *b, Node *x, int64_t n, Span span,
                  Instance *where); /* [g, ..] -> [n, ..], each repeated n/g times */
Node *view_rank(Graph *g, Body *b, Node *x, int rank, Span span,
                Instance *where); /* leading axes of size 1 added */
Node *view_drop(Graph *g, Body *b, Node *x, int axis, Span span,
                Instance *where); /* an axis of size 1 removed */
Node *view_broadcast(Graph *g, Body *b, Node *x, const Type *to, Span span, Instance *where);

/* build.c: a node with its shape inferred; on a shape error reports it with both shapes and the chain of instances and
 * returns NULL.  `attr` may be NULL where the op needs none.  CONST, INDEX and CARRY carry their own type: node_new. */
Node *build(Graph *g, Body *b, Diag *diag, Op op, int nin, Node *const *in, const Attr *attr, Span span,
            Instance *where);
Node *build_number(Graph *g, Body *b, double value, DType dtype, Span span,
                   Instance *where);                    /* a scalar CONST, rank 0 */
void note_instances(Diag *diag, const Instance *where); /* "in attention, called here as attn" ... */
bool infer_type(Graph *g, Diag *diag, const Node *draft, Type *type); /* the type of a node not yet made */

/* verify.c: asserts the graph's invariants after a pass; prints the node and aborts on a broken one (a bug of ours) */
void verify(const Graph *g, const char *after);

/* dump.c */
void graph_dump(FILE *f, const Graph *g);
void graph_dump_json(FILE *f, const Graph *g); /* dump_json.c */
/* A shape for programs: numbers, and texts as "time" where a size is known only when the model runs. */
json_t *shape_json(Arena *a, const Graph *g, const Type *t);
void graph_print_node(FILE *f, const Graph *g, const Node *n);

const char *weight_slot_name(Arena *a, const Weight *w,
                             int64_t slot); /* "layer.3.attn.q.w": the iteration after the region's name */
void weight_iterations(const Weight *w, int64_t slot, int64_t iteration[4]); /* [nregion], outermost first */

/* Whether a finite number rounds to an infinite f32: it is at least halfway from the largest f32 to the power of two after it. */
static inline bool beyond_f32(double x)
{
        double size = x < 0 ? -x : x;
        return size >= 0x1.ffffffp+127 && size <= 0x1.fffffffffffffp+1023;
}

/* interpret.c: the meaning of a graph, in double precision */
typedef struct {
        int rank;
        int64_t dim[MAX_RANK];
        double *data; /* row-major */
} Tensor;
typedef struct {
        void *from;
        /* fills value[count of w->type] with slot `slot` of w; false on error */
        bool (*weight)(void *from, const Weight *w, int64_t slot, double *value);
        const char *(*why)(
                const void *
                        from); /* why the last one was false, where memory or the file's length is not to blame; may be NULL */
} WeightSource;
typedef struct InterpState InterpState; /* what state variables hold, for graphs after the causal pass */
InterpState *interp_state_new(const Graph *g);
void interp_state_free(InterpState *s);
/* What something else keeps in a state that is rounded: element index[] of a slot and, of Q8, its scale; NAN: nothing is known. */
typedef struct {
        void *from;
        double (*value)(void *from, const StateVar *s, int64_t slot, const int64_t *index, double *scale);
} KeptSource;
/* Where a number lies so near to the middle of two that another one, off by the error of floats, is rounded the other way, the state
 * takes what the source has.  NULL: it does not. */
void interp_state_follow(InterpState *s, const KeptSource *kept);
/* input[i] for graph->input[i], shapes as given by size[]; output[i] is filled (malloc'd data: tensor_free).  Returns NULL, or
 * an error message in the arena (out of memory, bad index ...). */
const char *interpret(const Graph *g, const int64_t *size, const Tensor *input, const WeightSource *weights,
                      InterpState *state, Tensor *output);
/* as interpret, for any nodes of the top body */
const char *interpret_nodes(const Graph *g, const int64_t *size, const Tensor *input,
                            const WeightSource *weights, InterpState *state, Node *const *want, int nwant,
                            Tensor *output);
/* as interpret, but every value that is computed is rounded to float: how far off floats alone are */
const char *interpret_rounded(const Graph *g, const int64_t *size, const Tensor *input,
                              const WeightSource *weights, InterpState *state, Tensor *output);
void tensor_free(Tensor *t);

/* evaluate.c: what one op makes of its inputs, in double precision.  For every op whose answer depends on its inputs, the
 * sizes and its attributes alone: SIZE, INDEX and the families MOVE, POINT, REDUCE and CONTRACT.  in[i] and out: row-major,
 * of the nodes' types. */
void evaluate(const Node *n, const int64_t *size, const double *const *in, double *out);

/* scan.c: what a SCAN reads, seen through its inputs' order */
typedef struct {
        Node *v, *q, *k, *powers; /* [.., T, width], [.., T, depth] or NULL, [.., 1, SCAN_POWERS] or NULL */
        int64_t heads, depth, width; /* heads: all leading axes together; depth 0: without q and k */
        bool maxima;
} ScanInputs;
enum { SCAN_POWERS = 65 }; /* c^0 to c^64 */
ScanInputs scan_of(const Node *n);
Type scan_state(
        const Node
                *n); /* of what an instance keeps for it: [units, floats], as runtime/scan_state.h has it */
int64_t scan_sum_count(const Node *n);        /* elements of `sums` */
void scan_start(const Node *n, double *sums); /* without a row before */
/* sums: of all rows before, for each head [depth][width]; they become those with these rows. */
void evaluate_scan(const Node *n, const int64_t *size, const double *const *in, double *sums, double *y);

/* The meaning of an op on numbers, for whoever computes, folds or proves; NaN for what is not pointwise. */
double op_of(Op op, double a, double b, double c);

/* contracted.c: the weight that a product's right operand is, whole, straight or turned, and the axis that it sums over; or NULL */
Node *product_weight(Node *right, int *contracted);
/* Is a product's left operand one whose rows two sizes of the call count?  It is computed in turns, each over a part of them, and its weight has no
 * blocks. */
bool has_rows_in_turns(const Node *left);
/* A product's right operand [heads.., depth, outputs] that is a weight seen by heads: for each of them another part of `axis`, which is
 * the one that is summed over (depth) or that of the outputs; the weight's other axis is whole. */
typedef struct {
        Node *weight;
        int axis;                      /* of the weight: that of which each head has a part */
        bool is_depth;                 /* it is summed over */
        int64_t first, step[MAX_RANK]; /* a part begins at first + step * index, by axes in front */
        int64_t depth, outputs;
} WeightByHeads;
bool weight_by_heads(const Node *right, WeightByHeads *found); /* contracted.c */
void find_contracted(const Graph *g);                          /* sets Weight.contracted of all */
void find_roles(const Graph *g); /* roles.c: sets Weight.role of all, of a graph as elaborated */

/* uses.c: who uses what */
typedef struct {
        Node ***user; /* by id: the nodes that have it as an input */
        int *nuser;
        bool *leaves; /* by id: leaves an iteration, which may be another body than its own */
        bool *pinned; /* by id: that, or an output */
        int *place;   /* by id: where it stands in its body */
        Node **all;   /* every node, bodies after the body around them */
        int n;
} Uses;
Uses *uses_of(Arena *a, const Graph *g);

/* Stages: what each node depends on, and so how early it can be computed. */

typedef struct {
        bool weights;     /* on weights */
        uint64_t groups;  /* on inputs: a set of groups (Input.group) */
        bool state;       /* on what earlier calls left */
        unsigned named;   /* on indices along named dimensions, a set; past rows count as time */
        unsigned lengths; /* on the lengths themselves: sizes, and folds over such axes */
        bool iterations; /* on the iteration of a repeat around it: weights with slots, constants per iteration, what is carried */
} Stage;

/* The lengths, a set of named dimensions, that an op's answer depends on: it folds over them, or counts from their ends. */
unsigned stage_lengths(const Graph *g, const Node *n);

/* [g->nnode], by id */
Stage *stage_of(Arena *arena, const Graph *g);

/* Moves every node that does not depend on the iteration, and whose inputs stand outside, out of its repeat.  Changes g. */
Graph *hoist(Graph *g);

/* What a model costs, counted exactly from its graph; nothing is run.
 *
 * The counting rule.  A multiply-add is 2 FLOPs.  Counted apart:
 *   product    x @ weights
 *   pair       products of two computed tensors: attention's scores and its weighted sum.  Masked positions count
 *   pointwise  1 for each element that an elementwise op gives or a sum or maximum takes; 5 for each of a softmax
 * What depends on no input (tables, folded weights) is made once and not counted.  Moving elements is free.
 *
 * All in int64_t; what does not fit stays at INT64_MAX. */

enum { COST_DEGREE = MAX_RANK + 2 };

/* sum of factor[i] n^i */
typedef struct {
        int64_t factor[COST_DEGREE + 1];
} Polynomial;

typedef struct {
        Polynomial product, pair, pointwise;
} Flops;

/* Of one call, as polynomials in the named dimension `over` (-1: all constant); the others have the sizes given. */
Flops cost_flops(const Graph *g, const int64_t *size, int over);
int64_t polynomial_at(const Polynomial *p, int64_t n);
/* By node id: those of one iteration, for these sizes (factor[0] alone). */
Flops *flops_by_node(Arena *a, const Graph *g, const int64_t *size);

/* Of the first position: products and pairs where time = 1, past = 0, all else at its bound. */
int64_t cost_per_token(const Graph *g);

/* Values that an instance keeps between calls, at the bound of time, in one state and in all.  held: positions that are held of
 * the state, by its number; 0: all. */
int64_t state_count(const Graph *g, const StateVar *s, int64_t held);
int64_t cache_count(const Graph *g, const int64_t *held);

/* Integers: between which bounds the values of each node lie, and so what they are exact in.
 *
 *   to 2^24         floats, as all else
 *   below 2^53      doubles: "far" integers
 *   beyond, or a    doubles, where floor() of a real has no bound; all else is reported: the interpreter could not
 *   bound unknown   compute it either
 *
 * The bounds are those of float arithmetic and of exact integers; they do not count NaN, nor a division by zero. */

typedef struct {
        double low, high;
} Interval;

/* By node id.  A node in a repeat: of all iterations. */
Interval *intervals_of(Arena *a, const Graph *g);
bool is_far(const Interval *of, const Node *n);       /* an integer that floats may not hold */
bool computes_far(const Interval *of, const Node *n); /* in doubles, for it or for what stands between */

/* false: a node may hold integers that are not exact; reported. */
bool integers_check(const Graph *g, Diag *diag);
/* Products take reals: far integers are made ones before them. */
bool far_operands_as_reals(Graph *g); /* whether there are any */

/* Gates: factors that a mask makes 0, and what follows from them. */

/* A factor of some value [.., d], itself [.., 1], that is exactly 0 wherever `top` is false. */
typedef struct {
        Node *factor;
        const Node *top; /* the TOP node behind its mask */
} Gate;

bool find_gate(Node *value, Gate *gate); /* false: there is none */

/* What an iteration adds to a value that it carries: v of carry + v, in all rows or some; NULL: it does something else with it. */
Node *added_to_carry(const Body *b, int index);

/* How many of the region's iterations add anything at one position: k of `top`, where it chooses among as many; else iterations. */
int64_t iterations_in_use(const Region *r);

/* Taps: values of a model by the names that its file gives them, as further outputs.
 *
 * A name is the path of instances and a variable of the last, with an iteration for each repeat on the way:
 *
 *   x                       a variable of the model
 *   layer[1].x              .. of a repeat, as iteration 1 leaves it; layer[i].x (or layer.x): of all iterations, stacked outermost
 *   layer[1].attn.scores    a variable of the block called as attn
 *   layer[1].attn           what that block returned
 *
 * Parts on the way may be left out where one value alone can be meant: layer[1].scores, scores.
 *
 * A variable that is assigned more than once is what it was last; a variable's name goes before an instance's.  A name that
 * stands for several values, as two calls of one block without weights have, is none.
 *
 * Names are those of the graph as elaborated; passes do not keep them, so taps are added before. */

typedef struct {
        const char *name; /* "layer[i].attn.scores" */
        Type type;        /* of all iterations: an axis in front for each repeat */
        int at;           /* a later one is computed later */
        bool in_all_iterations; /* false: some iterations lack it, or have it in another shape; it is tapped iteration by iteration */
} Tap;

/* All names but those of inputs, outputs and weights, in the order of the file; *n of them. */
Tap *taps_of(Arena *arena, Graph *g, int *n);

/* Makes the value an output, the last, marked as a tap; its index in g->output, or that of an output of this name that is
 * there already.  -1: *why says why not, with a suggestion if some name is near. */
int tap_add(Graph *g, const char *name, const char **why);
/* The same for a list "layer[0].attn.weights,final". */
bool taps_add(Graph *g, const char *names, const char **why);

/* lens.c: the first output's last row [1, ..] as it were if the layers, its last repeat at the top, ended after each iteration: so many
 * outputs more, marked as taps, the first layer's first; *layers is the repeat's name.  Before passes.  -1: *why says why not. */
enum { MAX_LENS = 1024 };
int lens_add(Graph *g, const char **layers, const char **why);

/* product_taps.c: what meets weights in products, as outputs that are taps.  Before passes. */
typedef struct {
        const Node *weight, *product;
        int output; /* its index: the product's left operand, with an axis in front for each repeat around that */
} ProductTap;
ProductTap *product_taps_add(Graph *g, int *n); /* [*n] */

/* A model's attentions, found by what they compute: softmaxes that a product weighs values with. */

/* One in the order in which they are run, counted from 0 over the iterations of repeats. */
typedef struct {
        Node *softmax;
        Body *body;
        int64_t iteration[4]; /* of the repeats around, outermost first */
        int niteration;
        const char *path; /* what stands before the names of its body: "layer[2]." */
        const char *
                name; /* of the block that it stands in: "layer[2].attn.dot_product"; "": of the model itself */
} AttentionSite;
bool attention_find(Graph *g, Arena *a, int which, AttentionSite *found, int *n); /* *n: how many there are */

/* origin.c: where in an input the query of a row of an attention's weights comes from, and the key of a column: the element of the input that
 * its token is about.  index, origin: [MAX_RANK], of the softmax and of the input; stage: of stage_of().  False: from no place, as a class
 * token does, or by an op that hides it. */
bool query_origin(const Graph *g, const Stage *stage, const int64_t *size, const AttentionSite *at, int input,
                  const int64_t *index, int64_t *origin);
bool key_origin(const Graph *g, const Stage *stage, const int64_t *size, const AttentionSite *at, int input,
                const int64_t *index, int64_t *origin);

/* The scores whose weights a product multiplies by values: scores.c. */
typedef struct {
        Node **node; /* all from the weights to .. */
        int n;
        Node *core;    /* .. the product of two tensors */
        Node *weights; /* a softmax, or what stands for itself; NULL: there are none */
        int mixes; /* products that mix heads, which are among the nodes, as is the softmax (mixed_heads.c) */
        bool all_weigh; /* .. so that a key has a weight even where it is masked */
} Scores;
Node *scores_under(
        const Node
                *weights); /* a softmax's, or those that stand for themselves; NULL: these are no weights */
bool scores_hold(const Scores *s, const Node *n);
/* NULL, or why no attention can be made of the product, whose left side has these scores.  stored: by id, what is no part of an
 * expression; or NULL. */
const char *find_scores(Arena *a, const Graph *g, const Node *product, Node *scores, const bool *stored,
                        Scores *s);

const char *find_mixed_heads(Arena *a, const Graph *g, const Node *product, const bool *stored, Scores *s);
const char *find_attention(Arena *a, const Graph *g, const Node *product, const bool *stored,
                           Scores *s); /* the one or the other */
/* The same, or which of its values are used elsewhere, so that they have to be stored. */
const char *why_no_attention(Arena *a, const Graph *g, const Uses *uses, const Node *product,
                             const bool *stored, Scores *s);
bool lies_in_codes(const Node *n); /* a weight of few bits, whose codes products take as they are */

/* Its weights as the last output; its index, or -1 with *why.  Before passes, as taps. */
int attention_tap_add(Graph *g, int which, const char **why);
/* The same of all attentions, one in each iteration of a repeat, or a single one: [iterations, heads, rows, columns], or without the first
 * axis. */
int attention_taps_add(Graph *g, const char **why);
#endif
