/* lathe build --python: a package for the module, which pip installs, and compiles the C. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "build_private.h"

static const char *const file_name[PYTHON_FILES] = {"__init__.py", "pyproject.toml", "setup.py"};
static const char mark[] = "# A Python package that lathe wrote.\n";

/* Whether it is missing, or was written by lathe. */
static bool is_ours(const char *path)
{
        char head[sizeof mark] = {0};
        FILE *f = fopen(path, "r");
        const size_t n = f ? fread(head, 1, sizeof mark - 1, f) : 0;
        if (f)
                fclose(f);
        return !f || !n || !strcmp(head, mark);
}

bool python_fits(const CommandOptions *o)
{
        Arena a = {0};
        const char *folder = folder_of(&a, o->out);
        bool good = *folder;
        if (!good)
                fprintf(stderr, "lathe build: --python writes a package, whose files have names of their "
                                "own: give it a "
                                "folder, as -o tale/tale.c\n");
        else if (mkdir(folder, 0777) && errno != EEXIST) {
                fprintf(stderr, "lathe build: %s: %s\n", folder, strerror(errno));
                good = false;
        }
        for (int i = 0; i < PYTHON_FILES && good; i++) {
                const char *path = arena_printf(&a, "%s%s", folder, file_name[i]);
                good = is_ours(path);
                if (!good)
                        fprintf(stderr,
                                "lathe build: %s was not written by lathe, and --python would overwrite it: "
                                "-o names "
                                "a file in "
                                "another folder\n",
                                path);
        }
        arena_free(&a);
        return good;
}

bool python_name_fits(const char *name)
{
        static const char *const word[] = {"and",   "as",   "assert", "async",    "await", "class",  "def",
                                           "del",   "elif", "except", "finally",  "from",  "global", "import",
                                           "in",    "is",   "lambda", "nonlocal", "not",   "or",     "pass",
                                           "raise", "try",  "with",   "yield"};
        for (size_t i = 0; i < sizeof word / sizeof *word; i++)
                if (!strcmp(word[i], name)) {
                        fprintf(stderr,
                                "lathe build: a package can't be named %s, a keyword of Python; --prefix "
                                "gives "
                                "it another name\n",
                                name);
                        return false;
                }
        return true;
}

static void add_flags(Text *t, const char *flags)
{
        for (const char *at = flags + strspn(flags, " "); *at; at += strspn(at, " ")) {
                const int n = (int)strcspn(at, " ");
                text_printf(t, ", \"%.*s\"", n, at);
                at += n;
        }
}

static const char *setup_text(Arena *a, const PythonParts *p)
{
        Text *t = text_new(a);
        const char *data = p->weights ? arena_printf(a, "\"%s\"", p->weights) : "";
        text_printf(t,
                    "%sfrom setuptools import Extension, setup\n\n"
                    "setup(\n    packages=[\"%s\"],\n    package_dir={\"%s\": \".\"},\n    "
                    "package_data={\"%s\": [%s]},\n"
                    "    ext_modules=[Extension(\"%s._%s\", [\"%s.c\"], depends=[\"%s.h\"%s],\n"
                    "                           extra_compile_args=[\"-std=c11\", \"-O2\"",
                    mark, p->name, p->name, p->name, data, p->name, p->name, p->base, p->base,
                    p->c_weights ? arena_printf(a, ", \"%s\"", p->c_weights) : "");
        add_flags(t, p->target->flags);
        text_printf(t, "],\n                           extra_link_args=[\"-pthread\"])])\n");
        return t->data;
}

bool build_python(Arena *a, const PythonParts *p, const char *folder, WrittenFile *file, int *n)
{
        const char *text[PYTHON_FILES] = {
                arena_printf(a, "%s%s", mark, p->module->data),
                arena_printf(a,
                             "%s[build-system]\nrequires = [\"setuptools\"]\nbuild-backend = "
                             "\"setuptools.build_meta\"\n\n"
                             "[project]\nname = \"%s\"\nversion = \"%s\"\ndependencies = [\"numpy\"]\n",
                             mark, p->name, LATHE_VERSION),
                setup_text(a, p)};
        bool good = true;
        for (int i = 0; i < PYTHON_FILES && good; i++)
                good = output_bytes(&file[(*n)++], arena_printf(a, "%s%s", folder, file_name[i]), text[i],
                                    (int64_t)strlen(text[i]));
        return good;
}
