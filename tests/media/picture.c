/* Pictures as compiler/media reads and resizes them: a line `FILE CHANNELS WIDTH HEIGHT HOW` of standard input becomes one of standard
 * output, the size and the pixels in hexadecimal, or what is wrong.  WIDTH 0: it is not resized.  HOW: bilinear or bicubic. */
#include <stdio.h>
#include <string.h>

#include "media/media.h"

static const char *one(Arena *a, const char *path, int channels, int width, int height, const char *how)
{
        Image image;
        bool lacking;
        const char *why = image_read(a, path, channels, &image, &lacking);
        if (!why && width)
                why = image_resize(a, &image, width, height, strcmp(how, "bicubic") ? RESIZE_BILINEAR : RESIZE_BICUBIC);
        if (why)
                return why;
        printf("%d %d ", image.width, image.height);
        for (int i = 0; i < image.width * image.height * image.channels; i++)
                printf("%02x", image.pixel[i]);
        printf("\n");
        image_free(&image);
        return NULL;
}

int main(void)
{
        char path[512], how[16];
        int channels, width, height;
        while (scanf("%511s %d %d %d %15s", path, &channels, &width, &height, how) == 5) {
                Arena arena = {0};
                const char *why = one(&arena, path, channels, width, height, how);
                if (why)
                        printf("%s\n", why);
                arena_free(&arena);
        }
        return 0;
}
