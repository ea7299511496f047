/*
 * The arguments of attention() (attention.h) and its callbacks.  The interpreter of Code includes this file, too.
 */

#if !defined(EMITTED)
#include "facts.h"
#endif

/* Key positions in a block; a part of the definition. */
#define ATTENTION_BLOCK 256

/* The sink of an absolute row. */
typedef float Sink(const void *ctx, int head, int64_t row);

typedef struct {
        const float *q;        /* row i of head h at q + i * q_row + h * q_head: [head_dim] */
        int64_t q_row, q_head; /* floats */
        const void *k;
        int64_t k_head;
#if HAS_KEY_TILES
        int64_t k_tile; /* 16 keys of key head g are at element g * k_head + tile * k_tile of k: [head_dim][16] */
#endif
#if HAS_KEY_ROWS
        int64_t k_key; /* where this is not 0, key j of key head g is at element g * k_head + j * k_key of k: [head_dim] */
#endif
        const void *v; /* key j of key head g at element g * v_head + j * v_key: [v_dim] */
        int64_t v_head, v_key;
#if HAS_NARROW_STATES
        int k_storage, v_storage; /* STORAGE_F32, STORAGE_F16 or STORAGE_KEPT(), of keys and values */
#endif
#if HAS_MOVED_KEYS
        int64_t first_key, first_value; /* that which lies at k, and at v; multiples of 16 */
        const int32_t *key_pages,
                *value_pages; /* or NULL; by block: it lies at k, v as if it were block number so */
#endif
        float *out; /* row i of head h at out + i * out_row + h * out_head: [v_dim] */
        int64_t out_row, out_head;
        int heads, kv_heads, head_dim, v_dim; /* heads is a multiple of kv_heads */
        float scale;                          /* of q, rounded once; 1 leaves q as it is */
        int64_t keys, first_row;              /* keys that there are; the absolute position of row 0 */
        int first_head;                       /* of head 0 the number that score and live are told */
        const void *ctx;                      /* for score, live and sink */
#if HAS_SINK
        Sink *sink; /* or NULL */
#endif
        float dead; /* the outputs of a row whose keys are all masked: 0 or NaN */
#if HAS_PLAIN_WEIGHTS
        int no_softmax; /* scores are the weights: no maximum, no sum */
#endif
} Attention;

#if defined(EMITTED) || defined(KERNEL)
/* The formula between scores and softmax, on 16 keys col to col + 15 of an absolute row, whose scores lie at s; -inf masks.  Those of head h
 * lie at s + h * s_apart where heads are mixed (attention_mixed.h).  Elementwise: lanes outside the bounds may hold anything. */
typedef v16 Score(const void *ctx, const float *s, int64_t s_apart, int head, int64_t row, int64_t col);
#endif

/* Bounds of an absolute row: keys outside [*lo, *hi) are masked.  They come in as all keys that there are. */
typedef void Live(const void *ctx, int head, int64_t row, int64_t *lo, int64_t *hi);

/* Rows of a tile: 16 where keys lie in rows. */
#if HAS_KEY_ROWS && HAS_KEY_TILES
#define ATTENTION_ROWS(a) ((a)->k_key ? 16 : TILE_ROWS)
#elif HAS_KEY_ROWS
#define ATTENTION_ROWS(a) 16
#else
#define ATTENTION_ROWS(a) TILE_ROWS
#endif

/* Units of work, which threads share: unit u is tile u mod T of key head u / T, where T is the number of
 * tiles in the list of that key head's rows: row 0 of its first head, of its second, ... , row 1
 * of its first. */
#define ATTENTION_UNITS(heads, kv_heads, rows, tile_rows)                                                    \
        ((int)((kv_heads) * (((rows) * ((heads) / (kv_heads)) + (tile_rows)-1) / (tile_rows))))

/* Floats of scratch that attention() needs; each thread its own.  Of keys in rows some wait there as floats, and scores to be turned. */
#define ATTENTION_SCRATCH(head_dim, v_dim, k_key)                                                            \
        (((k_key) ? 16 : TILE_ROWS) *                                                                        \
                 ((head_dim) + ATTENTION_BLOCK + 2 * (((v_dim) + 15) / 16 * 16) + 2 * 16) +                  \
         ((k_key) ? TILE_ROWS * (head_dim) + (ATTENTION_BLOCK + TILE_ROWS) * 16 : 0))

/* Floats that a block keeps for one head: outputs, sums, maximum and number of live keys. */
#define ATTENTION_PART(v_dim) (((v_dim) + 15) / 16 * 16 + 2 * 16)

/*
 * What one thread computes: some of a list of all units.  Or, of one row over many keys, some of their blocks, unit by unit, where
 * threads share the units unevenly.  The blocks are then merged by attention_join(), for which they are kept.
 */
typedef struct {
        int64_t begin, end; /* of the list */
#if HAS_PARTS
        int64_t first, count; /* by blocks: the first, and how many each unit has */
        float *parts; /* by blocks, of all threads: [heads][count][ATTENTION_PART(v_dim)]; else NULL */
#endif
} AttentionShare;
