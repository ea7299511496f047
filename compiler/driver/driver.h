/* driver: functions for all commands on a model file: options, the steps from file to plan, weights and
 * tokenizer, reports. */
#ifndef DRIVER_H
#define DRIVER_H
#include "language/language.h"
#include "media/media.h"
#include "passes/passes.h"
#include "run/run.h"
#include "../../runtime/sampling_note.h"

#include "../../runtime/answers.h"
#include "../../runtime/ranking.h"
#include "../../runtime/token_tags.h"

enum {
        MAX_OVERRIDES = 64,
        MAX_LIST = 256,
        MAX_TARGETS = 16,
        MAX_TAPS = 64,
        MAX_ADAPTERS = 16,
        MAX_SLOTS = 1024,
        MAX_PAGES = 1 << 24,
        MAX_REWIND = 1 << 16
};

/* --- options: a table, options.def -------------------------------------------------------------------------------- */

typedef enum {
#define HELP(...)
#define OPTION(id, ...) OPT_##id,
#include "options.def"
#undef OPTION
#undef HELP
        OPTIONS
} OptionId;

/* Kinds of options in options.def.  LIST and EACH: may be repeated; PREFIX: --no-PASS. */
typedef enum {
        OPTION_FLAG,
        OPTION_TEXT,
        OPTION_LIST,
        OPTION_FLOAT,
        OPTION_REAL,
        OPTION_INT,
        OPTION_INT64,
        OPTION_UINT64,
        OPTION_CHOICE,
        OPTION_SET,
        OPTION_EACH,
        OPTION_PREFIX
} OptionKind;

/* Parts of `lathe show` that plan kernels, as a list of commands in options.def. */
#define PLANNED_PARTS "show cost, show plan, show program, show threads, show roofline, show code, show c"

/* Groups of the help, in order. */
typedef enum {
        GROUP_MODEL,
        GROUP_WEIGHTS,
        GROUP_INPUT,
        GROUP_OUTPUT,
        GROUP_RUNNING,
        GROUP_SAMPLING,
        GROUP_CHECKING,
        GROUP_MEASURING,
        GROUP_PASSES
} OptionGroup;

typedef struct {
        const char *name, *value; /* value: its placeholder; NULL: none */
        const char *commands, *text;
        OptionGroup group;
} OptionInfo;

/* Values of an option that may be repeated. */
typedef struct {
        const char *at[MAX_LIST];
        int n;
} OptionList;

/* A published model in place of a model file. */
typedef struct {
        const char *path;       /* as given; NULL: the first file is a model file */
        const char *head;       /* the head of the source that is the model, such as "mtp"; NULL: the whole */
        const char *text;       /* the converted model file */
        const char *chat;       /* the file with a chat template; NULL: none */
        const char *chat_fault; /* why `loop generate` can't express the template, or NULL */
        const char *sampling;   /* the file with its settings of sampling; NULL: none */
        const TokenBlock *tables; /* of its tokenizer, if already read; or NULL */
} SourceModel;

typedef struct {
        int count[MAX_TARGETS], n; /* ranks of an engine; for verify and show cost: several numbers */
        int stages;                /* pipeline stages, each with these ranks; 0: one stage */
        RankPlace place; /* weights: the rank whose share is written; ranks 0: all published tensors */
} RankOptions;

/* Settings of --draft. */
typedef struct {
        int tokens;          /* drafted tokens per call */
        const char *model;   /* NULL: drafts are taken from earlier text */
        const char *weights; /* of the model */
} DraftOptions;

/* --block, --steps, --threshold: only if given[]. */
typedef struct {
        int64_t block, steps;
        float threshold;
} UnmaskOptions;

/* --roof: ceilings of a thread or rank, in 10^9 per second.  --link: a link between ranks, in 10^9 bytes
 * per second and microseconds.  0: not given. */
typedef struct {
        float gflops, gbytes, link, latency;
} SpeedOptions;

