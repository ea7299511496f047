/* lathe page: a model as a single file for a browser.
 *
 * The model's C is compiled twice for WebAssembly: with the multiply-add of relaxed SIMD, and, for
 * machines on which that rounds twice, with one of doubles.  Both, the weights and runtime/page_*.js are
 * put into the file. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands_private.h"

enum {
        MAX_IN_PAGE =
                50000000, /* maximum of bytes of weights in the page; larger ones are in a separate file */
        MAX_ATTENTION_ROWS = 16, /* of a text in a call with attention */
        MAX_ATTENTION = 64 << 20 /* maximum of bytes of attention */
};

/* --- the compiler ------------------------------------------------------------------------------------------------- */

static const char *const packages = "clang-16 lld-16 libclang-rt-16-dev-wasm32 wasi-libc";

/* Whether it is clang 16 or later with support for WebAssembly. */
static bool compiles(Arena *a, const char *folder, const char *clang)
{
        return shell(folder, arena_printf(a,
                                          "printf '#if __clang_major__ < 16\\n#error old\\n#endif\\n#include "
                                          "<stdlib.h>\\nint main(void) { return 0; }\\n' | %s "
                                          "--target=wasm32-wasi -x c -o exact.wasm - >log 2>&1",
                                          clang)) == 0;
}

/* NULL after a message. */
static const char *find_clang(Arena *a, const char *folder)
{
        static const char *const known[] = {"clang",    "clang-21", "clang-20", "clang-19",
                                            "clang-18", "clang-17", "clang-16"};
        const char *given = getenv("CLANG");
        if (given && *given) {
                if (compiles(a, folder, given))
                        return given;
                fprintf(stderr,
                        "lathe page: CLANG, %s, is not clang 16 or later that compiles for WebAssembly",
                        given);
        } else {
                for (size_t i = 0; i < sizeof known / sizeof *known; i++)
                        if (compiles(a, folder, known[i]))
                                return known[i];
                fprintf(stderr, "lathe page: no clang of version 16 or later was found that compiles for "
                                "WebAssembly");
        }
        fprintf(stderr, "; on Debian: apt-get install %s\n", packages);
        return NULL;
}

static bool compile_modules(Arena *a, const char *folder)
{
        const char *clang = find_clang(a, folder);
        if (!clang)
                return false;
        const char *one =
                arena_printf(a, "%s -std=c11 -O2 -w %s -mexec-model=reactor -Wl,--strip-all model.c -o",
                             clang, target_find("wasm")->flags);
        const char *both =
                arena_printf(a,
                             "%s relaxed.wasm -mrelaxed-simd >log 2>&1 & %s exact.wasm >said 2>&1; "
                             "s=$?; wait $! && exit $s",
                             one, one);
        if (shell(folder, both) == 0)
                return true;
        fprintf(stderr, "lathe page: %s can't compile the emitted files:\n", clang);
        shell(folder, "cat log said >&2");
        return false;
}

/* --- the page ----------------------------------------------------------------------------------------------------- */

/* Reads a file of the folder into the arena; false after a message. */
static bool read_part(Arena *a, const char *folder, const char *name, PagePart *to)
{
        const char *path = arena_printf(a, "%s/%s", folder, name);
        FILE *f = fopen(path, "rb");
        long n = f && !fseek(f, 0, SEEK_END) ? ftell(f) : -1;
        char *bytes = n >= 0 ? arena_alloc(a, n + 1) : NULL;
        bool good = bytes && !fseek(f, 0, SEEK_SET) && fread(bytes, 1, (size_t)n, f) == (size_t)n;
        if (!good)
                fprintf(stderr, "lathe: %s: %s\n", path, strerror(errno));
        if (f)
                fclose(f);
        *to = (PagePart){bytes, n};
        return good;
}

/* Settings of a page in addition to its loop: a conversation, and the attention of its texts. */
typedef struct {
        const TalkForm *talk; /* NULL: none */
        const char *system;   /* message of the system in the form; NULL: none */
        const char *no_look;  /* why it shows no attention; NULL: it does, or its loop has none */
        LoopSampling sampling;
} PageTold;

