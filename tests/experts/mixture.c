/* The logits of some tokens, a line of bits for each: taken at once, and checked against one at a time.  Arguments: weights,
 * threads. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mixture.h"

enum { TOKENS = 20 };

int main(int argc, char **argv)
{
        static float whole[TOKENS][MIXTURE_VOCAB], one[MIXTURE_VOCAB];
        int32_t token[TOKENS];
        int error = argc < 3;
        mixture *m = error ? NULL : mixture_new(argv[1], atoi(argv[2]), &error);
        for (int i = 0; i < TOKENS; i++)
                token[i] = (7 * i * i + 3 * i + 1) % MIXTURE_VOCAB;
        if (m)
                error = mixture_forward(m, token, TOKENS, whole[0]);
        for (int i = 0; m && !error && i < TOKENS; i++) {
                mixture_reset(m);
                error = mixture_step(m, token[i], one);
                uint64_t hash = 1;
                int nan = 0;
                for (int j = 0; j < MIXTURE_VOCAB; j++) {
                        uint32_t bits;
                        memcpy(&bits, &one[j], sizeof bits);
                        nan += one[j] != one[j];
                        hash = (hash ^ (one[j] != one[j] ? 0 : bits)) * UINT64_C(0x100000001b3);
                        int same = !memcmp(&whole[i][j], &one[j], sizeof bits);
                        error |= !same && !(whole[i][j] != whole[i][j] && one[j] != one[j]);
                }
                printf("%d %s %016llx\n", i, nan ? "nan" : "number", (unsigned long long)hash);
        }
        mixture_free(m);
        return error != 0;
}
