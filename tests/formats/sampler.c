/* runtime/sampler.h against its definition done the long way, with a full sort, and against what chance says.
 * The last line is a hash of everything drawn, which has to be the same on every instruction set and
 * compiler. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../runtime/guard.h"

#include V16

#include "../../runtime/math.h"

#include "../../runtime/generation.h"
#include "../../runtime/sampler.h"

enum { MOST = 3000 };

static int failures;
static uint64_t drawn = UINT64_C(0xcbf29ce484222325);

static void verdict(const char *name, int good)
{
        printf("%s %s\n", good ? "ok" : "FAIL", name);
        failures += !good;
}

static int note(int token)
{
        drawn = (drawn ^ (uint64_t)token) * UINT64_C(0x100000001b3);
        return token;
}

typedef struct {
        float w, z;
        int token;
        float distance; /* of z from its mean */
} Choice;

static int by_distance(const void *a, const void *b)
{
        const Choice *x = a, *y = b;
        if (x->distance != y->distance)
                return x->distance < y->distance ? -1 : 1;
        return x->token - y->token;
}

static int by_token(const void *a, const void *b)
{
        return ((const Choice *)a)->token - ((const Choice *)b)->token;
}

static int by_logit(const void *a, const void *b)
{
        const Choice *x = a, *y = b;
        if (x->z != y->z)
                return x->z > y->z ? -1 : 1;
        return x->token - y->token;
}

/* How many of choice [n] it takes for a part p of their sum */
static int enough(const Choice *choice, int n, double sum, float p)
{
        double passed = (double)choice[0].w;
        int kept = 1;
        while (kept < n && passed < sum * (double)p)
                passed += (double)choice[kept++].w;
        return kept;
}

/* Leaves the typical ones of choice [n], in order; how many. */
static int typical(Choice *choice, int n, float p)
{
        double sum = 0, mean = 0;
        qsort(choice, (size_t)n, sizeof *choice, by_token);
        for (int i = 0; i < n; i++)
                sum += (double)choice[i].w;
        for (int i = 0; i < n; i++)
                mean += choice[i].w > 0 ? (double)choice[i].w / sum * (double)choice[i].z : 0;
        for (int i = 0; i < n; i++) {
                double d = (double)choice[i].z - mean;
                choice[i].distance = choice[i].w > 0 ? (float)(d < 0 ? -d : d) : FLOAT_INF;
        }
        qsort(choice, (size_t)n, sizeof *choice, by_distance);
        int kept = enough(choice, n, sum, p);
        while (kept < n && choice[kept].distance == choice[kept - 1].distance)
                kept++;
        return kept;
}

/* The definition at the top of sampler.h, step by step. */
static int sample_plainly(Sampler *s, const float *logits, int n)
{
        static Choice choice[MOST];
        int limited = (s->top_k > 0 && s->top_k < n) || s->top_p < 1;
        double draw = sampler_draw(&s->state), sum = 0, passed = 0;
        float max = sampler_max(logits, n), lane[16];
        for (int i = 0; i < n; i++) {
                v16 z = v_div(v_set1(logits[i] - max), v_set1(s->temperature));
                v_store(lane, z);
                choice[i].z = lane[0];
                v_store(lane, v_exp(z));
                choice[i].w = lane[0];
                choice[i].token = i;
        }
        for (int i = 0; i < n; i++)
                sum += (double)choice[i].w;
        if (limited)
                qsort(choice, (size_t)n, sizeof *choice, by_logit);
        if (s->top_k > 0 && s->top_k < n) {
                int kept = s->top_k;
                while (kept < n && choice[kept].z == choice[kept - 1].z)
                        kept++;
                n = kept;
                sum = 0;
                for (int i = 0; i < n; i++)
                        sum += (double)choice[i].w;
        }
        if (s->top_p < 1)
                n = enough(choice, n, sum, s->top_p);
        if (s->typical_p < 1) {
                int left = 0;
                for (int i = 0; i < n; i++)
                        if (choice[i].w >= s->min_p)
                                choice[left++] = choice[i];
                n = typical(choice, left, s->typical_p);
        }
        sum = passed = 0;
        for (int i = 0; i < n; i++)
                sum += choice[i].w >= s->min_p ? (double)choice[i].w : 0;
        for (int i = 0; i < n; i++) {
                passed += choice[i].w >= s->min_p ? (double)choice[i].w : 0;
                if (passed > draw * sum)
                        return choice[i].token;
        }
        return -1;
}

