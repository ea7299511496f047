/* Emit: the whole C file and its header.
 *
 *   comment: what this is, how to build it     constants     the runtime's declarations that are used
 *   struct of an instance     a function for each kernel     a function for each body     the program     the interface
 *   of a model that generates: sampler, and a function that does      with --main: a command line */
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "emit_private.h"

/* Version of the layout of blocks in runtime/block_values.h. */
enum { BLOCK_LAYOUTS = 4 };

uint64_t layout_hash(const Plan *p)
{
        uint64_t h = HASH_START;
        for (int i = 0; i < p->nbuffer; i++) {
                const Buffer *b = p->buffer[i];
                if (b->home != IN_WEIGHTS)
                        continue;
                int64_t number[5] = {FLOATS(b->offset), b->slots, FLOATS(b->slot_stride), b->layout.tiled,
                                     (int64_t)b->storage +
                                             (is_in_blocks(b->storage) ? BLOCK_LAYOUTS << 8 : 0)};
                h = hash_bytes(h, b->name, strlen(b->name));
                h = hash_bytes(h, number, sizeof number);
                h = hash_bytes(h, b->layout.stride, sizeof b->layout.stride);
        }
        return h;
}

/* ", NULL" for each tap: taps follow the model's own outputs. */
static const char *no_taps(const Emit *e)
{
        Text *t = text_new(e->arena);
        for (int i = 0; i < e->g->noutput; i++)
                text_put(t, e->g->output[i].tap ? ", NULL" : "");
        return t->data;
}

/* Name of a size, or "" if the model lacks it: then only an omitted comment mentions it. */
static const char *named_size(const Emit *e, int which)
{
        return which < 0 ? "" : e->g->named[which].name;
}

/* Replaces $model and $MODEL by the model's name, $program by the function that threads run, $time and
 * $past by the members that count new rows and previous positions, $size by the size that differs between
 * sequences, $taps by the arguments of generation for taps, $none by a NULL for each. */
const char *model_text(const Emit *e, const char *text)
{
        Text *t = text_new(e->arena);
        for (const char *at = text; *at;) {
                const char *dollar = strchr(at, '$');
                if (!dollar) {
                        text_add(t, at, (int64_t)strlen(at));
                        break;
                }
                text_add(t, at, dollar - at);
                bool lower = !strncmp(dollar, "$model", 6), upper = !strncmp(dollar, "$MODEL", 6),
                     program = !strncmp(dollar, "$program", 8), past = !strncmp(dollar, "$past", 5),
                     time = !strncmp(dollar, "$time", 5), size = !strncmp(dollar, "$size", 5),
                     taps = !strncmp(dollar, "$taps", 5), none = !strncmp(dollar, "$none", 5);
                text_printf(t, "%s",
                            lower         ? e->name
                            : past        ? named_size(e, e->g->past)
                            : time        ? named_size(e, e->g->time)
                            : size        ? named_size(e, varying_size(e->g))
                            : taps        ? generation_taps(e)
                            : none        ? no_taps(e)
                            : upper       ? e->upper
                            : !program    ? "$"
                            : e->portable ? "best_program()"
                                          : "program");
                at = dollar + (lower || upper                         ? 6
                               : program                              ? 8
                               : past || time || size || taps || none ? 5
                                                                      : 1);
        }
        return t->data;
}

/* --- the command line ------------------------------------------------------------------------------------------- */

const char *loop_tokens_text(Arena *a, const Graph *g, bool fixed)
{
        static const char *const list[] = {"stop", "first", "forbid", "forbid_first", "last"};
        static const char *const number[][2] = {
                {"least", "min_new_tokens"}, {"most", "max_new_tokens"}, {"ngram", "no_repeat_ngram_size"}};
        Text *t = text_new(a);
        text_printf(t, "static %sLoopTokens tokens_of_loop = {", fixed ? "const " : "");
        for (int i = 0; i < 5; i++) {
                text_printf(t, ".%s = (const int32_t[]){", list[i]);
                for (const int32_t *token = loop_tokens(g, list[i]); *token >= 0; token++)
                        text_printf(t, "%d, ", *token);
                text_printf(t, "-1}%s", i < 4 ? ", " : "");
        }
        for (int i = 0; i < 3; i++) {
                const double x = loop_number_setting(graph_loop(g, "generate"), number[i][1], 0);
                if (x > 0)
                        text_printf(t, ", .%s = %.0f", number[i][0], x);
        }
        text_printf(t, "};\n");
        return t->data;
}

