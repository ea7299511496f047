/*
 * Draws a picture of each class that is asked for by the model sketch, names it by the model doodles, and prints both.
 *   usage: paint SKETCH.weights DOODLES.weights SEED [--pixels] [NAME...]
 * Without a NAME each class is drawn.  --pixels: numbers from 0 to 255 in place of text.
 *
 * The noise is made here, so that it can be made anywhere else; the steps from it to a picture are those of the model's `loop denoise`.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "doodles.h"
#include "sketch.h"

enum { SIDE = SKETCH_SIZE, PIXELS = SIDE * SIDE, CLASSES = SKETCH_CLASSES };

/* SplitMix64 (Steele, Lea & Flood 2014) */
static uint64_t next_bits(uint64_t *state)
{
        uint64_t z = *state += 0x9e3779b97f4a7c15;
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
        z = (z ^ z >> 27) * 0x94d049bb133111eb;
        return z ^ z >> 31;
}

/* About normal, mean 0 and variance 1: twelve even numbers of 16 bits, added.  Exact, and so the same everywhere. */
static float next_noise(uint64_t *state)
{
        int32_t sum = 0;
        for (int i = 0; i < 3; i++) {
                const uint64_t bits = next_bits(state);
                for (int part = 0; part < 64; part += 16)
                        sum += (int32_t)(bits >> part & 65535);
        }
        return (float)(sum - 12 * 65535 / 2) / 65536;
}

/* x [PIXELS], -1 to 1; returns an error of sketch, or 0 */
static int paint(sketch *m, int class, uint64_t seed, float *x)
{
        const sketch_denoising how = {.goes_on = 1};
        uint64_t state = seed * CLASSES + (uint64_t) class;
        void *scratch = malloc(sketch_denoise_scratch(&how));
        for (int i = 0; i < PIXELS; i++)
                x[i] = next_noise(&state);
        const int error = scratch ? sketch_denoise(m, class, &how, x, NULL, NULL, scratch) : SKETCH_ERROR_MEMORY;
        free(scratch);
        return error;
}

/* x to 0 to 1, in place */
static void to_grey(float *x)
{
        for (int i = 0; i < PIXELS; i++) {
                const float grey = (x[i] + 1) / 2;
                x[i] = grey < 0 ? 0 : grey > 1 ? 1 : grey;
        }
}

/* pixels [PIXELS], 0 to 1; the number of a class, or -1 and *error */
static int name_of(doodles *m, const float *pixels, int *error)
{
        float logits[DOODLES_CLASSES];
        int best = 0;
        if ((*error = doodles_forward(m, pixels, NULL, logits)))
                return -1;
        for (int i = 1; i < DOODLES_CLASSES; i++)
                if (logits[i] > logits[best])
                        best = i;
        return best;
}

static void print_pixels(const float *pixels)
{
        for (int i = 0; i < PIXELS; i++)
                printf("%d%c", (int)(pixels[i] * 255 + 0.5f), i + 1 < PIXELS ? ' ' : '\n');
}

/* two rows of pixels to a line */
static void print_picture(const float *pixels)
{
        for (int y = 0; y < SIDE; y += 2) {
                char line[SIDE + 1];
                int length = 0;
                for (int x = 0; x < SIDE; x++) {
                        const int level =
                                (int)((pixels[y * SIDE + x] + pixels[(y + 1) * SIDE + x]) / 2 * 9.99f);
                        line[x] = " .:-=+*#%@"[level];
                        if (level)
                                length = x + 1;
                }
                printf("%.*s\n", length, line);
        }
}

static int class_of(const char *name)
{
        for (int i = 0; i < CLASSES; i++)
                if (!strcmp(doodles_label(i), name))
                        return i;
        return -1;
}

/* Draws, names and prints; returns an error of one of the two, or 0. */
static int show(sketch *painter, doodles *critic, int class, uint64_t seed, int as_pixels)
{
        static float x[PIXELS];
        int error = paint(painter, class, seed, x);
        if (error) {
                fprintf(stderr, "paint: %s\n", sketch_error(error));
                return error;
        }
        to_grey(x);
        const int seen = name_of(critic, x, &error);
        if (error) {
                fprintf(stderr, "paint: %s\n", doodles_error(error));
                return error;
        }
        if (as_pixels)
                print_pixels(x);
        else
                print_picture(x);
        printf("%s%s: doodles says %s\n", as_pixels ? "# " : "", doodles_label(class), doodles_label(seen));
        return 0;
}

/* The pictures that are asked for; an exit status. */
static int show_all(sketch *painter, doodles *critic, uint64_t seed, int as_pixels, int count, char **wanted)
{
        for (int i = 0; i < (count ? count : CLASSES); i++) {
                const int class = count ? class_of(wanted[i]) : i;
                if (class < 0) {
                        fprintf(stderr, "paint: there is no class %s; there are", wanted[i]);
                        for (int name = 0; name < CLASSES; name++)
                                fprintf(stderr, " %s", doodles_label(name));
                        fprintf(stderr, "\n");
                        return 2;
                }
                if (show(painter, critic, class, seed, as_pixels))
                        return 1;
        }
        return 0;
}

int main(int count, char **argument)
{
        int error, status = 1;
        char *end;
        const uint64_t seed = count > 3 ? strtoull(argument[3], &end, 10) : 0;
        if (count < 4 || *end || end == argument[3]) {
                fprintf(stderr, "usage: paint SKETCH.weights DOODLES.weights SEED [--pixels] [NAME...]\n");
                return 2;
        }
        const int as_pixels = count > 4 && !strcmp(argument[4], "--pixels");
        sketch *painter = sketch_new(argument[1], 1, &error);
        if (!painter)
                fprintf(stderr, "%s: %s\n", argument[1], sketch_error(error));
        doodles *critic = painter ? doodles_new(argument[2], 1, &error) : NULL;
        if (painter && !critic)
                fprintf(stderr, "%s: %s\n", argument[2], doodles_error(error));
        if (critic)
                status = show_all(painter, critic, seed, as_pixels, count - 4 - as_pixels,
                                  argument + 4 + as_pixels);
        doodles_free(critic);
        sketch_free(painter);
        return status;
}
