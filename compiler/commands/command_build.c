/* lathe build: a model to C, header and packed weights. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "build_private.h"

enum {
        TABLES_IN_C = 1 << 16,      /* maximum of a tokenizer's bytes in the C */
        MUCH_TEXT = 8 << 20,        /* size of weights as text that compilers take long for */
        MAX_IN_PROGRAM = 1900000000 /* maximum of bytes that signed 32-bit addresses reach */
};

EmitOptions emitted_model(const Model *m, const CommandOptions *o, const EmittedLoops *loops,
                          const Tokenizer *tokenizer, WeightHome home, WeightTail *tail)
{
        EmitOptions options = {.generates = loops->generates,
                               .loop = loops->loop,
                               .nloop = loops->nloop,
                               .feeds_prompt = loops->feeds_prompt,
                               .home = home,
                               .tables = tokenizer ? tokenizer->block.block : NULL,
                               .tables_size = tokenizer ? tokenizer->block.size : 0,
                               .pair_form =
                                       tokenizer && tokenizer->tables.pair_form
                                               ? pair_form_text(m->graph->arena, tokenizer->tables.pair_form)
                                               : NULL,
                               .text_room = tokenizer ? tokenizer->longest : 0,
                               .sampling = loop_sampling(m->graph, o, false),
                               .talk_sampling = loop_sampling(m->graph, o, true),
                               .parameters = parameter_count(m->graph),
                               .flops_token = cost_per_token(m->graph)};
        /* the weight file does not depend on small tables, and compilers need not process large ones */
        *tail = (WeightTail){options.tables, options.tables_size, 0};
        options.tables_apart = options.tables && home != WEIGHTS_AS_TEXT && options.tables_size > TABLES_IN_C;
        if (options.tables_apart)
                options.tables_hash = tail->hash = hash_bytes(HASH_START, tail->bytes, (size_t)tail->size);
        else
                tail->size = 0;
        return options;
}

/* "dir/tale.c" or "dir/tale" -> "dir/tale" and "tale" */
static void split_path(Arena *a, const char *out, const char **stem, const char **base)
{
        size_t n = strlen(out);
        *stem = n > 2 && !strcmp(out + n - 2, ".c") ? arena_strndup(a, out, (int64_t)n - 2) : out;
        const char *slash = strrchr(*stem, '/');
        *base = slash ? slash + 1 : *stem;
}

static bool is_stream(const CommandOptions *o)
{
        return o->out && !strcmp(o->out, "-");
}

/* -o names the C file; names of other files are derived from it, so its suffix must be that of C. */
static bool out_fits(const CommandOptions *o)
{
        const char *slash = o->out ? strrchr(o->out, '/') : NULL, *name = slash ? slash + 1 : o->out;
        const char *dot = name ? strrchr(name, '.') : NULL;
        if (is_stream(o) && o->draft.model)
                fprintf(stderr,
                        "lathe build: -o - writes the C to standard output, but --draft writes a second "
                        "model\n");
        else if (is_stream(o) && (o->given[OPT_LIB] || o->depfile || o->given[OPT_PYTHON]))
                fprintf(stderr, "lathe build: -o - writes the C to standard output, but %s writes files\n",
                        o->given[OPT_LIB] ? "--lib"
                        : o->depfile      ? "--depfile"
                                          : "--python");
        else if (is_stream(o) && o->given[OPT_DATA_FILE])
                fprintf(stderr,
                        "lathe build: -o - writes the C to standard output, but --data-file writes a second "
                        "C file\n");
        else if (o->given[OPT_DATA_FILE] && !o->given[OPT_EMBED])
                fprintf(stderr, "lathe build: --data-file has no effect without --embed or --freestanding: "
                                "the weights "
                                "are in no C file\n");
        else if (is_stream(o) && o->given[OPT_INCBIN])
                fprintf(stderr, "lathe build: -o - writes the C to standard output, but --incbin needs a "
                                "weight file beside it: --embed puts the weights into the C\n");
        else if (is_stream(o) && !o->given[OPT_EMBED] && !o->given[OPT_CODE_ONLY])
                fprintf(stderr, "lathe build: -o - writes the C to standard output, which cannot contain the "
                                "weights: --embed puts them into the C, --code-only leaves them out\n");
        else if (name && (!*name || !strcmp(name, ".c")))
                fprintf(stderr, "lathe build: -o must be a file name, not %s\n", o->out);
        else if (dot && strcmp(dot, ".c") != 0)
                fprintf(stderr,
                        "lathe build: -o must be a name in .c, or one without a suffix, not %s: the output "
                        "is C\n",
                        o->out);
        else
                return !o->given[OPT_PYTHON] || python_fits(o);
        return false;
}

