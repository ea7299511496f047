/* A hash table of words that is filled when lathe is built, and read at run time. */
#include "base.h"

int word_slot(const EmbeddedWord *table, const char *words, const char *name, int64_t n)
{
        uint64_t h = hash_bytes(HASH_START, name, (size_t)n);
        int at = (int)(h % EMBEDDED_WORDS);
        while (table[at].n && (table[at].n != n || memcmp(words + table[at].at, name, (size_t)n)))
                at = (at + 1) % EMBEDDED_WORDS;
        return at;
}