/* Options of a command line.  Flags have no member, only given[]. */
typedef struct {
        int given[OPTIONS]; /* number of times */
        const char **file;  /* [nfile], words that are not options: model files, and words of the command */
        int nfile;
        SourceModel source;
        const char *model, *loop;
        bool first_iterations; /* in the REPL: see Graph.first_iterations */
        Override override[MAX_OVERRIDES];
        int noverride;
        CkAdapter adapter[MAX_ADAPTERS]; /* of --lora */
        int nadapter;
        const char *weights, *tokenizer, *out, *depfile, *prefix, *tune, *cache, *junit;
        const char
                *first_weights; /* of a draft: the checkpoint of the model for which it drafts; NULL: none */
        OptionList target, tap, output, input_file, input, without, stop;
        bool dump[PASS_COUNT], off[PASS_COUNT];
        int64_t chunk;
        int slots, threads;
        int64_t pages;  /* 0: each slot has room for all positions */
        int64_t rewind; /* number of positions that can always be taken back; 0: what states allow */
        RankOptions ranks;
        JitMode jit;
        enum { THINK_SHOW, THINK_HIDE } think;
        const char *quant; /* NULL: weights keep the types of the checkpoint */
        /* a second list: weights must also be split as it requires ("": the checkpoint) */
        const char *quant_beside;
        const char *calibrate;
        Storage kv;
        const char *against, *text_file; /* verify */
        int top;
        int64_t sample, keep;
        double bound; /* 0: the command's default */
        const char *prompt, *prompt_file, *system, *messages, *tools, *answer, *date, *prompt_name, *suppress,
                *languages, *grammar;
        int64_t steps; /* -n */
        /* members below 0: not given, those of the model (sampling_settled) */
        Sampler sampler;
        UnmaskOptions unmask;
        Penalties penalties;
        BeamOptions beams;
        float guidance;
        DraftOptions draft;
        SpeedOptions speed;
        double begun; /* seconds(): start of the command */
} CommandOptions;

/* A model in the pipeline; all memory is in the arena. */
typedef struct {
        Arena arena;
        Interner names;
        Diag diag;
        Program *program;
        Graph *graph;           /* as elaborated, later as changed by passes */
        Graph *oracle;          /* as elaborated */
        const Node *not_causal; /* where the proof failed; NULL: causal, or no size grows */
        const char *why_not;
        int64_t delay; /* as in CausalResult */
        int64_t block; /* each call ends with a block of this many positions: loop unmask in blocks; 0: none */
        AbsorbLines absorbed; /* report of the absorb pass */
        const Node *rests;    /* causal if values are finite: a node that requires it; or NULL */
        const char *why_rests;
        Text *recurrences;        /* report of the lift and recur passes; NULL: none */
        uint32_t properties;      /* of the graph, by PropertyId */
        Checkpoint *checkpoint;   /* of --weights, open until open_weights() takes it; or NULL */
        bool changed[PASS_COUNT]; /* passes that changed the graph */
        bool taps_may_fail;       /* for causal models called by position: a failure is not reported */
        bool env_error; /* the error of open_weights() or load_tokenizer() was one of the environment */
} Model;

/* The exit code of a failed step. */
static inline int failure_code(const Model *m)
{
        return m->env_error ? WRONG_ENVIRONMENT : WRONG_INPUT;
}

/* model.c: print the error and return the exit code. */
int command_error(const char *command, const char *message);
int command_file_error(const char *command, const CkError *error);

/* options.c.  Names of commands are those of options.def: "run", or a part of it, "run embed". */
const OptionInfo *option_info(OptionId id);
bool option_has_value(OptionId id);  /* in a separate word */
bool option_has_choice(OptionId id); /* its placeholder lists all values: f32|f16|q8 */
/* Whether a list of options.def contains the command; parts: or a part of it. */
bool commands_have(const char *commands, const char *command, bool parts);
bool option_is_taken(OptionId id, const char *command); /* by the command, or a part of it */
const char *option_text(OptionId id, const char *command);
const char **option_value(CommandOptions *o, OptionId id); /* kind TEXT; for LIST, the first value */
void options_begin(CommandOptions *o);                     /* resets all options */
void options_set_model(Arena *a, CommandOptions *o, const char *path); /* replaces the first file */
/* Reads the options that `takes` accepts, and moves other words to the start of argv, as o->file.  False
 * after a message: wrong usage. */
