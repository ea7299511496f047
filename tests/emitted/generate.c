/*
 * What tale_generate() makes, one line a call, by the ways to choose tokens; a text that goes on; and what it answers to callers that go
 * wrong.
 *   usage: generate WEIGHTS THREADS
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tale.h"

static const int32_t prompt[] = {1, 20, 300};
static int32_t text[TALE_CONTEXT + 1];
static int64_t length, most; /* tokens of the text; it is ended before the one behind `most` */

static int keep(void *of, int32_t token)
{
        if (of != &length || length == most)
                return 1;
        text[length++] = token;
        return 0;
}

static void begin(tale *m)
{
        tale_reset(m);
        for (length = 0; length < 3; length++)
                text[length] = prompt[length];
        most = TALE_CONTEXT + 1;
}

/* Goes on, and prints the new tokens; and what is not as it must be. */
static void go_on(tale *m, const char *name, const tale_generation *how, void *scratch)
{
        int64_t made, before = length;
        int error = tale_generate(m, text, length, how, keep, &length, scratch, &made);
        printf("%s:", name);
        for (int64_t i = before; i < length; i++)
                printf(" %d", text[i]);
        printf("\n");
        const int64_t left = length - tale_position(m); /* the last token, unless the text has ended */
        if (error || made != length - before || left != (length < most && made == (how ? how->steps : 0)))
                printf("%s: %s; %lld of %lld, position %lld\n", name, tale_error(error), (long long)made,
                       (long long)(length - before), (long long)tale_position(m));
}

static void ways(tale *m, void *scratch)
{
        static const struct {
                const char *name;
                tale_generation how;
        } way[] = {
                {"likeliest", {.steps = 200}},
                {"--temp 0.9 --seed 7", {.temperature = 0.9f, .seed = 7, .steps = 200}},
                {"--temp 1.2 --top-k 5 --seed 3", {.temperature = 1.2f, .top_k = 5, .seed = 3, .steps = 200}},
                {"--temp 1.5 --top-p 0.8 --min-p 0.02 --seed 1",
                 {.temperature = 1.5f, .top_p = 0.8f, .min_p = 0.02f, .seed = 1, .steps = 200}},
                {"--temp 1 --typical 0.7 --seed 9",
                 {.temperature = 1, .typical_p = 0.7f, .seed = 9, .steps = 200}},
                {"--repetition-penalty 1.3 --presence-penalty 0.5 --frequency-penalty 0.25",
                 {.repetition_penalty = 1.3f,
                  .presence_penalty = 0.5f,
                  .frequency_penalty = 0.25f,
                  .steps = 200}},
        };
        for (size_t i = 0; i < 2 * sizeof way / sizeof *way; i++) {
                tale_generation how = way[i / 2].how;
                how.drafts = i % 2 ? 7 : 0; /* which changes nothing */
                begin(m);
                go_on(m, way[i / 2].name, &how, scratch);
        }
        begin(m);
        go_on(m, "to the end", NULL, scratch);
        begin(m);
        go_on(m, "to the end", &(tale_generation){.drafts = 32}, scratch);
}

/* No token comes that was among the last three, and none of *of. */
static int rule(void *of, const int32_t *tokens, int64_t n, float *logits)
{
        const int32_t *never = of;
        for (int64_t i = n > 3 ? n - 3 : 0; i < n && !never; i++)
                logits[tokens[i]] = -INFINITY;
        for (; never && *never >= 0; never++)
                logits[*never] = -INFINITY;
        return 0;
}

static void rules(tale *m, void *scratch)
{
        static int32_t never[] = {284, 261, 288, -1};
        for (int drafts = 0; drafts < 2; drafts++) {
                begin(m);
                go_on(m, "--suppress 284,261,288",
                      &(tale_generation){.steps = 200, .drafts = 6 * drafts, .rule = rule, .ruler = never},
                      scratch);
        }
        for (int drafts = 0; drafts < 2; drafts++) {
                int again = 0;
                int64_t made;
                begin(m);
                const int error = tale_generate(
                        m, text, length, &(tale_generation){.steps = 100, .drafts = 6 * drafts, .rule = rule},
                        keep, &length, scratch, &made);
                for (int64_t i = 3; i < length; i++)
                        again += text[i] == text[i - 1] || text[i] == text[i - 2] || text[i] == text[i - 3];
                printf("nothing twice: %s; %d of %lld\n", tale_error(error), again, (long long)made);
        }
}

