/* The commands: each is one row of the table in command_table.c. */
#ifndef COMMANDS_PRIVATE_H
#define COMMANDS_PRIVATE_H
#include <limits.h>

#include "chat/chat.h"
#include "check/check.h"
#include "driver/driver.h"

/* command_table.c.  Texts are paragraphs, wrapped when printed. */
typedef struct {
        const char *name;
        int (*run)(const CommandOptions *o);
        int least, most; /* number of words that are not options, and their meaning; ANY_NUMBER: no limit */
        const char *wants;
        const char *usage, *about, *introduction, *examples;
} Command;
enum { MAX_COMMANDS = 32, ANY_NUMBER = INT_MAX };
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

/* Each returns an exit code. */
int build_command(const CommandOptions *o);
int page_command(const CommandOptions *o);
int import_command(const CommandOptions *o);
int run_command(const CommandOptions *o);
int chat_command(const CommandOptions *o);
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

/* command_build.c: the emission of a model, except for its name and surrounding files; and the data after
 * its weights. */
EmitOptions emitted_model(const Model *m, const CommandOptions *o, const EmittedLoops *loops,
                          const Tokenizer *tokenizer, WeightHome home, WeightTail *tail);

/* page_file.c: a page with compiled modules and weights; weights NULL: with a link to them. */
typedef struct {
        const void *bytes;
        int64_t n;
} PagePart;
typedef struct {
        const char *name, *about; /* the title, and a line below it */
        const char *kind;         /* prefix of its runtime/page_KIND.html and .js: a loop, or talk */
        const char *link;         /* link to a separate file of weights; NULL: they are in the page */
        const char *settings;     /* of the loop, items of JSON */
        bool attends;             /* it shows attention */
        PagePart relaxed, exact, weights;
} Page;
void page_text(const Page *page, Text *to);
/* Adds a named text to the settings. */
void page_say(Text *settings, const char *name, const char *text);

/* command_golden.c: the current golden file, and the new one, with the command's output in place of
 * messages; false after a message. */
bool golden_read_twice(const char *path, const CommandOptions *o, Golden *was, Golden *is);
int golden_review(const CommandOptions *o); /* golden_review.c: an exit code */

/* chat_given.c: --messages and --tools. */
typedef struct {
        json_t *tools, *messages; /* NULL: not given */
} ChatGiven;
/* Returns an exit code, after a message if it is not 0. */
int chat_given_read(ChatGiven *g, Arena *a, const CommandOptions *o, const char *command);
bool chat_given_ends_with(const ChatGiven *g, const char *role);
/* Adds them to the writer, and to its variables, those of the source.  False after a message. */
bool chat_given_use(const ChatGiven *g, ChatWriter *w, ChatSource *s, const CommandOptions *o,
                    const char *command);
/* Prints an answer [n] of the model as a message, in a line; path: the template's, for notes.  Returns an exit code. */
int chat_print_answer(Arena *a, const ChatAnswerForm *form, const char *path, const ChatGiven *g,
                      const char *text, int64_t n, const char *command);
void chat_given_free(ChatGiven *g);
/* Inputs that may be standard input, -.  False after a message: two of them are. */
typedef struct {
        const char *name, *path; /* path NULL: not given */
} InputUse;
bool input_is_read_once(const InputUse *use, int n, const char *command);

/* word_list.c: words of a command line, with each @FILE (@-: standard input) replaced by its lines. */
typedef struct {
        const char *text;
        const char *where; /* "list.txt, line 3"; NULL: a word of the command line */
} ListedWord;
typedef struct {
        ListedWord *at;
        int64_t n;
} WordList;
bool is_list_word(const char *word); /* for texts: - or @FILE, whose lines are texts */
/* Returns an exit code, after a message if it is not 0. */
int words_listed(Arena *a, const char *const *word, int n, WordList *list);

/* given.c: the inputs of a model, from --inputs, -I and a text. */
typedef struct {
        const CommandOptions *o;
        const char *command;  /* in messages */
        Model *m;             /* after its passes */
        Tokenizer *tokenizer; /* loaded for the text if necessary */
        const char *text;     /* [ntext], for the input of token ids; NULL: none */
        int64_t ntext;
        TextPart second;    /* the other text of a pair; text NULL: none */
        const Input *types; /* the input of token types of a pair; NULL: none */
        const char *where;  /* source of the text or sound for messages; NULL: it is not one of several */
        int64_t longest;    /* maximum of tokens for a text of a loop; 0: not a loop's */
        int64_t max_tokens; /* a longer text is truncated to this number of tokens; 0: never */
        int32_t language; /* token of the text's language, which replaces that of the tokenizer; 0 with has_language false */
        bool has_language;
        bool text_fault, was_cut; /* after an error: caused by the text or sound; the text was truncated */
        const char *sound;        /* a sound file; NULL: none */
        Recorded values;          /* recorded_free() */
} Given;
/* Returns an exit code, after a message if it is not 0. */
int given_gather(Given *e, WhatIsRecorded what);

