/* lathe run, loop rank: a score of each passage for a query. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands_private.h"

typedef struct {
        LoopRun *r;
        RankForm form;
        int64_t width;
        bool takes_texts; /* arguments are the query and then passages, not lines of both */
        char *taken;      /* the query whose vectors these are; NULL: none */
        float *vector;    /* [queries][width] */
        int64_t queries;
        int32_t *ids; /* of the last text, [nids] */
        int64_t nids;
} Ranking;

/* --- vectors -------------------------------------------------------------------------------------------------------- */

/* Sets k->ids; *real: their number without those that fill a query. */
static int rank_encode(Ranking *k, bool is_query, TextPart text, int64_t *real)
{
        LoopRun *r = k->r;
        const TokenTables *t = &r->e.tokenizer.tables;
        const int64_t longest = longest_text(r->e.m->graph, r->parts.input),
                      most = ranking_most(&k->form, is_query, r->e.o->given[OPT_TRUNCATE], longest);
        int64_t all;
        free(k->ids);
        k->ids = malloc((size_t)ranking_room(t, &k->form, is_query, text.n) * sizeof *k->ids);
        void *scratch = malloc((size_t)ranking_scratch(t, &k->form, is_query, text.n));
        k->nids = k->ids && scratch ? ranking_encode(t, &k->form, is_query, text.text, text.n, most, k->ids,
                                                     &all, real, scratch)
                                    : -2;
        free(scratch);
        if (k->nids == -2)
                return loop_wrong(no_memory);
        if (k->nids < 0)
                return loop_wrong_text(r, "the text has too many bytes for the tokenizer");
        r->texts++;
        if (most && all > most) {
                r->max_tokens = most;
                r->cut++;
        }
        if (!k->nids)
                return loop_wrong_text(r, "the text has no tokens");
        if (!longest || k->nids <= longest)
                return DONE;
        return loop_wrong_text(r, arena_printf(&r->e.m->arena,
                                               "the text has %lld tokens, and the model takes at most %lld; "
                                               "--truncate cuts longer texts",
                                               (long long)k->nids, (long long)longest));
}

/* Runs the model on k->ids, of which the first `real` are seen. */
static int rank_run(Ranking *k, int64_t real)
{
        LoopRun *r = k->r;
        evaluation_forget(&r->e);
        r->e.given = (Given){.o = r->e.o, .command = "run", .m = r->e.m, .tokenizer = &r->e.tokenizer};
        int code = given_add_integers(&r->e.given, r->parts.input, k->ids, k->nids);
        if (code == DONE && r->parts.padding) {
                int32_t *seen = malloc((size_t)k->nids * sizeof *seen);
                if (seen)
                        ranking_see(seen, k->nids, real);
                code = seen ? given_add_integers(&r->e.given, r->parts.padding, seen, k->nids)
                            : loop_wrong(no_memory);
                free(seen);
        }
        return code == DONE ? loop_run_once(r) : code;
}

/* The vectors of the query are computed once. */
static int rank_take_query(Ranking *k, TextPart query)
{
        int64_t real, n;
        if (k->taken && (int64_t)strlen(k->taken) == query.n &&
            !memcmp(k->taken, query.text, (size_t)query.n))
                return DONE;
        free(k->taken);
        k->taken = NULL;
        int code = rank_encode(k, true, query, &real);
        if (code == DONE)
                code = rank_run(k, real);
        if (code != DONE)
                return code;
        const float *x = loop_output(k->r, &n);
        free(k->vector);
        k->vector = malloc((size_t)n * sizeof *x);
        k->taken = strndup(query.text, (size_t)query.n);
        if (!k->vector || !k->taken)
                return loop_wrong(no_memory);
        memcpy(k->vector, x, (size_t)n * sizeof *x);
        k->queries = n / k->width;
        return DONE;
}

/* --- passages ------------------------------------------------------------------------------------------------------- */

static void rank_print(const Ranking *k, TextPart query, TextPart passage, double score)
{
        if (k->r->e.o->given[OPT_JSON]) {
                printf("{");
                loop_print_member("query", query);
                printf(", ");
                loop_print_member("text", passage);
                printf(", \"score\": %.9g}\n", score);
        } else if (k->takes_texts) {
                printf("%8.4f  %.*s\n", score, (int)passage.n, passage.text);
        } else {
                printf("%8.4f  %.*s\t%.*s\n", score, (int)query.n, query.text, (int)passage.n, passage.text);
        }
}

static int rank_passage(LoopRun *r, void *of, TextPart query, TextPart passage)
{
        Ranking *k = of;
        int64_t real, n;
        double score;
        int code = rank_take_query(k, query);
        if (code == DONE)
                code = rank_encode(k, false, passage, &real);
        if (code == DONE)
                code = rank_run(k, real);
        if (code != DONE)
                return code;
        const float *x = loop_output(k->r, &n);
        if (!ranking_score(&k->form, k->width, k->vector, k->queries, x, k->ids, n / k->width, &score))
                return loop_wrong_text(r, "the setting skip leaves out all tokens of the passage");
        if (!isfinite(score))
                return loop_wrong_text(r, "the score is NaN or infinite");
        rank_print(k, query, passage, score);
        return DONE;
}

int run_ranking(LoopRun *r)
{
        const CommandOptions *o = r->e.o;
        const Type *t = &r->e.m->graph->output[r->parts.output].node->type;
        Ranking k = {.r = r,
                     .form = rank_form(&r->e.m->arena, r->loop),
                     .width = dim_value(t->dim[1], NULL),
                     .takes_texts = o->nfile - 1 + (o->prompt != NULL) > 1};
        const int code = loop_asked(
                r, &(LoopAsked){"rank", "query", "passage", {"QUERY", "PASSAGE"}, rank_passage}, &k);
        free(k.taken);
        free(k.vector);
        free(k.ids);
        return code;
}
