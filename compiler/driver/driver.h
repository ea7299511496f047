/* driver: what all commands do with a model file: options, the way from the file to a plan, weights and tokenizer, what can be shown. */
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

typedef struct {
        const char *file[MAX_FILES]; /* what is no option: model files, and words of the command */
        int nfile;
        const char *
                source; /* the published model that the first file was made from, as it was given; NULL: it is a model file */
        const char *text;  /* then the file's */
        const char *model; /* -m: which model of the file */
        Override override[MAX_OVERRIDES];
        int noverride;
        const char *weights, *tokenizer, *out;
        const TokenBlock *tables; /* of the tokenizer, read already; or NULL */
        const char *depfile;      /* build: what make is told */
        bool depfile_beside;      /* -MD: that is OUT.d */
        const char *prefix;       /* --prefix: the model's name in C */
        const char *target[MAX_TARGETS];
        int ntarget;
        const char *tap[MAX_TAPS]; /* --tap: names of values, by commas */
        int ntap;
        bool dump[PASS_COUNT], off[PASS_COUNT]; /* --dump=PASS, --no-PASS */
        int64_t chunk;
        int slots;                      /* sequences that an instance holds */
        int ranks[MAX_TARGETS], nranks; /* of an engine; verify: one after another */
        bool ranked;                    /* build: for any number of ranks */
        bool prompt_rows;               /* ranks share the rows of prompts too */
        RankPlace place;                /* weights: whose share is written; ranks 0: all published tensors */
        int stages;                     /* of ranks, which share layers in turn; 0: one */
        int64_t pages;     /* that their keys and values share; 0: each slot has room for all positions */
        const char *quant; /* NULL: weights lie as the checkpoint has them */
        const char *
                quant_beside; /* another list: weights are split as that one ("": the checkpoint) has them too */
        Storage kv;           /* of keys and values in the cache */
        const char *calibrate; /* a text: quantisers weigh errors by what meets the weights on it */
        const char *against;   /* verify: a file of values that something else computed */
        const char *text_file; /* verify: what --quant costs is measured on it */
        int top;               /* .. by weight, so many shown .. */
        int64_t sample;        /* .. of so many positions */
        double bound;          /* 0: the command's own */
        const char *tune;      /* a file of measured tilings */
        bool interpreter;      /* verify: leave compiled code out */
        bool each_pass;        /* verify: once more with each pass off */
        /* generation */
        const char *prompt, *prompt_file, *stop[MAX_STOPS];
        int nstop, threads;
        int64_t steps;
        Sampler sampler;
        Penalties penalties;
        BeamOptions beams;
        float gflops,
                gbytes; /* show: what one thread, or rank, does at most in a second; 0: that is measured */
        float link, latency; /* show cost: what a link carries in a second, in GB, and its microseconds */
        float guidance;      /* of loop denoise */
        int drafts;          /* tokens that are drafted at a time, .. */
        const char *draft,
                *draft_weights; /* .. by this model with these weights; NULL: from what the text has said before */
        const char *suppress; /* token numbers and texts, with commas between them */
        const char *grammar;  /* a file, or the name of one that lathe has */
        JitMode jit;
        bool verbose, hash;
        const char
                *cache; /* where what a source becomes is kept: "beside" it, in the "user"'s folder, "off" */
        const char *inputs;                /* golden: a file of inputs, the last of .. */
        const char *input_file[MAX_FILES]; /* .. those that are given */
        int ninput_file;
        const char *input[MAX_FILES];   /* eval, -I: NAME=VALUE */
        const char *without[MAX_FILES]; /* the same, of what guidance leads away from */
        int nwithout;
        int ninput;
        const char *output[MAX_TAPS]; /* eval, --output: those that are wanted */
        int noutput;
        const char *junit; /* golden: a report as JUnit XML */
        bool update, review;
        int64_t keep;          /* golden record: so many values of each output; 0 may be given */
        bool json;             /* show, verify: for programs; encode, decode: strings of JSON */
        bool force, spec_only; /* import */
        bool special, bare;    /* encode, decode */
        const char *system;    /* run, template: the system's message */
        const char *date;      /* template: what strftime_now says */
        bool raw;              /* run: the prompt is no user's turn */
        const char *loop;      /* run: which one of the model's; NULL: the last */
        bool similar;          /* run, loop embed: cosines of the vectors */
        bool pieces;
        bool with_main, embed, incbin, library, python, explain, code_only, echo;
        double begun;   /* seconds(): when the command was */
        int given[128]; /* how often, by the option's letter */
} Options;

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
        CutLines cut;      /* what the cut pass says that it did */
        const Node *rests; /* causal, if values are finite: where it rests on that; or NULL */
        const char *why_rests;
        Text *recurrences;  /* what the recur pass said; NULL: nothing */
        bool storage_known; /* the graph's weights have the storage that they will be packed in */
        bool is_split;      /* its weights have one storage each: split_storages() */
        bool taps_may_fail; /* of a causal model, by position: it is tried, and nothing is said */
        bool lacking;       /* open_weights() or load_tokenizer() failed by the environment */
} Model;

