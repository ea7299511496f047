/* driver: shared by all commands on a model file: options, the path from file to plan, weights and tokenizer, reports. */
#ifndef DRIVER_H
#define DRIVER_H
#include "language/language.h"
#include "media/media.h"
#include "passes/passes.h"
#include "run/run.h"

enum {
        MAX_OVERRIDES = 64,
        MAX_FILES = 256,
        MAX_TARGETS = 8,
        MAX_TAPS = 64,
        MAX_SLOTS = 1024,
        MAX_PAGES = 1 << 24
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

/* Of options.def.  LIST and EACH: may be repeated; PREFIX: --no-PASS */
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

/* Parts of `lathe show` that plan kernels, in a list of commands of options.def. */
#define PLANNED_PARTS "show cost, show plan, show program, show threads, show roofline, show code, show c"

/* Groups of the help, in its order. */
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
        const char *name, *value; /* value: its placeholder; NULL: it has none */
        const char *commands, *text;
        OptionGroup group;
} OptionInfo;

/* Values of an option that may be repeated. */
typedef struct {
        const char *at[MAX_FILES];
        int n;
} OptionList;

/* A published model in place of a model file. */
typedef struct {
        const char *path;         /* as it was given; NULL: the first file is a model file */
        const char *text;         /* of the model file that was made of it */
        const char *chat;         /* the file with a chat template; NULL: there is none */
        const char *chat_fault;   /* why `loop generate` can't express the template; NULL: it can */
        const TokenBlock *tables; /* of its tokenizer, read already; or NULL */
} SourceModel;

typedef struct {
        int count[MAX_TARGETS], n; /* ranks of an engine; verify and show cost: one number after another */
        int stages;                /* pipeline stages, each of this many ranks; 0: one stage */
        RankPlace place; /* weights: the rank whose share is written; ranks 0: all published tensors */
} RankOptions;

/* --draft */
typedef struct {
        int tokens;          /* drafted at a time */
        const char *model;   /* NULL: they are drafted from earlier text */
        const char *weights; /* of the model */
} DraftOptions;

/* --roof, --link: of one thread, or rank, in 10^9 a second; of a link between ranks, in 10^9 bytes a second and microseconds.
 * 0: not given */
typedef struct {
        float gflops, gbytes, link, latency;
} SpeedOptions;

/* Options of a command line.  Flags have no member: given[] has them. */
typedef struct {
        int given[OPTIONS]; /* how often */
        const char
                *file[MAX_FILES]; /* the words that are no options: model files, and words of the command */
        int nfile;
        SourceModel source;
        const char *model, *loop;
        Override override[MAX_OVERRIDES];
        int noverride;
        const char *weights, *tokenizer, *out, *depfile, *prefix, *tune, *cache, *junit;
        OptionList target, tap, output, input_file, input, without, stop;
        bool dump[PASS_COUNT], off[PASS_COUNT];
        int64_t chunk;
        int slots, threads;
        int64_t pages; /* 0: each slot has room for all positions */
        RankOptions ranks;
        JitMode jit;
        const char *quant; /* NULL: weights have the types of the checkpoint */
        const char *
                quant_beside; /* another list: weights are split as that one ("": the checkpoint) needs it, too */
        const char *calibrate;
        Storage kv;
        const char *against, *text_file; /* verify */
        int top;
        int64_t sample, keep;
        double bound; /* 0: the command's own */
        const char *prompt, *prompt_file, *system, *date, *prompt_name, *suppress, *grammar;
        int64_t steps; /* -n */
        Sampler sampler;
        Penalties penalties;
        BeamOptions beams;
        float guidance;
        DraftOptions draft;
        SpeedOptions speed;
        double begun; /* seconds(): when the command began */
} CommandOptions;

