/* The commands: each is one row of the table in command_table.c. */
#ifndef COMMANDS_PRIVATE_H
#define COMMANDS_PRIVATE_H
#include "check/check.h"
#include "driver/driver.h"

/* command_table.c.  Texts are paragraphs, wrapped when they are printed. */
typedef struct {
        const char *name;
        int (*run)(const CommandOptions *o);
        int least, most; /* number of words that are no options, and what they are */
        const char *wants;
        const char *usage, *about, *introduction, *examples;
} Command;
enum { MOST_COMMANDS = 32 };
extern const Command command_table[];
extern const int command_count;

/* Commands whose help has a section for each of their parts. */
typedef struct {
        const char *name; /* as in options.def */
        const char *introduction;
} CommandPart;
extern const CommandPart part_table[];
extern const int part_count;

void command_help(const Command *c); /* command_help.c: prints it */

/* each returns an exit code */
int build_command(const CommandOptions *o);
int page_command(const CommandOptions *o);
int import_command(const CommandOptions *o);
int run_command(const CommandOptions *o);
int eval_command(const CommandOptions *o);
int golden_command(const CommandOptions *o);
int check_command(const CommandOptions *o);
int test_command(const CommandOptions *o);
int weights_command(const CommandOptions *o);
int show_command(const CommandOptions *o);
int verify_command(const CommandOptions *o);
int encode_command(const CommandOptions *o);
int decode_command(const CommandOptions *o);
int targets_command(const CommandOptions *o);
int completion_command(const CommandOptions *o);
int template_command(const CommandOptions *o);

/* command_build.c: what is emitted of a model, but for its name and for what stands around it; and what stands behind its weights. */
EmitOptions emitted_model(const Model *m, const EmittedLoops *loops, const Tokenizer *tokenizer,
                          WeightHome home, WeightTail *tail);

/* page_file.c: the page around compiled modules and the weights, or a link to them where weights is NULL. */
typedef struct {
        const void *bytes;
        int64_t n;
} PagePart;
typedef struct {
        const char *name, *about; /* the title, and a line below it */
        const char *kind;         /* whose runtime/page_KIND.html and .js they are: a loop, or talk */
        const char *link;         /* to the weights beside the page; NULL: they stand in it */
        const char *settings;     /* of the loop, items of JSON */
        bool attends;             /* it shows attention */
        PagePart relaxed, exact, weights;
} Page;
void page_text(const Page *page, Text *to);
/* Adds to the settings: a text under a name. */
void page_say(Text *settings, const char *name, const char *text);

/* command_golden.c: a golden file as it stands, and what it is to become, with what the command says instead; false after a message. */
bool golden_read_twice(const char *path, const CommandOptions *o, Golden *was, Golden *is);
int golden_review(const CommandOptions *o); /* golden_review.c: an exit code */

/* given.c: what a model is given, by --inputs, -I and a text. */
typedef struct {
        const CommandOptions *o;
        const char *command;  /* in messages */
        Model *m;             /* its passes have been run */
        Tokenizer *tokenizer; /* loaded for the text, if it is not yet */
        const char *text;     /* [ntext], for the input of token ids; NULL: none */
        int64_t ntext;
        const char *where;        /* the text's place, for messages; NULL: it is not one of several */
        int64_t longest;          /* tokens of a text of a loop, at most; 0: not a loop's */
        int64_t max_tokens;       /* a longer text is cut to this number of tokens; 0: none is */
        bool text_fault, was_cut; /* after a fault: the text caused it; the text was truncated */
        const char *sound;        /* a file, for the input of a sound; NULL: none */
        Recorded values;          /* recorded_free() */
} Given;
/* An exit code, after a message if it is none. */
int given_gather(Given *e, WhatIsRecorded what);

/* evaluation.c: a model that is run once for each set of inputs. */
typedef struct {
        const CommandOptions *o;
        const char *command; /* in messages */
        Model *m;            /* its passes have been run */
        Given given;
        Tokenizer tokenizer;
        PackedWeights packed;
        Plan *plan;
        Engine *engine;
        int *wanted, nwanted; /* outputs of the graph that are given out, in this order */
        int64_t times;        /* how often the model is run: once, or for each in a batch */
        float **output;       /* [noutput]: of all of a batch, one after another; NULL: not wanted */
} Evaluation;
/* Each an exit code, after a message if it is none. */
int evaluation_engine(Evaluation *e); /* its plan and weights too */
int evaluation_run(Evaluation *e);    /* for what was gathered in `given` */
/* Once there are inputs: an output's type, and its elements for one in a batch. */
const Type *evaluation_type(const Evaluation *e, int output);
int64_t evaluation_count(const Evaluation *e, int output);
void evaluation_forget(Evaluation *e); /* inputs and outputs, before the next ones are given */
void evaluation_free(Evaluation *e);

/* Loops, on a model whose passes have been run: each an exit code.  command_run.c chooses among them.
 * begun: packed_weights_begin(), which becomes theirs. */
int run_generate(Model *m, const CommandOptions *o, const PackedWeights *begun,
                 const char *sound); /* a file that is fed; NULL: none */
typedef struct {
        Evaluation e;
        const Loop *loop;
        LoopParts parts;
        const char *prompt;             /* before each text; NULL: none */
        char where[48];                 /* the place of the text at work: "standard input, line 3" */
        bool text_fault;                /* that text caused the fault; the others are still processed */
        bool finished;                  /* all texts were taken, perhaps some with faults */
        int64_t texts, cut, max_tokens; /* texts that were taken; those that were cut, to how many tokens */
} LoopRun;
int run_classify(LoopRun *r);
int run_embed(LoopRun *r);
int run_fill(LoopRun *r);
int run_denoise(LoopRun *r);
int run_transcribe(LoopRun *r);

/* loop_run.c: what they share. */
int loop_wrong(const char *message);                  /* prints it; an exit code */
int loop_wrong_text(LoopRun *r, const char *message); /* the same of the text at work */
bool loop_reads_once(const LoopRun *r); /* false after a message: standard input is named twice */
/* Gives the inputs that settings are called as; -I goes before them.  false: out of memory */
bool loop_fill_inputs(LoopRun *r);
/* Runs the model on what e.given has by then, and on what the settings of the loop fill: its output follows. */
int loop_run_once(LoopRun *r);
const float *loop_output(const LoopRun *r, int64_t *n); /* [*n] values */
/* The texts that are given, words behind the model's, -p, or for - the lines of standard input, to `take` one by one.  An exit code of
 * `take` ends that, unless what is wrong is the text (text_fault): then the others are taken, and the exit code is WRONG_INPUT. */
int loop_texts(LoopRun *r, int (*take)(LoopRun *r, void *of, const char *text, int64_t n), void *of);
/* The text as tokens, and loop_run_once() on it. */
int loop_run_text(LoopRun *r, const char *text, int64_t n);
const double *loop_tokens_given(const LoopRun *r, int64_t *n); /* then: the tokens */
#endif
