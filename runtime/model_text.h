/*
 * Text of a model: the interface to tokens.h.  $model and $MODEL are the model's name.
 *
 * Needs tokens.h and the model's struct.
 */

int64_t $model_encode(const $model *m, const char *text, int64_t n, int flags, int32_t *ids, int64_t room, void *scratch)
{
        return tokens_encode(&m->tokens, text, n, flags, ids, room, scratch);
}

int64_t $model_encode_room(const $model *m, int64_t n)
{
        return tokens_room(&m->tokens, n);
}

int64_t $model_encode_scratch(const $model *m, int64_t n)
{
        return tokens_scratch(&m->tokens, n);
}

int64_t $model_decode(const $model *m, $model_text *text, int32_t id, int flags, char *out)
{
        TokenDecoder decoder = {{text->held[0], text->held[1], text->held[2]}, text->n, text->begun};
        int64_t n = tokens_decode(&m->tokens, &decoder, id, flags, out);
        memcpy(text->held, decoder.held, sizeof text->held);
        text->n = decoder.n;
        text->begun = decoder.begun;
        return n;
}

int64_t $model_decode_room(const $model *m)
{
        return tokens_decode_room(&m->tokens);
}

int64_t $model_decode_end($model_text *text, char *out)
{
        int64_t n = text->held[0] == ' ' ? 0 : text->n;
        memcpy(out, text->held, (size_t)n);
        text->n = text->begun = 0;
        return n;
}
