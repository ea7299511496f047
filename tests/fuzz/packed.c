/* Files of packed weights, as lathe reads them and as emitted C does, and the emitted command line with what they hold.
 *
 * First byte odd: the rest is the file.  Even: a file of the right size whose numbers are the rest, over and over; the model
 * generates with them. */
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "weights/weights.h"

/* The emitted program: an exit comes back here. */
static jmp_buf ended;
static void leave(int code)
{
        longjmp(ended, code + 1);
}
#define exit leave
#define main emitted_main
#define options emitted_options
#define Options EmittedOptions
/* the emitted file has names of its own, two of which are lathe's too */
#define Attention SmallAttention
#define seconds small_seconds
#include "../../build/small.c"
#undef exit
#undef main
#undef options
#undef Options

_Static_assert(TAIL_BYTES == 0, "a file of these weights alone is wanted: a tokenizer with small tables");

enum { HEAD = 4096, FLOATS = WEIGHT_FLOATS, WHOLE = HEAD + 4 * FLOATS };

static const char *right_file(const uint8_t *data, size_t size)
{
        unsigned char *file = calloc(1, WHOLE);
        uint64_t head[] = {0, LAYOUT_HASH, FLOATS};
        if (!file)
                abort();
        memcpy(head, "lathe 1\n", 8);
        memcpy(file, head, sizeof head);
        for (size_t i = HEAD; size && i < WHOLE; i += size)
                memcpy(file + i, data, size < WHOLE - i ? size : WHOLE - i);
        const char *path = harness_file(".weights", file, WHOLE);
        free(file);
        return path;
}

static int run_emitted(char **argv)
{
        int code = setjmp(ended);
        return code ? code - 1 : emitted_main(0, argv);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        if (!size)
                return 0;
        bool as_it_is = data[0] & 1;
        const char *path =
                as_it_is ? harness_file(".weights", data + 1, size - 1) : right_file(data + 1, size - 1);
        char *argv[] = {"small",
                        "-w",
                        (char *)path,
                        "-n",
                        "3",
                        "-p",
                        "a b",
                        "--temp",
                        data[0] & 2 ? "1" : "0",
                        "--top-p",
                        data[0] & 4 ? "0.9" : "0",
                        "--top-k",
                        data[0] & 8 ? "4" : "0",
                        "--min-p",
                        data[0] & 16 ? "0.1" : "0",
                        NULL};
        if (!(data[0] & 2)) /* without a temperature the sampler's options are refused */
                argv[9] = NULL;
        harness_listen();
        int code = run_emitted(argv);
        const char *said = harness_heard();
        const bool no_token = strstr(said, "every logit is -inf or NaN") != NULL; /* of weights that are */
        harness_require(as_it_is || code == 0 || no_token, "a good file is refused");
        harness_require(code >= 0 && code <= 3, "an exit code that is none");
        harness_require(code == 0 || strstr(said, "small: "), "refused without a word");
        const char *unknown = NULL;
        if (is_packed_file(path, &unknown)) {
                PackedFile file = {0};
                const char *why = packed_file_open(path, harness_small_plan(), 0, &file);
                harness_require(!why == (!code || no_token), "lathe and emitted C see it differently");
                packed_file_close(&file);
        }
        return 0;
}
