/* Options: one table for all commands, options.def, and its parser. */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver.h"
#include "../../runtime/random_seed.h"
#include "../../runtime/rank_link.h"

typedef struct OptionRow OptionRow;

/* An option of a command line, with its value. */
typedef struct {
        CommandOptions *o;
        const char *command; /* in messages */
        const OptionRow *row;
        const char *value;
} OptionUse;

struct OptionRow {
        OptionInfo info;
        OptionKind kind;
        size_t member;               /* offset in CommandOptions; SET, EACH and PREFIX: none */
        double low, high;            /* range of a number; high: length of a list */
        bool (*set)(OptionUse *use); /* sets the value, or checks a text; false after a message */
};

static bool set_override(OptionUse *use), add_adapter(OptionUse *use), check_quant(OptionUse *use),
        check_calibrate(OptionUse *use), set_kv(OptionUse *use), set_rank(OptionUse *use),
        set_stage(OptionUse *use), check_prefix(OptionUse *use), set_output(OptionUse *use),
        set_target(OptionUse *use), set_ranks(OptionUse *use), set_draft(OptionUse *use),
        set_roof(OptionUse *use), set_link(OptionUse *use), set_seed(OptionUse *use),
        set_dump(OptionUse *use), set_no(OptionUse *use);

#define LOOPS_BY_TOKEN "run generate, run transcribe"
#define LOOPS_OF_TEXT LOOPS_BY_TOKEN ", run unmask"
#define FLAG .kind = OPTION_FLAG
#define TEXT(at) .kind = OPTION_TEXT, .member = offsetof(CommandOptions, at)
#define CHECKED(at, function) TEXT(at), .set = (function)
#define LIST(at, most) .kind = OPTION_LIST, .member = offsetof(CommandOptions, at), .high = (most)
#define BETWEEN(least, most) .low = (least), .high = (most)
#define EXPANDED_BETWEEN(range) BETWEEN range
#define NUMBER(type, at, ...)                                                                                \
        .kind = OPTION_##type, .member = offsetof(CommandOptions, at), EXPANDED_BETWEEN((__VA_ARGS__))
#define CHOICE(at) .kind = OPTION_CHOICE, .member = offsetof(CommandOptions, at)
#define SET(function) .kind = OPTION_SET, .set = (function)
#define EACH(function) .kind = OPTION_EACH, .set = (function)
#define PREFIX(function) .kind = OPTION_PREFIX, .set = (function)

