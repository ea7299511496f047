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
#include "../../runtime/beams.h"
#include "../../runtime/beam_run.h"
#include "../../runtime/real_tables.h"
#include "../../runtime/reals.h"
#include "../../runtime/denoise.h"
#include "chat/chat.h"
#include "weights/weights.h"

/* An engine: a planned model as code in this process, with memory and threads of its own.
 *
 * Plan and weights stay the caller's and must outlive it.  One thread at a time may use an engine; several engines are
 * independent.  Functions return NULL, or what is wrong, in words. */

/* JIT_AUTO: libtcc at once; the system compiler's optimised build takes over between two calls, when it is ready.
 * JIT_CODE: no compiler; the interpreter of Code, for tests. */
typedef enum { JIT_AUTO, JIT_TCC, JIT_CC, JIT_CODE } JitMode;

/* libtcc and the interpreter: they need the target's kernels in this lathe. */
bool jit_is_immediate(JitMode mode);
JitMode immediate_mode(JitMode mode); /* libtcc, where mode is neither */

typedef struct Engine Engine;

/* weights: packed for this plan, [weights_size] bytes, aligned to 64 bytes.  NULL with *why, which a later call of the same
 * function may overwrite. */
Engine *engine_new(Plan *p, const float *weights, int threads, JitMode mode, const char **why);
void engine_free(Engine *e);
/* With several ranks: each has from now on only its own part of the weights, and zeros elsewhere. */
const char *engine_share_weights(Engine *e);
/* Goes on with another number of threads, at most those that it was made with. */
const char *engine_set_threads(Engine *e, int threads);
/* Noise in what calls have left behind, as far as that is quick: nothing of a sequence that is begun anew may depend on it. */
void engine_forget(Engine *e);

/* Inputs and outputs of a call, by the graph's numbers of inputs, outputs and named dimensions.  Tensors are row-major. */
typedef struct {
        const void *const *input; /* [ninput]: int32_t for ids and whole numbers, else float */
        float *const *output;     /* [noutput]: each NULL (not requested), or its destination */
        const int64_t *size;      /* [nnamed]: those of time and past are not read */
} EngineCall;

/* Causal models.  Takes n positions more, the inputs being of these; inputs that are fed separately (an encoder's) are taken by the
 * call that begins at position 0 and hold for those that follow.  Outputs are those of positions `first` to n alone. */
const char *engine_advance(Engine *e, const EngineCall *call, int64_t n, int64_t first);
int64_t engine_position(const Engine *e);        /* positions taken so far */
const char *engine_rewind(Engine *e, int64_t n); /* back to the first n */

/* Of a plan for several slots: the functions above are about the slot that was selected last, 0 at first. */
const char *engine_select(Engine *e, int slot);
/* Makes slot `copy` a copy of `slot`; of a plan without pages. */
const char *engine_fork(Engine *e, int slot, int copy);
/* One sequence of a batch: it takes n positions more; outputs are those of its positions `first` to n.  Of a model that is not causal n
 * is the sequence's size, and the others are not read. */
typedef struct {
        int slot;
        int64_t n, first;
} EngineSequence;
/* Takes positions of several sequences at once, at most plan->rows together.  Inputs lie one sequence after another, as do the
 * outputs that are wanted.  What is fed separately is taken by engine_advance, which begins a sequence. */
const char *engine_batch(Engine *e, const EngineSequence *s, int sequences, const EngineCall *call);

/* Other models: the whole at once. */
const char *engine_forward(Engine *e, const EngineCall *call);

/* From token ids [n] to logits [n - first, vocab] of positions first to n (NULL: not requested), for models of that kind: see
 * why_not_generating(). */
const char *engine_tokens(Engine *e, const int32_t *tokens, int64_t n, int64_t first, float *logits);

/* Asked from another thread or a signal handler: the current call, and later ones, end with "interrupted"; false takes it back. */
void engine_interrupt(Engine *e, bool stop);

const float *engine_state(const Engine *e); /* of the first slot: Plan.bytes.state */
const float *
engine_arena(const Engine *e);            /* Plan.bytes.arena, and the pool of pages from pool_offset() on */
const char *engine_tier(const Engine *e); /* "tcc", "cc" or "code" */
double engine_compile_seconds(const Engine *e); /* of libtcc */

