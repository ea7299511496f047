/* Batches under way in stages of ranks: NAME_begin and NAME_end (runtime/batch_under_way.h). */
#include <string.h>

#include "emit_private.h"

bool has_under_way(const Emit *e)
{
        return e->plan->sharing.ranks && e->plan->sharing.under_way;
}

void declare_under_way(const Emit *e, Text *h)
{
        text_printf(
                h, "%s",
                model_text(e,
                           "/* For stages of ranks: _begin starts a batch like _batch, and _end stores the "
                           "outputs of the oldest started batch.\n"
                           " * So stages compute different batches at the same time.  Up to twice as many "
                           "batches as stages can be under way, or one\n"
                           " * without stages; a slot can be in only one of them.  Until all have ended, "
                           "other functions that take positions or inputs\n"
                           " * return $MODEL_ERROR_UNDER_WAY. */\n"));
        text_printf(h, "int %s_begin(%s *m, const %s_sequence *s, int sequences%s%s);\n", e->name, e->name,
                    e->name, size_list(e, CALLS, true), input_list(e, CALLS, true, false));
        text_printf(h, "int %s_end(%s *m%s);\n", e->name, e->name, output_list(e, true, false));
}

void emit_under_way_members(const Emit *e, Text *c)
{
        if (has_under_way(e))
                text_printf(c,
                            "        int batches, begun; /* batches under way; number of their sequences "
                            "*/\n"
                            "        %s_sequence begun_sequence[SLOTS];\n"
                            "        int64_t begun_past[SLOTS];  /* earlier positions of each sequence */\n"
                            "        int batch_sequences[SLOTS]; /* number of sequences of each batch */\n",
                            e->name);
}

void emit_under_way_check(const Emit *e, Text *c)
{
        if (has_under_way(e))
                text_printf(c, "        if (m->batches > 0)\n                return %s_ERROR_UNDER_WAY;\n",
                            e->upper);
}

void emit_ways(const Emit *e, Text *c)
{
        if (has_under_way(e))
                text_printf(c, "/* The part of a batch that stages compute before its outputs are taken, "
                               "and the rest. */\nenum { WAY_BEGIN = 1, WAY_END };\n\n");
}

/* "NULL, NULL, ": no output is requested yet */
static const char *no_outputs(const Emit *e)
{
        const char *none = "";
        for (int i = 0; i < e->g->noutput; i++)
                none = arena_printf(e->arena, "%s, NULL", none);
        return none;
}

static void emit_whole(const Emit *e, Text *c)
{
        text_printf(c, "int %s_batch(%s *m, const %s_sequence *s, int sequences%s%s%s)\n{\n", e->name,
                    e->name, e->name, size_list(e, CALLS, true), input_list(e, CALLS, true, false),
                    output_list(e, true, false));
        emit_under_way_check(e, c);
        text_printf(c, "        return take_batch(m, s, sequences%s%s%s, 0);\n}\n\n",
                    size_list(e, CALLS, false), input_list(e, CALLS, false, false),
                    output_list(e, false, false));
}

static void emit_begin(const Emit *e, Text *c)
{
        text_printf(c, "int %s_begin(%s *m, const %s_sequence *s, int sequences%s%s)\n{\n", e->name, e->name,
                    e->name, size_list(e, CALLS, true), input_list(e, CALLS, true, false));
        text_printf(c,
                    "        int error = check_under_way(m, s, sequences);\n        error = error ? error : "
                    "take_batch(m, s, sequences%s%s%s, WAY_BEGIN);\n        if (!error)\n                "
                    "keep_begun(m, s, sequences);\n        return error;\n}\n\n",
                    size_list(e, CALLS, false), input_list(e, CALLS, false, false), no_outputs(e));
}

static void emit_end(const Emit *e, Text *c)
{
        text_printf(c, "int %s_end(%s *m%s)\n{\n", e->name, e->name, output_list(e, true, false));
        emit_renewal(e, c);
        text_printf(c, "        if (m->batches == 0)\n                return %s_ERROR_UNDER_WAY;\n",
                    e->upper);
        emit_output_pointers(e, c, "        ");
        text_printf(c,
                    "        see_begun(m);\n        m->way = WAY_END;\n        run(m);\n        m->way = 0;\n"
                    "        forget_begun(m);\n        take_slot(m, m, m->slot);\n        return %s;\n}\n\n",
                    outcome(e));
}

void emit_under_way(const Emit *e, Text *c)
{
        emit_batch_call(e, "take_batch", true, c);
        text_printf(c, "%s\n", host_text(e, "batch_under_way.h"));
        emit_whole(e, c);
        emit_begin(e, c);
        emit_end(e, c);
}