static void note_name(const char *what, const char *name, const char *in_c, const char *kind,
                      const char *more)
{
        if (strcmp(name, in_c) != 0)
                fprintf(stderr, "lathe build: note: the %s %s is %s in C: %s is %s%s\n", what, name, in_c,
                        name, kind ? kind : "another's", more);
}

/* Notes names that are not valid in C and were changed. */
static void note_renamed(const Plan *p, const CommandOptions *o)
{
        const Graph *g = p->graph;
        if (!o->prefix)
                note_name("model", g->name, p->c_name, c_name_fault(g->name),
                          "; --prefix gives it a name of your own");
        for (int i = 0; i < g->nnamed; i++)
                if (g->past < 0 || (i != g->time && i != g->past))
                        note_name("size", g->named[i].model_name, g->named[i].name,
                                  c_word_kind(g->named[i].model_name), "");
        for (int i = 0; i < g->ninput; i++)
                note_name("input", g->input[i].model_name, g->input[i].name,
                          c_word_kind(g->input[i].model_name), "");
        for (int i = 0; i < g->noutput; i++)
                if (!g->output[i].tap)
                        note_name("output", g->output[i].model_name, g->output[i].name,
                                  c_word_kind(g->output[i].model_name), "");
}

static void note_large(Model *m, const Plan *p)
{
        if (p->bytes.weights > MUCH_TEXT)
                fprintf(stderr,
                        "lathe build: note: --embed writes %s of weights as text, which takes a C compiler "
                        "minutes and "
                        "gigabytes; with --incbin in its place the assembler takes them out of a file\n",
                        in_units(&m->arena, (double)p->bytes.weights, "B"));
}

/* The files to be written. */
typedef struct {
        Plan *plan;
        Weights *weights;
        const WeightTail *tail;
        const Text *c, *h, *module, *data; /* module: for Python, or NULL; data: NULL, or OUT.data.c */
        const char *stem, *base;
} BuiltFile;

static int write_files(Model *m, const CommandOptions *o, const BuiltFile *w)
{
        Arena *a = &m->arena;
        const bool apart = !o->given[OPT_EMBED] && !o->given[OPT_CODE_ONLY];
        /* C, header, weights: the first file is the target of the depfile's rule for ninja */
        WrittenFile file[5 + LIBRARY_FILES + PYTHON_FILES] = {{.entry = -1}, {.entry = -1}};
        int n = apart ? 3 : 2, code = DONE;
        bool good = (!apart || output_weights(&file[2],
                                              arena_printf(a, "%s%s.weights", w->stem,
                                                           o->given[OPT_INCBIN] ? ".c" : ""),
                                              w->plan, w->weights, w->tail, 0)) &&
                    output_bytes(&file[0], arena_printf(a, "%s.c", w->stem), w->c->data, w->c->n) &&
                    output_bytes(&file[1], arena_printf(a, "%s.h", w->stem), w->h->data, w->h->n);
        if (good && w->data)
                good = output_bytes(&file[n++], arena_printf(a, "%s.data.c", w->stem), w->data->data,
                                    w->data->n);
        if (good && o->given[OPT_LIB]) {
                const LibraryParts parts = {.base = w->base,
                                            .model = m->graph->name,
                                            .c = w->c,
                                            .h = w->h,
                                            .weights = o->given[OPT_INCBIN] ? file[2].aside : NULL,
                                            .weights_beside = apart && !o->given[OPT_INCBIN],
                                            .target = w->plan->target};
                code = build_library(a, &parts, folder_of(a, w->stem), file, &n);
        }
        if (good && o->given[OPT_PYTHON] && code == DONE) {
                const char *weights =
                        arena_printf(a, "%s%s.weights", w->base, o->given[OPT_INCBIN] ? ".c" : "");
                const PythonParts parts = {.base = w->base,
                                           .name = w->plan->c_name,
                                           .module = w->module,
                                           .weights = apart && !o->given[OPT_INCBIN] ? weights : NULL,
                                           .c_weights = o->given[OPT_INCBIN] ? weights : NULL,
                                           .target = w->plan->target};
                good = build_python(a, &parts, folder_of(a, w->stem), file, &n);
        }
        if (code != DONE) {
                while (n)
                        output_drop(&file[--n]);
                return code;
        }
        if (good && o->depfile) {
                build_depfile(a, &file[n], o->depfile, file, n);
                n++;
        }
        return output_finish(file, n) ? DONE : WRONG_ENVIRONMENT;
}