bool options_read(CommandOptions *o, const char *command, const char *takes, int argc, char **argv);
/* Rejects options that would have no effect: false after a message.  option_rules.c: those that need, or exclude, others. */
bool options_fit(const CommandOptions *o, const char *command);
bool rules_fit(const CommandOptions *o, const char *command);
const Target *chosen_target(const CommandOptions *o); /* the first of --target; default native */
/* Storage type of a value of --kv.  False: unknown. */
bool kv_storage(const char *name, Storage *storage);

/* pass_run.c */
typedef struct {
        const char *name, *about;
        enum { GRAPHS, PLANNING, KERNELS, PART } kind; /* see passes.def */
        enum { OPTIONAL, NEEDED } off;
        enum { KEPT, REORDERED } sums;
        uint32_t needs, makes, breaks; /* by PropertyId */
} PassInfo;
extern const PassInfo pass_table[PASS_COUNT];
typedef struct {
        Model *m;
        const CommandOptions *o;
        Plan *p; /* NULL: the passes are over graphs */
        uint32_t properties;
        bool changed; /* by the current pass */
} PassRun;
/* Runs passes of the table.  False: one failed.  The caller keeps the properties of the graph. */
bool passes_run(PassRun *r, PassId first, PassId last);
static inline bool model_has(const Model *m, PropertyId id)
{
        return m->properties >> id & 1;
}

/* pipeline.c */
/* Parses a file, or standard input for -, with its imports; false after messages, with *code. */
bool model_open(Model *m, const char *path, int *code);
/* Like model_open, from a string. */
bool model_open_text(Model *m, const char *path, const char *text);
/* Elaborates one of its models (NULL: the last one without a missing hyperparameter). */
bool model_elaborate(Model *m, const CommandOptions *o, const char *which);
/* Opens the first file and elaborates the model of the options. */
bool model_load(Model *m, const CommandOptions *o, int *code);
/* Runs the passes over graphs, and checks the loops on the result. */
bool model_passes(Model *m, const CommandOptions *o);
/* The causal proof, and the form with state, or NULL.  False: a tap is not available, which is reported. */
bool make_causal(Model *m, Graph **steps);
int ranks_of(const CommandOptions *o);
/* Notes where and why a model is not causal, after a message. */
void note_not_causal(Model *m);
/* Checks a model: elaboration, mapping to its weights, graph passes. */
bool model_check(Model *m, const CommandOptions *o, const char *which);
/* Plans kernels, memory and barriers for a target; NULL after a message. */
Plan *model_plan(Model *m, const CommandOptions *o, const Target *t);
/* Whether a call can have up to `slots` whole texts, for a model that is not causal and has one varying
 * size: the call has rows for the longest text, or those of --chunk if they are more.  Prints nothing. */
bool model_takes_several(Model *m, const CommandOptions *o, const Target *t, int slots);
/* tune.c: sets the tilings of a plan, before its passes, from the file of the options; missing ones are
 * measured.  False after a message. */
bool tune(Model *m, const CommandOptions *o, Plan *p);
void model_free(Model *m);
int64_t parameter_count(const Graph *g);
/* model.c */
/* The checkpoint of the options, changed by their adapters; NULL after a message in err. */
Checkpoint *open_checkpoint(const CommandOptions *o, CkError *err);
/* Weights from the file of the options, or hash weights; NULL after a message.  The checkpoint remains
 * open for them. */
Weights *open_weights(Model *m, const CommandOptions *o, Checkpoint **checkpoint);
/* Before passes: splits weights whose slots have several storage types.  False after a message. */
bool split_storages(Model *m, const CommandOptions *o);
/* Before planning: sets the storage type of each weight, from the checkpoint, the packed file or the
 * options.  False after a message. */
bool settle_storage(Model *m, const CommandOptions *o);
/* Prints a note if there are weights and they are hash weights. */
void note_hashed(const Model *m, const CommandOptions *o, const char *command);

