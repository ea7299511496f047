/*
 * Functions that a page calls in its model (compiler/emit/emit_command.c).  $model and $MODEL are the model's name.
 *
 * Nothing is imported: a page writes and reads bytes at addresses that these functions return.
 *
 * Needs the model's functions.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define PAGE(name) __attribute__((export_name(#name))) page_##name

static $model *page_model;

/* Room for so many bytes, aligned to 64; NULL: memory is short.  To be given back. */
void *PAGE(room)(size_t bytes)
{
        void *memory = NULL;
        return posix_memalign(&memory, 64, bytes) ? NULL : memory;
}

void PAGE(give_back)(void *memory)
{
        free(memory);
}

/* Takes the weights, all that their file holds, where they are.  0, or an error. */
int PAGE(open)(const void *image, size_t bytes)
{
        int error = 0;
        page_model = $model_new_from(image, bytes, 1, &error);
        return error;
}

/* Whether the error is that of a machine whose multiply-add rounds twice: another module is to be taken. */
int PAGE(rounds_wrong)(int error)
{
        return error == $MODEL_ERROR_FLOAT;
}

const char *PAGE(error_text)(int error)
{
        return $model_error(error);
}
