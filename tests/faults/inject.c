/* Faults on demand: a library to be preloaded, which counts calls of a kind and fails the n-th.
 *
 *   FAULT=KIND:N     the N-th call of the kind fails, counted from 1; KIND:N+ that one and all later ones; KIND:0 none
 *   FAULT_SIGNAL     a number: nothing fails, but the process gets that signal before the call
 *   FAULT_TRUNCATE   a file: nothing fails, but before the call the file is cut off after 4096 bytes
 *   FAULT_PROGRAM    the only program in which calls are counted (its name without a folder)
 *   FAULT_LOG        a file that gets a line "hit KIND N FUNCTION" for a call that failed, "count KIND N" at the end
 *
 * Kinds:
 *   memory   malloc, calloc, realloc, memalign, also those that the C library makes: ENOMEM
 *   map      mmap, mprotect: ENOMEM
 *   open     open, fopen, opendir, mkdtemp, tmpfile: EMFILE
 *   read     read, pread: EIO; fread, getline, fgets, getc: the stream's descriptor becomes one that can't be read
 *   short    read, pread, write: half of what was asked for, but for a byte; then as usual
 *   again    read, pread, write, posix_fallocate: EINTR
 *   write    write: ENOSPC; fwrite, fputs, fflush, fclose: the stream's descriptor becomes /dev/full
 *   file     close, fclose, fsync, rename, posix_fallocate, fstat: EIO, what was asked being done for close and fclose alone
 *   thread   pthread_create: EAGAIN; pthread_mutex_init, pthread_cond_init: ENOMEM
 *   process  fork, posix_spawnp: EAGAIN; in what was forked execl: ENOENT
 *
 * Forked processes go on counting, each for itself.  Streams fail by their descriptors so that their flags are what they
 * would be. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define KINDS(ROW)                                                                                           \
        ROW(memory)                                                                                          \
        ROW(map)                                                                                             \
        ROW(open)                                                                                            \
        ROW(read)                                                                                            \
        ROW(short) ROW(again) ROW(write) ROW(file) ROW(thread) ROW(process)
#define NAME(kind) KIND_##kind,
typedef enum { KINDS(NAME) NKIND } Kind;
#undef NAME
#define NAME(kind) #kind,
static const char *const kind_name[] = {KINDS(NAME)};

static int chosen = -1; /* the kind */
static long wanted;
static int signal_number; /* 0: none */
static const char *to_truncate;
static bool later_too;
static atomic_long count;
static _Thread_local bool inside; /* what a counted function calls itself is not counted */

/* The next function of the name, found once. */
#define REAL(name)                                                                                           \
        static __typeof__(&(name)) real;                                                                     \
        if (!real) {                                                                                         \
                void *found = dlsym(RTLD_NEXT, #name);                                                       \
                memcpy(&real, &found, sizeof real);                                                          \
        }

static void say(const char *word, long n, const char *function)
{
        const char *path = getenv("FAULT_LOG");
        char line[128];
        int log = path ? (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND, 0600) : -1;
        if (log < 0)
                return;
        int length = snprintf(line, sizeof line, "%s %s %ld %s\n", word, kind_name[chosen], n, function);
        syscall(SYS_write, log, line, (size_t)length);
        if (getenv("FAULT_TRACE") && n == wanted && *function) {
                void *frame[40];
                backtrace_symbols_fd(frame, backtrace(frame, 40), log);
        }
        syscall(SYS_close, log);
}

/* Counts a call; is it one that fails? */
static bool fails(Kind kind, const char *function)
{
        if ((int)kind != chosen || inside)
                return false;
        long n = atomic_fetch_add(&count, 1) + 1;
        if (n != wanted && !(later_too && wanted && n > wanted))
                return false;
        inside = true;
        if (n == wanted)
                say("hit", n, function);
        inside = false;
        if (signal_number && n == wanted)
                raise(signal_number);
        if (to_truncate && n == wanted && truncate(to_truncate, 4096))
                abort();
        return !signal_number && !to_truncate;
}

__attribute__((constructor)) static void begin(void)
{
        const char *fault = getenv("FAULT"), *program = getenv("FAULT_PROGRAM");
        if (!fault || (program && strcmp(program, program_invocation_short_name) != 0))
                return;
        size_t n = strcspn(fault, ":");
        char *end = NULL;
        wanted = fault[n] ? strtol(fault + n + 1, &end, 10) : 0;
        later_too = end && *end == '+';
        to_truncate = getenv("FAULT_TRUNCATE");
        signal_number = getenv("FAULT_SIGNAL") ? atoi(getenv("FAULT_SIGNAL")) : 0;
        for (int i = 0; i < NKIND; i++)
                if (strlen(kind_name[i]) == n && !memcmp(kind_name[i], fault, n))
                        chosen = i;
}

__attribute__((destructor)) static void finish(void)
{
        if (chosen >= 0)
                say("count", atomic_load(&count), "");
        chosen = -1;
}

/* --- memory ------------------------------------------------------------------------------------------------------- */

void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *old, size_t n);
void *__libc_memalign(size_t alignment, size_t n);

