/* Statistics of the predictions of a text's tokens by one or two models, summed in double.
 *
 * A position needs an exponential per token of the vocabulary, so it has a shorter polynomial than
 * that of base.h. */
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

static int64_t likeliest_token(const float *logits, int64_t n)
{
        int64_t best = 0;
        for (int64_t i = 1; i < n; i++)
                best = logits[i] > logits[best] ? i : best;
        return best;
}

/* exp(x) for x <= 0, within 3 units in the last place: 2^n exp(r), |r| <= log(2)/2, by Taylor's
 * polynomial.  log(2) is split as by Cody and Waite: n times the first part is exact. */
static double exp_of_difference(double x)
{
        static const double inverse_factorials[] = {1.0 / 6227020800,
                                                    1.0 / 479001600,
                                                    1.0 / 39916800,
                                                    1.0 / 3628800,
                                                    1.0 / 362880,
                                                    1.0 / 40320,
                                                    1.0 / 5040,
                                                    1.0 / 720,
                                                    1.0 / 120,
                                                    1.0 / 24,
                                                    1.0 / 6,
                                                    1.0 / 2,
                                                    1,
                                                    1};
        if (!(x > -700)) /* NaN remains NaN; less than 1e-304 of the largest has no effect */
                return x <= -700 ? 0 : x;
        double n = rint(x * 0x1.71547652b82fep0);
        double r = (x - n * 0x1.62e42feep-1) - n * 0x1.a39ef35793c76p-33, sum = 0;
        for (size_t i = 0; i < sizeof inverse_factorials / sizeof *inverse_factorials; i++)
                sum = sum * r + inverse_factorials[i];
        return ldexp(sum, (int)n);
}

/* log sum_i exp(logits[i]); share [n]: NULL, or the probabilities. */
static double log_sum(const float *logits, int64_t n, double most, double *share)
{
        double sum = 0;
        for (int64_t i = 0; i < n; i++) {
                double x = exp_of_difference(logits[i] - most);
                sum += x;
                if (share)
                        share[i] = x;
        }
        for (int64_t i = 0; share && i < n; i++)
                share[i] /= sum;
        return most + real_log(sum);
}

void predictions_add(Predictions *p, const float *exact, const float *narrow, int32_t next)
{
        int64_t best = likeliest_token(exact, p->vocab);
        double all = log_sum(exact, p->vocab, exact[best], narrow ? p->share : NULL), divergence = 0;
        p->loss[0] += all - exact[next];
        if (narrow) {
                int64_t other = likeliest_token(narrow, p->vocab);
                double narrow_all = log_sum(narrow, p->vocab, narrow[other], NULL);
                for (int64_t i = 0; i < p->vocab; i++)
                        if (p->share[i] != 0)
                                divergence += p->share[i] * ((double)exact[i] - narrow[i]);
                divergence += narrow_all - all;
                p->loss[1] += narrow_all - narrow[next];
                p->changed += best != other;
        }
        p->divergence[p->n++] = divergence < 0 ? 0 : divergence; /* negative by rounding */
}

double predictions_perplexity(const Predictions *p, bool narrow)
{
        return real_exp(p->loss[narrow] / (double)p->n);
}

double predictions_divergence(const Predictions *p)
{
        double sum = 0;
        for (int64_t i = 0; i < p->n; i++)
                sum += p->divergence[i];
        return sum / (double)p->n;
}

/* NaN follows all numbers. */
static int compare_ranks(const void *x, const void *y)
{
        double a, b;
        memcpy(&a, x, sizeof a);
        memcpy(&b, y, sizeof b);
        return isnan(a) || isnan(b) ? isnan(a) - isnan(b) : (a > b) - (a < b);
}

double predictions_quantile(Predictions *p, double part)
{
        qsort(p->divergence, (size_t)p->n, sizeof *p->divergence, compare_ranks);
        int64_t at = (int64_t)ceil(part * (double)p->n) - 1;
        return p->divergence[at < 0 ? 0 : at];
}