const char *host_text(const Emit *e, const char *file)
{
        const char *text = model_text(e, embedded_text(file)); /* first: conditions may contain such names */
        const char *end = strncmp(text, "/*", 2) ? NULL : strstr(text, "*/\n");
        Text *t = text_new(e->arena);
        text = end ? end + 3 : text;
        resolve_conditions(t, text, (int64_t)strlen(text), e->facts);
        return t->data + strspn(t->data, "\n");
}

bool sampling_has_effect(const Sampling *s)
{
        return s->temperature > 0 || (s->repetition > 0 && s->repetition != 1);
}

const char *float_shortest(Arena *a, float x)
{
        char text[32];
        for (int digits = 1; digits <= 9; digits++) {
                snprintf(text, sizeof text, "%.*g", digits, (double)x);
                if (strtof(text, NULL) == x)
                        break;
        }
        return arena_strdup(a, text);
}

/* "0.7f", "20.0f" */
static const char *float_in_c(const Emit *e, float x)
{
        const char *text = float_shortest(e->arena, x);
        return arena_printf(e->arena, "%s%sf", text, text[strcspn(text, ".e")] ? "" : ".0");
}

void emit_sampling(const Emit *e, const char *name, const LoopSampling *l, bool command, Text *c)
{
        const Sampling *s = &l->own;
        text_printf(c, "static const Sampling %s = {%s, %d, %s, %s, %s};\n", name,
                    float_in_c(e, s->temperature), s->top_k, float_in_c(e, s->top_p), float_in_c(e, s->min_p),
                    float_in_c(e, s->repetition));
        if (command)
                text_printf(c, "static const char %s_source[] = %s;\n", name, c_string(e->arena, l->source));
}

int64_t max_drafts(const Emit *e)
{
        const Plan *p = e->plan;
        const int64_t most = p->chunk < MAX_DRAFTS ? p->chunk : MAX_DRAFTS;
        return carried_state(p) && p->rewind < most ? p->rewind : most;
}

static void emit_beams_of_loop(const Emit *e, Text *c)
{
        const Loop *l = graph_loop(e->g, "generate");
        text_printf(c, "static const %s_beams beams_of_loop = {%.0f, %s, %.0f, 0};\n", e->name,
                    loop_number_setting(l, "beams", 0),
                    float_in_c(e, (float)loop_number_setting(l, "length_penalty", 1)),
                    loop_number_setting(l, "early_stopping", 0));
}

static void emit_generate(const Emit *e, Text *c)
{
        static const char *const files[] = {"sampler.h", "beams.h", "beam_search.h", "beam_run.h", NULL};
        const char *function =
                arena_printf(e->arena, "%s%s%s", host_text(e, "model_generate.h"), has_beams(e) ? "\n" : "",
                             has_beams(e) ? host_text(e, "model_beams.h") : "");
        text_printf(c, "enum { VOCAB = %" PRId64 ", CONTEXT = %" PRId64 ", DRAFTS = %" PRId64 " };\n%s\n",
                    row_elements(e->plan, &e->g->output[0].node->type), e->g->named[e->g->time].bound,
                    max_drafts(e), loop_tokens_text(e->arena, e->g, !has_languages(e)));
        if (sampling_has_effect(&e->o->sampling.own))
                emit_sampling(e, "sampling_of_loop", &e->o->sampling, e->o->with_main, c);
        if (has_own_beams(e))
                emit_beams_of_loop(e, c);
        paste_runtime(c, files, e->facts, NULL, function);
        text_printf(c, "%s\n", function);
}

/* --- main function -------------------------------------------------------------------------------------------------- */

/* Storage type of keys and values, if not all are floats. */
static const char *narrow_keys(const Emit *e)
{
        Storage s = STORAGE_F32;
        for (int i = 0; i < e->g->nstate && s == STORAGE_F32; i++)
                s = e->g->state[i]->storage;
        return s == STORAGE_F32 ? ""
                                : arena_printf(e->arena, " (keys and values in %s)", storage_info[s].text);
}

