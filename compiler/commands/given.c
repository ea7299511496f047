/* What a model is given: inputs from files, as expressions of the language or as a text. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands_private.h"

static int wrong(const Given *e, const char *message)
{
        fprintf(stderr, "lathe %s: %s\n", e->command, message);
        return lacks_memory(message) ? WRONG_ENVIRONMENT : WRONG_INPUT;
}

static int wrong_file(const Given *e, const CkError *error)
{
        wrong(e, error->message);
        return error->environment ? WRONG_ENVIRONMENT : WRONG_INPUT;
}

static int open_values(Given *e, const char *path)
{
        CkError error;
        Recorded *r = &e->values;
        if (r->nfile == MAX_GIVEN)
                return wrong(e, "too many files of inputs");
        r->file[r->nfile] = values_open(path, &error);
        if (r->file[r->nfile]) {
                r->nfile++;
                return DONE;
        }
        return wrong_file(e, &error);
}

/* Takes value, which is malloc'd. */
static int add_made(Given *e, const char *name, int rank, const int64_t *dim, double *value)
{
        return recorded_add(&e->values, name, rank, dim, value) ? DONE : wrong(e, "too many inputs");
}

static int add_file(Given *e, const char *name, const char *path)
{
        CkError error;
        NamedValues v;
        return values_load(path, name, &v, &error) ? add_made(e, name, v.rank, v.dim, v.value)
                                                   : wrong_file(e, &error);
}

/* A picture or a sound; in NULL: the model has no input that can be one. */
static int add_medium(Given *e, const Input *in, const char *path, bool is_sound)
{
        const Graph *g = e->m->oracle;
        MediumValues v;
        const char *name = in ? input_name(in) : "", *why = medium_values(g, in, path, is_sound, &v);
        if (!why)
                return add_made(e, name, v.rank, v.dim, v.value);
        const int code = wrong(
                e, v.unfit ? arena_printf(g->arena, "-I %s=%s: wanted for it is %s", name, path, why) : why);
        return v.lacking ? WRONG_ENVIRONMENT : code;
}

/* An expression is the output of a model that has no inputs. */
static int add_expression(Given *e, const char *name, const char *text)
{
        Model m = {.arena = {0}};
        Tensor value = {0};
        const char *why = NULL;
        bool good =
                model_open_text(&m, arena_printf(&e->m->arena, "-I %s", name),
                                arena_printf(&e->m->arena, "model given {\noutput value =\n%s\n}\n", text)) &&
                model_elaborate(&m, &(Options){.chunk = 1}, "given");
        if (good) {
                WeightSource none = {weights_hashed(&m.arena, m.graph), weights_read};
                why = interpret(m.graph, (int64_t[MAX_NAMED]){0}, NULL, &none, NULL, &value);
        }
        int code = !good ? failure_code(&m) : why ? wrong(e, why) : DONE;
        if (code == DONE)
                code = add_made(e, name, value.rank, value.dim, value.data);
        model_free(&m);
        return code;
}

/* -I NAME=VALUE */
static int add_named(Given *e, const char *text)
{
        const Graph *g = e->m->oracle;
        const char *equals = strchr(text, '='), *list = "";
        if (!equals || equals == text) {
                fprintf(stderr, "lathe %s: -I wants NAME=VALUE, not %s\n", e->command, text);
                return WRONG_USAGE;
        }
        const char *name = arena_printf(&e->m->arena, "%.*s", (int)(equals - text), text);
        if (!input_named(g, name)) {
                for (int i = 0; i < g->ninput; i++)
                        list = arena_printf(&e->m->arena, "%s%s%s", list, i ? ", " : "",
                                            input_name(&g->input[i]));
                fprintf(stderr, "lathe %s: %s has no input %s; its inputs: %s\n", e->command, g->name, name,
                        g->ninput ? list : "none");
                return WRONG_INPUT;
        }
        if (is_medium_file(equals + 1))
                return add_medium(e, input_named(g, name), equals + 1, false);
        return is_values_file(equals + 1) ? add_file(e, name, equals + 1)
                                          : add_expression(e, name, equals + 1);
}

static int add_text(Given *e)
{
        const Graph *g = e->m->graph;
        const Input *ids = text_input(g);
        const char *why = NULL;
        int64_t count = 0;
        if (!ids)
                return wrong(e, "a text is for a model with an input of token ids [time]; this one has none");
        if (e->o->tokenizer && !e->tokenizer->block.block && !load_tokenizer(e->m, e->o, e->tokenizer))
                return failure_code(e->m);
        int32_t *tokens = e->o->tokenizer ? text_to_tokens(e->tokenizer, e->text, e->ntext, &count)
                                          : numbers_to_tokens(g, e->text, &count, &why);
        if (!tokens)
                return wrong(e, why ? why : no_memory);
        double *value = malloc((size_t)count * sizeof *value + 1);
        for (int64_t i = 0; value && i < count; i++)
                value[i] = tokens[i];
        free(tokens);
        return value ? add_made(e, input_name(ids), 1, &count, value) : wrong(e, no_memory);
}

static int check_bounds(const Given *e)
{
        const Graph *g = e->m->graph;
        for (int i = 0; i < g->nnamed; i++)
                if (i != g->past && e->values.size[i] > g->named[i].bound) {
                        fprintf(stderr,
                                "lathe %s: %s is %" PRId64 " by the inputs, and at most %" PRId64 "\n",
                                e->command, g->named[i].name, e->values.size[i], g->named[i].bound);
                        return WRONG_INPUT;
                }
        return DONE;
}

int given_gather(Given *e, WhatIsRecorded what)
{
        const Options *o = e->o;
        int code = DONE;
        for (int i = 0; i < o->ninput_file && code == DONE; i++)
                code = open_values(e, o->input_file[i]);
        for (int i = 0; i < o->ninput && code == DONE; i++)
                code = add_named(e, o->input[i]);
        if (code == DONE && e->sound)
                code = add_medium(e, sound_input(e->m->oracle), e->sound, true);
        if (code == DONE && e->text)
                code = add_text(e);
        if (code != DONE)
                return code;
        const char *from = e->values.nfile == 1 && !e->values.nmade ? checkpoint_path(e->values.file[0])
                                                                    : e->m->oracle->name;
        const char *why = recorded_gather(&e->values, e->m->oracle, from, what);
        if (why && !lacks_memory(why))
                why = arena_printf(&e->m->arena, "%s; --inputs FILE, -I NAME=VALUE and -p TEXT give inputs",
                                   why);
        return why ? wrong(e, why) : check_bounds(e);
}
