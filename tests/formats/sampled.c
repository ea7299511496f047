/* runtime/sampler.h and generation.h against transformers: logits and history of each line of samplers.cases, made anew, leave the
 * tokens that its warpers left, with the probabilities that it gave them, and texts go on with the same tokens.  tests/oracle/samplers.py
 * wrote the lines, and says what stands in them and where two sets of tokens are right.
 *   usage: sampled samplers.cases */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../runtime/guard.h"

#include V16

#include "../../runtime/math.h"

#include "../../runtime/generation.h"
#include "../../runtime/sampler.h"

enum { MOST = 300, DRAWS = 8, STEPS = 64, HISTORY = 16, SUPPRESSED = 100 };
static const char *const groups[] = {"temperature",   "top-k",
                                     "top-p",         "min-p",
                                     "typical",       "several at once",
                                     "penalties",     "a text, likeliest",
                                     "a text, drawn", "a text with suppressed tokens"};
enum { GROUPS = sizeof groups / sizeof *groups };

/* A line */
typedef struct {
        char kind[16];
        int vocab, prompt[HISTORY], nprompt, made[HISTORY], nmade;
        uint64_t seed;
        Sampler sampler;
        Penalties penalties;
} Case;

static FILE *cases;
static int line, compared[GROUPS], wrong[GROUPS], rounded, near;
static float logits[MOST], weight[MOST];
static int32_t order[MOST];

/* --- the record ------------------------------------------------------------------------------------------------------- */

static void unreadable(const char *what)
{
        printf("FAIL samplers: line %d of the record has no %s\n", line, what);
        exit(1);
}

static double number(const char *what)
{
        double x = 0;
        if (fscanf(cases, "%lf", &x) != 1)
                unreadable(what);
        return x;
}

static int integer(const char *what, int most)
{
        double x = number(what);
        if (!(x >= -1 && x <= most))
                unreadable(what);
        return (int)x;
}

static void word(const char *expected)
{
        char found[16];
        if (fscanf(cases, "%15s", found) != 1 || strcmp(found, expected) != 0)
                unreadable(expected);
}

static int tokens(const char *name, int *list, int most)
{
        word(name);
        int n = integer(name, most);
        for (int i = 0; i < n; i++)
                list[i] = integer(name, MOST - 1);
        return n;
}

static Case read_case(void)
{
        Case c = {.sampler = {.order = order, .weight = weight}};
        if (fscanf(cases, "%15s", c.kind) != 1)
                unreadable("kind");
        c.vocab = integer("vocab", MOST);
        c.seed = (uint64_t)number("seed");
        c.sampler.temperature = (float)number("temperature");
        c.sampler.top_k = integer("k", MOST);
        c.sampler.top_p = (float)number("p");
        c.sampler.min_p = (float)number("min");
        c.sampler.typical_p = (float)number("typical");
        c.penalties.repetition = (float)number("repetition");
        c.penalties.presence = (float)number("presence");
        c.penalties.frequency = (float)number("frequency");
        c.nprompt = tokens("prompt", c.prompt, HISTORY);
        c.nmade = tokens("made", c.made, HISTORY);
        return c;
}

/* What a line is about */
static int group_of(const Case *c)
{
        const Sampler *s = &c->sampler;
        int limits = (s->top_k > 0) + (s->top_p < 1) + (s->min_p > 0) + (s->typical_p < 1);
        if (penalties_apply(&c->penalties))
                return 6;
        return limits > 1         ? 5
               : s->top_k > 0     ? 1
               : s->top_p < 1     ? 2
               : s->min_p > 0     ? 3
               : s->typical_p < 1 ? 4
                                  : 0;
}

static void compare(int group, int good, const char *what)
{
        compared[group]++;
        if (!good && wrong[group]++ < 5)
                printf("     line %d: %s\n", line, what);
}

/* --- the logits ------------------------------------------------------------------------------------------------------- */

