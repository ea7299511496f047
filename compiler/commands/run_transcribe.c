/* lathe run, loop transcribe: converts sounds to text.  A sound is fed, and loop generate produces its
 * text. */
#include <stdio.h>
#include <string.h>

#include "commands_private.h"

static bool is_stdin(const char *path)
{
        return path && !strcmp(path, "-");
}

int run_transcribe(LoopRun *r)
{
        CommandOptions own = *r->e.o;
        PackedWeights begun = r->e.packed; /* ownership passes to run_generate */
        WordList sounds;
        if (own.nfile < 2) {
                fprintf(stderr,
                        "lathe run: loop transcribe requires sounds after the model: WAV files, - for "
                        "standard input, or @FILE for the paths in a file; see `lathe help run`\n");
                return WRONG_USAGE;
        }
        if (!loop_reads_once(r))
                return WRONG_USAGE;
        const int code = words_listed(&r->e.m->arena, own.file + 1, own.nfile - 1, &sounds);
        if (code)
                return code;
        if (sounds.n > 1 && (is_stdin(own.prompt) || is_stdin(own.prompt_file))) {
                fprintf(stderr, "lathe run: the prompt of several sounds can't be standard input, which is "
                                "read once; -f FILE reads it from a file\n");
                return WRONG_USAGE;
        }
        own.nfile = 1; /* words after the model are no prompt */
        r->e.packed = (PackedWeights){0};
        return run_generate(r->e.m, &own, &begun, r->draft, RUN_TEXT, &sounds, NULL);
}
