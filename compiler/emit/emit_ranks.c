/* A model for ranks: its declarations, and the functions of runtime/model_ranks.h. */
#include <inttypes.h>

#include "emit_private.h"

void declare_ranks(const Emit *e, Text *h)
{
        text_printf(
                h, "%s",
                model_text(e,
                           "/* Ranks: processes that compute the model together, each with its own instance "
                           "and the same weights; of any\n * targets.  The outputs have the bits of a single "
                           "process. */\n"
                           "typedef struct {\n"
                           "        int rank, ranks; /* the number of this one, from 0; the number of all, "
                           "at most 256 */\n"
                           "        /* all [begin[ranks]], of which rank r has what lies from begin[r] to "
                           "begin[r + 1]: gives every rank what each has, as\n"
                           "         * MPI_Allgatherv does in place; 0, or another number if it fails.  All "
                           "ranks call it equally often, from the thread\n"
                           "         * that calls the model. */\n"
                           "        int (*gather)(void *of, float *all, const int64_t *begin);\n"
                           "        void *of; /* the first argument of these functions */\n"
                           "        /* Stages share the layers, one after another: 0 and 1 if there is one.  "
                           "rank and ranks are "
                           "those of a stage, each has as many;\n"
                           "         * gather is among them.  Between ranks of one number: send, to another "
                           "stage or to itself, which copies x and\n"
                           "         * does not wait until it is received, as MPI_Isend of a copy; receive, "
                           "from "
                           "such a stage, in the order in which it\n"
                           "         * sent.  As gather they return 0 if all went well. */\n"
                           "        int stage, stages;\n"
                           "        int (*send)(void *of, const float *x, int64_t n, int stage);\n"
                           "        int (*receive)(void *of, float *x, int64_t n, int stage);\n"
                           "        int check; /* 1: behind each layer the ranks of a stage compare a hash "
                           "of what "
                           "it leaves, to find a machine that computes\n"
                           "                    * wrongly or a transport that loses bits; not in calls whose "
                           "rows they share */\n"
                           "} $model_ranks;\n"
                           "/* Makes m one of the ranks, before its first call; then all call the same "
                           "functions with the same inputs, and get the\n * same outputs.  scratch "
                           "[$model_join_scratch()], aligned to 8, must outlive m.  "
                           "$MODEL_ERROR_RANK: the ranks differ in\n"
                           " * program or weights, or a gather has failed; calls return it from then on.  "
                           "$MODEL_ERROR_SHARE: the weight file has the share of\n"
                           " * another rank (lathe weights --rank); where a share has not joined its ranks "
                           "calls "
                           "return that too. */\n"
                           "int $model_join($model *m, const $model_ranks *r, void *scratch);\n"
                           "size_t $model_join_scratch(void);\n"
                           "/* With check: the repeat behind an iteration of which ranks differed, and in "
                           "*iteration which; calls return\n"
                           " * $MODEL_ERROR_RANK.  NULL: none has. */\n"
                           "const char *$model_differs(const $model *m, int64_t *iteration);\n\n"));
}

void emit_shares(const Emit *e, Text *c)
{
        if (e->o->home == WEIGHTS_MAPPED)
                text_printf(c, "#define SPREAD_HASH UINT64_C(0x%016" PRIx64 ")\n\n%s\n", spread_hash(e->plan),
                            host_text(e, "model_share.h"));
        text_put(c, model_text(e, "/* Of a call, or of joining. */\n"
                                  "static int rank_outcome(const $model *m)\n{\n"
                                  "        const Ranks *r = m->ranks;\n"
                                  "        return !r || !r->error ? $MODEL_OK : r->misplaced ? "
                                  "$MODEL_ERROR_SHARE : $MODEL_ERROR_RANK;\n}\n\n"));
}

void emit_ranks(const Emit *e, Text *c)
{
        text_printf(c, "enum { RANK_ROW = %" PRId64 " };\n\n", widest_exchange(e->plan));
        text_printf(c, "%s\n", host_text(e, "model_ranks.h"));
}

const char *outcome(const Emit *e)
{
        return e->plan->sharing.ranks ? "rank_outcome(m)" : model_text(e, "$MODEL_OK");
}
