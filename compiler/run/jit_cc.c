/* Compiles the program by the system's C compiler, in the background: a shared object in a temporary folder,
 * opened when it is complete.  $CC names a compiler other than cc. */
#include "jit_private.h"

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_ARGUMENTS = 32, LONGEST_MESSAGE = 2000 };

struct CcBuild {
        char *folder;
        char *source, *object, *log;
        pid_t compiler;                   /* process group; 0: it has ended */
        int folder_entry, compiler_entry; /* of ending.c */
        char message[LONGEST_MESSAGE];
};

static const char *const file_name[] = {"program.c", "program.so", "log", NULL};

static char *jit_path(const char *folder, const char *name)
{
        size_t n = strlen(folder) + strlen(name) + 2;
        char *path = malloc(n);
        if (path)
                snprintf(path, n, "%s/%s", folder, name);
        return path;
}

/* Starts the compiler, its output to the log; false with errno. */
static bool spawn(CcBuild *b, const Target *t)
{
        const char *compiler = getenv("CC") && *getenv("CC") ? getenv("CC") : "cc";
        char *words = strdup(compiler), *flags = strdup(t->flags), *argument[MAX_ARGUMENTS + 12];
        int error = ENOMEM;
        if (words && flags) {
                static char *const fixed[] = {"-std=c11", "-O2", "-w", "-shared", "-fPIC", "-pthread", "-o"};
                int n = tool_words(words, argument, 0, MAX_ARGUMENTS / 2);
                n = tool_words(flags, argument, n, MAX_ARGUMENTS);
                for (size_t i = 0; i < sizeof fixed / sizeof fixed[0]; i++)
                        argument[n++] = fixed[i];
                argument[n++] = b->object;
                argument[n++] = b->source;
                argument[n] = NULL;
                error = tool_start(argument, b->folder, b->log, &b->compiler);
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
        b->folder = jit_path(parent && *parent ? parent : "/tmp", "lathe-XXXXXX");
        if (!b->folder || !mkdtemp(b->folder)) {
                int why = errno;
                free(b->folder);
                free(b);
                errno = why;
                return NULL;
        }
        b->folder_entry = ending_folder(b->folder, file_name);
        b->compiler_entry = -1;
        b->source = jit_path(b->folder, file_name[0]);
        b->object = jit_path(b->folder, file_name[1]);
        b->log = jit_path(b->folder, file_name[2]);
        emit_program_alone(p, NULL, text);
        if (b->source && b->object && b->log && write_file(b->source, text->data, text->n) &&
            spawn(b, p->target))
                return b;
        int why = errno;
        cc_free(b);
        errno = why;
        return NULL;
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
        tool_said(b->log, "the C compiler failed", b->message, sizeof b->message);
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
