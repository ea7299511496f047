/* A block of tables under construction: tables.c, tables_splits.c. */
#ifndef TEXT_TABLES_PRIVATE_H
#define TEXT_TABLES_PRIVATE_H
#include "form_private.h"

typedef struct {
        const TokenizerForm *form;
        Arena *arena;
        Text *section[TOKENS_SECTIONS];
        TokenHead head;
        const FormMap *map[MAX_CHANGES];
        uint32_t maps;
} TableWriter;

void add_bytes(TableWriter *b, int section, const void *bytes, int64_t n);

/* tables_splits.c: the parts that need merging, computed with tables t without them; false: too many tokens. */
bool add_splits(TableWriter *b, const TokenTables *t);
#endif
