/* Facts about a program, by which the runtime's conditions are resolved: see runtime/facts.h. */
#include "emit_private.h"

#include "../../runtime/attention_call.h"

/* Features that the kernels of a plan use. */
typedef struct {
        bool storage[STORAGE_COUNT], weight[STORAGE_COUNT],
                state[STORAGE_COUNT]; /* of any buffer, and of operands of products */
        bool active_rows, key_rows, key_tiles, key_blocks, moved_keys, parts, sink, plain_weights,
                chosen_keys;
} KernelUses;

static void add_attention_uses(const Graph *g, const Kernel *k, const AttentionCall *c, KernelUses *u)
{
        u->key_blocks |= dim_bound(g, c->keys) > ATTENTION_BLOCK;
        u->state[c->k.buffer->storage] = u->state[c->v.buffer->storage] = true;
        u->key_rows |= c->k_key != 0;
        u->key_tiles |= c->k_key == 0 || c->chosen.buffer; /* copies of chosen keys are in tiles */
        u->chosen_keys |= c->chosen.buffer != NULL;
        u->moved_keys |= c->first_held || c->k_paged || c->v_paged;
        u->parts |= k->scratch.all > 0 || c->weigh;
        if (c->chosen.buffer)
                u->state[STORAGE_F32] = true;
        u->sink |= c->sink != NULL;
        u->plain_weights |= k->attention.plain || c->weigh;
}

static void add_statement_uses(const Graph *g, const Kernel *k, const StmtList *list, KernelUses *u)
{
        for (const Stmt *s = list->stmt; s < list->stmt + list->n; s++) {
                if (s->op == STMT_ATTENTION)
                        add_attention_uses(g, k, s->call.attention, u);
                if (s->op == STMT_ACTIVATION_MATMUL)
                        u->state[s->call.activation->b.buffer->storage] = true;
                if (s->inside)
                        add_statement_uses(g, k, s->inside, u);
        }
}

static void add_kernel_uses(const Graph *g, const Kernel *k, KernelUses *u)
{
        for (int i = 0; i < k->product.nsegment; i++) {
                u->weight[k->product.segment[i].w[0]->storage] = true;
                u->active_rows |= k->rows == ROWS_ACTIVE;
        }
        for (int i = 0; k->code && i < k->code->n; i++)
                add_statement_uses(g, k, &k->code->function[i]->body, u);
}

static KernelUses kernel_uses(const Plan *p)
{
        KernelUses u = {0};
        for (int i = 0; i < p->nbuffer; i++)
                u.storage[p->buffer[i]->storage] = true;
        for (int i = 0; i < p->all.n; i++)
                add_kernel_uses(p->graph, p->all.kernel[i], &u);
        return u;
}

static bool has_blocks_of(const KernelUses *u, int steps)
{
        for (int s = 0; s < STORAGE_COUNT; s++)
                if (u->storage[s] && is_in_blocks(s) && storage_info[s].codes == steps)
                        return true;
        return false;
}

/* Whether a weight has a code book. */
static bool has_books(const KernelUses *u)
{
        return u->storage[STORAGE_IQ3_XXS] || u->storage[STORAGE_IQ3_S] || u->storage[STORAGE_IQ2_XXS] ||
               u->storage[STORAGE_IQ2_XS] || u->storage[STORAGE_IQ2_S] || u->storage[STORAGE_IQ1_S] ||
               u->storage[STORAGE_IQ1_M];
}

static bool is_odd(int panels)
{
        return panels == 2 || panels == 3;
}

/* Whether a register tile may have more panels than a product's remainder. */
static bool has_odd_panels(const Plan *p)
{
        bool odd = target_is_portable(p->target) || is_odd(p->target->panels);
        for (const Tile *t = p->target->tile; t->rows; t++)
                odd |= has_tile(p, *t) && is_odd(t->panels);
        for (const Tile *t = p->target->few; t->rows; t++)
                odd |= is_odd(t->panels);
        return odd;
}

static bool main_is(const Emit *e, LoopId id)
{
        return e->o && e->o->main_loop && loop_number(e->o->main_loop->loop->name) == (int)id;
}

/* Whether the program's loop makes vectors with a weight for each token. */
static bool is_sparse(const Emit *e)
{
        const Setting *s = main_is(e, LOOP_embed) ? loop_setting(e->o->main_loop->loop, "sparse") : NULL;
        return s && s->number != 0;
}

/* Whether the program's loop classifies texts, rank 1, or their tokens, 2. */
static bool main_classifies(const Emit *e, int rank)
{
        const LoopParts *parts = main_is(e, LOOP_classify) ? &e->o->main_loop->parts : NULL;
        return parts && loop_input(LOOP_classify, parts) == LOOP_IN_TOKENS &&
               e->g->output[parts->output].node->type.rank == rank;
}

