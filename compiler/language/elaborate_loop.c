/* Loops of a model, and their settings: loops.def. */
#include "elaborate_private.h"

#include <math.h>
#include <string.h>

/* --- the table --- */

const LoopInfo loop_info[LOOPS] = {
#define LOOP(name, in, out, about) [LOOP_##name] = {#name, LOOP_IN_##in, LOOP_OUT_##out, about},
#define KNOB(...)
#include "loops.def"
#undef LOOP
#undef KNOB
};

static const Knob knob_table[KNOBS] = {
#define LOOP(...)
#define KNOB_ROW(loop, name, type, about, least, most, ...)                                                  \
        {LOOP_##loop, #name, KNOB_##type, about, least, most},
#define KNOB(loop, name, type, ...) KNOB_ROW(loop, name, type, __VA_ARGS__, 0, 0, 0)
#include "loops.def"
#undef LOOP
#undef KNOB
};

int loop_number(const char *name)
{
        for (int i = 0; i < LOOPS; i++)
                if (!strcmp(loop_info[i].name, name))
                        return i;
        return -1;
}

LoopInput loop_input(LoopId id, const LoopParts *parts)
{
        const LoopInput in = loop_info[id].in;
        if (in != LOOP_IN_TOKENS_OR_PICTURE)
                return in;
        return parts->input && parts->input->type.dtype == INT ? LOOP_IN_TOKENS : LOOP_IN_PICTURE;
}

const Knob *knob_find(LoopId loop, const char *name)
{
        for (int i = 0; i < KNOBS; i++)
                if (knob_table[i].loop == loop && !strcmp(knob_table[i].name, name))
                        return &knob_table[i];
        return NULL;
}

/* --- values of knobs --- */

static const char *const knob_wants[] = {
        [KNOB_TOKEN] = "the number of a token",
        [KNOB_TOKENS] = "the number of a token, or a list of such numbers",
        [KNOB_TEXT] = "a text",
        [KNOB_TEXT_SAID] = "a text with {} in it, once",
        [KNOB_TEXT_SAID_SYSTEM] = "a text with {system} and {} in it, each once",
        [KNOB_PAIR] = "a text with {first} and {second} in it, each once, and at most once {prompt}",
        [KNOB_ROLES] = "a text that lists some of the words system, user and answer",
        [KNOB_WHITE] = "\"newlines\", \"start\" or \"ends\"",
        [KNOB_REALS] = "a number, or a list of numbers",
        [KNOB_POSITIVES] = "a number above 0, or a list of such numbers",
        [KNOB_COUNT] = "a whole number from 1 to 65536",
        [KNOB_LENGTH] = "a whole number of at least 1",
        [KNOB_PROMPTS] = "a text with an object of JSON whose values are texts",
        [KNOB_TRUTH] = "true or false",
        [KNOB_RESAMPLING] = "\"bilinear\" or \"bicubic\"",
        [KNOB_POOLING] = "\"none\", \"mean\" or \"first\"",
        [KNOB_SIMILARITY] = "\"cosine\" or \"dot\"",
        [KNOB_NUMBER] = "a number",
        [KNOB_POSITIVE] = "a number above 0",
        [KNOB_SCHEDULER] = "\"euler\", \"heun\", \"ddpm\", \"ddim\" or \"dpm_solver\"",
        [KNOB_TELLS] = "\"noise\", \"velocity\" or \"picture\"",
        [KNOB_BETAS] = "\"linear\", \"scaled_linear\" or \"cosine\"",
        [KNOB_STEP_FROM] = "\"noise\" or \"picture\"",
        [KNOB_SPACING] = "\"training\" or \"even\"",
        [KNOB_VARIANCE] = "\"fixed\" or \"learned\"",
        [KNOB_ACTIVATION] = "\"softmax\", \"sigmoid\" or \"none\"",
        [KNOB_SUREST] = "\"probability\", \"margin\", \"entropy\", \"random\" or \"first\"",
        [KNOB_PACE] = "\"even\", \"times\" or \"chance\"",
};

static bool is_token(double x)
{
        return x >= 0 && x < INT32_MAX && x == floor(x);
}

static bool are_tokens(const Setting *s)
{
        for (int i = 0; i < s->nlist; i++)
                if (!is_token(s->list[i]))
                        return false;
        return true;
}

static bool has_once(const char *text, const char *hole)
{
        const char *found = strstr(text, hole);
        return found && !strstr(found + 1, hole);
}

static bool are_roles(const char *text)
{
        static const char *const role[] = {"system", "user", "answer"};
        while (*text) {
                size_t n = strcspn(text, " ");
                bool known = n == 0;
                for (int i = 0; i < 3; i++)
                        known |= n == strlen(role[i]) && !strncmp(text, role[i], n);
                if (!known)
                        return false;
                text += n + (text[n] == ' ');
        }
        return true;
}

/* {"query": "search: "} */
static bool are_prompts(const char *text)
{
        json_error_t error;
        const char *name;
        json_t *value, *all = json_loads(text, JSON_REJECT_DUPLICATES, &error);
        bool good = json_is_object(all);
        json_object_foreach (all, name, value)
                good &= json_is_string(value);
        json_decref(all);
        return good;
}

static bool are_reals(const Setting *s, bool above_0)
{
        const double *x = s->kind == SETTING_NUMBER ? &s->number : s->list;
        int n = s->kind == SETTING_NUMBER ? 1 : s->kind == SETTING_LIST ? s->nlist : 0;
        for (int i = 0; i < n; i++)
                if (!isfinite(x[i]) || (above_0 && x[i] <= 0))
                        return false;
        return n > 0;
}

/* The valid words of settings that take a word. */
#define WORD(word) #word " "
static const char *const knob_words[] = {
        [KNOB_WHITE] = "newlines start ends", [KNOB_RESAMPLING] = "bilinear bicubic",
        [KNOB_POOLING] = "none mean first",   [KNOB_SCHEDULER] = SCHEDULER_WORDS(WORD),
        [KNOB_TELLS] = TELLS_WORDS(WORD),     [KNOB_BETAS] = BETAS_WORDS(WORD),
        [KNOB_STEP_FROM] = "noise picture",   [KNOB_SPACING] = "training even",
        [KNOB_VARIANCE] = "fixed learned",    [KNOB_ACTIVATION] = "softmax sigmoid none",
        [KNOB_SUREST] = SUREST_WORDS(WORD),   [KNOB_PACE] = PACE_WORDS(WORD),
        [KNOB_SIMILARITY] = "cosine dot",
};
#undef WORD

static bool is_word_of(KnobType type, const char *text)
{
        const char *word = (size_t)type < sizeof knob_words / sizeof *knob_words ? knob_words[type] : NULL;
        while (word && *word) {
                size_t n = strcspn(word, " ");
                if (n == strlen(text) && !strncmp(word, text, n))
                        return true;
                word += n + (word[n] == ' ');
        }
        return false;
}

static bool knob_accepts(KnobType type, const char *text)
{
        switch (type) {
        case KNOB_TEXT_SAID: return has_once(text, "{}");
        case KNOB_TEXT_SAID_SYSTEM: return has_once(text, "{}") && has_once(text, "{system}");
        case KNOB_PAIR:
                return has_once(text, "{first}") && has_once(text, "{second}") &&
                       (!strstr(text, "{prompt}") || has_once(text, "{prompt}"));
        case KNOB_ROLES: return are_roles(text);
        case KNOB_PROMPTS: return are_prompts(text);
        default: return type == KNOB_TEXT || is_word_of(type, text);
        }
}

bool knob_takes(const Knob *k, double x)
{
        return x >= k->least && x <= k->most && (k->type == KNOB_RANGE || x == floor(x));
}

const char *knob_expects(Arena *a, const Knob *k)
{
        return k->type != KNOB_RANGE && k->type != KNOB_WHOLE_RANGE
                       ? knob_wants[k->type]
                       : arena_printf(a, "a %s from %.15g to %.15g",
                                      k->type == KNOB_RANGE ? "number" : "whole number", k->least, k->most);
}

static bool knob_fits(const Knob *k, const Setting *s)
{
        const KnobType type = k->type;
        bool number = s->kind == SETTING_NUMBER;
        switch (type) {
        case KNOB_TOKEN: return number && is_token(s->number);
        case KNOB_TOKENS: return number ? is_token(s->number) : s->kind == SETTING_LIST && are_tokens(s);
        case KNOB_NUMBER: return number && are_reals(s, false);
        case KNOB_POSITIVE: return number && are_reals(s, true);
        case KNOB_REALS: return are_reals(s, false);
        case KNOB_POSITIVES: return are_reals(s, true);
        case KNOB_COUNT:
                return number && s->number >= 1 && s->number <= 65536 && s->number == floor(s->number);
        case KNOB_LENGTH: return number && s->number >= 1 && is_token(s->number);
        case KNOB_RANGE:
        case KNOB_WHOLE_RANGE: return number && knob_takes(k, s->number);
        case KNOB_TRUTH: return s->kind == SETTING_BOOL;
        default: return s->kind == SETTING_TEXT && knob_accepts(type, s->text);
        }
}

/* A setting with the name of a model input fills it: with a number, except in loop draft. */
static bool is_filling(const Elaborator *e, const Setting *s)
{
        for (int i = 0; i < e->g->ninput; i++)
                if (!strcmp(input_name(&e->g->input[i]), s->name))
                        return true;
        return false;
}

/* That of a drafting model is the name of another model's value. */
static void check_filling(Elaborator *e, int loop, const Setting *s)
{
        if (loop == LOOP_draft && s->kind != SETTING_TEXT)
                poisoned(e, s->span,
                         "%s is an input: a text names the value of the other model that it reads, not %s",
                         s->name, setting_text(e->keep, s));
        else if (loop != LOOP_draft && s->kind != SETTING_NUMBER)
                poisoned(e, s->span, "%s is an input: a number fills it, not %s", s->name,
                         setting_text(e->keep, s));
}

static void check_knob(Elaborator *e, const Loop *l, const Setting *s)
{
        const char **names = NEW_ARRAY(e->keep, const char *, KNOBS + e->g->ninput);
        int loop = loop_number(l->name), n = 0;
        const bool fills = loop != LOOP_generate && loop != LOOP_transcribe;
        for (int i = 0; i < KNOBS; i++) {
                if ((int)knob_table[i].loop != loop)
                        continue;
                names[n++] = knob_table[i].name;
                if (strcmp(s->name, knob_table[i].name) != 0)
                        continue;
                if (!knob_fits(&knob_table[i], s))
                        poisoned(e, s->span, "%s must be %s, not %s", s->name,
                                 knob_expects(e->keep, &knob_table[i]), setting_text(e->keep, s));
                return;
        }
        if (fills && is_filling(e, s)) {
                check_filling(e, loop, s);
                return;
        }
        for (int i = 0; fills && i < e->g->ninput; i++)
                names[n++] = input_name(&e->g->input[i]);
        poisoned(e, s->span, "loop %s has no %s", l->name, s->name);
        hint_nearest(e, s->name, names, n);
}

/* Checks settings that a conversation requires, if any of its texts is set. */
static void check_conversation(Elaborator *e, const Loop *l)
{
        static const char *const needs[] = {"user", "answer"};
        const Setting *any = NULL, *said = loop_setting(l, "default_system");
        for (int i = 0; i < l->nsetting && !any; i++)
                any = l->setting[i].kind == SETTING_TEXT ? &l->setting[i] : NULL;
        for (int i = 0; any && i < 2; i++)
                if (!loop_setting(l, needs[i]))
                        poisoned(e, any->span, "a conversation needs %s too: `%s \"…{}…\"`", needs[i],
                                 needs[i]);
        if (said && !loop_setting(l, "system") && !loop_setting(l, "first_user"))
                poisoned(e, said->span, "default_system has no effect without system or first_user");
}

/* Limits of a choice need a temperature, also one of 0. */
static void check_sampling(Elaborator *e, const Loop *l)
{
        static const char *const limit[] = {"top_k", "top_p", "min_p"};
        for (int i = 0; i < 3 && !loop_setting(l, "temperature"); i++) {
                const Setting *s = loop_setting(l, limit[i]);
                if (s)
                        poisoned(e, s->span, "%s has no effect without temperature", s->name);
        }
}

static void refuse_unknown(Elaborator *e, const Loop *l)
{
        const char *names[LOOPS];
        for (int i = 0; i < LOOPS; i++)
                names[i] = loop_info[i].name;
        poisoned(e, l->span, "unknown loop %s", l->name);
        if (nearest_name(l->name, names, LOOPS)) {
                hint_nearest(e, l->name, names, LOOPS);
                return;
        }
        const char *all = "";
        for (int i = 0; i < LOOPS; i++)
                all = arena_printf(e->keep, "%s%s%s", all,
                                   !i               ? ""
                                   : i == LOOPS - 1 ? " and "
                                                    : ", ",
                                   names[i]);
        diag_hint(e->diag, "there are %s", all);
}

void check_stated_loops(Elaborator *e)
{
        for (int i = 0; i < e->g->nloop; i++) {
                const Loop *l = &e->g->loop[i];
                int faults = e->diag->count;
                if (loop_number(l->name) < 0) {
                        refuse_unknown(e, l);
                        continue;
                }
                for (int k = 0; k < l->nsetting; k++)
                        check_knob(e, l, &l->setting[k]);
                if (e->diag->count == faults && loop_number(l->name) == LOOP_generate) {
                        check_conversation(e, l);
                        check_sampling(e, l);
                }
        }
}

/* --- loops as they are stated --- */

static Loop *elaborated_loop(Elaborator *e, const char *name)
{
        for (int i = 0; i < e->g->nloop; i++)
                if (e->g->loop[i].name == name)
                        return &e->g->loop[i];
        return NULL;
}

static Loop *need_loop(Elaborator *e, const Ast *ast)
{
        Loop *loop = elaborated_loop(e, ast->name);
        if (loop)
                return loop;
        GROW(e->keep, e->g->loop, e->g->nloop, e->loop_cap);
        e->g->loop[e->g->nloop] = (Loop){.name = ast->name, .span = ast->span};
        return &e->g->loop[e->g->nloop++];
}

/* The name of another model's value: "layer[{first_layers - 1}].x" */
static void fill_value_name(Elaborator *e, Scope *scope, Setting *s)
{
        const int errors = e->diag->count;
        s->text = with_texts(e, scope, s->text, NULL, s->span);
        const char *open = strchr(s->text, '{');
        if (open && e->diag->count == errors)
                poisoned(e, s->span, "%.*s is neither a text nor a whole number of the model",
                         (int)(strcspn(open, "}") + 1), open);
}

/* The numbers of a loop are floats in emitted code. */
static bool setting_fits(Elaborator *e, const Setting *s)
{
        for (int i = 0; s->kind == SETTING_LIST && i < s->nlist; i++)
                if (!check_float(e, s->list[i], s->span))
                        return false;
        return s->kind != SETTING_NUMBER || check_float(e, s->number, s->span);
}

/* A descendant's loop of the same name extends its parent's, and replaces settings. */
void add_loop(Elaborator *e, Scope *scope, const Ast *ast, bool inherited)
{
        Loop *loop = need_loop(e, ast);
        loop->inherited = inherited;
        Setting *all = NEW_ARRAY(e->keep, Setting, loop->nsetting + ast->nkid);
        if (loop->nsetting)
                memcpy(all, loop->setting, (size_t)loop->nsetting * sizeof *all);
        loop->setting = all;
        for (int i = 0; i < ast->nkid; i++) {
                const Ast *s = ast->kid[i];
                Value v = eval(e, scope, s->kid[0], NULL);
                int at = 0;
                while (at < loop->nsetting && all[at].name != s->name)
                        at++;
                if (is_poison(v))
                        continue;
                if (!setting_of(e, s->name, v, s->span, &all[at]))
                        poisoned(e, s->kid[0]->span,
                                 "a loop's setting is a number, true or false, a text or a list of numbers, "
                                 "not "
                                 "%s",
                                 value_text_of(e, v));
                else if (setting_fits(e, &all[at]) && at == loop->nsetting)
                        loop->nsetting++;
                if (all[at].kind == SETTING_TEXT && loop_number(loop->name) == LOOP_draft)
                        fill_value_name(e, scope, &all[at]);
        }
}

/* `loop name none`: removes an ancestor's loop. */
void drop_loop(Elaborator *e, const Ast *ast)
{
        Loop *loop = elaborated_loop(e, ast->name);
        if (!loop)
                poisoned(e, ast->span, "no loop %s to remove: no ancestor of this model has one", ast->name);
        else
                *loop = e->g->loop[--e->g->nloop];
}
