/* Speed of a tokenizer on one thread: tokenizer SOURCE FILE, the file taken as one text.  Of several runs the best. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "text/text.h"

/* The processor's, so that what else runs on the machine counts less. */
static double processor_seconds(void)
{
        struct timespec now;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
        return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int main(int argc, char **argv)
{
        enum { RUNS = 20 };
        Arena arena = {0};
        TokenBlock block;
        TokenTables t;
        bool env_error;
        double begin = seconds();
        const char *wrong = argc == 3 ? tokenizer_load(&arena, argv[1], &block, &env_error)
                                      : "usage: tokenizer SOURCE FILE";
        double loaded = seconds();
        FILE *f = wrong ? NULL : fopen(argv[2], "rb");
        if (!f)
                return fprintf(stderr, "%s\n", wrong ? wrong : argv[2]), 1;
        fseek(f, 0, SEEK_END);
        int64_t n = ftell(f), count = 0, bytes = 0;
        rewind(f);
        char *text = malloc((size_t)n + 1);
        n = (int64_t)fread(text, 1, (size_t)n, f);
        fclose(f);
        double open = seconds();
        tokens_open(&t, block.block, (uint64_t)block.size);
        open = seconds() - open;
        int32_t *ids = malloc((size_t)tokens_room(&t, n) * sizeof *ids);
        void *scratch = malloc((size_t)tokens_scratch(&t, n));
        char *shown = malloc((size_t)tokens_decode_room(&t));
        double encode = 1e9, decode = 1e9;
        for (int i = 0; i < RUNS; i++) {
                double at = processor_seconds();
                count = tokens_encode(&t, text, n, 0, ids, tokens_room(&t, n), scratch);
                double spent = processor_seconds() - at;
                encode = spent < encode ? spent : encode;
                TokenDecoder d = {.n = 0};
                at = processor_seconds();
                bytes = 0;
                for (int64_t k = 0; k < count; k++)
                        bytes += tokens_decode(&t, &d, ids[k], 0, shown);
                spent = processor_seconds() - at;
                decode = spent < decode ? spent : decode;
        }
        printf("lathe: %s: %lld bytes, %lld ids; encode %.1f MB/s, decode %.1f MB/s; file to tables %.0f ms, "
               "tables opened in %.3f ms, %.1f MB\n",
               strrchr(argv[2], '/') ? strrchr(argv[2], '/') + 1 : argv[2], (long long)n, (long long)count,
               1e-6 * (double)n / encode, 1e-6 * (double)bytes / decode, 1e3 * (loaded - begin), 1e3 * open,
               1e-6 * (double)block.size);
        return 0;
}