/* Whether a loop finds tokens in their text. */
static bool has_spans(const Emit *e)
{
        for (int i = 0; e->o && e->o->tables && i < e->o->nloop; i++)
                if (finds_spans(e, &e->o->loop[i]))
                        return true;
        return false;
}

bool has_languages(const Emit *e)
{
        return e->o && e->o->with_main &&
               (main_is(e, LOOP_transcribe) ||
                (e->o->feeds_prompt && (!e->o->main_loop || main_is(e, LOOP_generate))));
}

static bool repeats_no_ngram(const Graph *g)
{
        return loop_setting(graph_loop(g, "generate"), "no_repeat_ngram_size");
}

/* Whether a loop completes texts by filling masks. */
static bool has_unmask(const Emit *e)
{
        for (int i = 0; e->o && i < e->o->nloop; i++)
                if (loop_number(e->o->loop[i].loop->name) == LOOP_unmask)
                        return true;
        return false;
}

static bool prescribes(const Emit *e)
{
        const Graph *g = e->g;
        return has_languages(e) || *loop_tokens(g, "first") >= 0 || *loop_tokens(g, "forbid") >= 0 ||
               *loop_tokens(g, "forbid_first") >= 0 || *loop_tokens(g, "last") >= 0 ||
               loop_setting(graph_loop(g, "generate"), "min_new_tokens") || repeats_no_ngram(g);
}

/* Every fact but those of block_storages.h: its name and value.  e: the program; p: its plan; u: uses of kernels; o: options, NULL for
 * an engine. */
#define FACTS(FACT)                                                                                          \
        FACT(STORAGES, wide || narrow)                                                                       \
        FACT(F16, u.weight[STORAGE_F16] || u.state[STORAGE_F16])                                             \
        FACT(BF16, u.weight[STORAGE_BF16] || u.state[STORAGE_BF16])                                          \
        FACT(WIDE_WEIGHTS, wide)                                                                             \
        FACT(NARROW_STATES, narrow)                                                                          \
        FACT(F16_STATES, u.state[STORAGE_F16])                                                               \
        FACT(BF16_STATES, u.state[STORAGE_BF16])                                                             \
        FACT(CODES, u.storage[STORAGE_Q8])                                                                   \
        FACT(SCALED, scaled)                                                                                 \
        FACT(BLOCKS, blocks)                                                                                 \
        FACT(BLOCKS_OF_32, has_blocks_of(&u, 32))                                                            \
        FACT(BLOCKS_OF_256, has_blocks_of(&u, 256))                                                          \
        FACT(AMX, blocks &&target_has_amx(p->target))                                                        \
        FACT(BOOKS, has_books(&u))                                                                           \
        FACT(ACTIVE_ROWS, u.active_rows)                                                                     \
        FACT(KEY_ROWS, u.key_rows)                                                                           \
        FACT(KEY_TILES, u.key_tiles)                                                                         \
        FACT(KEY_BLOCKS, u.key_blocks || u.parts)                                                            \
        FACT(ODD_PANELS, has_odd_panels(p))                                                                  \
        FACT(MOVED_KEYS, u.moved_keys)                                                                       \
        FACT(PARTS, u.parts)                                                                                 \
        FACT(SINK, u.sink)                                                                                   \
        FACT(PLAIN_WEIGHTS, u.plain_weights)                                                                 \
        FACT(CHOSEN_KEYS, u.chosen_keys)                                                                     \
        FACT(SLOTS, is_batched(e))                                                                           \
        FACT(RANKS, p->sharing.ranks)                                                                        \
        FACT(PAGES, has_pages(e))                                                                            \
        FACT(POSITIONS, e->causal)                                                                           \
        FACT(SIZES, e->g->nnamed)                                                                            \
        FACT(SYSTEM, !is_freestanding(e))                                                                    \
        FACT(WEIGHTS_INSIDE, o && o->home != WEIGHTS_MAPPED)                                                 \
        FACT(WINDOWS, !*p->target->machine->defined)                                                         \
        FACT(PRESCRIBED, prescribes(e))                                                                      \
        FACT(NO_REPEATS, repeats_no_ngram(e->g))                                                             \
        FACT(SAMPLING, o &&sampling_has_effect(&o->sampling.own))                                            \
        FACT(TOKENIZER, o && o->tables)                                                                      \
        FACT(SPANS, has_spans(e))                                                                            \
        FACT(UNMASK, has_unmask(e))                                                                          \
        FACT(UNMASKS, main_is(e, LOOP_unmask))                                                               \
        FACT(GRAMMAR, o && o->grammar)                                                                       \
        FACT(TALK, o && o->talk)                                                                             \
        FACT(BEAMS, o &&has_beams(e))                                                                        \
        FACT(OWN_BEAMS, o &&has_own_beams(e))                                                                \
        FACT(STORED_ROWS, stores_rows(e))                                                                    \
        FACT(DRAFTER, o && o->draft)                                                                         \
        FACT(DRAFTS, o && !main_is(e, LOOP_unmask) && max_drafts(e) > 0)                                     \
        FACT(COMMAND, o && (o->with_main || o->with_page))                                                   \
        FACT(PROMPT_FED, o && o->feeds_prompt && !main_is(e, LOOP_transcribe))                               \
        FACT(LANGUAGES, has_languages(e))                                                                    \
        FACT(SOUND_FED, main_is(e, LOOP_transcribe))                                                         \
        FACT(FILL, main_is(e, LOOP_fill))                                                                    \
        FACT(ANSWERS, main_is(e, LOOP_answer))                                                               \
        FACT(EMBED, main_is(e, LOOP_embed))                                                                  \
        FACT(SPARSE, is_sparse(e))                                                                           \
        FACT(CLASSES, main_classifies(e, 1) || main_classifies(e, 2))                                        \
        FACT(PAIRS, main_classifies(e, 1))                                                                   \
        FACT(TAGS, main_classifies(e, 2) && finds_spans(e, o->main_loop))                                    \
        FACT(CLASS, main_is(e, LOOP_denoise) && o->main_loop->parts.class)                                   \
        FACT(INPUTS, main_is(e, LOOP_denoise) && denoise_has_inputs(e->g, o->main_loop))