static uint64_t hashed(uint64_t seed, uint64_t stream, int i)
{
        uint64_t z = seed * UINT64_C(0x9e3779b97f4a7c15) + stream * UINT64_C(0xd1342543de82ef95) +
                     (uint64_t)i * UINT64_C(0xaf251af3b0f025b5);
        z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
        z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
        return z ^ z >> 31;
}

static int bell(uint64_t seed, uint64_t stream, int i)
{
        uint64_t h = hashed(seed, stream, i);
        return (int)((h & 0xffff) + (h >> 16 & 0xffff) + (h >> 32 & 0xffff) + (h >> 48)) - 131070;
}

static float logit(const Case *c, uint64_t stream, int i)
{
        const char *kind = c->kind;
        int s = bell(c->seed, 0, i) + (stream ? (bell(c->seed, stream, i) + 131072) >> 2 : 0);
        float normal = (float)s * 0x1p-14f;
        if (!strcmp(kind, "ties"))
                return (float)(((s + 131072) >> 14) - 8);
        if (!strcmp(kind, "holes"))
                return hashed(c->seed, 1, i) % 4 == 0 ? -FLOAT_INF : normal;
        if (!strcmp(kind, "large"))
                return (float)s * 0x1p-7f;
        if (!strcmp(kind, "small"))
                return (float)s * 0x1p-24f;
        if (!strcmp(kind, "one"))
                return normal + (i == (int)(c->seed % (uint64_t)c->vocab) ? 25.0f : 0.0f);
        if (!strcmp(kind, "high"))
                return normal + 900;
        if (!strcmp(kind, "equal"))
                return 0;
        if (!strcmp(kind, "two"))
                return hashed(c->seed, 1, i) % 8 == 0 ? 2 : 0;
        return normal;
}

static void make_logits(const Case *c, uint64_t stream)
{
        for (int i = 0; i < c->vocab; i++)
                logits[i] = logit(c, stream, i);
        if (stream)
                return;
        int32_t times[MOST] = {0};
        for (int i = 0; i < c->nprompt; i++)
                times[c->prompt[i]] = -1;
        for (int i = 0; i < c->nmade; i++)
                times[c->made[i]] = times[c->made[i]] < 0 ? 1 : times[c->made[i]] + 1;
        if (penalties_apply(&c->penalties))
                penalties_take(&c->penalties, times, logits, c->vocab);
}

/* --- sets ------------------------------------------------------------------------------------------------------------- */

/* Whether the tokens with a probability are those of p [vocab].  How near they must be is 1e-6, and, for a token less likely than the
 * likeliest by a factor e^8 or more, half an ulp of float32 twice for each of these units: z has that. */
static const char *differ(const Case *c, const double *p)
{
        const int32_t *left;
        double found[MOST] = {0}, sum = 0;
        int n = c->vocab;
        make_logits(c, 0);
        int nleft = sampler_left(&c->sampler, logits, n, sampler_max(logits, n), &left);
        float z[MOST];
        make_logits(c, 0);
        float max = sampler_max(logits, n);
        for (int i = 0; i < n; i++)
                z[i] = (max - logits[i]) / c->sampler.temperature;
        for (int i = 0; i < nleft; i++)
                sum += (double)weight[left ? left[i] : i];
        for (int i = 0; i < nleft; i++)
                found[left ? left[i] : i] = (double)weight[left ? left[i] : i] / sum;
        for (int i = 0; i < n; i++)
                if ((found[i] > 0) != (p[i] > 0))
                        return found[i] > 0 ? "a token stays that goes" : "a token goes that stays";
        for (int i = 0; i < n; i++) {
                double error = found[i] - p[i], bound = z[i] > 8 ? 0x1p-23 * (double)z[i] : 1e-6;
                if (p[i] > 0 && (error < 0 ? -error : error) > bound * p[i])
                        return "a probability differs";
        }
        return NULL;
}