static float random_logit(uint64_t *state)
{
        double sum = 0;
        for (int i = 0; i < 4; i++)
                sum += sampler_draw(state) - 0.5;
        return (float)(sum * 6);
}

static void check_definition(void)
{
        static const int sizes[] = {1, 2, 15, 16, 17, 64, 65, 512, 1000, MOST},
                         ks[] = {0, 1, 5, 40, 900, 5000};
        static const float ps[] = {0, 0.1f, 0.5f, 0.9f, 0.999f, 1}, mins[] = {0, 0.05f, 1},
                           typicals[] = {0, 1, 0.2f, 0.95f};
        static float logits[MOST], copy[MOST], weight[MOST];
        static int32_t order[MOST];
        uint64_t state = 7;
        int wrong = 0;
        for (int run = 0; run < 4320; run++) {
                int n = sizes[run % 10], same = run % 4 == 0; /* many ties */
                Sampler s = {.temperature = run % 3 ? 1.0f : 0.3f + 3 * (float)(run % 2),
                             .top_k = ks[run / 10 % 6],
                             .top_p = ps[run / 60 % 6],
                             .min_p = mins[run / 360 % 3],
                             .typical_p = typicals[run / 1080],
                             .state = (uint64_t)run,
                             .order = order,
                             .weight = weight};
                Sampler plain = s;
                for (int i = 0; i < n; i++)
                        logits[i] = same ? (float)(int)random_logit(&state) : random_logit(&state);
                memcpy(copy, logits, sizeof copy);
                int token = note(sample(&s, logits, n));
                wrong += token != sample_plainly(&plain, copy, n) || s.state != plain.state;
        }
        verdict("sampler: as defined, with a full sort", wrong == 0);
}

/* 100,000 draws from four tokens: chi squared with 3 degrees of freedom is below 16.3 in 999 of 1000 cases.
 */
static void check_chance(void)
{
        static const float p[4] = {0.5f, 0.25f, 0.2f, 0.05f},
                           ln[4] = {-0.6931472f, -1.3862944f, -1.6094379f, -2.9957323f};
        int32_t order[4];
        float weight[4];
        int count[4] = {0}, within[4] = {0}, likely[4] = {0};
        Sampler s = {.temperature = 1,
                     .top_p = 1,
                     .typical_p = 1,
                     .state = 42,
                     .order = order,
                     .weight = weight},
                top = s, least = s;
        top.top_p = 0.7f;
        least.min_p = 0.45f;
        for (int i = 0; i < 100000; i++) {
                float logits[3][4];
                for (int k = 0; k < 3; k++)
                        memcpy(logits[k], ln, sizeof ln);
                count[note(sample(&s, logits[0], 4))]++;
                within[sample(&top, logits[1], 4)]++;
                likely[sample(&least, logits[2], 4)]++;
        }
        double chi = 0;
        for (int i = 0; i < 4; i++) {
                double expected = 1e5 * (double)p[i];
                chi += (count[i] - expected) * (count[i] - expected) / expected;
        }
        verdict("sampler: draws in proportion", chi < 16.3);
        verdict("sampler: top-p 0.7 of .5 .25 .2 .05 leaves two",
                within[0] + within[1] == 100000 && within[1] > 30000);
        verdict("sampler: min-p 0.45 leaves the same two",
                likely[0] + likely[1] == 100000 && likely[1] > 30000);
}

