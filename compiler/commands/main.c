/* lathe: compiles a transformer, given as formulas, to C.
 *
 * This file selects the command; command_table.c has them.  Exit codes: 0 success, 1 invalid input, 2
 * wrong usage, 3 an error of the environment. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "commands_private.h"
#include "import/import.h"
#include "repl/repl.h"

static void print_usage(FILE *f)
{
        fprintf(f, "usage: lathe COMMAND …\n\n");
        for (int i = 0; i < command_count; i++)
                fprintf(f, "  %-10s  %s\n", command_table[i].name, command_table[i].about);
        fprintf(f, "\nsee `lathe help COMMAND`; `lathe --version` the version.  A model file of - is "
                   "standard input.\nbuild, page, run, eval, verify, golden record, repl, show and weights "
                   "take a published model in its place, as import does.\nexample: lathe build "
                   "models/tale.model --main -o tale.c\n         lathe run SmolLM2-135M/ -p \"Once\"\n");
}

static const Command *command_find(const char *name)
{
        for (int i = 0; i < command_count; i++)
                if (!strcmp(command_table[i].name, name))
                        return &command_table[i];
        const char *names[MAX_COMMANDS];
        for (int i = 0; i < command_count; i++)
                names[i] = command_table[i].name;
        const char *near = nearest_name(name, names, command_count);
        fprintf(stderr, "lathe: unknown command %s%s%s%s\n", name,
                near ? "; did you mean " : "; `lathe help` lists them", near ? near : "", near ? "?" : "");
        return NULL;
}

static bool words_fit(const Command *c, const CommandOptions *o)
{
        if (o->nfile >= c->least && o->nfile <= c->most)
                return true;
        fprintf(stderr, "lathe %s: expected %s", c->name, c->wants);
        if (o->nfile > c->most)
                fprintf(stderr, "; unexpected argument %s", o->file[c->most]);
        fprintf(stderr, "; see `lathe help %s`\n", c->name);
        return false;
}

static int too_much(const char *word)
{
        fprintf(stderr, "lathe: unexpected argument %s; see `lathe help`\n", word);
        return WRONG_USAGE;
}

static bool asks_help(int argc, char **argv)
{
        for (int i = 0; i < argc; i++)
                if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h"))
                        return true;
        return false;
}

/* Whether the command accepts a published model in place of a model file. */
static bool takes_source(const Command *c, const CommandOptions *o)
{
        if (c->run == show_command)
                return o->nfile > 1;
        return c->run == build_command || c->run == page_command || c->run == run_command ||
               c->run == eval_command || c->run == verify_command || c->run == weights_command;
}

/* Parts of a source that a command needs: the tokenizer, for a program or a prompt. */
static SourceParts source_parts(const Command *c, const CommandOptions *o)
{
        const bool text = o->given[OPT_MAIN] || o->text_file || c->run == page_command ||
                          option_is_taken(OPT_P, c->name);
        return (SourceParts){.weights = option_is_taken(OPT_WEIGHTS, c->name),
                             .tokenizer = text && option_is_taken(OPT_TOKENIZER, c->name),
                             .kept = option_is_taken(OPT_CACHE, c->name),
                             .wants = option_is_taken(OPT_RANDOM, c->name) && !o->given[OPT_CODE_ONLY]};
}

static int run_lathe(int argc, char **argv)
{
        if (argc < 2) {
                print_usage(stderr);
                return WRONG_USAGE;
        }
        const char *word = argv[1];
        if (!strcmp(word, "--version")) {
                if (argc > 2)
                        return too_much(argv[2]);
                printf("lathe %s\n", LATHE_VERSION);
                return DONE;
        }
        if (!strcmp(word, "parse"))
                return parse_command(argc - 2, argv + 2);
        if (!strcmp(word, "elaborate"))
                return elaborate_command(argc - 1, argv + 1);
        bool wants_help = !strcmp(word, "help") || !strcmp(word, "--help") || !strcmp(word, "-h");
        if (wants_help && argc == 2) {
                print_usage(stdout);
                return DONE;
        }
        if (wants_help && argc > 3)
                return too_much(argv[3]);
        const Command *c = command_find(wants_help ? argv[2] : word);
        if (!c)
                return WRONG_USAGE;
        if (wants_help || asks_help(argc - 2, argv + 2)) {
                command_help(c);
                return DONE;
        }
        CommandOptions o;
        double begun = seconds();
        if (!options_read(&o, c->name, c->name, argc - 2, argv + 2) || !words_fit(c, &o) ||
            !options_fit(&o, c->name))
                return WRONG_USAGE;
        Arena arena = {0};
        int code = DONE;
        o.begun = begun;
        if (!takes_source(c, &o) || source_open(&arena, &o, source_parts(c, &o), &code))
                code = c->run(&o);
        arena_free(&arena);
        return code;
}

int main(int argc, char **argv)
{
#ifdef SIGXFSZ
        signal(SIGXFSZ, SIG_IGN); /* exceeding a limit on file sizes is reported as a write error */
#endif
        arena_without_memory = end_without_memory;
        ending_watch();
        guard_terminals();
        int code = run_lathe(argc, argv);
        errno = 0; /* errors of earlier writes are unknown */
        if (!fflush(stdout) && !ferror(stdout))
                return code;
        fprintf(stderr, "lathe: standard output: %s\n", errno ? strerror(errno) : "it can't be written");
        return WRONG_ENVIRONMENT;
}