/* tool.c: a program of the system's, which has `folder` for its own files and writes what it says to the file `log`. */
int tool_words(char *words, char **list, int n,
               int most); /* the words of a text apart, in place, behind list [n]; how many are there then */
int tool_start(char *const *argument, const char *folder, const char *log,
               pid_t *process); /* 0, or an error as errno's */
void tool_said(const char *log, const char *otherwise, char *message, size_t room);
/* To its end: 0, and *message is empty, or what it said where it failed; else it could not be started, as errno has it. */
int tool_run(char *const *argument, const char *folder, const char *log, char *message, size_t room);

/* time_product.c: how long a product takes in one thread, with kernels that are compiled into lathe.  NULL: no memory is left. */
typedef struct ProductTimer ProductTimer;
ProductTimer *product_timer_new(const Target *t, const ProductShape *of);
void product_timer_free(ProductTimer *timer);
double product_seconds(const ProductTimer *timer, int64_t rows,
                       const ProductTiling *tiling); /* of a call with this number of rows */

/* The kernels compiled into lathe for a target, which code made by libtcc calls (jit_private.h). */
bool has_kernels(const Target *t); /* those that code of libtcc calls are linked */

/* A tokenizer for a model. */

typedef struct {
        Arena arena;
        TokenBlock block;
        TokenTables tables; /* of the block */
        int vocab;          /* of the model */
        int longest;        /* bytes of a token's text, at most */
        int32_t start;      /* the token of an empty text if the tokenizer has none; -1: none */
        int flags;          /* of tokens_encode(): how texts are read */
} Tokenizer;

/* tokenizer_source.c: tokenizer_load() of text.h, and the tokenizer of a GGUF. */
const char *tokenizer_open(Arena *a, const char *path, TokenBlock *out, bool *env_error);

/* Opens (given: takes its tables, which stay the caller's) a tokenizer for a model of vocab tokens, which tokenizer_free releases; false
 * and a message, and nothing to release. */
bool tokenizer_read(const char *path, const TokenBlock *given, int vocab, Tokenizer *tokenizer, CkError *err);
void tokenizer_free(Tokenizer *tokenizer);
/* tokens of text [n bytes] with those around it, malloc'd; NULL: out of memory */
int32_t *text_to_tokens(const Tokenizer *t, const char *text, int64_t n, int64_t *count);
/* the bytes of a token after another, into out [t->longest + 1]; returns how many */
int token_to_text(const Tokenizer *t, int32_t previous, int32_t token, char *out);
/* of a token by itself, as it stands within a text; of a control token its name */
int token_label(const Tokenizer *t, int32_t token, char *out);

/* talk.c: the texts of a conversation.  Whether `loop generate` has them; as runtime/talk.h takes them, NULL without them or without
 * a tokenizer; as C.  unknown: what looks like special tokens and is none of the tokenizer's; NULL: nothing. */
bool graph_talks(const Graph *g);
const TalkForm *talk_form(Arena *a, const Graph *g, const Tokenizer *t, const char **unknown);
const char *talk_form_text(Arena *a, const TalkForm *f);
/* The added token that text begins with, the longest; NULL: none. */
const TokenAdded *added_token_at(const TokenTables *t, const char *text, const char *end);

/* talk_template.c: the chat template itself writes the turns of k, in place of its form.  What w points to has to outlive it. */
void talk_by_template(Arena *a, Talk *k, const ChatWriter *w);

/* draft.c: a second model, which drafts the continuation of a text. */

typedef struct Draft Draft;
/* Of a model of token ids and logits alone; engine and plan stay the caller's and are used by nothing else.  NULL: no memory is left. */
Draft *draft_new(Engine *e, const Plan *p);
void draft_free(Draft *d);
/* Puts drafts behind text [n], at most `most`, as a generator with this model's logits chooses them, `made` new ones standing in the text.
 * Returns how many; *wrong is set if its engine fails. */
int64_t draft_propose(Draft *d, Generator g, Generated made, const int32_t *text, int64_t n, int32_t *drafts,
                      int64_t most, const char **wrong);

/* constraint.c: tokens whose texts a grammar allows. */

