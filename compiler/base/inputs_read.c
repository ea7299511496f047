/* The list of files that this process has read as inputs, in order; for --depfile, and against overwriting. */
#include "base.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char **list;
static char *replaced;
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

void input_to_replace(const char *path)
{
        free(replaced);
        replaced = strdup(path);
        if (!replaced)
                arena_without_memory();
}

bool is_input_read(const char *path)
{
        struct stat output, input;
        if ((replaced && !strcmp(replaced, path)) || stat(path, &output))
                return false;
        for (int i = 0; i < n; i++)
                if (!stat(list[i], &input) && input.st_dev == output.st_dev && input.st_ino == output.st_ino)
                        return true;
        return false;
}
