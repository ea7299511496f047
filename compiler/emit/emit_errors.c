/* Error codes of the model's functions, each with a name and a message; and the version of the file. */
#include <inttypes.h>

#include "emit_private.h"

typedef bool IsPossible(const Emit *e);

static bool is_batch_of_sizes(const Emit *e)
{
        return is_batched(e) && (e->causal || e->g->nnamed);
}

static bool is_causal_batch(const Emit *e)
{
        return is_batched(e) && e->causal;
}

static bool is_whole_batch(const Emit *e)
{
        return is_batched(e) && !e->causal;
}

static bool has_ranks(const Emit *e)
{
        return e->plan->sharing.ranks > 0;
}

static bool has_rule(const Emit *e)
{
        bool has = e->o->generates;
        for (int i = 0; i < e->o->nloop; i++)
                has |= loop_number(e->o->loop[i].loop->name) == LOOP_unmask;
        return has;
}

/* In the order of their codes, which begin at 1. */
static const struct {
        const char *name, *said;
        IsPossible *possible; /* whether the model can return it; NULL: every model can */
} error_table[] = {
        {"FILE", "the weights can't be opened or read", NULL},
        {"WEIGHTS", "this is not the weight file that was written with this program", NULL},
        {"THREADS", "threads must be 1 to 64, and the system must be able to start them", NULL},
        {"MEMORY", "out of memory", NULL},
        {"RANGE", "an input is out of range", NULL},
        {"CONTEXT", "more positions than the model has room for", NULL},
        {"FLOAT",
         "this build does not round as required: compile with -std=c11 and without -ffast-math or "
         "-ffp-contract=fast",
         NULL},
        {"UNFED", "inputs that are fed separately have not been fed yet", NULL},
        {"REWIND", "the positions before are no longer held: windows, sums or a recurrence have moved on",
         NULL},
        {"CPU", "this processor lacks instructions that the program was compiled for", NULL},
        {"SLOT", "unknown slot", is_causal_batch},
        {"SLOT", "more sequences in a batch than there are slots", is_whole_batch},
        {"TWICE", "a slot occurs twice in a batch", is_causal_batch},
        {"ROWS", "more positions in a batch than a call takes", is_batch_of_sizes},
        {"PAGES", "too few pages are left: nothing was taken", has_pages},
        {"UNDER_WAY", "batches are under way, and their outputs must be taken first; or no batch is",
         has_under_way},
        {"RANK", "the ranks differ in program or weights, or one could not be reached", has_ranks},
        {"SHARE", "the weight file has the share of another rank; `lathe weights --rank` writes that of each",
         has_ranks},
        {"RULE", "every logit is -inf or NaN, or the rule of a text leaves no possible token", has_rule},
};

static bool is_possible(const Emit *e, size_t i)
{
        return !error_table[i].possible || error_table[i].possible(e);
}

void declare_errors(const Emit *e, Text *h)
{
        text_printf(h, "/* Results of functions. */\nenum {\n        %s_OK, /* 0 */\n", e->upper);
        for (size_t i = 0; i < sizeof error_table / sizeof *error_table; i++)
                if (is_possible(e, i))
                        text_printf(h, "        %s_ERROR_%s, /* %s */\n", e->upper, error_table[i].name,
                                    error_table[i].said);
        text_printf(h, "};\n\n");
}

/* Files that belong together have the same version.  It changes with the weights, inputs or outputs. */
const char *version_text(const Emit *e)
{
        return arena_printf(e->arena, "lathe %s, layout %016" PRIx64, LATHE_VERSION, layout_hash(e->plan));
}

void emit_errors(const Emit *e, Text *c)
{
        text_printf(c, "const char *%s_version(void)\n{\n        return \"%s\";\n}\n\n", e->name,
                    version_text(e));
        if (is_freestanding(e))
                return;
        text_printf(c,
                    "const char *%s_error(int code)\n{\n        static const char *const text[] = {\n"
                    "                [%s_OK] = \"no error\",\n",
                    e->name, e->upper);
        for (size_t i = 0; i < sizeof error_table / sizeof *error_table; i++)
                if (is_possible(e, i))
                        text_printf(c, "                [%s_ERROR_%s] = \"%s\",\n", e->upper,
                                    error_table[i].name, error_table[i].said);
        text_printf(c, "        };\n        return code >= 0 && code < (int)(sizeof text / sizeof *text) ? "
                       "text[code] : \"unknown error\";\n}\n\n");
}
