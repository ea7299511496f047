/* The values of outputs that a golden file has in addition to hashes, and the report of a change by them: its
 * size, the tokens that differ, and the position where a text differs. */
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

/* --- keeping -------------------------------------------------------------------------------------------------------- */

void golden_keep(Golden *g, GoldenValue *v, const float *x, int64_t n)
{
        if (n < 1 || g->keep < 1)
                return;
        v->every = (n + g->keep - 1) / g->keep;
        v->nkept = (n + v->every - 1) / v->every;
        v->kept = NEW_ARRAY(&g->arena, float, v->nkept);
        for (int64_t i = 0; i < v->nkept; i++)
                v->kept[i] = x[i * v->every];
}

/* The first of equal ones; NaN is ignored. */
static int64_t largest_index(const float *x, int64_t n)
{
        int64_t best = 0;
        for (int64_t i = 1; i < n; i++)
                if (x[i] > x[best] || isnan(x[best]))
                        best = i;
        return best;
}

static const GoldenValue *value_named(const Golden *g, const GoldenValue *like)
{
        for (int i = 0; i < g->nvalue; i++)
                if (!strcmp(g->value[i].name, like->name) && !strcmp(g->value[i].shape, like->shape))
                        return &g->value[i];
        return NULL;
}

/* The distance of the logit of each row's recorded token from the largest. */
static void keep_behind(Golden *g, GoldenValue *v, const float *x, int64_t columns)
{
        const GoldenValue *was = g->recorded ? value_named(g->recorded, v) : NULL;
        if (!was || was->nlikeliest != v->nlikeliest)
                return;
        v->behind = NEW_ARRAY(&g->arena, float, v->nlikeliest);
        for (int64_t i = 0; i < v->nlikeliest; i++) {
                const float *row = x + i * columns;
                v->behind[i] = was->likeliest[i] < columns ? row[v->likeliest[i]] - row[was->likeliest[i]]
                                                           : INFINITY;
        }
}

void golden_keep_likeliest(Golden *g, GoldenValue *v, const float *x, int64_t rows, int64_t columns)
{
        if (rows < 1 || g->keep < 1)
                return;
        v->nlikeliest = rows;
        v->likeliest = NEW_ARRAY(&g->arena, int32_t, rows);
        for (int64_t i = 0; i < rows; i++)
                v->likeliest[i] = (int32_t)largest_index(x + i * columns, columns);
        keep_behind(g, v, x, columns);
}

void golden_write_kept(const GoldenValue *v, Text *t)
{
        if (v->nkept)
                text_printf(t, "kept %" PRId64 " ", v->every);
        for (int64_t i = 0; i < v->nkept; i++) {
                uint32_t bits;
                memcpy(&bits, &v->kept[i], sizeof bits);
                text_printf(t, "%08" PRIX32, bits);
        }
        if (v->nkept)
                text_printf(t, "\n");
        if (v->nlikeliest)
                text_printf(t, "likeliest");
        for (int64_t i = 0; i < v->nlikeliest; i++)
                text_printf(t, " %d%s", v->likeliest[i], i + 1 == v->nlikeliest ? "\n" : "");
}

/* --- differences of values --------------------------------------------------------------------------------------------- */

/* Number of floats between two; negative ones count downwards. */
static uint64_t float_units(float a, float b)
{
        int32_t x, y;
        memcpy(&x, &a, sizeof x);
        memcpy(&y, &b, sizeof y);
        const int64_t p = x < 0 ? INT32_MIN - (int64_t)x : x, q = y < 0 ? INT32_MIN - (int64_t)y : y;
        return (uint64_t)(p > q ? p - q : q - p);
}

enum { FEW_UNITS = 100 }; /* about a thousandth of a percent; larger changes are printed in percent */

static const char *percent(Arena *a, double part)
{
        return arena_printf(a, part >= 0.995 ? "%.0f %%" : "%.2g %%", 100 * part);
}

const char *golden_apart(Arena *a, float was, float is)
{
        if (!isfinite(was) || !isfinite(is))
                return "";
        const uint64_t units = float_units(was, is);
        if (units <= FEW_UNITS)
                return arena_printf(a, ": %" PRIu64 " unit%s in the last place apart", units,
                                    units == 1 ? "" : "s");
        return was == 0 ? ""
                        : arena_printf(a, ": a change of %s",
                                       percent(a, fabs(((double)is - (double)was) / (double)was)));
}