#define FACT_HOLDS(name, holds) {"HAS_" #name, 1},
#define STORAGE_HOLDS(of, name, ...) {"HAS_" #name, 1},
const CFact all_facts[] = {FACTS(FACT_HOLDS) BLOCK_STORAGES(STORAGE_HOLDS, ){"EMITTED", 1}, {NULL, 0}};

/* Macros of machines and compilers whose definition is known for a program for one machine.  Of the last
 * two only a definition is known. */
static const char *const machine_macro[] = {
        "__x86_64__", "__i386__",        "_M_IX86",  "__SSE__",   "__aarch64__",
        "__wasm__",   "__s390__",        "__GNUC__", "__TINYC__", "__STDC_NO_ATOMICS__",
        "__clang__",  "LATHE_NO_THREADS"};
enum { MACHINE_MACROS = sizeof machine_macro / sizeof *machine_macro, MAYBE_DEFINED = 2 };

/* Adds the known macros of the program's machine to `list`. */
static void add_machine(const Emit *e, CFact *list)
{
        const Target *t = e->plan->target;
        if (is_freestanding(e))
                *list++ = (CFact){"LATHE_NO_THREADS", 1};
        for (int i = 0; i < MACHINE_MACROS && *t->machine->defined; i++) {
                const bool defined = strstr(t->machine->defined, machine_macro[i]);
                if (defined || i < MACHINE_MACROS - MAYBE_DEFINED)
                        *list++ = (CFact){machine_macro[i], defined};
        }
}

const CFact *program_facts(const Emit *e)
{
        const Plan *p = e->plan;
        const EmitOptions *o = e->o;
        const KernelUses u = kernel_uses(p);
        const bool scaled = u.storage[STORAGE_E4M3] || u.storage[STORAGE_E5M2],
                   wide = u.weight[STORAGE_F16] || u.weight[STORAGE_BF16] || scaled,
                   narrow = u.state[STORAGE_F16] || u.state[STORAGE_BF16] || u.storage[STORAGE_Q8];
        const bool blocks = graph_has_blocks(p->graph);
#define FACT_OF(name, holds) {"HAS_" #name, holds},
#define STORAGE_USED(of, name, ...) {"HAS_" #name, u.storage[STORAGE_##name]},
        const CFact fact[] = {FACTS(FACT_OF) BLOCK_STORAGES(STORAGE_USED, ){"EMITTED", 1}, {NULL, 0}};
        const int n = sizeof fact / sizeof *fact;
        CFact *list = NEW_ARRAY(p->graph->arena, CFact, n + MACHINE_MACROS + 1);
        memcpy(list, fact, sizeof fact);
        add_machine(e, list + n - 1);
        return list;
}

bool fact_holds(const CFact *facts, const char *name)
{
        while (facts->name && strcmp(facts->name, name) != 0)
                facts++;
        return facts->name && facts->value;
}
