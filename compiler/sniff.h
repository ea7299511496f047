/* Which well-known format a file is of, for messages about those that lathe does not read. */
#ifndef SNIFF_H
#define SNIFF_H
#include <stdint.h>

/* "a GGUF file"; NULL: none that is known. */
const char *format_of(const unsigned char *data, int64_t n);
extern const char llama2c_tokenizer[]; /* one of them */
#endif
