/* grammars: texts that a grammar of rules allows, byte by byte; nothing of models.
 *
 * A grammar's file becomes a tree (grammar_parse.c), which is checked (grammar_check.c) and laid out as places that a text goes through
 * (grammar_places.c); where a text may be after some bytes is a state, and states are made as they are met (grammar_states.c).
 * docs/grammars.md describes the format. */
#ifndef GRAMMARS_H
#define GRAMMARS_H
#include "text/text.h"

typedef struct Grammar Grammar;

/* Of a source, which must outlive it; NULL after errors were added to diag. */
const Grammar *grammar_read(Arena *a, Diag *diag, const Source *source);

/* States of texts under a grammar, by numbers.  Its memory is its own. */
typedef struct GrammarStates GrammarStates;
enum { GRAMMAR_DEAD = 0 }; /* no text that the grammar allows begins so */

GrammarStates *grammar_states_new(const Grammar *g); /* NULL: no memory is left */
void grammar_states_free(GrammarStates *s);
int32_t grammar_begin(GrammarStates *s); /* before the first byte */
int32_t grammar_step(GrammarStates *s, int32_t state, unsigned char byte);
bool grammar_may_end(const GrammarStates *s, int32_t state);
bool grammar_goes_on(const GrammarStates *s, int32_t state); /* some byte may come */
/* Forgets all states but one, if they take much memory; returns its new number. */
int32_t grammar_forget(GrammarStates *s, int32_t state);
/* NULL, or why states are dead that need not be: the grammar reads a text in too many ways at once. */
const char *grammar_fault(const GrammarStates *s);
#endif
