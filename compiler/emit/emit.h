/* emit: kernels as C.
 *
 * print_*.c writes Code as C; emit*.c the files around it, header, interface and program; paste.c takes of the runtime's text what
 * they need. */
#ifndef EMIT_H
#define EMIT_H
#include "plan/plan.h"

enum { MOST_DRAFTS = 32 }; /* tokens that are drafted at a time */

/* The emitted files. */

/* A loop besides generate, as functions of the model's. */
typedef struct {
        const Loop *loop;
        LoopParts parts;
        const char *form; /* the constants that it goes by, as C */
        bool labelled;    /* its classes have names: class_label */
} EmitLoop;

/* NULL, or why a loop can't be a function: an input that nothing gives; or a command line, which takes values of files. */
const char *why_no_loop_function(const Graph *g, const EmitLoop *l);
const char *why_no_loop_command(const Graph *g, const EmitLoop *l);
/* The same of generation: a model that is fed a text, or a sound, and tokens. */
const char *why_no_generate_command(const Graph *g, const Input *fed);

/* Of the attentions that the last output is a tap of: layers times heads, and layers; 0: it is none of a page. */
int64_t attention_maps(const Graph *g, int64_t *layers);
bool takes_class_alone(const Graph *g,
                       const EmitLoop *l); /* loop denoise: nothing else is given by its caller */

typedef enum {
        WEIGHTS_MAPPED,      /* in NAME.weights, whose path init is given */
        WEIGHTS_AS_TEXT,     /* in the C */
        WEIGHTS_BY_ASSEMBLER /* in the program, out of NAME.c.weights */
} WeightHome;

typedef struct {
        const char *name; /* base name of the files: "tale" for tale.c, tale.h, tale.weights */
        bool with_main;
        WeightHome home;
        bool with_page;       /* what a page calls: of main_loop, or of generation */
        bool generates;       /* tokens go in, logits alone come out: it has a function that generates */
        const EmitLoop *loop; /* [nloop]: other functions */
        int nloop;
        const Input *
                feeds_prompt; /* the command line's prompt goes into this one, which is fed; NULL: it is gone on from */
        const EmitLoop *main_loop;           /* of these, what the command line does; NULL: it generates */
        bool alone;                          /* the C holds its header */
        const struct GrammarTables *grammar; /* NULL, or what texts are made by; there is a tokenizer then */
        const char *talk;     /* NULL, or how a conversation is written, as talk_form_text() makes it */
        const void *tables;   /* NULL: no tokenizer; or what runtime/tokens.h works by */
        int64_t tables_size;  /* bytes, a multiple of 8 */
        int text_room;        /* bytes that a token's text takes by them */
        bool tables_apart;    /* they stand behind the weights in their file, else in the C */
        uint64_t tables_hash; /* of theirs then */
        const float *weights; /* as text: the packed weights */
        int64_t parameters, flops_token; /* for the header comment */
} EmitOptions;

/* The model's C and its header.  Expects a planned and synchronised program. */
void emit(Plan *p, const EmitOptions *o, Text *c, Text *h);

/* A Python module of the same, which calls its functions. */
void emit_python(Plan *p, const EmitOptions *o, Text *py);

/* `tokens_of_loop` of runtime/generation.h, as C. */
const char *loop_tokens_text(Arena *a, const Graph *g);

/* The same program without an interface, for an engine: `lathe_program(instance, thread)`, whose instance is an EngineInstance
 * (run/jit_private.h).  given: for libtcc, the declarations of what lathe provides (runtime/jit.h and the kernels), vectors being passed by address; NULL: for the system's compiler,
 * with all that the program needs. */
void emit_program_alone(Plan *p, const char *given, Text *c);
int64_t scratch_size(const Plan *p); /* floats that each thread needs .. */
int64_t parts_size(const Plan *p);   /* .. and, behind those of all, that several threads need together */
/* of an input or output: elements of one position, or all where it has no positions */
int64_t row_elements(const Plan *p, const Type *t);
/* its pointer moves on with the positions taken; what has another named axis stays, and counts them in `done` */
bool advances(const Plan *p, const Type *t);
/* Elements by which an output's pointer moves on for each position taken where its rows are not one for each position, as of
 * [time + 5, d]: of these a piece of a call gives those from its own first position on.  0: it stays, or advances. */
int64_t elements_passed(const Plan *p, const Type *t);
uint64_t layout_hash(const Plan *p); /* what the packed weights must have been laid out for */

/* The runtime's text, and the choice of what an emitted file needs of it. */

extern const CFact all_facts[]; /* of a program that has everything that runtime/facts.h names */

/* Adds to `out`, in order, the declarations of the named runtime files (NULL at the end) that `user` needs, or that these
 * need, as far as the facts about the program leave them.  given: a text that will stand before them, whose own declarations take the place of theirs; or NULL. */
void paste_runtime(Text *out, const char *const *files, const CFact *facts, const char *given,
                   const char *user);

/* Adds `text` with every name that it declares at the outermost level given a suffix: a second copy beside the first. */
void paste_renamed(Text *out, const char *text, const char *suffix);
#endif