/* Storage types of weights: "f32, q4_k". */
static const char *weight_types(const Emit *e)
{
        bool used[STORAGE_COUNT] = {false};
        Text *t = text_new(e->arena);
        for (int i = 0; i < e->plan->nbuffer; i++)
                used[e->plan->buffer[i]->storage] |= e->plan->buffer[i]->home == IN_WEIGHTS;
        for (int s = 0; s < STORAGE_COUNT; s++)
                if (used[s])
                        text_printf(t, "%s%s", t->n ? ", " : "", storage_info[s].text);
        return t->data;
}

static const char *pages_comment(const Emit *e)
{
        const Plan *p = e->plan;
        return has_pages(e)
                       ? arena_printf(e->arena, ", %" PRId64 " pages of %d positions of %.3f MB", p->pages,
                                      PAGE_POSITIONS, 1e-6 * (double)p->bytes.pool / (double)p->pages)
                       : "";
}

static void emit_comment(const Emit *e, Text *c)
{
        const Plan *p = e->plan;
        text_printf(c, "/* %s: %s%s\n *\n", e->name, e->causal ? "a causal model" : "a model",
                    arena_printf(e->arena, ", written by lathe %s.", LATHE_VERSION));
        text_printf(
                c,
                " * %" PRId64 " parameters; %.1f MFLOP a position; weights %.1f MB (%s), cache %.1f MB%s%s, "
                "arena %.2f MB%s.\n",
                e->o->parameters, (double)e->o->flops_token / 1e6, 1e-6 * (double)p->bytes.weights,
                weight_types(e), 1e-6 * (double)p->bytes.state, narrow_keys(e),
                is_batched(e)
                        ? arena_printf(e->arena, " for each of %d sequences%s", p->slots, pages_comment(e))
                        : "",
                1e-6 * (double)p->bytes.arena,
                e->g->past >= 0 || (is_batched(e) && p->rows)
                        ? arena_printf(e->arena, " at %" PRId64 " positions a call",
                                       e->g->past >= 0 ? p->chunk : p->rows)
                        : "");
        for (int i = 0; i < p->windows.n; i++)
                text_printf(c,
                            " * Of states that are read %" PRId64 " positions back the cache stores %" PRId64
                            " positions.\n",
                            p->windows.cache[i].back, p->windows.cache[i].size);
        text_printf(c,
                    " * %s.  The same bits with any number of threads, in any chunks, on any "
                    "target.\n",
                    barriers_text(p));
        const char *flags = p->target->flags;
        bool slow = p->target == target_table, wasm = target_is_wasm(p->target);
        text_printf(
                c, " * Build: %s -std=c11 -O2%s%s %s.c%s%s%s%s */\n",
                wasm                                        ? "clang-16"
                : e->plan->sharing.ranks && e->o->with_main ? "mpicc"
                                                            : "cc",
                *flags ? " " : "", flags, e->o->name,
                e->o->data ? arena_printf(e->arena, " %s.data.c", e->o->name) : "",
                e->o->with_main || is_freestanding(e) ? "" : " your.c",
                is_freestanding(e)
                        ? arena_printf(e->arena,
                                       " -c\n * It needs no operating system, and of the C library only the "
                                       "functions of string.h%s.",
                                       e->o->grammar ? ", and qsort" : "")
                : e->o->home == WEIGHTS_BY_ASSEMBLER
                        ? arena_printf(e->arena,
                                       " -lpthread\n * The weights, %s.c.weights, must be in the same "
                                       "folder as this file.",
                                       e->o->name)
                : wasm ? arena_printf(e->arena, " -o %s.wasm", e->o->name)
                       : " -lpthread",
                wasm   ? "\n * With -mrelaxed-simd multiply-add is one instruction, some 10 times as fast; "
                         "init "
                         "gives ERROR_FLOAT where the machine\n * rounds it twice."
                : slow ? "\n * On x86-64 that does multiply-add in software; with -march=native, for "
                         "processors "
                         "like this one, it is some 30 times\n * faster, with the same bits."
                       : "");
}

void emit_guard_macros(const Emit *e, Text *c)
{
        const Target *t = e->plan->target;
        Text *missing = text_new(e->arena);
        for (const char *at = t->guard; *at;) {
                int64_t n = (int64_t)strcspn(at, " ");
                text_printf(missing, "%s!defined(%.*s)", missing->n ? " || " : "", (int)n, at);
                at += n + (at[n] == ' ');
        }
        if (missing->n)
                text_printf(c, "#if %s\n#error \"this file is for %s: compile it with %s\"\n#endif\n\n",
                            missing->data, t->name, *t->flags ? t->flags : "a compiler for that processor");
}

