/* The header of the interface: a description of inputs and outputs, sizes as enumerators, and
 * declarations. */
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "emit_private.h"
#include "../../runtime/generation.h"
#include "../../runtime/sampling_note.h"

typedef struct {
        Text *text;
        const char **name;
        int n;
} Enumerators;

static bool name_is_in(const Enumerators *sizes, const char *name)
{
        for (int i = 0; i < sizes->n; i++)
                if (!strcmp(sizes->name[i], name))
                        return true;
        return false;
}

/* Declares an enumerator; appends _ to its name until it is unique. */
static void emit_size(const Emit *e, const char *name, int64_t value, Enumerators *sizes)
{
        Text *own = text_new(e->arena);
        text_printf(own, "%s_", e->upper);
        for (const char *c = name; *c; c++)
                text_printf(own, "%c", toupper((unsigned char)*c));
        const char *last = own->data + strlen(e->upper) + 1;
        if (!strcmp(last, "OK") || !strcmp(last, "H") || !strncmp(last, "ERROR_", 6))
                text_printf(own, "_");
        while (name_is_in(sizes, own->data))
                text_printf(own, "_");
        sizes->name[sizes->n++] = own->data;
        text_printf(sizes->text, "        %s = %" PRId64 ",\n", own->data, value);
}

/* Integer hyperparameters and bounds of ids, as enumerators. */
static void declare_sizes(const Emit *e, Text *h)
{
        Enumerators sizes = {text_new(e->arena),
                             NEW_ARRAY(e->arena, const char *, e->g->nhyper + e->g->ninput + 3), 0};
        for (int i = 0; i < e->g->nhyper; i++) {
                const Setting *s = &e->g->hyper[i];
                bool whole = s->kind == SETTING_NUMBER && fabs(s->number) <= INT32_MAX &&
                             s->number == floor(s->number);
                if (whole)
                        emit_size(e, s->name, (int64_t)s->number, &sizes);
        }
        for (int i = 0; i < e->g->ninput; i++) {
                const Input *in = &e->g->input[i];
                if (in->bound && in->bound < INT32_MAX)
                        emit_size(e, arena_printf(e->arena, "%s_bound", in->name), in->bound, &sizes);
        }
        if (is_batched(e)) {
                emit_size(e, "slots", e->plan->slots, &sizes);
                if (varying_size(e->g) >= 0)
                        emit_size(e, "batch_rows", e->plan->rows, &sizes);
        }
        if (has_pages(e)) {
                emit_size(e, "pages", e->plan->pages, &sizes);
        }
        if (sizes.n)
                text_printf(h, "/* The model's whole numbers. */\nenum {\n%s};\n\n", sizes.text->data);
}

/* How far an instance can be rewound, if windows or sums limit it. */
static const char *rewind_text(const Emit *e)
{
        const char *text = "";
        if (e->plan->windows.n)
                text = arena_printf(e->arena,
                                    ".  Window caches\n * allow to remove the last %" PRId64
                                    " positions, and earlier ones that are still stored",
                                    e->plan->windows.cache[0].spare);
        const KeptSums sums = kept_sums(e->plan);
        if (sums.buffer && sums.older)
                text = arena_printf(e->arena,
                                    "%s.  Sums over all positions\n * have states for the last %d blocks of "
                                    "%d positions: n may "
                                    "be in one of these",
                                    text, 1 + sums.older, SCAN_BLOCK);
        else if (sums.buffer)
                text = arena_printf(
                        e->arena,
                        "%s.  Sums over all positions\n * have a state for each block of %d positions: n may "
                        "be in the last position's block",
                        text, SCAN_BLOCK);
        if (keeps_ring(e->plan))
                text = arena_printf(
                        e->arena,
                        "%s.  A recurrence\n * keeps its last %" PRId64
                        " values: n may be 0, or at least the most positions since then less %" PRId64,
                        text, e->plan->rewind + 1, e->plan->rewind);
        else if (carried_state(e->plan))
                text = arena_printf(
                        e->arena,
                        "%s.  A recurrence\n * keeps its last value alone: n may be 0 or all of them", text);
        return *text ? arena_printf(e->arena,
                                    "%s;\n * otherwise it returns %s_ERROR_REWIND, and changes nothing", text,
                                    e->upper)
                     : "";
}

