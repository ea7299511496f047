/* Options: one table for all commands; a command's row in main.c says by letters which it takes. */
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver.h"
#include "../../runtime/rank_link.h"

typedef enum { FLAG, VALUE, LIST, PREFIX } OptionKind; /* LIST: values, one at a time; PREFIX: --no-PASS */

typedef struct {
        char letter; /* in a command's row */
        const char *name;
        OptionKind kind;
} OptionRow;

static const OptionRow option_table[] = {
#define OPTION(letter, name, kind) {letter, name, kind},
#include "options.def"
#undef OPTION
};
enum { OPTIONS = sizeof option_table / sizeof option_table[0] };

/* What has no effect in a combination is refused.  Of a command, or of one word of it ("golden record"): an option that wants
 * another, or that does not go with it. */
typedef enum { WANTS, WITHOUT } RuleKind;
typedef struct {
        const char *command, *options;
        RuleKind kind;
        char other;
        const char *why;
} Rule;

static const Rule rule_table[] = {
#define RULE(command, options, kind, other, why) {command, options, kind, other, why},
#include "option_rules.def"
#undef RULE
};
enum { RULES = sizeof rule_table / sizeof rule_table[0] };

static const OptionRow *row_of(char letter)
{
        for (int i = 0; i < OPTIONS; i++)
                if (option_table[i].letter == letter)
                        return &option_table[i];
        return NULL;
}

int option_count(void)
{
        return OPTIONS;
}

const char *option_of(const char *takes, int i, bool *has_value)
{
        const OptionRow *row = &option_table[i];
        *has_value = row->kind == VALUE || row->kind == LIST;
        return strchr(takes, row->letter) ? row->name : NULL;
}

/* PASS_COUNT: there is none. */
static PassId find_pass(const char *name)
{
        PassId pass = 0;
        while (pass < PASS_COUNT && strcmp(pass_table[pass].name, name) != 0)
                pass++;
        return pass;
}