/* The fields of the form for settings of sampling, and their values; others stay hidden. */
static void page_sampling(const LoopSampling *l, Text *to)
{
        const Sampling *s = &l->own;
        Arena *a = to->arena;
        text_printf(to, ", \"sampling\": {\"values\": {\"temperature\": %s, \"top\": %s",
                    float_shortest(a, s->temperature), float_shortest(a, s->top_p));
        if (s->top_k > 0)
                text_printf(to, ", \"k\": %d", s->top_k);
        if (s->min_p > 0)
                text_printf(to, ", \"min\": %s", float_shortest(a, s->min_p));
        if (s->repetition > 0 && s->repetition != 1)
                text_printf(to, ", \"repetition\": %s", float_shortest(a, s->repetition));
        text_put(to, "}");
        page_say(to, "source", l->source);
        text_put(to, "}");
}

/* Settings of a page that continues a text, or has a conversation. */
static void tale_settings(const Graph *g, const EmittedLoops *loops, const PageTold *told, Text *to)
{
        int64_t layers = 0;
        const int64_t maps = loops->main ? 0 : attention_maps(g, &layers);
        text_printf(to, ", \"context\": %" PRId64 ", \"layers\": %" PRId64 ", \"heads\": %" PRId64,
                    g->named[g->time].bound, layers, maps ? maps / layers : 0);
        if (loops->main)
                text_printf(to, ", \"rate\": %.0f, \"most\": %" PRId64,
                            loop_setting(loops->main->loop, "rate")->number,
                            type_count(&loops->main->parts.input->type, NULL));
        else if (sampling_has_effect(&told->sampling.own))
                page_sampling(&told->sampling, to);
        if (told->no_look)
                page_say(to, "no_look", told->no_look);
        if (told->talk && (told->talk->system || told->talk->first_user))
                page_say(to, "system", told->system ? told->system : "");
        if (told->talk && told->talk->default_system)
                page_say(to, "own_system", told->talk->default_system);
}

/* Settings of the loop for the page's form. */
static const char *page_settings(const Graph *g, const EmittedLoops *loops, const PageTold *told)
{
        const EmitLoop *l = loops->main;
        Text *t = text_new(g->arena);
        text_put(t, "");
        if (!l || loop_number(l->loop->name) == LOOP_transcribe) {
                tale_settings(g, loops, told, t);
        } else if (l->parts.input->type.rank == 3) {
                const Dim *d = l->parts.input->type.dim;
                text_printf(t,
                            ", \"channels\": %" PRId64 ", \"rows\": %" PRId64 ", \"columns\": %" PRId64
                            ", \"classes\": %" PRId64,
                            dim_value(d[0], NULL), dim_value(d[1], NULL), dim_value(d[2], NULL),
                            l->parts.class ? l->parts.class->bound : 0);
        }
        return t->data;
}

/* A file's name as a link. */
static const char *link_of(Arena *a, const char *name)
{
        Text *t = text_new(a);
        for (const char *c = name; *c; c++)
                text_printf(t, strchr("<>\"\\%#?& ", *c) || (unsigned char)*c < ' ' ? "%%%02X" : "%c",
                            (unsigned char)*c);
        return t->data;
}

/* "dir/tale.html" -> "dir/tale" */
static const char *page_stem(Arena *a, const char *out)
{
        const char *slash = strrchr(out, '/'), *dot = strrchr(out, '.');
        return dot && (!slash || dot > slash) ? arena_strndup(a, out, dot - out) : out;
}

static int write_page(Model *m, const char *out, const char *folder, Plan *p, Weights *weights,
                      const WeightTail *tail, const EmittedLoops *loops, const PageTold *told)
{
        Arena *a = &m->arena;
        int64_t layers;
        const bool beside = p->bytes.weights + tail->size > MAX_IN_PAGE;
        const char *stem = page_stem(a, out), *slash = strrchr(stem, '/');
        const char *path =
                beside ? arena_printf(a, "%s.weights", stem) : arena_printf(a, "%s/model.weights", folder);
        Page page = {.name = p->c_name,
                     .about = arena_printf(a, "%s parameters", grouped(a, parameter_count(m->graph))),
                     .kind = loops->main  ? loops->main->loop->name
                             : told->talk ? "talk"
                                          : "generate",
                     .link = beside ? link_of(a, arena_printf(a, "%s.weights", slash ? slash + 1 : stem))
                                    : NULL,
                     .settings = page_settings(m->graph, loops, told),
                     .attends = !loops->main && attention_maps(m->graph, &layers) > 0};
        WrittenFile file[2];
        Text *html = text_new(a);
        if (!read_part(a, folder, "relaxed.wasm", &page.relaxed) ||
            !read_part(a, folder, "exact.wasm", &page.exact))
                return WRONG_ENVIRONMENT;
        int n = 0;
        output_weights(&file[n++], path, p, weights, tail, 0);
        if (!beside) {
                if (!output_finish(file, n) || !read_part(a, folder, "model.weights", &page.weights))
                        return WRONG_ENVIRONMENT;
                n = 0;
        }
        page.weights.n = 4096 + p->bytes.weights + tail->size;
        page_text(&page, html);
        output_bytes(&file[n++], out, html->data, html->n);
        return output_finish(file, n) ? DONE : WRONG_ENVIRONMENT;
}

