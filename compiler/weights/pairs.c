/* Keys and values of a GGUF, as gguf.c has checked them. */
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gguf_private.h"

static int compare_key(const void *left, const void *right)
{
        return strcmp(((const CkPair *)left)->key, ((const CkPair *)right)->key);
}

const CkPair *pair_find(const CkPair *pairs, int n, const char *key)
{
        CkPair wanted = {.key = key};
        return n ? bsearch(&wanted, pairs, (size_t)n, sizeof wanted, compare_key) : NULL;
}

void pairs_sort(CkPair *pairs, int n)
{
        if (n)
                qsort(pairs, (size_t)n, sizeof *pairs, compare_key);
}

void pairs_free(CkPair *pairs, int n)
{
        for (int i = 0; i < n; i++)
                free((void *)pairs[i].key);
        free(pairs);
}

/* ---- values ---- */

static uint64_t bits_at(const CkPair *pair, int64_t i)
{
        uint64_t bits = 0;
        int size = gguf_value_size(pair->type);
        memcpy(&bits, pair->data + i * size, (size_t)size);
        return bits;
}

/* The lowest bytes as a signed integer. */
static int64_t signed_of(uint64_t bits, int bytes)
{
        uint64_t sign = UINT64_C(1) << (8 * bytes - 1);
        return (int64_t)((bits ^ sign) - sign);
}

static bool integer_at(const CkPair *pair, int64_t i, int64_t *value)
{
        uint64_t bits = bits_at(pair, i);
        bool is_signed = pair->type == GGUF_I8 || pair->type == GGUF_I16 || pair->type == GGUF_I32;
        *value = is_signed ? signed_of(bits, gguf_value_size(pair->type)) : (int64_t)bits;
        return pair->type != GGUF_U64 || bits <= INT64_MAX;
}

static double real_at(const CkPair *pair, int64_t i)
{
        uint64_t bits = bits_at(pair, i);
        double wide;
        memcpy(&wide, &bits, sizeof wide);
        return pair->type == GGUF_F64 ? wide : (double)f32_of_bits((uint32_t)bits);
}

bool pair_integers(const CkPair *pair, int64_t *out)
{
        for (int64_t i = 0; i < pair->count; i++)
                if ((pair->kind != CK_INTEGER && pair->kind != CK_TRUTH) || !integer_at(pair, i, &out[i]))
                        return false;
        return true;
}

bool pair_reals(const CkPair *pair, double *out)
{
        for (int64_t i = 0; i < pair->count; i++) {
                int64_t whole;
                if (pair->kind == CK_REAL)
                        out[i] = real_at(pair, i);
                else if (pair->kind == CK_INTEGER && integer_at(pair, i, &whole))
                        out[i] = (double)whole;
                else
                        return false;
        }
        return true;
}

/* The text at *at; advances *at to its end. */
static CkText next_text(const unsigned char **at)
{
        uint64_t n;
        memcpy(&n, *at, sizeof n);
        CkText text = {(const char *)*at + sizeof n, (int64_t)n};
        *at += sizeof n + n;
        return text;
}

bool pair_texts(const CkPair *pair, CkText *out)
{
        const unsigned char *at = pair->data;
        for (int64_t i = 0; i < pair->count; i++) {
                if (pair->kind != CK_TEXT)
                        return false;
                out[i] = next_text(&at);
        }
        return true;
}

/* ---- JSON ---- */

/* The number with the fewest digits that is rounded to x. */
static double shortest(float x)
{
        char digits[32];
        for (int n = 1; n < 9; n++) {
                snprintf(digits, sizeof digits, "%.*e", n - 1, (double)x);
                if (strtof(digits, NULL) == x)
                        return strtod(digits, NULL);
        }
        return (double)x;
}

/* Value i, its text at *at; NULL: none that JSON has, or out of memory.  An infinity is a text, as JSON has no such number. */
static json_t *json_of_value(const CkPair *pair, int64_t i, const unsigned char **at)
{
        int64_t whole;
        if (pair->kind == CK_TEXT) {
                CkText text = next_text(at);
                return json_stringn(text.bytes, (size_t)text.n);
        }
        if (pair->kind == CK_REAL) {
                double real = real_at(pair, i);
                if (isinf(real))
                        return json_string(real < 0 ? "-inf" : "inf");
                return json_real(pair->type == GGUF_F32 && !isnan(real) ? shortest((float)real) : real);
        }
        if (!integer_at(pair, i, &whole))
                return NULL;
        return pair->kind == CK_TRUTH ? json_boolean(whole) : json_integer(whole);
}

static json_t *json_of_pair(const CkPair *pair)
{
        const unsigned char *at = pair->data;
        if (!pair->list)
                return json_of_value(pair, 0, &at);
        json_t *list = json_array();
        for (int64_t i = 0; i < pair->count; i++)
                if (json_array_append_new(list, json_of_value(pair, i, &at))) {
                        json_decref(list);
                        return NULL;
                }
        return list;
}

json_t *checkpoint_pairs_json(const Checkpoint *checkpoint, int64_t longest, CkError *err)
{
        json_t *all = json_object();
        for (int i = 0; i < checkpoint_pairs(checkpoint); i++) {
                const CkPair *pair = checkpoint_pair_at(checkpoint, i);
                if (pair->list && pair->count > longest)
                        continue;
                if (json_object_set_new(all, pair->key, json_of_pair(pair))) {
                        ck_fail(err, "%s: the value of %s is not a number or text that JSON can represent",
                                checkpoint_path(checkpoint), ck_quote(pair->key).text);
                        json_decref(all);
                        return NULL;
                }
        }
        return all;
}