/* talk_form(), with notes if its conversation has no tokenizer, or the tokenizer lacks some of its tokens. */
const TalkForm *model_talks(Model *m, const CommandOptions *o, const Tokenizer *t, const char *command);

/* sampling.c: the settings by which the model's loop generate chooses tokens, for options that are not
 * given.  talks: in a conversation.  If the text comes from an encoder, as a translation does: the most
 * likely token. */
LoopSampling loop_sampling(const Graph *g, const CommandOptions *o, bool talks);
/* Sampling by the options and these settings, and a note about the latter ("": none has an effect).  Hashes
 * and beams take none. */
typedef struct {
        Sampler sampler;
        Penalties penalties;
        char note[SAMPLING_NOTE];
} SettledSampling;
/* Beam search by the options; without them that of the model's loop, unless other options exclude it. */
BeamOptions beams_settled(const Graph *g, const CommandOptions *o);
SettledSampling sampling_settled(const Graph *g, const CommandOptions *o, bool talks);
/* option_rules.c: whether all given options have an effect with beam search */
bool beams_are_open(const CommandOptions *o);
/* the rules about options that want a temperature; false after a message */
bool sampling_fits(const CommandOptions *o, const SettledSampling *s, const char *command);

/* show.c: "layer[0, 2..4].attn.v.w", with the iterations that have the weight; a range ends before its
 * second number. */
const char *weight_text(Arena *a, const Weight *w);
/* Shows the number and size of matrices by type, if there are several types. */
void show_mixture(FILE *f, Arena *a, const Graph *g);

/* quant.c: whether a text is a list of --quant; sets the storage types of a graph's weights, false after a
 * message. */
enum { QUANT_WHY = 640 };
bool quant_fits(const char *list, char why[QUANT_WHY]);
/* Storage types of a slot: in the checkpoint, in the list (NULL: none), and the resulting one. */
typedef struct {
        uint8_t exact, asked, is;
} SlotStorage;
/* [weight][slot]; NULL after a message */
SlotStorage **quant_slots(Arena *arena, const Graph *g, const Weights *from, const char *list);
bool quant_weights(Arena *arena, const Graph *g, const Weights *from, const char *list);

/* Whether a list begins with auto:BITS; *bits: 0 if it is no number; *rest: what follows it, "" or ",PATH=TYPE…". */
bool quant_is_auto(const char *list, double *bits, const char **rest);
/* Whether an entry of a list, which all have paths, is for the slot. */
bool quant_names(const char *list, const Weight *w, int64_t slot);
/* quant_auto.c: the list itself, or the one chosen for auto:BITS, which is printed, and cached for later calls; NULL after a
 * message. */
const char *quant_settled(Model *m, const CommandOptions *o, const char *list);

/* calibrate.c: sets a model that was elaborated again for other work to what it was before; it keeps its arena, which has grown. */
void model_restore(Model *m, Model *was);
/* calibrate.c: weights of the quantisation errors, by the file of --calibrate, computed once, and cached;
 * NULL after a message. */
const Importance *calibrated(Model *m, const CommandOptions *o);

/* kept.c: path of a cached file of the source, in its folder or the user's; NULL: no cache. */
const char *kept_path(Arena *a, const CommandOptions *o, const char *name);
/* Parts of keys of cached files: a file's inode, size and time in nanoseconds, independent of the spelling
 * of its path; and this program, since another version may pack differently. */
uint64_t hash_file_identity(uint64_t h, const char *path);
uint64_t hash_lathe(uint64_t h);
/* packed.c: hash of the model's files and overrides; with --calibrate, of the tokenizer too. */
uint64_t hash_model(uint64_t h, const Model *m, const CommandOptions *o);
uint64_t hash_calibration(uint64_t h, const CommandOptions *o);
uint64_t hash_adapters(uint64_t h, const CommandOptions *o); /* of their paths and scales */

/* tokens.c: the tables of a source's tokenizer, in the arena.  name: name of the cached file; NULL: no
 * cache.  Returns NULL, or an error message. */
