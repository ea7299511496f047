/* grammars: restrict texts by rules, byte by byte; independent of models.
 *
 * A grammar's file becomes a tree (grammar_parse.c), which is checked (grammar_check.c) and converted to
 * places (grammar_places.c).  A state is the set of places that a text may have reached after some bytes;
 * states are computed on first use (runtime/grammar_states.h, also in emitted programs).  docs/grammars.md
 * describes the format. */
#ifndef GRAMMARS_H
#define GRAMMARS_H
#include "text/text.h"

#include "../../runtime/grammar_states.h"

typedef struct Grammar Grammar;

/* Parses a source, which must outlive the grammar.  NULL after errors were added to diag. */
const Grammar *grammar_read(Arena *a, Diag *diag, const Source *source);

/* Tables for its states; they live as long as the grammar. */
const GrammarTables *grammar_tables(const Grammar *g);
#endif
