/* A grammar that restricts texts, as tables, and the functions of runtime/model_grammar.h. */
#include <inttypes.h>

#include "emit_private.h"
#include "grammars/grammars.h"

enum { IN_A_LINE = 8 };

static const char *number_end(int64_t i, int64_t n)
{
        return i % IN_A_LINE == IN_A_LINE - 1 || i + 1 == n ? "\n" : " ";
}

static const char *number_begin(int64_t i)
{
        return i % IN_A_LINE ? "" : "        ";
}

static void emit_grammar_tables(const GrammarTables *t, Text *c)
{
        int32_t sets = 1;
        text_printf(c, "static const GrammarPlace grammar_place[%d] = {\n", t->places);
        for (int32_t i = 0; i < t->places; i++) {
                const GrammarPlace *p = &t->place[i];
                sets = p->takes + 1 > sets ? p->takes + 1 : sets;
                text_printf(c, "%s{%d, %d, %d},%s", number_begin(i), p->takes, p->next, p->other,
                            number_end(i, t->places));
        }
        text_printf(c, "};\nstatic const uint64_t grammar_set[%d][4] = {\n", sets);
        for (int32_t i = 0; i < sets; i++)
                text_printf(c, "        {0x%" PRIx64 ", 0x%" PRIx64 ", 0x%" PRIx64 ", 0x%" PRIx64 "},\n",
                            t->byte_set[i][0], t->byte_set[i][1], t->byte_set[i][2], t->byte_set[i][3]);
        text_printf(c, "};\nstatic const uint8_t grammar_group[256] = {\n");
        for (int i = 0; i < 256; i++)
                text_printf(c, "%s%d,%s", number_begin(i), t->group[i], number_end(i, 256));
        text_printf(c,
                    "};\nstatic const GrammarTables grammar_tables = {grammar_place, grammar_set, "
                    "grammar_group, %d, %d, %d};\n\n",
                    t->places, t->groups, t->root);
}

void emit_grammar(const Emit *e, Text *c)
{
        static const char *const files[] = {"grammar_states.h", "grammar_rule.h", NULL};
        const char *functions = host_text(e, "model_grammar.h");
        Text *tables = text_new(e->arena);
        emit_grammar_tables(e->o->grammar, tables);
        text_printf(c, "enum { GRAMMAR_PIECE = %d };\n\n", e->o->text_room + 64);
        paste_runtime(c, files, e->facts, NULL, arena_printf(e->arena, "%s GrammarTables", functions));
        text_printf(c, "%s%s\n", tables->data, functions);
}

void declare_grammar(const Emit *e, Text *h)
{
        text_printf(
                h, "%s",
                model_text(e,
                           "/* The grammar of this model's texts, as a rule: in a $model_generation, .rule "
                           "= $model_grammar_rule and .ruler = the result of\n * $model_grammar_new().  "
                           "Tokens whose texts leave the grammar are ruled out; a text ends where the "
                           "grammar allows no\n * continuation. */\n"
                           "typedef struct $model_grammar $model_grammar;\n"
                           "/* Bytes, to be aligned to 8. */\n"
                           "size_t $model_grammar_scratch(const $model *m);\n"
                           "/* Creates one in memory of the caller; the model must outlive it.  Begins a "
                           "text. */\n"
                           "$model_grammar *$model_grammar_new(const $model *m, void *scratch);\n"
                           "/* Begins another text after the tokens of the next call of the rule.  within: "
                           "tokens precede it, so that the text of\n * its first token is decoded as within "
                           "a text. */\n"
                           "void $model_grammar_begin($model_grammar *g, int within);\n"
                           "/* grammar: a $model_grammar. */\n"
                           "int $model_grammar_rule(void *grammar, const int32_t *tokens, int64_t n, "
                           "float *logits);\n"
                           "/* Message for $MODEL_ERROR_RULE: why the rule left no token; NULL: it left one. "
                           "*/\n"
                           "const char *$model_grammar_error(const $model_grammar *g);\n\n"));
}
