/* Combinations of options: option_rules.def, and rules about values. */
#include <stdio.h>
#include <string.h>

#include "driver.h"

/* Options that need another one, or have no effect with it. */
typedef enum { WANTS, WITHOUT } RuleKind;
typedef struct {
        const char *commands;
        RuleKind kind;
        OptionId other;
        const char *why;
        const OptionId *option; /* OPTIONS after the last one */
} Rule;

static const Rule rule_table[] = {
#define RULE(commands, kind, other, why, ...)                                                                \
        {commands, kind, OPT_##other, why, (const OptionId[]){__VA_ARGS__, OPTIONS}},
#include "option_rules.def"
#undef RULE
};
enum { RULES = sizeof rule_table / sizeof rule_table[0] };

static bool option_is_given(const CommandOptions *o, OptionId id)
{
        return id == OPT_TEMP    ? o->sampler.temperature > 0
               : id == OPT_DRAFT ? o->draft.model || o->draft.tokens
               : id == OPT_BEAMS ? o->beams.beams > 1
                                 : o->given[id] > 0;
}

/* Whether the rule's option is given; --draft counts only with a model. */
static bool is_there_for(const CommandOptions *o, const Rule *r)
{
        return r->other == OPT_DRAFT ? o->draft.model != NULL : option_is_given(o, r->other);
}

static bool rule_follows(const CommandOptions *o, const char *command, const Rule *r)
{
        for (const OptionId *id = r->option; *id < OPTIONS; id++) {
                if (!option_is_given(o, *id) || is_there_for(o, r) == (r->kind == WANTS))
                        continue;
                fprintf(stderr, "lathe %s: %s has no effect %s %s: %s\n", command, option_info(*id)->name,
                        r->kind == WANTS ? "without" : "with", option_info(r->other)->name, r->why);
                return false;
        }
        return true;
}

/* temperature: the rules of options that want one; else all others. */
static bool rules_follow(const CommandOptions *o, const char *command, bool temperature)
{
        for (int i = 0; i < RULES; i++)
                if (commands_have(rule_table[i].commands, command, false) &&
                    (rule_table[i].other == OPT_TEMP) == temperature &&
                    !rule_follows(o, command, &rule_table[i]))
                        return false;
        return true;
}

bool beams_are_open(const CommandOptions *o)
{
        for (int i = 0; i < RULES; i++)
                for (const OptionId *id = rule_table[i].option; *id < OPTIONS; id++)
                        if (rule_table[i].other == OPT_BEAMS && rule_table[i].kind == WITHOUT &&
                            option_is_given(o, *id))
                                return false;
        return true;
}

bool sampling_fits(const CommandOptions *o, const SettledSampling *s, const char *command)
{
        CommandOptions settled = *o;
        settled.sampler = s->sampler;
        return rules_follow(&settled, command, true);
}

/* Commands that plan kernels, and so run all passes. */
static const char plans[] = "build, page, run, eval, weights, verify, " PLANNED_PARTS;

/* Passes that are named must be run by the command. */
static bool passes_fit(const CommandOptions *o, const char *command)
{
        const bool planned = commands_have(plans, command, true) && !o->given[OPT_INTERPRETER];
        for (int i = 0; i < 2 * PASS_COUNT; i++) {
                bool dump = i < PASS_COUNT;
                PassId pass = (PassId)(i % PASS_COUNT);
                const char *why = pass >= GRAPH_PASSES && !planned ? "no code is planned"
                                  : dump && o->off[pass]           ? "the pass is off"
                                                                   : NULL;
                if (!why || !(dump ? o->dump : o->off)[pass])
                        continue;
                fprintf(stderr, "lathe %s: %s%s has no effect: %s\n", command, dump ? "--dump=" : "--no-",
                        pass_table[pass].name, why);
                return false;
        }
        return true;
}

/* `lathe verify` runs ranks by libtcc or the interpreter of Code. */
static bool ranks_fit(const CommandOptions *o, const char *command)
{
        if (!o->ranks.n || o->jit != JIT_CC || strcmp(command, "verify") != 0)
                return true;
        fprintf(stderr, "lathe %s: --ranks has no effect with --jit cc: ranks run code of libtcc\n", command);
        return false;
}

/* NULL, or why values of options conflict. */
static const char *other_fault(const CommandOptions *o, const char *command)
{
        const bool tries_each = (!strcmp(command, "verify") && !o->text_file) || !strcmp(command, "golden") ||
                                !strcmp(command, "golden check");
        if (o->target.n > 1 && !tries_each)
                return "--target is given twice";
        if (o->ranks.n > 1 && !strcmp(command, "run"))
                return "--ranks must be one number from 1 to 64, not several: one engine runs";
        if (o->kv && o->off[PASS_causal])
                return "--kv has no effect with --no-causal: nothing is kept between calls";
        if (o->given[OPT_INTERPRETER] && o->given[OPT_BOUND] && !o->against)
                return "--bound has no effect with --interpreter: it applies only to compiled code";
        if (!strcmp(command, "show cost") && o->given[OPT_N] && !o->given[OPT_JSON] && !o->given[OPT_LINK])
                return "-n has no effect without --link or --json: it gives the rows of the call whose time "
                       "they print";
        return NULL;
}

bool rules_fit(const CommandOptions *o, const char *command)
{
        if (!rules_follow(o, command, false))
                return false;
        const char *fault = other_fault(o, command);
        if (fault)
                fprintf(stderr, "lathe %s: %s; see `lathe help %.*s`\n", command, fault,
                        (int)strcspn(command, " "), command);
        return !fault && ranks_fit(o, command) && passes_fit(o, command);
}
