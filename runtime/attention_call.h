/*
 * Arguments and callbacks of attention() (attention.h).  The interpreter of Code includes this file, too.
 */

#if !defined(EMITTED)
#include "facts.h"
#endif

/* Key positions in a block.  The results depend on it. */
#define ATTENTION_BLOCK 256

/* Returns the sink of an absolute row. */
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
        int64_t k_key; /* if not 0, keys are in rows: key j of key head g is at element g * k_head + j * k_key of k: [head_dim] */
#endif
        const void *v; /* key j of key head g at element g * v_head + j * v_key: [v_dim] */
        int64_t v_head, v_key;
#if HAS_NARROW_STATES
        int k_storage, v_storage; /* STORAGE_F32, STORAGE_F16 or STORAGE_KEPT(), of keys and values */
#endif
#if HAS_MOVED_KEYS
        int64_t first_key, first_value; /* positions of the first key in k and the first value in v; multiples of 16 */
        const int32_t *key_pages,
                *value_pages; /* or NULL; for each block the block number at which it is stored in k, v */
#endif
        float *out; /* row i of head h at out + i * out_row + h * out_head: [v_dim] */
        int64_t out_row, out_head;
        int heads, kv_heads, head_dim, v_dim; /* heads is a multiple of kv_heads */
        float scale;                          /* factor of q; 1 leaves q unchanged */
        int64_t keys, first_row;              /* number of keys; absolute position of row 0 */
        int first_head;                       /* the number of head 0 in calls of score, live and sink */
        const void *ctx;                      /* context of score, live and sink */
#if HAS_SINK
        Sink *sink; /* or NULL */
#endif
#if HAS_CHOSEN_KEYS
        const float *key_list; /* list of row i and key head g at key_list + i * list_row + g * list_head: [list_count] indices of
                              * keys, then -1 */
        int64_t list_row, list_head, list_count;
        int by_column; /* the score function depends on the key's index */
#endif
        float dead; /* output of a row without live keys: 0 or NaN */
#if HAS_PLAIN_WEIGHTS
        int no_softmax; /* scores are the weights: no maximum, no sum */
#endif
} Attention;

#if defined(EMITTED) || defined(KERNEL)
/* The formula between scores and softmax, for keys col to col + 15 of an absolute row, with scores s [16]; -inf masks.  If
 * heads are mixed (attention_mixed.h), the scores of head h are at s + h * s_apart.  Elementwise: lanes outside the bounds may have any values. */
typedef v16 Score(const void *ctx, const float *s, int64_t s_apart, int head, int64_t row, int64_t col);
#endif

/* Sets the bounds of an absolute row: keys outside [*lo, *hi) are masked.  Initially all keys are within them. */
typedef void Live(const void *ctx, int head, int64_t row, int64_t *lo, int64_t *hi);

/* Rows of a tile: 16 if keys are in rows. */
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

/* Units of attention_chosen(): tiles of the query heads of one key head, in one row. */
#define CHOSEN_TILES_OF(heads, kv_heads, tile_rows) (((heads) / (kv_heads) + (tile_rows)-1) / (tile_rows))
#define CHOSEN_UNITS(heads, kv_heads, rows, tile_rows)                                                       \
        ((int)((kv_heads) * (rows)*CHOSEN_TILES_OF(heads, kv_heads, tile_rows)))

/* Floats of scratch that each thread needs for attention().  With keys in rows it includes widened keys and untransposed scores. */
#define ATTENTION_SCRATCH(head_dim, v_dim, k_key)                                                            \
        (((k_key) ? 16 : TILE_ROWS) *                                                                        \
                 ((head_dim) + ATTENTION_BLOCK + 2 * (((v_dim) + 15) / 16 * 16) + 2 * 16) +                  \
         ((k_key) ? TILE_ROWS * (head_dim) + (ATTENTION_BLOCK + TILE_ROWS) * 16 : 0))

/* The same for attention_chosen().  rows: at least TILE_ROWS;
 * list_rows: at least the query heads of the tiles that share copies. */
#define CHOSEN_TILES 16
#define CHOSEN_SCRATCH(head_dim, v_dim, rows, list_rows)                                                       \
        (16 * (((head_dim) + 15) / 16 * 16) + ATTENTION_BLOCK * ((head_dim) + ((v_dim) + 15) / 16 * 16) +    \
         (rows) * (ATTENTION_BLOCK + ((v_dim) + 15) / 16 * 16 + 16) +                                        \
         (list_rows) * ((head_dim) + ((v_dim) + 15) / 16 * 16 + 16))

/* Floats of a block's stored results for one head: outputs, sums, maximum and number of live keys. */
#define ATTENTION_PART(v_dim) (((v_dim) + 15) / 16 * 16 + 2 * 16)

/*
 * The share of a thread: a range of all units.  For one row over many keys, if units can't be shared evenly, a range of the blocks
 * of all units instead.  The results of the blocks are then stored, and merged by attention_join().
 */
typedef struct {
        int64_t begin, end; /* range of units, or of blocks */
#if HAS_PARTS
        int64_t first, count; /* with shares by blocks: first block and number of blocks of a unit */
        float *parts; /* with shares by blocks: [heads][count][ATTENTION_PART(v_dim)], of all threads; otherwise NULL */
#endif
} AttentionShare;
