/* Inputs that are fed to a model before it generates: the text of :run, if it is for an encoder, and those
 * of :input. */
#include "repl_private.h"

#include <stdlib.h>

/* The input for the text; NULL: the text is continued. */
static const Input *encoder_input(const Graph *g)
{
        const Input *text = g->fed_separately ? text_input(g) : NULL;
        return text && is_fed_separately(g, text->group) ? text : NULL;
}

bool generates_now(const ReplSession *s)
{
        const Graph *g = s->runner->model.graph;
        const Input *text = encoder_input(g);
        if (!why_not_generating(g))
                return true;
        if (!generates_when_fed(g))
                return false;
        for (int i = 0; i < g->ninput; i++) {
                const Input *in = &g->input[i];
                const bool said = in == text && s->prompt && *s->prompt;
                if (is_fed_separately(g, in->group) && !said && !is_input_given(s, in) && !loop_fills(g, in))
                        return false;
        }
        return true;
}

/* Adds the text as an input; false after a message. */
static bool add_text_of_encoder(ReplSession *s, const Input *text, Recorded *given)
{
        int64_t n;
        int32_t *token = prompt_of(s, &n);
        double *value = token ? malloc((size_t)n * sizeof *value + 1) : NULL;
        for (int64_t i = 0; value && i < n; i++)
                value[i] = token[i];
        const bool good = value && recorded_add(given, input_name(text), 1, &n, value);
        if (token && !good)
                repl_error("%s", no_memory);
        free(token);
        return good;
}

bool fed_open(ReplSession *s, Fed *f)
{
        const Graph *g = s->runner->model.graph;
        const Input *text = encoder_input(g);
        *f = (Fed){.count = g->ninput};
        f->says_more = !text || is_input_given(s, text);
        if (!g->fed_separately)
                return true;
        if ((!f->says_more && !add_text_of_encoder(s, text, &f->given)) || !given_inputs(s, &f->given))
                return false;
        f->input = calloc((size_t)g->ninput + 1, sizeof *f->input);
        bool good = f->input != NULL;
        for (int i = 0; good && i < g->ninput; i++)
                if (is_fed_separately(g, g->input[i].group))
                        good = recorded_fill(&f->given, i) && (f->input[i] = recorded_input(&f->given, i, 0));
        if (!good)
                repl_error("%s", no_memory);
        return good;
}

void fed_close(Fed *f)
{
        for (int i = 0; f->input && i < f->count; i++)
                free(f->input[i]);
        free(f->input);
        recorded_free(&f->given);
}