/* --- outputs ---------------------------------------------------------------------------------------------------------- */

typedef struct {
        int64_t changed, at;  /* number of changed kept values; index of the largest change */
        double most, largest; /* largest change; largest finite value before */
} OutputChange;

static bool same_bits(float a, float b)
{
        return !memcmp(&a, &b, sizeof a) || (isnan(a) && isnan(b));
}

/* A change from or to a value that is not finite is the largest. */
static OutputChange find_change(const GoldenValue *was, const GoldenValue *is)
{
        OutputChange c = {.at = -1};
        for (int64_t i = 0; i < was->nkept; i++) {
                const float a = was->kept[i], b = is->kept[i];
                c.largest = isfinite(a) ? fmax(c.largest, fabs((double)a)) : c.largest;
                if (same_bits(a, b))
                        continue;
                const double by = isfinite(a) && isfinite(b) ? fabs((double)b - (double)a) : INFINITY;
                c.changed++;
                if (c.at < 0 || by > c.most) {
                        c.at = i;
                        c.most = by;
                }
        }
        return c;
}

/* "[3, 17]": index of element k in a shape "[5, 31]". */
static const char *kept_index_text(Arena *a, const char *shape, int64_t k)
{
        int64_t dim[MAX_RANK];
        int rank = 0;
        for (char *c = (char *)shape + 1; *c >= '0' && *c <= '9' && rank < MAX_RANK; c += strspn(c, ", "))
                dim[rank++] = max_int64(strtoll(c, &c, 10), 1);
        return element_index_text(a, rank, dim, k);
}

static const char *size_of_change(Arena *a, const OutputChange *c)
{
        const double unit = nextafterf((float)c->largest, INFINITY) - c->largest;
        if (!isfinite(c->most) || c->largest == 0 || !isfinite(unit))
                return "";
        if (c->most <= FEW_UNITS * unit)
                return arena_printf(a, ", %.2g units in the last place of the largest value, %.6g",
                                    c->most / unit, c->largest);
        return arena_printf(a, ", %s of the largest value, %.6g", percent(a, c->most / c->largest),
                            c->largest);
}

static void say_largest(Text *to, Arena *a, const GoldenValue *was, const GoldenValue *is)
{
        const OutputChange c = find_change(was, is);
        const char *of = was->every == 1 ? "values" : "values that are kept";
        if (c.at < 0) {
                text_printf(to, "     %s: none of the %" PRId64 " %s changed\n", was->name, was->nkept, of);
                return;
        }
        const double before = was->kept[c.at], after = is->kept[c.at];
        const int digits = strcmp(arena_printf(a, "%.6g", before), arena_printf(a, "%.6g", after)) ? 6 : 9;
        text_printf(to, "     %s: %" PRId64 " of %" PRId64 " %s changed, most at %s: %.*g -> %.*g%s\n",
                    was->name, c.changed, was->nkept, of, kept_index_text(a, was->shape, c.at * was->every),
                    digits, before, digits, after, size_of_change(a, &c));
}

/* 17, or 17 " girl" */
static const char *kept_token_text(Arena *a, const Tokenizer *t, int32_t token)
{
        if (!t || token >= t->vocab)
                return arena_printf(a, "%d", token);
        char *label = arena_alloc(a, t->longest + 1);
        label[token_label(t, token, label)] = 0;
        return arena_printf(a, "%d %s", token, quoted_text(a, label));
}

static void say_likeliest(Text *to, Arena *a, const GoldenValue *was, const GoldenValue *is,
                          const Tokenizer *t)
{
        const bool alone = !strchr(was->shape, ','); /* a single position, or classes */
        int64_t changed = 0, first = 0;
        for (int64_t i = was->nlikeliest; i-- > 0;)
                if (was->likeliest[i] != is->likeliest[i]) {
                        changed++;
                        first = i;
                }
        const char *before = kept_token_text(a, t, was->likeliest[first]),
                   *after = kept_token_text(a, t, is->likeliest[first]);
        text_printf(to, "     %s: the likeliest ", was->name);
        if (alone)
                text_printf(to, changed ? "was %s, is %s\n" : "is %s, as before\n", before, after);
        else if (!changed)
                text_printf(to, "token is the same at all %" PRId64 " positions\n", was->nlikeliest);
        else
                text_printf(to,
                            "token changed at %" PRId64 " of %" PRId64 " positions, first at %" PRId64
                            ": %s -> %s\n",
                            changed, was->nlikeliest, first, before, after);
}