/* evaluation.c: runs a model once for each set of inputs. */
typedef struct {
        const CommandOptions *o;
        const char *command; /* in messages */
        Model *m;            /* after its passes */
        Given given;
        Tokenizer tokenizer;
        PackedWeights packed;
        Plan *plan;
        Engine *engine;
        int *wanted, nwanted; /* outputs of the graph that are returned, in this order */
        int64_t times;        /* number of runs: 1, or the size of a batch */
        float **output;       /* [noutput]: for the whole batch, concatenated; NULL: not wanted */
} Evaluation;
/* Each returns an exit code, after a message if it is not 0. */
int evaluation_engine(Evaluation *e); /* makes its plan and weights too */
int evaluation_run(Evaluation *e);    /* for the inputs in `given` */
/* command_run.c: reads the model of --draft, which may read values of the first one.  Returns an exit code. */
int draft_given(DraftModel *d, Model *m, const CommandOptions *o);
/* After inputs were gathered: an output's type, and its number of elements for one item of a batch. */
const Type *evaluation_type(const Evaluation *e, int output);
int64_t evaluation_count(const Evaluation *e, int output);
void evaluation_forget(Evaluation *e); /* drops inputs and outputs, before the next ones are gathered */
void evaluation_free(Evaluation *e);

/* run_unmask.c: the length of the blocks that a state of the model may keep, by its loop (or NULL) and the options; 0: none. */
int64_t unmask_block_kept(const Model *m, const CommandOptions *o, const Loop *loop);

/* Loops, on a model after its passes.  Each returns an exit code.  command_run.c selects one.  begun: from
 * packed_weights_begin(); ownership passes to the callee. */
typedef enum { RUN_TEXT, RUN_CHAT } RunMode; /* RUN_CHAT: a model without conversations is an error */
/* draft: of draft_model_load().  sounds: files to be fed, each for a text of its own; NULL: none.  unmask: loop unmask; NULL: token
 * by token */
int run_generate(Model *m, const CommandOptions *o, const PackedWeights *begun, DraftModel *draft,
                 RunMode mode, const WordList *sounds, const Loop *unmask);
typedef struct {
        Evaluation e;
        const Loop *loop;
        LoopParts parts;
        DraftModel *draft;  /* of --draft, for loop generate */
        const char *prompt; /* prefix of each text; NULL: none */
        TextPart second;    /* the other text of a pair; text NULL: none */
        char where[512];    /* source of the current text: "standard input, line 3" */
        bool is_line;       /* the current text is a line of a list */
        bool text_fault;    /* the current text caused the error; the others are still processed */
        bool finished;      /* all texts were processed, maybe some with errors */
        int64_t texts, cut, max_tokens; /* number of texts; number of truncated texts, and their length */
} LoopRun;
int run_classify(LoopRun *r);
int run_answer(LoopRun *r);
int run_embed(LoopRun *r);
int run_ranking(LoopRun *r);
int run_fill(LoopRun *r);
int run_denoise(LoopRun *r);
int run_transcribe(LoopRun *r);

/* loop_run.c: shared functions. */
int loop_wrong(const char *message);                  /* prints a message; returns an exit code */
int loop_wrong_text(LoopRun *r, const char *message); /* the same for the current text */
bool loop_reads_once(const LoopRun *r); /* false after a message: standard input is used twice */
/* A message about a file that the model can't process.  Returns an exit code; *others: other files are still
 * processed. */
int loop_wrong_file(LoopRun *r, const ListedWord *file, const char *message, bool env_error, bool *others);
/* Fills the inputs that settings name, unless -I does.  False: out of memory. */
bool loop_fill_inputs(LoopRun *r);
/* Runs the model on e.given and the inputs that settings fill; then the output is available. */
int loop_run_once(LoopRun *r);
const float *loop_output(const LoopRun *r, int64_t *n); /* [*n] values */
/* Splits a line at its tab into *text and r->second, if it has one.  Returns NULL, or an error message. */
const char *loop_split_line(LoopRun *r, TextPart *text);
/* Prints a member of JSON, "name": "text". */
void loop_print_member(const char *name, TextPart value);
/* "start": 3, "end": 9, and the same with the text: members of JSON for bytes begin to end of the text, counted in characters. */
void loop_print_place(const char *text, int64_t begin, int64_t end);
void loop_print_span(const char *text, int64_t begin, int64_t end);
bool loop_has_tokenizer(LoopRun *r, int *code); /* loads it if it is given */
/* Adds integers [n] as an input; returns an exit code. */
int given_add_integers(Given *e, const Input *in, const int32_t *x, int64_t n);
/* Passes each text to `take`: words after the model's name, -p, or for - and @FILE the lines of standard input and FILE.  An
 * exit code of `take` ends the loop, except for an error of the text (text_fault): then the others are
 * processed, and the result is WRONG_INPUT. */
int loop_texts(LoopRun *r, int (*take)(LoopRun *r, void *of, const char *text, int64_t n), void *of);
/* loop_asked.c: the same for a loop of a first text and further ones, by arguments or in lines with a tab: each pair is passed to `take`. */
typedef struct {
        const char *loop, *first, *second,
                *usage[2]; /* its name; for messages: "query", "passage", {"QUERY", "PASSAGE"} */
        int (*take)(LoopRun *r, void *of, TextPart first, TextPart second);
} LoopAsked;
int loop_asked(LoopRun *r, const LoopAsked *l, void *of);
/* Converts the text to tokens and calls loop_run_once(). */
int loop_run_text(LoopRun *r, const char *text, int64_t n);
/* Text of a single token, into out [longest + TOKEN_RESIDUE].  Returns its length, 0 without a tokenizer. */
int64_t loop_token_text(const LoopRun *r, int64_t token, char *out);
const double *loop_tokens_given(const LoopRun *r, int64_t *n); /* after that: the tokens */
#endif
