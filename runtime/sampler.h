/*
 * Sampling: from the logits of one position to a token, the same token on every machine.
 *
 *      z_i = (logit_i - max) / temperature, w_i = exp(z_i)      so that the likeliest token has w = 1
 *      top-k keeps the k largest z, and what is equal to the least of them; top-p, of these, the fewest, the likeliest first, whose
 * sum of w is at least p times that of all of them (Holtzman et al., 2020); min-p, of these, the ones with w >= min_p; typical, of
 * these, the fewest whose sum is at least typical_p times theirs, those first whose -log p is nearest to its mean, the entropy
 * (Meister et al., 2023), and what is as near as the last of them.  One of what is left is drawn in proportion to w.
 *
 * Order and limits are those of transformers (docs/sampling.md).  The draw goes through what is left in the order of the tokens where
 * there is neither top-k nor top-p nor typical; else from the likeliest down, with typical from the nearest on.  What is equal comes in
 * the order of the tokens.  A logit that is NaN counts as -inf; one of +inf is certain.  The vocabulary is never sorted: the k first are
 * kept in a heap while the others pass by, and top-p asks for 64, then four times as many, until they are enough.  Sums run in double,
 * in the order of the draw.
 *
 * Needs guard.h, a v16 header, math.h and generation.h.
 */

/* A number in [0, 1), a multiple of 2^-24: the upper bits of splitmix64 (Steele, Lea and Flood, 2014). */
static inline double sampler_draw(uint64_t *state)
{
        uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
        z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
        z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
        z ^= z >> 31;
        return (double)(int64_t)(z >> 40) * 0x1p-24;
}

/* The largest of x [n]; -inf if there is none but NaN */
static inline float sampler_max(const float *x, int n)
{
        v16 most = v_set1(-FLOAT_INF);
        int i = 0;
        for (; i + 16 <= n; i += 16)
                most = v_max(v_load(x + i), most);
        float max = v_maxof(most);
        for (; i < n; i++)
                max = x[i] > max ? x[i] : max;
        return max;
}

/* The first index of the maximum; 0 if all are NaN */
static inline int sampler_argmax(const float *logits, int n)
{
        float max = sampler_max(logits, n);
        for (int i = 0; i < n; i++)
                if (logits[i] == max)
                        return i;
        return 0;
}

/* logits [n] become z, -inf for NaN, which v_max turns into that; weight [n] is exp(z). */
static inline void sampler_weights(float *logits, float *weight, int n, float max, float temperature)
{
        v16 top = v_set1(max), t = v_set1(temperature), least = v_set1(-FLOAT_INF);
        for (int i = 0; i < n; i += 16) {
                int lanes = n - i < 16 ? n - i : 16;
                v16 z = v_max(v_div(v_sub(v_load_n(logits + i, lanes), top), t), least);
                v_store_n(logits + i, z, lanes);
                v_store_n(weight + i, v_exp(z), lanes);
        }
}

/* Whether token a precedes token b: larger x first, then the lower number */
static inline int sampler_before(const float *x, int32_t a, int32_t b)
{
        return x[a] > x[b] || (x[a] == x[b] && a < b);
}

/* Restores the heap [n], whose root is the last token in order, below index i. */
static inline void sampler_sift(const float *x, int32_t *heap, int n, int i)
{
        int32_t moved = heap[i];
        for (int child = 2 * i + 1; child < n; child = 2 * i + 1) {
                if (child + 1 < n && sampler_before(x, heap[child], heap[child + 1]))
                        child++;
                if (!sampler_before(x, moved, heap[child]))
                        break;
                heap[i] = heap[child];
                i = child;
        }
        heap[i] = moved;
}

/* The first k (1 <= k <= n) of the tokens by x, in order */
static inline void sampler_top(const float *x, int n, int32_t *order, int k)
{
        for (int i = 0; i < k; i++)
                order[i] = i;
        for (int i = k / 2; i-- > 0;)
                sampler_sift(x, order, k, i);
        for (int i = k; i < n; i++) {
                if (x[i] <= x[order[0]])
                        continue;
                order[0] = i;
                sampler_sift(x, order, k, 0);
        }
        for (int last = k - 1; last > 0; last--) {
                int32_t token = order[0];
                order[0] = order[last];
                order[last] = token;
                sampler_sift(x, order, last, 0);
        }
}

/* Extends order[k] with the tokens that tie with the last one.  Returns the new count. */
static inline int sampler_equal(const float *x, int n, int32_t *order, int k)
{
        float last = x[order[k - 1]];
        for (int i = order[k - 1] + 1; i < n; i++)
                if (x[i] == last)
                        order[k++] = i;
        return k;
}

/* The number of tokens of order [k] whose weights first sum to at least `enough`; k + 1 if all are less */
static inline int sampler_reach(const float *w, const int32_t *order, int k, double enough)
{
        double sum = 0;
        for (int i = 0; i < k; i++) {
                sum += (double)w[order[i]];
                if (sum >= enough)
                        return i + 1;
        }
        return k + 1;
}

