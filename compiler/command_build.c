/* lathe build: a model to C, header and packed weights. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cost.h"
#include "driver.h"
#include "emit.h"
#include "pack.h"
#include "weights.h"

/* "dir/tale.c" -> "dir/tale" and "tale" */
static void split_path(Arena *a, const char *out, const char **stem, const char **base)
{
        size_t n = strlen(out);
        *stem = n > 2 && !strcmp(out + n - 2, ".c") ? arena_strndup(a, out, (int64_t)n - 2) : out;
        const char *slash = strrchr(*stem, '/');
        *base = slash ? slash + 1 : *stem;
}

bool load_tokenizer(Model *m, const Options *o, Tokenizer *t)
{
        const Graph *g = m->graph;
        int64_t vocab = 0;
        for (int i = 0; i < g->ninput; i++)
                if (g->input[i].bound)
                        vocab = g->input[i].bound;
        CkError error = {.environment = false};
        if (vocab > 0 && vocab < INT32_MAX && tokenizer_read(o->tokenizer, (int)vocab, t, &error))
                return true;
        m->lacking = error.environment;
        fprintf(stderr, "lathe: %s\n",
                vocab ? error.message
                      : "a tokenizer is for a model with an input of token ids; this one has none");
        return false;
}

/* The weights to pack: a checkpoint's, or made by the hash. */
Weights *open_weights(Model *m, const Options *o, Checkpoint **checkpoint)
{
        *checkpoint = NULL;
        if (!o->weights)
                return weights_hashed(&m->arena, m->graph);
        CkError error;
        *checkpoint = checkpoint_open(o->weights, &error);
        if (!*checkpoint) {
                fprintf(stderr, "lathe: %s\n", error.message);
                m->lacking = error.environment;
                return NULL;
        }
        Weights *w = weights_loaded(&m->arena, m->graph, *checkpoint, &m->diag);
        diag_print(&m->diag, stderr);
        return m->diag.count ? NULL : w;
}

static bool can_generate(const Graph *g)
{
        if (g->past < 0 || g->ninput != 1 || !g->input[0].bound || g->noutput != 1)
                return false;
        const Type *t = &g->output[0].node->type;
        return t->rank == 2 && g->input[0].type.rank == 1;
}

/* Packs, emits and writes; the tokenizer may be NULL. */
static int write_model(Model *m, const Options *o, Plan *p, const Tokenizer *tokenizer, Weights *weights)
{
        const char *stem, *base;
        split_path(&m->arena, o->out ? o->out : arena_printf(&m->arena, "%s.c", p->c_name), &stem, &base);
        WeightSource source = {weights, weights_read};
        float *packed = o->embed ? calloc((size_t)p->weights_size, sizeof *packed) : NULL;
        const char *error = !o->embed ? NULL : packed ? pack_weights(p, &source, packed) : no_memory;
        EmitOptions options = {.name = base,
                               .with_main = o->with_main,
                               .embed = o->embed,
                               .tokenizer = tokenizer,
                               .weights = packed};
        options.parameters = parameter_count(m->graph);
        options.flops_token = cost_per_token(m->graph);
        Text *c = text_new(&m->arena), *h = text_new(&m->arena);
        if (!error)
                emit(p, &options, c, h);
        free(packed);
        if (error) {
                fprintf(stderr, "lathe: weights: %s\n", error);
                return WRONG_ENVIRONMENT;
        }
        WrittenFile file[3];
        int n = 0;
        if ((o->embed || o->code_only ||
             output_weights(&file[n++], arena_printf(&m->arena, "%s.weights", stem), p, &source)) &&
            output_bytes(&file[n++], arena_printf(&m->arena, "%s.c", stem), c->data, c->n))
                output_bytes(&file[n++], arena_printf(&m->arena, "%s.h", stem), h->data, h->n);
        return output_finish(file, n) ? DONE : WRONG_ENVIRONMENT;
}

int build_command(const Options *o)
{
        Model m;
        int code;
        Checkpoint *checkpoint = NULL;
        Tokenizer tokenizer = {0};
        if (model_load(&m, o, &code)) {
                Weights *weights = NULL;
                bool good = model_passes(&m, o) && (!o->tokenizer || load_tokenizer(&m, o, &tokenizer));
                if (good && o->with_main && !can_generate(m.graph)) {
                        fprintf(stderr,
                                "lathe: --main is for a causal model from one input of token ids [time] to "
                                "one output of logits [time, vocab]; %s is not one\n",
                                m.graph->name);
                        good = false;
                }
                if (good)
                        weights = open_weights(&m, o, &checkpoint);
                Plan *plan =
                        weights ? model_plan(&m, o, target_find(o->ntarget ? o->target[0] : "native")) : NULL;
                code = plan ? write_model(&m, o, plan, o->tokenizer ? &tokenizer : NULL, weights)
                            : failure_code(&m);
        }
        tokenizer_free(&tokenizer);
        checkpoint_close(checkpoint);
        model_free(&m);
        return code;
}
