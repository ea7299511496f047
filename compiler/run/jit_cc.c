/* The program through the system's C compiler, in the background: a shared object in a folder of its own, opened when it is
 * complete.  $CC names another compiler than cc. */
#include "jit_private.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { MAX_ARGUMENTS = 32, LONGEST_MESSAGE = 2000 };

struct CcBuild {
        char *folder;
        char *source, *object, *log;
        pid_t compiler;                   /* a group of processes; 0: it has ended */
        int folder_entry, compiler_entry; /* of ending.c */
        char message[LONGEST_MESSAGE];
};

static const char *const file_name[] = {"program.c", "program.so", "log", NULL};

static char *path_in(const char *folder, const char *name)
{
        size_t n = strlen(folder) + strlen(name) + 2;
        char *path = malloc(n);
        if (path)
                snprintf(path, n, "%s/%s", folder, name);
        return path;
}

/* The words of a list apart, in place. */
static int split(char *words, char **list, int n, int most)
{
        for (char *save, *w = strtok_r(words, " ", &save); w && n < most; w = strtok_r(NULL, " ", &save))
                list[n++] = w;
        return n;
}

/* The environment with our folder as TMPDIR: a compiler that is ended in the wrong moment leaves a file there.  To free(), the
 * strings with it but for those of environ; NULL without memory. */
static char **environment(const char *folder)
{
        static const char name[] = "TMPDIR=";
        size_t n = 0, kept = 0;
        while (environ[n])
                n++;
        size_t pointers = (n + 2) * sizeof(char *), bytes = sizeof name + strlen(folder);
        char **copy = malloc(pointers + bytes);
        if (!copy)
                return NULL;
        for (size_t i = 0; i < n; i++)
                if (strncmp(environ[i], name, sizeof name - 1) != 0)
                        copy[kept++] = environ[i];
        copy[kept++] = (char *)copy + pointers;
        copy[kept] = NULL;
        snprintf(copy[kept - 1], bytes, "%s%s", name, folder);
        return copy;
}

/* A group of its own: it ends when we say. */
static int start(CcBuild *b, char *const *argument)
{
        posix_spawn_file_actions_t actions;
        posix_spawnattr_t attributes;
        int error = posix_spawn_file_actions_init(&actions);
        if (error)
                return error;
        error = posix_spawnattr_init(&attributes);
        if (!error) {
                error = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
                if (!error)
                        error = posix_spawn_file_actions_addopen(&actions, 1, b->log,
                                                                 O_WRONLY | O_CREAT | O_TRUNC, 0600);
                if (!error)
                        error = posix_spawn_file_actions_adddup2(&actions, 1, 2);
                if (!error)
                        error = posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
                char **variables = environment(b->folder);
                if (!error && !variables)
                        error = ENOMEM;
                pid_t child = 0;
                if (!error)
                        error = posix_spawnp(&child, argument[0], &actions, &attributes, argument, variables);
                free(variables);
                b->compiler = error ? 0 : child;
                posix_spawnattr_destroy(&attributes);
        }
        posix_spawn_file_actions_destroy(&actions);
        return error;
}

/* Starts the compiler, its output to the log; false with errno. */
static bool spawn(CcBuild *b, const Target *t)
{
        const char *compiler = getenv("CC") && *getenv("CC") ? getenv("CC") : "cc";
        char *words = strdup(compiler), *flags = strdup(t->flags), *argument[MAX_ARGUMENTS + 12];
        int error = ENOMEM;
        if (words && flags) {
                static char *const fixed[] = {"-std=c11", "-O2", "-w", "-shared", "-fPIC", "-pthread", "-o"};
                int n = split(words, argument, 0, MAX_ARGUMENTS / 2);
                n = split(flags, argument, n, MAX_ARGUMENTS);
                for (size_t i = 0; i < sizeof fixed / sizeof fixed[0]; i++)
                        argument[n++] = fixed[i];
                argument[n++] = b->object;
                argument[n++] = b->source;
                argument[n] = NULL;
                error = start(b, argument);
        }
        free(words);
        free(flags);
        b->compiler_entry = error ? -1 : ending_process(-b->compiler);
        errno = error;
        return !error;
}

CcBuild *cc_start(Plan *p)
{
        CcBuild *b = calloc(1, sizeof *b);
        Text *text = text_new(p->graph->arena);
        if (!b)
                return NULL;
        const char *parent = getenv("TMPDIR");
        b->folder = path_in(parent && *parent ? parent : "/tmp", "lathe-XXXXXX");
        if (!b->folder || !mkdtemp(b->folder)) {
                int why = errno;
                free(b->folder);
                free(b);
                errno = why;
                return NULL;
        }
        b->folder_entry = ending_folder(b->folder, file_name);
        b->compiler_entry = -1;
        b->source = path_in(b->folder, file_name[0]);
        b->object = path_in(b->folder, file_name[1]);
        b->log = path_in(b->folder, file_name[2]);
        emit_program_alone(p, NULL, text);
        if (b->source && b->object && b->log && write_file(b->source, text->data, text->n) &&
            spawn(b, p->target))
                return b;
        int why = errno;
        cc_free(b);
        errno = why;
        return NULL;
}

static void read_log(CcBuild *b)
{
        FILE *f = fopen(b->log, "r");
        size_t n = f ? fread(b->message, 1, sizeof b->message - 1, f) : 0;
        b->message[n] = 0;
        if (f)
                fclose(f);
        if (!n)
                snprintf(b->message, sizeof b->message, "the C compiler failed");
}

static CcState open_object(CcBuild *b, JitCode *code)
{
        void *object = dlopen(b->object, RTLD_NOW | RTLD_LOCAL);
        void *program = object ? dlsym(object, "lathe_program") : NULL;
        if (!program) {
                const char *why = dlerror();
                snprintf(b->message, sizeof b->message, "%s", why ? why : "it holds no program");
                if (object)
                        dlclose(object);
                return CC_FAILED;
        }
        memcpy(&code->program, &program, sizeof program);
        code->instance = dlsym(object, "lathe_instance");
        code->from = object;
        return CC_DONE;
}

CcState cc_poll(CcBuild *b, bool wait, JitCode *code)
{
        int status = 0;
        pid_t ended;
        do
                ended = waitpid(b->compiler, &status, wait ? 0 : WNOHANG);
        while (ended < 0 && errno == EINTR && wait);
        if (ended == 0 || (ended < 0 && errno == EINTR))
                return CC_RUNNING;
        ending_forget(b->compiler_entry);
        b->compiler_entry = -1;
        b->compiler = 0;
        if (ended > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0)
                return open_object(b, code);
        read_log(b);
        return CC_FAILED;
}

const char *cc_message(const CcBuild *b)
{
        return b->message;
}

void cc_free(CcBuild *b)
{
        if (!b)
                return;
        if (b->compiler)
                end_process(-b->compiler);
        ending_forget(b->compiler_entry);
        remove_folder(b->folder, file_name);
        free(b->source);
        free(b->object);
        free(b->log);
        ending_forget(b->folder_entry);
        free(b->folder);
        free(b);
}

void jit_cc_free(JitCode *code)
{
        if (code->from)
                dlclose(code->from);
        *code = (JitCode){0};
}
