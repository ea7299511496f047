/* What one or two models say of a text's next tokens, summed up in double.
 *
 * By libm's functions, ten times as fast as those of base.h: a position takes one for each token there is, and the figures are read by
 * people. */
#include <math.h>
#include <stdlib.h>

#include "check.h"

bool predictions_new(Predictions *p, int64_t vocab, int64_t room)
{
        *p = (Predictions){.vocab = vocab, .room = room};
        p->share = malloc((size_t)vocab * sizeof *p->share);
        p->divergence = malloc((size_t)room * sizeof *p->divergence + 1);
        return p->share && p->divergence;
}

void predictions_free(Predictions *p)
{
        free(p->share);
        free(p->divergence);
        *p = (Predictions){0};
}

static int64_t likeliest(const float *logits, int64_t n)
{
        int64_t best = 0;
        for (int64_t i = 1; i < n; i++)
                best = logits[i] > logits[best] ? i : best;
        return best;
}

/* log sum_i exp(logits[i]); share [n]: NULL, or the probabilities. */
static double log_sum(const float *logits, int64_t n, double most, double *share)
{
        double sum = 0;
        for (int64_t i = 0; i < n; i++) {
                double x = exp(logits[i] - most);
                sum += x;
                if (share)
                        share[i] = x;
        }
        for (int64_t i = 0; share && i < n; i++)
                share[i] /= sum;
        return most + log(sum);
}

void predictions_add(Predictions *p, const float *exact, const float *narrow, int32_t next)
{
        int64_t best = likeliest(exact, p->vocab);
        double all = log_sum(exact, p->vocab, exact[best], narrow ? p->share : NULL), divergence = 0;
        p->loss[0] += all - exact[next];
        if (narrow) {
                int64_t other = likeliest(narrow, p->vocab);
                double narrow_all = log_sum(narrow, p->vocab, narrow[other], NULL);
                for (int64_t i = 0; i < p->vocab; i++)
                        if (p->share[i] != 0)
                                divergence += p->share[i] * ((double)exact[i] - narrow[i]);
                divergence += narrow_all - all;
                p->loss[1] += narrow_all - narrow[next];
                p->changed += best != other;
        }
        p->divergence[p->n++] = divergence < 0 ? 0 : divergence; /* rounding */
}

double predictions_perplexity(const Predictions *p, bool narrow)
{
        return exp(p->loss[narrow] / (double)p->n);
}

double predictions_divergence(const Predictions *p)
{
        double sum = 0;
        for (int64_t i = 0; i < p->n; i++)
                sum += p->divergence[i];
        return sum / (double)p->n;
}

/* NaN behind all numbers. */
static int ascending(const void *x, const void *y)
{
        double a, b;
        memcpy(&a, x, sizeof a);
        memcpy(&b, y, sizeof b);
        return isnan(a) || isnan(b) ? isnan(a) - isnan(b) : (a > b) - (a < b);
}

double predictions_quantile(Predictions *p, double part)
{
        qsort(p->divergence, (size_t)p->n, sizeof *p->divergence, ascending);
        int64_t at = (int64_t)ceil(part * (double)p->n) - 1;
        return p->divergence[at < 0 ? 0 : at];
}
