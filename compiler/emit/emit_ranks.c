/* A model for ranks: its declarations, and the functions of runtime/model_ranks.h. */
#include <inttypes.h>

#include "emit_private.h"

void declare_ranks(const Emit *e, Text *h)
{
        text_printf(
                h, "%s",
                model_text(
                        e,
                        "/* Ranks: processes that compute the model together, each with its own instance "
                        "and the same weights; of any\n * targets.  The outputs have the bits of a single "
                        "process. */\n"
                        "typedef struct {\n"
                        "        int rank, ranks; /* index of this rank, from 0; number of ranks, at "
                        "most 256 */\n"
                        "        /* All-gather in place, like MPI_Allgatherv: all [begin[ranks]], of "
                        "which rank r contributes begin[r] to begin[r + 1].\n"
                        "         * Returns 0, or another number if it fails.  Every rank calls it the "
                        "same number of times, from the thread that calls\n"
                        "         * the model. */\n"
                        "        int (*gather)(void *of, float *all, const int64_t *begin);\n"
                        "        void *of; /* the first argument of these functions */\n"
                        "        /* Pipeline stages, which share the layers: 0 and 1 if there is only one. "
                        " rank and ranks count within a stage, and gather is\n"
                        "         * within it; all stages have the same number of ranks.  Between ranks "
                        "of the same index: send copies x to a stage, which\n"
                        "         * may be its own, and does not wait for receive, like MPI_Isend of a "
                        "copy; receive gets data of a stage in the order\n"
                        "         * of its sends.  Both return 0, or another number if they fail. */\n"
                        "        int stage, stages;\n"
                        "        int (*send)(void *of, const float *x, int64_t n, int stage);\n"
                        "        int (*receive)(void *of, float *x, int64_t n, int stage);\n"
                        "        int check; /* 1: after each layer the ranks of a stage compare hashes of "
                        "its outputs, to detect a machine that computes\n"
                        "                    * wrongly or a transport that corrupts data; not in calls "
                        "whose rows they share */\n"
                        "} $model_ranks;\n"
                        "/* Makes m one of the ranks, before its first call.  Then all ranks call the "
                        "same functions with the same inputs, and get\n * the same outputs.  scratch "
                        "[$model_join_scratch()], aligned to 8, must outlive m.  "
                        "$MODEL_ERROR_RANK: the ranks differ in\n"
                        " * program or weights, or a gather has failed; later calls return it too.  "
                        "$MODEL_ERROR_SHARE: the weight file is the share of\n"
                        " * another rank (lathe weights --rank); calls of an instance with a share "
                        "that has not joined return it too. */\n"
                        "int $model_join($model *m, const $model_ranks *r, void *scratch);\n"
                        "size_t $model_join_scratch(void);\n"
                        "/* With check: the name of the repeat in which ranks differed, and in "
                        "*iteration after which iteration; calls then return\n"
                        " * $MODEL_ERROR_RANK.  NULL: no ranks differed. */\n"
                        "const char *$model_differs(const $model *m, int64_t *iteration);\n\n"));
}

void emit_shares(const Emit *e, Text *c)
{
        if (e->o->home == WEIGHTS_MAPPED)
                text_printf(c, "#define SHARDING_HASH UINT64_C(0x%016" PRIx64 ")\n\n%s\n",
                            sharding_hash(e->plan), host_text(e, "model_share.h"));
        text_put(c, model_text(e, "/* The error of the ranks after a call, or after joining. */\n"
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
