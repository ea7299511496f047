/* Golden files: what a model's outputs are, to the bit, as text that a person reads and a diff shows.
 *
 *   lathe golden 1
 *   model tale.model tale                  a file, relative to this one, and a model in it
 *   set layers 4                           for each hyperparameter that was given
 *   hyper layers 4; heads 6                 all of them, to be read: what a check names if they change
 *   weights tale.safetensors 0x<hash>      of the file's bytes; or: weights by hash
 *   tokenizer tokenizer.bin 0x<hash>
 *   spec 0x<hash>                          of the graph as elaborated
 *   prompt 4E6F7261                        bytes of a text, in hexadecimal; or
 *   inputs FILE.safetensors 0x<hash>       by their names; without either they are made by hash
 *   steps 20                               tokens of greedy text
 *   tap layer[i].attn
 *
 *   layer[0].attn [12, 96] 0x<hash> norm 3.2 first 0.1 0.2 0.3 last 0.4 0.5 0.6
 *   text "a girl"
 *
 * Values come in the order in which the model's file has them; floats have 9 digits, which are enough for every bit.  The norm
 * is that of the finite values. */
#ifndef GOLDEN_H
#define GOLDEN_H
#include <stdio.h>
#include <sys/types.h>

#include "driver.h"
#include "text.h"
#include "trial.h"

enum { SHOWN = 3 }; /* values at either end */

typedef struct {
        const char *name, *shape;
        uint64_t hash;
        double norm;
        int shown; /* at either end */
        float first[SHOWN], last[SHOWN];
} GoldenValue;

typedef struct {
        Arena arena;
        const char *path; /* of the golden file */
        Options o; /* model, hyperparameters, weights, tokenizer, prompt, steps, taps; paths as they are opened */
        uint64_t weights_hash, tokenizer_hash, inputs_hash, spec;
        const char *hyper; /* or NULL */
        GoldenValue *value;
        int nvalue, cap_value;
        const char *text; /* greedy, quoted; or NULL */
        int code;         /* an exit code: of what was wrong last */
        const char *why;  /* the file can't be read: a message */
} Golden;

/* golden_file.c */
bool golden_read(Golden *g, const char *path); /* false with g->why */
bool golden_write(Golden *g);                  /* false after a message */
const char *golden_text(Golden *g);            /* as it stands in the file */
GoldenValue *golden_value_new(Golden *g);      /* behind the others */

/* golden_run.c: fills values, text and hashes of g from its options: on a target, whole; other threads and pieces must give the
 * same bits.  NULL, or what is wrong, with g->code. */
const char *golden_run(Golden *g, const Target *t, When when);

/* golden_compare.c */
/* Says what differs: the first value, then what it is of.  bound 0: to the bit. */
bool golden_compare(Text *to, const Golden *was, const Golden *is, double bound);
/* Lines that go and come, behind - and +; how many. */
int golden_diff(FILE *to, Arena *a, const char *was, const char *is);

/* One golden file on one target: a process of its own. */
typedef struct {
        const char *path;
        const Target *target;
        When when;
        pid_t process;    /* 0: not begun, or ended */
        int entry, error; /* of ending.h; why it can't be started */
        FILE *said;
        int code; /* that it exited with */
} GoldenCheck;
const char *golden_how(const GoldenCheck *c); /* "tcc": just in time; "cc": ahead of time */

/* golden_report.c: false after a message */
bool golden_junit(const char *path, const GoldenCheck *check, int n);
#endif
