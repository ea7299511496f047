/* The list of files that this process has read as inputs, in order; for --depfile. */
#include "base.h"

#include <stdlib.h>
#include <string.h>

static const char **list;
static int n, room;

void input_read(const char *path)
{
        if (!strcmp(path, "-"))
                return;
        for (int i = 0; i < n; i++)
                if (!strcmp(list[i], path))
                        return;
        if (n == room) {
                const char **longer = realloc(list, (size_t)(room = room ? 2 * room : 16) * sizeof *list);
                if (!longer)
                        arena_without_memory();
                list = longer;
        }
        list[n] = strdup(path);
        if (!list[n])
                arena_without_memory();
        n++;
}

const char *const *inputs_read(int *count)
{
        *count = n;
        return list;
}