/* --- the command -------------------------------------------------------------------------------------------------- */

/* NULL, or why the model can't have a page. */
static const char *why_no_page(const Graph *g, const EmittedLoops *loops, const CommandOptions *o)
{
        const EmitLoop *l = loops->main;
        if (loops->why_no_main)
                return loops->why_no_main;
        const LoopId id = l ? (LoopId)loop_number(l->loop->name) : LOOP_generate;
        const LoopInput in = l ? loop_input(id, &l->parts) : LOOP_IN_TOKENS;
        if (id == LOOP_classify && in == LOOP_IN_TOKENS)
                return "classifies texts, which pages don't support yet; `lathe build --main` makes a "
                       "program";
        if (id == LOOP_rank)
                return "ranks passages, which pages don't support yet; `lathe build --main` makes a program";
        if (id == LOOP_unmask)
                return "unmasks texts, which pages don't support yet; `lathe build --main` makes a program";
        if (id == LOOP_answer)
                return "answers questions, which pages don't support yet; `lathe build --main` makes a "
                       "program";
        if (loops->feeds_prompt && in != LOOP_IN_SOUND)
                return "is fed its prompt, which pages don't support yet";
        const bool of_texts = in == LOOP_IN_TOKENS || in == LOOP_IN_SOUND;
        if (of_texts && !o->tokenizer)
                return arena_printf(g->arena, "%s texts, which requires --tokenizer",
                                    in == LOOP_IN_SOUND ? "writes"
                                    : l                 ? "reads"
                                                        : "tells");
        if (!of_texts && l->parts.input->type.rank != 3)
                return "has no pictures";
        if (l && !strcmp(l->loop->name, "denoise") && !takes_class_alone(g, l))
                return "has inputs besides a class, which pages don't support yet";
        return NULL;
}

/* The conversation of the page, if any; false after a message. */
static bool choose_talk(Model *m, const CommandOptions *o, const EmittedLoops *loops,
                        const Tokenizer *tokenizer, PageTold *told)
{
        const TalkForm *talk = o->given[OPT_RAW] || loops->main ? NULL : model_talks(m, o, tokenizer, "page");
        if (o->system && !talk)
                fprintf(stderr,
                        "lathe page: --system is for a model with a conversation in its loop generate, and a "
                        "tokenizer with special tokens\n");
        else if (o->system && !talk->system && !talk->first_user)
                fprintf(stderr,
                        "lathe page: --system: the conversations of %s have no place for it: loop generate "
                        "has no system and no first_user\n",
                        m->graph->name);
        else {
                told->talk = talk;
                told->sampling = loop_sampling(m->graph, o, talk != NULL);
                told->system = o->system;
                return true;
        }
        return false;
}

static int page_in(Model *m, const CommandOptions *o, const char *folder, const EmittedLoops *loops,
                   const Tokenizer *tokenizer, const PageTold *told)
{
        Checkpoint *checkpoint = NULL;
        WeightTail tail;
        Weights *weights = open_weights(m, o, &checkpoint);
        if (weights)
                note_hashed(m, o, "page");
        Plan *p = weights ? model_plan(m, o, target_find("wasm")) : NULL;
        int code = p ? DONE : failure_code(m);
        if (p) {
                EmitOptions options = emitted_model(m, o, loops, tokenizer, WEIGHTS_MAPPED, &tail);
                Text *c = text_new(&m->arena), *h = text_new(&m->arena);
                options.name = "model";
                options.with_page = options.alone = true;
                options.main_loop = loops->main;
                options.talk = told->talk ? talk_form_text(&m->arena, told->talk) : NULL;
                emit(p, &options, c, h);
                const bool good = write_file(arena_printf(&m->arena, "%s/model.c", folder), c->data, c->n) &&
                                  compile_modules(&m->arena, folder);
                const char *out = o->out ? o->out : arena_printf(&m->arena, "%s.html", p->c_name);
                code = good ? write_page(m, out, folder, p, weights, &tail, loops, told) : WRONG_ENVIRONMENT;
        }
        checkpoint_close(checkpoint);
        return code;
}

