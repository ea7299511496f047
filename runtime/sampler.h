/*
 * Sampling: from the logits of one position to a token, the same token on every machine.
 *
 *      w_i = exp((logit_i - max) / temperature)        so that the likeliest token has w = 1
 *      top-k keeps the k largest w; top-p, of these, the fewest whose sum exceeds p times their sum (Holtzman
 * et al., 2020); min-p, of these, the ones with w >= min_p; typical, of these, the fewest whose sum exceeds typical_p times
 * their sum, those first whose -log p is nearest to its mean, the entropy (Meister et al., 2023).  One of what is left is drawn in
 * proportion to w.
 *
 * Equal w come in the order of their tokens.  A logit that is NaN counts as -inf; one of +inf is certain. The
 * vocabulary is never sorted: the k largest are kept in a heap while the others pass by, and top-p asks for
 * 64, then four times as many, until they are enough.  Sums run in double, in the order of the draw.
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

/* The first place of the maximum; 0 if all are NaN */
static inline int sampler_argmax(const float *logits, int n)
{
        float max = sampler_max(logits, n);
        for (int i = 0; i < n; i++)
                if (logits[i] == max)
                        return i;
        return 0;
}

/* logits [n] become weights exp((logit - max) / temperature); 0 for NaN, which v_max turns into -inf. */
static inline void sampler_weights(float *logits, int n, float max, float temperature)
{
        v16 top = v_set1(max), t = v_set1(temperature), least = v_set1(-FLOAT_INF);
        for (int i = 0; i < n; i += 16) {
                int lanes = n - i < 16 ? n - i : 16;
                v16 x = v_div(v_sub(v_load_n(logits + i, lanes), top), t);
                v_store_n(logits + i, v_exp(v_max(x, least)), lanes);
        }
}

/* Whether token a comes before token b: the larger weight, then the lower number */
static inline int sampler_before(const float *w, int32_t a, int32_t b)
{
        return w[a] > w[b] || (w[a] == w[b] && a < b);
}

/* Restores the heap [n], the last token in front, below place i. */
static inline void sampler_sift(const float *w, int32_t *heap, int n, int i)
{
        int32_t moved = heap[i];
        for (int child = 2 * i + 1; child < n; child = 2 * i + 1) {
                if (child + 1 < n && sampler_before(w, heap[child], heap[child + 1]))
                        child++;
                if (!sampler_before(w, moved, heap[child]))
                        break;
                heap[i] = heap[child];
                i = child;
        }
        heap[i] = moved;
}

/* The first k (1 <= k <= n) of the tokens by weight, in order */
static inline void sampler_top(const float *w, int n, int32_t *order, int k)
{
        for (int i = 0; i < k; i++)
                order[i] = i;
        for (int i = k / 2; i-- > 0;)
                sampler_sift(w, order, k, i);
        for (int i = k; i < n; i++) {
                if (w[i] <= w[order[0]])
                        continue;
                order[0] = i;
                sampler_sift(w, order, k, 0);
        }
        for (int last = k - 1; last > 0; last--) {
                int32_t token = order[0];
                order[0] = order[last];
                order[last] = token;
                sampler_sift(w, order, last, 0);
        }
}

/* How many of order [k] it takes until their sum exceeds `enough`; k + 1 if all of them do not */
static inline int sampler_reach(const float *w, const int32_t *order, int k, double enough)
{
        double sum = 0;
        for (int i = 0; i < k; i++) {
                sum += (double)w[order[i]];
                if (sum > enough)
                        return i + 1;
        }
        return k + 1;
}

/* Puts the tokens that top-k and top-p leave into s->order and returns their number; one of the two limits.
 */
