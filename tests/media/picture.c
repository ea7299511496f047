/* Pictures as compiler/media reads and resizes them: a line `FILE CHANNELS WIDTH HEIGHT HOW` of standard input becomes one of standard
 * output, the size and the pixels in hexadecimal, or what is wrong.  WIDTH 0: it is not resized.  HOW: bilinear or bicubic. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "media/media.h"

static const char *one(Arena *a, const char *path, int channels, int width, int height, const char *how)
{
        Image image;
        bool env_error;
        const char *why = image_read(a, path, channels, &image, &env_error);
        if (why)
                return why;
        const int cubic = !strcmp(how, "bicubic");
        width = width ? width : image.width;
        height = height ? height : image.height;
        static const float mean[3], std[3] = {1, 1, 1};
        const PictureForm form = {channels, height, width, cubic, 0, 0, mean, std};
        if (!picture_fits(&form, image.width, image.height, channels)) {
                why = image_values(a, &image, &form, NULL);
                image_free(&image);
                return why;
        }
        void *room = malloc(picture_resized_room(image.width, image.height, channels, width, height, cubic));
        const uint8_t *pixel =
                picture_resized(image.pixel, image.width, image.height, channels, width, height, cubic, room);
        printf("%d %d ", width, height);
        for (int i = 0; i < width * height * channels; i++)
                printf("%02x", pixel[i]);
        printf("\n");
        free(room);
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
