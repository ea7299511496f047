/* Pictures with plain labels, written as PNG. */
#ifndef REPL_PICTURE_H
#define REPL_PICTURE_H
#include <stdbool.h>
#include <stdint.h>

typedef struct {
        int width, height;
        uint8_t *pixel; /* [height][width][3] red, green, blue */
} Picture;

enum { LETTER_WIDTH = 6, LETTER_HEIGHT = 8 }; /* with the gaps between letters and lines */

bool picture_new(Picture *p, int64_t width, int64_t height); /* white; false: too large, or out of memory */
void picture_free(Picture *p);
void picture_fill(Picture *p, int x, int y, int width, int height, const uint8_t *colour);
/* ASCII; other bytes are boxes.  upright: the text runs upwards from (x, y). */
void picture_text(Picture *p, int x, int y, const char *text, bool upright);
bool picture_write(const Picture *p, const char *path); /* false after a message */
#endif