void *malloc(size_t n)
{
        return fails(KIND_memory, "malloc") ? (errno = ENOMEM, NULL) : __libc_malloc(n);
}

void *calloc(size_t n, size_t size)
{
        return fails(KIND_memory, "calloc") ? (errno = ENOMEM, NULL) : __libc_calloc(n, size);
}

void *realloc(void *old, size_t n)
{
        return fails(KIND_memory, "realloc") ? (errno = ENOMEM, NULL) : __libc_realloc(old, n);
}

void *aligned_alloc(size_t alignment, size_t n)
{
        return fails(KIND_memory, "aligned_alloc") ? (errno = ENOMEM, NULL) : __libc_memalign(alignment, n);
}

int posix_memalign(void **at, size_t alignment, size_t n)
{
        if (fails(KIND_memory, "posix_memalign"))
                return ENOMEM;
        void *found = __libc_memalign(alignment, n);
        if (!found)
                return ENOMEM;
        *at = found;
        return 0;
}

void *mmap(void *at, size_t n, int protection, int flags, int file, off_t offset)
{
        REAL(mmap)
        return fails(KIND_map, "mmap") ? (errno = ENOMEM, MAP_FAILED)
                                       : real(at, n, protection, flags, file, offset);
}

int mprotect(void *at, size_t n, int protection)
{
        REAL(mprotect)
        return fails(KIND_map, "mprotect") ? (errno = ENOMEM, -1) : real(at, n, protection);
}

/* --- opening ------------------------------------------------------------------------------------------------------ */

int open(const char *path, int flags, ...)
{
        REAL(open)
        va_list rest;
        va_start(rest, flags);
        unsigned mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, unsigned) : 0;
        va_end(rest);
        return fails(KIND_open, "open") ? (errno = EMFILE, -1) : real(path, flags, mode);
}

FILE *fopen(const char *path, const char *mode)
{
        REAL(fopen)
        return fails(KIND_open, "fopen") ? (errno = EMFILE, NULL) : real(path, mode);
}

FILE *fdopen(int file, const char *mode)
{
        REAL(fdopen)
        return fails(KIND_open, "fdopen") ? (errno = ENOMEM, NULL) : real(file, mode);
}

FILE *tmpfile(void)
{
        REAL(tmpfile)
        return fails(KIND_open, "tmpfile") ? (errno = EMFILE, NULL) : real();
}

DIR *opendir(const char *path)
{
        REAL(opendir)
        return fails(KIND_open, "opendir") ? (errno = EMFILE, NULL) : real(path);
}

