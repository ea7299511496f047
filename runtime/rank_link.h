/*
 * The connection of an instance to the other ranks (ranks.h).
 */
#include <stdint.h>

enum { MAX_RANKS = 256, RANK_BLOCK = 1 << 18 }; /* RANK_BLOCK: floats, unless a row needs more */

typedef struct {
        int rank, ranks;
        /* All-gather of all [begin[ranks]]: rank r contributes begin[r] to begin[r + 1].  Returns 0 or an error. */
        int (*gather)(void *of, float *all, const int64_t *begin);
        int stage, stages; /* pipeline stages; rank and ranks count within a stage, and gather() is within it */
        /* Between ranks of the same number in different stages.  send() does not wait for receive(); data arrives in order. */
        int (*send)(void *of, const float *x, int64_t n, int stage);
        int (*receive)(void *of, float *x, int64_t n, int stage);
        int check; /* 1: ranks compare the carried values of iterations */
        const char *differs; /* name of a repeat whose carried values differed, in iteration differs_at; or NULL */
        int64_t differs_at;
        void *of;
        float *block; /* [block_floats] */
        int64_t block_floats;
        int misplaced; /* the weights are another rank's share; then error is not 0 */
        int error; /* first error of gather(), send() or receive(): later results are invalid */
        int64_t begin[MAX_RANKS + 1];
} Ranks;
