/* lathe run, loop transcribe: converts a sound to text.  The sound is fed, and loop generate produces the
 * text. */
#include <stdio.h>

#include "commands_private.h"

int run_transcribe(LoopRun *r)
{
        CommandOptions own = *r->e.o;
        PackedWeights begun = r->e.packed; /* ownership passes to run_generate */
        const char *sound = own.file[1];
        if (own.nfile != 2) {
                fprintf(stderr, "lathe run: loop transcribe requires one sound after the model: a WAV file, "
                                "or - for standard input; see `lathe help run`\n");
                return WRONG_USAGE;
        }
        if (!loop_reads_once(r))
                return WRONG_USAGE;
        own.nfile = 1; /* words after the model are no prompt */
        r->e.packed = (PackedWeights){0};
        return run_generate(r->e.m, &own, &begun, RUN_TEXT, sound);
}