/* The tokens of the name, and what they have; 0: there are none. */
static int read_set(const char *name, double *p)
{
        word(name);
        int n = integer(name, MOST);
        memset(p, 0, MOST * sizeof *p);
        for (int i = 0; i < n; i++) {
                int token = integer(name, MOST - 1);
                p[token] = number(name);
        }
        return n;
}

static void check_set(void)
{
        const Case c = read_case();
        double kept[MOST], other[MOST];
        int group = group_of(&c);
        read_set("kept", kept);
        int two = read_set("other", other);
        const char *why = differ(&c, kept);
        if (why && two) {
                why = differ(&c, other);
                rounded += !why;
        }
        compare(group, !why, why);
        word("drawn");
        for (int i = 0; i < DRAWS; i++) {
                int expected = integer("drawn", MOST - 1);
                Sampler s = c.sampler;
                s.state = c.seed + (uint64_t)i;
                make_logits(&c, 0);
                int token = sample(&s, logits, c.vocab);
                near += expected < 0;
                if (expected >= 0)
                        compare(group, token == expected, "another token is drawn");
        }
}

/* --- texts ------------------------------------------------------------------------------------------------------------ */

/* A model whose logits are hashes of its last token and the number of those before. */
typedef struct {
        Case c;
        int64_t position;
        int32_t token[STEPS];
        int shown;
} Text;

static int text_take(void *of, const int32_t *taken, int64_t n, float *to)
{
        Text *t = of;
        t->position += n;
        if (to)
                make_logits(&t->c,
                            4 + 1000 * (uint64_t)(t->position - t->c.nprompt) + (uint64_t)taken[n - 1]);
        return 0;
}

static int text_show(void *of, int32_t token)
{
        Text *t = of;
        t->token[t->shown++] = token;
        return 0;
}

static double no_seconds(void)
{
        return 0;
}

static void check_text(void)
{
        static const int32_t none = -1;
        Text t = {.c = read_case()};
        int32_t suppress[SUPPRESSED + 1], times[MOST], text[2 * STEPS + 1];
        int n = tokens("suppress", suppress, SUPPRESSED), group = n ? 9 : t.c.sampler.temperature > 0 ? 8 : 7;
        suppress[n] = -1;
        const Generator g = {.model = &t,
                             .take = text_take,
                             .sampler = &t.c.sampler,
                             .sample = sample,
                             .of = &t,
                             .show = text_show,
                             .seconds = no_seconds,
                             .tokens = {&none, &none, &none, &none, &none, 0, 0, 0},
                             .suppress = n ? suppress : NULL,
                             .vocab = t.c.vocab,
                             .context = 2 * STEPS,
                             .steps = STEPS,
                             .chunk = 4,
                             .logits = logits,
                             .times = times,
                             .text = text,
                             .penalties = t.c.penalties};
        Generated made;
        t.c.sampler.state = t.c.seed;
        int good = generation_run(&g, t.c.prompt, t.c.nprompt, 0, &made) == 0 && made.made == STEPS;
        word("tokens");
        for (int i = 0; i < STEPS; i++)
                good &= t.token[i] == integer("tokens", MOST - 1);
        compare(group, good, "another text");
}

int main(int count, char **argument)
{
        char what[8];
        int failures = 0;
        cases = count == 2 ? fopen(argument[1], "r") : NULL;
        if (!cases)
                return 2;
        for (line = 1; fscanf(cases, "%7s", what) == 1; line++) {
                if (strcmp(what, "text") != 0 && strcmp(what, "set") != 0)
                        unreadable("set or text");
                *what == 's' ? check_set() : check_text();
        }
        for (int i = 0; i < GROUPS; i++) {
                int good = compared[i] > 0 && !wrong[i];
                printf("%s sampler: as transformers, %s\n", good ? "ok" : "FAIL", groups[i]);
                failures += !good;
        }
        printf("compared %d\n", line - 1);
        printf("in double precision %d, too near to say %d\n", rounded, near);
        return failures != 0;
}
