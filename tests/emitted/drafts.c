/* Two emitted models in a program: small drafts what tale_generate() goes on with.  A line a call: the way to choose, and the new tokens,
 * which are those without drafts.  On standard error: how often small was asked.
 *   usage: drafts TALE.weights SMALL.weights */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tale.h"
#include "small.h"

typedef struct {
        small *m;
        int32_t text[SMALL_CONTEXT + 1]; /* that it has taken, and what it said */
        int64_t n;
        void *scratch;
        small_generation how;
        uint64_t seed;
        int64_t prompt, calls; /* tokens of the prompt */
} Drafter;

static int keep(void *of, int32_t token)
{
        Drafter *d = of;
        d->text[d->n++] = token;
        return 0;
}

static int64_t propose(void *of, const int32_t *tokens, int64_t n, int32_t *drafts, int64_t room)
{
        Drafter *d = of;
        int64_t same = 0;
        d->calls++;
        if (n > SMALL_CONTEXT)
                return 0;
        while (same < small_position(d->m) && same < n - 1 && d->text[same] == tokens[same])
                same++;
        if (small_rewind(d->m, same)) /* its windows have moved on: all of it again */
                small_reset(d->m);
        memcpy(d->text, tokens, (size_t)n * sizeof *tokens);
        d->n = n;
        d->how.steps = room;
        d->how.seed = d->seed + (uint64_t)(n - d->prompt) * UINT64_C(0x9e3779b97f4a7c15);
        if (small_generate(d->m, tokens, n, &d->how, keep, d, d->scratch, NULL))
                return 0;
        memcpy(drafts, d->text + n, (size_t)(d->n - n) * sizeof *drafts);
        return d->n - n;
}

/* As bad as can be: too many, too few, no tokens. */
static int64_t propose_badly(void *of, const int32_t *tokens, int64_t n, int32_t *drafts, int64_t room)
{
        int64_t *turn = of;
        (void)tokens;
        (void)n;
        for (int64_t i = 0; i < room; i++)
                drafts[i] = *turn % 3 ? (int32_t)(*turn % TALE_VOCAB) : i % 2 ? -1 : TALE_VOCAB;
        static const int64_t answer[] = {-1, 1000, 0, INT64_MIN, INT64_MAX};
        return (*turn)++ % 2 ? room : answer[*turn % 5];
}

static int show(void *of, int32_t token)
{
        (void)of;
        printf(" %d", token);
        return 0;
}

static void go_on(tale *m, const char *name, const tale_generation *how, void *scratch)
{
        static const int32_t prompt[] = {1, 20, 300};
        tale_reset(m);
        printf("%s:", name);
        int error = tale_generate(m, prompt, 3, how, show, NULL, scratch, NULL);
        printf("%s%s\n", error ? " " : "", error ? tale_error(error) : "");
}

int main(int argc, char **argv)
{
        static const struct {
                const char *name;
                tale_generation how;
                small_generation drafts;
        } way[] = {
                {"likeliest", {.steps = 200}, {.temperature = 0}},
                {"--temp 0.9 --seed 7",
                 {.temperature = 0.9f, .seed = 7, .steps = 200},
                 {.temperature = 0.9f}},
                {"--temp 1.2 --top-k 5 --seed 3",
                 {.temperature = 1.2f, .top_k = 5, .seed = 3, .steps = 200},
                 {.temperature = 1.2f, .top_k = 5}},
        };
        int error;
        tale *m = tale_new(argv[1], 1, &error);
        Drafter d = {.m = small_new(argv[argc - 1], 1, &error), .prompt = 3};
        tale_generation most = {.drafts = 32};
        void *scratch = malloc(tale_generate_scratch(&most));
        d.scratch = malloc(small_generate_scratch(NULL));
        if (!m || !d.m || !scratch || !d.scratch)
                return 3;
        for (size_t i = 0; i < sizeof way / sizeof *way; i++) {
                tale_generation how = way[i].how;
                how.drafts = 7;
                how.propose = propose;
                how.proposer = &d;
                d.how = way[i].drafts;
                d.seed = how.seed;
                d.calls = 0;
                go_on(m, way[i].name, &how, scratch);
                fprintf(stderr, "%lld\n", (long long)d.calls);
                int64_t turn = 0;
                how.propose = propose_badly;
                how.proposer = &turn;
                go_on(m, way[i].name, &how, scratch);
        }
        tale_free(m);
        small_free(d.m);
        free(scratch);
        free(d.scratch);
        return 0;
}
