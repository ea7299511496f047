/*
 * The command line's text, by the model's own tables: a prompt becomes tokens, tokens become text.
 *
 * Needs model_text.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

$mutestatic const char prompt_help[] = "text that the model goes on from; - reads it from standard input";
$mutestatic const char prompt_example[] = "\"Once upon a time\"";
$talkstatic const char prompt_help[] = "what the user says; - reads it from standard input";
$talkstatic const char prompt_example[] = "-p \"What is the capital of France?\"";

/* The text that is being shown. */
static $model_text shown;
$talk
$talkstatic Talk talk;

/* Tokens of a prompt, allocated; NULL if memory is short.  Nothing becomes the start token. */
static int32_t *prompt_tokens(const $model *m, const char *text, int64_t *count)
{
        int64_t n = (int64_t)strlen(text), room = $model_encode_room(m, n) + 1;
        int32_t *tokens = malloc((size_t)room * sizeof *tokens);
        void *scratch = malloc((size_t)$model_encode_scratch(m, n));
        *count = tokens && scratch ? $model_encode(m, text, n, 0, tokens, room, scratch) : -1;
        if (*count == 0)
                tokens[(*count)++] = START_TOKEN;
        free(scratch);
        if (*count > 0) {
                shown.begun = *count > 1; /* the text goes on */
                return tokens;
        }
        *count = 0;
        free(tokens);
        return NULL;
}

static void show_end(void)
{
        char rest[3];
        fwrite(rest, 1, (size_t)$model_decode_end(&shown, rest), stdout);
}

static void show_token(const $model *m, int32_t token)
{
        static char text[TEXT_ROOM];
$talk        talk_token(&talk, token);
        fwrite(text, 1, (size_t)$model_decode(m, &shown, token, 0, text), stdout);
}
