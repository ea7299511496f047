/* Shared by the parts of emission: emit.c prints the file, emit_header.c and emit_interface.c the header
 * and public functions, emit_program.c the instance's struct, emit_steps.c the program. */
#ifndef EMIT_PRIVATE_H
#define EMIT_PRIVATE_H
#include "emit.h"
#include "language/language.h"
#include "print_private.h"

/* Files of runtime/ with a plan's kernels for a target, in the order of their dependencies. */
#define KERNEL_FILES(t)                                                                                      \
        (t)->vector, "math.h", "rows.h", "wide.h", "narrow.h", "kept.h", "tile.h", "book_tables.h",          \
                "book_values.h", "block_values.h", (t)->integers, (t)->dot, "books.h", "blocks.h", "amx.h",  \
                "matmul.h", "contraction_call.h", "contraction.h", "attention_call.h", "attention.h",        \
                "attention_mixed.h", "attention_chosen.h", "scan_state.h", "scan.h"

typedef struct {
        Plan *plan;
        const EmitOptions *o;
        Arena *arena;
        const Graph *g;
        const char *name, *upper; /* the model's C name; in capitals */
        bool causal;              /* has NAME_prefill and NAME_step */
        bool portable;            /* several instruction sets in one file */
        bool alone;               /* only the program, for an engine that has memory and threads */
        const CFact *facts;
        /* By Kernel.order.step: the function that the kernel shares with others, or NULL. */
        SharedFunction **shared;
} Emit;

bool is_batched(const Emit *e);    /* an instance holds several sequences */
bool has_beams(const Emit *e);     /* has a beam search, with a beam in each slot */
bool has_own_beams(const Emit *e); /* and its command line uses it without options, as its loop states it */
bool has_pages(const Emit *e);     /* states are stored in pages */
bool has_languages(const Emit *e); /* the command line has --languages: an encoder reads its text or sound */
bool is_freestanding(const Emit *e);
/* Text of a runtime file for this program: without its first comment, conditions resolved, names replaced. */
const char *host_text(const Emit *e, const char *file);
Emit emit_new(Plan *p, const EmitOptions *o);
const char *model_text(const Emit *e, const char *text); /* with $model, $MODEL and $program replaced */
void emit_guard_macros(const Emit *e, Text *c);

/* program_facts.c: the program's facts, as named in runtime/facts.h */
const CFact *program_facts(const Emit *e);
bool fact_holds(const CFact *facts, const char *name);

/* tidy.c: adds the text in a uniform layout, without redundant lines */
void tidy_text(Text *out, const Text *c);

/* emit_tiles.c */
void emit_tile(const Plan *p, const Target *t, Text *c);
bool has_tile(const Plan *p, Tile tile);  /* whether products use this tile */
void emit_states(const Plan *p, Text *c); /* storage types of keys, values and other states, if not all f32 */

/* emit.c: a Sampling as C; command: also NAME_source */
void emit_sampling(const Emit *e, const char *name, const LoopSampling *l, bool command, Text *c);

int64_t max_drafts(const Emit *e); /* maximum of drafted tokens in a call of generation */

/* emit_header.c */
void emit_header(const Emit *e, Text *h);

/* emit_about.c: sizes and tensors, as lines of the header's first comment */
void emit_about(const Emit *e, Text *h);

/* emit_weights.c: storage of weights and tokenizer tables, and weights_open() */
void emit_weights(const Emit *e, Text *c);

/* emit_errors.c: error codes; and the version as a text without quotes */
const char *version_text(const Emit *e);
void declare_errors(const Emit *e, Text *h);
void emit_errors(const Emit *e, Text *c);

/* emit_under_way.c: batches of stages whose outputs are taken later */
bool has_under_way(const Emit *e);
void declare_under_way(const Emit *e, Text *h);
void emit_under_way_members(const Emit *e, Text *c);
void emit_under_way_check(const Emit *e, Text *c); /* other calls fail while a batch is under way */
void emit_ways(const Emit *e, Text *c);            /* which part of the program runs */
void emit_under_way(const Emit *e, Text *c);
/* emit_ranks.c: declarations for ranks; the return value of a function that ran the program */
void declare_ranks(const Emit *e, Text *h);
void emit_ranks(const Emit *e, Text *c);
const char *outcome(const Emit *e);
void emit_shares(const Emit *e, Text *c); /* return values of ranks, and the weight file of one rank */

/* emit_grammar.c: of emit.h's grammar */
void emit_grammar(const Emit *e, Text *c);
void declare_grammar(const Emit *e, Text *h);