/* A model on its way: everything lives in the arena. */
typedef struct {
        Arena arena;
        Interner names;
        Diag diag;
        Program *program;
        Graph *graph;           /* as elaborated, then as the passes leave it */
        Graph *oracle;          /* as elaborated */
        const Node *not_causal; /* where the proof failed; NULL: causal, or nothing grows */
        const char *why_not;
        int64_t delay;     /* as of CausalResult */
        CutLines cut;      /* report of the cut pass */
        const Node *rests; /* causal, if values are finite: where it rests on that; or NULL */
        const char *why_rests;
        Text *recurrences;        /* report of the recur pass; NULL: none */
        uint32_t properties;      /* of the graph, by PropertyId */
        Checkpoint *checkpoint;   /* of --weights, open until open_weights() returns it; or NULL */
        bool changed[PASS_COUNT]; /* passes that changed the graph */
        bool taps_may_fail;       /* of a causal model, by position: it is tried, and nothing is said */
        bool env_error;           /* open_weights() or load_tokenizer() failed by the environment */
} Model;

/* The exit code of a failed part of a model. */
static inline int failure_code(const Model *m)
{
        return m->env_error ? WRONG_ENVIRONMENT : WRONG_INPUT;
}

/* model.c: print the error and return the exit code. */
int command_error(const char *command, const char *message);
int command_file_error(const char *command, const CkError *error);

/* options.c.  A command is named as in options.def: "run", or a part of it, as "run embed". */
const OptionInfo *option_info(OptionId id);
bool option_has_value(OptionId id);  /* in a word of its own */
bool option_has_choice(OptionId id); /* its placeholder lists all values: f32|f16|q8 */
/* Whether a list of options.def has the command, or with `parts` a part of it. */
bool commands_have(const char *commands, const char *command, bool parts);
bool option_is_taken(OptionId id, const char *command); /* by the command, or a part of it */
const char *option_text(OptionId id, const char *command);
const char **option_value(CommandOptions *o, OptionId id); /* of kind TEXT; of LIST, the first */
void options_begin(CommandOptions *o);                     /* nothing is given */
/* Reads the options that `takes` accepts, for messages of the command; false after a message: wrong usage. */
bool options_read(CommandOptions *o, const char *command, const char *takes, int argc, char **argv);
/* Rejects options that would have no effect: false after a message.  option_rules.c: those that need, or exclude, others. */
bool options_fit(const CommandOptions *o, const char *command);
bool rules_fit(const CommandOptions *o, const char *command);
const Target *chosen_target(const CommandOptions *o); /* the first of --target; native if there is none */
/* Of a value of --kv; false: it is none. */
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
        bool changed; /* by the pass that is run */
} PassRun;
/* Those of the table; false: one failed.  What the model's graph has of properties is the caller's to keep. */
bool passes_run(PassRun *r, PassId first, PassId last);
static inline bool model_has(const Model *m, PropertyId id)
{
        return m->properties >> id & 1;
}

/* pipeline.c */
/* Parses a file, or standard input for -, and what it imports; false after the messages were printed, with *code. */
bool model_open(Model *m, const char *path, int *code);
/* Like model_open, from a string. */
bool model_open_text(Model *m, const char *path, const char *text);
/* One of its models (NULL: the last that lacks no hyperparameter). */
bool model_elaborate(Model *m, const CommandOptions *o, const char *which);
/* Both, for the first file and the model that the options name. */
bool model_load(Model *m, const CommandOptions *o, int *code);
/* The passes over graphs, and whether the loops can be run on the result. */
bool model_passes(Model *m, const CommandOptions *o);
/* The causal proof, and the form with state, NULL if there is none.  False: a tap can't be had, which is reported. */
bool make_causal(Model *m, Graph **steps);
int ranks_of(const CommandOptions *o);
/* Prints where and why a model is not causal, if it is not: below a message that says so. */
void note_not_causal(Model *m);
/* As lathe check: elaborated, mapped onto its weights, and through the graph passes. */
bool model_check(Model *m, const CommandOptions *o, const char *which);
/* Kernels, memory and barriers for a target; NULL after a message. */
Plan *model_plan(Model *m, const CommandOptions *o, const Target *t);
/* Whether up to so many whole texts can go into a call, of a model that is not causal and has one size that varies: the call has rows for
 * the longest text, or --chunk's if these are more.  Nothing is said. */
bool model_takes_several(Model *m, const CommandOptions *o, const Target *t, int slots);
/* tune.c: gives a plan, before its passes, the tilings of the file that the options name, which are measured where it lacks them; false
 * after a message. */