int64_t arena_floats(const Plan *p)
{
        int64_t n = FLOATS(pool_offset(p) + p->bytes.pool);
        return p->pages > 0 ? n + round_up(PAGE_NUMBERS(p->slots, page_blocks(p), p->pages), LANES) : n;
}

static const char *batch_constants(const Emit *e)
{
        const Plan *p = e->plan;
        const char *pages =
                has_pages(e) ? arena_printf(e->arena,
                                            "#define PAGES %" PRId64 "\n#define PAGE_BLOCKS %" PRId64
                                            "\n#define PAGE_TABLE %" PRId64 "\n",
                                            p->pages, page_blocks(p), FLOATS(pool_offset(p) + p->bytes.pool))
                             : "";
        const int size = varying_size(e->g);
        const char *rows =
                size < 0 ? ""
                         : arena_printf(e->arena, "#define ROWS %" PRId64 "\n#define POSITIONS %" PRId64 "\n",
                                        p->rows, e->g->named[size].bound);
        return arena_printf(e->arena, "#define SLOTS %d\n%s%s", p->slots, rows, pages);
}

static void emit_constants(const Emit *e, Text *c)
{
        const char *parts =
                fact_holds(e->facts, "HAS_PARTS")
                        ? arena_printf(e->arena, "#define PARTS %" PRId64 "\n", parts_size(e->plan))
                        : "";
        text_printf(c, "#define LAYOUT_HASH UINT64_C(0x%016" PRIx64 ")\n", layout_hash(e->plan));
        text_printf(c,
                    "#define WEIGHT_FLOATS %" PRId64 "\n#define ARENA_FLOATS %" PRId64
                    "\n#define STATE_FLOATS %" PRId64 "\n#define SCRATCH ((int64_t)%" PRId64
                    ")\n%s#define TAIL_BYTES %" PRId64 "\n#define TAIL_HASH UINT64_C(0x%" PRIx64 ")\n%s\n",
                    FLOATS(e->plan->bytes.weights), arena_floats(e->plan),
                    FLOATS(e->plan->bytes.state) + LANES, scratch_size(e->plan), parts,
                    e->o->tables_apart ? e->o->tables_size : 0, e->o->tables_apart ? e->o->tables_hash : 0,
                    is_batched(e) ? batch_constants(e) : "");
}

/* Whether a portable file has its own copy of kernels and program for this instruction set, with other names.  Not every
 * assembler that such a file is for knows AMX. */
static bool is_section(const Emit *e, const Target *t)
{
        return *t->machine->condition && !target_has_amx(t) &&
               (target_has_own_vectors(t) || graph_has_blocks(e->g));
}

/* The target's features as GCC spells them. */
static const char *gcc_features(const Emit *e, const Target *t)
{
        if (!*t->machine->base)
                return t->features;
        char *joined = arena_printf(e->arena, "%s%s", t->machine->base, t->features);
        for (char *at = joined; (at = strchr(at, ','));)
                *at = '+';
        return joined;
}

static void emit_section(const Emit *e, const Target *t, const char *kernels, Text *c)
{
        const char *files[] = {KERNEL_FILES(t), NULL};
        Text *own = text_new(e->arena), *user = text_new(e->arena);
        emit_tile(e->plan, t, own);
        emit_states(e->plan, user);
        text_put(own, user->data);
        text_put(user, kernels);
        paste_runtime(own, files, e->facts, NULL, user->data);
        text_put(own, kernels);
        text_printf(c, "/* The same kernels for %s. */\n#if %s\n", t->name, t->machine->condition);
        if (*t->features)
                text_printf(c,
                            "#include <%s>\n#if defined(__clang__)\n#pragma clang attribute "
                            "push(__attribute__((target(\"%s\"))), apply_to = function)\n"
                            "#else\n#pragma GCC push_options\n#pragma GCC target(\"%s\")\n#endif\n\n",
                            t->machine->header, t->features, gcc_features(e, t));
        paste_renamed(c, own->data, arena_printf(e->arena, "_%s", t->name));
        if (*t->features)
                text_printf(c, "#if defined(__clang__)\n#pragma clang attribute pop\n#else\n#pragma GCC "
                               "pop_options\n#endif\n");
        text_printf(c, "#endif\n\n");
}

