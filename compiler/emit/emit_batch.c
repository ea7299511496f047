/* The interface of an instance with several sequences: a slot for each, and calls with positions of many. */
#include <inttypes.h>
#include <string.h>

#include "emit_private.h"

void declare_batch(const Emit *e, Text *h)
{
        text_printf(
                h, "%s",
                model_text(
                        e,
                        "\n/* An instance has several sequences, each in a slot; the functions above use "
                        "the selected slot, initially 0. */\n"
                        "int $model_select($model *m, int slot);\n"
                        "/* One sequence of a batch. */\ntypedef struct {\n"
                        "        int slot;      /* its slot; each slot occurs at most once in a batch */\n"
                        "        int64_t n;     /* number of new positions: 1 or more */\n"
                        "        int64_t first; /* index of the first whose outputs are requested; n: none "
                        "*/\n"
                        "} $model_sequence;\n"
                        "/* Processes positions of several sequences at once, in total at most the rows of a "
                        "chunk; weights are read once for all.\n * Inputs are concatenated by sequence, as "
                        "are the outputs of the requested positions (NULL: none).  Each sequence gets\n * "
                        "the same bits as in a call of its own.  After an error nothing has changed. "
                        "*/\n"));
        text_printf(h, "int %s_batch(%s *m, const %s_sequence *s, int sequences%s%s%s);\n", e->name, e->name,
                    e->name, size_list(e, CALLS, true), input_list(e, CALLS, true, false),
                    output_list(e, true, false));
        if (has_pages(e))
                text_printf(h, "%s",
                            model_text(e, "/* Keys and values are stored in pages of 256 positions, "
                                          "allocated from $MODEL_PAGES when a call needs them and freed by\n "
                                          "* reset and rewind.  If too few are left, a call returns "
                                          "$MODEL_ERROR_PAGES, and nothing has changed. */\n"
                                          "int64_t $model_pages_left(const $model *m);\n"));
        text_printf(h, "%s",
                    model_text(e, has_pages(e) ? "/* Makes slot `copy` a copy of `slot`, and frees its old "
                                                 "pages.  The slots share pages; a call copies the page that "
                                                 "it\n * continues, if the other slot uses it too. */\n"
                                               : "/* Makes slot `copy` a copy of `slot`: its fed inputs, and "
                                                 "its positions. */\n"));
        text_printf(h, "int %s_fork(%s *m, int slot, int copy);\n", e->name, e->name);
        if (has_under_way(e))
                declare_under_way(e, h);
}

/* Copies the members that differ between slots. */
static void move_members(const Emit *e, const char *from, const char *to, Text *c)
{
        bool keeps = to[0] == 'm';
        const char *past = e->g->named[e->g->past].name;
        text_printf(c, "        %s%s = %s%s;\n", to, keeps ? "past" : past, from, keeps ? past : "past");
        for (int i = 0; i < e->g->nnamed; i++)
                if (size_is_kept(e, i))
                        text_printf(c, "        %s%s = %s%s;\n", to, e->g->named[i].name, from,
                                    e->g->named[i].name);
        if (e->g->fed_separately)
                text_printf(c, "        %sfed = %sfed;\n", to, from);
        if (keeps_ring(e->plan))
                text_printf(c, "        %sfurthest = %sfurthest;\n", to, from);
        if (e->plan->windows.n)
                text_printf(c, "        memcpy(%sbase, %sbase, sizeof %sbase);\n", to, from, to);
}

void emit_slots(const Emit *e, Text *c)
{
        if (!e->causal)
                return;
        text_printf(c,
                    "/* Stores the position of the selected slot. */\nstatic void keep_slot(%s "
                    "*m)\n{\n",
                    e->name);
        move_members(e, "m->", "m->kept[m->slot].", c);
        text_printf(
                c,
                "}\n\n/* Points the view at the slot. */\nstatic void take_slot(const %s *m, %s *view, "
                "int slot)\n{\n        view->slot = slot;\n        view->state = m->arena + ARENA_FLOATS + "
                "(int64_t)slot * STATE_FLOATS;\n",
                e->name, e->name);
        if (has_pages(e))
                text_printf(c,
                            "        view->page_of = m->page_table.page_of + (int64_t)slot * PAGE_BLOCKS;\n");
        move_members(e, "m->kept[slot].", "view->", c);
        text_printf(c, "}\n\n");
}

