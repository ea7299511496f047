/* One of several processes that look at a picture together: picture SHARED RANK RANKS WEIGHTS
 *
 * SHARED: shared_memory.h.  Prints a hash of the features and the logits of a vision transformer for a picture of 36 by 36 points; to standard error how many
 * gathers of how many floats that took. */
#include <stdio.h>
#include <stdlib.h>

#include "joined.h"
#include "logits.h"
#include "shared_memory.h"

enum { POINTS = 3 * 36 * 36, FEATURES = 82 * 24, CLASSES = 5 };

int main(int argc, char **argv)
{
        static float pixels[POINTS], features[FEATURES], logits[CLASSES];
        if (argc < 5)
                return 2;
        Peers peers = {.shared = shared_memory(argv[1]), .rank = atoi(argv[2]), .ranks = atoi(argv[3])};
        int error = 0;
        joined *m = joined_new(argv[4], 2, &error);
        void *scratch = malloc(joined_join_scratch());
        if (!m || peers.shared == SHARED_FAILED)
                return printf("%s\n", joined_error(error)), 3;
        if (peers.ranks > 1)
                error = joined_join(m, &(joined_ranks){peers.rank, peers.ranks, gather, &peers}, scratch);
        peers.gathers = peers.floats = 0;
        for (int i = 0; i < POINTS; i++)
                pixels[i] = (float)(i * 37 % 101) / 50 - 1;
        if (!error)
                error = joined_forward(m, pixels, features, logits);
        if (error)
                printf("%s\n", joined_error(error));
        else
                printf("%016llx\n",
                       (unsigned long long)hash_of(hash_of(0, features, FEATURES), logits, CLASSES));
        fprintf(stderr, "0 %ld %ld\n", peers.gathers, peers.floats);
        joined_free(m);
        free(scratch);
        return error ? 3 : 0;
}
