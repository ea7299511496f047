/* llama2.c's tokenizers: the length of a text (a byte), the text, and the file.  The text becomes ids, and these text again. */
#include "harness.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        harness_try_tokenizer(".bin", data, size);
        return 0;
}