static void declare_feeds(const Emit *e, Text *h)
{
        for (int i = 0; i < e->g->ngroup; i++)
                if (is_fed_separately(e->g, i))
                        text_printf(h,
                                    "/* Feeds %s for the following calls%s.  The arguments may be freed "
                                    "when it returns.  Calls before\n"
                                    " * it return %s_ERROR_UNFED. */\n"
                                    "int %s_feed_%s(%s *m%s%s);\n",
                                    group_name(e, i), e->causal ? ", which begin at position 0" : "",
                                    e->upper, e->name, group_name(e, i), e->name, size_list(e, i, true),
                                    input_list(e, i, true, false));
}

static void declare_causal_functions(const Emit *e, Text *h)
{
        text_printf(h,
                    "/* Processes n >= 0 new positions, in total at most %" PRId64
                    " (%s_ERROR_CONTEXT).  After an error nothing\n"
                    " * has changed. */\nint %s_prefill(%s *m%s%s, int64_t n);\n",
                    e->g->named[e->g->time].bound, e->upper, e->name, e->name, size_list(e, CALLS, true),
                    input_list(e, CALLS, true, false));
        text_printf(h,
                    "/* Like prefill, and stores the outputs of all n positions. */\nint %s_forward(%s "
                    "*m%s%s, int64_t n%s);\n",
                    e->name, e->name, size_list(e, CALLS, true), input_list(e, CALLS, true, false),
                    output_list(e, true, false));
        text_printf(
                h, "/* Like forward, for one position: outputs have one row. */\nint %s_step(%s *m%s%s%s);\n",
                e->name, e->name, size_list(e, CALLS, true), input_list(e, CALLS, true, true),
                output_list(e, true, false));
        text_printf(
                h,
                "/* Number of processed positions. */\nint64_t %s_position(const %s *m);\n"
                "/* Removes all positions, to begin another text. */\nvoid %s_reset(%s *m);\n"
                "/* Keeps only the first n positions, 0 to their number (otherwise %s_ERROR_RANGE)%s. */\n"
                "int %s_rewind(%s *m, int64_t n);\n",
                e->name, e->name, e->name, e->name, e->upper, rewind_text(e), e->name, e->name);
        if (is_batched(e))
                declare_batch(e, h);
}

/* The functions of runtime/model_text.h. */
static void declare_texts(const Emit *e, Text *h)
{
        text_printf(h, "%s",
                    model_text(e, "\n/* Text to token ids and back.  $MODEL_CONTROL: the texts of control "
                                  "tokens, as <|endoftext|>, become "
                                  "these tokens, and\n * decoding gives their texts.  $MODEL_BARE: nothing "
                                  "is added before or after the text. */\n"
                                  "enum { $MODEL_CONTROL = 1, $MODEL_BARE = 2 };\n"
                                  "/* Converts text [n] to ids [room].  Returns their number, also if it "
                                  "exceeds room; -1: the text is too long.\n"
                                  " * scratch [$model_encode_scratch(m, n)], aligned to 4; there are at most "
                                  "$model_encode_room(m, n) ids. */\n"
                                  "int64_t $model_encode(const $model *m, const char *text, int64_t n, int "
                                  "flags, int32_t *ids, int64_t "
                                  "room, void *scratch);\n"
                                  "int64_t $model_encode_room(const $model *m, int64_t n);\n"
                                  "int64_t $model_encode_scratch(const $model *m, int64_t n);\n"
                                  "/* State of decoding token by token; initially {{0}, 0, 0}. */\n"
                                  "typedef struct {\n        unsigned char held[3]; /* the beginning of a "
                                  "character */\n        int n, "
                                  "begun;\n} $model_text;\n"
                                  "/* Writes the text of the next id to out [$model_decode_room(m)]; returns "
                                  "its bytes.  Only whole characters are written. */\n"
                                  "int64_t $model_decode(const $model *m, $model_text *text, int32_t id, int "
                                  "flags, char *out);\n"
                                  "int64_t $model_decode_room(const $model *m);\n"
                                  "/* At the end: writes the bytes that were held back to out [3]. */\n"
                                  "int64_t $model_decode_end($model_text *text, char *out);\n\n"));
}

