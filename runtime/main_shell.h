/*
 * Functions that the command lines of emitted programs share.
 *
 * Needs guard.h, team.h, terminal.h and random_seed.h.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#if !HAS_WEIGHTS_INSIDE && !defined(__wasm__)
#include <signal.h>
#endif

/* Reads a whole stream, terminated by a 0 byte, allocated, with its size; NULL if it can't be read or out of memory. */
static inline char *read_all(FILE *from, size_t *size)
{
        size_t n = 0, room = 4096;
        char *text = malloc(room);
        while (text) {
                n += fread(text + n, 1, room - n - 1, from);
                if (n < room - 1)
                        break;
                char *more = room < (size_t)1 << 30 ? realloc(text, room *= 2) : NULL;
                if (!more)
                        free(text);
                text = more;
        }
        if (text && ferror(from)) {
                free(text);
                return NULL;
        }
        if (text)
                text[n] = 0;
        *size = n;
        return text;
}

/* Likewise a file, or standard input for -; NULL after a message. */
static inline char *read_whole_file(const char *path, size_t *size)
{
        FILE *from = strcmp(path, "-") ? fopen(path, "rb") : stdin;
        char *text = from ? read_all(from, size) : NULL;
        if (!text)
                terminal_print(stderr, "%s: %s\n", path, strerror(errno));
        if (from && from != stdin)
                fclose(from);
        return text;
}

static inline void refuse_usage(const char *program, const char *what, const char *why)
{
        terminal_print(stderr, "%s: %s%s; --help lists the options\n", program, what, why);
        exit(2);
}

/* The number after option i; exits with a message if there is none or it is outside of low to high. */
static inline double option_number(char **argv, int i, double low, double high)
{
        char *end = NULL;
        double x = argv[i + 1] ? strtod(argv[i + 1], &end) : 0;
        if (!argv[i + 1] || end == argv[i + 1] || *end || !(x >= low && x <= high)) {
                terminal_print(stderr, "%s: %s must be a number from %g to %g%s%s\n", argv[0], argv[i], low, high, argv[i + 1] ? ", not " : "",
                        argv[i + 1] ? argv[i + 1] : "");
                exit(2);
        }
        return x;
}

/* The seed after option i: a number, or random: one that is printed. */
static inline uint64_t option_seed(char **argv, int i)
{
        if (!argv[i + 1] || strcmp(argv[i + 1], "random"))
                return (uint64_t)option_number(argv, i, 0, 9e15);
        const uint64_t seed = random_seed();
#if HAS_RANKS
        refuse_usage(argv[0], "--seed", ": all ranks need the same number, not random");
#endif
        terminal_print(stderr, "note: --seed %llu repeats this\n", (unsigned long long)seed);
        return seed;
}

static inline const char *option_word(char **argv, int i)
{
        if (!argv[i + 1]) {
                terminal_print(stderr, "%s: %s needs a value\n", argv[0], argv[i]);
                exit(2);
        }
        return argv[i + 1];
}

/* Options that all programs have. */
typedef struct {
        const char *weights;
        int threads, hashes;
} CommonOptions;

/* Parses a common option at *i, and advances *i to its value; 0: it is another option.  --help ends the program. */
static inline int common_option(char **argv, int *i, CommonOptions *o, void (*show_usage)(FILE *to, const char *program))
{
        if (!strcmp(argv[*i], "-h") || !strcmp(argv[*i], "--help")) {
                show_usage(stdout, argv[0]);
                exit(0);
        }
#if HAS_WEIGHTS_INSIDE
        if (!strcmp(argv[*i], "-w"))
                refuse_usage(argv[0], "-w", " has no effect: the weights are a part of this program");
#else
        if (!strcmp(argv[*i], "-w"))
                o->weights = option_word(argv, (*i)++);
#endif
        else if (!strcmp(argv[*i], "--threads"))
                o->threads = (int)option_number(argv, (*i)++, 1, TEAM_MAX);
        else if (!strcmp(argv[*i], "--hash"))
                o->hashes = 1;
        else
                return 0;
        return 1;
}

/* FNV-1a over the bytes of x [n]. */
static inline uint64_t hash_doubles(uint64_t h, const double *x, int64_t n)
{
        for (int64_t i = 0; i < n; i++) {
                uint64_t bits;
                memcpy(&bits, &x[i], sizeof bits);
                for (int byte = 0; byte < 8; byte++)
                        h = (h ^ (bits >> 8 * byte & 0xff)) * UINT64_C(0x100000001b3);
        }
        return h;
}

/* Calls `take` for each text: the arguments argv [n], and for - each line of standard input, with its position for messages.  Stops when
 * `take` returns a value other than 0, and returns it; -3 if out of memory. */
static inline int each_text(char **text, int n, int (*take)(void *of, const char *text, const char *where), void *of)
{
        int status = 0;
        char where[48];
        for (int i = 0; i < n && !status; i++) {
                snprintf(where, sizeof where, "text %d", i + 1);
                if (strcmp(text[i], "-")) {
                        status = take(of, text[i], where);
                        continue;
                }
                size_t size;
                char *all = read_all(stdin, &size);
                if (!all)
                        return -3;
                long long number = 0;
                for (char *line = all, *end; *line && !status; line = end) {
                        end = line + strcspn(line, "\n");
                        if (*end)
                                *end++ = 0;
                        snprintf(where, sizeof where, "standard input, line %lld", ++number);
                        status = take(of, line, where);
                }
                free(all);
        }
        return status;
}

static inline double clock_seconds(void)
{
        struct timespec t;
        clock_gettime(CLOCK_MONOTONIC, &t);
        return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* If a mapped page of the weights can't be read, ends the program with a message. */
#if HAS_WEIGHTS_INSIDE || defined(__wasm__) || (HAS_WINDOWS && defined(_WIN32))
static inline void watch_weights(void)
{
}
#else
static inline void on_bus_error(int number)
{
        static const char text[] = "the weights can't be read any more: the file has become shorter, or the disk fails\n";
        (void)number;
        ssize_t written = write(STDERR_FILENO, text, sizeof text - 1);
        (void)written;
        _exit(3);
}
static inline void watch_weights(void)
{
        signal(SIGBUS, on_bus_error);
}
#endif