const char *source_tables(Arena *a, const CommandOptions *o, const char *path, const char *name,
                          const TokenBlock **tables);

/* packed.c: the weights that the options name, or hash weights, packed for a plan. */
typedef struct {
        const float *weights; /* NULL: none, after a message or with an error message */
        PackedFile file;
        WeightPool *pool;
        int code; /* exit code of the error */
} PackedWeights;
/* Maps a packed file of the options, and starts its check, before planning.  Then packed_weights(). */
void packed_weights_begin(const CommandOptions *o, PackedWeights *packed);
/* packed: begun, or zero.  Returns NULL, or an error message. */
const char *packed_weights(Model *m, const CommandOptions *o, Plan *p, PackedWeights *packed);
/* The same, while the check of a file may still run in the background.  packed_weights_check() must precede
 * any use of the weights: it waits, and if the file is damaged it packs the weights again (*changed:
 * packed->weights is new) or returns an error message. */
const char *packed_weights_unchecked(Model *m, const CommandOptions *o, Plan *p, PackedWeights *packed);
const char *packed_weights_check(Model *m, const CommandOptions *o, Plan *p, PackedWeights *packed,
                                 bool *changed);
/* Weights of a source from the cached file, which is made if it is missing or outdated.  False: they must
 * be packed, or m has messages. */
bool packed_weights_kept(Model *m, const CommandOptions *o, Plan *p, PackedWeights *packed);
/* False after a message: --cache without a source. */
bool cache_has_effect(const CommandOptions *o, const char *command);
void packed_weights_close(PackedWeights *packed);

/* For a model with an input of token ids; false after a message. */
/* loops.c: the text of a loop's prompt of that name, or of its own one if name is NULL; NULL: none.  *wrong:
 * there is no such prompt, or NULL. */
const char *loop_prompt(const Loop *l, const char *name, Arena *a, const char **wrong);
bool load_tokenizer(Model *m, const CommandOptions *o, Tokenizer *t);

/* grammar_option.c: the grammar of --grammar (NULL: none), for a model's graph and its tokenizer (NULL:
 * none), in the arena. Return exit codes, after messages. */
int grammar_open(Arena *a, const char *name, const Grammar **grammar);
int grammar_needs_text(const Graph *g, const char *name, bool has_text); /* a tokenizer is required */
int constraint_open(Arena *a, const Graph *g, const char *name, const Tokenizer *t, Constraint **constraint);

/* draft_model.c: the model of --draft. */
typedef struct {
        CommandOptions o; /* draft_options(), after opening a source */
        Model m;
        Plan *plan;
        PackedWeights packed;
        Tokenizer tokenizer;
        Engine *engine;
        Draft *draft;
        DraftRead *read; /* [nread]: the values of the first model that it reads, in the model's arena */
        int nread;
} DraftModel;
enum { DRAFTS_OF_MODEL = 5 }; /* default of --drafts */
/* Most tokens that are drafted at a time. */
static inline int drafts_of(const DraftOptions *d)
{
        return d->model && !d->tokens ? DRAFTS_OF_MODEL : d->tokens;
}
/* Options of the draft model: its file and weights, and those for machine and storage: threads, target,
 * --quant, --kv .. */
CommandOptions draft_options(Arena *a, const CommandOptions *o);
/* Reads the draft's file for a model, to which the values that the draft reads are added as taps; before the passes of
 * the model (NULL: it must read none).  Then runs its passes, for a model after its own; or also opens it with the model's
 * plan.  t: the model's tokenizer, or NULL.  All return an exit code, after messages; draft_model_close() is required in any case. */
int draft_model_load(DraftModel *d, Model *m);
int draft_model_pass(DraftModel *d, const Model *m, const Tokenizer *t);
int draft_model_open(DraftModel *d, const Model *m, const Plan *p, const Tokenizer *t);
void draft_model_close(DraftModel *d);
/* draft_reads.c: a requirement of loop draft that the model lacks; NULL: none. */
const char *draft_fault(const Graph *g, const LoopParts *parts);
int draft_vocabulary(
        const Graph *g); /* its output of the token of each logit; -1: logit i is that of token i */
