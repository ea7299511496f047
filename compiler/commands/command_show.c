/* lathe show: prints a model's parts and costs. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "commands_private.h"

int show_command(const CommandOptions *o)
{
        const char *word = o->file[o->nfile - 1];
        bool alone = o->nfile == 1;
        if (!alone && strcmp(word, o->file[0]) && !access(word, F_OK) && access(o->file[0], F_OK)) {
                fprintf(stderr, "lathe show: the model is the first word: `lathe show %s %s`\n", word,
                        o->file[0]);
                return WRONG_USAGE;
        }
        int part = model_part(word);
        if (part < 0)
                return WRONG_USAGE;
        if (alone && part != PART_PASSES) {
                fprintf(stderr, "lathe show: %s of which model? see `lathe help show`\n", word);
                return WRONG_USAGE;
        }
        char command[32];
        snprintf(command, sizeof command, "show %s", word);
        if (!options_fit(o, command))
                return WRONG_USAGE;
        if (!picture_name_fits(o, (ModelPart)part))
                return WRONG_USAGE;
        if (alone)
                return show_model(NULL, o, PART_PASSES);
        Model m;
        int code;
        if (model_load(&m, o, &code))
                code = show_model(&m, o, (ModelPart)part);
        model_free(&m);
        return code;
}
