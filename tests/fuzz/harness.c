/* What the fuzzers share, and in place of output.c, jit_cc.c, tool.c and memory.c: no input can write a file or start a program. */
#define _DEFAULT_SOURCE /* mkdtemp */
#include "harness.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "run/jit_private.h"

/* --- what is printed --------------------------------------------------------------------------------------------- */

static FILE *outside[2], *heard[2];
static char *text[2];
static size_t length[2];

void harness_listen(void)
{
        outside[0] = stdout;
        outside[1] = stderr;
        for (int i = 0; i < 2; i++) {
                free(text[i]);
                text[i] = NULL;
                heard[i] = open_memstream(&text[i], &length[i]);
                if (!heard[i])
                        abort();
        }
        stdout = heard[0];
        stderr = heard[1];
}

const char *harness_heard(void)
{
        stdout = outside[0];
        stderr = outside[1];
        for (int i = 0; i < 2; i++)
                fclose(heard[i]);
        if (getenv("HARNESS_SHOW"))
                fputs(text[1], stderr);
        return text[1];
}

void harness_heard_why(bool refused)
{
        const char *said = harness_heard();
        harness_require(!refused || strstr(said, "lathe") || strstr(said, "error: "),
                        "refused without a word");
}

void harness_require(bool holds, const char *what)
{
        if (holds)
                return;
        fprintf(stderr, "harness: %s\n", what);
        abort();
}

/* --- files ------------------------------------------------------------------------------------------------------- */

enum { MAX_SUFFIXES = 8 };

static char folder[64], *path[MAX_SUFFIXES], *written;

static void remove_files(void)
{
        for (int i = 0; i < MAX_SUFFIXES && path[i]; i++)
                unlink(path[i]);
        rmdir(folder);
}

static void make_folder(void)
{
        const char *parent = getenv("TMPDIR");
        snprintf(folder, sizeof folder, "%s/lathe-fuzz-XXXXXX",
                 parent && strlen(parent) < 32 ? parent : "/dev/shm");
        if (!mkdtemp(folder))
                abort();
        atexit(remove_files);
}

const char *harness_file(const char *suffix, const void *bytes, size_t n)
{
        int i = 0;
        if (!*folder)
                make_folder();
        while (path[i] && strcmp(path[i] + strlen(folder) + 2, suffix) != 0)
                i++;
        if (!path[i]) {
                size_t room = strlen(folder) + strlen(suffix) + 3;
                path[i] = malloc(room);
                snprintf(path[i], room, "%s/f%s", folder, suffix);
        }
        FILE *f = fopen(path[i], "wb");
        if (!f || fwrite(bytes, 1, n, f) != n || fclose(f))
                abort();
        return path[i];
}

char *harness_text(const uint8_t *bytes, size_t n)
{
        char *copy = malloc(n + 1);
        if (!copy)
                abort();
        memcpy(copy, bytes, n);
        copy[n] = 0;
        return copy;
}

const char *harness_written(void)
{
        return written;
}

/* --- in place of output.c ------------------------------------------------------------------------------------------ */

bool write_file(const char *to, const char *bytes, int64_t n)
{
        (void)to;
        free(written);
        written = harness_text((const uint8_t *)bytes, (size_t)n);
        return true;
}

bool output_begin(WrittenFile *o, const char *to)
{
        *o = (WrittenFile){.path = to, .error = "nothing is written here"};
        return false;
}

bool output_bytes(WrittenFile *o, const char *to, const char *bytes, int64_t n)
{
        *o = (WrittenFile){.path = to};
        return write_file(to, bytes, n);
}

bool output_copy(WrittenFile *o, const char *to, const char *from)
{
        (void)from;
        return output_begin(o, to);
}

bool output_weights(WrittenFile *o, const char *to, Plan *p, Weights *from, const WeightTail *tail,
                    uint64_t key)
{
        (void)tail, (void)key;
        *o = (WrittenFile){.path = to};
        return write_weights(to, p, from);
}

void output_drop(WrittenFile *o)
{
        (void)o;
}

bool output_finish(WrittenFile *o, int n)
{
        return o && n >= 0;
}

bool write_weights(const char *to, Plan *p, Weights *from)
{
        (void)to, (void)p, (void)from;
        return true;
}

/* --- in place of jit_cc.c ------------------------------------------------------------------------------------------ */

CcBuild *cc_start(Plan *p)
{
        (void)p;
        return NULL;
}

CcState cc_poll(CcBuild *b, bool wait, JitCode *code)
{
        (void)b, (void)wait, (void)code;
        return CC_FAILED;
}

const char *cc_message(const CcBuild *b)
{
        (void)b;
        return "there is none";
}

void cc_free(CcBuild *b)
{
        (void)b;
}

void jit_cc_free(JitCode *code)
{
        (void)code;
}

/* --- in place of tool.c --------------------------------------------------------------------------------------------- */

int tool_words(char *words, char **list, int n, int most)
{
        (void)words, (void)list, (void)most;
        return n;
}

int tool_run(char *const *argument, const char *where, const char *log, char *message, size_t room)
{
        (void)argument, (void)where, (void)log, (void)message, (void)room;
        return 1;
}

/* --- in place of memory.c ------------------------------------------------------------------------------------------ */

int64_t memory_available(void)
{
        return 256 << 20;
}

void memory_limit(void)
{
}
