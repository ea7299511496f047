/*
 * Spans of a text whose tokens have the same label, as a function of the model.  $model is its name.
 *
 * Needs token_tags.h, the model's struct, CLASSES and class_label.
 */

size_t $model_tags_scratch(const $model *m, int64_t ntext, int64_t n)
{
        const int64_t room = tokens_grown(&m->tokens, ntext);
        return (size_t)n * sizeof(TokenTag) + (size_t)(room + 1) * (sizeof(TokenSpan) + sizeof(int32_t)) + (size_t)tokens_spans_scratch(&m->tokens, ntext);
}

int64_t $model_tags(const $model *m, const char *text, int64_t ntext, const double *probabilities, int64_t n, $model_span *span, void *scratch)
{
        const TokenTables *t = &m->tokens;
        const int64_t room = tokens_grown(t, ntext), before = t->head->before, around = before + t->head->behind;
        TokenTag *tag = (TokenTag *)scratch;
        TokenSpan *each = (TokenSpan *)(void *)(tag + n);
        int32_t *ids = (int32_t *)(void *)(each + room + 1);
        const int64_t all = tokens_encode_spans(t, text, ntext, 0, ids, each, room, ids + room + 1), tokens = n - around < all ? n - around : all;
        const int64_t tags = tags_join(text, ntext, probabilities + before * CLASSES, tokens, CLASSES, class_label, each, tag);
        for (int64_t i = 0; i < tags; i++) {
                span[i].probability = tag[i].probability;
                span[i].begin = tag[i].begin;
                span[i].end = tag[i].end;
                span[i].number = tag[i].number;
        }
        return tags;
}