/* Adds overrides for hyperparameters first_NAME, numbers, which are those of the first model.  Returns whether any differs from
 * the draft's own; *why: the first model has no such hyperparameter. */
bool draft_sizes(DraftModel *d, const Graph *of, const char **why);
bool draft_borrows(const Graph *g); /* whether it has tensors of the first model: CK_FIRST */
/* Sets d->read, and adds the values that it reads as outputs of the first model's graph.  Returns an error message, or
 * NULL. */
const char *draft_taps(DraftModel *d, Graph *of);
/* loops.c: inputs and outputs of a loop other than generate, whose tokens why_no_logits() checks. */
enum { MAX_SIDE = 1 << 14 /* of a model's input picture */ };
/* likeliest.c: values of logits [n] by an activation of runtime/likely.h, the largest first, [n] in the
 * arena; NULL: a logit is NaN or infinite. */
typedef struct {
        int64_t number;
        double probability;
} Likely;
const Likely *likeliest_first(Arena *a, const float *logits, int64_t n, int activation);
int loop_activation(const Loop *l); /* loop_form.c: of loop classify */
bool loop_is_sparse(const Loop *l); /* whether loop embed has a weight for each token */
bool loop_joins(const Loop *l);     /* whether loop classify joins tokens to spans */
/* The windows of loop answer. */
AnswerForm answer_form(const Graph *g, const Loop *l, const LoopParts *parts);
RankForm rank_form(Arena *a, const Loop *l);           /* of loop rank */
int64_t longest_text(const Graph *g, const Input *in); /* maximum of tokens; 0: no limit */
/* labels.c: the labels of loop classify, [classes] in the model's arena; NULL: none.  Returns an exit
 * code, after a message if it is not 0. */
int loop_labels(Model *m, const Loop *l, int64_t classes, const char *command, const char *const **label);
/* loop_form.c: fills the input with the number of the loop's setting of the same name, if there is one.
 * False: out of memory. */
bool loop_fill(const Loop *l, const Input *in, Recorded *r);
/* The conversion of a picture to an input [dim[0]: channels][rows][columns] of loop classify. */
PictureForm picture_form(Arena *a, const Loop *l, const int64_t *dim);
/* Number of values of a latent that guidance changes: those of its first channels. */
int64_t guided_values(const Loop *l, const Type *latent);
bool is_without(const CommandOptions *o, const Input *in); /* whether --without gives the input */
/* Constants for the loop's file of runtime/, as C.  label [classes]: of classify, or NULL. */
const char *loop_form_text(const Graph *g, const Loop *l, const LoopParts *parts, const char *const *label);
/* emitted_loops.c: the loops in a model's C; all 0: none. */
typedef struct {
        bool generates; /* has a function that generates: tokens are the input, logits the only output */
        EmitLoop *loop; /* [nloop] loops with a function */
        int nloop;
        const EmitLoop *main;      /* loop of the command line; NULL: generation */
        const Input *feeds_prompt; /* input of the prompt or sound; NULL: none */
        const char *why_no_main;   /* NULL: a command line is possible */
        Text *notes;               /* lines for the user: loops without a function, with reasons */
        const EmitDraft *draft;    /* drafts for its command line; or NULL */
} EmittedLoops;
/* returns an exit code, after a message if it is not 0 */
int emitted_loops(Model *m, const char *command, bool has_tokenizer, EmittedLoops *out);
bool has_loops(const Graph *g); /* stated in its file, or it generates text */
/* A requirement of the loop that the model lacks; NULL: none. */
const char *loop_fault(const Graph *g, const Loop *l, LoopParts *parts);
/* picture_input.c: a picture's values as an input with dimensions [channels, height, width], as the loop
 * (NULL: stretched, from 0 to 1) prescribes.  *value is malloc'd.  Returns NULL, or an error message.
 * *env_error: the file can't be read. */
const char *picture_values(Arena *a, const Loop *l, const char *path, const int64_t *dim, double **value,
                           bool *env_error);
