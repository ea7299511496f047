/* An adapter_config.json, a NUL, and an adapter_model.safetensors: the adapter changes a small checkpoint, which is read. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness.h"
#include "weights/weights.h"

static char folder[96], config[128], adapter[128];

static void remove_adapter(void)
{
        unlink(config);
        unlink(adapter);
}

static void write_part(const char *path, const uint8_t *bytes, size_t n)
{
        FILE *f = fopen(path, "wb");
        if (!f || fwrite(bytes, 1, n, f) != n || fclose(f))
                abort();
}

/* A square matrix with a bias beside one that is not square, in f16 and f32, and a table. */
static const char *write_base(void)
{
        static const char header[] =
                "{\"h.0.q.weight\":{\"dtype\":\"F32\",\"shape\":[4,4],\"data_offsets\":[0,64]},"
                "\"h.0.up.bias\":{\"dtype\":\"F32\",\"shape\":[8],\"data_offsets\":[64,96]},"
                "\"h.0.up.weight\":{\"dtype\":\"F16\",\"shape\":[4,8],\"data_offsets\":[96,160]},"
                "\"wte.weight\":{\"dtype\":\"BF16\",\"shape\":[6,4],\"data_offsets\":[160,208]}}";
        uint8_t bytes[8 + sizeof header - 1 + 208] = {0};
        bytes[0] = (uint8_t)((sizeof header - 1) & 255);
        bytes[1] = (uint8_t)((sizeof header - 1) >> 8);
        memcpy(bytes + 8, header, sizeof header - 1);
        memset(bytes + 8 + sizeof header - 1, 0x3c, 208);
        return harness_file(".safetensors", bytes, sizeof bytes);
}

static void read_all(const Checkpoint *c)
{
        for (int i = 0; i < checkpoint_count(c); i++) {
                const CkTensor *t = checkpoint_at(c, i);
                double x[64];
                const int64_t n = t->count < 64 ? t->count : 64;
                if (ck_type_readable(t->dtype))
                        harness_require(checkpoint_read_f64(t, t->count - n, n, x), "a tensor can be read");
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        const uint8_t *nul = size ? memchr(data, 0, size) : NULL;
        const size_t n = nul ? (size_t)(nul - data) : size, skipped = n + (nul != NULL);
        const char *base = write_base();
        CkError error = {.message = ""};
        if (!*folder) {
                snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(base, '/') - base), base);
                snprintf(config, sizeof config, "%s/adapter_config.json", folder);
                snprintf(adapter, sizeof adapter, "%s/adapter_model.safetensors", folder);
                atexit(remove_adapter);
        }
        write_part(config, data, n);
        write_part(adapter, data + skipped, size - skipped);
        Checkpoint *c = checkpoint_open(base, &error);
        harness_require(c != NULL, "the checkpoint can be opened");
        const CkAdapter given[] = {{folder, 1}, {folder, -0.5}};
        if (checkpoint_adapt(c, given, 2, &error))
                read_all(c);
        else
                harness_require(*error.message, "a rejection has a reason");
        checkpoint_close(c);
        return 0;
}
