/* lathe run, loop unmask: the loop's settings and options.  The rest is that of loop generate, run_generate.c. */
#include <stdio.h>

#include "generate_private.h"

/* Of UnmaskLoop. */
static bool unmask_progress(int64_t done, int64_t masks)
{
        progress("unmasking", PROGRESS_STEPS, done, masks);
        return true;
}

/* The loop's settings with the options in their place. */
static UnmaskForm unmask_chosen(const CommandOptions *o, const Loop *loop)
{
        UnmaskForm f = unmask_form(loop);
        f.length = o->given[OPT_N] ? o->steps : f.length;
        f.part = o->given[OPT_BLOCK_LENGTH] ? 0 : f.part;
        f.block = o->given[OPT_BLOCK_LENGTH] ? o->unmask.block : f.block;
        f.steps = o->given[OPT_STEPS] ? o->unmask.steps : f.steps;
        f.threshold = o->given[OPT_THRESHOLD] ? (double)o->unmask.threshold : f.threshold;
        f.guidance = o->given[OPT_GUIDANCE] ? (double)o->guidance : f.guidance;
        return f;
}

int64_t unmask_block_kept(const Model *m, const CommandOptions *o, const Loop *loop)
{
        LoopParts parts;
        if (!loop || loop_number(loop->name) != LOOP_unmask || loop_fault(m->graph, loop, &parts))
                return 0;
        const UnmaskForm form = unmask_chosen(o, loop);
        return !form.whole && form.guidance == 0 && form.block <= o->chunk ? form.block : 0;
}

int unmask_prepare(GenerateSession *s, const Loop *loop)
{
        LoopParts parts;
        const char *why = loop_fault(s->m->graph, loop, &parts);
        const UnmaskForm form = unmask_chosen(s->o, loop);
        const bool from_options = !why;
        why = why ? why : unmask_fault(&form);
        if (why) {
                fprintf(stderr, "lathe run: loop %s requires %s\n", loop->name, why);
                return from_options ? WRONG_USAGE : WRONG_INPUT;
        }
        s->unmask = (UnmaskLoop){.form = form,
                                 .loop = loop,
                                 .tokens = parts.input,
                                 .output = parts.output,
                                 .step = unmask_progress};
        s->unmasks = true;
        return DONE;
}

bool unmask_seed_fits(const GenerateSession *s)
{
        const UnmaskForm *f = &s->unmask.form;
        if (!s->unmasks || !s->o->given[OPT_SEED] || s->sampling.sampler.temperature > 0 ||
            f->surest == SUREST_random || f->pace == PACE_chance)
                return true;
        fprintf(stderr, "lathe run: --seed has no effect without --temp: the likeliest tokens and the surest "
                        "predictions are taken\n");
        return false;
}

void unmask_settle_length(GenerateSession *s, const int32_t *tokens, int64_t n)
{
        for (int64_t i = 0; i < n && !s->o->given[OPT_N]; i++)
                if (tokens[i] == s->unmask.form.mask)
                        s->unmask.form.length = 0;
}