/* The exit code for what of a model has failed. */
static inline int failure_code(const Model *m)
{
        return m->lacking ? WRONG_ENVIRONMENT : WRONG_INPUT;
}

/* options.c: both false after a message: wrong usage.  `takes` lists the options that the command knows, by letters of its row; a
 * list with 1 behind it takes one value; k: passes of the plan may be named too. */
/* Each row of options.def: the option's name, or NULL if `takes` has it not. */
int option_count(void);
const char *option_of(const char *takes, int i, bool *has_value);
bool options_read(Options *o, const char *command, const char *takes, int argc, char **argv);
/* Whether all that is given has an effect: of a command, or of a word of it ("golden record"). */
bool options_fit(const Options *o, const char *command, const char *takes);
/* Of a value of --kv; false: it is none. */
bool kv_storage(const char *name, Storage *storage);

/* pipeline.c */
typedef struct {
        const char *name, *about;
        enum { GRAPHS, FUSING, KERNELS, NEEDED } kind; /* see passes.def */
        enum { KEPT, REORDERED } sums;
} PassInfo;
extern const PassInfo pass_table[PASS_COUNT];
/* Parses a file, or standard input for -, and what it imports; false after the messages were printed, with *code. */
bool model_open(Model *m, const char *path, int *code);
/* The same of text at hand. */
bool model_open_text(Model *m, const char *path, const char *text);
/* One of its models (NULL: the last that lacks no hyperparameter). */
bool model_elaborate(Model *m, const Options *o, const char *which);
/* Both, for the first file and the model that the options name. */
bool model_load(Model *m, const Options *o, int *code);
/* The graph passes: simplify, stage, recur, causal.  want_steps: an error if the model is not causal. */
bool model_passes(Model *m, const Options *o);
/* Prints where and why a model is not causal, if it is not: below a message that says so. */
void note_not_causal(Model *m);
/* As lathe check: elaborated, mapped onto its weights, and through the graph passes. */
bool model_check(Model *m, const Options *o, const char *which);
/* Kernels, memory and barriers for a target; NULL after a message. */
Plan *model_plan(Model *m, const Options *o, const Target *t);
/* Whether up to so many whole texts can go into a call, of a model that is not causal and has one size that varies: the call has rows for
 * the longest text, or --chunk's if these are more.  Nothing is said. */
bool model_takes_several(Model *m, const Options *o, const Target *t, int slots);
/* tune.c: gives a plan, before its passes, the tilings of the file that the options name, which are measured where it lacks them; false
 * after a message. */
bool tune(Model *m, const Options *o, Plan *p);
void model_free(Model *m);
int64_t parameter_count(const Graph *g);
/* model.c */
/* Of the file that the options name, or made by the hash; NULL after a message.  The checkpoint stays open for them. */
Weights *open_weights(Model *m, const Options *o, Checkpoint **checkpoint);
/* Before the passes: weights whose slots get several storages become several.  False after a message. */
bool split_storages(Model *m, const Options *o);
/* Before a plan is made: the storage of each weight, as the checkpoint, the packed file or the options say; false after a message. */
bool settle_storage(Model *m, const Options *o);
/* Says so if the weights are made by the hash and there are any. */
void note_hashed(const Model *m, const Options *o, const char *command);