/* The settings of the loop, if they have an effect. */
static void declare_sampling(const Emit *e, Text *h)
{
        char note[SAMPLING_NOTE];
        const LoopSampling *l = &e->o->sampling;
        const Sampler open = {-1, -1, -1, -1, .typical_p = 1};
        sampling_note(&l->own, &open, &(Penalties){.repetition = -1}, l->source, note);
        if (*note)
                text_printf(
                        h,
                        "/* The settings of the model's loop, which are used if how is NULL:\n * %.*s. */\n"
                        "%s_generation %s_generation_default(void);\n",
                        (int)strcspn(note, ";"), note, e->name, e->name);
}

/* The function of runtime/model_generate.h. */
static void declare_generate(const Emit *e, Text *h)
{
        declare_rows(e, h);
        text_printf(
                h, "%s",
                model_text(e,
                           "/* Drafts the continuation of tokens [n]: writes up to `room` tokens into "
                           "drafts and returns how many.  The\n * text does not depend on them; it takes "
                           "less time if they are right. */\n"
                           "typedef int64_t $model_propose(void *of, const int32_t *tokens, int64_t n, "
                           "int32_t *drafts, int64_t room);\n"
                           "/* Sets the logits of forbidden tokens after tokens [n] to -inf.  Returns 0; "
                           "below 0, to end the text here; or above 0,\n * an error that $model_generate() "
                           "returns.  If all tokens are forbidden, that is $MODEL_ERROR_RULE. */\n"
                           "typedef int $model_rule(void *of, const int32_t *tokens, int64_t n, float "
                           "*logits);\n"
                           "/* Settings of generation; all 0: the likeliest token, to the end of the "
                           "context. */\n"
                           "typedef struct {\n"
                           "        float temperature; /* 0: the likeliest token, always */\n"
                           "        int top_k;         /* choose among the top_k likeliest tokens; 0: among "
                           "all */\n"
                           "        float top_p, min_p, typical_p; /* from 0 to 1; 0: all tokens */\n"
                           "        uint64_t seed;     /* of the random numbers: the same seed gives the "
                           "same tokens */\n"
                           "        float repetition_penalty, presence_penalty, frequency_penalty; /* 0: "
                           "none */\n"
                           "        int64_t steps;     /* maximum number of new tokens; 0: no limit */\n"
                           "        int drafts; /* number of tokens, at most 32 and a chunk, that are "
                           "drafted from earlier text and checked in\n                       one call: the "
                           "same tokens in less time where the text repeats itself; 0: none */\n"
                           "        $model_propose *propose; /* drafts them, for example by another model; "
                           "NULL: from the text */\n"
                           "        void *proposer;          /* its first argument */\n"
                           "        $model_rule *rule;       /* restricts the text, for example to a "
                           "grammar; NULL: any text */\n"
                           "        void *ruler;             /* its first argument */\n"));
        if (stores_rows(e))
                text_printf(
                        h,
                        "        const %s_rows *rows; /* memory for rows of taps; NULL: none is stored */\n",
                        e->name);
        text_printf(h, "} %s_generation;\n", e->name);
        declare_sampling(e, h);
        text_printf(
                h, "%s",
                model_text(e,
                           "/* Called for each new token; returns 0, or another number to end the text "
                           "before the token. */\n"
                           "typedef int $model_on_token(void *of, int32_t token);\n"
                           "/* Continues tokens [n] until a token that ends a text, for which on_token is "
                           "not called.  Positions that were taken\n * before are the beginning of tokens "
                           "and are not taken again; at least one of n must remain.  how, on_token and made "
                           "may be NULL.\n"
                           " * *made: the new tokens, also of a call that fails; all of them have been taken "
                           "if the text has ended, otherwise all\n * but the last.  scratch "
                           "[$model_generate_scratch(how)], aligned to 4. */\n"
                           "int $model_generate($model *m, const int32_t *tokens, int64_t n, const "
                           "$model_generation *how,\n"
                           "        $model_on_token *on_token, void *of, void *scratch, int64_t *made);\n"
                           "size_t $model_generate_scratch(const $model_generation *how);\n\n"));
}

