/* safetensors: the header and what lies behind it. */
#include "harness.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        harness_try_checkpoint(harness_file(".safetensors", data, size));
        return 0;
}
