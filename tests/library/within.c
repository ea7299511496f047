/* Two models in one program, one with its weights inside. */
#include <stdio.h>
#include "inside.h"
#include "tale.h"

int main(void)
{
        int error, other;
        inside *m = inside_new(NULL, 1, &error);
        tale *t = tale_new("none.weights", 1, &other);
        printf("%d layer: %s; %d layers: %s\n", INSIDE_LAYERS, inside_error(error), TALE_LAYERS,
               tale_error(other));
        inside_free(m);
        tale_free(t);
        return error;
}