static void emit_choice(const Emit *e, const char *kernels, Text *c)
{
        for (int i = 0; i < target_count; i++)
                if (is_section(e, &target_table[i]))
                        emit_section(e, &target_table[i], kernels, c);
        text_printf(c, "typedef void Program(void *arg, int thread);\n\n/* The program for the best "
                       "instruction set that this processor runs. */\n"
                       "static Program *best_program(void)\n{\n");
        for (int i = target_count - 1; i >= 0; i--) {
                const Target *t = &target_table[i];
                if (is_section(e, t))
                        text_printf(c,
                                    "#if %s\n        if (%s)\n                return program_%s;\n#endif\n",
                                    t->machine->condition, t->test, t->name);
        }
        text_printf(c, "        return program;\n}\n\n");
}

/* The text between kernels and command line: weights, instance, the model's functions. */
static void emit_instance(const Emit *e, Text *c)
{
        text_printf(c, "%s\n", host_text(e, "model_begin.h"));
        emit_errors(e, c);
        if (e->o->home == WEIGHTS_MAPPED)
                text_printf(c, "%s\n", host_text(e, "weight_file.h"));
        emit_weights(e, c);
        if (e->plan->sharing.ranks)
                emit_shares(e, c);
        text_printf(c, "%s\n", host_text(e, "model_memory.h"));
        if (is_batched(e))
                emit_slots(e, c);
        text_printf(c, "%s\n", host_text(e, "model.h"));
        if (e->causal)
                emit_causal_interface(e, c);
        else if (e->g->block)
                emit_block_interface(e, c);
        else
                emit_plain_interface(e, c);
        if (e->plan->sharing.ranks)
                emit_ranks(e, c);
        if (e->o->tables)
                text_printf(c, "%s\n", host_text(e, "model_text.h"));
        if (e->o->generates)
                emit_generate(e, c);
        if (e->o->grammar)
                emit_grammar(e, c);
        for (int i = 0; i < e->o->nloop; i++)
                emit_loop(e, &e->o->loop[i], c);
}

static void emit_all(const Emit *e, Text *c)
{
        Text *before = text_new(e->arena), *kernels = text_new(e->arena), *after = text_new(e->arena),
             *user = text_new(e->arena);
        emit_struct(e, before);
        emit_program(e, kernels);
        if (e->portable)
                emit_choice(e, kernels->data, after);
        emit_instance(e, after);
        if (e->o->with_main)
                emit_command(e, after);
        if (e->o->with_page)
                emit_page(e, after);
        const Target *t = e->portable ? target_table : e->plan->target;
        const char *files[] = {"guard.h",
                               "amx_there.h",
                               "processor.h",
                               "arm.h",
                               "team.h",
                               KERNEL_FILES(t),
                               "rank_link.h",
                               "ranks.h",
                               "rank_file.h",
                               "window_cache.h",
                               "pages.h",
                               "token_tables.h",
                               "token_wordpiece.h",
                               "token_unigram.h",
                               "token_bpe.h",
                               "token_pieces.h",
                               "token_normaliser.h",
                               "tokens.h",
                               "token_pairs.h",
                               "token_spans.h",
                               "talk.h",
                               "real_tables.h",
                               "reals.h",
                               "likely.h",
                               "token_tags.h",
                               "answers.h",
                               "ranking.h",
                               "pooling.h",
                               "picture_input.h",
                               "denoise.h",
                               "pnm.h",
                               "wav.h",
                               "terminal.h",
                               "random_seed.h",
                               "main_shell.h",
                               "npy.h",
                               "input_values.h",
                               "generation.h",
                               "draft.h",
                               "unmask.h",
                               "sampling.h",
                               "sampling_note.h",
                               "conversation.h",
                               "conversation_terminal.h",
                               NULL};
        emit_tile(e->plan, t, c);
        emit_states(e->plan, user);
        const int64_t states = user->n;
        text_put(c, user->data);
        text_put(user, before->data);
        text_put(user, kernels->data);
        text_put(user, after->data);
        paste_runtime(c, files, e->facts, NULL, user->data);
        text_put(c, user->data + states);
}

bool is_batched(const Emit *e)
{
        return e->plan->slots > 1;
}

bool has_beams(const Emit *e)
{
        return is_batched(e) && e->causal && e->o->generates;
}

