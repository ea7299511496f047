/* numpy's arrays: the header, a dictionary of Python, and what lies behind it. */
#include <stdlib.h>

#include "harness.h"
#include "weights/weights.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        CkError error = {.message = ""};
        NamedValues values;
        bool good = values_load(harness_file(".npy", data, size), "x", &values, &error);
        harness_require(good || *error.message, "refused without a word");
        if (good)
                free(values.value);
        return 0;
}
