/* Loads a model's weights and its tokenizer. */
#include <stdio.h>
#include <string.h>

#include "driver.h"

int command_error(const char *command, const char *message)
{
        fprintf(stderr, "lathe %s: %s\n", command, message);
        return lacks_memory(message) ? WRONG_ENVIRONMENT : WRONG_INPUT;
}

int command_file_error(const char *command, const CkError *error)
{
        command_error(command, error->message);
        return error->environment ? WRONG_ENVIRONMENT : WRONG_INPUT;
}

void note_hashed(const Model *m, const CommandOptions *o, const char *command)
{
        if (!o->weights && m->graph->nweight)
                fprintf(stderr,
                        "lathe %s: note: the weights of %s are generated from a hash of their names; "
                        "--weights loads trained ones\n",
                        command, m->graph->name);
}

const TalkForm *model_talks(Model *m, const CommandOptions *o, const Tokenizer *t, const char *command)
{
        const char *unknown = NULL;
        const TalkForm *form = talk_form(&m->arena, m->graph, t, &unknown);
        if (t && o->source.chat_fault && !strcmp(command, "run"))
                fprintf(stderr,
                        "lathe run: note: the chat template of %s renders each turn, since settings of loop "
                        "generate can't: %s\n",
                        o->source.path, o->source.chat_fault);
        else if (t && o->source.chat_fault && form)
                fprintf(stderr,
                        "lathe %s: note: the conversation differs from the chat template of %s: %s; `lathe "
                        "run` follows the template\n",
                        command, o->source.path, o->source.chat_fault);
        else if (t && o->source.chat_fault)
                fprintf(stderr,
                        "lathe %s: note: prompts are used as they are: the chat template of %s can't be "
                        "expressed as pieces: %s; `lathe run` follows the template\n",
                        command, o->source.path, o->source.chat_fault);
        if (!form && graph_talks(m->graph))
                fprintf(stderr,
                        "lathe %s: note: the conversation of loop generate requires a tokenizer with special "
                        "tokens (--tokenizer); without one, prompts are used as they are\n",
                        command);
        if (unknown)
                fprintf(stderr,
                        "lathe %s: note: the conversation of %s writes %s, which %s does not have as special "
                        "tokens: it becomes plain text\n",
                        command, m->graph->name, unknown, o->tokenizer);
        return form;
}

/* Gives the tokenizer the template of pairs of the model's loop classify; false after a message. */
static bool load_pair_form(Model *m, const CommandOptions *o, Tokenizer *t)
{
        const Loop *l = graph_loop(m->graph, "classify");
        const char *wrong = NULL, *prompt = NULL;
        if (!l || !loop_text_setting(l, "template"))
                return true;
        prompt = o->system ? o->system : loop_prompt(l, o->prompt_name, &m->arena, &wrong);
        if (!wrong)
                t->tables.pair_form = pair_form(&t->arena, l, t, prompt, &wrong);
        if (!wrong)
                return true;
        fprintf(stderr, "lathe: %s\n", wrong);
        tokenizer_free(t);
        return false;
}

bool load_tokenizer(Model *m, const CommandOptions *o, Tokenizer *t)
{
        const Input *ids = text_input(m->graph);
        int64_t vocab = ids ? ids->bound : 0;
        CkError error = {.environment = false};
        if (vocab > 0 && vocab < INT32_MAX &&
            tokenizer_read(o->tokenizer, o->source.tables, (int)vocab, t, &error)) {
                t->start = start_token(m->graph);
                return load_pair_form(m, o, t);
        }
        m->env_error = error.environment;
        fprintf(stderr, "lathe: %s\n",
                vocab ? error.message
                      : "a tokenizer is for a model with an input of token ids [time]; this one has none");
        return false;
}

static int64_t slots_of(const Graph *g)
{
        int64_t n = 0;
        for (int i = 0; i < g->nweight; i++)
                n += g->weight[i]->slots;
        return n;
}