static WeightHome weight_home(const CommandOptions *o)
{
        return o->given[OPT_EMBED]    ? WEIGHTS_AS_TEXT
               : o->given[OPT_INCBIN] ? WEIGHTS_BY_ASSEMBLER
                                      : WEIGHTS_MAPPED;
}

/* Bytes of a freestanding program without its code; to standard error if the C is on standard output. */
static void print_memory(const Plan *p, const EmitOptions *e, FILE *to)
{
        const int64_t arena = arena_floats(p) * 4, state = p->slots * (p->bytes.state + LANES * 4),
                      scratch = scratch_size(p) * 4;
        fprintf(to,
                "%s: %" PRId64 " bytes of constants (weights %" PRId64 ", tokenizer %" PRId64 "), %" PRId64
                " bytes of static memory (arena %" PRId64 ", state %" PRId64 ", scratch %" PRId64
                "), and the instance's struct\n",
                e->name, p->bytes.weights + e->tables_size, p->bytes.weights, e->tables_size,
                arena + state + scratch, arena, state, scratch);
}

/* Packs, emits and writes; tokenizer may be NULL. */
static int write_model(Model *m, const CommandOptions *o, Plan *p, const Tokenizer *tokenizer,
                       Weights *weights, const EmittedLoops *loops, const Grammar *grammar)
{
        const char *stem, *base;
        split_path(&m->arena, o->out && !is_stream(o) ? o->out : p->c_name, &stem, &base);
        float *packed = o->given[OPT_EMBED] ? calloc((size_t)FLOATS(p->bytes.weights), sizeof *packed) : NULL;
        const char *error = !o->given[OPT_EMBED] ? NULL
                            : packed             ? pack_weights(p, weights, packed)
                                                 : no_memory;
        WeightTail tail;
        EmitOptions options = emitted_model(m, o, loops, tokenizer, weight_home(o), &tail);
        options.name = base;
        options.with_main = o->given[OPT_MAIN];
        options.main_loop = o->given[OPT_MAIN] ? loops->main : NULL;
        options.draft = o->given[OPT_MAIN] ? loops->draft : NULL;
        options.alone = is_stream(o);
        options.freestanding = o->given[OPT_FREESTANDING];
        options.weights = packed;
        options.grammar = grammar ? grammar_tables(grammar) : NULL;
        const TalkForm *form = o->given[OPT_MAIN] ? model_talks(m, o, tokenizer, "build") : NULL;
        options.talk = form ? talk_form_text(&m->arena, form) : NULL;
        Text *c = text_new(&m->arena), *h = text_new(&m->arena), *module = text_new(&m->arena);
        options.data = o->given[OPT_DATA_FILE] ? text_new(&m->arena) : NULL;
        if (!error)
                emit(p, &options, c, h);
        if (!error && o->given[OPT_PYTHON])
                emit_python(p, &options, module);
        free(packed);
        if (!error && o->given[OPT_INCBIN] && p->bytes.weights + tail.size > MAX_IN_PROGRAM)
                error = arena_printf(&m->arena,
                                     "--incbin: the weights take %s, but a program can hold at most 1.9 GB: "
                                     "without --incbin they are mapped",
                                     in_units(&m->arena, (double)p->bytes.weights, "B"));
        if (!error && o->given[OPT_EMBED])
                note_large(m, p);
        if (error) {
                fprintf(stderr, "lathe: weights: %s\n", error);
                return weights_why(weights) ? WRONG_INPUT : WRONG_ENVIRONMENT;
        }
        if (options.freestanding)
                print_memory(p, &options, is_stream(o) ? stderr : stdout);
        if (is_stream(o))
                return write_file("-", c->data, c->n) ? DONE : WRONG_ENVIRONMENT;
        const int code = write_files(
                m, o, &(const BuiltFile){p, weights, &tail, c, h, module, options.data, stem, base});
        return code != DONE && weights_why(weights) ? WRONG_INPUT : code;
}

