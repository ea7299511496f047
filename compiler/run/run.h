/* run: a planned model in this process.
 *
 * Just-in-time compilation (jit_tcc.c, jit_cc.c), an engine that calls the code with its own memory and
 * threads (engine.c), and generation of texts (tokenizer_source.c, generate.c). */
#ifndef RUN_H
#define RUN_H
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "grammars/grammars.h"
#include "language/language.h"
#include "../../runtime/grammar_rule.h"
#include "../../runtime/talk.h"
#include "../../runtime/generation.h"
#include "../../runtime/draft.h"
#include "../../runtime/languages.h"
#include "../../runtime/beams.h"
#include "../../runtime/beam_run.h"
#include "../../runtime/real_tables.h"
#include "../../runtime/reals.h"
#include "../../runtime/denoise.h"
#include "../../runtime/likely.h"
#include "../../runtime/unmask.h"
#include "chat/chat.h"
#include "weights/weights.h"

/* An engine: a planned model as code in this process, with its own memory and threads.
 *
 * Plan and weights are owned by the caller and must outlive it.  An engine may be used by one thread at a
 * time; several engines are independent.  Functions return NULL, or an error message. */

/* JIT_AUTO: libtcc first; the optimised build of the system compiler replaces it between two calls, when
 * it is ready. JIT_CODE: no compiler, but the interpreter of Code, for tests. */
typedef enum { JIT_AUTO, JIT_TCC, JIT_CC, JIT_CODE } JitMode;

/* libtcc and the interpreter: they need the target's kernels in this program. */
bool jit_is_immediate(JitMode mode);
JitMode immediate_mode(JitMode mode); /* libtcc, unless mode is immediate */

typedef struct Engine Engine;

/* weights: packed for this plan, [weights_size] bytes, aligned to 64 bytes.  NULL with *why, which a later
 * call of the same function may overwrite. */
Engine *engine_new(Plan *p, const float *weights, int threads, JitMode mode, const char **why);
void engine_free(Engine *e);
/* With several ranks: from now on each has only its own part of the weights, and zeros elsewhere. */
const char *engine_share_weights(Engine *e);
/* Continues with another number of threads, at most the initial one. */
const char *engine_set_threads(Engine *e, int threads);
/* Its threads sleep whenever they wait, and do not spin: for many short runs beside other work. */
const char *engine_sleep(Engine *e);
/* Overwrites data of earlier calls with noise, as far as that is fast: a new sequence must not depend on
 * it. */
void engine_forget(Engine *e);

/* Inputs and outputs of a call, indexed like the graph's inputs, outputs and named dimensions.  Tensors
 * are row-major. */
typedef struct {
        const void *const *input; /* [ninput]: int32_t for ids and integers, else float */
        float *const *output;     /* [noutput]: each NULL (not requested), or its destination */
        const int64_t *size;      /* [nnamed]: time and past are ignored */
} EngineCall;

/* Causal models.  Runs n further positions, whose inputs are given; separately fed inputs (of an encoder)
 * are read by the call that begins at position 0, and used by the following ones.  Outputs are only those
 * of positions `first` to n. */
const char *engine_advance(Engine *e, const EngineCall *call, int64_t n, int64_t first);
int64_t engine_position(const Engine *e);        /* number of positions */
const char *engine_rewind(Engine *e, int64_t n); /* to the first n positions */

/* For plans with several slots: the functions above use the selected slot, initially 0. */
const char *engine_select(Engine *e, int slot);
/* Makes slot `copy` a copy of `slot`; for plans without pages. */
const char *engine_fork(Engine *e, int slot, int copy);
/* A sequence of a batch: n further positions, with outputs of positions `first` to n.  For a model that is
 * not causal, n is the sequence's size, and the others are ignored. */
typedef struct {
        int slot;
        int64_t n, first;
} EngineSequence;
/* Runs positions of several sequences, together at most plan->rows.  Inputs of the sequences are
 * concatenated, as are requested outputs.  Separately fed inputs are read by engine_advance, which begins
 * a sequence. */
const char *engine_batch(Engine *e, const EngineSequence *s, int sequences, const EngineCall *call);

/* Other models: one call for the whole input. */
const char *engine_forward(Engine *e, const EngineCall *call);

/* From token ids [n] to logits [n - first, vocab] of positions first to n (NULL: not requested), for
 * models accepted by why_not_generating(). */
