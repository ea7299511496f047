/* Tokens whose texts a grammar allows: the memory that runtime/grammar_rule.h needs, and its messages. */
#include <stdlib.h>

#include "run.h"

struct Constraint {
        GrammarRule rule;
        void *room;
};

Constraint *constraint_new(const Grammar *g, const Tokenizer *t, const int32_t *stop)
{
        const GrammarTables *tables = grammar_tables(g);
        Constraint *c = calloc(1, sizeof *c);
        char *piece = malloc((size_t)grammar_longest(&t->tables));
        if (c && piece)
                c->room = malloc(grammar_rule_room(tables, &t->tables, piece));
        free(piece);
        if (c && c->room) {
                grammar_rule_lay(&c->rule, tables, &t->tables, stop, c->room);
                return c;
        }
        constraint_free(c);
        return NULL;
}

void constraint_free(Constraint *c)
{
        if (!c)
                return;
        free(c->room);
        free(c);
}

void constraint_begin(Constraint *c, bool begun)
{
        grammar_rule_begin(&c->rule, begun);
}

void constraint_branch(Constraint *c)
{
        grammar_rule_branch(&c->rule);
}

int constraint_rule(Constraint *c, bool drafted, const int32_t *text, int64_t n, float *logits, int64_t vocab,
                    const char **why)
{
        const GrammarVerdict verdict = grammar_rule(&c->rule, drafted, text, n, logits, vocab);
        if (verdict > 0)
                *why = grammar_rule_error(&c->rule, verdict);
        return verdict;
}
