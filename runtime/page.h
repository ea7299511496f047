/*
 * Functions that a page calls in its model (compiler/emit/emit_command.c).  $model and $MODEL are the model's name.
 *
 * The module imports nothing: a page writes and reads bytes at addresses that these functions return.
 *
 * Needs the model's functions.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define PAGE(name) __attribute__((export_name(#name))) page_##name

static $model *page_model;

/* Allocates `bytes` bytes, aligned to 64; NULL: out of memory.  To be freed with page_give_back(). */
void *PAGE(room)(size_t bytes)
{
        void *memory = NULL;
        return posix_memalign(&memory, 64, bytes) ? NULL : memory;
}

void PAGE(give_back)(void *memory)
{
        free(memory);
}

/* Opens the model with the contents of a weight file, in place.  Returns 0 or an error. */
int PAGE(open)(const void *image, size_t bytes)
{
        int error = 0;
        page_model = $model_new_from(image, bytes, 1, &error);
        return error;
}

/* Whether the error says that the engine's multiply-add rounds twice: then the page loads the other module. */
int PAGE(rounds_wrong)(int error)
{
        return error == $MODEL_ERROR_FLOAT;
}

const char *PAGE(error_text)(int error)
{
        return $model_error(error);
}
