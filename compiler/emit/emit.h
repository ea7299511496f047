/* emit: kernels as C.
 *
 * print_*.c prints Code as C.  emit*.c prints the rest of the files: header, interface and program.
 * paste.c copies the runtime's declarations that they use. */
#ifndef EMIT_H
#define EMIT_H
#include "plan/plan.h"

#include "../../runtime/sampling.h"

enum { MAX_DRAFTS = 32 }; /* maximum number of drafted tokens */

/* The emitted files. */

/* A loop other than generate, as functions of the model. */
typedef struct {
        const Loop *loop;
        LoopParts parts;
        const char *form; /* the constants of its settings, as C */
        bool labelled;    /* its classes have names: class_label */
} EmitLoop;

/* An emitted model that drafts for the command line of another. */
typedef struct {
        const char *name, *files; /* its C name; base name of its files */
        const char **input;       /* [nread] C names of the inputs that read values of the other model */
        const int *tap;           /* [nread] outputs of the other model */
        int nread;
} EmitDraft;

/* NULL, or the reason why a loop can't be a function: an input without a source.  The second one is for a
 * command line, which reads values from files. */
const char *why_no_loop_function(const Graph *g, const EmitLoop *l);
const char *why_no_loop_command(const Graph *g, const EmitLoop *l);
/* The same for generation: a model that is fed a text or a sound, and tokens. */
const char *why_no_generate_command(const Graph *g, const Input *fed);

/* Number of attention maps (layers times heads) if the last output is a tap of them, and *layers; 0: none
 * that a page can show. */
int64_t attention_maps(const Graph *g, int64_t *layers);
/* loop denoise: whether its caller passes no inputs but a class */
bool takes_class_alone(const Graph *g, const EmitLoop *l);

/* The settings by which a loop chooses tokens, and their source in notes, "as in loop generate". */
typedef struct {
        Sampling own;
        const char *source;
} LoopSampling;

typedef enum {
        WEIGHTS_MAPPED,      /* in NAME.weights, whose path is an argument of init */
        WEIGHTS_AS_TEXT,     /* in the C */
        WEIGHTS_BY_ASSEMBLER /* in the program, included from NAME.c.weights */
} WeightHome;

typedef struct {
        const char *name; /* base name of the files: "tale" for tale.c, tale.h, tale.weights */
        bool with_main;
        WeightHome home;
        bool with_page; /* functions for a page: of main_loop, or of generation */
        bool generates; /* has a function that generates: tokens are the input, logits the only output */
        const EmitLoop *loop; /* [nloop] loops with a function */
        int nloop;
        const Input *feeds_prompt; /* input for the command line's prompt; NULL: it is continued */
        const EmitLoop *main_loop; /* the loop of the command line; NULL: generation */
        const EmitDraft *draft;    /* drafts for the command line; or NULL */
        bool alone;                /* the C contains its header */
        bool freestanding; /* needs no operating system: static memory, weights in the program, one thread */
        const struct GrammarTables *grammar;  /* NULL, or the grammar of texts; requires tables */
        const char *talk;                     /* NULL, or the form of a conversation, by talk_form_text() */
        const char *pair_form;                /* NULL, or the template of pairs, by pair_form_text() */
        LoopSampling sampling, talk_sampling; /* without a conversation, and in one */
        const void *tables;                   /* tables of runtime/tokens.h; NULL: no tokenizer */
        int64_t tables_size;                  /* bytes, a multiple of 8 */
        int text_room;                        /* maximum number of bytes of a token's text */
        bool tables_apart;    /* tables are stored after the weights in their file, else in the C */
        uint64_t tables_hash; /* hash of tables in the weight file */
        const float *weights; /* WEIGHTS_AS_TEXT: the packed weights */
        Text *data; /* WEIGHTS_AS_TEXT: gets weights and tables as a C file; NULL: they are in the C */
        int64_t parameters, flops_token; /* for the header comment */
} EmitOptions;

/* The model's C and its header.  Expects a planned and synchronised program. */
void emit(Plan *p, const EmitOptions *o, Text *c, Text *h);

/* A Python module that calls the functions of that C. */
void emit_python(Plan *p, const EmitOptions *o, Text *py);

bool sampling_has_effect(const Sampling *s);   /* whether a setting has an effect */
const char *float_shortest(Arena *a, float x); /* decimal: "0.7", "20" */

/* `tokens_of_loop` of runtime/generation.h, as C. */
const char *loop_tokens_text(Arena *a, const Graph *g, bool fixed); /* fixed: constant */

/* The program without an interface, for an engine: `lathe_program(instance, thread)`, whose instance is an
 * EngineInstance (run/jit_private.h).  given: for libtcc, which passes vectors by address: declarations of
 * the functions that lathe provides (runtime/jit.h and the kernels).  NULL: for the system's compiler;
 * everything that the program needs is included. */
void emit_program_alone(Plan *p, const char *given, Text *c);
int64_t arena_floats(const Plan *p); /* of the arena, the pool of pages after it, and the table of pages */
int64_t scratch_size(const Plan *p); /* floats of scratch for each thread */
int64_t parts_size(const Plan *p);   /* floats for partial sums of all threads, stored after all scratch */
/* Elements of one position of an input or output; all elements if it has no positions. */
int64_t row_elements(const Plan *p, const Type *t);
/* Whether a tensor's pointer advances with positions.  One with another named axis does not, and counts
 * positions in `done`. */
bool advances(const Plan *p, const Type *t);
/* Elements by which an output's pointer advances for each position if its rows are not one per position,
 * like [time + 5, d].  A piece of a call stores the rows from its own first position on.  0: the pointer
 * does not advance, or advances() holds. */
int64_t elements_passed(const Plan *p, const Type *t);
uint64_t layout_hash(const Plan *p); /* hash of the layout of packed weights */

/* Pasting: the declarations of the runtime that an emitted file uses. */

extern const CFact all_facts[]; /* facts of a program with all features of runtime/facts.h */

/* Adds to `out`, in order, the declarations of the runtime files (NULL at the end) that `user` needs, or
 * that these need, reduced by the facts about the program.  given: a text that precedes them, whose
 * declarations replace those of the files; or NULL. */
void paste_runtime(Text *out, const char *const *files, const CFact *facts, const char *given,
                   const char *user);

/* Adds `text` with a suffix on every name that it declares at the outermost level: a second copy. */
void paste_renamed(Text *out, const char *text, const char *suffix);
#endif