/* talk_form(), and notes: that its conversation has no tokenizer to be written with, or that the tokenizer lacks tokens of it. */
const TalkForm *model_talks(Model *m, const Options *o, const Tokenizer *t, const char *command);

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

/* calibrate.c: what errors of the model's weights weigh by the text of --calibrate, gathered once and kept for later calls; NULL after
 * a message. */
const Importance *calibrated(Model *m, const Options *o);

/* kept.c: the path of a file that is kept of the source for the next start, beside it or in the user's folder; NULL: nothing is kept. */
const char *kept_path(Arena *a, const Options *o, const char *name);
int kept_place(const char *name); /* a value of --cache; -1: it is none */
/* What keys of kept files are made of: a file's size and time, to the nanosecond; and this lathe, as another may make otherwise. */
uint64_t hash_file_identity(uint64_t h, const char *path);
uint64_t hash_lathe(uint64_t h);
/* packed.c: of the model's files and what the command says instead; of --calibrate, the tokenizer with it. */
uint64_t hash_model(uint64_t h, const Model *m, const Options *o);
uint64_t hash_calibration(uint64_t h, const Options *o);
uint64_t hash_file_named(uint64_t h, const char *path); /* the path too; NULL: h */

/* tokens.c: the tables of a source's tokenizer, in the arena.  name: what they are kept under for the next start; NULL: they are not.  NULL, or
 * what is wrong. */
const char *source_tables(Arena *a, const Options *o, const char *path, const char *name,
                          const TokenBlock **tables);

/* packed.c: the weights that the options name, or hash weights, packed for a plan. */
typedef struct {
        const float *weights; /* NULL: there are none, after a message or with one */
        PackedFile file;
        WeightPool *pool;
        int code; /* an exit code: of what was wrong */
} PackedWeights;
/* A packed file that the options name is mapped, and its pages are touched, before there is a plan.  Then packed_weights(). */
void packed_weights_begin(const Options *o, PackedWeights *packed);
/* packed: begun, or zero.  NULL, or what is wrong. */
const char *packed_weights(Model *m, const Options *o, Plan *p, PackedWeights *packed);
/* Of a source, from the file that is kept, which is made where there is none that fits; false: pack them, or m has messages. */
bool packed_weights_kept(Model *m, const Options *o, Plan *p, PackedWeights *packed);
/* false after a message: --cache is given, and no source. */
bool cache_has_effect(const Options *o, const char *command);
void packed_weights_close(PackedWeights *packed);

/* For a model with an input of token ids; false after a message. */
bool load_tokenizer(Model *m, const Options *o, Tokenizer *t);

/* grammar_option.c: of --grammar (NULL: nothing), for a model's graph and its tokenizer (NULL: none), made in the arena.  Exit codes, after
 * messages. */
int grammar_open(Arena *a, const char *name, const Grammar **grammar);
int grammar_needs_text(const Graph *g, const char *name, bool has_text); /* a tokenizer */
int constraint_open(Arena *a, const Graph *g, const char *name, const Tokenizer *t, Constraint **constraint);

/* draft_model.c: the model of --draft. */
typedef struct {
        Options o; /* draft_options(), a source opened */
        Model m;
        Plan *plan;
        PackedWeights packed;
        Tokenizer tokenizer;
        Engine *engine;
        Draft *draft;
} DraftModel;
enum { DRAFTS_OF_MODEL = 5 }; /* without --drafts */
/* Its own file and weights, and what is about the machine and about storage: threads, target, --quant, --kv .. */
Options draft_options(Arena *a, const Options *o);
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
bool is_without(const Options *o, const Input *in); /* --without gives the input */
/* The constants that its file of runtime/ goes by, as C.  label [classes]: of classify, or NULL. */
const char *loop_form_text(const Graph *g, const Loop *l, const LoopParts *parts, const char *const *label);
/* emitted_loops.c: what of a model's loops its C does. */
typedef struct {
        EmitLoop *loop; /* [nloop]: those that are functions */
        int nloop;
        const EmitLoop *main;      /* that of a command line; NULL: it generates */
        const Input *feeds_prompt; /* what its prompt, or its sound, is fed to; NULL: nothing */
        const char *why_no_main;   /* NULL: there can be a command line */
        Text *notes;               /* lines for the user: loops that are no functions, and why */
} EmittedLoops;
int emitted_loops(Model *m, const char *command,
                  EmittedLoops *out); /* an exit code, after a message if it is none */
