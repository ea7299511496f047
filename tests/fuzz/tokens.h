/* A mutator for texts in the language: besides libFuzzer's own, whole words, numbers and lines are moved about, so that most of
 * what comes out is still a program.  Only where a fuzzer searches. */
#ifdef SEARCHES
#include <ctype.h>
#include <stdint.h>
#include <string.h>

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed);

/* xorshift */
static unsigned next_random(unsigned *state)
{
        *state ^= *state << 13;
        *state ^= *state >> 17;
        return *state ^= *state << 5;
}

static int is_word(uint8_t c)
{
        return isalnum(c) || c == '_' || c == '.';
}

/* A part of the text: a word, a character, a line, or what stands between two brackets. */
static size_t part(const uint8_t *data, size_t size, unsigned *state, size_t *begin)
{
        size_t at = next_random(state) % size, end = at;
        unsigned kind = next_random(state) % 8;
        if (kind == 0 || kind == 1) {
                while (at > 0 && data[at - 1] != '\n')
                        at--;
                while (end < size && data[end++] != '\n')
                        ;
        } else if (kind == 2) {
                while (at > 0 && !strchr("([{,", data[at - 1]))
                        at--;
                while (end < size && !strchr(")]},", data[end]))
                        end++;
        } else if (is_word(data[at])) {
                while (at > 0 && is_word(data[at - 1]))
                        at--;
                while (end < size && is_word(data[end]))
                        end++;
        } else {
                end++;
        }
        *begin = at;
        return end - at;
}

/* In place of one part another one, or nothing. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed)
{
        uint8_t copy[4096];
        unsigned state = seed | 1;
        if (size == 0 || next_random(&state) % 3 == 0)
                return LLVMFuzzerMutate(data, size, most);
        for (unsigned times = 1 + next_random(&state) % 3; times-- && size;) {
                size_t from, to, gone = part(data, size, &state, &to), n = part(data, size, &state, &from);
                unsigned how = next_random(&state) % 4;
                n = how == 0 ? 0 : n;       /* delete */
                gone = how == 1 ? 0 : gone; /* insert; else replace */
                if (n > sizeof copy || size - gone + n > most)
                        continue;
                memcpy(copy, data + from, n);
                memmove(data + to + n, data + to + gone, size - to - gone);
                memcpy(data + to, copy, n);
                size += n - gone;
        }
        return size;
}
#endif
