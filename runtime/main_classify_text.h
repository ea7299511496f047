/*
 * The command line of a model that classifies texts, pairs of texts, or the tokens of texts.
 *
 * Needs likely.h, main_texts.h and model_classify_text.h.
 */

/* The name of a token; without a tokenizer its number. */
static void print_classified(const $model *m, int32_t token)
{
#if HAS_TOKENIZER
        static char text[TEXT_ROOM];
        $model_text alone = {{0}, 0, 0};
        terminal_print(stdout, "  ");
        terminal_write(stdout, text, (size_t)$model_decode(m, &alone, token, $MODEL_CONTROL, text));
        terminal_write(stdout, text, (size_t)$model_decode_end(&alone, text));
        terminal_end(stdout);
#else
        (void)m;
        terminal_print(stdout, "  %lld", (long long)token);
#endif
}

/* The likeliest classes, a line each; after the label the token, unless it is -1. */
static void print_text_classes(const Session *s, const double *probabilities, int32_t token)
{
        int64_t number = -1;
        for (int64_t i = 0; i < s->top && (number = likely_next(probabilities, CLASSES, number)) >= 0; i++) {
                const char *label = $model_label(number);
                terminal_print(stdout, "%8.4f  %lld%s%s", probabilities[number], (long long)number, label ? "  " : "", label ? label : "");
                if (token >= 0)
                        print_classified(s->m, token);
                terminal_print(stdout, "\n");
        }
}

#if HAS_TAGS
/* The spans of the text whose tokens have the same label, a line each. */
static int print_tags(const Session *s, const char *text, const double *probabilities, int64_t n)
{
        const int64_t ntext = (int64_t)strlen(text);
        $model_span *span = malloc(sizeof *span * (size_t)n);
        void *scratch = malloc($model_tags_scratch(s->m, ntext, n));
        const int64_t tags = span && scratch ? $model_tags(s->m, text, ntext, probabilities, n, span, scratch) : -1;
        for (int64_t i = 0; i < tags; i++) {
                int begins;
                terminal_print(stdout, "%8.4f  %s  ", span[i].probability, tag_name($model_label(span[i].number), &begins));
                terminal_write(stdout, text + span[i].begin, (size_t)(span[i].end - span[i].begin));
                terminal_end(stdout);
                terminal_print(stdout, "\n");
        }
        free(scratch);
        free(span);
        return tags < 0 ? $MODEL_ERROR_MEMORY : $MODEL_OK;
}
#endif

static int loop_text(Session *s, const char *text, const int32_t *tokens, int64_t n, void *scratch)
{
        const int64_t rows = CLASSIFIES_TOKENS ? n : 1;
        int64_t before = 0, behind = 0;
        double *probabilities = malloc(sizeof *probabilities * (size_t)(rows * CLASSES));
        int error = probabilities ? $model_classify(s->m, tokens, s->types, n, probabilities, scratch) : $MODEL_ERROR_MEMORY;
#if HAS_TOKENIZER
        before = CLASSIFIES_TOKENS ? s->m->tokens.head->before : 0;
        behind = CLASSIFIES_TOKENS ? s->m->tokens.head->behind : 0;
#endif
        if (!error && (s->texts > 1 + s->takes_pairs || !strcmp(s->text[s->texts - 1], "-"))) {
                terminal_print(stdout, "%s", text);
                if (s->second)
                        terminal_print(stdout, "\t%s", s->second);
                terminal_print(stdout, "\n");
        }
#if HAS_TAGS
        if (!error && !s->of_tokens)
                error = print_tags(s, text, probabilities, n);
        if (!s->of_tokens)
                behind = rows;
#endif
        for (int64_t i = before; i < rows - behind && !error; i++)
                print_text_classes(s, probabilities + i * CLASSES, CLASSIFIES_TOKENS ? tokens[i] : -1);
        if (!error)
                s->hash = hash_doubles(s->hash, probabilities, rows * CLASSES);
        free(probabilities);
        return error;
}
