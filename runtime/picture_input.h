/*
 * Pictures as inputs of a model: pixels of 8 bits, resized as Pillow's Image.resize does, to the bit (up to its version 12), cut from the
 * middle, each channel centred and scaled.
 *
 * Each axis is resized by itself, rows first: an output pixel is the sum of the input pixels that a filter around its middle reaches, by
 * weights whose sum is 1.  Where an axis becomes smaller the filter is as many times wider.  Weights have 22 bits behind the point, and
 * the result of each axis is rounded to 8 bits.
 */
#include <stddef.h>
#include <stdint.h>

enum { PICTURE_FRACTION = 22 };

/* The largest picture, also while it is resized: pixels. */
enum { PICTURE_PIXELS = 1 << 27 };

/* What becomes of a picture: reals [channels][rows][columns]. */
typedef struct {
        int channels, rows, columns;
        int cubic;                         /* resized by Keys' cubic; 0: by a triangle */
        int64_t shorter_side, both_sides;  /* not 0: the side becomes so long, or both do, and the middle is taken */
        const float *channel_mean, *channel_std; /* [channels], of values from 0 to 1: (x - mean) / std */
} PictureForm;

static inline double picture_triangle(double x)
{
        x = x < 0 ? -x : x;
        return x < 1 ? 1 - x : 0;
}

/* Keys 1981, "Cubic convolution interpolation for digital image processing", a = -1/2 */
static inline double picture_cubic(double x)
{
        const double a = -0.5;
        x = x < 0 ? -x : x;
        if (x < 1)
                return ((a + 2) * x - (a + 3)) * x * x + 1;
        return x < 2 ? (((x - 5) * x + 8) * x - 4) * a : 0;
}

/* How far the filter of an axis that becomes `to` long reaches from its middle, in pixels of the input. */
static inline double picture_reach(int64_t from, int64_t to, int cubic)
{
        const double scale = (double)from / (double)to;
        return (cubic ? 2 : 1) * (scale < 1 ? 1 : scale);
}

/* Weights of an output pixel, at most. */
static inline int64_t picture_weights(int64_t from, int64_t to, int cubic)
{
        return 2 * ((int64_t)picture_reach(from, to, cubic) + 1) + 1;
}

/* Output pixel i of an axis: its weights, and the first input pixel that they are for; how many there are.  real_weight: scratch. */
static inline int64_t picture_taps(int64_t from, int64_t to, int cubic, int64_t i, int64_t *first, int32_t *weight, double *real_weight)
{
        const double scale = (double)from / (double)to, reach = picture_reach(from, to, cubic), shrinks = 1 / (scale < 1 ? 1 : scale);
        const double middle = ((double)i + 0.5) * scale;
        double total = 0;
        int64_t begin = middle - reach + 0.5 < 0 ? 0 : (int64_t)(middle - reach + 0.5), end = (int64_t)(middle + reach + 0.5);
        end = end > from ? from : end;
        for (int64_t k = 0; k < end - begin; k++) {
                const double x = ((double)(k + begin) - middle + 0.5) * shrinks;
                total += real_weight[k] = cubic ? picture_cubic(x) : picture_triangle(x);
        }
        for (int64_t k = 0; k < end - begin; k++) {
                const double w = (total != 0 ? real_weight[k] / total : real_weight[k]) * (1 << PICTURE_FRACTION);
                weight[k] = (int32_t)(w + (w < 0 ? -0.5 : 0.5));
        }
        *first = begin;
        return end - begin;
}

/* Along one axis: in [outer][from][inner] to out [outer][to][inner]; room [picture_weights()] of doubles and as many numbers. */
static inline void picture_axis(const uint8_t *in, uint8_t *out, int64_t outer, int64_t from, int64_t to, int64_t inner, int cubic,
                                double *room)
{
        int32_t *weight = (int32_t *)(void *)(room + picture_weights(from, to, cubic));
        for (int64_t i = 0; i < to; i++) {
                int64_t first, n = picture_taps(from, to, cubic, i, &first, weight, room);
                for (int64_t o = 0; o < outer; o++)
                        for (int64_t c = 0; c < inner; c++) {
                                const uint8_t *pixel = in + (o * from + first) * inner + c;
                                int64_t total = 1 << (PICTURE_FRACTION - 1);
                                for (int64_t k = 0; k < n; k++)
                                        total += (int64_t)pixel[k * inner] * weight[k];
                                total >>= PICTURE_FRACTION;
                                out[(o * to + i) * inner + c] = (uint8_t)(total < 0 ? 0 : total > 255 ? 255 : total);
                        }
        }
}

