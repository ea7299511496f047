/*
 * Asks an emitted model whose prefix is `subject`: a text a line on standard input, an answer a line on standard output.
 *   usage: ask WEIGHTS
 * The model goes on from the text.  Built with -DREADS it has an encoder, which reads the text, and begins a text of its own.  Built
 * with -DLABELS the answer is the number of the best class, and the cosine of the text's vector with that of the text before.  Built with
 * -DPICTURES there are no texts but floats, of one picture after another, and the answer is the number of the best class.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "subject.h"

enum { ROOM = 4096 };

#if defined(LABELS) || defined(PICTURES)
static int best_of(const float *scores, int n)
{
        int best = 0;
        for (int i = 1; i < n; i++)
                if (scores[i] > scores[best])
                        best = i;
        return best;
}
#endif

#ifdef PICTURES
static int answer_all(subject *m)
{
        static float pixels[SUBJECT_PICTURE * SUBJECT_PICTURE];
        float scores[SUBJECT_CLASSES];
        int error = 0;
        while (!error && fread(pixels, sizeof pixels, 1, stdin) == 1) {
                error = subject_forward(m, pixels, NULL, scores);
                printf("%d\n", best_of(scores, SUBJECT_CLASSES));
        }
        return error;
}
#else
static int32_t ids[ROOM];

/* The number of tokens of a text, in ids; -1 if there is no room. */
static int64_t take(const subject *m, const char *text)
{
        static char scratch[1 << 20];
        const int64_t n = (int64_t)strlen(text);
        if (subject_encode_scratch(m, n) > (int64_t)sizeof scratch)
                return -1;
        const int64_t made = subject_encode(m, text, n, 0, ids, ROOM, scratch);
        return made > ROOM ? -1 : made;
}

#ifdef LABELS
enum { WIDTH = SUBJECT_D_MODEL };

static int answer(subject *m, const char *text)
{
        static float before[WIDTH];
        static int32_t keep[ROOM];
        float scores[SUBJECT_CLASSES], sentence[WIDTH], cosine = 0;
        const int64_t n = take(m, text);
        for (int64_t i = 0; i < n; i++)
                keep[i] = 1;
        const int error = subject_forward(m, n, ids, keep, NULL, NULL, scores, sentence);
        for (int i = 0; !error && i < WIDTH; i++)
                cosine += sentence[i] * before[i];
        if (!error)
                printf("%d %.5f\n", best_of(scores, SUBJECT_CLASSES), (double)cosine);
        memcpy(before, sentence, sizeof before);
        return error;
}
#else
typedef struct {
        const subject *model;
        subject_text text;
} Shown;

static int show(void *of, int32_t token)
{
        char text[256];
        Shown *shown = of;
        if (subject_decode_room(shown->model) > (int64_t)sizeof text)
                return 1;
        fwrite(text, 1, (size_t)subject_decode(shown->model, &shown->text, token, 0, text), stdout);
        return 0;
}

static int answer(subject *m, const char *text)
{
        static char scratch[1 << 20];
        Shown shown = {m, {{0}, 0, 0}};
        const int64_t n = take(m, text);
        if (subject_generate_scratch(NULL) > sizeof scratch)
                return -1;
#ifdef READS
        const int32_t start = 1;
        const int error = subject_feed_source(m, n, ids);
        if (error)
                return error;
        const int32_t *begin = &start;
        const int64_t begins = 1;
#else
        subject_reset(m);
        const int32_t *begin = ids;
        const int64_t begins = n;
#endif
        const int made = subject_generate(m, begin, begins, NULL, show, &shown, scratch, NULL);
        printf("\n");
        return made;
}
#endif

static int answer_all(subject *m)
{
        static char line[ROOM];
        int error = 0;
        while (!error && fgets(line, sizeof line, stdin)) {
                line[strcspn(line, "\n")] = 0;
                error = answer(m, line);
        }
        return error;
}
#endif

int main(int count, char **argument)
{
        int error;
        subject *m = subject_new(count > 1 ? argument[1] : NULL, 1, &error);
        if (!m) {
                fprintf(stderr, "ask: %s\n", subject_error(error));
                return 1;
        }
        if ((error = answer_all(m)))
                fprintf(stderr, "ask: %s\n", subject_error(error));
        subject_free(m);
        return error != 0;
}
