/*
 * The loops of emitted models as functions of their interfaces, and what they say of mistakes.  Prints values as `lathe run` does.
 *   usage: loops, beside the weights; LOOP says which one
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "subject.h"

static void say(const char *what, int error)
{
        printf("%s: %s\n", what, subject_error(error));
}

#ifdef LOOP_classify
static void ask(subject *m)
{
        static const uint8_t orange[] = {250, 128, 16, 240, 96, 48}, grey[] = {9};
        double p[3] = {0};
        void *scratch = malloc(subject_classify_scratch(2, 1));
        int error = subject_classify(m, orange, 2, 1, 3, p, scratch);
        printf("%.9g %.9g %.9g %s %s %s\n", p[0], p[1], p[2], subject_label(0), subject_label(2),
               subject_label(3) ? "a label" : "none");
        say("orange", error);
        say("grey", subject_classify(m, grey, 1, 1, 1, p, scratch));
        say("no picture", subject_classify(m, NULL, 2, 1, 3, p, scratch));
        say("no width", subject_classify(m, orange, 0, 1, 3, p, scratch));
        say("two channels", subject_classify(m, orange, 3, 1, 2, p, scratch));
        say("too large", subject_classify(m, orange, INT64_C(1) << 40, INT64_C(1) << 40, 3, p, scratch));
        printf("scratch of what is too large: %zu\n",
               subject_classify_scratch(INT64_C(1) << 40, INT64_C(1) << 40));
        free(scratch);
}
#elif defined LOOP_embed
static void ask(subject *m)
{
        static const int32_t tokens[] = {1, 5, 9, 2}, strange[] = {1, 60};
        float vector[4];
        void *scratch = malloc(subject_embed_scratch(33));
        int error = subject_embed(m, tokens, 4, vector, scratch);
        printf("[%.9g, %.9g, %.9g, %.9g]\n", (double)vector[0], (double)vector[1], (double)vector[2],
               (double)vector[3]);
        say("four tokens", error);
        say("no token", subject_embed(m, tokens, 0, vector, scratch));
        say("a token that there is not", subject_embed(m, strange, 2, vector, scratch));
        say("nowhere", subject_embed(m, tokens, 4, NULL, scratch));
        say("a text that is too long", subject_embed(m, (const int32_t[33]){0}, 33, vector, scratch));
        free(scratch);
}
#elif defined LOOP_fill
static int on_mask(void *of, int64_t place, const double *p)
{
        int best = 0;
        for (int i = 1; i < 60; i++)
                best = p[i] > p[best] ? i : best;
        printf("%d: %.4f %d\n", (int)place, p[best], best);
        return --*(int *)of == 0;
}

static void ask(subject *m)
{
        static const int32_t tokens[] = {1, 7, 7, 2}, whole[] = {1, 2};
        int most = 9;
        void *scratch = malloc(subject_fill_scratch(4));
        say("two masks", subject_fill(m, tokens, 4, on_mask, &most, scratch));
        most = 1;
        say("ended behind the first", subject_fill(m, tokens, 4, on_mask, &most, scratch));
        say("none", subject_fill(m, whole, 2, on_mask, &most, scratch));
        say("nobody is told", subject_fill(m, tokens, 4, NULL, NULL, scratch));
        free(scratch);
}
#elif defined LOOP_denoise
static int on_step(void *of, int done, int calls, const float *picture)
{
        printf("%d of %d: %.4g\n", done, calls, (double)picture[0]);
        return done == *(int *)of;
}

static void ask(subject *m)
{
        float x[8], again[8];
        int most = 99;
        subject_denoising how = {.seed = 3};
        void *scratch = malloc(subject_denoise_scratch(&how));
        say("as the loop says", subject_denoise(m, 1, &how, x, on_step, &most, scratch));
        for (int i = 0; i < 8; i++)
                printf("%.9g%c", (double)x[i], i < 7 ? ' ' : '\n');
        most = 1;
        say("ended behind the first step", subject_denoise(m, 1, &how, again, on_step, &most, scratch));
        say("the same again", subject_denoise(m, 1, &how, again, NULL, NULL, scratch));
        printf("the same: %d\n", !memcmp(x, again, sizeof x));
        how.goes_on = 1;
        say("on from there", subject_denoise(m, 1, &how, again, NULL, NULL, scratch));
        printf("the same: %d\n", !memcmp(x, again, sizeof x));
        say("a class that there is not", subject_denoise(m, 5, &how, again, NULL, NULL, scratch));
        how.steps = -1;
        say("-1 steps", subject_denoise(m, 1, &how, again, NULL, NULL, scratch));
        how.steps = 1001;
        say("1001 steps", subject_denoise(m, 1, &how, again, NULL, NULL, scratch));
        how = (subject_denoising){.guidance = (double)NAN};
        say("guidance NaN", subject_denoise(m, 1, &how, again, NULL, NULL, scratch));
        say("no place", subject_denoise(m, 1, NULL, NULL, NULL, NULL, scratch));
        free(scratch);
}
#elif defined LOOP_guide
static void show(const float *x, int error)
{
        for (int i = 0; i < 8; i++)
                printf("%.9g%c", (double)x[i], i < 7 ? ' ' : '\n');
        say("it", error);
}

static void ask(subject *m)
{
        static const float text[] = {0.5f, -1, 2.5f, 0.25f, -2, 1.5f}, empty[] = {0.25f, -1, 0.5f},
                           loud[] = {0.5f, 1}, hint[] = {1, -1, 2, 0.5f, 0.25f, 0, -2, 3};
        static const int32_t marks[] = {1, 4, 6}, strange[] = {1, 4, 7}, three = 3, five = 5;
        subject_inputs without = {.words = 1, .text = empty, .loud = loud};
        subject_denoising how = {.seed = 3, .guidance = 3, .without = &without};
        float x[8];
        void *scratch = malloc(subject_denoise_scratch(&how));
        show(x, subject_denoise(m, 2, text, loud, marks, 1, hint, &how, x, NULL, NULL, scratch));
        without = (subject_inputs){.class_input = &three};
        show(x, subject_denoise(m, 2, text, loud, marks, 1, hint, &how, x, NULL, NULL, scratch));
        without = (subject_inputs){.marks = marks};
        how.guidance = 1;
        show(x, subject_denoise(m, 2, text, loud, marks, 1, hint, &how, x, NULL, NULL, scratch));
        how.guidance = 3;
        show(x, subject_denoise(m, 2, text, loud, marks, 1, hint, &how, x, NULL, NULL, scratch));
        without = (subject_inputs){.words = 1};
        say("a length without a text",
            subject_denoise(m, 2, text, loud, marks, 1, hint, &how, x, NULL, NULL, scratch));
        without = (subject_inputs){.words = 1, .text = empty};
        say("a length for one of two",
            subject_denoise(m, 2, text, loud, marks, 1, hint, &how, x, NULL, NULL, scratch));
        without = (subject_inputs){.words = 1, .loud = loud};
        say("a length for the other of two",
            subject_denoise(m, 2, text, loud, marks, 1, hint, &how, x, NULL, NULL, scratch));
        without = (subject_inputs){.words = 10, .text = text, .loud = loud};
        say("a text that is too long",
            subject_denoise(m, 2, text, loud, marks, 1, hint, &how, x, NULL, NULL, scratch));
        without = (subject_inputs){.class_input = &five};
        say("without a class that there is not",
            subject_denoise(m, 2, text, loud, marks, 1, hint, &how, x, NULL, NULL, scratch));
        without = (subject_inputs){.marks = strange};
        say("without a mark that there is not",
            subject_denoise(m, 2, text, loud, marks, 1, hint, &how, x, NULL, NULL, scratch));
        how.without = NULL;
        say("without nothing",
            subject_denoise(m, 2, text, loud, marks, 1, hint, &how, x, NULL, NULL, scratch));
        how.guidance = 1;
        say("no text", subject_denoise(m, 2, NULL, loud, marks, 1, hint, &how, x, NULL, NULL, scratch));
        say("no hint", subject_denoise(m, 2, text, loud, marks, 1, NULL, &how, x, NULL, NULL, scratch));
        say("a mark that there is not",
            subject_denoise(m, 2, text, loud, strange, 1, hint, &how, x, NULL, NULL, scratch));
        say("a text without a word",
            subject_denoise(m, 0, text, loud, marks, 1, hint, &how, x, NULL, NULL, scratch));
        free(scratch);
}
#else
static int on_token(void *of, int32_t token)
{
        (void)of;
        printf("%d ", token);
        return 0;
}

static void ask(subject *m)
{
        static const float beep[] = {0, 0.5f, -0.5f, 0.5f, -0.5f, 0.5f}; /* of beep.wav below */
        const subject_generation how = {.steps = 8};
        int64_t made;
        void *scratch = malloc(subject_transcribe_scratch(&how));
        memset(scratch, 0x42, subject_transcribe_scratch(&how)); /* no silence, and loud */
        int error = subject_transcribe(m, beep, 6, NULL, 0, &how, on_token, NULL, scratch, &made);
        printf("\n");
        say("beep", error);
        error = subject_transcribe(m, beep, 6, (const int32_t[]){1, 50, 51, 38}, 4, &how, on_token, NULL,
                                   scratch, &made);
        printf("\n");
        say("begun", error);
        say("no sound", subject_transcribe(m, beep, 0, NULL, 0, &how, on_token, NULL, scratch, &made));
        say("a sound that is too long",
            subject_transcribe(m, beep, INT64_C(1) << 40, NULL, 0, &how, on_token, NULL, scratch, &made));
        free(scratch);
}
#endif

int main(void)
{
        int error;
        subject *m = subject_new("subject.weights", 2, &error);
        if (!m) {
                say("subject.weights", error);
                return 1;
        }
        ask(m);
        subject_free(m);
        return 0;
}
