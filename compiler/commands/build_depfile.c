/* lathe build --depfile: writes a make dependency file. */
#include <string.h>

#include "build_private.h"

/* A name in make's syntax. */
static void depfile_name(Text *t, const char *name)
{
        for (; *name; name++) {
                if (*name == ' ' || *name == '#')
                        text_put(t, "\\");
                if (*name == '$')
                        text_put(t, "$");
                text_add(t, name, 1);
        }
}

bool build_depfile(Arena *a, WrittenFile *to, const char *path, const WrittenFile *made, int n)
{
        Text *t = text_new(a);
        int inputs;
        const char *const *input = inputs_read(&inputs);
        for (int i = 0; i < n; i++) {
                text_put(t, i ? " " : "");
                depfile_name(t, made[i].path);
        }
        text_put(t, ":");
        for (int i = 0; i < inputs; i++) {
                text_put(t, " \\\n  ");
                depfile_name(t, input[i]);
        }
        /* missing files are not an error */
        for (int i = 0; i < inputs; i++) {
                text_put(t, i ? "\n" : "\n\n");
                depfile_name(t, input[i]);
                text_put(t, ":");
        }
        text_put(t, "\n");
        return output_bytes(to, path, t->data, t->n);
}
