/*
 * The command line's text, by the model's own tables: a prompt becomes tokens, tokens become text.
 *
 * Needs model_text.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if !HAS_TALK
static const char prompt_help[] = "the text to continue; - reads it from standard input";
static const char prompt_example[] = "\"Once upon a time\"";
#else
static const char prompt_help[] = "the user's message; - reads it from standard input";
static const char prompt_example[] = "-p \"What is the capital of France?\"";
#endif

/* State of the text that is being printed. */
static $model_text shown;
#if HAS_TALK

static Talk talk;
#endif

/* Begins a text that continues a prompt of this number of tokens. */
static void show_begin(int64_t n)
{
        shown.begun = n > 1;
}

static void show_end(void)
{
        char rest[3];
        terminal_write(stdout, rest, (size_t)$model_decode_end(&shown, rest));
        terminal_end(stdout);
}

/* Stores the tokens with this text in `tokens`, unless NULL; returns their number. */
static int64_t text_tokens(const void *m, const char *text, int64_t n, int32_t *tokens)
{
        return tokens_with_text(&((const $model *)m)->tokens, VOCAB, text, n, tokens);
}

static void show_token(const $model *m, int32_t token)
{
        static char text[TEXT_ROOM];
#if HAS_TALK
        talk_token(&talk, token);
#endif
        terminal_write(stdout, text, (size_t)$model_decode(m, &shown, token, 0, text));
}