static inline int sampler_limit(const Sampler *s, const float *w, int n)
{
        int limited = s->top_k > 0 && s->top_k < n, most = limited ? s->top_k : n;
        int k = limited ? most : n < 64 ? n : 64, kept;
        sampler_top(w, n, s->order, k);
        if (!(s->top_p > 0.0f && s->top_p < 1.0f))
                return k;
        double sum = 0;
        for (int i = 0; i < most; i++)
                sum += (double)w[limited ? s->order[i] : i];
        while ((kept = sampler_reach(w, s->order, k, sum * (double)s->top_p)) > k && k < most) {
                k = k < most / 4 ? 4 * k : most;
                sampler_top(w, n, s->order, k);
        }
        return kept < k ? kept : k;
}

/* One of order [n], or of the tokens 0 to n - 1 if order is null, in proportion to the weights of at least
 * min_p */
static inline int sampler_pick(const float *w, const int32_t *order, int n, float min_p, double draw)
{
        double sum = 0, passed = 0;
        for (int i = 0; i < n; i++) {
                float weight = w[order ? order[i] : i];
                sum += weight >= min_p ? (double)weight : 0;
        }
        for (int i = 0; i < n; i++) {
                int token = order ? order[i] : i;
                passed += w[token] >= min_p ? (double)w[token] : 0;
                if (passed > draw * sum)
                        return token;
        }
        return order ? order[0] : 0;
}

/* Weights of what the other limits have left out become 0. */
static inline void sampler_leave(const Sampler *s, float *w, int n, const int32_t *order, int left, float min_p)
{
        for (int i = 0; order && i < left; i++)
                s->score[i] = w[order[i]];
        for (int i = 0; i < n; i++)
                w[i] = !order && w[i] >= min_p ? w[i] : 0;
        for (int i = 0; order && i < left; i++)
                w[order[i]] = s->score[i] >= min_p ? s->score[i] : 0;
}

/* Puts the tokens of w [n] that are typical into s->order and returns their number.  -log p_i is log w_i and the same for all, so
 * that its distance from the mean is |log w_i - mean of log w|. */
static inline int sampler_typical(const Sampler *s, const float *w, int n)
{
        double sum = 0, mean = 0;
        for (int i = 0, lanes; i < n; i += 16) {
                lanes = n - i < 16 ? n - i : 16;
                v_store_n(s->score + i, v_log(v_load_n(w + i, lanes)), lanes);
        }
        for (int i = 0; i < n; i++)
                sum += (double)w[i];
        for (int i = 0; i < n; i++)
                if (w[i] > 0)
                        mean += (double)w[i] / sum * (double)s->score[i];
        for (int i = 0; i < n; i++) {
                double distance = (double)s->score[i] - mean;
                s->score[i] = w[i] > 0 ? (float)(distance < 0 ? distance : -distance) : -FLOAT_INF;
        }
        int k = n < 64 ? n : 64, kept;
        sampler_top(s->score, n, s->order, k);
        while ((kept = sampler_reach(w, s->order, k, sum * (double)s->typical_p)) > k && k < n) {
                k = k < n / 4 ? 4 * k : n;
                sampler_top(s->score, n, s->order, k);
        }
        return kept < k ? kept : k;
}

/* A token from logits [n], which are overwritten; one step of the generator unless temperature is 0. */
static inline int sample(Sampler *s, float *logits, int n)
{
        if (!(s->temperature > 0.0f))
                return sampler_argmax(logits, n);
        double draw = sampler_draw(&s->state);
        float max = sampler_max(logits, n), min_p = s->min_p < 1.0f ? s->min_p : 1.0f;
        if (!(max < FLOAT_INF && max > -FLOAT_INF))
                return sampler_argmax(logits, n);
        sampler_weights(logits, n, max, s->temperature);
        int limited = (s->top_k > 0 && s->top_k < n) || (s->top_p > 0.0f && s->top_p < 1.0f);
        int left = limited ? sampler_limit(s, logits, n) : n;
        if (!(s->typical_p > 0.0f && s->typical_p < 1.0f))
                return sampler_pick(logits, limited ? s->order : 0, left, min_p, draw);
        sampler_leave(s, logits, n, limited ? s->order : 0, left, min_p);
        return sampler_pick(logits, s->order, sampler_typical(s, logits, n), 0, draw);
}
