/* Tokenizers: the size of the vocabulary (a byte), the length of a text (a byte), the text, and the file.  The text becomes
 * tokens, and these text again. */
#include <stdlib.h>
#include <string.h>

#include "run/run.h"
#include "harness.h"

static void use(const Tokenizer *t, const char *text, size_t n)
{
        int64_t count;
        char *piece = malloc((size_t)t->longest + 1);
        Arena arena = {0};
        tokenizer_text(&arena, t);
        arena_free(&arena);
        int32_t *token = text_to_tokens(t, text, (int64_t)n, &count);
        harness_require(token && count >= 1 && count <= (int64_t)n + 2, "more tokens than bytes, or none");
        for (int64_t i = 1; i < count; i++) {
                harness_require(token[i] >= 0 && token[i] < t->vocab, "no token of the vocabulary");
                int shown = token_to_text(t, token[i - 1], token[i], piece);
                harness_require(shown >= 0 && shown <= t->longest, "a token longer than the longest");
        }
        free(token);
        free(piece);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        if (size < 2 || size < 2 + (size_t)data[1])
                return 0;
        const uint8_t *file = data + 2 + data[1];
        Tokenizer t;
        CkError error = {.message = ""};
        const char *path = harness_file(".tokenizer", file, size - (size_t)(file - data));
        if (!tokenizer_read(path, NULL, data[0], &t, &error)) {
                harness_require(*error.message, "refused without a word");
                return 0;
        }
        use(&t, (const char *)data + 2, data[1]);
        tokenizer_free(&t);
        return 0;
}