/* One of 64 tokens has a part p, the others the rest.  Of p = .6 the entropy, 2.33, is nearer to its -log p, .51, than to that of the
 * others, 5.06; of p = .4 it is 3.16, and nearer to the others' 4.65 than to .92: the likeliest token is not typical. */
static void check_typical(void)
{
        static const float other[2] = {-4.5485998f, -3.7376696f}; /* log(.4 / 63 / .6), log(.6 / 63 / .4) */
        int32_t order[64];
        float weight[64], logits[64];
        int likeliest[2] = {0};
        Sampler s = {.temperature = 1,
                     .top_p = 1,
                     .typical_p = 0.5f,
                     .state = 5,
                     .order = order,
                     .weight = weight};
        for (int i = 0; i < 1000; i++)
                for (int which = 0; which < 2; which++) {
                        for (int k = 0; k < 64; k++)
                                logits[k] = k == 9 ? 0 : other[which];
                        likeliest[which] += note(sample(&s, logits, 64)) == 9;
                }
        verdict("sampler: typical takes what is nearest to the entropy",
                likeliest[0] == 1000 && likeliest[1] == 0);
}

/* By hand: logits 2 and -2 and 1, the first in the prompt, the second made twice. */
static void check_penalties(void)
{
        const Penalties all = {.repetition = 2, .presence = 0.5f, .frequency = 0.25f}, none = {0},
                        one = {.repetition = 1};
        const int32_t times[4] = {-1, 2, 0, 1};
        float logits[4] = {2, -2, 1, 1};
        penalties_take(&all, times, logits, 4);
        verdict("sampler: penalties", logits[0] == 1 && logits[1] == -4 - 1 && logits[2] == 1 &&
                                              logits[3] == 0.5f - 0.75f && penalties_apply(&all) &&
                                              !penalties_apply(&none) && !penalties_apply(&one));
}

static void check_corners(void)
{
        static const Sampler kinds[] = {{.temperature = 0, .top_p = 1, .typical_p = 1},
                                        {.temperature = 1, .top_p = 1, .typical_p = 1},
                                        {.temperature = 1, .top_k = 3, .top_p = 1, .typical_p = 1},
                                        {.temperature = 1e-30f, .top_p = 0.9f, .typical_p = 1},
                                        {.temperature = FLOAT_INF, .top_p = 1, .min_p = 0.5f, .typical_p = 1},
                                        {.temperature = 1, .top_p = 1, .typical_p = 0.5f}};
        int good = 1;
        int32_t order[20];
        float weight[20];
        for (int kind = 0; kind < 6; kind++) {
                float nan[20], certain[20], never[20], mixed[20], tie[20];
                Sampler s = kinds[kind];
                s.order = order;
                s.weight = weight;
                for (int i = 0; i < 20; i++) {
                        nan[i] = FLOAT_NAN;
                        certain[i] = i == 11 || i == 17 ? FLOAT_INF : i == 3 ? FLOAT_NAN : 0;
                        never[i] = -FLOAT_INF;
                        mixed[i] = i == 5 || i == 18 ? 2 : FLOAT_NAN;
                        tie[i] = i >= 6 && i % 3 == 0 ? 5.0f : -200.0f;
                }
                int token = note(sample(&s, nan, 20));
                good &= token == 0 && note(sample(&s, certain, 20)) == 11 && note(sample(&s, never, 20)) == 0;
                token = note(sample(&s, mixed, 20));
                good &= token == 5 || (kind && token == 18);
                token = note(sample(&s, tie, 20));
                if (s.temperature < FLOAT_INF) /* where all are alike */
                        good &= kind ? token >= 6 && token % 3 == 0 : token == 6;
        }
        verdict("sampler: NaN, infinities, ties", good);
}

int main(void)
{
        check_definition();
        check_chance();
        check_typical();
        check_penalties();
        check_corners();
        printf("drawn %016llx\n", (unsigned long long)drawn);
        return failures != 0;
}
