/* Images resized, to the bit as Pillow's Image.resize does images of 8 bits, up to its version 12.
 *
 * Each axis by itself, rows first: an output pixel is the sum of the input pixels that a filter around its middle reaches, by weights
 * whose sum is 1.  Where an axis becomes smaller the filter is as many times wider.  Weights have 22 bits behind the point, and the
 * result of each axis is rounded to 8 bits. */
#include <math.h>
#include <stdlib.h>

#include "media.h"

enum { FRACTION = 22 };

static double triangle(double x)
{
        x = fabs(x);
        return x < 1 ? 1 - x : 0;
}

/* Keys 1981, "Cubic convolution interpolation for digital image processing", a = -1/2 */
static double cubic(double x)
{
        const double a = -0.5;
        x = fabs(x);
        if (x < 1)
                return ((a + 2) * x - (a + 3)) * x * x + 1;
        return x < 2 ? (((x - 5) * x + 8) * x - 4) * a : 0;
}

static const struct {
        double (*at)(double x);
        double reach;
} filter[] = {[RESIZE_BILINEAR] = {triangle, 1}, [RESIZE_BICUBIC] = {cubic, 2}};

/* One axis: what each output is made of. */
typedef struct {
        int64_t width;   /* weights of an output, at most */
        int *first, *n;  /* [out]: of the inputs */
        int32_t *weight; /* [out][width] */
} Taps;

static void taps_free(Taps *t)
{
        free(t->first);
        free(t->n);
        free(t->weight);
}

static bool taps_new(Taps *t, int in, int out, Resampling how)
{
        double scale = (double)in / out, wider = scale < 1 ? 1 : scale, reach = filter[how].reach * wider;
        *t = (Taps){.width = (int64_t)ceil(reach) * 2 + 1};
        t->first = malloc((size_t)out * sizeof *t->first);
        t->n = malloc((size_t)out * sizeof *t->n);
        t->weight = malloc((size_t)(out * t->width) * sizeof *t->weight);
        double *exact = malloc((size_t)t->width * sizeof *exact);
        bool good = t->first && t->n && t->weight && exact;
        for (int i = 0; i < out && good; i++) {
                double middle = (i + 0.5) * scale, sum = 0, step = 1 / wider;
                int begin = (int)(middle - reach + 0.5), end = (int)(middle + reach + 0.5);
                begin = begin < 0 ? 0 : begin;
                end = end > in ? in : end;
                for (int k = 0; k < end - begin; k++)
                        sum += exact[k] = filter[how].at((k + begin - middle + 0.5) * step);
                for (int k = 0; k < end - begin; k++) {
                        double w = (sum != 0 ? exact[k] / sum : exact[k]) * (1 << FRACTION);
                        t->weight[i * t->width + k] = (int32_t)(w + (w < 0 ? -0.5 : 0.5));
                }
                t->first[i] = begin;
                t->n[i] = end - begin;
        }
        free(exact);
        return good;
}

/* Along one axis: in [outer][size][inner] -> out [outer][result][inner]. */
static void resample(const Taps *t, const uint8_t *in, uint8_t *out, int64_t outer, int size, int result,
                     int64_t inner)
{
        for (int64_t o = 0; o < outer; o++)
                for (int i = 0; i < result; i++) {
                        const uint8_t *from = in + (o * size + t->first[i]) * inner;
                        const int32_t *weight = t->weight + i * t->width;
                        for (int64_t c = 0; c < inner; c++) {
                                int64_t sum = 1 << (FRACTION - 1);
                                for (int k = 0; k < t->n[i]; k++)
                                        sum += (int64_t)from[k * inner + c] * weight[k];
                                sum >>= FRACTION;
                                *out++ = (uint8_t)(sum < 0 ? 0 : sum > 255 ? 255 : sum);
                        }
                }
}

/* Axis 0 is the height, 1 the width. */
static const char *resize_axis(Arena *a, Image *image, int axis, int64_t result, Resampling how)
{
        int size = axis ? image->width : image->height;
        Image other;
        Taps taps = {0};
        if (size == result)
                return NULL;
        const char *why = image_new(a, axis ? result : image->width, axis ? image->height : result,
                                    image->channels, &other);
        if (!why && !taps_new(&taps, size, (int)result, how))
                why = no_memory;
        if (!why)
                resample(&taps, image->pixel, other.pixel, axis ? image->height : 1, size, (int)result,
                         axis ? image->channels : (int64_t)image->width * image->channels);
        taps_free(&taps);
        image_free(image);
        if (why)
                image_free(&other);
        *image = other;
        return why;
}

const char *image_resize(Arena *a, Image *image, int64_t width, int64_t height, Resampling how)
{
        const char *why = resize_axis(a, image, 1, width, how);
        return why ? why : resize_axis(a, image, 0, height, how);
}
