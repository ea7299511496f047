/* lathe build --depfile: writes a make dependency file. */
#include <string.h>

#include "build_private.h"

typedef enum { OF_TARGET, OF_INPUT } NameRole;

/* A name in make's syntax.  A special character gets a backslash, and backslashes before it are doubled.  In a
 * target % stands for any text; among inputs | begins those whose times make ignores. */
static void depfile_name(Text *t, const char *name, NameRole role)
{
        const char *special = role == OF_TARGET ? " #:%" : " #:|";
        int64_t backslashes = 0;
        for (; *name; name++) {
                if (strchr(special, *name))
                        for (int64_t i = -1; i < backslashes; i++)
                                text_put(t, "\\");
                if (*name == '$')
                        text_put(t, "$");
                text_add(t, name, 1);
                backslashes = *name == '\\' ? backslashes + 1 : 0;
        }
}

/* Whether make has a way to write this name: a `=` would make a variable of a target or the first input. */
static bool make_can_name(const char *name, bool may_assign)
{
        const int64_t n = (int64_t)strlen(name);
        const char last = n ? name[n - 1] : 0;
        return !strpbrk(name, ";\n\r\t") && last != '\\' && last != ' ' &&
               !(last == ')' && strchr(name, '(')) && !(may_assign && strchr(name, '='));
}

bool build_depfile(Arena *a, WrittenFile *to, const char *path, const WrittenFile *made, int n)
{
        Text *t = text_new(a);
        int inputs;
        const char *const *input = inputs_read(&inputs);
        const char *wrong = NULL;
        for (int i = 0; i < n; i++)
                wrong = wrong || make_can_name(made[i].path, true) ? wrong : made[i].path;
        for (int i = 0; i < inputs; i++)
                wrong = wrong || make_can_name(input[i], i == 0) ? wrong : input[i];
        if (wrong) {
                if (output_begin(to, path))
                        to->error = arena_printf(a, "a makefile can't name '%s'; give that file another name",
                                                 wrong);
                return false;
        }
        for (int i = 0; i < n; i++) {
                text_put(t, i ? " " : "");
                depfile_name(t, made[i].path, OF_TARGET);
        }
        text_put(t, ":");
        for (int i = 0; i < inputs; i++) {
                text_put(t, " \\\n  ");
                depfile_name(t, input[i], OF_INPUT);
        }
        /* missing files are not an error */
        for (int i = 0; i < inputs; i++) {
                text_put(t, i ? "\n" : "\n\n");
                depfile_name(t, input[i], OF_TARGET);
                text_put(t, ":");
        }
        text_put(t, "\n");
        return output_bytes(to, path, t->data, t->n);
}
