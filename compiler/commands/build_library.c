/* lathe build --lib: the C as a static and a shared library, by the system's compiler, and their pkg-config file. */
#define _XOPEN_SOURCE 700 /* realpath, symlink */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "build_private.h"

enum { MAX_COMPILER_WORDS = 64, MESSAGE = 4000 };

/* A temporary folder, and the names in it. */
typedef struct {
        Arena *arena;
        const LibraryParts *parts;
        char *folder;
        const char *name[8]; /* C, header, weights, object, archive, shared object, log */
        char message[MESSAGE];
} Workshop;
enum { THE_C, THE_HEADER, THE_WEIGHTS, THE_OBJECT, THE_ARCHIVE, THE_SHARED, THE_LOG };

static const char *library_path(const Workshop *w, int which)
{
        return arena_printf(w->arena, "%s/%s", w->folder, w->name[which]);
}

static const char *command_of(const char *variable, const char *otherwise)
{
        const char *said = getenv(variable);
        return said && *said ? said : otherwise;
}

/* Runs a command with further words, ended by NULL; false after a message. */
static bool library_run(Workshop *w, const char *variable, const char *otherwise, const char *flags,
                        const char *const *word)
{
        const char *command = command_of(variable, otherwise);
        char *argument[MAX_COMPILER_WORDS + 1];
        int n = tool_words(arena_strdup(w->arena, command), argument, 0, MAX_COMPILER_WORDS / 4);
        n = tool_words(arena_strdup(w->arena, flags), argument, n, MAX_COMPILER_WORDS / 2);
        for (; *word && n < MAX_COMPILER_WORDS; word++)
                argument[n++] = arena_strdup(w->arena, *word);
        argument[n] = NULL;
        const int error =
                tool_run(argument, w->folder, library_path(w, THE_LOG), w->message, sizeof w->message);
        if (error)
                fprintf(stderr,
                        "lathe build: --lib needs a C compiler and ar: %s: %s.  Set CC and AR to others; "
                        "without --lib only the C is written.  Nothing was written\n",
                        command, strerror(error));
        else if (*w->message)
                fprintf(stderr,
                        "lathe build: %s could not make the library; nothing was written.  It says:\n%s%s",
                        command, w->message, w->message[strlen(w->message) - 1] == '\n' ? "" : "\n");
        return !error && !*w->message;
}

/* Writes the sources, and links the weights under the name that the C uses. */
static bool set_up(Workshop *w)
{
        const LibraryParts *p = w->parts;
        if (!write_file(library_path(w, THE_C), p->c->data, p->c->n) ||
            !write_file(library_path(w, THE_HEADER), p->h->data, p->h->n))
                return false;
        char *weights = p->weights ? realpath(p->weights, NULL) : NULL;
        const bool good = !p->weights || (weights && !symlink(weights, library_path(w, THE_WEIGHTS)));
        if (!good)
                fprintf(stderr, "lathe build: %s: %s\n", library_path(w, THE_WEIGHTS), strerror(errno));
        free(weights);
        return good;
}

static bool library_compile(Workshop *w)
{
        const LibraryParts *p = w->parts;
        const char *object = library_path(w, THE_OBJECT), *archive = library_path(w, THE_ARCHIVE);
        const char *to_object[] = {"-std=c11", "-O2",  "-fPIC", "-pthread", "-c", library_path(w, THE_C),
                                   "-o",       object, NULL};
        const char *to_archive[] = {"rcs", archive, object, NULL};
        const char *to_shared[] = {
                "-shared", "-pthread", arena_printf(w->arena, "-Wl,-soname,%s", w->name[THE_SHARED]),
                object,    "-o",       library_path(w, THE_SHARED),
                NULL};
        const bool told = isatty(STDERR_FILENO);
        if (told)
                fprintf(stderr, "%s compiles %s.c ..", command_of("CC", "cc"), p->base);
        const bool good = library_run(w, "CC", "cc", p->target->flags, to_object);
        if (told)
                terminal_control(stderr, "\r\033[K");
        return good && library_run(w, "AR", "ar", "", to_archive) &&
               library_run(w, "CC", "cc", "", to_shared);
}

static bool library_describe(const Workshop *w, WrittenFile *to, const char *folder)
{
        const LibraryParts *p = w->parts;
        const char *weights =
                p->weights_beside ? arena_printf(w->arena, "weights=${pcfiledir}/%s.weights\n", p->base) : "";
        Text *t = text_new(w->arena);
        text_printf(t,
                    "%s\nName: %s\nDescription: the model %s, as a library that lathe wrote\nVersion: %s\n"
                    "Cflags: -I${pcfiledir}\nLibs: -L${pcfiledir} -l%s -pthread\n",
                    weights, p->base, p->model, LATHE_VERSION, p->base);
        return output_bytes(to, arena_printf(w->arena, "%s%s.pc", folder, p->base), t->data, t->n);
}

int build_library(Arena *a, const LibraryParts *parts, const char *folder, WrittenFile *file, int *n)
{
        const char *b = parts->base;
        Workshop w = {
                .arena = a,
                .parts = parts,
                .folder = arena_strdup(a, arena_printf(a, "%s/lathe-XXXXXX", command_of("TMPDIR", "/tmp"))),
                .name = {arena_printf(a, "%s.c", b), arena_printf(a, "%s.h", b),
                         arena_printf(a, "%s.c.weights", b), arena_printf(a, "%s.o", b),
                         arena_printf(a, "lib%s.a", b), arena_printf(a, "lib%s.so", b), "log"}};
        if (!mkdtemp(w.folder)) {
                fprintf(stderr, "lathe build: %s: %s; TMPDIR names another place\n", w.folder,
                        strerror(errno));
                return WRONG_ENVIRONMENT;
        }
        const int entry = ending_folder(w.folder, w.name);
        const bool good = set_up(&w) && library_compile(&w);
        for (int i = THE_ARCHIVE; i <= THE_SHARED && good; i++)
                output_copy(&file[(*n)++], arena_printf(a, "%s%s", folder, w.name[i]), library_path(&w, i));
        if (good)
                library_describe(&w, &file[(*n)++], folder);
        remove_folder(w.folder, w.name);
        ending_forget(entry);
        return good ? DONE : WRONG_ENVIRONMENT;
}
