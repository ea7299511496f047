/* A config.json, a NUL, and safetensors beside it: matrices of codes with scales. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness.h"

static char config[128];

static void remove_config(void)
{
        unlink(config);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        const uint8_t *nul = size ? memchr(data, 0, size) : NULL;
        const size_t n = nul ? (size_t)(nul - data) : size, skipped = n + (nul != NULL);
        const char *weights = harness_file(".safetensors", data + skipped, size - skipped);
        if (!*config) {
                snprintf(config, sizeof config, "%.*s/config.json", (int)(strrchr(weights, '/') - weights),
                         weights);
                atexit(remove_config);
        }
        FILE *f = fopen(config, "wb");
        if (!f || fwrite(data, 1, n, f) != n || fclose(f))
                abort();
        harness_try_checkpoint(weights);
        return 0;
}