static bool kept_equal(const GoldenValue *was, const GoldenValue *is)
{
        return was->nkept == is->nkept && was->every == is->every && was->nlikeliest == is->nlikeliest &&
               (!was->nkept || !memcmp(was->kept, is->kept, (size_t)was->nkept * sizeof *was->kept)) &&
               (!was->nlikeliest ||
                !memcmp(was->likeliest, is->likeliest, (size_t)was->nlikeliest * sizeof *was->likeliest));
}

static void say_output(Text *to, Arena *a, const GoldenValue *was, const GoldenValue *is, const Tokenizer *t)
{
        if (was->hash == is->hash && kept_equal(was, is)) {
                text_printf(to, "     %s: unchanged\n", was->name);
                return;
        }
        if (was->nkept == is->nkept && was->every == is->every)
                say_largest(to, a, was, is);
        if (was->nlikeliest && was->nlikeliest == is->nlikeliest)
                say_likeliest(to, a, was, is, t);
}

/* 31 of "[5, 31]" */
static int columns_of(const char *shape)
{
        const char *last = strrchr(shape, ' ');
        return (int)strtol(last ? last + 1 : shape + 1, NULL, 10);
}

/* --- the text ------------------------------------------------------------------------------------------------------------ */

/* Offset of the token in which the texts first differ, and its index; without tokens, of the character. */
static int64_t parting(const Golden *was, const Golden *is, int *token)
{
        int64_t at = 0, begin = 1;
        while (was->text[at] && was->text[at] == is->text[at])
                at++;
        *token = -1;
        for (int i = 0; i < was->npiece; begin += was->piece[i++])
                if (begin + was->piece[i] > at) {
                        *token = i;
                        return begin;
                }
        while (at && (was->text[at] & 0xc0) == 0x80)
                at--;
        return at;
}

static void say_texts(Text *to, const Golden *was, const Golden *is)
{
        if (!was->text || !is->text)
                return;
        if (!strcmp(was->text, is->text)) {
                text_printf(to, "     the text is the same: %s\n", is->text);
                return;
        }
        int token, columns = 0;
        const int64_t at = parting(was, is, &token);
        for (int64_t i = 0; i < at; i++)
                columns += (was->text[i] & 0xc0) != 0x80;
        text_printf(to, "     the text was %s\n     and is       %s\n     %*s^ ", was->text, is->text,
                    columns + 13, "");
        if (token < 0)
                text_printf(to, "it differs from here on\n");
        else
                text_printf(to, "token %d is the first that differs\n", token);
}

/* --- main function ------------------------------------------------------------------------------------------------------------- */

static bool keeps_outputs(const Golden *g)
{
        bool any = false;
        for (int i = 0; i < g->nvalue; i++)
                any |= g->value[i].nkept > 0;
        return any;
}

void golden_say_changes(Text *to, const Golden *was, const Golden *is)
{
        Arena arena = {0};
        Tokenizer tokenizer;
        CkError err;
        for (int i = 0; i < was->nvalue; i++) {
                const GoldenValue *v = &was->value[i], *now = value_named(is, v);
                if (!now || !(v->nkept || now->nkept))
                        continue;
                const int vocab = v->nlikeliest ? columns_of(v->shape) : 0;
                const bool named = vocab > 0 && is->o.tokenizer &&
                                   tokenizer_read(is->o.tokenizer, NULL, vocab, &tokenizer, &err);
                say_output(to, &arena, v, now, named ? &tokenizer : NULL);
                if (named)
                        tokenizer_free(&tokenizer);
        }
        say_texts(to, was, is);
        if (!keeps_outputs(was) && keeps_outputs(is))
                text_printf(to, "     the size of the change is unknown: the file was recorded without "
                                "values to compare\n");
        arena_free(&arena);
}