/* kind: of each slot; storage: Graph.mixture.  Only weights with slots of two kinds are split. */
static void split_graph(Graph *g, const uint8_t *kind, uint8_t *storage)
{
        const uint8_t **of = NEW_ARRAY(g->arena, const uint8_t *, g->nweight);
        bool mixed = false;
        int64_t n = 0;
        for (int i = 0; i < g->nweight; n += g->weight[i++]->slots) {
                of[i] = kind + n;
                for (int64_t slot = 1; slot < g->weight[i]->slots; slot++)
                        mixed |= of[i][slot] != of[i][0];
        }
        if (!mixed)
                return;
        g->mixture = storage;
        g->nmixture = n;
        split_mixtures(g, of);
        verify(g, "mixture");
}

/* Number of a pair of storage types: those of a weight and of the one beside it. */
static uint8_t number_of_pair(uint8_t *number, int *count, SlotStorage of, SlotStorage beside)
{
        uint8_t *n = &number[of.is * WEIGHT_STORAGES + beside.is];
        if (!*n && *count < UINT8_MAX)
                *n = (uint8_t)++ * count;
        return *n;
}

static bool split_by_options(Model *m, const CommandOptions *o, const Weights *w)
{
        const Graph *g = m->graph;
        Arena *a = &m->arena;
        const char *list = quant_settled(m, o, o->quant), *list_beside = quant_settled(m, o, o->quant_beside);
        if ((o->quant && !list) || (o->quant_beside && !list_beside))
                return false;
        find_roles(g);
        SlotStorage **of = quant_slots(a, g, w, list), **with = quant_slots(a, g, w, list_beside);
        uint8_t *kind = NEW_ARRAY(a, uint8_t, slots_of(g)), *storage = NEW_ARRAY(a, uint8_t, slots_of(g));
        uint8_t *number = NEW_ARRAY(a, uint8_t, WEIGHT_STORAGES * WEIGHT_STORAGES);
        int64_t n = 0;
        int pairs = 0;
        for (int i = 0; of && with && i < g->nweight; i++)
                for (int64_t slot = 0; slot < g->weight[i]->slots; slot++, n++) {
                        storage[n] = of[i][slot].is;
                        kind[n] = number_of_pair(number, &pairs, of[i][slot],
                                                 o->quant_beside ? with[i][slot] : (SlotStorage){0});
                }
        if (pairs > UINT8_MAX) {
                fprintf(stderr,
                        "lathe: two lists of storage types give the weights %d pairs of types; expected at "
                        "most %d\n",
                        pairs, UINT8_MAX);
                return false;
        }
        if (of && with)
                split_graph(m->graph, kind, storage);
        return of && with;
}

Checkpoint *open_checkpoint(const CommandOptions *o, CkError *err)
{
        Checkpoint *checkpoint = checkpoint_open(o->weights, err);
        if (checkpoint && !checkpoint_adapt(checkpoint, o->adapter, o->nadapter, err)) {
                checkpoint_close(checkpoint);
                return NULL;
        }
        return checkpoint;
}

/* The checkpoint of the options, which remains open for later calls.  NULL: it can't be read. */
static Checkpoint *model_checkpoint(Model *m, const CommandOptions *o, CkError *error)
{
        if (m->checkpoint && strcmp(checkpoint_path(m->checkpoint), o->weights) != 0) {
                checkpoint_close(m->checkpoint);
                m->checkpoint = NULL;
        }
        if (!m->checkpoint)
                m->checkpoint = open_checkpoint(o, error);
        return m->checkpoint;
}