/* The function of runtime/model_beams.h. */
static void declare_beams(const Emit *e, Text *h)
{
        text_printf(
                h, "%s",
                model_text(
                        e,
                        "/* Settings of beam search. */\n"
                        "typedef struct {\n"
                        "        int beams;            /* 1 to $MODEL_SLOTS: each has a slot, from 0 on */\n"
                        "        float length_penalty; /* the score of a text is its log probability / "
                        "length ^ this; usually 1 */\n"
                        "        int early_stopping;   /* end as soon as `beams` texts have ended */\n"
                        "        int64_t steps;        /* maximum number of new tokens; 0: no limit */\n"
                        "} $model_beams;\n"
                        "/* Continues tokens [n]: stores the text of the best beam, without the token that "
                        "ends it, in text [steps, or the rest of\n * the context], its length in *made, and "
                        "its score (unless NULL).  The inputs and positions of slot 0 are the beginning.\n * "
                        "Afterwards all slots of beams have other texts: reset, or select and reset, before "
                        "the next search.  scratch\n"
                        " * [$model_beam_search_scratch(how, n)], aligned to 8.  $MODEL_ERROR_RULE: "
                        "no token may be chosen. */\n"
                        "int $model_beam_search($model *m, const int32_t *tokens, int64_t n, const "
                        "$model_beams *how, "
                        "int32_t *text, int64_t *made,\n        double *worth, void *scratch);\n"
                        "size_t $model_beam_search_scratch(const $model_beams *how, int64_t n);\n\n"));
}

static const char in_memory_text[] =
        "/* The same with weights in memory: image is the content of the weight file, bytes long, aligned to "
        "64 ($MODEL_ERROR_RANGE if it\n * is not).  It is not copied, belongs to the caller and must outlive "
        "the model. */\n"
        "int $model_init_from($model *m, const void *image, size_t bytes, int threads);\n"
        "$model *$model_new_from(const void *image, size_t bytes, int threads, int *error);\n";
static const char static_text[] = "/* The model with its weights and its state, in static memory.  Each call "
                                  "begins again at position 0, and "
                                  "returns the same\n * instance; NULL on an error, which is stored in "
                                  "*error: $MODEL_ERROR_FLOAT, CPU or "
                                  "WEIGHTS.  error may not be NULL. */\n"
                                  "typedef struct $model $model;\n"
                                  "$model *$model_instance(int *error);\n\n";