/* A view's inputs and outputs follow the rows of other sequences. */
static void emit_skip_rows(const Emit *e, Text *c)
{
        text_printf(c,
                    "/* Advances the view's inputs by these rows, and its outputs. */\n"
                    "static void skip_rows(%s *view, int64_t rows, int64_t outputs)\n{\n",
                    e->name);
        for (int i = 0; i < e->g->ninput; i++)
                if (!is_fed_separately(e->g, e->g->input[i].group))
                        text_printf(c, "        view->input_%s += rows * %" PRId64 ";\n", e->g->input[i].name,
                                    row_elements(e->plan, &e->g->input[i].type));
        for (int i = 0; i < e->g->noutput; i++) {
                const Output *o = &e->g->output[i];
                text_printf(c,
                            "        if (view->output_%s)\n                view->output_%s += outputs * "
                            "%" PRId64 ";\n",
                            o->name, o->name, row_elements(e->plan, &o->node->type));
        }
        text_printf(c, "}\n\n");
}

void emit_batch_call(const Emit *e, const char *name, bool way, Text *c)
{
        text_printf(c, "%sint %s(%s *m, const %s_sequence *s, int sequences%s%s%s%s)\n{\n",
                    way ? "static " : "", name, e->name, e->name, size_list(e, CALLS, true),
                    input_list(e, CALLS, true, false), output_list(e, true, false), way ? ", int way" : "");
        emit_renewal(e, c);
        text_printf(c, "        int64_t n;\n        keep_slot(m);\n        int wrong = check_sequences(m, s, "
                       "sequences, &n);\n        if (wrong || n == 0)\n                return wrong;\n");
        if (e->g->fed_separately)
                text_printf(c,
                            "        for (int i = 0; i < sequences; i++)\n                if "
                            "(m->kept[s[i].slot].fed != %" PRIu64 ")\n                        return "
                            "%s_ERROR_UNFED;\n        m->fed_part = -1;\n",
                            e->g->fed_separately, e->upper);
        emit_sizes(e, CALLS, c);
        emit_checks(e, CALLS, c, "        ");
        if (has_pages(e))
                text_printf(
                        c,
                        "        if (take_pages(m, s, sequences))\n                return %s_ERROR_PAGES;\n",
                        e->upper);
        emit_pointers(e, CALLS, c, "        ");
        if (e->plan->windows.n)
                text_printf(c, "        for (int i = 0; i < sequences; i++)\n                make_room(m, "
                               "s[i].slot, s[i].n);\n");
        text_printf(
                c,
                "        see_sequences(m, s, sequences);\n%s        run(m);\n%s        for (int i = 0; i < "
                "sequences; i++)\n                m->kept[s[i].slot].past += s[i].n;\n        "
                "take_slot(m, m, m->slot);\n        return %s;\n}\n\n",
                way ? "        m->way = way;\n" : "", way ? "        m->way = 0;\n" : "", outcome(e));
}

/* Makes room in a slot's window caches for the positions of a call. */
static void emit_make_room(const Emit *e, Text *c)
{
        if (e->plan->windows.n)
                text_printf(
                        c,
                        "static void make_room(%s *m, int slot, int64_t n)\n{\n"
                        "        for (int i = 0; i < %d; i++)\n"
                        "                cache_make_room(&caches[i], i, &m->kept[slot].base[i], held, %d,\n"
                        "                                m->arena + ARENA_FLOATS + (int64_t)slot * "
                        "STATE_FLOATS, "
                        "m->kept[slot].past, n);\n}\n\n",
                        e->name, e->plan->windows.n, cached_states(e->plan));
}

/* Table of the states that are stored in pages, and the functions that allocate pages. */
static void emit_pages(const Emit *e, Text *c)
{
        const Plan *p = e->plan;
        text_printf(
                c,
                "/* Floats before a state in the arena, slots, floats of a slot, floats of 16 positions. */\n"
                "static const CachedState paged_states[] = {\n");
        for (int i = 0; i < p->nbuffer; i++) {
                if (!p->buffer[i]->paged || p->buffer[i]->part_of)
                        continue;
                CachedState s = cached_state(p->buffer[i]);
                text_printf(c, "        {0, %" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64 "}, /* %s */\n",
                            s.offset, s.slots, s.slot, s.tile, p->buffer[i]->name);
        }
        text_printf(c, "};\n\n%s", host_text(e, "batch_pages.h"));
}

void emit_batch(const Emit *e, Text *c)
{
        emit_skip_rows(e, c);
        text_printf(c, "%s\n", host_text(e, "batch.h"));
        if (has_pages(e))
                emit_pages(e, c);
        text_printf(c, "%s\n", host_text(e, "batch_fork.h"));
        emit_make_room(e, c);
        if (has_under_way(e))
                emit_under_way(e, c);
        else
                emit_batch_call(e, model_text(e, "$model_batch"), false, c);
}

/* --- whole sequences, of a model that is not causal ----------------------------------------------------------------- */

/* "const bert_sequence *s, int sequences", or as arguments */
static const char *sequence_list(const Emit *e, bool types)
{
        const char *list = !e->g->nnamed ? "int sequences"
                           : types       ? "const $model_sequence *s, int sequences"
                                         : "s, sequences";
        return model_text(e, types || e->g->nnamed ? list : "sequences");
}