static bool wrong(const char *command, const char *format, const char *what)
{
        fprintf(stderr, "lathe %s: ", command);
        fprintf(stderr, format, what);
        fprintf(stderr, "; `lathe help %.*s` says more\n", (int)strcspn(command, " "), command);
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

static bool set_prefix(Options *o, const char *command, const char *value)
{
        const char *fault = c_name_fault(value);
        o->prefix = value;
        if (!fault)
                return true;
        fprintf(stderr,
                "lathe %s: --prefix wants a name that C can bear, and %s is %s; `lathe help %s` says more\n",
                command, *value ? value : "nothing", fault, command);
        return false;
}

static bool set_target(Options *o, const char *command, const char *value)
{
        if (!target_find(value))
                return wrong(command, "no target is named %s (`lathe targets` lists them)", value);
        for (int i = 0; i < o->ntarget; i++)
                if (target_find(o->target[i]) == target_find(value))
                        return wrong(command, "--target %s is given twice", value);
        return add(o->target, &o->ntarget, MAX_TARGETS, value) || wrong(command, "%s", "too many targets");
}

static bool set_jit(Options *o, const char *command, const char *value)
{
        static const char *const mode[] = {
                [JIT_AUTO] = "auto", [JIT_TCC] = "tcc", [JIT_CC] = "cc", [JIT_CODE] = "code"};
        for (int i = JIT_AUTO; i <= JIT_CODE; i++)
                if (!strcmp(value, mode[i])) {
                        o->jit = (JitMode)i;
                        return true;
                }
        return wrong(command, "--jit is auto, tcc, cc or code, not %s", value);
}

static bool set_cache(Options *o, const char *command, const char *value)
{
        o->cache = value;
        return kept_place(value) >= 0 || wrong(command, "--cache is beside, user or off, not %s", value);
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

/* Options that go into one member of Options as they are; numbers from which to which. */
typedef enum { AS_TRUE, AS_TEXT, AS_FLOAT, AS_INT, AS_INT64, AS_UINT64 } MemberKind;
typedef struct {
        char letter;
        MemberKind kind;
        size_t at;
        double low, high;
} MemberRow;
#define MEMBER(name) offsetof(Options, name)

static const MemberRow member_table[] = {
        {'v', AS_TRUE, MEMBER(verbose), 0, 0},
        {'F', AS_TRUE, MEMBER(force), 0, 0},
        {'O', AS_TRUE, MEMBER(spec_only), 0, 0},
        {'H', AS_TRUE, MEMBER(hash), 0, 0},
        {'M', AS_TRUE, MEMBER(with_main), 0, 0},
        {'e', AS_TRUE, MEMBER(embed), 0, 0},
        {']', AS_TRUE, MEMBER(ranked), 0, 0},
        {'"', AS_TRUE, MEMBER(prompt_rows), 0, 0},
        {'|', AS_TRUE, MEMBER(incbin), 0, 0},
        {'_', AS_TRUE, MEMBER(library), 0, 0},
        {'[', AS_TRUE, MEMBER(python), 0, 0},
        {',', AS_TEXT, MEMBER(depfile), 0, 0},
        {'j', AS_TRUE, MEMBER(json), 0, 0},
        {'`', AS_TRUE, MEMBER(depfile_beside), 0, 0},
        {'C', AS_TRUE, MEMBER(code_only), 0, 0},
        {'l', AS_TRUE, MEMBER(special), 0, 0},
        {'B', AS_TRUE, MEMBER(bare), 0, 0},
        {'W', AS_TRUE, MEMBER(raw), 0, 0},
        {'q', AS_TRUE, MEMBER(echo), 0, 0},
        {'x', AS_TRUE, MEMBER(explain), 0, 0},
        {'i', AS_TRUE, MEMBER(interpreter), 0, 0},
        {'A', AS_TRUE, MEMBER(each_pass), 0, 0},
        {'u', AS_TRUE, MEMBER(update), 0, 0},
        {'?', AS_TRUE, MEMBER(review), 0, 0},
        {'g', AS_TRUE, MEMBER(pieces), 0, 0},
        {'~', AS_TRUE, MEMBER(similar), 0, 0},
        {'&', AS_TRUE, MEMBER(beams.early), 0, 0},
        {'@', AS_TEXT, MEMBER(loop), 0, 0},
        {'m', AS_TEXT, MEMBER(model), 0, 0},
        {'w', AS_TEXT, MEMBER(weights), 0, 0},
        {'t', AS_TEXT, MEMBER(tokenizer), 0, 0},
        {'o', AS_TEXT, MEMBER(out), 0, 0},
        {'a', AS_TEXT, MEMBER(against), 0, 0},
        {'Q', AS_TEXT, MEMBER(text_file), 0, 0},
        {'U', AS_TEXT, MEMBER(junit), 0, 0},
        {'6', AS_TEXT, MEMBER(tune), 0, 0},
        {'Y', AS_TEXT, MEMBER(system), 0, 0},
        {':', AS_TEXT, MEMBER(suppress), 0, 0},
        {'G', AS_TEXT, MEMBER(date), 0, 0},
        {'p', AS_TEXT, MEMBER(prompt), 0, 0},
        {'f', AS_TEXT, MEMBER(prompt_file), 0, 0},
        {'n', AS_INT64, MEMBER(steps), 0, 1e15},
        {'E', AS_FLOAT, MEMBER(sampler.temperature), 0, 1e6},
        {'K', AS_INT, MEMBER(sampler.top_k), 0, 1e9},
        {'P', AS_FLOAT, MEMBER(sampler.top_p), 0, 1},
        {'N', AS_FLOAT, MEMBER(sampler.min_p), 0, 1},
        {'2', AS_FLOAT, MEMBER(sampler.typical_p), 0, 1},
        {'3', AS_FLOAT, MEMBER(penalties.repetition), 0.01, 100},
        {'9', AS_FLOAT, MEMBER(penalties.presence), -100, 100},
        {'+', AS_FLOAT, MEMBER(penalties.frequency), -100, 100},
        {'S', AS_UINT64, MEMBER(sampler.state), 0, 9e15},
        {'L', AS_INT, MEMBER(slots), 1, MAX_SLOTS},
        {'4', AS_INT64, MEMBER(pages), 1, MAX_PAGES},
        {'R', AS_INT, MEMBER(threads), 1, MAX_THREADS},
        {'>', AS_INT, MEMBER(drafts), 1, MOST_DRAFTS},
        {'^', AS_INT, MEMBER(beams.beams), 2, MAX_BEAMS},
        {'$', AS_FLOAT, MEMBER(guidance), -1000, 1000},
        {'!', AS_FLOAT, MEMBER(gflops), 1e-3, 1e9},
        {'#', AS_FLOAT, MEMBER(gbytes), 1e-3, 1e9},
        {'.', AS_INT, MEMBER(stages), 1, MAX_THREADS},
        {'{', AS_FLOAT, MEMBER(link), 1e-3, 1e9},
        {'}', AS_FLOAT, MEMBER(latency), 1e-3, 1e9},
        {'%', AS_FLOAT, MEMBER(beams.length_penalty), -100, 100},
        {'<', AS_TEXT, MEMBER(draft_weights), 0, 0},
        {'=', AS_TEXT, MEMBER(grammar), 0, 0},
        {'r', AS_INT, MEMBER(top), 0, 1e6},
        {'5', AS_INT64, MEMBER(sample), 1, 1e9},
        {'*', AS_INT64, MEMBER(keep), 0, 1e9},
};

static const MemberRow *member_row(char letter)
{
        for (size_t i = 0; i < sizeof member_table / sizeof *member_table; i++)
                if (member_table[i].letter == letter)
                        return &member_table[i];
        return NULL;
}

/* What is wrong leaves the least value. */
static bool set_member(Options *o, const char *command, const MemberRow *row, const char *value)
{
        const char *name = row_of(row->letter)->name;
        void *to = (char *)o + row->at;
        double x = 0;
        bool good = row->kind <= AS_TEXT || number(command, name, value, row->low, row->high, &x);
        if (good && row->kind > AS_FLOAT && x != floor(x)) {
                fprintf(stderr, "lathe %s: %s wants a whole number, not %s; `lathe help %s` says more\n",
                        command, name, value, command);
                x = row->low;
                good = false;
        }
        switch (row->kind) {
        case AS_TRUE: *(bool *)to = true; break;
        case AS_TEXT: *(const char **)to = value; break;
        case AS_FLOAT: *(float *)to = (float)x; break;
        case AS_INT: *(int *)to = (int)x; break;
        case AS_INT64: *(int64_t *)to = (int64_t)x; break;
        case AS_UINT64: *(uint64_t *)to = (uint64_t)x; break;
        }
        return good;
}

static bool set_stop(Options *o, const char *command, const char *value)
{
        if (!*value)
                return wrong(command, "%s", "--stop wants a text");
        return add(o->stop, &o->nstop, MAX_STOPS, value) || wrong(command, "%s", "too many --stop");
}

/* --dump=PASS, or --no-PASS */
static bool mark_pass(const char *command, bool *marked, const char *name, bool leaves_out)
{
        PassId pass = find_pass(name);
        if (pass == PASS_COUNT)
                return wrong(command, "no pass is named %s (`lathe show passes` lists them)", name);
        if (leaves_out && pass_table[pass].kind == NEEDED)
                return wrong(command, "%s can't be left out: all code is made by it", name);
        return marked[pass] = true;
}

static bool set_calibrate(Options *o, const char *command, const char *value)
{
        o->calibrate = value;
        return strcmp(value, "-") != 0 ||
               wrong(command, "%s",
                     "--calibrate wants a file, which is read more than once, not standard input");
}

/* N, or N,N,… */
static bool set_ranks(Options *o, const char *command, const char *value)
{
        for (const char *at = value;; at++) {
                char *end;
                const long n = strtol(at, &end, 10);
                if (end == at || n < 1 || n > MAX_THREADS || (*end && *end != ',') ||
                    o->nranks == MAX_TARGETS)
                        return wrong(command,
                                     "--ranks wants a number from 1 to 64, or several with commas between "
                                     "them, not %s",
                                     value);
                o->ranks[o->nranks++] = (int)n;
                at = end;
                if (!*end)
                        return true;
        }
}

/* R/N: number R, from 0 on, of N. */
static bool set_place(const char *command, const char *option, const char *value, int *number, int *of)
{
        char *slash, *end = NULL;
        const long r = strtol(value, &slash, 10), n = *slash == '/' ? strtol(slash + 1, &end, 10) : 0;
        *number = (int)r;
        *of = (int)n;
        if (slash > value && end && end > slash + 1 && !*end && n >= 1 && n <= RANKS_MOST && r >= 0 && r < n)
                return true;
        fprintf(stderr,
                "lathe %s: %s wants R/N, number R, from 0 on, of N (at most %d), as 0/4, not %s; `lathe help "
                "%s` says more\n",
                command, option, RANKS_MOST, value, command);
        return false;
}

static bool set_tap(Options *o, const char *command, const char *value)
{
        if (!*value)
                return wrong(command, "%s", "--tap wants a name");
        return add(o->tap, &o->ntap, MAX_TAPS, value) || wrong(command, "%s", "too many --tap");
}

/* A number: of tokens, drafted from the text.  Else the model that drafts them. */
static bool set_draft(Options *o, const char *command, const char *value)
{
        static const MemberRow from_text = {';', AS_INT, MEMBER(drafts), 0, MOST_DRAFTS};
        char *end;
        (void)strtod(value, &end);
        if (end != value && !*end)
                return set_member(o, command, &from_text, value);
        o->draft = value;
        return *value || wrong(command, "%s", "--draft wants a number of tokens or a model");
}

/* NAME,NAME,… */
static bool set_output(Options *o, const char *command, const char *value)
{
        for (const char *name = value; name;) {
                char *comma = strchr(name, ',');
                if (comma)
                        *comma = 0;
                if (!*name)
                        return wrong(command, "%s", "--output wants names, with commas between them");
                for (int i = 0; i < o->noutput; i++)
                        if (!strcmp(o->output[i], name))
                                return wrong(command, "--output %s is given twice", name);
                if (!add(o->output, &o->noutput, MAX_TAPS, name))
                        return wrong(command, "%s", "too many --output");
                name = comma ? comma + 1 : NULL;
        }
        return true;
}

static bool set(Options *o, const char *command, char letter, const char *value)
{
        const MemberRow *row = member_row(letter);
        if (row)
                return set_member(o, command, row, value);
        switch (letter) {
        case 'z': return set_stop(o, command, value);
        case ';': return set_draft(o, command, value);
        case 'J': return set_jit(o, command, value);
        case 'h': return set_cache(o, command, value);
        case 'V': return kv_storage(value, &o->kv) || wrong(command, "--kv is f32, f16 or q8, not %s", value);
        case 'D': return set_override(o, command, value);
        case 'X': return set_prefix(o, command, value);
        case 'T': return set_target(o, command, value);
        case 'd': return mark_pass(command, o->dump, value, false);
        case '0': return mark_pass(command, o->off, value, true);
        case 'Z': return set_calibrate(o, command, value);
        case 'y': return set_tap(o, command, value);
        case '/': return set_place(command, "--rank", value, &o->place.rank, &o->place.ranks);
        case '-': return set_place(command, "--stage", value, &o->place.stage, &o->place.stages);
        case ')': return set_ranks(o, command, value);
        case 'I':
                o->inputs = value;
                return add(o->input_file, &o->ninput_file, MAX_FILES, value) ||
                       wrong(command, "%s", "too many --inputs");
        case '7': return add(o->input, &o->ninput, MAX_FILES, value) || wrong(command, "%s", "too many -I");
        case '(':
                return add(o->without, &o->nwithout, MAX_FILES, value) ||
                       wrong(command, "%s", "too many --without");
        case '8': return set_output(o, command, value);
        case 'b': {
                char *end;
                o->bound = strtod(value, &end);
                return (!*end && o->bound > 0 && o->bound < 1) ||
                       wrong(command, "--bound wants a number between 0 and 1, not %s", value);
        }
        case 's': {
                char why[QUANT_WHY];
                o->quant = value;
                return quant_fits(value, why) || wrong(command, "--quant: %s", why);
        }
        case 'c': {
                char *end;
                o->chunk = strtol(value, &end, 10);
                return (!*end && o->chunk >= 1 && o->chunk <= 1 << 20) ||
                       wrong(command, "--chunk wants a number from 1 to 1048576, not %s", value);
        }
        default: return false;
        }
}

/* --- which option a word is ----------------------------------------------------------------------------------------- */

/* An option of those that a command takes (NULL: of any), and its value: what is joined to it, -n4, -n=4, --temp=1, --no-fuse;
 * NULL if that is the next word; "" of an option that has none. */
static const OptionRow *find_option(const char *takes, const char *arg, const char **joined)
{
        *joined = NULL;
        for (int i = 0; i < OPTIONS; i++) {
                const OptionRow *row = &option_table[i];
                size_t n = strlen(row->name);
                if ((takes && !strchr(takes, row->letter)) || strncmp(arg, row->name, n) != 0)
                        continue;
                if (!arg[n] && row->kind != PREFIX) {
                        *joined = row->kind == FLAG ? "" : NULL;
                        return row;
                }
                if (row->kind != FLAG && arg[n] && (arg[n] == '=' || n == 2 || row->kind == PREFIX)) {
                        *joined = arg + n + (arg[n] == '=');
                        return row;
                }
        }
        return NULL;
}

static bool unknown(const char *command, const char *takes, const char *arg)
{
        const char *name[OPTIONS], *joined;
        int n = 0;
        if (find_option(NULL, arg, &joined))
                return wrong(command, "takes no %s", arg);
        for (int i = 0; i < OPTIONS; i++)
                if (strchr(takes, option_table[i].letter) && option_table[i].kind != PREFIX)
                        name[n++] = option_table[i].name;
        char given[64];
        snprintf(given, sizeof given, "%.*s", (int)strcspn(arg, "="), arg);
        const char *near = nearest_name(given, name, n);
        if (!near)
                return wrong(command, "unknown option %s", arg);
        fprintf(stderr, "lathe %s: unknown option %s; did you mean %s?\n", command, arg, near);
        return false;
}

/* A word that follows an option which wants a value, and looks like an option itself. */
static bool is_like_option(const char *word)
{
        const char *name = word + strspn(word, "-");
        return name > word && name <= word + 2 &&
               ((*name >= 'a' && *name <= 'z') || (*name >= 'A' && *name <= 'Z'));
}

static const char *next_value(const char *command, const char *arg, const char *next)
{
        if (!next) {
                wrong(command, "%s wants a value", arg);
                return NULL;
        }
        if (!is_like_option(next))
                return next;
        fprintf(stderr, "lathe %s: %s wants a value, and %s looks like an option; %s=%s makes it a value\n",
                command, arg, next, arg, next);
        return NULL;
}

/* --- what goes together --------------------------------------------------------------------------------------------- */

static bool is_given(const Options *o, char letter)
{
        return letter == 'E'   ? o->sampler.temperature > 0
               : letter == ';' ? o->draft != NULL
                               : o->given[(unsigned char)letter] > 0;
}

static bool follows(const Options *o, const char *command, const Rule *r)
{
        for (const char *letter = r->options; *letter; letter++) {
                if (!is_given(o, *letter) || is_given(o, r->other) == (r->kind == WANTS))
                        continue;
                fprintf(stderr, "lathe %s: %s has no effect %s %s: %s\n", command, row_of(*letter)->name,
                        r->kind == WANTS ? "without" : "with", row_of(r->other)->name, r->why);
                return false;
        }
        return true;
}

/* Passes that are named must run, and be of a kind that does. */
static bool passes_fit(const Options *o, const char *command, const char *takes)
{
        for (int i = 0; i < 2 * PASS_COUNT; i++) {
                bool dump = i < PASS_COUNT;
                PassId pass = (PassId)(i % PASS_COUNT);
                const char *why = pass_table[pass].kind != GRAPHS && !strchr(takes, 'k')
                                          ? "no code is planned here"
                                  : dump && o->off[pass] ? "the pass is off"
                                                         : NULL;
                if (!why || !(dump ? o->dump : o->off)[pass])
                        continue;
                fprintf(stderr, "lathe %s: %s%s has no effect: %s\n", command, dump ? "--dump=" : "--no-",
                        pass_table[pass].name, why);
                return false;
        }
        return true;
}

bool options_fit(const Options *o, const char *command, const char *takes)
{
        for (int i = 0; i < OPTIONS; i++) {
                const OptionRow *row = &option_table[i];
                const char *taken = strchr(takes, row->letter);
                int times = o->given[(unsigned char)row->letter];
                if (times && !taken)
                        return wrong(command, "takes no %s", row->name);
                bool many = row->kind == PREFIX || (row->kind == LIST && taken && taken[1] != '1');
                if (times > 1 && !many)
                        return wrong(command, "%s is given twice", row->name);
        }
        if (o->nranks > 1 && strstr(takes, ")1"))
                return wrong(command, "%s",
                             "--ranks wants one number from 1 to 64, not several: it is one engine");
        for (int i = 0; i < RULES; i++)
                if (!strcmp(rule_table[i].command, command) && !follows(o, command, &rule_table[i]))
                        return false;
        return passes_fit(o, command, takes);
}

/* --- the whole -------------------------------------------------------------------------------------------------------- */

bool options_read(Options *o, const char *command, const char *takes, int argc, char **argv)
{
        bool ended = false; /* by -- */
        *o = (Options){.chunk = 64,
                       .slots = 1,
                       .steps = INT64_MAX,
                       .sampler = {.top_p = 1, .typical_p = 1, .state = 1},
                       .beams = {.length_penalty = 1},
                       .threads = 1,
                       .place = {.stages = 1},
                       .top = 10,
                       .sample = 256};
        for (int i = 0; i < argc; i++) {
                const char *arg = argv[i], *value;
                if (!ended && !strcmp(arg, "--")) {
                        ended = true;
                        continue;
                }
                if (ended || arg[0] != '-' || !arg[1]) {
                        if (!add(o->file, &o->nfile, MAX_FILES, arg))
                                return wrong(command, "%s", "too many files");
                        continue;
                }
                const OptionRow *row = find_option(takes, arg, &value);
                if (!row)
                        return unknown(command, takes, arg);
                if (!value && !(value = next_value(command, arg, argv[++i])))
                        return false;
                o->given[(unsigned char)row->letter]++;
                if (!set(o, command, row->letter, value))
                        return false;
        }
        return true;
}