/* What the loop wants and does not find in the model; NULL: nothing. */
const char *loop_fault(const Graph *g, const Loop *l, LoopParts *parts);
/* picture_input.c: a picture's values as an input of the dimensions [channels, height, width], as the loop says, NULL: stretched, from 0
 * to 1.  malloc'd; or what is wrong.  *lacking: the file can't be read. */
const char *picture_values(Arena *a, const Loop *l, const char *path, const int64_t *dim, double **value,
                           bool *lacking);
bool is_picture_file(const char *path); /* by its name: .png, .ppm, .pgm */
/* sound_input.c: likewise a sound's values, of the dimension [samples], with silence behind it.  Without a loop it may have any rate. */
const char *sound_values(Arena *a, const Loop *l, const char *path, const int64_t *dim, double **value,
                         bool *lacking);
bool is_sound_file(const char *path); /* by its name: .wav */
/* medium_input.c: either of them as an input. */
typedef struct {
        int rank;
        int64_t dim[3];
        double *value; /* malloc'd */
        bool lacking;  /* the file can't be read */
        bool unfit;    /* the input can't be such a thing: what is wrong says what it would have to be */
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

/* ceilings.c: what this machine does, with products on so many threads */
bool ceilings_measure(Ceilings *c, int threads); /* false: memory is short, or no code can be made */

/* show.c: what can be shown of a model */
typedef enum {
        PART_PARAMS,
        PART_LOOPS,
        PART_TAPS,
        PART_COST,
        PART_PLAN,
        PART_THREADS,
        PART_ROOFLINE,
        PART_CODE,
        PART_ELABORATED,
        PART_GRAPH,
        PART_PASSES, /* needs no model */
        PART_C
} ModelPart;
int model_parts(const char *const **name);                  /* how many, and their names */
int model_part(const char *name);                           /* -1 after a message */
int show_model(Model *m, const Options *o, ModelPart part); /* an exit code */
const char *grouped(Arena *a, int64_t n);                   /* "124,439,808" */

/* Of a weight "layer.{i}.attn.q.w": the iterations of a repeat stand after its name. */
const char *name_pattern(Arena *a, const Weight *w);
/* Those that one position takes part with: of experts, the ones that its gates choose. */
int64_t parameters_in_use(const Graph *g);
/* What calls cost, by the positions of `time` (-1: it is fixed), which are `bound` at most. */
typedef struct {
        int time;
        int64_t bound;
        Flops whole, step; /* step: of a causal model, after so many positions */
        const int64_t *
                held; /* by number of the state: positions that compiled code holds; 0: all.  NULL: there is none */
} CallCosts;

/* Sizes for a call: of what grows, one new position (dimension `time`, or -1) after none. */
void whole_call(const Graph *g, int time, int64_t *size);
/* show_ranks.c: what each number of ranks shares; false after a message. */
bool show_ranks(Model *m, const Options *o, int time);
json_t *ranks_json(Model *m, const Options *o, int time); /* the same for programs; NULL after a message */
/* show_json.c: the same for programs; exit codes */
int json_of_params(Model *m);
int json_of_taps(Model *m);
int json_of_cost(Model *m, const Options *o, const CallCosts *c);
int json_of_loops(const Model *m);
int json_of_plan(const Plan *p, ModelPart part, int threads); /* of plan, threads and roofline */

/* show_picture.c: the same as SVG (of a graph also as a text for Graphviz), into the file of -o */
bool picture_name_fits(const Options *o,
                       ModelPart part);           /* false after a message; without -o nothing is asked */
int picture_of_graph(Model *m, const Options *o); /* an exit code */
int picture_of_plan(Model *m, const Options *o, ModelPart part, const Plan *p); /* likewise */
int shown_threads(const Options *o);

#endif