static const OptionRow option_table[OPTIONS] = {
#define HELP(id, commands, text)
#define OPTION(id, name, how, value, group, commands, text)                                                  \
        [OPT_##id] = {{name, value, commands, text, GROUP_##group}, how},
#include "options.def"
#undef OPTION
#undef HELP
};

/* Texts of options that differ between commands. */
static const struct {
        OptionId id;
        const char *commands, *text;
} help_table[] = {
#define OPTION(...)
#define HELP(id, commands, text) {OPT_##id, commands, text},
#include "options.def"
#undef OPTION
#undef HELP
};

const OptionInfo *option_info(OptionId id)
{
        return &option_table[id].info;
}

bool option_has_value(OptionId id)
{
        return option_table[id].kind != OPTION_FLAG && option_table[id].kind != OPTION_PREFIX;
}

/* A placeholder that lists all values has no word in capitals. */
static bool has_choice(const OptionRow *row)
{
        const char *value = row->info.value;
        return value && strchr(value, '|') && !value[strcspn(value, "ABCDEFGHIJKLMNOPQRSTUVWXYZ")];
}

bool option_has_choice(OptionId id)
{
        return has_choice(&option_table[id]);
}

const char **option_value(CommandOptions *o, OptionId id)
{
        void *member = (char *)o + option_table[id].member;
        return option_table[id].kind == OPTION_LIST ? ((OptionList *)member)->at : member;
}

/* Whether `name` is the command, or one of its parts: "run", "run embed". */
static bool begins_name(const char *begin, size_t n, const char *name)
{
        return !strncmp(begin, name, n) && (!name[n] || name[n] == ' ');
}

bool commands_have(const char *commands, const char *name, bool parts)
{
        if (!strcmp(name, "chat")) /* has the options of this part of run */
                name = "run generate";
        for (const char *at = commands; at; at = strchr(at, ',')) {
                at += strspn(at, ", ");
                const size_t n = strcspn(at, ",");
                if (begins_name(at, n, name) ||
                    (parts && !strncmp(at, name, strlen(name)) && at[strlen(name)] == ' '))
                        return true;
        }
        return false;
}

bool option_is_taken(OptionId id, const char *command)
{
        return commands_have(option_table[id].info.commands, command, true);
}

const char *option_text(OptionId id, const char *command)
{
        for (size_t i = 0; i < sizeof help_table / sizeof *help_table; i++)
                if (help_table[i].id == id && commands_have(help_table[i].commands, command, false))
                        return help_table[i].text;
        return option_table[id].info.text;
}

/* --- values --------------------------------------------------------------------------------------------------------- */

/* Prints "lathe COMMAND: …; see `lathe help COMMAND`". */
static bool option_error(const char *command, const char *format, ...)
{
        va_list more;
        va_start(more, format);
        fprintf(stderr, "lathe %s: ", command);
        vfprintf(stderr, format, more);
        fprintf(stderr, "; see `lathe help %.*s`\n", (int)strcspn(command, " "), command);
        va_end(more);
        return false;
}

/* False after a message: too many values, or an empty one. */
static bool option_list_add(OptionUse *use, OptionList *list, int most, const char *value)
{
        const char *name = use->row->info.name;
        if (!*value)
                return option_error(use->command, "%s must be %s, not empty", name, use->row->info.value);
        if (list->n == most)
                return option_error(use->command, "%s is given more than %d times", name, most);
        list->at[list->n++] = value;
        return true;
}

static bool option_read_number(OptionUse *use, double *x)
{
        const OptionRow *row = use->row;
        char *end;
        *x = strtod(use->value, &end);
        if (end == use->value || *end || !(*x >= row->low && *x <= row->high))
                return option_error(use->command, "%s must be a number from %.15g to %.15g, not %s",
                                    row->info.name, row->low, row->high, use->value);
        if (row->kind != OPTION_FLOAT && row->kind != OPTION_REAL && *x != floor(*x))
                return option_error(use->command, "%s must be a whole number, not %s", row->info.name,
                                    use->value);
        return true;
}

/* The index of the value in the placeholder; -1 after a message. */
static int option_choice(OptionUse *use)
{
        char list[64];
        int n = 0, i = 0;
        const size_t length = strlen(use->value);
        for (const char *at = use->row->info.value;; at++, i++) {
                const size_t word = strcspn(at, "|");
                if (word == length && !strncmp(at, use->value, word))
                        return i;
                n += snprintf(list + n, sizeof list - (size_t)n, "%s%.*s",
                              !i         ? ""
                              : at[word] ? ", "
                                         : " or ",
                              (int)word, at);
                at += word;
                if (!*at)
                        break;
        }
        option_error(use->command, "%s must be %s, not %s", use->row->info.name, list, use->value);
        return -1;
}

/* An invalid value leaves the member unchanged. */
static bool option_set(OptionUse *use)
{
        const OptionRow *row = use->row;
        void *to = (char *)use->o + row->member;
        double x = 0;
        const int choice = has_choice(row) ? option_choice(use) : 0;
        if (choice < 0 || (row->high > row->low && row->kind != OPTION_LIST && !option_read_number(use, &x)))
                return false;
        switch (row->kind) {
        case OPTION_FLAG: break;
        case OPTION_TEXT: *(const char **)to = use->value; return !row->set || row->set(use);
        case OPTION_LIST: return option_list_add(use, to, (int)row->high, use->value);
        case OPTION_FLOAT: *(float *)to = (float)x; break;
        case OPTION_REAL: *(double *)to = x; break;
        case OPTION_INT: *(int *)to = (int)x; break;
        case OPTION_INT64: *(int64_t *)to = (int64_t)x; break;
        case OPTION_UINT64: *(uint64_t *)to = (uint64_t)x; break;
        case OPTION_CHOICE: *(int *)to = choice; break;
        case OPTION_SET:
        case OPTION_EACH:
        case OPTION_PREFIX: return row->set(use);
        }
        return true;
}

/* --- values with a form of their own -------------------------------------------------------------------------------- */

/* NAME=VALUE is split in argv. */
static bool set_override(OptionUse *use)
{
        CommandOptions *o = use->o;
        char *equals = strchr(use->value, '=');
        if (!equals || equals == use->value)
                return option_error(use->command, "-D must be NAME=VALUE, not %s", use->value);
        if (o->noverride == MAX_OVERRIDES)
                return option_error(use->command, "-D is given more than %d times", MAX_OVERRIDES);
        *equals = 0;
        o->override[o->noverride++] = (Override){use->value, equals + 1, NULL};
        return true;
}

static bool add_adapter(OptionUse *use)
{
        CommandOptions *o = use->o;
        if (o->nadapter == MAX_ADAPTERS)
                return option_error(use->command, "--lora is given more than %d times", MAX_ADAPTERS);
        return adapter_parse((char *)use->value, &o->adapter[o->nadapter++]) ||
               option_error(use->command,
                            "--lora must be a directory, or DIR=SCALE with a finite number, not %s",
                            use->value);
}

static bool check_prefix(OptionUse *use)
{
        const char *fault = c_name_fault(use->value);
        return !fault || option_error(use->command, "--prefix must be a valid name in C, and %s is %s",
                                      *use->value ? use->value : "nothing", fault);
}

static bool set_target(OptionUse *use)
{
        OptionList *target = &use->o->target;
        if (!target_find(use->value))
                return option_error(use->command, "unknown target %s (`lathe targets` lists them)",
                                    use->value);
        for (int i = 0; i < target->n; i++)
                if (target_find(target->at[i]) == target_find(use->value))
                        return option_error(use->command, "--target %s is given twice", use->value);
        return option_list_add(use, target, MAX_TARGETS, use->value);
}

bool kv_storage(const char *name, Storage *storage)
{
        static const Storage of_cache[] = {STORAGE_F32, STORAGE_F16, STORAGE_Q8};
        *storage = STORAGE_F32;
        for (size_t i = 0; i < sizeof of_cache / sizeof *of_cache; i++)
                if (!strcmp(name, storage_info[of_cache[i]].text)) {
                        *storage = of_cache[i];
                        return true;
                }
        return false;
}

static bool set_kv(OptionUse *use)
{
        return kv_storage(use->value, &use->o->kv);
}

static bool check_quant(OptionUse *use)
{
        char why[QUANT_WHY];
        return quant_fits(use->value, why) || option_error(use->command, "--quant: %s", why);
}

static bool check_calibrate(OptionUse *use)
{
        return strcmp(use->value, "-") != 0 ||
               option_error(use->command,
                            "--calibrate must be a file, not standard input: it is read more than once");
}

/* --dump PASS, --no-PASS */
static bool mark_pass(OptionUse *use, bool *marked)
{
        for (PassId pass = 0; pass < PASS_COUNT; pass++) {
                if (strcmp(pass_table[pass].name, use->value) != 0)
                        continue;
                if (marked == use->o->off && pass_table[pass].off == NEEDED)
                        return option_error(use->command,
                                            "%s can't be turned off: it is required to generate code",
                                            use->value);
                return marked[pass] = true;
        }
        return option_error(use->command, "unknown pass %s (`lathe show passes` lists them)", use->value);
}

static bool set_dump(OptionUse *use)
{
        return mark_pass(use, use->o->dump);
}

static bool set_no(OptionUse *use)
{
        return mark_pass(use, use->o->off);
}

/* N, or N,N,… */
static bool set_ranks(OptionUse *use)
{
        RankOptions *ranks = &use->o->ranks;
        for (const char *at = use->value;; at++) {
                char *end;
                const long n = strtol(at, &end, 10);
                if (end == at || n < 1 || n > MAX_THREADS || (*end && *end != ',') || ranks->n == MAX_TARGETS)
                        return option_error(use->command,
                                            "--ranks must be a number from 1 to %d, or several separated by "
                                            "commas, not %s",
                                            MAX_THREADS, use->value);
                ranks->count[ranks->n++] = (int)n;
                at = end;
                if (!*end)
                        return true;
        }
}

/* R/N: number R, counted from 0, of N. */
static bool set_place(OptionUse *use, int *number, int *of)
{
        char *slash, *end = NULL;
        const long r = strtol(use->value, &slash, 10), n = *slash == '/' ? strtol(slash + 1, &end, 10) : 0;
        *number = (int)r;
        *of = (int)n;
        return (slash > use->value && end && end > slash + 1 && !*end && n >= 1 && n <= MAX_RANKS && r >= 0 &&
                r < n) ||
               option_error(use->command,
                            "%s must be %s, a number from 0 and the count (at most %d), such as 0/4, not %s",
                            use->row->info.name, use->row->info.value, MAX_RANKS, use->value);
}

static bool set_rank(OptionUse *use)
{
        return set_place(use, &use->o->ranks.place.rank, &use->o->ranks.place.ranks);
}

static bool set_stage(OptionUse *use)
{
        return set_place(use, &use->o->ranks.place.stage, &use->o->ranks.place.stages);
}

/* A,B */
static bool set_pair(OptionUse *use, float *a, float *b)
{
        char *end = NULL;
        const double x = strtod(use->value, &end), y = *end == ',' ? strtod(end + 1, &end) : 0;
        *a = (float)x;
        *b = (float)y;
        return (!*end && x >= 1e-3 && x <= 1e9 && y >= 1e-3 && y <= 1e9) ||
               option_error(use->command, "%s must be %s, two numbers from 0.001 to 1000000000, not %s",
                            use->row->info.name, use->row->info.value, use->value);
}

static bool set_roof(OptionUse *use)
{
        return set_pair(use, &use->o->speed.gflops, &use->o->speed.gbytes);
}

static bool set_link(OptionUse *use)
{
        return set_pair(use, &use->o->speed.link, &use->o->speed.latency);
}

/* A number: of tokens drafted from the text.  Else the model that drafts. */
static bool set_draft(OptionUse *use)
{
        static const OptionRow from_text = {.info = {.name = "--draft"},
                                            NUMBER(INT, draft.tokens, 0, MAX_DRAFTS)};
        char *end;
        (void)strtod(use->value, &end);
        if (end != use->value && !*end)
                return option_set(&(OptionUse){use->o, use->command, &from_text, use->value});
        use->o->draft.model = use->value;
        return *use->value || option_error(use->command, "--draft must be a number of tokens or a model");
}

/* A number; random: a new one, which is printed, so that the result can be repeated. */
static bool set_seed(OptionUse *use)
{
        static const OptionRow number = {.info = {.name = "--seed"}, NUMBER(UINT64, sampler.state, 0, 9e15)};
        if (strcmp(use->value, "random") != 0)
                return option_set(&(OptionUse){use->o, use->command, &number, use->value});
        use->o->sampler.state = random_seed();
        fprintf(stderr, "lathe %s: note: --seed %" PRIu64 " repeats this\n", use->command,
                use->o->sampler.state);
        return true;
}

/* NAME,NAME,… */
static bool set_output(OptionUse *use)
{
        OptionList *output = &use->o->output;
        for (char *name = (char *)use->value; name;) {
                char *comma = strchr(name, ',');
                if (comma)
                        *comma = 0;
                for (int i = 0; i < output->n; i++)
                        if (!strcmp(output->at[i], name))
                                return option_error(use->command, "--output %s is given twice", name);
                if (!option_list_add(use, output, MAX_TAPS, name))
                        return false;
                name = comma ? comma + 1 : NULL;
        }
        return true;
}

const Target *chosen_target(const CommandOptions *o)
{
        return target_find(o->target.n ? o->target.at[0] : "native");
}

/* --- parsing of words ----------------------------------------------------------------------------------------------- */

/* The option of a word, among those that the command accepts (NULL: all), and its joined value: -n4, -n=4,
 * --temp=1, --no-fuse; NULL: the value is the next word; "": the option has none.  OPTIONS: unknown. */
static OptionId find_option(const char *command, const char *arg, const char **joined)
{
        *joined = NULL;
        for (OptionId id = 0; id < OPTIONS; id++) {
                const OptionKind kind = option_table[id].kind;
                const size_t n = strlen(option_table[id].info.name);
                if ((command && !option_is_taken(id, command)) ||
                    strncmp(arg, option_table[id].info.name, n) != 0)
                        continue;
                if (!arg[n] && kind != OPTION_PREFIX) {
                        *joined = kind == OPTION_FLAG ? "" : NULL;
                        return id;
                }
                if (kind != OPTION_FLAG && arg[n] && (arg[n] == '=' || n == 2 || kind == OPTION_PREFIX)) {
                        *joined = arg + n + (arg[n] == '=');
                        return id;
                }
        }
        return OPTIONS;
}

/* What to use instead of an option of another program, if the command has it; NULL: nothing. */
static const char *foreign_option(const char *takes, const char *given)
{
        static const struct {
                const char *word, *use;
        } foreign[] = {
#define FOREIGN(word, use) {word, use},
#include "foreign_options.def"
#undef FOREIGN
        };
        const char *joined;
        char word[64];
        size_t n = 0;
        for (; given[n] && n + 1 < sizeof word; n++)
                word[n] = given[n] == '_' ? '-' : given[n];
        word[n] = 0;
        for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++) {
                if (strcmp(foreign[i].word, word) != 0)
                        continue;
                char option[64];
                snprintf(option, sizeof option, "%.*s", (int)strcspn(foreign[i].use, " "), foreign[i].use);
                return *option != '-' || find_option(takes, option, &joined) < OPTIONS ? foreign[i].use
                                                                                       : NULL;
        }
        return NULL;
}