/* no_look: why it shows no attention, or NULL. */
static int page_of(Model *m, const CommandOptions *o, const char *no_look)
{
        EmittedLoops loops;
        Tokenizer tokenizer = {0};
        int code = emitted_loops(m, "page", o->tokenizer != NULL, &loops);
        PageTold told = {.no_look = loops.main ? NULL : no_look};
        const char *why = code == DONE ? why_no_page(m->graph, &loops, o) : NULL;
        if (why) {
                fprintf(stderr, "lathe: a page is for a model of texts, pictures or sounds: %s %s\n",
                        m->graph->name, why);
                return WRONG_INPUT;
        }
        if (code != DONE)
                return code;
        if (o->tokenizer && !load_tokenizer(m, o, &tokenizer))
                return failure_code(m);
        if (told.no_look)
                fprintf(stderr, "lathe page: note: the page can't show attention: %s\n", told.no_look);
        code = WRONG_USAGE;
        if (choose_talk(m, o, &loops, o->tokenizer ? &tokenizer : NULL, &told)) {
                char *folder = test_run_folder();
                code = folder ? page_in(m, o, folder, &loops, o->tokenizer ? &tokenizer : NULL, &told)
                              : WRONG_ENVIRONMENT;
                test_run_remove(folder);
        }
        tokenizer_free(&tokenizer);
        return code;
}

/* NULL, or why the attention of a text exceeds the memory of a page. */
static const char *why_too_large(const Graph *g, const CommandOptions *o)
{
        int64_t layers = 1;
        const int64_t maps = attention_maps(g, &layers), context = g->named[g->time].bound;
        const int64_t most = maps > 0 ? MAX_ATTENTION / (4 * o->chunk) / maps : 0;
        if (maps == 0)
                return "it has no layout of layers, heads and tokens";
        if (context <= most)
                return NULL;
        const double bytes = 4.0 * (double)o->chunk * (double)maps * (double)context;
        return arena_printf(
                g->arena,
                "for %" PRId64 " tokens, %" PRId64 " layers of %" PRId64
                " heads and a context of %s it needs %s, and the limit is %s; reduce the context to %s",
                o->chunk, layers, maps / layers, grouped(g->arena, context), in_units(g->arena, bytes, "B"),
                in_units(g->arena, MAX_ATTENTION, "B"), grouped(g->arena, most));
}

/* Loads the model with its attention as a further output, after the passes.  Returns why the page can't
 * show it, or NULL. */
static const char *load_with_attention(Model *m, const CommandOptions *o)
{
        int code;
        const char *why = NULL;
        if (!model_load(m, o, &code) || m->graph->noutput != 1)
                return "the model has more than one output";
        m->taps_may_fail = true;
        if (attention_taps_add(m->graph, &why) != 1)
                return why;
        if (!model_passes(m, o) || !generates_when_fed(m->graph))
                return "its weights can't be computed position by position";
        return why_too_large(m->graph, o);
}

static int page_of_model(const CommandOptions *o)
{
        Model m, attentive;
        int code;
        const bool loaded = model_load(&m, o, &code);
        if (!loaded || !model_passes(&m, o)) {
                code = loaded ? failure_code(&m) : code;
        } else if (o->tokenizer && generates_when_fed(m.graph)) {
                const char *no_look = load_with_attention(&attentive, o);
                code = page_of(no_look ? &m : &attentive, o, no_look);
                model_free(&attentive);
        } else {
                code = page_of(&m, o, NULL);
        }
        model_free(&m);
        return code;
}

int page_command(const CommandOptions *given)
{
        CommandOptions o = *given;
        o.chunk = o.chunk < MAX_ATTENTION_ROWS ? o.chunk : MAX_ATTENTION_ROWS;
        if (o.out && (!strcmp(o.out, "-") || !*o.out)) {
                fprintf(stderr, "lathe page: -o must be a file name\n");
                return WRONG_USAGE;
        }
        const char *file = o.out ? strrchr(o.out, '/') : NULL,
                   *dot = o.out ? strrchr(file ? file : o.out, '.') : NULL;
        if (dot && strcmp(dot, ".html") && strcmp(dot, ".htm")) {
                fprintf(stderr, "lathe page: -o must be a name in .html, or one without a suffix, not %s\n",
                        o.out);
                return WRONG_USAGE;
        }
        return page_of_model(&o);
}
