/* A picture: PNG, PPM or PGM, of colours and of grey, and resized. */
#include "harness.h"
#include "media/media.h"

static void read_as(const char *path, int channels, Resampling how)
{
        Arena arena = {0};
        Image image;
        bool lacking;
        const char *why = image_read(&arena, path, channels, &image, &lacking);
        harness_require(!why || *why, "refused without a word");
        if (!why) {
                harness_require(image.channels == channels && image.width > 0 && image.height > 0, "no image");
                if ((int64_t)image.width * image.height < 1 << 16)
                        why = image_resize(&arena, &image, 7, 5, how);
                harness_require(!why, "it is not resized");
                image_free(&image);
        }
        arena_free(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        const char *path = harness_file(".png", data, size);
        read_as(path, 3, RESIZE_BICUBIC);
        read_as(path, 1, RESIZE_BILINEAR);
        return 0;
}
