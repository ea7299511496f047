/* lathe: compiles a transformer, given as formulas, to C.
 *
 * This file selects the command; command_table.c has them.  Exit codes: 0 success, 1 invalid input, 2
 * wrong usage, 3 an error of the environment. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

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

/* Commands of similar programs, and what does their work here. */
static const struct {
        const char *word, *answer;
} foreign_commands[] = {
        {"serve", "nothing is served; `lathe run MODEL` runs a model here, `lathe page MODEL` writes a page "
                  "for a browser"},
        {"pull",
         "lathe downloads nothing; `hf download ORG/NAME --local-dir NAME` does, and then `lathe run NAME/`"},
        {"download",
         "lathe downloads nothing; `hf download ORG/NAME --local-dir NAME` does, and then `lathe run NAME/`"},
        {"list", "lathe has no store of models; a model is a file or a folder: `lathe run MODEL`"},
        {"ls", "lathe has no store of models; a model is a file or a folder: `lathe run MODEL`"},
        {"ps", "no model keeps running; `lathe run MODEL` ends with its output"},
        {"stop", "no model keeps running; `lathe run MODEL` ends with its output"},
        {"rm", "lathe has no store of models; delete the file or the folder"},
        {"convert", "`lathe import SOURCE` converts a published model to a model file and C"},
        {"quantize", "`lathe run SOURCE --quant Q4_K_M` rounds weights, and so do build, page and eval"},
        {"generate", "`lathe run MODEL -p TEXT` continues a text"},
        {"compile", "`lathe build MODEL -o OUT.c` compiles a model to C"},
        {"bench", "`lathe run MODEL -v` prints times and tokens per second"},
        {"tokenize", "`lathe encode SOURCE` prints the tokens of standard input"},
        {"embed", "`lathe run MODEL TEXT…` embeds texts, if the model has a loop embed"},
};

static const Command *command_find(const char *name)
{
        for (int i = 0; i < command_count; i++)
                if (!strcmp(command_table[i].name, name))
                        return &command_table[i];
        for (size_t i = 0; i < sizeof foreign_commands / sizeof *foreign_commands; i++)
                if (!strcmp(foreign_commands[i].word, name)) {
                        fprintf(stderr, "lathe: there is no command %s: %s\n", name,
                                foreign_commands[i].answer);
                        return NULL;
                }
        if (strchr(name, '.') && !access(name, F_OK)) {
                fprintf(stderr,
                        "lathe: %s is not a command: `lathe run %s` runs a model, and `lathe help` lists the "
                        "commands\n",
                        name, name);
                return NULL;
        }
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
                return o->nfile > 1 && access(o->file[1], F_OK);
        return c->run == build_command || c->run == page_command || c->run == run_command ||
               c->run == chat_command || c->run == eval_command || c->run == verify_command ||
               c->run == weights_command;
}

/* Whether a model that does not exist is named as a download, as in other programs: smollm2, smollm2:135m,
 * org/name, https://…; then after a message. */
static bool is_download(const Command *c, const char *name)
{
        char local[1024];
        const char *slash = strchr(name, '/'), *last = strrchr(name, '/');
        const bool url = strstr(name, "://"), bare = !slash && !strchr(name, '.') && strcmp(name, "-") != 0;
        snprintf(local, sizeof local, "%.*s", slash ? (int)(slash - name) : 0, name);
        const bool hub = slash && slash == last && slash > name && slash[1] && !strchr(".~", name[0]) &&
                         !strstr(slash, ".model") && !strstr(slash, ".gguf") && !strstr(slash, ".json") &&
                         access(local, F_OK) != 0;
        if ((!url && !bare && !hub) || !access(name, F_OK))
                return false;
        fprintf(stderr, "lathe %s: there is no file or folder %s", c->name, name);
        snprintf(local, sizeof local, "%s.model", name);
        if (!access(local, F_OK))
                fprintf(stderr, "; did you mean %s?\n", local);
        else if (url)
                fprintf(stderr, ", and lathe downloads nothing: `curl -LO %s`, then `lathe %s %s`\n", name,
                        c->name, last[1] ? last + 1 : "FILE");
        else if (hub)
                fprintf(stderr,
                        ", and lathe downloads nothing: `hf download %s --local-dir %s`, then `lathe %s "
                        "%s/`\n",
                        name, slash + 1, c->name, slash + 1);
        else
                fprintf(stderr,
                        ", and lathe downloads nothing: `hf download ORG/NAME --local-dir NAME`, then `lathe "
                        "%s NAME/`\n",
                        c->name);
        return true;
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
        if (!strcmp(word, "--version") || !strcmp(word, "-V") || !strcmp(word, "version")) {
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
        if ((takes_source(c, &o) || c->run == import_command) && is_download(c, o.file[0]))
                return WRONG_USAGE;
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
