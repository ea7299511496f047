/* The weight map: which element of which published tensor is which element of which weight.
 *
 * An entry of a checkpoint is an expression over weights.  Run on addresses instead of values it falls into
 * pieces: boxes of elements, each affine on both sides,
 *
 *   published[from + sum published_step * digit] = slot[to + sum slot_step * digit] * mul + add
 *
 * Read from left to right a piece writes a checkpoint, from right to left it reads one.  Most tensors are one
 * piece, so a map costs what the entries cost, not what the elements do. */
#ifndef WEIGHT_MAP_PRIVATE_H
#define WEIGHT_MAP_PRIVATE_H
#include "weights.h"

enum { MAX_DIGITS = 32 };
typedef struct {
        int64_t size;
        int64_t published; /* step in the published tensor, > 0 */
        int64_t slot; /* step in the weight's slot; 0: the same element again, which weight_cover rejects */
} PieceDigit;

typedef struct {
        const Weight *weight;
        int64_t slot;
        int leaf;      /* of CkEntry.slot */
        int published; /* index of the tensor */
        double mul, add;
        int64_t from, to;  /* position at digits 0: in the published tensor, in the slot */
        int ndigit;        /* 1 .. MAX_DIGITS */
        PieceDigit *digit; /* in descending order of steps in the published tensor */
} Piece;

typedef struct {
        const char *name;
        Span span; /* of the entry */
        int rank;
        int64_t shape[MAX_RANK];
        int64_t count;
        int64_t first, npiece; /* pieces in WeightMap.piece */
        int twin;              /* in WeightMap.repeated: the published tensor that holds the same numbers */
} Published;

typedef struct WeightMap WeightMap;
struct WeightMap {
        const Graph *graph;
        Published *published; /* in the order of entries */
        int npublished;
        Piece **piece; /* in the order of published tensors */
        int64_t npiece;
        Piece **by_slot;     /* [npiece] sorted by weight and slot */
        int64_t *slot_first; /* [slots of all weights + 1] start of a slot's pieces in by_slot */
        int64_t *slot_base;  /* [weights] a weight's first index in slot_first */
        WeightMap *repeated; /* tensors and pieces of `optional "name" = weights` */
};

/* weight_map.c: the map by the graph's entries, or by slot names without entries.  NULL: errors were
 * reported. */
WeightMap *weight_map(Arena *arena, const Graph *g, Diag *diag);
/* Number of pieces for a slot, and *first; 0 for a weight of another graph. */
int64_t slot_pieces(const WeightMap *map, const Weight *w, int64_t slot, Piece *const **first);

/* weight_cover.c: whether every element of every slot is given exactly once; reports others. */
bool weight_cover(const WeightMap *map, Diag *diag);

/* weight_check.c: whether a checkpoint has exactly the map's tensors; reports all errors.  On success
 * tensor[i] is the file's tensor for map->published[i]. */
bool weight_check(const WeightMap *map, const Checkpoint *file, const CkTensor **tensor, Diag *diag);

/* weight_fault.c: faults of one kind become one error, whose notes list the first of them. */
enum { FAULTS_LISTED = 8 };
typedef struct {
        Arena *arena; /* of the lines */
        int64_t n;
        const char *line[FAULTS_LISTED];
        Span span; /* of the first fault */
} Faults;
void fault_add(Faults *faults, Span span, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* "2 tensors", with the noun's plural in s. */
const char *fault_count(const Faults *faults, const char *noun);
void fault_list(const Faults *faults, Diag *diag); /* the notes, after the error */

int64_t weight_shape(const Weight *w, int64_t shape[MAX_RANK]); /* fills the sizes; returns their product */

/* Shared by weights.c and weights_write.c. */

struct Weights {
        const Graph *graph;
        WeightMap *map;               /* NULL: hashed */
        const CkTensor **tensor;      /* [map->npublished] */
        float *block;                 /* [CK_BLOCK] buffer for numbers of the file */
        const Importance *importance; /* or NULL */
        const char *why; /* why a slot can't be read; NULL: the file was truncated, or out of memory */
};
/* weights.c */
CkType storage_type(Storage s);            /* type of weights in a checkpoint */
float storage_rounded(Storage s, float x); /* in f16 or bf16; other types: x */
/* Like weights_read_f32(), but not rounded to blocks. */
bool weights_before_blocks(Weights *weights, const Weight *w, int64_t slot, float *value);

/* weight_blocks.c */
/* weights of the errors of a slot's numbers, along its contracted axis; NULL: all are 1 */
const float *slot_importance(const Weights *weights, const Weight *w, int64_t slot);
/* whether blocks of this size, whose numbers are `along` apart in the tensor, are contiguous in the slot, along its contracted axis */
bool piece_keeps_blocks(const Piece *p, int steps, int64_t along);
/* the values of its blocks */
bool blocks_widened(Weights *weights, const Weight *w, int64_t slot, float *value);
#endif
