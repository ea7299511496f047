/* GGUF's values, for gguf.c, which checks them, and pairs.c, which reads them. */
#ifndef GGUF_PRIVATE_H
#define GGUF_PRIVATE_H
#include "checkpoint_private.h"

/* Types of values, as files number them. */
typedef enum {
        GGUF_U8,
        GGUF_I8,
        GGUF_U16,
        GGUF_I16,
        GGUF_U32,
        GGUF_I32,
        GGUF_F32,
        GGUF_BOOL,
        GGUF_TEXT,
        GGUF_LIST,
        GGUF_U64,
        GGUF_I64,
        GGUF_F64,
        GGUF_VALUES
} GgufValue;

int gguf_value_size(uint32_t type); /* bytes; 0: a text or a list */
void pairs_sort(CkPair *pairs, int n);
#endif
