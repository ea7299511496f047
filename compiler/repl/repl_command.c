/* Commands of the REPL: lines that begin with a colon.  Help, completion and the man page's test read this
 * table. */
#include "repl_private.h"

#include <stdlib.h>
#include <string.h>

static bool command_load(ReplSession *s, const Words *w)
{
        int64_t before = s->models_taken;
        const bool good = session_open(s, w->word[1]);
        if (!is_model_file(w->word[1]))
                return good;
        return good && (s->models_taken == before || with_model(s, say_model, w));
}

static bool reload_file(ReplSession *s, const Words *w)
{
        (void)w;
        return session_reload(s);
}

static bool save_file(ReplSession *s, const Words *w)
{
        return session_save(s, w->word[1]);
}

static bool quit(ReplSession *s, const Words *w)
{
        (void)w;
        return s->has_quit = true;
}

/* clang-format off */
const ReplCommand command_row[] = {
        {"help",      "[NAME]",       "this list; or describe a command, builtin, block, model or variable", show_help,        0, 1, TAKES_COMMAND},
        {"load",      "FILE",         "load the definitions of a model file and choose its last model; or run a script", command_load,        1, 1, TAKES_FILE},
        {"reload",    "",             "load the last file again; settings stay",  reload_file,      0, 0, TAKES_NOTHING},
        {"save",      "FILE",         "save the definitions as a model file, or the session as a script", save_file,        1, 1, TAKES_FILE},
        {"model",     "[NAME]",       "show the current model, or choose another",                choose_model,     0, 1, TAKES_MODEL},
        {"set",       "[NAME VALUE, …]", "show the model's hyperparameters, or set some",        set_hyper,        0, -1, TAKES_HYPER},
        {"weights",   "[FILE]",       "weights of a checkpoint; without FILE: generated from a hash",   choose_weights,   0, 1, TAKES_FILE},
        {"lora",      "[DIR[=SCALE] …]", "change the weights by adapters of peft; without DIR: none", choose_adapters,  0, -1, TAKES_FILE},
        {"quant",     "[TYPE[,PATH=TYPE…]]", "round the weights; without TYPE: as they are",     choose_quant,     0, 1, TAKES_NOTHING},
        {"kv",        "[f32|f16|q8]", "storage of keys and values in the cache; without: f32",    choose_kv,        0, 1, TAKES_NOTHING},
        {"tokenizer", "FILE",         "choose a tokenizer, as for `lathe encode`",               choose_tokenizer, 1, 1, TAKES_FILE},
        {"encode",    "\"TEXT\"",     "convert a text to token ids",                              encode_text,      1, 1, TAKES_NOTHING},
        {"tokens",    "ID…",          "convert token ids to text",                                decode_tokens,    1, -1, TAKES_NOTHING},
        {"run",       "[\"TEXT\"] [N] [--temp T …]", "continue a text by N tokens (64), chosen as by `lathe run`; other models: print the outputs and the result of the loop", run_model, 0, -1, TAKES_NOTHING},
        {"vars",      "[NAME]",       "list the variables with their shapes, or one of them",    list_variables,   0, 1, TAKES_EXPRESSION},
        {"input",     "[NAME [= VALUE]]", "set an input to an expression or a file (.npy, .safetensors, a picture, a sound); = none: generated from a hash", give_input, 0, -1, TAKES_EXPRESSION},
        {"eval",      "",             "compute the outputs for these inputs",                     eval_model,       0, 0, TAKES_NOTHING},
        {"next",      "[N] [\"TEXT\"]", "the N (10) likeliest tokens after the text",     next_tokens,      0, 2, TAKES_NOTHING},
        {"logits",    "[\"TEXT\"]",   "the likeliest next token after each layer",       show_lens,        0, 1, TAKES_NOTHING},
        {"golden",    "[FILE]",       "hash, norm, first and last values of the outputs; or write a golden file", take_golden, 0, 1, TAKES_FILE},
        {"time",      "[FILE.svg]",   "time, GFLOP/s and GB/s of each kernel; or a roofline", show_times,     0, 1, TAKES_NOTHING},
        {"diff",      "",             "outputs and plan before and after the last change", print_difference, 0, 0, TAKES_NOTHING},
        {"tap",       "NAME",         "print a value by its name in the file",                  print_tap,        1, 1, TAKES_TAP},
        {"trace",     "[PICTURES] [-n STEPS] [--seed S] [--guidance G [--without NAME=VALUE]…] [-o FILE]", "a denoising step by step, as a table or a strip of pictures", show_denoising, 0, -1, TAKES_NOTHING},
        {"attn",      "LAYER [HEAD] [--window W] [--token K] [-o FILE]", "attention weights as heat maps, or laid over a picture", show_attention, 1, 8, TAKES_NOTHING},
        {"plot",      "[hist] EXPR [-o FILE]", "a vector as a line, a matrix as a heat map, or a histogram", plot_value, 1, -1, TAKES_EXPRESSION},
        {"hist",      "EXPR [--bins N] [-o FILE]", "histogram, mean and standard deviation of values", plot_histogram, 1, -1, TAKES_EXPRESSION},
        {"project",   "EXPR [-o FILE]", "the rows of a matrix in two dimensions, by their principal axes, with their tokens", show_projection, 1, -1, TAKES_EXPRESSION},
        {"rank",      "LAYER",        "singular values of W_Q W_K', head by head",        show_rank,        1, 1, TAKES_NOTHING},
        {"show",      "PART",         "params, loops, taps, cost, plan, program, threads, roofline, code, graph, passes or c",    show_of_model,    1, 1, TAKES_PART},
        {"dump",      "PASS",         "print the result of a pass",                               dump_pass,        1, 1, TAKES_PASS},
        {"c",         "",             "the C that is emitted",                            show_emitted,     0, 0, TAKES_NOTHING},
        {"quit",      "",             "quit, like the end of input",                  quit,             0, 0, TAKES_NOTHING},
};
/* clang-format on */
const int command_rows = sizeof command_row / sizeof *command_row;

