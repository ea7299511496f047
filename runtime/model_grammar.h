/*
 * The grammar of a model's texts as a rule of its generation.  $model and $MODEL are its name.
 *
 * Needs grammar_rule.h, grammar_tables, GRAMMAR_PIECE, the model's functions, VOCAB and tokens_of_loop.
 */

struct $model_grammar {
        GrammarRule rule;
        GrammarVerdict verdict; /* the last */
};

static size_t grammar_head(void)
{
        return grammar_whole(sizeof($model_grammar));
}

size_t $model_grammar_scratch(const $model *m)
{
        char piece[GRAMMAR_PIECE];
        return grammar_head() + grammar_rule_room(&grammar_tables, &m->tokens, piece);
}

$model_grammar *$model_grammar_new(const $model *m, void *scratch)
{
        $model_grammar *g = scratch;
        grammar_rule_lay(&g->rule, &grammar_tables, &m->tokens, tokens_of_loop.stop, (char *)scratch + grammar_head());
        g->verdict = RULE_GOES_ON;
        grammar_rule_begin(&g->rule, 1);
        return g;
}

void $model_grammar_begin($model_grammar *g, int within)
{
        grammar_rule_begin(&g->rule, within);
}

int $model_grammar_rule(void *grammar, const int32_t *tokens, int64_t n, float *logits)
{
        $model_grammar *g = grammar;
        g->verdict = grammar_rule(&g->rule, 0, tokens, n, logits, VOCAB);
        return g->verdict == RULE_ENDS ? -1 : g->verdict == RULE_GOES_ON ? 0 : $MODEL_ERROR_RULE;
}

const char *$model_grammar_error(const $model_grammar *g)
{
        return grammar_rule_error(&g->rule, g->verdict);
}
