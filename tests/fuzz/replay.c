/* Gives kept inputs to the fuzzers: replay NAME FILE…  Prints a line for each, `ok NAME/FILE` or what it did.
 *
 * Each runs in a process of its own, which ends after LIMIT seconds; none takes a tenth of that. */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"

enum { LIMIT = 60, MOST = 1 << 20 };

#define FUZZER(name) int fuzz_##name(const uint8_t *data, size_t size);
FUZZERS
#undef FUZZER

static const struct {
        const char *name;
        int (*run)(const uint8_t *data, size_t size);
} fuzzer[] = {
#define FUZZER(name) {#name, fuzz_##name},
        FUZZERS
#undef FUZZER
};
enum { COUNT = sizeof fuzzer / sizeof fuzzer[0] };

static _Noreturn void run_file(int which, const char *path)
{
        static uint8_t data[MOST];
        FILE *f = fopen(path, "rb");
        if (!f)
                _exit(3);
        size_t n = fread(data, 1, MOST, f);
        fclose(f);
        alarm(LIMIT);
        uint8_t *copy = malloc(n + !n); /* so that a byte behind it is noticed */
        if (!copy)
                _exit(3);
        memcpy(copy, data, n);
        fuzzer[which].run(copy, n);
        free(copy);
        exit(0);
}

static bool replay(int which, const char *path)
{
        int status = 0;
        pid_t child = fork();
        if (child == 0)
                run_file(which, path);
        const char *slash = strrchr(path, '/'), *file = slash ? slash + 1 : path;
        bool good = child > 0 && waitpid(child, &status, 0) == child && status == 0;
        if (good)
                printf("ok fuzz %s/%s\n", fuzzer[which].name, file);
        else if (WIFSIGNALED(status))
                printf("FAIL fuzz %s/%s: ended by signal %d\n", fuzzer[which].name, file, WTERMSIG(status));
        else
                printf("FAIL fuzz %s/%s: exit status %d\n", fuzzer[which].name, file, WEXITSTATUS(status));
        fflush(stdout);
        return good;
}

int main(int argc, char **argv)
{
        int which = 0;
        bool good = true;
        while (argc > 1 && which < COUNT && strcmp(argv[1], fuzzer[which].name) != 0)
                which++;
        if (argc < 2 || which == COUNT) {
                fprintf(stderr, "usage: replay NAME FILE…, where NAME is");
                for (int i = 0; i < COUNT; i++)
                        fprintf(stderr, " %s", fuzzer[i].name);
                fprintf(stderr, "\n");
                return 2;
        }
        for (int i = 2; i < argc; i++)
                good &= replay(which, argv[i]);
        return !good;
}