static bool option_unknown(const char *command, const char *takes, const char *arg)
{
        const char *name[OPTIONS], *joined;
        int n = 0;
        if (find_option(NULL, arg, &joined) < OPTIONS)
                return option_error(command, "takes no %s", arg);
        for (OptionId id = 0; id < OPTIONS; id++)
                if (option_is_taken(id, takes) && option_table[id].kind != OPTION_PREFIX)
                        name[n++] = option_table[id].info.name;
        char given[64];
        snprintf(given, sizeof given, "%.*s", (int)strcspn(arg, "="), arg);
        const char *use = foreign_option(takes, given), *near = use ? NULL : nearest_name(given, name, n);
        if (!near && !use)
                return option_error(command, "unknown option %s", arg);
        fprintf(stderr,
                use ? "lathe %s: unknown option %s; use %s\n"
                    : "lathe %s: unknown option %s; did you mean %s?\n",
                command, arg, use ? use : near);
        return false;
}

/* A word after an option that needs a value, which looks like an option. */
static bool is_like_option(const char *word)
{
        const char *name = word + strspn(word, "-");
        return name > word && name <= word + 2 &&
               ((*name >= 'a' && *name <= 'z') || (*name >= 'A' && *name <= 'Z'));
}

static const char *next_value(const char *command, const char *arg, const char *next)
{
        if (!next) {
                option_error(command, "%s needs a value", arg);
                return NULL;
        }
        if (!is_like_option(next))
                return next;
        fprintf(stderr,
                "lathe %s: %s needs a value, but %s looks like an option; write %s=%s to pass it as the "
                "value\n",
                command, arg, next, arg, next);
        return NULL;
}

