/* Options: one table for all commands; a command's row in main.c says by letters which it takes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver.h"

typedef struct {
        char letter; /* in a command's row */
        const char *name;
        bool value;
} OptionRow;

static const OptionRow option_table[] = {
        {'m', "-m", true},           {'D', "-D", true},
        {'w', "--weights", true},    {'t', "--tokenizer", true},
        {'o', "-o", true},           {'T', "--target", true},
        {'M', "--main", false},      {'e', "--embed", false},
        {'x', "--explain", false},   {'c', "--chunk", true},
        {'s', "--storage", true},    {'C', "--code-only", false},
        {'p', "-p", true},           {'f', "-f", true},
        {'n', "-n", true},           {'E', "--temp", true},
        {'K', "--top-k", true},      {'P', "--top-p", true},
        {'N', "--min-p", true},      {'S', "--seed", true},
        {'R', "--threads", true},    {'z', "--stop", true},
        {'J', "--jit", true},        {'v', "-v", false},
        {'H', "--hash", false},      {'a', "--against", true},
        {'b', "--bound", true},      {'i', "--interpreter", false},
        {'q', "--echo", false},      {'y', "--tap", true},
        {'u', "--update", false},    {'U', "--junit", true},
        {'A', "--each-pass", false}, {'L', "--slots", true},
        {'I', "--inputs", true},
};

const char *option_name(char letter)
{
        for (size_t i = 0; i < sizeof option_table / sizeof option_table[0]; i++)
                if (option_table[i].letter == letter)
                        return option_table[i].name;
        return "";
}

bool is_off(const Options *o, const char *pass)
{
        for (int i = 0; i < o->noff; i++)
                if (!strcmp(o->off[i], pass))
                        return true;
        return false;
}

static bool is_pass(const char *name)
{
        for (int i = 0; i < pass_count; i++)
                if (!strcmp(pass_table[i].name, name))
                        return true;
        return false;
}

static bool wrong(const char *command, const char *format, const char *what)
{
        fprintf(stderr, "lathe %s: ", command);
        fprintf(stderr, format, what);
        fprintf(stderr, "; `lathe help %s` says more\n", command);
        return false;
}

static bool add(const char **list, int *n, int most, const char *value)
{
        if (*n == most)
                return false;
        list[(*n)++] = value;
        return true;
}

/* NAME=VALUE is cut in two where it stands, in argv. */
static bool set_override(Options *o, const char *command, const char *text)
{
        char *equals = strchr(text, '=');
        if (!equals || equals == text)
                return wrong(command, "-D wants NAME=VALUE, not %s", text);
        if (o->noverride == MAX_OVERRIDES)
                return wrong(command, "%s", "too many -D");
        *equals = 0;
        o->override[o->noverride++] = (Override){text, equals + 1, NULL};
        return true;
}

/* A number from low to high; else *x is low. */
static bool number(const char *command, const char *option, const char *value, double low, double high,
                   double *x)
{
        char *end;
        *x = strtod(value, &end);
        if (end != value && !*end && *x >= low && *x <= high)
                return true;
        *x = low;
        fprintf(stderr, "lathe %s: %s wants a number from %g to %g, not %s; `lathe help %s` says more\n",
                command, option, low, high, value, command);
        return false;
}

static bool set_jit(Options *o, const char *command, const char *value)
{
        static const char *const mode[] = {[JIT_AUTO] = "auto", [JIT_TCC] = "tcc", [JIT_CC] = "cc"};
        for (int i = 0; i < 3; i++)
                if (!strcmp(value, mode[i])) {
                        o->jit = (JitMode)i;
                        return true;
                }
        return wrong(command, "--jit is auto, tcc or cc, not %s", value);
}

/* Those of generation. */
static bool set_generation(Options *o, const char *command, char letter, const char *value)
{
        double x = 0;
        bool good = true;
        switch (letter) {
        case 'p': o->prompt = value; break;
        case 'f': o->prompt_file = value; break;
        case 'z':
                good = *value ? add(o->stop, &o->nstop, MAX_STOPS, value) ||
                                        wrong(command, "%s", "too many --stop")
                              : wrong(command, "%s", "--stop wants a text");
                break;
        case 'n':
                good = number(command, "-n", value, 0, 1e15, &x);
                o->steps = (int64_t)x;
                break;
        case 'E':
                good = number(command, "--temp", value, 0, 1e6, &x);
                o->temperature = (float)x;
                break;
        case 'K':
                good = number(command, "--top-k", value, 0, 1e9, &x);
                o->top_k = (int)x;
                break;
        case 'P':
                good = number(command, "--top-p", value, 0, 1, &x);
                o->top_p = (float)x;
                break;
        case 'N':
                good = number(command, "--min-p", value, 0, 1, &x);
                o->min_p = (float)x;
                break;
        case 'S':
                good = number(command, "--seed", value, 0, 9e15, &x);
                o->seed = (uint64_t)x;
                break;
        case 'L':
                good = number(command, "--slots", value, 1, MAX_SLOTS, &x);
                o->slots = (int)x;
                break;
        case 'R':
                good = number(command, "--threads", value, 1, 64, &x);
                o->threads = (int)x;
                break;
        default: return false;
        }
        return good;
}

