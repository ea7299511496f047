/* lathe completion: for bash, zsh and fish, what the tables of commands and options say. */
#include <stdio.h>
#include <string.h>

#include "commands_private.h"

/* What is known of a command's first word, or of an option's value: words with a space behind each; NULL: a file, or anything. */
static const char *words_of(Arena *a, const Command *c)
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

static const char *values_of(Arena *a, const char *option)
{
        static const char *const known[][2] = {
                {"--kv", "f32 f16 q8 "}, {"--jit", "auto tcc cc code "}, {"--cache", "beside user off "}};
        Text *t = text_new(a);
        for (size_t i = 0; i < sizeof known / sizeof *known; i++)
                if (!strcmp(option, known[i][0]))
                        return known[i][1];
        if (!strcmp(option, "--target"))
                text_put(t, "native ");
        for (int i = 0; i < target_count && t->n; i++)
                text_printf(t, "%s ", target_table[i].name);
        for (int i = 0; i < LOOPS && !strcmp(option, "--loop"); i++)
                text_printf(t, "%s ", loop_info[i].name);
        for (int i = 0; i < PASS_COUNT && !strcmp(option, "--dump"); i++)
                text_printf(t, "%s ", pass_table[i].name);
        return t->n ? t->data : NULL;
}

/* Passes that can be left out. */
static bool is_left_out(int pass)
{
        return pass_table[pass].kind != NEEDED;
}

/* All that may begin with - behind a command. */
static const char *options_of(Arena *a, const Command *c)
{
        Text *t = text_new(a);
        bool has_value;
        for (int i = 0; i < option_count(); i++) {
                const char *name = option_of(c->takes, i, &has_value);
                for (int pass = 0; name && pass < PASS_COUNT && !strcmp(name, "--no-"); pass++)
                        if (is_left_out(pass))
                                text_printf(t, "--no-%s ", pass_table[pass].name);
                if (name && strcmp(name, "--no-") != 0)
                        text_printf(t, "%s ", name);
        }
        text_put(t, "--help");
        return t->data;
}

static void print_names(void)
{
        for (int i = 0; i < command_count; i++)
                printf("%s ", command_table[i].name);
}

/* The row of every option that has a value, of any command. */
static const char *valued(int i)
{
        bool has_value;
        for (int c = 0; c < command_count; c++) {
                const char *name = option_of(command_table[c].takes, i, &has_value);
                if (name && has_value)
                        return name;
        }
        return NULL;
}

static void print_bash(Arena *a)
{
        printf("# Completion of lathe for bash, written by `lathe completion bash`.\n_lathe()\n{\n"
               "        local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} words= "
               "options=\n"
               "        COMPREPLY=()\n        case ${COMP_WORDS[1]} in\n");
        for (int i = 0; i < command_count; i++) {
                const Command *c = &command_table[i];
                const char *words = words_of(a, c);
                printf("        %s) options='%s'", c->name, options_of(a, c));
                if (words)
                        printf(" words='%s'", words);
                printf(" ;;\n");
        }
        printf("        help) words='");
        print_names();
        printf("' ;;\n        esac\n"
               "        if [ \"$COMP_CWORD\" -eq 1 ]; then\n                words='");
        print_names();
        printf("help --version'\n                before=\n        fi\n        case $before in\n");
        for (int i = 0; i < option_count(); i++) {
                const char *name = valued(i), *values = name ? values_of(a, name) : NULL;
                if (name && values)
                        printf("        %s) COMPREPLY=($(compgen -W '%s' -- \"$word\")); return ;;\n", name,
                               values);
        }
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
        printf("                'help:what a command does')\n        if ((CURRENT == 2)); then\n"
               "                _describe command names\n                return\n        fi\n"
               "        local command=$words[2]\n        shift words\n        ((CURRENT--))\n        case "
               "$command in\n");
        for (int i = 0; i < command_count; i++) {
                const Command *c = &command_table[i];
                const char *words = words_of(a, c);
                printf("        %s) _arguments '*:file:", c->name);
                printf(words ? "_alternative \"words:word:(%s)\" \"files:file:_files\"'" : "_files'", words);
                for (int o = 0; o < option_count(); o++) {
                        bool has_value;
                        const char *name = option_of(c->takes, o, &has_value), *values;
                        if (!name || !strcmp(name, "--no-"))
                                continue;
                        values = has_value ? values_of(a, name) : NULL;
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
                const char *words = words_of(a, c);
                printf("complete -c lathe -n __fish_use_subcommand -f -a %s -d '", c->name);
                print_quoted(c->about, "\\'", "\\");
                printf("'\n");
                if (words)
                        printf("complete -c lathe -n '__fish_seen_subcommand_from %s' -a '%s'\n", c->name,
                               words);
                for (int o = 0; o < option_count(); o++) {
                        bool has_value;
                        const char *name = option_of(c->takes, o, &has_value), *values;
                        if (!name || !strcmp(name, "--no-"))
                                continue;
                        values = has_value ? values_of(a, name) : NULL;
                        printf("complete -c lathe -n '__fish_seen_subcommand_from %s' -%s%s", c->name,
                               name[1] == '-' ? "l " : "s ", name + (name[1] == '-' ? 2 : 1));
                        printf(values ? " -x -a '%s'\n" : has_value ? " -r\n" : "\n", values);
                }
        }
        printf("complete -c lathe -n __fish_use_subcommand -f -a help -d 'what a command does'\n");
        printf("complete -c lathe -n '__fish_seen_subcommand_from help' -f -a '");
        print_names();
        printf("'\n");
}

int completion_command(const Options *o)
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
        fprintf(stderr, "lathe completion: bash, zsh or fish, not %s\n", o->file[0]);
        return WRONG_USAGE;
}
