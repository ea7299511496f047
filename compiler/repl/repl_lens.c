/* :logits: the output of the model's head after each layer: the logit lens. */
#include <math.h>

#include "repl_private.h"

/* Prints the most likely token of a row of logits, with its probability. */
static void print_first(const ReplSession *s, const float *logits, int64_t n)
{
        int64_t best = 0;
        double sum = 0;
        for (int64_t i = 1; i < n; i++)
                if (logits[i] > logits[best])
                        best = i;
        for (int64_t i = 0; i < n; i++)
                sum += real_exp((double)logits[i] - (double)logits[best]);
        char text[64];
        label_of(s, (int32_t)best, text, sizeof text);
        printf("%.4f  %6lld", 1 / sum, (long long)best);
        if (s->runner->has_tokenizer) {
                printf("  ");
                print_text(stdout, text);
        }
        printf("\n");
}

/* ["TEXT"] */
bool show_lens(ReplSession *s, const Words *w)
{
        Trace t;
        int first;
        if ((w->n > 1 && !repl_set_prompt(s, w->word[1])) || !runner_fit(s, AS_IT_IS) || !wants_generator(s))
                return false;
        if (!s->prompt && !s->input.n)
                return repl_error("after which text? :logits \"TEXT\"");
        bool good = trace_tapped(s, (RunnerKind){.attention = -1, .lens = true}, &t, &first);
        const Runner *r = s->runner;
        for (int i = 0; good && i < r->layers; i++) {
                char name[64];
                snprintf(name, sizeof name, "%s[%d]", r->layer, i);
                printf("%-*s  ", r->layers > 10 ? 10 : 9, name);
                print_first(s, t.output[first + i], t.count[first + i]);
        }
        trace_free(s, &t);
        return good;
}
