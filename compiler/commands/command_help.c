/* lathe help COMMAND: its row of the table, and its options, in groups. */
#include <stdio.h>
#include <string.h>

#include "commands_private.h"

enum { WIDTH = 100, TEXT_COLUMN = 29, INDENT = 2 };

static const char *const group_heading[] = {
        [GROUP_MODEL] = "Model",       [GROUP_WEIGHTS] = "Weights",     [GROUP_INPUT] = "Input",
        [GROUP_OUTPUT] = "Output",     [GROUP_RUNNING] = "Running",     [GROUP_SAMPLING] = "Sampling",
        [GROUP_CHECKING] = "Checking", [GROUP_MEASURING] = "Measuring", [GROUP_PASSES] = "Passes",
};

/* Number of characters in UTF-8. */
static int help_width(const char *text, size_t n)
{
        int width = 0;
        for (size_t i = 0; i < n; i++)
                width += ((unsigned char)text[i] & 0xC0) != 0x80;
        return width;
}

/* Prints from a column on; further lines begin with `indent` spaces. */
static void print_wrapped(const char *text, int column, int indent)
{
        while (*text) {
                const size_t n = strcspn(text, " \n"), spaces = strspn(text + n, " ");
                const char *next = text + n + spaces;
                column += help_width(text, n) + (int)spaces;
                printf("%.*s", (int)n, text);
                if (*next == '\n' || column + help_width(next, strcspn(next, " \n")) > WIDTH) {
                        next += *next == '\n';
                        column = indent;
                        printf("\n%*s", *next && *next != '\n' ? indent : 0, "");
                } else {
                        printf("%*s", (int)spaces, "");
                }
                text = next;
        }
        printf("\n");
}

/* "-n N", "--no-PASS" */
static int print_option_name(const OptionInfo *info)
{
        const char *gap = info->value && info->name[strlen(info->name) - 1] != '-' ? " " : "",
                   *value = info->value ? info->value : "";
        return printf("%*s%s%s%s", INDENT, "", info->name, gap, value) - (int)strlen(value) +
               help_width(value, strlen(value));
}

/* Whether the help of an earlier part has the option with the same text. */
static bool is_told_before(const CommandPart *part, OptionId id)
{
        const size_t command = strcspn(part->name, " ");
        for (const CommandPart *p = part_table; p < part; p++)
                if (!strncmp(p->name, part->name, command + 1) && option_is_taken(id, p->name) &&
                    option_text(id, p->name) == option_text(id, part->name))
                        return true;
        return false;
}

static void print_option(const char *command, OptionId id)
{
        int column = print_option_name(option_info(id));
        if (column + 2 > TEXT_COLUMN)
                column = printf("\n") - 1;
        printf("%*s", TEXT_COLUMN - column, "");
        print_wrapped(option_text(id, command), TEXT_COLUMN, TEXT_COLUMN);
}

/* Options of a command, or of one of its parts, in which those of earlier parts are only listed. */
static void print_options(const char *name, const CommandPart *part)
{
        Arena a = {0};
        Text *also = text_new(&a);
        const char *heading = NULL;
        for (OptionId id = 0; id < OPTIONS; id++) {
                const OptionInfo *info = option_info(id);
                if (!option_is_taken(id, name))
                        continue;
                if (part && is_told_before(part, id)) {
                        text_printf(also, "%s %s%s", also->n ? "," : "Also:", info->name,
                                    id == OPT_NO ? info->value : "");
                        continue;
                }
                if (heading != group_heading[info->group])
                        printf("%s%s:\n", !heading && !part ? "\n" : "", group_heading[info->group]);
                heading = group_heading[info->group];
                print_option(name, id);
        }
        if (also->n)
                print_wrapped(also->data, 0, 3 * INDENT);
        arena_free(&a);
}

void command_help(const Command *c)
{
        const size_t n = strlen(c->name);
        bool has_parts = false;
        print_wrapped(c->usage, printf("usage: lathe %s ", c->name), 7 + INDENT);
        printf("\n%s\n\n", c->about);
        print_wrapped(c->introduction, 0, 0);
        for (int i = 0; i < part_count; i++) {
                const CommandPart *part = &part_table[i];
                if (strncmp(part->name, c->name, n) != 0 || part->name[n] != ' ')
                        continue;
                has_parts = true;
                printf("\n");
                print_wrapped(part->introduction, 0, 0);
                print_options(part->name, part);
        }
        if (!has_parts)
                print_options(c->name, NULL);
        printf("\n%s", c->examples);
}