/* --- all options of a command line ---------------------------------------------------------------------------------- */

bool options_fit(const CommandOptions *o, const char *command)
{
        for (OptionId id = 0; id < OPTIONS; id++) {
                const OptionRow *row = &option_table[id];
                if (o->given[id] && !option_is_taken(id, command))
                        return option_error(command, "takes no %s", row->info.name);
                if (o->given[id] > 1 && row->kind != OPTION_PREFIX && row->kind != OPTION_LIST &&
                    row->kind != OPTION_EACH)
                        return option_error(command, "%s is given twice", row->info.name);
        }
        return rules_fit(o, command);
}

void options_begin(CommandOptions *o)
{
        *o = (CommandOptions){.chunk = 64,
                              .slots = 1,
                              .steps = INT64_MAX,
                              .sampler = {-1, -1, -1, -1, .typical_p = 1, .state = 1},
                              .penalties = {.repetition = -1},
                              .beams = {.length_penalty = 1},
                              .threads = 1,
                              .ranks = {.place = {.stages = 1}},
                              .top = 10,
                              .sample = 256};
}

void options_set_model(Arena *a, CommandOptions *o, const char *path)
{
        const char **file = NEW_ARRAY(a, const char *, o->nfile + 1);
        for (int i = 1; i < o->nfile; i++)
                file[i] = o->file[i];
        file[0] = path;
        o->file = file;
        o->nfile = o->nfile ? o->nfile : 1;
}

bool options_read(CommandOptions *o, const char *command, const char *takes, int argc, char **argv)
{
        bool ended = false; /* after -- */
        options_begin(o);
        o->file = (const char **)argv; /* a word moves to the place of an earlier one, or stays */
        for (int i = 0; i < argc; i++) {
                const char *arg = argv[i], *value;
                if (!ended && !strcmp(arg, "--")) {
                        ended = true;
                        continue;
                }
                if (ended || arg[0] != '-' || !arg[1]) {
                        o->file[o->nfile++] = arg;
                        continue;
                }
                const OptionId id = find_option(takes, arg, &value);
                if (id == OPTIONS)
                        return option_unknown(command, takes, arg);
                if (!value && !(value = next_value(command, arg, argv[++i])))
                        return false;
                o->given[id]++;
                if (!option_set(&(OptionUse){o, command, &option_table[id], value}))
                        return false;
        }
        o->beams.early = o->given[OPT_EARLY_STOPPING];
        return true;
}
