/*
 * Probabilities of classes or tokens, by their logits.
 *
 * Needs real_tables.h and reals.h.
 */
#include <stdint.h>

/* Softmax of logits [n], in double.  Returns 0 if a logit is NaN or infinite. */
static inline int likely_probabilities(const float *logits, int64_t n, double *probability)
{
        double largest = (double)(-1.0f / 0.0f), total = 0;
        for (int64_t i = 0; i < n; i++)
                largest = (double)logits[i] > largest ? (double)logits[i] : largest;
        for (int64_t i = 0; i < n; i++)
                total += probability[i] = reals_exp((double)logits[i] - largest);
        if (!(total > 0 && total - total == 0))
                return 0;
        for (int64_t i = 0; i < n; i++)
                probability[i] /= total;
        return 1;
}

/* How scores of classes become values. */
enum { CLASSES_SOFTMAX, CLASSES_SIGMOID, CLASSES_NONE };

/* Values of the scores [n] of classes; 0: they have none, one is NaN or infinite. */
static inline int likely_classes(const float *scores, int64_t n, int activation, double *value)
{
        if (activation == CLASSES_SOFTMAX)
                return likely_probabilities(scores, n, value);
        for (int64_t i = 0; i < n; i++) {
                const double x = (double)scores[i];
                if (x - x != 0)
                        return 0;
                value[i] = activation == CLASSES_SIGMOID ? 1 / (1 + reals_exp(-x)) : x;
        }
        return 1;
}

/* Whether a precedes b: the larger probability first, then the smaller number. */
static inline int likely_before(const double *probability, int64_t a, int64_t b)
{
        return probability[a] != probability[b] ? probability[a] > probability[b] : a < b;
}

/* The number that follows `last` in that order (-1: the first one); -1: none. */
static inline int64_t likely_next(const double *probability, int64_t n, int64_t last)
{
        int64_t next = -1;
        for (int64_t i = 0; i < n; i++)
                if ((last < 0 || likely_before(probability, last, i)) && (next < 0 || likely_before(probability, i, next)))
                        next = i;
        return next;
}
