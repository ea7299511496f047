/* grammars: texts that a grammar of rules allows, byte by byte; nothing of models.
 *
 * A grammar's file becomes a tree (grammar_parse.c), which is checked (grammar_check.c) and laid out as places that a text goes through
 * (grammar_places.c); where a text may be after some bytes is a state, and states are made as they are met
 * (runtime/grammar_states.h, which emitted programs go by too).  docs/grammars.md describes the format. */
#ifndef GRAMMARS_H
#define GRAMMARS_H
#include "text/text.h"

#include "../../runtime/grammar_states.h"

typedef struct Grammar Grammar;

/* Of a source, which must outlive it; NULL after errors were added to diag. */
const Grammar *grammar_read(Arena *a, Diag *diag, const Source *source);

/* What its states are made by; it lives as long as the grammar. */
const GrammarTables *grammar_tables(const Grammar *g);
#endif
