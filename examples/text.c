/* Continues a text and prints each token as it is chosen; the argument is the weight file. */
#include <stdio.h>
#include <stdlib.h>
#include "tale.h"

typedef struct {
        tale *m;
        tale_text text; /* bytes of a character that is not complete yet */
} Printer;

/* called for each token; a result other than 0 ends the text */
static int print_token(void *context, int32_t token)
{
        Printer *p = context;
        char *bytes = malloc((size_t)tale_decode_room(p->m));
        if (!bytes)
                return 1;
        fwrite(bytes, 1, (size_t)tale_decode(p->m, &p->text, token, 0, bytes), stdout);
        free(bytes);
        return 0;
}

static int continue_text(tale *m, const char *prompt, int64_t bytes)
{
        const tale_generation settings = {.temperature = 0.8f, .seed = 7, .steps = 30};
        const int64_t room = tale_encode_room(m, bytes);
        int32_t *ids = malloc((size_t)room * sizeof *ids);
        void *scratch = malloc((size_t)tale_encode_scratch(m, bytes));
        void *more = malloc((size_t)tale_generate_scratch(&settings));
        Printer printer = {m, {{0}, 0, 0}};
        int error = TALE_ERROR_MEMORY;
        if (ids && scratch && more) {
                const int64_t n = tale_encode(m, prompt, bytes, 0, ids, room, scratch);
                error = tale_generate(m, ids, n, &settings, print_token, &printer, more, NULL);
        }
        free(ids);
        free(scratch);
        free(more);
        return error;
}

int main(int argc, char **argv)
{
        static const char prompt[] = "Once upon a time";
        int error;
        tale *m = tale_new(argc > 1 ? argv[1] : "tale.weights", 2, &error);
        if (m)
                error = continue_text(m, prompt, sizeof prompt - 1);
        printf("%s\n", error ? tale_error(error) : "");
        tale_free(m);
        return error;
}