static bool set(Options *o, const char *command, char letter, const char *value)
{
        switch (letter) {
        case 'J': return set_jit(o, command, value);
        case 'v': return o->verbose = true;
        case 'H': return o->hash = true;
        case 'm': o->model = value; return true;
        case 'D': return set_override(o, command, value);
        case 'w': o->weights = value; return true;
        case 't': o->tokenizer = value; return true;
        case 'o': o->out = value; return true;
        case 'T':
                if (!target_find(value))
                        return wrong(command, "no target is named %s (`lathe targets` lists them)", value);
                return add(o->target, &o->ntarget, MAX_TARGETS, value) ||
                       wrong(command, "%s", "too many targets");
        case 'M': return o->with_main = true;
        case 'e': return o->embed = true;
        case 'C': return o->code_only = true;
        case 'q': return o->echo = true;
        case 'x': return o->explain = true;
        case 'a': o->against = value; return true;
        case 'y': return add(o->tap, &o->ntap, MAX_TAPS, value) || wrong(command, "%s", "too many --tap");
        case 'i': return o->interpreter = true;
        case 'A': return o->each_pass = true;
        case 'u': return o->update = true;
        case 'U': o->junit = value; return true;
        case 'I': o->inputs = value; return true;
        case 'b': {
                char *end;
                o->bound = strtod(value, &end);
                return (!*end && o->bound > 0 && o->bound < 1) ||
                       wrong(command, "--bound wants a number between 0 and 1, not %s", value);
        }
        case 's':
                o->storage = value;
                return !strcmp(value, "f32") || !strcmp(value, "f16") || !strcmp(value, "bf16") ||
                       wrong(command, "--storage is f32, f16 or bf16, not %s", value);
        case 'c': {
                char *end;
                o->chunk = strtol(value, &end, 10);
                return (!*end && o->chunk >= 1 && o->chunk <= 1 << 20) ||
                       wrong(command, "--chunk wants a number from 1 to 1048576, not %s", value);
        }
        default: return set_generation(o, command, letter, value);
        }
}

static bool pass_option(Options *o, const char *command, const char *arg, bool *is_one)
{
        bool dump = !strncmp(arg, "--dump=", 7), off = !strncmp(arg, "--no-", 5);
        *is_one = dump || off;
        if (!*is_one)
                return true;
        const char *name = arg + (dump ? 7 : 5);
        if (!is_pass(name))
                return wrong(command, "no pass is named %s (`lathe show MODEL passes` lists them)", name);
        return add(dump ? o->dump : o->off, dump ? &o->ndump : &o->noff, MAX_DUMPS, name) ||
               wrong(command, "%s", "too many passes named");
}

bool options_read(Options *o, const char *command, const char *takes, int argc, char **argv)
{
        *o = (Options){
                .chunk = 64, .slots = 1, .storage = "f32", .steps = INT64_MAX, .seed = 1, .threads = 1};
        for (int i = 0; i < argc; i++) {
                const char *arg = argv[i];
                bool is_one = false;
                if (arg[0] != '-' || !arg[1]) {
                        if (!add(o->file, &o->nfile, MAX_FILES, arg))
                                return wrong(command, "%s", "too many files");
                        continue;
                }
                if (strchr(takes, 'x') && !pass_option(o, command, arg, &is_one))
                        return false;
                if (is_one)
                        continue;
                const OptionRow *row = NULL;
                const char *value = NULL;
                for (size_t k = 0; k < sizeof option_table / sizeof option_table[0]; k++) {
                        size_t n = strlen(option_table[k].name);
                        if (!strchr(takes, option_table[k].letter) || strncmp(arg, option_table[k].name, n))
                                continue;
                        bool joined = option_table[k].value && (arg[n] == '=' || (n == 2 && arg[n]));
                        if (arg[n] && !joined)
                                continue;
                        row = &option_table[k];
                        value = joined ? arg + n + (arg[n] == '=') : NULL;
                }
                if (!row)
                        return wrong(command, "unknown option %s", arg);
                if (row->value && !value && i + 1 == argc)
                        return wrong(command, "%s wants a value", arg);
                o->given[(unsigned char)row->letter] = true;
                if (!set(o, command, row->letter, !row->value ? "" : value ? value : argv[++i]))
                        return false;
        }
        return true;
}