/* Names of commands in other REPLs. */
static const char *usual_name(const char *name)
{
        static const char *const usual[][2] = {{"q", "quit"}, {"exit", "quit"}, {"h", "help"},
                                               {"?", "help"}, {"type", "vars"}, {"who", "vars"},
                                               {"l", "load"}, {"r", "reload"}};
        for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
                if (!strcmp(usual[i][0], name))
                        return usual[i][1];
        return name;
}

const ReplCommand *find_command(const char *name)
{
        const ReplCommand *found = command_named(usual_name(name));
        if (found)
                return found;
        const char *names[64];
        for (int i = 0; i < command_rows; i++)
                names[i] = command_row[i].name;
        const char *near = nearest_name(name, names, command_rows);
        if (near)
                repl_error("unknown command :%s; did you mean :%s?", name, near);
        else
                repl_error("unknown command :%s; :help lists the commands", name);
        return NULL;
}

/* --- words --------------------------------------------------------------------------------------------------------- */

/* End of the word that begins here, with its text in *out, escapes resolved; NULL: an open quote. */
static const char *read_word(const char *from, char **out)
{
        bool quoted = *from == '"';
        char *to = *out;
        from += quoted;
        while (*from && (quoted ? *from != '"' : *from != ' ' && *from != '\t')) {
                if (quoted && *from == '\\' && from[1]) {
                        from++;
                        *to++ = *from == 'n' ? '\n' : *from == 't' ? '\t' : *from;
                        from++;
                } else {
                        *to++ = *from++;
                }
        }
        *to++ = 0;
        *out = to;
        return quoted && *from != '"' ? NULL : from + quoted;
}

static bool read_words(const char *line, Words *w, char *buffer)
{
        for (int capacity = 0;; w->n++) {
                line += strspn(line, " \t");
                if (w->n == 1)
                        w->rest = line;
                if (w->n >= capacity) {
                        capacity = capacity ? 2 * capacity : 8;
                        char **larger = realloc(w->word, (size_t)capacity * sizeof *larger);
                        if (!larger)
                                return repl_error("%s", no_memory);
                        w->word = larger;
                }
                if (!*line) {
                        w->word[w->n] = NULL; /* as in main's argv, for options_read() */
                        return true;
                }
                w->word[w->n] = buffer;
                line = read_word(line, &buffer);
                if (!line)
                        return repl_error("a quote is never closed");
        }
}

static bool run_words(ReplSession *s, const Words *w)
{
        const ReplCommand *c = w->n ? find_command(w->word[0]) : NULL;
        if (!w->n)
                repl_error("which command? :help lists them");
        if (!c)
                return false;
        if (w->n - 1 < c->least || (c->most >= 0 && w->n - 1 > c->most))
                return repl_error("usage: :%s%s%s", c->name, *c->arguments ? " " : "", c->arguments);
        bool good = c->run(s, w);
        fflush(stdout);
        return good;
}

bool take_command(ReplSession *s, const char *line)
{
        Words w = {.rest = ""};
        line += strspn(line, " \t") + 1;
        char *buffer = malloc(2 * strlen(line) + 2);
        bool good = false;
        if (!buffer)
                repl_error("%s", no_memory);
        else
                good = read_words(line, &w, buffer) && run_words(s, &w);
        free(w.word);
        free(buffer);
        return good;
}
