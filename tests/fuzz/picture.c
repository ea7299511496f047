/* A picture: PNG, PPM or PGM, of colours and of grey, and resized. */
#include "harness.h"
#include "media/media.h"

static void read_as(const char *path, int channels, int cubic)
{
        Arena arena = {0};
        Image image;
        bool env_error;
        const char *why = image_read(&arena, path, channels, &image, &env_error);
        harness_require(!why || *why, "refused without a word");
        if (!why) {
                harness_require(image.channels == channels && image.width > 0 && image.height > 0,
                                "no image");
                static const float mean[3], std[3] = {1, 1, 1};
                const PictureForm form = {channels, 5, 7, cubic, 0, 0, mean, std};
                float values[105];
                if ((int64_t)image.width * image.height < 1 << 16)
                        why = image_values(&arena, &image, &form, values);
                harness_require(!why, "it is not resized");
                image_free(&image);
        }
        arena_free(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        const char *path = harness_file(".png", data, size);
        read_as(path, 3, 1);
        read_as(path, 1, 0);
        return 0;
}
