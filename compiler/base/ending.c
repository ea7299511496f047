/* Premature end of the process, by a signal or an error. See base.h.
 *
 * Everything here may run in a signal handler, so nothing allocates memory, and messages are composed without
 * printf. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base.h"

typedef enum { FREE, TAKEN, A_FILE, A_FOLDER, A_PROCESS, A_MAPPING } EndingKind;

typedef struct {
        atomic_int kind;
        pid_t owner;
        const char *path;
        const char *const *inside;
        pid_t process;
        const char *at;
        size_t size;
} EndingEntry;

enum { MOST = 256, PATIENCE = 2000 /* PATIENCE: ms after SIGTERM */ };
static EndingEntry table[MOST];

/* --- the table ---------------------------------------------------------------------------------------------------- */

static int ending_add(EndingKind kind, EndingEntry what)
{
        for (int i = 0; i < MOST; i++) {
                int expected = FREE;
                EndingEntry *e = &table[i];
                if (!atomic_compare_exchange_strong(&e->kind, &expected, TAKEN))
                        continue;
                e->owner = getpid();
                e->path = what.path;
                e->inside = what.inside;
                e->process = what.process;
                e->at = what.at;
                e->size = what.size;
                atomic_store(&e->kind, kind);
                return i;
        }
        return -1;
}

int ending_file(const char *path)
{
        return ending_add(A_FILE, (EndingEntry){.path = path});
}

int ending_folder(const char *path, const char *const *inside)
{
        return ending_add(A_FOLDER, (EndingEntry){.path = path, .inside = inside});
}

int ending_process(pid_t process)
{
        return ending_add(A_PROCESS, (EndingEntry){.process = process});
}

int ending_mapping(const void *at, size_t size, const char *path)
{
        return ending_add(A_MAPPING, (EndingEntry){.at = at, .size = size, .path = path});
}

void ending_forget(int entry)
{
        if (entry >= 0)
                atomic_store(&table[entry].kind, FREE);
}

/* --- cleaning up -------------------------------------------------------------------------------------------------- */

void end_process(pid_t process)
{
        pid_t child = process < 0 ? -process : process, ended = 0;
        kill(process, SIGTERM); /* not SIGKILL: it removes its own files */
        for (int waited = 0; ended == 0 && waited < PATIENCE; waited += 5) {
                ended = waitpid(child, NULL, WNOHANG);
                if (ended == 0)
                        poll(NULL, 0, 5);
        }
        if (ended != 0)
                return;
        kill(process, SIGKILL);
        while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
                ;
}

/* Known names are removed directly, which needs no process or memory. */
void remove_folder(const char *folder, const char *const *inside)
{
        char path[4096];
        size_t n = strlen(folder);
        for (const char *const *name = inside; *name; name++) {
                size_t length = strlen(*name);
                if (n + length + 2 > sizeof path)
                        continue;
                memcpy(path, folder, n);
                path[n] = '/';
                memcpy(path + n + 1, *name, length + 1);
                unlink(path);
        }
        if (!rmdir(folder) || (errno != ENOTEMPTY && errno != EEXIST))
                return;
        pid_t child = fork();
        if (child == 0) {
                execl("/bin/rm", "rm", "-rf", "--", folder, (char *)NULL);
                _exit(127);
        }
        while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
                ;
}

/* Processes first, since they write into folders; folders last, since they contain files. */
static void clean_up(void)
{
        static const EndingKind order[] = {A_PROCESS, A_FILE, A_FOLDER};
        for (int k = 0; k < 3; k++)
                for (int i = 0; i < MOST; i++) {
                        const EndingEntry *e = &table[i];
                        if (atomic_load(&e->kind) != (int)order[k] || e->owner != getpid())
                                continue;
                        if (order[k] == A_PROCESS)
                                end_process(e->process);
                        else if (order[k] == A_FILE)
                                unlink(e->path);
                        else
                                remove_folder(e->path, e->inside);
                }
}

void end_without_memory(void)
{
        terminal_say("lathe: out of memory\n");
        clean_up();
        _exit(WRONG_ENVIRONMENT);
}

/* --- signals ------------------------------------------------------------------------------------------------------ */

static void on_signal(int number)
{
        clean_up();
        signal(number, SIG_DFL);
        raise(number);
}

/* A missing page: a mapped file was truncated, or the disk failed; else it is a bug in lathe. */
static void ending_on_bus_error(int number, siginfo_t *about, void *context)
{
        const char *at = about->si_addr;
        (void)context;
        for (int i = 0; i < MOST; i++) {
                const EndingEntry *e = &table[i];
                if (atomic_load(&e->kind) != A_MAPPING || at < e->at || at >= e->at + e->size)
                        continue;
                terminal_say("lathe: ");
                terminal_say(e->path);
                terminal_say(": can't be read any more: the file has become shorter, or the disk fails\n");
                clean_up();
                _exit(WRONG_ENVIRONMENT);
        }
        on_signal(number);
}

/* --- libtcc ------------------------------------------------------------------------------------------------------- */

static const char *const *said_by_tcc; /* set while libtcc runs */

void ending_enter_tcc(const char *const *said)
{
        said_by_tcc = said;
}

void ending_leave_tcc(void)
{
        said_by_tcc = NULL;
}

static void on_exit_from_tcc(void)
{
        if (!said_by_tcc)
                return;
        terminal_say("lathe: libtcc gave up: ");
        terminal_say(*said_by_tcc ? *said_by_tcc : no_memory);
        terminal_say("\n");
        clean_up();
        _exit(WRONG_ENVIRONMENT);
}

/* --- setup ---------------------------------------------------------------------------------------------------- */

void ending_catch(int signal_number)
{
        struct sigaction act = {.sa_handler = on_signal};
        sigfillset(&act.sa_mask);
        sigaction(signal_number, &act, NULL);
}

void ending_watch(void)
{
        static const int ends[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGQUIT, SIGABRT};
        struct sigaction before, bus = {.sa_sigaction = ending_on_bus_error, .sa_flags = SA_SIGINFO};
        for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++)
                if (!sigaction(ends[i], NULL, &before) && before.sa_handler == SIG_DFL)
                        ending_catch(ends[i]);
        sigfillset(&bus.sa_mask);
        sigaction(SIGBUS, &bus, NULL);
        atexit(on_exit_from_tcc);
}
