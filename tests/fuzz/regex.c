/* Regexes of tokenizers: a regex, the end of a line, and a text that it splits. */
#include <stdlib.h>
#include <string.h>

#include "text/text.h"
#include "harness.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        const uint8_t *end = memchr(data, '\n', size), *zero = memchr(data, 0, size);
        if (!end || (zero && zero < end))
                return 0;
        Arena arena = {0};
        char *regex = harness_text(data, (size_t)(end - data));
        int64_t n = (int64_t)(data + size - end - 1), *cut = malloc(((size_t)n + 2) * sizeof *cut);
        const char *why = NULL;
        RegexProbe probe;
        bool good = regex_load(&arena, regex, &probe, &why);
        harness_require(good || (why && *why), "refused without a word");
        int64_t pieces = good ? regex_pieces(&probe, (const char *)end + 1, n, cut, n + 2) : -1;
        for (int64_t i = 0; i < pieces; i++)
                harness_require(cut[i] > (i ? cut[i - 1] : 0) && cut[i] <= n,
                                "an empty piece, or one outside of the text");
        harness_require(pieces < 0 || n == 0 || (pieces > 0 && cut[pieces - 1] == n),
                        "pieces that leave some of the text out");
        free(cut);
        free(regex);
        arena_free(&arena);
        return 0;
}
