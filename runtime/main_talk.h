/*
 * The command line's conversation.
 *
 * Needs conversation.h and main_text.h.
 */

static void session_rewind(void *of, int64_t n)
{
        $model *m = ((Session *)of)->m;
        if ($model_rewind(m, n))
                $model_reset(m);
}

static int64_t session_position(void *of)
{
        return $model_position(((Session *)of)->m);
}

static int converse(Session *s)
{
        const Options *o = &s->o;
        const Conversation c = {&talk, CONTEXT, s, session_position, session_rewind, session_text};
        talk.form = &talk_form;
        talk.tables = &s->m->tokens;
        talk.system = o->system;
        int error = o->prompt ? conversation_turn(&c, o->prompt, (int64_t)strlen(o->prompt)) : conversation_lines(&c);
        talk_free(&talk);
        return error == GENERATION_MEMORY ? $MODEL_ERROR_MEMORY : error == CONVERSATION_FULL ? -1 : error;
}