/* Nothing may come behind text [*of]. */
static int rule_all(void *of, const int32_t *tokens, int64_t n, float *logits)
{
        (void)tokens;
        for (int i = 0; i < TALE_VOCAB && n >= *(int64_t *)of; i++)
                logits[i] = i % 2 ? -INFINITY : NAN;
        return 0;
}

static int64_t propose(void *of, const int32_t *tokens, int64_t n, int32_t *drafts, int64_t room)
{
        (void)of;
        for (int64_t i = 0; i < room; i++)
                drafts[i] = tokens[n - 1];
        return room;
}

/* At once, and behind four tokens; by each way to choose, with drafts and without. */
static void rules_that_forbid_all(tale *m, void *scratch)
{
        tale_generation way[] = {{.temperature = 0},
                                 {.temperature = 1},
                                 {.temperature = 1, .top_k = 5},
                                 {.temperature = 1, .top_p = 0.5f},
                                 {.temperature = 1, .min_p = 0.1f},
                                 {.temperature = 1, .typical_p = 0.5f},
                                 {.repetition_penalty = 1.3f, .presence_penalty = -1},
                                 {.drafts = 7},
                                 {.drafts = 7, .propose = propose}};
        for (size_t i = 0; i < 2 * sizeof way / sizeof *way; i++) {
                int64_t from = i % 2 ? 7 : 0, made;
                tale_generation how = way[i / 2];
                how.steps = 20;
                how.rule = rule_all;
                how.ruler = &from;
                begin(m);
                const int error = tale_generate(m, text, length, &how, keep, &length, scratch, &made);
                printf("nothing may come: %d, %lld of %lld\n", error == TALE_ERROR_RULE, (long long)made,
                       (long long)length - 3);
        }
}

/* A text in pieces is the same text. */
static void pieces(tale *m, void *scratch)
{
        const tale_generation how = {.steps = 10, .drafts = 3};
        begin(m);
        for (int i = 0; i < 4; i++)
                go_on(m, "ten more", &how, scratch);
        begin(m);
        most = 8;
        go_on(m, "ended by the caller", NULL, scratch);
        begin(m);
        most = 8;
        go_on(m, "ended by the caller", &(tale_generation){.drafts = 5}, scratch);
}

static void refuse(tale *m, const char *what, const int32_t *tokens, int64_t n, const tale_generation *how,
                   void *scratch)
{
        int64_t made = -1;
        int error = tale_generate(m, tokens, n, how, NULL, NULL, scratch, &made);
        printf("%s: %s; %lld made, position %lld\n", what, tale_error(error), (long long)made,
               (long long)tale_position(m));
}

static void mistakes(tale *m, void *scratch)
{
        static const int32_t beyond[] = {1, TALE_VOCAB};
        const tale_generation one = {.steps = 1}, cold = {.temperature = -1}, nan = {.temperature = NAN},
                              few = {.steps = -1}, k = {.top_k = -1}, p = {.top_p = 1.5f},
                              r = {.repetition_penalty = -1}, f = {.frequency_penalty = INFINITY},
                              d = {.drafts = 33};
        begin(m);
        refuse(m, "no prompt", text, 0, &one, scratch);
        refuse(m, "prompt NULL", NULL, 3, &one, scratch);
        refuse(m, "scratch NULL", text, 3, &one, NULL);
        refuse(m, "temperature -1", text, 3, &cold, scratch);
        refuse(m, "temperature NaN", text, 3, &nan, scratch);
        refuse(m, "steps -1", text, 3, &few, scratch);
        refuse(m, "top_k -1", text, 3, &k, scratch);
        refuse(m, "top_p 1.5", text, 3, &p, scratch);
        refuse(m, "repetition_penalty -1", text, 3, &r, scratch);
        refuse(m, "frequency_penalty infinite", text, 3, &f, scratch);
        refuse(m, "33 drafts", text, 3, &d, scratch);
        refuse(m, "a token that there is not", beyond, 2, &one, scratch);
        tale_reset(m);
        refuse(m, "more than the context", text, TALE_CONTEXT + 1, &one, scratch);
        refuse(m, "nobody is told", text, 3, &one, scratch);
        refuse(m, "all taken already", text, 3, &one, scratch);
}

int main(int argc, char **argv)
{
        int error;
        tale *m = tale_new(argv[1], argc > 2 ? atoi(argv[2]) : 1, &error);
        void *scratch = malloc(tale_generate_scratch(&(tale_generation){.drafts = 32}));
        if (!m || !scratch)
                return 3;
        ways(m, scratch);
        rules(m, scratch);
        rules_that_forbid_all(m, scratch);
        pieces(m, scratch);
        mistakes(m, scratch);
        tale_free(m);
        free(scratch);
        return 0;
}
