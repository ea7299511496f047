/* Prints the ten most likely next tokens, one after another; the argument is the weight file, if the library has no weights inside. */
#include <stdio.h>
#include <string.h>
#include "tale.h"

int main(int argc, char **argv)
{
        static float logits[TALE_VOCAB];
        int error;
        tale *m = tale_new(argc > 1 ? argv[1] : NULL, 2, &error);
        for (int32_t token = 1, i = 0; !error && i < 10; i++) {
                error = tale_step(m, token, logits);
                for (int32_t id = 0; id < TALE_VOCAB; id++)
                        if (logits[id] > logits[token])
                                token = id;
                printf("%d ", (int)token);
        }
        printf("%s\n", error                                  ? tale_error(error)
                       : strcmp(tale_version(), TALE_VERSION) ? "another version"
                                                              : "");
        tale_free(m);
        return error != TALE_OK;
}
