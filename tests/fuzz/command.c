/* The command line: an argument a line.  Commands that have read their options do nothing. */
#include <stdlib.h>
#include <string.h>

#include "harness.h"

#define build_command heard_command
#define run_command heard_command
#define golden_command heard_command
#define check_command heard_command
#define test_command heard_command
#define weights_command heard_command
#define show_command heard_command
#define verify_command heard_command
#define targets_command heard_command
#define completion_command heard_command
#define repl_command heard_command
#define parse_command heard_words
#define elaborate_command heard_words
#define main lathe_main
#include "commands/command_table.c"
#include "commands/main.c"
#undef main

enum { MAX_WORDS = 400 };

int heard_words(int argc, char **argv)
{
        return argc > 0 && !argv[0] ? WRONG_USAGE : DONE;
}

/* Every number is within what its option says. */
int heard_command(const CommandOptions *o)
{
        bool good = o->nfile <= MAX_WORDS && o->noverride <= MAX_OVERRIDES && o->tap.n <= MAX_TAPS &&
                    o->target.n <= MAX_TARGETS && o->stop.n <= MAX_STOPS && o->steps >= 0 &&
                    o->threads >= 1 && o->threads <= 64 && o->chunk >= 1 && o->sampler.top_p <= 1 &&
                    o->sampler.typical_p >= 0 && o->sampler.typical_p <= 1;
        harness_require(good, "an option is out of its bounds");
        return DONE;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        char *text = harness_text(data, size), *argv[MAX_WORDS + 2] = {"lathe"};
        int argc = 1;
        for (char *at = text; at && argc <= MAX_WORDS; argc++) {
                argv[argc] = at;
                at = strchr(at, '\n');
                if (at)
                        *at++ = 0;
        }
        harness_listen();
        int code = run_lathe(argc, argv);
        harness_heard_why(code != DONE);
        free(text);
        return 0;
}
