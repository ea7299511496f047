/*
 * Settings of a loop in place of those that a caller does not give, and a note about them.
 *
 * Needs generation.h and sampling.h.
 */
#include <stdio.h>

/* Members below 0 are not given: they become those of the loop. */
static inline void sampling_settle(const Sampling *own, Sampler *s, Penalties *p)
{
        s->temperature = s->temperature < 0 ? own->temperature : s->temperature;
        s->top_k = s->top_k < 0 ? own->top_k : s->top_k;
        s->top_p = s->top_p < 0 ? own->top_p : s->top_p;
        s->min_p = s->min_p < 0 ? own->min_p : s->min_p;
        p->repetition = p->repetition < 0 ? own->repetition : p->repetition;
}

enum { SAMPLING_NOTE = 256 };

/* Writes the settings of the loop that have an effect, and their source; "" if there are none.  s, p: as given, before
 * sampling_settle(). */
static inline void sampling_note(const Sampling *own, const Sampler *s, const Penalties *p, const char *source,
                                 char text[SAMPLING_NOTE])
{
        const int draws = s->temperature > 0 || (s->temperature < 0 && own->temperature > 0);
        const int penalises = own->repetition > 0 && own->repetition != 1;
        const struct {
                const char *name;
                int is_own;
                double value;
        } setting[] = {{"temperature", draws && s->temperature < 0, own->temperature},
                       {"top-k", draws && s->top_k < 0 && own->top_k > 0, own->top_k},
                       {"top-p", draws && s->top_p < 0 && own->top_p < 1, own->top_p},
                       {"min-p", draws && s->min_p < 0 && own->min_p > 0, own->min_p},
                       {"repetition penalty", penalises && p->repetition < 0, own->repetition}};
        const char *before = draws ? "sampling with " : "";
        int n = 0;
        text[0] = 0;
        for (int i = 0; i < 5; i++)
                if (setting[i].is_own)
                        n += snprintf(text + n, (size_t)(SAMPLING_NOTE - n), "%s%s %g", n ? ", " : before, setting[i].name,
                                      setting[i].value);
        if (n)
                snprintf(text + n, (size_t)(SAMPLING_NOTE - n), ", %s%s", source,
                         draws ? "; --temp 0 takes the most likely token" : "");
}