bool tune(Model *m, const CommandOptions *o, Plan *p);
void model_free(Model *m);
int64_t parameter_count(const Graph *g);
/* model.c */
/* Of the file that the options name, or made by the hash; NULL after a message.  The checkpoint stays open for them. */
Weights *open_weights(Model *m, const CommandOptions *o, Checkpoint **checkpoint);
/* Before the passes: weights whose slots get several storages become several.  False after a message. */
bool split_storages(Model *m, const CommandOptions *o);
/* Before a plan is made: the storage of each weight, as the checkpoint, the packed file or the options say; false after a message. */
bool settle_storage(Model *m, const CommandOptions *o);
/* Says so if the weights are made by the hash and there are any. */
void note_hashed(const Model *m, const CommandOptions *o, const char *command);

/* talk_form(), and notes: that its conversation has no tokenizer to be written with, or that the tokenizer lacks tokens of it. */
const TalkForm *model_talks(Model *m, const CommandOptions *o, const Tokenizer *t, const char *command);

/* show.c: "layer[0, 2..4].attn.v.w", with the iterations that have the weight; a range ends before its second number */
const char *weight_text(Arena *a, const Weight *w);
/* Where matrices are of several types: those of each, and their sizes. */
void show_mixture(FILE *f, Arena *a, const Graph *g);

/* quant.c: a list of --quant.  Whether it is one; the storage of a graph's weights as it says, false after a message. */
enum { QUANT_WHY = 256 };
bool quant_fits(const char *list, char why[QUANT_WHY]);
/* A slot's, as the checkpoint has it, as the list (NULL: none) wants it, and as it becomes. */
typedef struct {
        uint8_t exact, asked, is;
} SlotStorage;
SlotStorage **quant_slots(Arena *arena, const Graph *g, const Weights *from,
                          const char *list); /* [weight][slot]; NULL after a message */
bool quant_weights(Arena *arena, const Graph *g, const Weights *from, const char *list);

/* calibrate.c: weights of the errors of the model's weights by the text of --calibrate, measured once and cached for later calls; NULL after
 * a message. */
const Importance *calibrated(Model *m, const CommandOptions *o);

/* kept.c: the path of a file that is kept of the source for the next start, beside it or in the user's folder; NULL: nothing is kept. */
const char *kept_path(Arena *a, const CommandOptions *o, const char *name);
/* Keys of kept files are made of these: a file's inode, size and time to the nanosecond, however its path is spelled; and this lathe,
 * since another may pack in another way. */
uint64_t hash_file_identity(uint64_t h, const char *path);
uint64_t hash_lathe(uint64_t h);
/* packed.c: of the model's files and what the command says instead; of --calibrate, the tokenizer with it. */
uint64_t hash_model(uint64_t h, const Model *m, const CommandOptions *o);
uint64_t hash_calibration(uint64_t h, const CommandOptions *o);

/* tokens.c: the tables of a source's tokenizer, in the arena.  name: what they are kept under for the next start; NULL: they are not.  NULL, or
 * what is wrong. */
const char *source_tables(Arena *a, const CommandOptions *o, const char *path, const char *name,
                          const TokenBlock **tables);

/* packed.c: the weights that the options name, or hash weights, packed for a plan. */
typedef struct {
        const float *weights; /* NULL: there are none, after a message or with one */
        PackedFile file;
        WeightPool *pool;
        int code; /* exit code of the error */
} PackedWeights;
/* A packed file that the options name is mapped, and its check is started, before there is a plan.  Then packed_weights(). */
void packed_weights_begin(const CommandOptions *o, PackedWeights *packed);
/* packed: begun, or zero.  NULL, or what is wrong. */
const char *packed_weights(Model *m, const CommandOptions *o, Plan *p, PackedWeights *packed);
/* The same, while the check of a file still runs in the background.  packed_weights_check() must precede any use of the weights: it waits,
 * and if the file is damaged it packs the weights again (*changed: packed->weights is another then) or returns what is wrong. */
const char *packed_weights_unchecked(Model *m, const CommandOptions *o, Plan *p, PackedWeights *packed);
const char *packed_weights_check(Model *m, const CommandOptions *o, Plan *p, PackedWeights *packed,
                                 bool *changed);