/* Whether an option requires functions for its loops. */
static bool builds_loops(const CommandOptions *o)
{
        return o->given[OPT_LOOPS] || o->given[OPT_MAIN] || o->given[OPT_PYTHON] || o->grammar ||
               o->draft.model;
}

/* The loops of its C, if any.  Returns an exit code. */
static int choose_loops(Model *m, const CommandOptions *o, EmittedLoops *loops)
{
        *loops = (EmittedLoops){0};
        if (!builds_loops(o))
                return DONE;
        const int code = emitted_loops(m, "build", o->tokenizer != NULL, loops);
        fputs(loops->notes->data, stderr);
        if (code == DONE && o->given[OPT_LOOPS] && !has_loops(m->graph)) {
                fprintf(stderr, "lathe build: --loops: %s has no loop and does not generate text\n",
                        m->graph->name);
                return WRONG_INPUT;
        }
        if (code != DONE || !o->given[OPT_MAIN] || !loops->why_no_main)
                return code;
        fprintf(stderr,
                "lathe: --main is for a model with a loop, or a causal one from one input of token ids "
                "[time] to "
                "one output of logits [time, vocab]: %s %s\n",
                m->graph->name, loops->why_no_main);
        note_not_causal(m);
        return WRONG_INPUT;
}

/* The grammar of its texts, or NULL.  Returns an exit code. */
static int choose_grammar(Model *m, const CommandOptions *o, const Grammar **grammar)
{
        *grammar = NULL;
        if (o->grammar && !generates_when_fed(m->graph)) {
                fprintf(stderr, "lathe: --grammar is for a model that generates, and %s does not\n",
                        m->graph->name);
                return WRONG_INPUT;
        }
        return grammar_open(&m->arena, o->grammar, grammar);
}

/* A program without slots does not search with the beams of the loop. */
static void note_beams(const Model *m, const CommandOptions *o)
{
        const double beams = loop_number_setting(graph_loop(m->graph, "generate"), "beams", 0);
        if (o->given[OPT_MAIN] && (double)o->slots < beams && beams > 1)
                fprintf(stderr,
                        "lathe build: note: loop generate searches with %.0f beams; programs do so with "
                        "--slots %.0f, and "
                        "this one takes the most likely token\n",
                        beams, beams);
}

/* Builds a model after its passes. */
static int build_model(Model *m, const CommandOptions *o, const EmittedLoops *loops, const Grammar *grammar)
{
        Checkpoint *checkpoint = NULL;
        Tokenizer tokenizer = {0};
        Weights *weights = NULL;
        if (!o->tokenizer || load_tokenizer(m, o, &tokenizer))
                weights = open_weights(m, o, &checkpoint);
        if (weights && !o->given[OPT_CODE_ONLY])
                note_hashed(m, o, "build");
        note_beams(m, o);
        Plan *plan = weights ? model_plan(m, o, chosen_target(o)) : NULL;
        if (plan)
                note_renamed(plan, o);
        const int code =
                !plan ? failure_code(m)
                : o->given[OPT_PYTHON] && !python_name_fits(plan->c_name)
                        ? WRONG_USAGE
                        : write_model(m, o, plan, o->tokenizer ? &tokenizer : NULL, weights, loops, grammar);
        tokenizer_free(&tokenizer);
        checkpoint_close(checkpoint);
        return code;
}

