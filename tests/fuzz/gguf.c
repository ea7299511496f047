/* GGUF: header, pairs, tensors, and what lies behind them; what the pairs say as JSON. */
#include <jansson.h>
#include <stdlib.h>

#include "harness.h"
#include "weights/weights.h"

static void read_pairs(const char *path)
{
        CkError error = {.message = ""};
        Checkpoint *c = checkpoint_open(path, &error);
        if (!c)
                return;
        json_t *json = checkpoint_pairs_json(c, INT64_MAX, &error);
        harness_require(json || *error.message, "refused without a word");
        for (int i = 0; i < checkpoint_pairs(c); i++) {
                const CkPair *pair = checkpoint_pair_at(c, i);
                CkText *text = calloc((size_t)pair->count + 1, sizeof *text);
                double *real = calloc((size_t)pair->count + 1, sizeof *real);
                harness_require(text && real, "no memory");
                harness_require(checkpoint_pair(c, pair->key) == pair, "a pair is not found by its key");
                bool texts = pair_texts(pair, text), reals = pair_reals(pair, real);
                harness_require(!pair->count || !texts || !reals, "texts that are numbers");
                for (int64_t k = 0; texts && k < pair->count; k++)
                        harness_require(hash_bytes(HASH_START, text[k].bytes, (size_t)text[k].n),
                                        "a text is not there");
                free(text);
                free(real);
        }
        json_decref(json);
        checkpoint_close(c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        const char *path = harness_file(".gguf", data, size);
        harness_try_checkpoint(path);
        read_pairs(path);
        return 0;
}
