/* lathe targets: what C can be written for. */
#include <stdio.h>
#include <string.h>

#include "check/check.h"
#include "commands_private.h"

int targets_command(const Options *o)
{
        (void)o;
        Arena arena = {0};
        const Target *native = target_find("native");
        for (int i = 0; i < target_count; i++) {
                const Target *t = &target_table[i];
                const char *here = t == native                                        ? "native"
                                   : target_runs_here(t)                              ? "runs here"
                                   : target_is_cross(t) && !test_run_lacks(&arena, t) ? "emulated"
                                                                                      : "";
                printf("%-12s%-11s%s\n", t->name, here, t->about);
        }
        arena_free(&arena);
        return DONE;
}