/* Builds the model of --draft beside the first one, as NAME_draft.  Returns an exit code. */
static int build_draft(DraftModel *d, Model *m, const CommandOptions *o, EmittedLoops *loops)
{
        static const OptionId same[] = {OPT_EMBED, OPT_INCBIN, OPT_CODE_ONLY, OPT_DATA_FILE,
                                        OPT_FREESTANDING};
        Arena *a = &m->arena;
        EmittedLoops own;
        EmitDraft *e = NEW(a, EmitDraft);
        const char *stem, *name = o->prefix ? o->prefix : c_model_name(a, m->graph->name);
        split_path(a, o->out ? o->out : name, &stem, &e->files);
        e->name = d->o.prefix = arena_printf(a, "%s_draft", name);
        e->files = arena_printf(a, "%s_draft", e->files);
        d->o.out = arena_printf(a, "%s_draft.c", stem);
        d->o.rewind = o->rewind;
        d->o.given[OPT_REWIND] = o->given[OPT_REWIND];
        d->o.given[OPT_LOOPS] = true;
        for (size_t i = 0; i < sizeof same / sizeof *same; i++)
                d->o.given[same[i]] = o->given[same[i]];
        int code = draft_model_pass(d, m, NULL);
        if (code == DONE)
                code = choose_loops(&d->m, &d->o, &own);
        if (code == DONE)
                code = build_model(&d->m, &d->o, &own, NULL);
        e->input = NEW_ARRAY(a, const char *, d->nread);
        int *tap = NEW_ARRAY(a, int, d->nread);
        for (int i = 0; i < d->nread; i++)
                if (d->read[i].from >= 0) {
                        tap[e->nread] = d->read[i].from;
                        e->input[e->nread++] = d->m.graph->input[d->read[i].input].name;
                }
        e->tap = tap;
        loops->draft = e;
        return code;
}

/* Whether --draft is for this command; else prints a message. */
static bool draft_fits(const DraftModel *d, const CommandOptions *o)
{
        if (o->given[OPT_DRAFT] && !o->draft.model)
                fprintf(stderr,
                        "lathe build: --draft must be a model with a loop draft: a number of tokens is an "
                        "option of the program\n");
        else if (o->draft.model && !d->nread)
                fprintf(stderr,
                        "lathe build: --draft %s: it has no loop draft; build it by itself, and draft by its "
                        "function "
                        "NAME_generate (docs/emitted.md)\n",
                        o->draft.model);
        else
                return true;
        return false;
}

int build_command(const CommandOptions *given)
{
        CommandOptions own = *given;
        const CommandOptions *o = &own;
        own.given[OPT_EMBED] |= given->given[OPT_FREESTANDING] && !given->given[OPT_INCBIN];
        Model m;
        EmittedLoops loops;
        const Grammar *grammar;
        int code;
        DraftModel draft = {.nread = 0};
        if (!out_fits(o))
                return WRONG_USAGE;
        if (model_load(&m, o, &code)) {
                if (builds_loops(o) && o->slots == 1 && !o->tap.n)
                        m.block = unmask_block_kept(&m, o, graph_loop(m.graph, "unmask"));
                code = draft_given(&draft, &m, o);
                if (code == DONE && !draft_fits(&draft, o))
                        code = WRONG_USAGE;
                if (code == DONE)
                        code = model_passes(&m, o) ? choose_loops(&m, o, &loops) : failure_code(&m);
                if (code == DONE)
                        code = grammar_needs_text(m.graph, o->grammar, o->tokenizer != NULL);
                if (code == DONE)
                        code = choose_grammar(&m, o, &grammar);
                if (code == DONE && o->draft.model)
                        code = build_draft(&draft, &m, o, &loops);
                if (code == DONE)
                        code = build_model(&m, o, &loops, grammar);
        }
        draft_model_close(&draft);
        model_free(&m);
        return code;
}