void declare_whole_batch(const Emit *e, Text *h)
{
        const int size = varying_size(e->g);
        if (size >= 0)
                text_printf(h,
                            "\n/* One sequence of a batch. */\ntypedef struct {\n        int64_t n; /* its "
                            "%s: 1 to %" PRId64 " */\n} %s_sequence;\n",
                            e->g->named[size].name, e->g->named[size].bound, e->name);
        text_printf(
                h, "%s",
                model_text(
                        e,
                        size >= 0 ? "/* Evaluates the whole model for several sequences at once, at most "
                                    "$MODEL_SLOTS, "
                                    "of at "
                                    "most $MODEL_BATCH_ROWS positions\n * together; weights are read once "
                                    "for all.  Inputs and outputs are concatenated by sequence, each with "
                                    "the shape above.  Each\n * sequence gets the same bits as in a call of "
                                    "its own. */\n"
                                  : "/* Evaluates the whole model for several inputs at once, at most "
                                    "$MODEL_SLOTS; "
                                    "weights are read once for all.  Inputs and\n * outputs are "
                                    "concatenated, each with the shape above.  Each gets the same bits as in "
                                    "a call of its own. */\n"));
        text_printf(h, "int %s_batch(%s *m, %s%s%s);\n", e->name, e->name, sequence_list(e, true),
                    input_list(e, CALLS, true, false), output_list(e, true, false));
}

void emit_sequence_of(const Emit *e, Text *c)
{
        text_put(c, host_text(e, "sequence_of.h"));
}

/* Moves a view to the inputs and outputs of the next sequence. */
static void emit_next_sequence(const Emit *e, Text *c)
{
        text_printf(c,
                    "/* Advances inputs and outputs to the next sequence. */\n"
                    "static void next_sequence(%s *m)\n{\n",
                    e->name);
        for (int i = 0; i < e->g->ninput; i++)
                text_printf(c, "        m->input_%s += %s;\n", e->g->input[i].name,
                            element_count(e, &e->g->input[i].type));
        for (int i = 0; i < e->g->noutput; i++)
                text_printf(c, "        if (m->output_%s)\n                m->output_%s += %s;\n",
                            e->g->output[i].name, e->g->output[i].name,
                            element_count(e, &e->g->output[i].node->type));
        text_printf(c, "}\n\n");
}

static void emit_check_sequence(const Emit *e, Text *c)
{
        text_printf(c,
                    "/* Whether a sequence's inputs are in range. */\nstatic int check_sequence(const %s "
                    "*m)\n{\n",
                    e->name);
        for (int i = 0; i < e->g->ninput; i++)
                text_printf(c, "        const %s *%s = m->input_%s;\n", c_type(&e->g->input[i]),
                            e->g->input[i].name, e->g->input[i].name);
        emit_checks(e, CALLS, c, "        ");
        text_printf(c, "        return %s_OK;\n}\n\n", e->upper);
}

/* A single sequence is a batch of one. */
static void emit_whole_forward(const Emit *e, Text *c)
{
        const int size = varying_size(e->g);
        text_printf(c, "int %s_forward(%s *m%s%s%s)\n{\n", e->name, e->name, size_list(e, CALLS, true),
                    input_list(e, CALLS, true, false), output_list(e, true, false));
        if (size >= 0)
                text_printf(c, "        const %s_sequence s = {%s};\n", e->name, e->g->named[size].name);
        text_printf(c, "        return %s_batch(m%s, 1%s%s);\n}\n\n", e->name, size >= 0 ? ", &s" : "",
                    input_list(e, CALLS, false, false), output_list(e, false, false));
}

void emit_whole_batch(const Emit *e, Text *c)
{
        emit_next_sequence(e, c);
        emit_check_sequence(e, c);
        text_printf(c, "%s\n", host_text(e, "batch_whole.h"));
        text_printf(c, "int %s_batch(%s *m, %s%s%s)\n{\n", e->name, e->name, sequence_list(e, true),
                    input_list(e, CALLS, true, false), output_list(e, true, false));
        emit_renewal(e, c);
        text_printf(c,
                    "        int wrong = check_sequences(%s);\n        if (wrong || sequences == 0)\n        "
                    "        return wrong;\n",
                    sequence_list(e, false));
        emit_input_checks(e, CALLS, c, "        ");
        emit_pointers(e, CALLS, c, "        ");
        text_printf(c,
                    "        wrong = see_sequences(m, %s);\n        if (wrong || !%s)\n                "
                    "return wrong;\n"
                    "        run(m);\n        return %s;\n}\n\n",
                    sequence_list(e, false), wanted_outputs(e), outcome(e));
        emit_whole_forward(e, c);
}
