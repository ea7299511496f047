/* A tokenizer's file, for the fuzzers of its formats. */
#include "harness.h"

#include <stdlib.h>

#include "text/text.h"

static void use(const TokenTables *t, const char *text, int64_t n, int flags)
{
        int64_t room = tokens_room(t, n);
        int32_t *ids = malloc((size_t)room * sizeof *ids);
        char *shown = malloc((size_t)tokens_decode_room(t));
        void *scratch = malloc((size_t)tokens_scratch(t, n));
        TokenDecoder d = {.n = 0};
        int64_t count = tokens_encode(t, text, n, flags, ids, room, scratch);
        harness_require(count >= 0 && count <= room, "more ids than a text of this length can have");
        for (int64_t i = 0; i < count; i++) {
                harness_require(ids[i] >= 0 && (uint32_t)ids[i] < t->head->vocab, "no id of the vocabulary");
                harness_require(tokens_decode(t, &d, ids[i], flags, shown) <= tokens_decode_room(t),
                                "a token longer than the longest");
        }
        free(scratch);
        free(shown);
        free(ids);
}

void harness_try_tokenizer(const char *suffix, const uint8_t *data, size_t size)
{
        if (size < 1 || size < 1 + (size_t)data[0])
                return;
        const uint8_t *file = data + 1 + data[0];
        const char *path = harness_file(suffix, file, size - (size_t)(file - data));
        Arena arena = {0};
        TokenBlock block;
        TokenTables t;
        bool env_error;
        const char *wrong = tokenizer_load(&arena, path, &block, &env_error);
        harness_require(!wrong || *wrong, "refused without a word");
        if (!wrong) {
                harness_require(tokens_open(&t, block.block, (uint64_t)block.size),
                                "its own tables do not fit");
                use(&t, (const char *)data + 1, data[0], 0);
                use(&t, (const char *)data + 1, data[0], TOKENS_CONTROL | TOKENS_BARE);
        }
        arena_free(&arena);
}