const char *engine_tokens(Engine *e, const int32_t *tokens, int64_t n, int64_t first, float *logits);

/* From another thread or a signal handler: the current call, and later ones, end with "interrupted"; false
 * revokes it. */
void engine_interrupt(Engine *e, bool stop);

const float *engine_state(const Engine *e); /* of the first slot: Plan.bytes.state */
/* Plan.bytes.arena, and the pool of pages from pool_offset() on */
const float *engine_arena(const Engine *e);
const char *engine_tier(const Engine *e);       /* "tcc", "cc" or "code" */
double engine_compile_seconds(const Engine *e); /* of libtcc */

/* tool.c: a program of the system, with `folder` for its temporary files and its output in the file `log`. */
/* splits a text into words in place, appended to list [n]; returns their number */
int tool_words(char *words, char **list, int n, int most);
/* 0, or an error as errno's */
int tool_start(char *const *argument, const char *folder, const char *log, pid_t *process);
void tool_said(const char *log, const char *otherwise, char *message, size_t room);
/* Runs it to its end: 0, with an empty *message or, after a failure, its output; else it could not be
 * started: errno. */
int tool_run(char *const *argument, const char *folder, const char *log, char *message, size_t room);

/* drawing.c: writes an SVG picture to a file that ends in .svg, or, by rsvg-convert, in .pdf or .png; false after a message. */
bool is_drawing_name(const char *path);
bool drawing_write(const char *path, const char *svg, int64_t n);

/* time_product.c: the time of a product in one thread, with kernels compiled into lathe.  NULL: out of
 * memory. */
typedef struct ProductTimer ProductTimer;
ProductTimer *product_timer_new(const Target *t, const ProductShape *of);
void product_timer_free(ProductTimer *timer);
/* of a call with this number of rows */
double product_seconds(const ProductTimer *timer, int64_t rows, const ProductTiling *tiling);

/* The kernels compiled into lathe for a target, which code made by libtcc calls (jit_private.h). */
const char *lacks_kernels(Arena *a,
                          const Target *t); /* why libtcc's code for it can't run here; NULL: it can */
bool has_kernels(const Target *t);          /* whether the kernels for libtcc's code are linked */

/* A tokenizer for a model. */

typedef struct {
        Arena arena;
        TokenBlock block;
        TokenTables tables; /* of the block */
        int vocab;          /* of the model */
        int longest;        /* maximum of bytes of a token's text */
        int32_t start;      /* the token of an empty text if the tokenizer has none; -1: none */
        int flags;          /* of tokens_encode(): how texts are read */
} Tokenizer;

/* tokenizer_source.c: tokenizer_load() of text.h, and the tokenizer of a GGUF. */
const char *tokenizer_open(Arena *a, const char *path, TokenBlock *out, bool *env_error);

/* Opens a tokenizer (given: uses its tables, owned by the caller) for a model of vocab tokens, to be freed
 * by tokenizer_free; false after an error, with nothing to free. */
bool tokenizer_read(const char *path, const TokenBlock *given, int vocab, Tokenizer *tokenizer, CkError *err);
void tokenizer_free(Tokenizer *tokenizer);
/* Tokens of text [n bytes] with those around it, malloc'd; NULL: out of memory. */
int32_t *text_to_tokens(const Tokenizer *t, const char *text, int64_t n, int64_t *count);
/* The same of a pair of texts, cut to `most` tokens (0: never), with their types, [count] too; *all: their number without cutting.
 * NULL: out of memory; the tokenizer must have a template of pairs. */
typedef struct {
        const char *text;
        int64_t n;
} TextPart;
int32_t *pair_to_tokens(const Tokenizer *t, TextPart first, TextPart second, int64_t most, int32_t **types,
                        int64_t *count, int64_t *all);
/* The bytes of a token after another, in out [t->longest + 1]; returns their number. */
int token_to_text(const Tokenizer *t, int32_t previous, int32_t token, char *out);
/* The text of a single token within a text; for a control token its name. */
int token_label(const Tokenizer *t, int32_t token, char *out);

/* talk.c: the texts of a conversation: whether `loop generate` has them; in the form of runtime/talk.h
 * (NULL without texts or tokenizer); as C.  unknown: texts that look like special tokens, but are none of
 * the tokenizer; NULL: none. */
bool graph_talks(const Graph *g);
const TalkForm *talk_form(Arena *a, const Graph *g, const Tokenizer *t, const char **unknown);
const char *talk_form_text(Arena *a, const TalkForm *f);
/* The longest added token at the beginning of a text; NULL: none. */
const TokenAdded *added_token_at(const TokenTables *t, const char *text, const char *end);