bool has_own_beams(const Emit *e)
{
        const double beams = loop_number_setting(graph_loop(e->g, "generate"), "beams", 0);
        return has_beams(e) && e->o->with_main && beams > 1 && beams <= e->plan->slots;
}

bool has_pages(const Emit *e)
{
        return e->plan->pages > 0;
}

bool is_freestanding(const Emit *e)
{
        return e->o && e->o->freestanding;
}

Emit emit_new(Plan *p, const EmitOptions *o)
{
        Emit e = {.plan = p,
                  .o = o,
                  .arena = p->graph->arena,
                  .g = p->graph,
                  .name = p->c_name,
                  .causal = p->graph->past >= 0 && !p->graph->block};
        name_buffers(p);
        e.portable = target_is_portable(p->target);
        Text *upper = text_new(e.arena);
        for (const char *at = e.name; *at; at++)
                text_printf(upper, "%c", toupper((unsigned char)*at));
        e.upper = upper->data;
        e.facts = program_facts(&e);
        return e;
}

/* --- offsets ---------------------------------------------------------------------------------------------------- */

/* "4 of [96, 96] f32, tiled by 16 along axis 0, floats 36864" */
static const char *about_buffer(const Emit *e, const Buffer *b)
{
        const char *slots = b->slots > 1 ? arena_printf(e->arena, "%" PRId64 " of ", b->slots) : "",
                   *tiled = b->layout.tiled >= 0
                                    ? arena_printf(e->arena, ", tiled by 16 along axis %d", b->layout.tiled)
                                    : "",
                   *life = b->home == IN_ARENA ? arena_printf(e->arena, ", steps %d to %d", b->first, b->last)
                                               : "",
                   *name = b->home == IN_ARENA ? "" : arena_printf(e->arena, "%s: ", b->name);
        return arena_printf(e->arena, "%s%s%s %s%s, %" PRId64 " bytes%s", name, slots,
                            type_text(e->arena, e->g, &b->type), storage_info[b->storage].text, tiled,
                            b->home == IN_ARENA ? b->size : b->slot_stride * b->slots, life);
}

static void emit_offset(const Emit *e, const Buffer *b, int width, Text *c)
{
        text_printf(c, "#define %-*s %" PRId64 " /* %s */\n", width, b->offset_name, FLOATS(b->offset),
                    about_buffer(e, b));
}

/* A line for each buffer; those of the arena in the order in which they are stored. */
static void emit_offsets(const Emit *e, Home home, const char *about, Text *c)
{
        const Plan *p = e->plan;
        int width = 0;
        for (int i = 0; i < p->nbuffer; i++) {
                const Buffer *b = p->buffer[i];
                if (b->home == home && b->offset_name && (int)strlen(b->offset_name) > width)
                        width = (int)strlen(b->offset_name);
        }
        if (!width)
                return;
        text_printf(c, "/* %s */\n", about);
        for (int step = home == IN_ARENA ? 0 : -1; step < (home == IN_ARENA ? p->steps : 0); step++)
                for (int i = 0; i < p->nbuffer; i++) {
                        const Buffer *b = p->buffer[i];
                        if (b->home == home && b->offset_name && (home != IN_ARENA || b->first == step))
                                emit_offset(e, b, width, c);
                }
        text_put(c, "\n");
}

void emit(Plan *p, const EmitOptions *o, Text *out, Text *h)
{
        Emit e = emit_new(p, o);
        Text *c = text_new(e.arena);
        p->names_offsets = true;
        emit_header(&e, h);
        emit_comment(&e, c);
        text_printf(c, "%s%s%s%s\n\n",
                    o->freestanding
                            ? ""
                            : "#if !defined(_POSIX_C_SOURCE)\n#define _POSIX_C_SOURCE 200809L\n#endif\n",
                    o->alone ? "" : "#include \"", o->alone ? h->data : o->name, o->alone ? "" : ".h\"");
        if (o->draft)
                text_printf(c, "#include \"%s.h\"\n\n", o->draft->files);
        emit_guard_macros(&e, c);
        emit_constants(&e, c);
        emit_offsets(&e, IN_WEIGHTS, "Weights: where each begins, in floats.", c);
        emit_offsets(&e, IN_STATE, "State, kept from call to call.", c);
        emit_offsets(
                &e, IN_ARENA,
                "Arena: values of one call, and the steps of the program from which to which each is kept.",
                c);
        emit_all(&e, c);
        p->names_offsets = false;
        tidy_text(out, c);
}
