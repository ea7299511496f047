/* lathe completion: prints the tables of commands and options for bash, zsh and fish. */
#include <stdio.h>
#include <string.h>

#include "commands_private.h"

/* Values of a command's first word, or of an option: words with a space after each; NULL: a file, or any
 * text. */
static const char *command_words(Arena *a, const Command *c)
{
        const char *const *part;
        Text *t = text_new(a);
        if (!strcmp(c->name, "golden"))
                return "record check ";
        if (!strcmp(c->name, "completion"))
                return "bash zsh fish ";
        if (strcmp(c->name, "show") != 0)
                return NULL;
        for (int i = 0, n = model_parts(&part); i < n; i++)
                text_printf(t, "%s ", part[i]);
        return t->data;
}

/* The values of an option: listed in its placeholder, or in the table that it names. */
static const char *option_values(Arena *a, OptionId id)
{
        const char *value = option_info(id)->value;
        Text *t = text_new(a);
        if (!value)
                return NULL;
        for (int i = 0; i < target_count && !strcmp(value, "TARGET"); i++)
                text_printf(t, "%s%s ", i ? "" : "native ", target_table[i].name);
        for (int i = 0; i < LOOPS && !strcmp(value, "LOOP"); i++)
                text_printf(t, "%s ", loop_info[i].name);
        for (int i = 0; i < PASS_COUNT && !strcmp(value, "PASS"); i++)
                text_printf(t, "%s ", pass_table[i].name);
        for (const char *at = option_has_choice(id) ? value : ""; *at;
             at += strcspn(at, "|") + (strchr(at, '|') != NULL))
                text_printf(t, "%.*s ", (int)strcspn(at, "|"), at);
        return t->n ? t->data : NULL;
}

/* All words with - that may follow a command. */
static const char *options_of(Arena *a, const Command *c)
{
        Text *t = text_new(a);
        for (OptionId id = 0; id < OPTIONS; id++) {
                if (!option_is_taken(id, c->name))
                        continue;
                if (id != OPT_NO)
                        text_printf(t, "%s ", option_info(id)->name);
                for (int pass = 0; id == OPT_NO && pass < PASS_COUNT; pass++)
                        if (pass_table[pass].off != NEEDED)
                                text_printf(t, "--no-%s ", pass_table[pass].name);
        }
        text_put(t, "--help");
        return t->data;
}

static void completion_names(void)
{
        for (int i = 0; i < command_count; i++)
                printf("%s ", command_table[i].name);
}

static void print_bash(Arena *a)
{
        printf("# Completion of lathe for bash, written by `lathe completion bash`.\n_lathe()\n{\n"
               "        local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} words= "
               "options=\n"
               "        COMPREPLY=()\n        case ${COMP_WORDS[1]} in\n");
        for (int i = 0; i < command_count; i++) {
                const Command *c = &command_table[i];
                const char *words = command_words(a, c);
                printf("        %s) options='%s'", c->name, options_of(a, c));
                if (words)
                        printf(" words='%s'", words);
                printf(" ;;\n");
        }
        printf("        help) words='");
        completion_names();
        printf("' ;;\n        esac\n"
               "        if [ \"$COMP_CWORD\" -eq 1 ]; then\n                words='");
        completion_names();
        printf("help --version'\n                before=\n        fi\n        case $before in\n");
        for (OptionId id = 0; id < OPTIONS; id++)
                if (id != OPT_NO && option_values(a, id))
                        printf("        %s) COMPREPLY=($(compgen -W '%s' -- \"$word\")); return ;;\n",
                               option_info(id)->name, option_values(a, id));
        printf("        esac\n"
               "        case $word in\n"
               "        -*) COMPREPLY=($(compgen -W \"$options $words\" -- \"$word\")) ;;\n"
               "        *)\n"
               "                [ -z \"$words\" ] || COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
               "                local IFS=$'\\n'\n"
               "                [ \"$COMP_CWORD\" -eq 1 ] || COMPREPLY+=($(compgen -f -- \"$word\"))\n"
               "                ;;\n        esac\n}\ncomplete -o filenames -F _lathe lathe\n");
}