/* The first by x, in order [n], whose weights have a sum of at least `enough`; their number. */
static inline int sampler_enough(const float *x, const float *w, int n, int32_t *order, double enough)
{
        int k = n < 64 ? n : 64, kept;
        sampler_top(x, n, order, k);
        while ((kept = sampler_reach(w, order, k, enough)) > k && k < n) {
                k = k < n / 4 ? 4 * k : n;
                sampler_top(x, n, order, k);
        }
        return kept < k ? kept : k;
}

/* The sum of the weights of order [n], or of the tokens 0 to n - 1 if order is null */
static inline double sampler_sum(const float *w, const int32_t *order, int n)
{
        double sum = 0;
        for (int i = 0; i < n; i++)
                sum += (double)w[order ? order[i] : i];
        return sum;
}

/* Sets weights below min_p to 0, and those of tokens that are not in order [left]; order NULL: all are. */
static inline void sampler_leave(float *w, int n, const int32_t *order, int left, float min_p)
{
        for (int i = 0; i < left; i++)
                w[order ? order[i] : i] *= -1;
        for (int i = 0; i < n; i++)
                w[i] = -w[i] > 0 && -w[i] >= min_p ? -w[i] : 0;
}

/* Puts the tokens of weights [n] that are typical into s->order and returns their number.  -log p_i is -z_i and the same for all, so
 * that its distance from the mean is |z_i - mean of z|; z becomes less that distance. */
static inline int sampler_typical(const Sampler *s, float *z, int n)
{
        const float *w = s->weight;
        double sum = sampler_sum(w, 0, n), mean = 0;
        for (int i = 0; i < n; i++)
                if (w[i] > 0)
                        mean += (double)w[i] / sum * (double)z[i];
        for (int i = 0; i < n; i++) {
                double distance = (double)z[i] - mean;
                z[i] = w[i] > 0 ? (float)(distance < 0 ? distance : -distance) : -FLOAT_INF;
        }
        return sampler_equal(z, n, s->order, sampler_enough(z, w, n, s->order, sum * (double)s->typical_p));
}

/* What the limits leave of logits [n], the largest of them max: s->weight has the weights, 0 for what min-p leaves out, and *order [of
 * the number returned] the tokens in the order of the draw; null: all, by number. */
static inline int sampler_left(const Sampler *s, float *logits, int n, float max, const int32_t **order)
{
        float *w = s->weight;
        int left = n;
        *order = 0;
        sampler_weights(logits, w, n, max, s->temperature);
        if (s->top_k > 0 && s->top_k < n) {
                sampler_top(logits, n, s->order, s->top_k);
                left = sampler_equal(logits, n, s->order, s->top_k);
                *order = s->order;
        }
        if (s->top_p < 1.0f) {
                double enough = sampler_sum(w, *order, left) * (double)s->top_p;
                int kept = *order ? sampler_reach(w, *order, left, enough) : sampler_enough(logits, w, n, s->order, enough);
                left = kept < left ? kept : left;
                *order = s->order;
        }
        if (s->min_p > 0.0f || s->typical_p < 1.0f)
                sampler_leave(w, n, *order, left, s->min_p < 1.0f ? s->min_p : 1.0f);
        if (s->typical_p < 1.0f) {
                left = sampler_typical(s, logits, n);
                *order = s->order;
        }
        return left;
}

/* One of order [n], or of the tokens 0 to n - 1 if order is null, in proportion to the weights */
static inline int sampler_pick(const float *w, const int32_t *order, int n, double draw)
{
        double sum = sampler_sum(w, order, n), passed = 0;
        for (int i = 0; i < n; i++) {
                int token = order ? order[i] : i;
                passed += (double)w[token];
                if (passed > draw * sum)
                        return token;
        }
        return order ? order[0] : 0;
}

#if HAS_UNMASK
/* The weights of order [left], or of the tokens 0 to left - 1 if order is null; z: their logarithms */
static inline SampledFrom sampler_from(const float *w, const float *z, const int32_t *order, int left, int token)
{
        SampledFrom f = {sampler_sum(w, order, left), (double)w[token], 0, 0, 0};
        for (int i = 0; i < left; i++) {
                const int32_t at = order ? order[i] : i;
                const double x = (double)w[at], least = x < f.first ? x : f.first;
                f.second = least > f.second ? least : f.second;
                f.first = x > f.first ? x : f.first;
                if (x > 0)
                        f.moment += x * (double)z[at];
        }
        return f;
}
#endif

/* Samples a token from logits [n], which are overwritten; advances the random generator unless temperature is 0. */
static inline int sample(Sampler *s, float *logits, int n)
{
        if (!(s->temperature > 0.0f))
                return sampler_argmax(logits, n);
        double draw = sampler_draw(&s->state);
        float max = sampler_max(logits, n);
        if (!(max < FLOAT_INF && max > -FLOAT_INF))
                return sampler_argmax(logits, n);
        const int32_t *order;
        int left = sampler_left(s, logits, n, max, &order);
#if HAS_UNMASK
        const int token = sampler_pick(s->weight, order, left, draw);
        if (s->from)
                *s->from = sampler_from(s->weight, logits, order, left, token);
        return token;
#else
        return sampler_pick(s->weight, order, left, draw);
#endif
}