/* sound_input.c: the same for a sound's values, of dimension [samples], padded with silence.  Without a
 * loop it may have any rate. */
const char *sound_values(Arena *a, const Loop *l, const char *path, const int64_t *dim, double **value,
                         bool *env_error);
/* medium_input.c: a picture or a sound as an input. */
typedef struct {
        int rank;
        int64_t dim[3];
        double *value;    /* malloc'd */
        bool env_error;   /* the file can't be read */
        bool wrong_shape; /* the input is of another kind; the message contains the expected one */
} MediumValues;
bool is_medium_file(const char *path); /* by its content or suffix */
/* Values of a picture or sound.  is_sound: it is a sound, whatever its name, also standard input, -.
 * Returns NULL, or an error message.  in NULL: no such input. */
const char *medium_values(const Graph *g, const Input *in, const char *path, bool is_sound,
                          MediumValues *out);
/* NULL, or which input a picture can be, and why this one (NULL: none) can't. */
const char *picture_fault(const Graph *g, const Input *in);
/* The same for a sound; and the first input that can be one, or NULL. */
const char *sound_fault(const Graph *g, const Input *in);
const Input *sound_input(const Graph *g);
/* The input for a text: the one of token ids; with an encoder and a decoder, the encoder's; NULL: none. */
const Input *text_input(const Graph *g);
int show_loops(const Model *m); /* loops of the file with their settings; returns an exit code */

/* ceilings.c: the ceilings of this machine, with products on this many threads */
bool ceilings_measure(Ceilings *c, int threads); /* false: out of memory, or no code can be made */

/* show.c: reports on a model */
typedef enum {
        PART_PARAMS,
        PART_LOOPS,
        PART_TAPS,
        PART_COST,
        PART_PLAN,
        PART_PROGRAM,
        PART_THREADS,
        PART_ROOFLINE,
        PART_CODE,
        PART_ELABORATED,
        PART_GRAPH,
        PART_PASSES, /* needs no model */
        PART_C
} ModelPart;
int model_parts(const char *const **name);                         /* returns their number */
int model_part(const char *name);                                  /* -1 after a message */
int show_model(Model *m, const CommandOptions *o, ModelPart part); /* an exit code */
const char *grouped(Arena *a, int64_t n);                          /* "124,439,808" */

/* Name of a weight "layer.{i}.attn.q.w": iterations follow the name of their repeat. */
const char *name_pattern(Arena *a, const Weight *w);
/* Parameters used for one position: of experts, those that the gates select. */
int64_t parameters_in_use(const Graph *g);
/* Costs of calls, by the positions of `time` (-1: fixed), at most `bound`. */
typedef struct {
        int time;
        int64_t bound;
        Flops whole, step;   /* step: of a causal model, after this many positions */
        const int64_t *held; /* by state: positions that compiled code stores; 0: all.  NULL: no state */
} CallCosts;

/* Sizes of a call: one new position in dimension `time` (or -1), no past one. */
void whole_call(const Graph *g, int time, int64_t *size);
/* show_ranks.c: work of ranks, for each number of ranks; false after a message. */
bool show_ranks(Model *m, const CommandOptions *o, int time);
json_t *ranks_json(Model *m, const CommandOptions *o, int time); /* the same as JSON; NULL after a message */
/* show_json.c: the same as JSON; return exit codes. */
int json_of_params(Model *m);
int json_of_taps(Model *m);
int json_of_cost(Model *m, const CommandOptions *o, const CallCosts *c);
int json_of_loops(const Model *m);
int json_of_plan(const Plan *p, ModelPart part, int threads); /* of plan, threads and roofline */

/* show_picture.c: the same as SVG (of a graph also as a text for Graphviz), in the file of -o. */
/* false after a message; without -o always true */
bool picture_name_fits(const CommandOptions *o, ModelPart part);
int picture_of_graph(Model *m, const CommandOptions *o); /* an exit code */
/* returns an exit code */
int picture_of_plan(Model *m, const CommandOptions *o, ModelPart part, const Plan *p);
int shown_threads(const CommandOptions *o);

#endif
