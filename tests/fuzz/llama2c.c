/* llama2.c's checkpoints: seven numbers, and the size that follows from them. */
#include "harness.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        harness_try_checkpoint(harness_file(".bin", data, size));
        return 0;
}
