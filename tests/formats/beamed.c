/* runtime/beam_search.h against transformers: the logits of each line of beams.cases, made anew, lead to the text and the score that its
 * beam search found, or with 1 beam its most likely tokens.  tests/oracle/beams.py wrote the lines, and says what stands in them.
 *   usage: beamed beams.cases */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../runtime/guard.h"

#include V16

#include "../../runtime/math.h"

#include "../../runtime/generation.h"
#include "../../runtime/sampler.h"
#include "../../runtime/beams.h"
#include "../../runtime/beam_search.h"

enum { MOST = 100, BEAMS = 5, STEPS = 20 };

typedef struct {
        uint64_t seed;
        int vocab, beams, steps, early, stop, suppress, ngram, least, last, n, token[STEPS];
        double penalty, score;
        const Beams *b; /* NULL: there are no beams */
} Line;

static uint64_t mixed(uint64_t z)
{
        z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
        z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
        return z ^ z >> 31;
}

/* As logits() of beams.py. */
static void hashed_logits(const Line *l, const int32_t *text, int64_t n, float *x)
{
        uint64_t h = mixed(mixed(l->seed + 1) + 1); /* the prompt is one token, 0 */
        for (int64_t i = 0; i < n; i++)
                h = mixed(h + (uint64_t)text[i] + 1);
        for (int i = 0; i < l->vocab; i++)
                x[i] = (float)((int)((mixed(h + UINT64_C(0x9e3779b97f4a7c15) * (uint64_t)(i + 1)) >> 40) %
                                     24577) -
                               12288) /
                       4096;
        if (l->stop >= 0)
                x[l->stop] += (float)(n + 1) / 8;
}

/* By the rules, after token 0 and text [made]. */
static int32_t prescribed(const Line *l, const int32_t *text, int64_t made, float *logits)
{
        static const int32_t none[] = {-1};
        const int32_t stop[] = {l->stop, -1}, suppress[] = {l->suppress, -1}, last[] = {l->last, -1};
        const LoopTokens rules = {stop, none, suppress, none, last, l->least, 0, l->ngram};
        int32_t whole[1 + STEPS] = {0};
        memcpy(whole + 1, text, (size_t)made * sizeof *text);
        return loop_prescribes(&rules, whole, 1 + made, made, l->steps, logits, l->vocab);
}

static int32_t ruled_out(void *of, int beam, float *logits)
{
        const Line *l = of;
        return prescribed(l, l->b->tokens + beam * l->b->steps, l->b->made, logits);
}

/* The most likely tokens, into text [steps]; their number, without the stop token. */
static int likeliest_tokens(const Line *l, int32_t *text)
{
        float x[MOST];
        for (int made = 0; made < l->steps; made++) {
                hashed_logits(l, text, made, x);
                const int32_t next = prescribed(l, text, made, x);
                text[made] = next >= 0 ? next : sampler_argmax(x, l->vocab);
                if (text[made] == l->stop)
                        return made;
        }
        return l->steps;
}

static int read_line(FILE *f, Line *l)
{
        unsigned long long seed;
        int got = fscanf(f,
                         "%llu %d %d %d penalty %lf early %d stop %d suppress %d ngram %d least %d last %d "
                         "score %lf tokens %d",
                         &seed, &l->vocab, &l->beams, &l->steps, &l->penalty, &l->early, &l->stop,
                         &l->suppress, &l->ngram, &l->least, &l->last, &l->score, &l->n);
        l->seed = seed;
        if (got != 13 || l->vocab > MOST || l->beams > BEAMS || l->steps > STEPS || l->n > STEPS)
                return got == EOF ? 0 : -1;
        for (int i = 0; i < l->n; i++)
                if (fscanf(f, "%d", &l->token[i]) != 1)
                        return -1;
        return 1;
}

static int is_found(Line *l)
{
        int32_t likeliest[STEPS];
        if (l->beams == 1)
                return likeliest_tokens(l, likeliest) == l->n &&
                       !memcmp(likeliest, l->token, (size_t)l->n * sizeof *l->token);
        static float x[BEAMS * MOST];
        const int32_t stop[] = {l->stop, -1};
        Beams b = {.beam_count = l->beams,
                   .vocab = l->vocab,
                   .steps = l->steps,
                   .penalty = (float)l->penalty,
                   .early_end = l->early,
                   .stop = stop};
        void *room = malloc(beams_room(b.beam_count, b.steps));
        if (!room)
                abort();
        beams_lay(&b, room);
        l->b = &b;
        do {
                for (int i = 0; i < b.active; i++)
                        hashed_logits(l, b.tokens + i * b.steps, b.made, x + i * b.vocab);
        } while (beams_step(&b, x, ruled_out, l));
        int good = b.done > 0 && b.length[0] == l->n &&
                   fabs(b.beam_worth[0] - l->score) < 1e-5 * (1 + fabs(l->score));
        for (int i = 0; good && i < l->n; i++)
                good = b.text[i] == l->token[i];
        if (!good && b.done) {
                printf("# seed %llu: %g, where transformers has %g;", (unsigned long long)l->seed,
                       b.beam_worth[0], l->score);
                for (int i = 0; i < b.length[0]; i++)
                        printf(" %d", b.text[i]);
                printf("\n");
        }
        free(room);
        return good;
}

int main(int n, char **arg)
{
        FILE *f = n == 2 ? fopen(arg[1], "r") : NULL;
        int lines = 0, found = 0, got = 0;
        Line l;
        while (f && (got = read_line(f, &l)) > 0) {
                lines++;
                found += is_found(&l);
        }
        printf("%s beams as transformers: %d of %d texts\n",
               f && got == 0 && lines > 0 && found == lines ? "ok" : "FAIL", found, lines);
        return !(f && got == 0 && lines > 0 && found == lines);
}