/* Bytes of scratch that picture_resized() takes. */
static inline size_t picture_resized_room(int64_t width, int64_t height, int channels, int64_t to_width, int64_t to_height, int cubic)
{
        const int64_t across = picture_weights(width, to_width, cubic), down = picture_weights(height, to_height, cubic);
        return (sizeof(double) + sizeof(int32_t)) * (size_t)(across > down ? across : down) +
               (size_t)(to_width * (height + to_height)) * (size_t)channels + 16;
}

/* pixel [height][width][channels] as [to_height][to_width][channels]: itself, or in room, aligned to 8. */
static inline const uint8_t *picture_resized(const uint8_t *pixel, int64_t width, int64_t height, int channels, int64_t to_width,
                                             int64_t to_height, int cubic, void *room)
{
        const int64_t across = picture_weights(width, to_width, cubic), down = picture_weights(height, to_height, cubic);
        double *weights = (double *)room;
        uint8_t *wide = (uint8_t *)room + (sizeof(double) + sizeof(int32_t)) * (size_t)(across > down ? across : down);
        uint8_t *all = wide + to_width * height * channels;
        if (width != to_width) {
                picture_axis(pixel, wide, height, width, to_width, channels, cubic, weights);
                pixel = wide;
        }
        if (height == to_height)
                return pixel;
        picture_axis(pixel, all, 1, height, to_height, to_width * channels, cubic, weights);
        return all;
}

/* ITU-R BT.601: 0.299 red + 0.587 green + 0.114 blue, in 16 bits behind the point */
static inline uint8_t picture_luma(const uint8_t *rgb)
{
        return (uint8_t)((rgb[0] * 19595u + rgb[1] * 38470u + rgb[2] * 7471u + 0x8000u) >> 16);
}

/* How large a picture is made before the middle is taken. */
static inline void picture_stretch(const PictureForm *f, int64_t width, int64_t height, int64_t *to_width, int64_t *to_height)
{
        const int64_t side = f->shorter_side;
        *to_width = f->both_sides ? f->both_sides : f->columns;
        *to_height = f->both_sides ? f->both_sides : f->rows;
        if (side) {
                *to_width = width <= height ? side : (int64_t)((double)(side * width) / (double)height);
                *to_height = width <= height ? (int64_t)((double)(side * height) / (double)width) : side;
        }
}

/* Is there a picture, which is not too large, nor becomes so? */
static inline int picture_fits(const PictureForm *f, int64_t width, int64_t height, int channels)
{
        int64_t to_width, to_height;
        if ((channels != 1 && channels != 3) || width < 1 || height < 1 || width > PICTURE_PIXELS / height)
                return 0;
        picture_stretch(f, width, height, &to_width, &to_height);
        return to_width <= PICTURE_PIXELS / height && to_width <= PICTURE_PIXELS / to_height;
}

/* Bytes of scratch that picture_take() takes. */
static inline size_t picture_room(const PictureForm *f, int64_t width, int64_t height)
{
        int64_t to_width, to_height;
        picture_stretch(f, width, height, &to_width, &to_height);
        return picture_resized_room(width, height, f->channels, to_width, to_height, f->cubic) + (size_t)(width * height * f->channels);
}

/* pixel [height][width][channels], grey or red, green and blue, into values [channels][rows][columns] of the form.  It fits; room is
 * aligned to 8. */
static inline void picture_take(const PictureForm *f, const uint8_t *pixel, int64_t width, int64_t height, int channels, float *values,
                                void *room)
{
        int64_t to_width, to_height;
        picture_stretch(f, width, height, &to_width, &to_height);
        if (channels != f->channels) {
                uint8_t *other = (uint8_t *)room + picture_resized_room(width, height, f->channels, to_width, to_height, f->cubic);
                for (int64_t i = 0; i < width * height; i++)
                        for (int c = 0; c < f->channels; c++)
                                other[i * f->channels + c] = channels == 1 ? pixel[i] : picture_luma(pixel + 3 * i);
                pixel = other;
        }
        pixel = picture_resized(pixel, width, height, f->channels, to_width, to_height, f->cubic, room);
        const int64_t left = (to_width - f->columns) / 2, top = (to_height - f->rows) / 2;
        for (int c = 0; c < f->channels; c++)
                for (int64_t i = 0; i < f->rows; i++)
                        for (int64_t k = 0; k < f->columns; k++) {
                                const float x = (float)(pixel[((top + i) * to_width + left + k) * f->channels + c] * (1.0 / 255));
                                *values++ = (x - f->channel_mean[c]) / f->channel_std[c];
                        }
}