bool split_storages(Model *m, const CommandOptions *o)
{
        const char *why;
        CkError error;
        if (model_has(m, PROPERTY_UNIFORM) || m->diag.count || (!o->weights && !o->quant && !o->quant_beside))
                return true;
        m->properties |= 1u << PROPERTY_UNIFORM;
        if (o->weights && is_packed_file(o->weights, &why)) {
                uint8_t *mixture = packed_file_mixture(&m->arena, o->weights, slots_of(m->graph));
                if (mixture)
                        split_graph(m->graph, mixture, mixture);
                return true;
        }
        Arena scratch = {.out_of_memory = m->arena.out_of_memory};
        Checkpoint *checkpoint = o->weights ? model_checkpoint(m, o, &error) : NULL;
        Weights *w = checkpoint    ? weights_loaded(&scratch, m->graph, checkpoint, &m->diag)
                     : !o->weights ? weights_hashed(&scratch, m->graph)
                                   : NULL;
        bool good = !w || split_by_options(m, o, w);
        diag_clear(&m->diag); /* reported when the weights are opened */
        arena_free(&scratch);
        return good;
}

/* Weights rounded to the storage that the options request, if any; NULL after a message. */
static Weights *rounded_weights(Model *m, const CommandOptions *o, Weights *w)
{
        const char *list = w ? quant_settled(m, o, o->quant) : NULL;
        bool good = w && (!o->quant || (list && quant_weights(&m->arena, m->graph, w, list)));
        if (good)
                m->properties |= 1u << PROPERTY_STORED;
        return good ? w : NULL;
}

/* Sets the weights of quantisation errors by --calibrate; NULL after a message. */
static Weights *weights_weighed(Model *m, const CommandOptions *o, Weights *w)
{
        double bits;
        const char *rest;
        if (w && o->quant && o->calibrate && !quant_is_auto(o->quant, &bits, &rest) &&
            !graph_has_blocks(m->graph)) {
                fprintf(stderr,
                        "lathe: --calibrate has no effect with --quant %s: no weight of %s has codes whose "
                        "errors it could weigh\n",
                        o->quant, m->graph->name);
                return NULL;
        }
        const Importance *by = w && o->calibrate ? calibrated(m, o) : NULL;
        if (by)
                weights_weigh(w, by);
        return by || !o->calibrate ? w : NULL;
}

Weights *open_weights(Model *m, const CommandOptions *o, Checkpoint **checkpoint)
{
        *checkpoint = NULL;
        if (model_has(m, PROPERTY_ELABORATED) && !split_storages(m, o))
                return NULL;
        if (!o->weights)
                return weights_weighed(m, o, rounded_weights(m, o, weights_hashed(&m->arena, m->graph)));
        CkError error;
        *checkpoint = model_checkpoint(m, o, &error);
        m->checkpoint = NULL; /* owned by the caller */
        if (!*checkpoint) {
                fprintf(stderr, "lathe: %s\n", error.message);
                m->env_error = error.environment;
                return NULL;
        }
        Weights *w = weights_loaded(&m->arena, m->graph, *checkpoint, &m->diag);
        diag_print(&m->diag, stderr);
        return m->diag.count ? NULL : weights_weighed(m, o, rounded_weights(m, o, w));
}

bool settle_storage(Model *m, const CommandOptions *o)
{
        const char *why;
        if (model_has(m, PROPERTY_STORED) || m->diag.count)
                return true;
        if (!o->weights)
                return rounded_weights(m, o, weights_hashed(&m->arena, m->graph));
        if (is_packed_file(o->weights, &why)) {
                if (packed_file_storage(o->weights, m->graph))
                        m->properties |= 1u << PROPERTY_STORED;
                return true;
        }
        CkError error;
        Arena scratch = {.out_of_memory = m->arena.out_of_memory};
        Checkpoint *checkpoint = model_checkpoint(m, o, &error);
        Weights *w = checkpoint ? weights_loaded(&scratch, m->graph, checkpoint, &m->diag) : NULL;
        bool good = !w || rounded_weights(m, o, w);
        diag_clear(&m->diag); /* reported when the weights are opened */
        arena_free(&scratch);
        return good;
}
