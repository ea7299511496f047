/* The index of a checkpoint in shards; beside it lies one shard, f.safetensors. */
#include <string.h>

#include "harness.h"

static const char shard[] = "{\"embed\":{\"dtype\":\"F32\",\"shape\":[1,2],\"data_offsets\":[0,8]},"
                            "\"b\":{\"dtype\":\"BF16\",\"shape\":[],\"data_offsets\":[8,10]}}12345678ab";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        unsigned char file[sizeof shard + 7];
        uint64_t length = sizeof shard - 1 - 10;
        memcpy(file, &length, sizeof length);
        memcpy(file + 8, shard, sizeof shard - 1);
        harness_file(".safetensors", file, sizeof file);
        harness_try_checkpoint(harness_file(".safetensors.index.json", data, size));
        return 0;
}