/* emit_interface.c */
void emit_causal_interface(const Emit *e, Text *c);
void emit_block_interface(const Emit *e, Text *c); /* of a model that keeps completed blocks */
void emit_plain_interface(const Emit *e, Text *c);
const char *c_type(const Input *in);
bool is_given_in(const Emit *e, const Input *in, int group); /* passed in the call of the group, or CALLS */
const char *element_count(const Emit *e, const Type *t);     /* in a call */
const char *wanted_outputs(const Emit *e);
bool has_dense(const Plan *p);
enum { CALLS = -1 }; /* the group of inputs that are passed in each call, not fed separately */
const char *input_list(const Emit *e, int group, bool types, bool one); /* ", const int32_t *tokens" */
const char *output_list(const Emit *e, bool types, bool none);
const char *size_list(const Emit *e, int group, bool types); /* ", int64_t text" */
/* whether the call of the group has the size as an argument */
bool states_size(const Emit *e, int group, int size);
void emit_sizes(const Emit *e, int group, Text *c);
void emit_input_checks(const Emit *e, int group, Text *c, const char *indent); /* checks for NULL pointers */
void emit_checks(const Emit *e, int group, Text *c, const char *indent);
void emit_renewal(const Emit *e, Text *c);
void emit_pointers(const Emit *e, int group, Text *c, const char *indent);
void emit_output_pointers(const Emit *e, Text *c, const char *indent);
bool size_is_kept(const Emit *e, int size);       /* by each slot: a size of inputs fed separately */
const char *group_name(const Emit *e, int group); /* of inputs that are fed together */

/* emit_command.c: a command line, or functions for a page */
void emit_command(const Emit *e, Text *c);
void emit_page(const Emit *e, Text *c);

/* emit_loop.c: loops other than generate */
bool is_callers(const Graph *g, const EmitLoop *l, const Input *in); /* the loop's caller passes it */
bool is_callers_size(const Graph *g, const EmitLoop *l, int size);   /* a size of such an input */
void emit_loop(const Emit *e, const EmitLoop *l, Text *c);
/* Whether the loop's function finds tokens in their text: it answers questions, or joins tokens. */
bool finds_spans(const Emit *e, const EmitLoop *l);
void declare_spans(const Emit *e, Text *h); /* the type of spans, if a loop has them */
void declare_loop(const Emit *e, const EmitLoop *l, Text *h);
int64_t loop_columns(const Emit *e, const EmitLoop *l);     /* of the output: classes, values, tokens */
const char *caller_gives(const Emit *e, const EmitLoop *l); /* arguments of denoise: ", class_input, text" */

/* emit_draft.c: loop draft, and the rows that it reads from another model */
bool stores_rows(const Emit *e);            /* generation stores rows of taps where its caller wants them */
const char *generation_taps(const Emit *e); /* arguments of a call of generation for taps */
void declare_rows(const Emit *e, Text *h);
void emit_draft(const Emit *e, const EmitLoop *l, Text *c);
const char *draft_header(const Emit *e, const EmitLoop *l);
void emit_session_drafter(const Emit *e, Text *c); /* of a command line */

/* emit_denoise.c: further text of loop denoise */
void emit_denoise_given(const Emit *e, const EmitLoop *l, Text *c); /* LoopGiven, and denoise_without() */
void emit_denoise(const Emit *e, const EmitLoop *l, Text *c);       /* NAME_denoise() */
bool denoise_has_inputs(const Graph *g, const EmitLoop *l);         /* other than latent and step */
const char *denoise_header(const Emit *e, const EmitLoop *l);
/* constants of the command line, and its call; and those that a page needs too */
void emit_denoise_constants(const Emit *e, const EmitLoop *l, Text *c);
void emit_latent_constants(const Emit *e, const EmitLoop *l, Text *c);
void emit_page_class(const EmitLoop *l, Text *c);

/* emit_batch.c: several sequences in a call */
void declare_batch(const Emit *e, Text *h);
void declare_whole_batch(const Emit *e, Text *h); /* of a model that is not causal */
void emit_slots(const Emit *e, Text *c);          /* memory */
void emit_batch(const Emit *e, Text *c);          /* calls */
/* A function `name` for a batch.  way: with a parameter for the part of the program that runs. */
void emit_batch_call(const Emit *e, const char *name, bool way, Text *c);
void emit_whole_batch(const Emit *e, Text *c);
void emit_sequence_of(const Emit *e, Text *c); /* for kernels */

/* emit_program.c */
void emit_struct(const Emit *e, Text *c);
/* emit_steps.c: kernels, bodies of repeats, and the program that calls them */
void emit_program(const Emit *e, Text *c);
#endif