/* A text within single quotes of zsh and fish. */
static void print_quoted(const char *text, const char *quote, const char *also)
{
        for (; *text; text++)
                if (*text == '\'')
                        printf("%s", quote);
                else
                        printf(strchr(also, *text) ? "\\%c" : "%c", *text);
}

static void print_zsh(Arena *a)
{
        printf("#compdef lathe\n# Completion of lathe for zsh, written by `lathe completion "
               "zsh`.\n_lathe()\n{\n"
               "        local -a names\n        names=(\n");
        for (int i = 0; i < command_count; i++) {
                printf("                '%s:", command_table[i].name);
                print_quoted(command_table[i].about, "'\\''", ":");
                printf("'\n");
        }
        printf("                'help:describe a command')\n        if ((CURRENT == 2)); then\n"
               "                _describe command names\n                return\n        fi\n"
               "        local command=$words[2]\n        shift words\n        ((CURRENT--))\n        case "
               "$command in\n");
        for (int i = 0; i < command_count; i++) {
                const Command *c = &command_table[i];
                const char *words = command_words(a, c);
                printf("        %s) _arguments '*:file:", c->name);
                printf(words ? "_alternative \"words:word:(%s)\" \"files:file:_files\"'" : "_files'", words);
                for (OptionId o = 0; o < OPTIONS; o++) {
                        if (!option_is_taken(o, c->name) || o == OPT_NO)
                                continue;
                        const bool has_value = option_has_value(o);
                        const char *name = option_info(o)->name, *values = option_values(a, o);
                        printf(" \\\n                '*%s%s", name,
                               has_value ? name[1] == '-' ? "=" : "+" : "");
                        printf(!has_value ? "'" : values ? ":value:(%s)'" : ":value:_files'", values);
                }
                printf(" ;;\n");
        }
        printf("        help) _describe command names ;;\n        esac\n}\n"
               "if [ \"$funcstack[1]\" = _lathe ]; then _lathe \"$@\"; else compdef _lathe lathe; fi\n");
}

static void print_fish(Arena *a)
{
        printf("# Completion of lathe for fish, written by `lathe completion fish`.\n");
        for (int i = 0; i < command_count; i++) {
                const Command *c = &command_table[i];
                const char *words = command_words(a, c);
                printf("complete -c lathe -n __fish_use_subcommand -f -a %s -d '", c->name);
                print_quoted(c->about, "\\'", "\\");
                printf("'\n");
                if (words)
                        printf("complete -c lathe -n '__fish_seen_subcommand_from %s' -a '%s'\n", c->name,
                               words);
                for (OptionId o = 0; o < OPTIONS; o++) {
                        if (!option_is_taken(o, c->name) || o == OPT_NO)
                                continue;
                        const bool has_value = option_has_value(o);
                        const char *name = option_info(o)->name, *values = option_values(a, o);
                        printf("complete -c lathe -n '__fish_seen_subcommand_from %s' -%s%s", c->name,
                               name[1] == '-' ? "l " : "s ", name + (name[1] == '-' ? 2 : 1));
                        printf(values ? " -x -a '%s'\n" : has_value ? " -r\n" : "\n", values);
                }
        }
        printf("complete -c lathe -n __fish_use_subcommand -f -a help -d 'describe a command'\n");
        printf("complete -c lathe -n '__fish_seen_subcommand_from help' -f -a '");
        completion_names();
        printf("'\n");
}

int completion_command(const CommandOptions *o)
{
        static const struct {
                const char *name;
                void (*print)(Arena *a);
        } shell[] = {{"bash", print_bash}, {"zsh", print_zsh}, {"fish", print_fish}};
        for (size_t i = 0; i < sizeof shell / sizeof *shell; i++)
                if (!strcmp(o->file[0], shell[i].name)) {
                        Arena a = {0};
                        shell[i].print(&a);
                        arena_free(&a);
                        return DONE;
                }
        fprintf(stderr, "lathe completion: the shell must be bash, zsh or fish, not %s\n", o->file[0]);
        return WRONG_USAGE;
}