typedef struct Constraint Constraint;
/* Grammar, tokenizer and `stop`, the tokens that end a text (-1 behind them), must outlive it.  NULL: no memory is left. */
Constraint *constraint_new(const Grammar *g, const Tokenizer *t, const int32_t *stop);
void constraint_free(Constraint *c);
/* Begins a text after the tokens of the next call.  begun: tokens precede it. */
void constraint_begin(Constraint *c, bool begun);
/* What is drafted goes on from where the text is; then it has a rule of its own. */
void constraint_branch(Constraint *c);
/* The rule of a Generator: below 0 where the text ends, above 0 with *why where nothing is left to choose. */
int constraint_rule(Constraint *c, bool drafted, const int32_t *text, int64_t n, float *logits, int64_t vocab,
                    const char **why);

/* Generation: tokens through an engine, one at a time, as text. */

/* An input of token ids, one for each position; NULL: there is none. */
const Input *ids_of(const Graph *g, int time);
/* NULL, or why tokens can't be chosen by this model's first output: it must be of logits [time, vocab], for an input of token ids
 * [time] below vocab. */
const char *why_no_logits(const Graph *g, int time);
/* NULL, or why this model can't generate: it must be causal, with such logits and no other input. */
const char *why_not_generating(const Graph *g);
bool generates_when_fed(const Graph *g); /* the same, where other inputs are fed separately before */
int untapped_outputs(const Graph *g);    /* the model's own; taps follow them */

/* for a model whose one input is token ids: those of text as it has them in numbers, malloc'd, or the start token; NULL with *why */
int32_t *numbers_to_tokens(const Graph *g, const char *text, int64_t *count, const char **why);

enum { MAX_STOPS = 16, MAX_FED = 64, MAX_BEAMS = 64 };

/* Beam search (runtime/beams.h). */
typedef struct {
        int beams;            /* 2 to MAX_BEAMS; 0: none */
        float length_penalty; /* the score of a text is log p / length ^ this */
        bool early;           /* ends when there are as many texts as beams, better ones or not */
} BeamOptions;

typedef struct {
        int64_t steps;   /* maximum number of new tokens */
        int64_t chunk;   /* rows of a piece of the prompt */
        int drafts;      /* maximum number of tokens to draft at a time */
        Draft *draft;    /* the model that drafts; NULL: from earlier text */
        Sampler sampler; /* its scratch apart; `state` is that of what comes behind it afterwards */
        Penalties penalties;
        BeamOptions beams;   /* the text is shown when it is found */
        void **fed;          /* [ninput], or NULL: inputs that are fed separately, and NULL for the tokens */
        const int64_t *size; /* then [nnamed] */
        const int32_t *suppress;     /* tokens that are never chosen, terminated by -1; or NULL */
        Constraint *constraint;      /* the constraint of the text, with the same tokenizer; or NULL */
        const char *stop[MAX_STOPS]; /* texts that end it; they are not shown */
        int nstop;
        bool hash;  /* of all logits, those of the prompt's positions too */
        Talk *talk; /* or NULL: of which the tokens are, and which takes the new ones */
        bool (*show)(void *to, const char *text, int64_t n); /* false: it can't be written */
        void *to;
        atomic_bool *
                interrupted; /* or NULL: set from elsewhere, it ends the generation after the current token */
} Generation;

/* Goes on after tokens [n], of which the engine has taken those up to its position, but not the last.
 * tokenizer NULL: tokens are shown as numbers.  NULL, or what is wrong: output_failed if `show` was false. */
extern const char output_failed[];
const char *generate(Engine *e, const Plan *p, const Tokenizer *tokenizer, const int32_t *tokens, int64_t n,
                     Generation *how, Generated *result);

/* denoise.c: the schedules of runtime/denoise.h by the words of `loop denoise`. */
DenoiseOptions denoise_options(const Loop *l);                       /* as it says */
const char *denoise_options_text(Arena *a, const DenoiseOptions *o); /* an initialiser in C */
/* NULL, or a message.  x has n elements; memory is the arena's. */
const char *denoise_begin(Arena *a, const DenoiseOptions *o, int64_t n, uint64_t seed, Denoiser *d);

/* Of the bytes of a checkpoint's files, one after another */
uint64_t checkpoint_bytes_hash(const Checkpoint *c);
#endif
