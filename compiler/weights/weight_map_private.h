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
        int64_t slot; /* step in the weight's slot; 0: the same element again, which weight_cover refuses */
} PieceDigit;

typedef struct {
        const Weight *weight;
        int64_t slot;
        int published; /* which tensor */
        double mul, add;
        int64_t from, to;  /* where digit 0 of all digits lies: in the published tensor, in the slot */
        int ndigit;        /* 1 .. MAX_DIGITS */
        PieceDigit *digit; /* by falling step in the published tensor */
} Piece;

typedef struct {
        const char *name;
        Span span; /* of the entry */
        int rank;
        int64_t shape[MAX_RANK];
        int64_t count;
        int64_t first, npiece; /* its pieces in WeightMap.piece */
} Published;

typedef struct {
        const Graph *graph;
        Published *published; /* in the order of the entries */
        int npublished;
        Piece **piece; /* in the order of the published tensors */
        int64_t npiece;
        Piece **by_slot;     /* [npiece] ordered by weight and slot */
        int64_t *slot_first; /* [slots of all weights + 1] where in by_slot a slot's pieces begin */
        int64_t *slot_base;  /* [weights] a weight's first place in slot_first */
} WeightMap;

/* weight_map.c: the map of the graph's entries, or of its own slot names where there are none.  NULL: errors
 * reported. */
WeightMap *weight_map(Arena *arena, const Graph *g, Diag *diag);
/* How many pieces give the slot, and the first of them; 0 for a weight that is not of this graph. */
int64_t slot_pieces(const WeightMap *map, const Weight *w, int64_t slot, Piece *const **first);

/* weight_cover.c: whether every element of every slot is given exactly once; reports those that are not. */
bool weight_cover(const WeightMap *map, Diag *diag);

/* weight_check.c: whether a checkpoint has the map's tensors and no others; reports all that is wrong.  On
 * success tensor[i] is the file's tensor for map->published[i]. */
bool weight_check(const WeightMap *map, const Checkpoint *file, const CkTensor **tensor, Diag *diag);

/* weight_fault.c: faults of one kind become one error, whose notes list the first of them. */
enum { FAULTS_LISTED = 8 };
typedef struct {
        Arena *arena; /* where the lines live */
        int64_t n;
        const char *line[FAULTS_LISTED];
        Span span; /* of the first */
} Faults;
void fault_add(Faults *faults, Span span, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* "2 tensors", with the noun's plural in s. */
const char *fault_count(const Faults *faults, const char *noun);
void fault_list(const Faults *faults, Diag *diag); /* the notes, after the error */

int64_t weight_shape(const Weight *w, int64_t shape[MAX_RANK]); /* the sizes; returns their product */

/* Shared by weights.c and weights_write.c. */

struct Weights {
        const Graph *graph;
        WeightMap *map;               /* NULL: hashed */
        const CkTensor **tensor;      /* [map->npublished] */
        float *block;                 /* [CK_BLOCK] on its way from the file */
        const Importance *importance; /* or NULL */
        const char *why; /* a slot can't be taken; NULL: the file has shrunk, or memory is short */
};
/* weights.c */
CkType storage_type(Storage s); /* of weights, as a checkpoint has it */
/* One slot as weights_read_f32() gives it, but that it is not rounded to blocks. */
bool weights_before_blocks(Weights *weights, const Weight *w, int64_t slot, float *value);

/* weight_blocks.c */
bool piece_keeps_blocks(
        const Piece *p,
        int steps); /* are blocks of so many whole in the slot too, along its contracted axis? */
bool blocks_widened(Weights *weights, const Weight *w, int64_t slot,
                    float *value); /* the values of its blocks */
#endif