/* Of a source, from the file that is kept, which is made where there is none that fits; false: pack them, or m has messages. */
bool packed_weights_kept(Model *m, const CommandOptions *o, Plan *p, PackedWeights *packed);
/* false after a message: --cache is given, and no source. */
bool cache_has_effect(const CommandOptions *o, const char *command);
void packed_weights_close(PackedWeights *packed);

/* For a model with an input of token ids; false after a message. */
bool load_tokenizer(Model *m, const CommandOptions *o, Tokenizer *t);

/* grammar_option.c: of --grammar (NULL: nothing), for a model's graph and its tokenizer (NULL: none), made in the arena.  Exit codes, after
 * messages. */
int grammar_open(Arena *a, const char *name, const Grammar **grammar);
int grammar_needs_text(const Graph *g, const char *name, bool has_text); /* a tokenizer */
int constraint_open(Arena *a, const Graph *g, const char *name, const Tokenizer *t, Constraint **constraint);

/* draft_model.c: the model of --draft. */
typedef struct {
        CommandOptions o; /* draft_options(), a source opened */
        Model m;
        Plan *plan;
        PackedWeights packed;
        Tokenizer tokenizer;
        Engine *engine;
        Draft *draft;
} DraftModel;
enum { DRAFTS_OF_MODEL = 5 }; /* without --drafts */
/* Its own file and weights, and what is about the machine and about storage: threads, target, --quant, --kv .. */
CommandOptions draft_options(Arena *a, const CommandOptions *o);
/* For a model, with its plan and its tokenizer (NULL: none).  An exit code, after messages; draft_model_close() in any case. */
int draft_model_open(DraftModel *d, const Model *m, const Plan *p, const Tokenizer *t);
void draft_model_close(DraftModel *d);
/* loops.c: what a loop takes of a model, besides generate, whose tokens why_no_logits() judges. */
enum { MOST_SIDE = 1 << 14 /* of a picture that a model takes */ };
/* likeliest.c: logits [n] by softmax, the likeliest first, [n] in the arena; NULL: they give no probabilities, one is NaN or infinite */
typedef struct {
        int64_t number;
        double probability;
} Likely;
const Likely *likeliest_first(Arena *a, const float *logits, int64_t n);
/* labels.c: the labels of loop classify, [classes] in the model's arena; NULL: it names none.  An exit code, after a message of the
 * command's if it is none. */
int loop_labels(Model *m, const Loop *l, int64_t classes, const char *command, const char *const **label);
/* loop_form.c: the input has the value of the loop's setting that is called as it is, if there is one; false: out of memory. */
bool loop_fill(const Loop *l, const Input *in, Recorded *r);
/* What loop classify makes of a picture for an input [dim[0]: channels][rows][columns]. */
PictureForm picture_form(Arena *a, const Loop *l, const int64_t *dim);
/* Of a latent, the values that the guidance of loop denoise is for: those of its first channels. */
int64_t guided_values(const Loop *l, const Type *latent);
bool is_without(const CommandOptions *o, const Input *in); /* --without gives the input */
/* The constants that its file of runtime/ goes by, as C.  label [classes]: of classify, or NULL. */
const char *loop_form_text(const Graph *g, const Loop *l, const LoopParts *parts, const char *const *label);
/* emitted_loops.c: what of a model's loops its C does; all 0: nothing. */
typedef struct {
        bool generates; /* tokens go in, logits alone come out: it has a function that generates */
        EmitLoop *loop; /* [nloop]: those that are functions */
        int nloop;
        const EmitLoop *main;      /* that of a command line; NULL: it generates */
        const Input *feeds_prompt; /* input of the prompt or sound; NULL: none */
        const char *why_no_main;   /* NULL: there can be a command line */
        Text *notes;               /* lines for the user: loops that are no functions, and why */
} EmittedLoops;
int emitted_loops(Model *m, const char *command,
                  EmittedLoops *out); /* an exit code, after a message if it is none */
bool has_loops(const Graph *g);       /* in its file, or it generates text */
/* What the loop requires and the model lacks; NULL: nothing is missing. */
const char *loop_fault(const Graph *g, const Loop *l, LoopParts *parts);
/* picture_input.c: a picture's values as an input of the dimensions [channels, height, width], as the loop says, NULL: stretched, from 0
 * to 1.  malloc'd; or what is wrong.  *env_error: the file can't be read. */