static void declare_instance(const Emit *e, Text *h)
{
        if (is_freestanding(e)) {
                text_put(h, model_text(e, static_text));
                return;
        }
        const char *path = e->o->home != WEIGHTS_MAPPED ? "NULL: the weights are in the program"
                                                        : "that of the weight file";
        text_printf(h, "%s",
                    model_text(e, "/* An instance: the model with its weights and its state.  Only one "
                                  "thread may use it at a time. */\n"
                                  "typedef struct $model $model;\n\n"
                                  "/* Bytes that an instance needs, in memory aligned to 64. */\n"
                                  "size_t $model_size(int threads);\n"));
        text_printf(
                h,
                "/* Creates an instance in such memory, which belongs to the caller; nothing else is "
                "allocated.\n"
                " * weights_path: %s.  threads: 1 to 64, including the caller's.\n"
                " * Errors: %s_ERROR_FILE, WEIGHTS, MEMORY, THREADS, FLOAT and CPU; then there is nothing to "
                "close. "
                "*/\n",
                path, e->upper);
        text_printf(
                h, "%s",
                model_text(e, "int $model_init($model *m, const char *weights_path, int threads);\n"
                              "/* Ends the threads and unmaps the weights. */\n"
                              "void $model_close($model *m);\n"
                              "/* Allocates and initialises an instance; $model_free frees it.  Returns NULL "
                              "on an error, and stores it in *error, for\n * example $MODEL_ERROR_MEMORY; "
                              "otherwise *error is $MODEL_OK.  error may not be NULL. */\n"
                              "$model *$model_new(const char *weights_path, int threads, int *error);\n"
                              "/* m may be NULL. */\n"
                              "void $model_free($model *m);\n"));
        if (e->o->home == WEIGHTS_MAPPED)
                text_put(h, model_text(e, in_memory_text));
        text_put(h, "\n");
}

static void declare_version(const Emit *e, Text *h)
{
        text_printf(
                h,
                "/* The version of lathe and the layout of the weights.  %s_version() returns that of the "
                "compiled file: if it differs,\n * the file is of another model, or of other options. */\n"
                "#define %s_VERSION \"%s\"\n"
                "const char *%s_version(void);\n\n",
                e->name, e->upper, version_text(e), e->name);
}

static void declare_whole(const Emit *e, Text *h)
{
        text_printf(h, "/* Evaluates the whole model once%s. */\nint %s_forward(%s *m%s%s%s);\n",
                    e->g->fed_separately ? ", except values that were computed when it was fed" : "", e->name,
                    e->name, size_list(e, CALLS, true), input_list(e, CALLS, true, false),
                    output_list(e, true, false));
        if (is_batched(e))
                declare_whole_batch(e, h);
}

void emit_header(const Emit *e, Text *h)
{
        text_printf(
                h,
                "/* %s: the interface of %s.c, for C and C++; written by lathe %s.\n *\n"
                " * Functions that return int return %s_OK, which is 0, or an error below%s.  None prints "
                "or exits.\n * Memory belongs to the caller, and no "
                "pointer to it is kept.  Pointers may be NULL only where that is stated.\n"
                " * Tensors are row-major, outermost axis first.\n",
                e->name, e->o->name, LATHE_VERSION, e->upper,
                is_freestanding(e) ? ""
                                   : arena_printf(e->arena, "; %s_error() returns its message", e->name));
        emit_about(e, h);
        text_printf(
                h, "%s",
                model_text(
                        e,
                        " */\n#ifndef $MODEL_H\n#define $MODEL_H\n#include <stddef.h>\n#include <stdint.h>\n"
                        "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n"));
        declare_version(e, h);
        declare_sizes(e, h);
        declare_errors(e, h);
        declare_instance(e, h);
        if (e->plan->sharing.ranks)
                declare_ranks(e, h);
        declare_feeds(e, h);
        if (e->causal)
                declare_causal_functions(e, h);
        else
                declare_whole(e, h);
        if (e->o->generates)
                declare_generate(e, h);
        if (e->o->grammar)
                declare_grammar(e, h);
        if (has_beams(e))
                declare_beams(e, h);
        declare_spans(e, h);
        for (int i = 0; i < e->o->nloop; i++)
                declare_loop(e, &e->o->loop[i], h);
        if (e->o->tables)
                declare_texts(e, h);
        if (!is_freestanding(e))
                text_printf(h,
                            "/* The message of an error, in English; never NULL. */\nconst char "
                            "*%s_error(int code);\n\n",
                            e->name);
        text_printf(h, "#ifdef __cplusplus\n}\n#endif\n#endif\n");
}
