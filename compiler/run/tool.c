/* Runs a program of the system, such as the C compiler: in a process group that ends when this process does,
 * with its output in a file. */
#include "jit_private.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

int tool_words(char *words, char **list, int n, int most)
{
        for (char *save, *w = strtok_r(words, " ", &save); w && n < most; w = strtok_r(NULL, " ", &save))
                list[n++] = w;
        return n;
}

/* The environment with our folder as TMPDIR, since a killed compiler leaves a file there.  Free it, and
 * its strings except those of environ; NULL: out of memory. */
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

int tool_start(char *const *argument, const char *folder, const char *log, pid_t *process)
{
        posix_spawn_file_actions_t actions;
        posix_spawnattr_t attributes;
        int error = posix_spawn_file_actions_init(&actions);
        *process = 0;
        if (error)
                return error;
        error = posix_spawnattr_init(&attributes);
        if (!error) {
                error = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
                if (!error)
                        error = posix_spawn_file_actions_addopen(&actions, 1, log,
                                                                 O_WRONLY | O_CREAT | O_TRUNC, 0600);
                if (!error)
                        error = posix_spawn_file_actions_adddup2(&actions, 1, 2);
                if (!error)
                        error = posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
                char **variables = environment(folder);
                if (!error && !variables)
                        error = ENOMEM;
                pid_t child = 0;
                if (!error)
                        error = posix_spawnp(&child, argument[0], &actions, &attributes, argument, variables);
                free(variables);
                *process = error ? 0 : child;
                posix_spawnattr_destroy(&attributes);
        }
        posix_spawn_file_actions_destroy(&actions);
        return error;
}

void tool_said(const char *log, const char *otherwise, char *message, size_t room)
{
        FILE *f = fopen(log, "r");
        size_t n = f ? fread(message, 1, room - 1, f) : 0;
        message[n] = 0;
        if (f)
                fclose(f);
        if (!n)
                snprintf(message, room, "%s", otherwise);
}

int tool_run(char *const *argument, const char *folder, const char *log, char *message, size_t room)
{
        pid_t process;
        int status = 0;
        const int error = tool_start(argument, folder, log, &process);
        *message = 0;
        if (error)
                return error;
        const int entry = ending_process(-process);
        while (waitpid(process, &status, 0) < 0)
                if (errno != EINTR) {
                        status = 1;
                        break;
                }
        ending_forget(entry);
        if (!WIFEXITED(status) || WEXITSTATUS(status))
                tool_said(log, "it failed and said nothing", message, room);
        return 0;
}
