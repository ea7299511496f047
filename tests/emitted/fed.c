/*
 * Inputs that are fed separately, one line a call: what the interface answers, and whether outputs have the bits of the same model
 * that takes all of its inputs in each call (at_once_*).  What was fed is spoilt behind the call: it must have been taken.
 *   usage: fed WEIGHTS PLAIN_WEIGHTS
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fed_separately.h"
#include "at_once.h"

enum { MOST = 4096 };
static float noise[MOST], expected[MOST];

static void say(const char *what, int error)
{
        printf("%s: %s\n", what, fed_separately_error(error));
}

#ifdef DENOISER
static void fill(float *x, int n, int seed)
{
        for (int i = 0; i < n; i++)
                x[i] = (float)((i * 37 + seed * 101) % 64 - 32) / 32;
}

static float text[7 * 10], latent[3 * 4 * 6];
enum { LATENT = 3 * 4 * 6 };

static int feed_text(fed_separately *m, int64_t words, int seed)
{
        fill(text, 7 * 10, seed);
        int error = fed_separately_feed_text(m, words, text);
        fill(text, 7 * 10, 99);
        return error;
}

static int feed_condition(fed_separately *m, float step, int32_t class)
{
        int error = fed_separately_feed_condition(m, &step, &class);
        step = class = 0;
        return error;
}

/* One call of each: of the plain model with what was fed. */
static void compare(const char *what, fed_separately *m, at_once *p, int64_t words, int seed, float step,
                    int32_t class, int picture)
{
        fill(latent, LATENT, picture);
        say(what, fed_separately_forward(m, latent, noise));
        fill(text, 7 * 10, seed);
        int error = at_once_forward(p, words, &step, &class, text, latent, expected);
        printf("  %s\n", error                                 ? at_once_error(error)
                         : memcmp(noise, expected, LATENT * 4) ? "OTHER BITS"
                                                               : "the same bits");
}

static void run(fed_separately *m, at_once *p)
{
        say("a call before all", fed_separately_forward(m, latent, noise));
        say("condition, a class too high", feed_condition(m, 0.5f, 5));
        say("condition, a class below 0", feed_condition(m, 0.5f, -1));
        say("a call", fed_separately_forward(m, latent, noise));
        say("condition", feed_condition(m, 0.5f, 4));
        say("a call without text", fed_separately_forward(m, latent, noise));
        say("text of no words", feed_text(m, 0, 1));
        say("text of 8 words", feed_text(m, 8, 1));
        say("a call without text", fed_separately_forward(m, latent, noise));
        say("text of 3 words", feed_text(m, 3, 1));
        compare("a call", m, p, 3, 1, 0.5f, 4, 1);
        compare("a call, another picture", m, p, 3, 1, 0.5f, 4, 2);
        say("another condition", feed_condition(m, 0.25f, 2));
        compare("a call", m, p, 3, 1, 0.25f, 2, 2);
        compare("a call, the first picture", m, p, 3, 1, 0.25f, 2, 1);
        say("text of 7 words", feed_text(m, 7, 2));
        compare("a call", m, p, 7, 2, 0.25f, 2, 1);
        say("text of 8 words", feed_text(m, 8, 3));
        say("a call after a refusal", fed_separately_forward(m, latent, noise));
        say("text of 1 word", feed_text(m, 1, 3));
        compare("a call", m, p, 1, 3, 0.25f, 2, 1);
}
#else
enum { VOCAB = 37, CONTEXT = 24 };
static int32_t words[CONTEXT + 1], tokens[CONTEXT + 1];

static void number(int32_t *ids, int n, int seed)
{
        for (int i = 0; i < n; i++)
                ids[i] = (i * 7 + seed * 11) % VOCAB;
}

static int feed(fed_separately *m, int64_t n, int seed)
{
        number(words, CONTEXT + 1, seed);
        int error = fed_separately_feed_source(m, n, words);
        number(words, CONTEXT + 1, 5);
        return error;
}

/* n positions from where both stand */
static void compare(const char *what, fed_separately *m, at_once *p, int64_t length, int seed, int64_t n)
{
        number(tokens, CONTEXT, seed + 1);
        printf("%s: %s; position %d\n", what,
               fed_separately_error(fed_separately_forward(m, tokens, n, noise)),
               (int)fed_separately_position(m));
        number(words, CONTEXT, seed);
        int error = at_once_forward(p, length, words, tokens, n, expected);
        printf("  %s\n", error                                            ? at_once_error(error)
                         : memcmp(noise, expected, (size_t)n * VOCAB * 4) ? "OTHER BITS"
                                                                          : "the same bits");
}

static void run(fed_separately *m, at_once *p)
{
        say("a step before all", fed_separately_step(m, 1, noise));
        say("a prompt before all", fed_separately_prefill(m, tokens, 3));
        say("a source of no words", feed(m, 0, 1));
        say("a source of 25 words", feed(m, CONTEXT + 1, 1));
        words[0] = VOCAB;
        say("a source with a word too high", fed_separately_feed_source(m, 1, words));
        say("a step", fed_separately_step(m, 1, noise));
        say("a source of 9 words", feed(m, 9, 1));
        compare("5 positions", m, p, 9, 1, 5);
        compare("3 positions more", m, p, 9, 1, 3);
        say("more than the context holds", fed_separately_prefill(m, tokens, CONTEXT - 7));
        say("another source, of 24 words", feed(m, CONTEXT, 2));
        at_once_reset(p);
        compare("the whole context", m, p, CONTEXT, 2, CONTEXT);
        say("a source of 25 words", feed(m, CONTEXT + 1, 1));
        say("a step after a refusal", fed_separately_step(m, 1, noise));
}
#endif

int main(int argc, char **argv)
{
        int error = 2, plain_failed = 0;
        fed_separately *m = argc == 3 ? fed_separately_new(argv[1], 2, &error) : NULL;
        at_once *p = argc == 3 ? at_once_new(argv[2], 1, &plain_failed) : NULL;
        if (!m || !p)
                return 3;
        run(m, p);
        fed_separately_free(m);
        at_once_free(p);
        return 0;
}
