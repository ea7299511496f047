/* The inputs of a model: from files, as expressions of the language or as a text. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands_private.h"

static int open_values(Given *e, const char *path)
{
        CkError error;
        Recorded *r = &e->values;
        if (r->nfile == MAX_GIVEN)
                return command_error(
                        e->command,
                        arena_printf(&e->m->arena, "--inputs is given more than %d times", MAX_GIVEN));
        r->file[r->nfile] = values_open(path, &error);
        if (r->file[r->nfile]) {
                r->nfile++;
                return DONE;
        }
        return command_file_error(e->command, &error);
}

/* Takes ownership of value, which is malloc'd. */
static int add_made(Given *e, const char *name, int rank, const int64_t *dim, double *value)
{
        return recorded_add(&e->values, name, rank, dim, value)
                       ? DONE
                       : command_error(e->command, arena_printf(&e->m->arena, "more than %d inputs are given",
                                                                MAX_GIVEN));
}

static int given_add_file(Given *e, const char *name, const char *path)
{
        CkError error;
        NamedValues v;
        return values_load(path, name, &v, &error) ? add_made(e, name, v.rank, v.dim, v.value)
                                                   : command_file_error(e->command, &error);
}

/* Reports an error in the text or the sound. */
static int wrong_text(Given *e, const char *message)
{
        e->text_fault = !lacks_memory(message);
        return command_error(e->command,
                             e->where ? arena_printf(&e->m->arena, "%s: %s", e->where, message) : message);
}

/* Adds a picture or a sound.  in NULL: the model has no input for it. */
static int add_medium(Given *e, const Input *in, const char *path, bool is_sound)
{
        const Graph *g = e->m->oracle;
        MediumValues v;
        const char *name = in ? input_name(in) : "", *why = medium_values(g, in, path, is_sound, &v);
        if (!why)
                return add_made(e, name, v.rank, v.dim, v.value);
        if (v.wrong_shape)
                why = arena_printf(g->arena, "-I %s=%s: expected %s", name, path, why);
        const int code = is_sound ? wrong_text(e, why) : command_error(e->command, why);
        return v.env_error ? WRONG_ENVIRONMENT : code;
}

/* Evaluates an expression as the output of a model without inputs. */
static int add_expression(Given *e, const char *name, const char *text)
{
        Model m = {.arena = {0}};
        Tensor value = {0};
        const char *why = NULL;
        bool good =
                model_open_text(&m, arena_printf(&e->m->arena, "-I %s", name),
                                arena_printf(&e->m->arena, "model given {\noutput value =\n%s\n}\n", text)) &&
                model_elaborate(&m, &(CommandOptions){.chunk = 1}, "given");
        if (good) {
                WeightSource none = {weights_hashed(&m.arena, m.graph), weights_read, weights_why};
                why = interpret(m.graph, (int64_t[MAX_NAMED]){0}, NULL, &none, NULL, &value);
        }
        int code = !good ? failure_code(&m) : why ? command_error(e->command, why) : DONE;
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
                fprintf(stderr, "lathe %s: -I must be NAME=VALUE, not %s\n", e->command, text);
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
        return is_values_file(equals + 1) ? given_add_file(e, name, equals + 1)
                                          : add_expression(e, name, equals + 1);
}

/* Truncates a loop's text if requested, and checks the model's limit. */
static int fit_text(Given *e, int32_t *tokens, int64_t *count)
{
        if (e->max_tokens && *count > e->max_tokens && !e->second.text) {
                const int64_t n = *count;
                *count = e->o->tokenizer ? tokens_shorten(&e->tokenizer->tables, tokens, n, e->max_tokens)
                                         : e->max_tokens;
                e->was_cut = *count < n;
        }
        if (e->longest && *count == 0)
                return wrong_text(e, "the text has no tokens");
        if (!e->longest || *count <= e->longest)
                return DONE;
        return wrong_text(e,
                          arena_printf(&e->m->arena,
                                       "the text has %" PRId64 " tokens, and the model takes at most %" PRId64
                                       "; --truncate cuts longer texts",
                                       *count, e->longest));
}