const char *picture_values(Arena *a, const Loop *l, const char *path, const int64_t *dim, double **value,
                           bool *env_error);
bool is_picture_file(const char *path); /* by its name: .png, .ppm, .pgm */
/* sound_input.c: likewise a sound's values, of the dimension [samples], padded with silence.  Without a loop it may have any rate. */
const char *sound_values(Arena *a, const Loop *l, const char *path, const int64_t *dim, double **value,
                         bool *env_error);
bool is_sound_file(const char *path); /* by its name: .wav */
/* medium_input.c: either of them as an input. */
typedef struct {
        int rank;
        int64_t dim[3];
        double *value;    /* malloc'd */
        bool env_error;   /* the file can't be read */
        bool wrong_shape; /* the input can't be of this kind: the message contains the kind that is expected */
} MediumValues;
bool is_medium_file(const char *path); /* by its name */
/* Of such a file; is_sound: it is one, whatever its name, also standard input, -.  NULL, or what is wrong.  in: NULL, there is no such
 * input. */
const char *medium_values(const Graph *g, const Input *in, const char *path, bool is_sound,
                          MediumValues *out);
/* NULL, or which input a picture can be, and why this one (NULL: there is none) is not that. */
const char *picture_fault(const Graph *g, const Input *in);
/* Likewise of a sound; and the first input that can be one, NULL: there is none. */
const char *sound_fault(const Graph *g, const Input *in);
const Input *sound_input(const Graph *g);
/* The input that a text is for: that of token ids, of an encoder and a decoder the encoder's; NULL: there is none. */
const Input *text_input(const Graph *g);
int show_loops(const Model *m); /* those that it states, with their settings; an exit code */

/* ceilings.c: the ceilings of this machine, with products on this many threads */
bool ceilings_measure(Ceilings *c, int threads); /* false: memory is short, or no code can be made */

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
int model_parts(const char *const **name);                         /* how many, and their names */
int model_part(const char *name);                                  /* -1 after a message */
int show_model(Model *m, const CommandOptions *o, ModelPart part); /* an exit code */
const char *grouped(Arena *a, int64_t n);                          /* "124,439,808" */

/* Of a weight "layer.{i}.attn.q.w": the iterations of a repeat stand after its name. */
const char *name_pattern(Arena *a, const Weight *w);
/* Those that one position takes part with: of experts, the ones that its gates choose. */
int64_t parameters_in_use(const Graph *g);
/* What calls cost, by the positions of `time` (-1: it is fixed), which are `bound` at most. */
typedef struct {
        int time;
        int64_t bound;
        Flops whole, step; /* step: of a causal model, after this many positions */
        const int64_t *
                held; /* by number of the state: positions that compiled code holds; 0: all.  NULL: there is none */
} CallCosts;

/* Sizes for a call: of what grows, one new position (dimension `time`, or -1) after none. */
void whole_call(const Graph *g, int time, int64_t *size);
/* show_ranks.c: work that each number of ranks shares; false after a message. */
bool show_ranks(Model *m, const CommandOptions *o, int time);
json_t *ranks_json(Model *m, const CommandOptions *o,
                   int time); /* the same for programs; NULL after a message */
/* show_json.c: the same for programs; exit codes */
int json_of_params(Model *m);
int json_of_taps(Model *m);
int json_of_cost(Model *m, const CommandOptions *o, const CallCosts *c);
int json_of_loops(const Model *m);
int json_of_plan(const Plan *p, ModelPart part, int threads); /* of plan, threads and roofline */

/* show_picture.c: the same as SVG (of a graph also as a text for Graphviz), into the file of -o */
bool picture_name_fits(const CommandOptions *o,
                       ModelPart part); /* false after a message; without -o nothing is asked */
int picture_of_graph(Model *m, const CommandOptions *o);                               /* an exit code */
int picture_of_plan(Model *m, const CommandOptions *o, ModelPart part, const Plan *p); /* likewise */
int shown_threads(const CommandOptions *o);

#endif
