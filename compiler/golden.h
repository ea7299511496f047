/* Golden files: what a model's outputs are, to the bit, as text that a person reads and a diff shows.
 *
 *   lathe golden 1
 *   model tale.model tale                  a file, relative to this one, and a model in it
 *   set layers 4                           for each hyperparameter that was given
 *   weights tale.safetensors 0x<hash>      of the file's bytes; or: weights by hash
 *   tokenizer tokenizer.bin 0x<hash>
 *   spec 0x<hash>                          of the graph as elaborated
 *   prompt 4E6F7261                        bytes of a text, in hexadecimal; without it inputs are made by hash
 *   steps 20                               tokens of greedy text
 *   tap layer[i].attn
 *
 *   layer[0].attn [12, 96] 0x<hash> norm 3.2 first 0.1 0.2 0.3 last 0.4 0.5 0.6
 *   text "a girl"
 *
 * Values come in the order in which the model's file has them; floats have 9 digits, which are enough for every bit. */
#ifndef GOLDEN_H
#define GOLDEN_H
#include "driver.h"
#include "text.h"

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
        uint64_t weights_hash, tokenizer_hash, spec;
        GoldenValue *value;
        int nvalue, cap_value;
        const char *text; /* greedy, quoted; or NULL */
        int code;         /* an exit code: of what was wrong last */
} Golden;

/* golden_file.c: false after a message */
bool golden_read(Golden *g, const char *path);
bool golden_write(Golden *g);
void golden_value_line(const GoldenValue *v, Text *to); /* as it stands in the file */
GoldenValue *golden_value_new(Golden *g);               /* behind the others */

/* golden_run.c: fills values, text and hashes of g from its options: on a target, by a compiler, whole; other threads and
 * pieces must give the same bits.  NULL, or what is wrong, with g->code. */
const char *golden_run(Golden *g, const Target *t, JitMode mode);
#endif