/* Adds integers [n] as an input. */
int given_add_integers(Given *e, const Input *in, const int32_t *x, int64_t n)
{
        double *value = malloc((size_t)n * sizeof *value + 1);
        for (int64_t i = 0; value && i < n; i++)
                value[i] = x[i];
        return value ? add_made(e, input_name(in), 1, &n, value) : command_error(e->command, no_memory);
}

/* Tokens of a pair, with their types; NULL after a message. */
static int32_t *tokens_of_pair(Given *e, int32_t **types, int64_t *count, int *code)
{
        const Tokenizer *t = e->tokenizer;
        int64_t all = 0;
        *types = NULL;
        *code = WRONG_INPUT;
        if (!e->o->tokenizer || tokens_pair_added(&t->tables) < 0) {
                command_error(e->command,
                              e->o->tokenizer
                                      ? "a pair of texts: this tokenizer has no template for pairs (`pair` "
                                        "of the post-processor in tokenizer.json); --each takes each text "
                                        "by itself"
                                      : "a pair of texts requires a tokenizer: --tokenizer FILE; --each "
                                        "takes each text by itself");
                return NULL;
        }
        int32_t *tokens = pair_to_tokens(t, (TextPart){e->text, e->ntext}, e->second, e->max_tokens, types,
                                         count, &all);
        e->was_cut = tokens && *count < all;
        if (!tokens)
                *code = command_error(e->command, no_memory);
        return tokens;
}

static int add_pair(Given *e, const Input *ids)
{
        int64_t count = 0;
        int code;
        int32_t *types, *tokens = tokens_of_pair(e, &types, &count, &code);
        if (tokens && (code = fit_text(e, tokens, &count)) == DONE)
                code = given_add_integers(e, ids, tokens, count);
        if (code == DONE && e->types)
                code = given_add_integers(e, e->types, types, count);
        free(types);
        free(tokens);
        return code;
}

static int given_add_text(Given *e)
{
        const Graph *g = e->m->graph;
        const Input *ids = text_input(g);
        const char *why = NULL;
        int64_t count = 0;
        if (!ids)
                return command_error(
                        e->command,
                        "a text is for a model with an input of token ids [time]; this one has none");
        if (e->o->tokenizer && !e->tokenizer->block.block && !load_tokenizer(e->m, e->o, e->tokenizer))
                return failure_code(e->m);
        if (e->second.text)
                return add_pair(e, ids);
        int32_t *tokens = e->o->tokenizer ? text_to_tokens(e->tokenizer, e->text, e->ntext, &count)
                                          : numbers_to_tokens(g, e->text, &count, &why);
        if (!tokens)
                return why && e->longest ? wrong_text(e, why)
                                         : command_error(e->command, why ? why : no_memory);
        if (e->has_language &&
            !language_mark(&e->tokenizer->tables, loop_tokens(g, "stop"), e->language, tokens, count)) {
                free(tokens);
                return command_error(e->command, "--languages FROM,TO is for a tokenizer that puts a token "
                                                 "of the language before or after a text; "
                                                 "this one puts none: `lathe encode` shows the tokens");
        }
        int code = fit_text(e, tokens, &count);
        if (code == DONE)
                code = given_add_integers(e, ids, tokens, count);
        free(tokens);
        return code;
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
        const CommandOptions *o = e->o;
        int code = DONE;
        for (int i = 0; i < o->input_file.n && code == DONE; i++)
                code = open_values(e, o->input_file.at[i]);
        for (int i = 0; i < o->input.n && code == DONE; i++)
                code = add_named(e, o->input.at[i]);
        if (code == DONE && e->sound)
                code = add_medium(e, sound_input(e->m->oracle), e->sound, true);
        if (code == DONE && e->text)
                code = given_add_text(e);
        if (code != DONE)
                return code;
        const char *from = e->values.nfile == 1 && !e->values.nmade ? checkpoint_path(e->values.file[0])
                                                                    : e->m->oracle->name;
        const char *why = recorded_gather(&e->values, e->m->oracle, from, what);
        if (why && !lacks_memory(why))
                why = arena_printf(&e->m->arena, "%s; --inputs FILE, -I NAME=VALUE and -p TEXT give inputs",
                                   why);
        return why ? command_error(e->command, why) : check_bounds(e);
}