/* A text as special tokens and plain texts; each `text` of a hole is a part of its kind, below 0. */
typedef struct {
        const char *text;
        int32_t kind;
} TextHole;
const TalkPart *text_parts(Text *unknown, const TokenTables *t, const char *text, const TextHole *hole,
                           int holes);

/* pair_form.c: the template of pairs of `loop classify`, with the prompt in its place; NULL: the loop has none.
 * *wrong: why the tokenizer can't have it, or NULL.  As C. */
const PairForm *pair_form(Arena *a, const Loop *l, const Tokenizer *t, const char *prompt,
                          const char **wrong);
const char *pair_form_text(Arena *a, const PairForm *f);

/* talk_template.c: the chat template writes the turns of k, instead of its form.  w's data must outlive
 * it.  opens: the first turn of the talk is empty, and the last message of w->before is the turn to answer. */
void talk_by_template(Arena *a, Talk *k, const ChatWriter *w, bool opens);

/* draft.c: a second model, which drafts the continuation of a text. */

/* An input of a draft model of `loop draft`: rows of a value of the first model. */
typedef struct {
        const char *value; /* its name; NULL: none */
        int input;         /* index in the draft's graph */
        int from;          /* output of the first model; -1: none, the rows are 0 */
        int next;          /* output of the draft for further tokens; -1: none, the rows are 0 */
} DraftRead;

typedef struct Draft Draft;
/* For a model of token ids and logits, with such inputs [nread]; engine and plan are owned by the caller, and
 * used by nothing else; `read` must outlive it.  NULL: out of memory. */
Draft *draft_new(Engine *e, const Plan *p, const DraftRead *read, int nread);
void draft_free(Draft *d);
/* For a draft with fewer tokens than the first model's `vocab`: reads the token of each of its logits from an output that is
 * the same in all calls.  NULL, or an error message. */
const char *draft_read_vocabulary(Draft *d, Arena *a, int output, int64_t vocab);
/* Before a call of the first model for n positions from `position` on: sets its outputs that the draft reads.
 * The rest of output [noutput] is unchanged.  Returns whether it reads any; *wrong: out of memory. */
bool draft_receive(Draft *d, int64_t position, int64_t n, float **output, const char **wrong);
/* draft_tokens() of runtime/draft.h; *wrong is set if the engine fails. */
int64_t draft_propose(Draft *d, Generator g, Generated made, int32_t *text, int64_t n, int64_t most,
                      const char **wrong);

/* constraint.c: tokens whose texts a grammar allows. */

typedef struct Constraint Constraint;
/* Grammar, tokenizer and `stop`, the tokens that end a text (ended by -1), must outlive it.  NULL: out of
 * memory. */
Constraint *constraint_new(const Grammar *g, const Tokenizer *t, const int32_t *stop);
void constraint_free(Constraint *c);
/* Begins a text with the tokens of the next call.  begun: tokens precede it. */
void constraint_begin(Constraint *c, bool begun);
/* Starts a copy of the state for drafts, with its own rule. */
void constraint_branch(Constraint *c);
/* The rule of a Generator: below 0 if the text ends, above 0 with *why if no token is allowed. */
int constraint_rule(Constraint *c, bool drafted, const int32_t *text, int64_t n, float *logits, int64_t vocab,
                    const char **why);

/* Generation: tokens through an engine, one at a time, as text. */

/* An input of token ids, one for each position; NULL: none. */
const Input *ids_of(const Graph *g, int time);
/* NULL, or why tokens can't be sampled from this model's first output: it must be logits [time, vocab],
 * for an input of token ids [time] below vocab. */
const char *why_no_logits(const Graph *g, int time);
/* NULL, or why this model can't generate: it must be causal, with such logits and no other input. */
const char *why_not_generating(const Graph *g);
bool generates_when_fed(const Graph *g); /* the same, with further inputs that are fed before */
int untapped_outputs(const Graph *g);    /* number of the model's own outputs; taps follow them */

/* For a model with token ids as its only input: the numbers in a text, malloc'd, or the start token; NULL
 * with *why. */
int32_t *numbers_to_tokens(const Graph *g, const char *text, int64_t *count, const char **why);

enum { MAX_STOPS = 16, MAX_FED = 64, MAX_BEAMS = 64 };

