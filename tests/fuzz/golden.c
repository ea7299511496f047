/* Golden files: what is read and written again reads the same. */
#include <stdlib.h>
#include <string.h>

#include "check/check.h"
#include "harness.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        Golden g, again;
        harness_listen();
        bool good = golden_read(&g, harness_file(".golden", data, size));
        if (!good)
                fprintf(stderr, "%s\n", g.why);
        harness_heard_why(!good);
        if (good) {
                golden_write(&g);
                char *first = strdup(harness_written());
                harness_listen();
                bool reads = golden_read(&again, harness_file(".golden", first, strlen(first)));
                harness_heard();
                harness_require(reads, "what was written is not read");
                golden_write(&again);
                harness_require(!strcmp(first, harness_written()),
                                "what was written reads as something else");
                free(first);
                arena_free(&again.arena);
        }
        arena_free(&g.arena);
        return 0;
}
