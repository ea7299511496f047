/* lathe targets: lists the targets of emitted C. */
#include <stdio.h>
#include <string.h>

#include "check/check.h"
#include "commands_private.h"

static const char *where(Arena *arena, const Target *t)
{
        return t == target_find("native")                        ? "native"
               : target_runs_here(t)                             ? "runs here"
               : target_is_cross(t) && !test_run_lacks(arena, t) ? "emulated"
                                                                 : "";
}

/* Prints all targets.  runs: "native", "here", "emulated" or null. */
static int targets_print_json(Arena *arena)
{
        json_begin();
        json_t *list = json_array();
        for (int i = 0; i < target_count; i++) {
                const Target *t = &target_table[i];
                const char *runs = where(arena, t);
                json_array_append_new(list, json_pack("{s:s, s:s?, s:s, s:s}", "name", t->name, "runs",
                                                      !*runs                       ? NULL
                                                      : !strcmp(runs, "runs here") ? "here"
                                                                                   : runs,
                                                      "flags", t->flags, "about", t->about));
        }
        if (json_write(list))
                return DONE;
        fprintf(stderr, "lathe: out of memory\n");
        return WRONG_ENVIRONMENT;
}

int targets_command(const CommandOptions *o)
{
        Arena arena = {0};
        int code = DONE;
        if (o->given[OPT_JSON])
                code = targets_print_json(&arena);
        for (int i = 0; i < target_count && !o->given[OPT_JSON]; i++)
                printf("%-12s%-11s%s\n", target_table[i].name, where(&arena, &target_table[i]),
                       target_table[i].about);
        arena_free(&arena);
        return code;
}