char *mkdtemp(char *path)
{
        REAL(mkdtemp)
        return fails(KIND_open, "mkdtemp") ? (errno = EACCES, NULL) : real(path);
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

static size_t half(Kind kind, const char *function, size_t n)
{
        return n > 1 && fails(kind, function) ? n / 2 : n;
}

ssize_t read(int file, void *to, size_t n)
{
        REAL(read)
        if (fails(KIND_read, "read"))
                return errno = EIO, -1;
        if (fails(KIND_again, "read"))
                return errno = EINTR, -1;
        return real(file, to, half(KIND_short, "read", n));
}

ssize_t pread(int file, void *to, size_t n, off_t at)
{
        REAL(pread)
        if (fails(KIND_read, "pread"))
                return errno = EIO, -1;
        if (fails(KIND_again, "pread"))
                return errno = EINTR, -1;
        return real(file, to, half(KIND_short, "pread", n), at);
}

/* Puts a folder, or /dev/full, in the place of the stream's file. */
static void swap(FILE *f, const char *path, int flags)
{
        int file = (int)syscall(SYS_openat, AT_FDCWD, path, flags);
        if (file < 0 || fileno(f) < 0)
                return;
        syscall(SYS_dup3, file, fileno(f), 0);
        syscall(SYS_close, file);
}

static void spoil_reading(FILE *f, const char *function)
{
        if (fileno(f) >= 0 && fails(KIND_read, function))
                swap(f, "/", O_RDONLY);
}

size_t fread(void *to, size_t size, size_t n, FILE *f)
{
        REAL(fread)
        spoil_reading(f, "fread");
        return real(to, size, n, f);
}

ssize_t getline(char **line, size_t *n, FILE *f)
{
        REAL(getline)
        spoil_reading(f, "getline");
        return real(line, n, f);
}

char *fgets(char *to, int n, FILE *f)
{
        REAL(fgets)
        spoil_reading(f, "fgets");
        return real(to, n, f);
}

int getc(FILE *f)
{
        REAL(getc)
        spoil_reading(f, "getc");
        return real(f);
}

/* --- writing ------------------------------------------------------------------------------------------------------ */

static void spoil_writing(FILE *f, const char *function)
{
        if (f && f != stderr && fileno(f) >= 0 && fails(KIND_write, function))
                swap(f, "/dev/full", O_WRONLY);
}

ssize_t write(int file, const void *from, size_t n)
{
        REAL(write)
        if (file != STDERR_FILENO && fails(KIND_write, "write"))
                return errno = ENOSPC, -1;
        if (file != STDERR_FILENO && fails(KIND_again, "write"))
                return errno = EINTR, -1;
        return real(file, from, file == STDERR_FILENO ? n : half(KIND_short, "write", n));
}

size_t fwrite(const void *from, size_t size, size_t n, FILE *f)
{
        REAL(fwrite)
        spoil_writing(f, "fwrite");
        return real(from, size, n, f);
}

int fputs(const char *text, FILE *f)
{
        REAL(fputs)
        spoil_writing(f, "fputs");
        return real(text, f);
}

int fflush(FILE *f)
{
        REAL(fflush)
        spoil_writing(f, "fflush");
        return real(f);
}

int fclose(FILE *f)
{
        REAL(fclose)
        spoil_writing(f, "fclose");
        bool failing = fails(KIND_file, "fclose");
        int result = real(f);
        return failing ? (errno = EIO, EOF) : result;
}

/* --- files -------------------------------------------------------------------------------------------------------- */

int close(int file)
{
        REAL(close)
        bool failing = fails(KIND_file, "close");
        int result = real(file);
        return failing ? (errno = EIO, -1) : result;
}

int fsync(int file)
{
        REAL(fsync)
        return fails(KIND_file, "fsync") ? (errno = EIO, -1) : real(file);
}

int rename(const char *from, const char *to)
{
        REAL(rename)
        return fails(KIND_file, "rename") ? (errno = EIO, -1) : real(from, to);
}

int posix_fallocate(int file, off_t at, off_t n)
{
        REAL(posix_fallocate)
        if (fails(KIND_write, "posix_fallocate"))
                return ENOSPC;
        if (fails(KIND_again, "posix_fallocate"))
                return EINTR;
        return real(file, at, n);
}

int fstat(int file, struct stat *about)
{
        REAL(fstat)
        return fails(KIND_file, "fstat") ? (errno = EIO, -1) : real(file, about);
}

/* --- threads and processes ---------------------------------------------------------------------------------------- */

int pthread_create(pthread_t *thread, const pthread_attr_t *how, void *(*program)(void *), void *given)
{
        REAL(pthread_create)
        return fails(KIND_thread, "pthread_create") ? EAGAIN : real(thread, how, program, given);
}

int pthread_mutex_init(pthread_mutex_t *mutex, const pthread_mutexattr_t *how)
{
        REAL(pthread_mutex_init)
        return fails(KIND_thread, "pthread_mutex_init") ? ENOMEM : real(mutex, how);
}

int pthread_cond_init(pthread_cond_t *condition, const pthread_condattr_t *how)
{
        REAL(pthread_cond_init)
        return fails(KIND_thread, "pthread_cond_init") ? ENOMEM : real(condition, how);
}

pid_t fork(void)
{
        REAL(fork)
        return fails(KIND_process, "fork") ? (errno = EAGAIN, -1) : real();
}

int posix_spawnp(pid_t *child, const char *program, const posix_spawn_file_actions_t *actions,
                 const posix_spawnattr_t *how, char *const *arguments, char *const *environment)
{
        REAL(posix_spawnp)
        return fails(KIND_process, "posix_spawnp")
                       ? EAGAIN
                       : real(child, program, actions, how, arguments, environment);
}

int execv(const char *path, char *const *arguments)
{
        REAL(execv)
        return fails(KIND_process, "execv") ? (errno = ENOENT, -1) : real(path, arguments);
}
