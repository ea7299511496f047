/*
 * What an instance knows of the ranks that it is one of (ranks.h).
 */
#include <stdint.h>

enum { RANKS_MOST = 256, RANK_BLOCK = 1 << 18 }; /* RANK_BLOCK: floats, if no row takes more */

typedef struct {
        int rank, ranks;
        /* all [begin[ranks]], of which rank r has begin[r] to begin[r + 1]: to all ranks what each has; 0, or an error. */
        int (*gather)(void *of, float *all, const int64_t *begin);
        int stage, stages; /* of iterations that stages of ranks share; rank and ranks are those of one stage, and gather is among them */
        /* Between ranks of one number: to a stage, without a wait until that receives it; from a stage, in the order in which it sent. */
        int (*send)(void *of, const float *x, int64_t n, int stage);
        int (*receive)(void *of, float *x, int64_t n, int stage);
        int check; /* 1: ranks compare what iterations carry on */
        const char *differs; /* a repeat behind an iteration of which that differed, and which; or NULL */
        int64_t differs_at;
        void *of;
        float *block; /* [block_floats] */
        int64_t block_floats;
        int misplaced; /* the weights are the share of another rank; then error is not 0 */
        int error; /* what a gather returned: nothing that comes behind it counts */
        int64_t begin[RANKS_MOST + 1];
} Ranks;