/* Beam search (runtime/beams.h). */
typedef struct {
        int beams;            /* 2 to MAX_BEAMS; 0: none, 1: none even if the model has some */
        float length_penalty; /* the score of a text is log p / length ^ length_penalty */
        bool early;           /* ends as soon as there are as many texts as beams */
} BeamOptions;

/* The loop that completes a text by filling masks (runtime/unmask.h). */
typedef struct {
        UnmaskForm form;
        const Loop *loop; /* its settings fill other inputs than the tokens */
        const Input *tokens;
        int output;                                /* with the logits */
        bool (*step)(int64_t done, int64_t masks); /* after each step */
} UnmaskLoop;

typedef struct {
        int64_t steps;   /* maximum number of new tokens */
        int64_t chunk;   /* rows of a piece of the prompt */
        int drafts;      /* maximum number of tokens to draft at a time */
        Draft *draft;    /* the model that drafts; NULL: from earlier text */
        Sampler sampler; /* its scratch is separate; `state` is updated */
        Penalties penalties;
        BeamOptions beams;   /* the text is shown at the end */
        void **fed;          /* [ninput], or NULL: inputs that are fed separately, and NULL for the tokens */
        const int64_t *size; /* for `fed`: [nnamed] */
        const int32_t
                *first; /* tokens at the beginning of the text in place of the loop's, ended by -1; or NULL */
        const int32_t *suppress;     /* tokens that are never sampled, ended by -1; or NULL */
        const UnmaskLoop *unmask;    /* NULL: token by token */
        Constraint *constraint;      /* the constraint of the text, with the same tokenizer; or NULL */
        const char *stop[MAX_STOPS]; /* texts that end it, and are not shown */
        int nstop;
        bool control; /* show the texts of control tokens, too */
        bool hash;    /* hash all logits, including those of the prompt */
        Talk *talk;   /* conversation of the tokens, to which new ones are added; or NULL */
        bool (*show)(void *to, const char *text, int64_t n); /* false: writing failed */
        void *to;
        /* set by a signal handler or thread: ends the generation after the current token; or NULL */
        atomic_bool *interrupted;
} Generation;

/* Continues tokens [n]; the engine has run those up to its position, but not the last. tokenizer NULL:
 * tokens are shown as numbers.  NULL, or an error message: output_failed if `show` returned false. */
extern const char output_failed[];
/* Runs tokens [n] of a text, with logits of all, or NULL; d: the draft model of the text, or NULL. */
const char *generate_take(Engine *e, const Plan *p, Draft *d, const int32_t *tokens, int64_t n,
                          float *logits);
const char *generate(Engine *e, const Plan *p, const Tokenizer *tokenizer, const int32_t *tokens, int64_t n,
                     Generation *how, Generated *result);

/* Rules of `loop generate` for tokens; in the graph's arena. */
LoopTokens loop_rules(const Graph *g);

/* denoise.c: the schedules of runtime/denoise.h by the words of `loop denoise`. */
DenoiseOptions denoise_options(const Loop *l);                       /* of the loop */
const char *denoise_options_text(Arena *a, const DenoiseOptions *o); /* an initialiser in C */
/* NULL, or a message.  x has n elements; memory is in the arena. */
const char *denoise_begin(Arena *a, const DenoiseOptions *o, int64_t n, uint64_t seed, Denoiser *d);

/* unmask.c: the settings of `loop unmask`. */
UnmaskForm unmask_form(const Loop *l);
/* NULL, or what loop unmask requires of its settings. */
const char *unmask_fault(const UnmaskForm *f);
int64_t unmask_context(const Graph *g, const UnmaskLoop *l); /* number of tokens of the longest text */
const char *unmask_form_text(Arena *a, const UnmaskForm *f); /* an initialiser in C */
typedef struct UnmaskCall UnmaskCall;
/* The model's call, with values for its other inputs; NULL: out of memory. */
UnmaskCall *unmask_call_new(Engine *e, const Graph *g, const UnmaskLoop *loop, const char **wrong);
/* Unmasker.predict_masks.  Other than 0: *wrong is set. */
int unmask_call(void *of, const int32_t *tokens, int64_t kept, int64_t n, int64_t first, float *logits);
void unmask_call_free(UnmaskCall *c);

/* Hash of the bytes of a checkpoint's files, concatenated. */
uint64_t checkpoint_bytes_hash(const Checkpoint *c);
#endif
