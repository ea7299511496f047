/* Loops around a model, and what `loop generate` may say. */
#include "elaborate_private.h"

#include <math.h>
#include <string.h>

/* --- the knobs of `loop generate` --- */

typedef enum { TOKEN, TOKENS, TEXT, TEXT_SAID, TEXT_SAID_SYSTEM, ROLES } KnobType;

static const struct {
        const char *name;
        KnobType type;
} knob[] = {
        {"start", TOKEN},      {"stop", TOKENS},         {"first", TOKENS},
        {"forbid", TOKENS},    {"forbid_first", TOKENS}, {"head", TEXT},
        {"system", TEXT_SAID}, {"default_system", TEXT}, {"first_user", TEXT_SAID_SYSTEM},
        {"user", TEXT_SAID},   {"answer", TEXT_SAID},    {"open", TEXT},
        {"trim", ROLES},       {"trim_newlines", ROLES},
};
enum { KNOBS = sizeof knob / sizeof *knob };

static const char *const wanted[] = {
        [TOKEN] = "the number of a token",
        [TOKENS] = "the number of a token, or a list of such numbers",
        [TEXT] = "a text",
        [TEXT_SAID] = "a text with {} in it, once",
        [TEXT_SAID_SYSTEM] = "a text with {system} and {} in it, each once",
        [ROLES] = "a text that lists some of the words system, user and answer",
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

static bool knob_fits(KnobType type, const Setting *s)
{
        if (type == TOKEN || (type == TOKENS && s->kind == SETTING_NUMBER))
                return s->kind == SETTING_NUMBER && is_token(s->number);
        if (type == TOKENS)
                return s->kind == SETTING_LIST && are_tokens(s);
        if (s->kind != SETTING_TEXT)
                return false;
        switch (type) {
        case TEXT_SAID: return has_once(s->text, "{}");
        case TEXT_SAID_SYSTEM: return has_once(s->text, "{}") && has_once(s->text, "{system}");
        case ROLES: return are_roles(s->text);
        default: return true;
        }
}

static void check_knob(Elaborator *e, const Setting *s)
{
        const char *names[KNOBS];
        for (int i = 0; i < KNOBS; i++) {
                names[i] = knob[i].name;
                if (strcmp(s->name, knob[i].name) != 0)
                        continue;
                if (!knob_fits(knob[i].type, s))
                        poisoned(e, s->span, "%s wants %s, not %s", s->name, wanted[knob[i].type],
                                 setting_text(e->keep, s));
                return;
        }
        poisoned(e, s->span, "loop generate has no %s", s->name);
        hint_nearest(e, s->name, names, KNOBS);
}

static const Setting *setting_in(const Loop *l, const char *name)
{
        for (int i = 0; i < l->nsetting; i++)
                if (!strcmp(l->setting[i].name, name))
                        return &l->setting[i];
        return NULL;
}

/* What a conversation needs, if there is any text of one. */
static void check_conversation(Elaborator *e, const Loop *l)
{
        static const char *const needs[] = {"user", "answer"};
        const Setting *any = NULL, *said = setting_in(l, "default_system");
        for (int i = 0; i < l->nsetting && !any; i++)
                any = l->setting[i].kind == SETTING_TEXT ? &l->setting[i] : NULL;
        for (int i = 0; any && i < 2; i++)
                if (!setting_in(l, needs[i]))
                        poisoned(e, any->span, "a conversation needs %s too: `%s \"…{}…\"`", needs[i],
                                 needs[i]);
        if (said && !setting_in(l, "system") && !setting_in(l, "first_user"))
                poisoned(e, said->span, "default_system has no place: there is no system and no first_user");
}

void check_generation_loops(Elaborator *e)
{
        for (int i = 0; i < e->g->nloop; i++) {
                const Loop *l = &e->g->loop[i];
                int faults = e->diag->count;
                if (strcmp(l->name, "generate") != 0)
                        continue;
                for (int k = 0; k < l->nsetting; k++)
                        check_knob(e, &l->setting[k]);
                if (e->diag->count == faults)
                        check_conversation(e, l);
        }
}

/* --- loops of any name --- */

static Loop *find_loop(Elaborator *e, const char *name)
{
        for (int i = 0; i < e->g->nloop; i++)
                if (e->g->loop[i].name == name)
                        return &e->g->loop[i];
        return NULL;
}

static Loop *need_loop(Elaborator *e, const Ast *ast)
{
        Loop *loop = find_loop(e, ast->name);
        if (loop)
                return loop;
        GROW(e->keep, e->g->loop, e->g->nloop, e->loop_cap);
        e->g->loop[e->g->nloop] = (Loop){.name = ast->name, .span = ast->span};
        return &e->g->loop[e->g->nloop++];
}

/* A descendant's loop of the same name adds to its parent's and replaces what it sets again. */
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
                else if (at == loop->nsetting)
                        loop->nsetting++;
        }
}

/* `loop name none`: an ancestor's is not taken. */
void drop_loop(Elaborator *e, const Ast *ast)
{
        Loop *loop = find_loop(e, ast->name);
        if (!loop)
                poisoned(e, ast->span,
                         "there is no loop %s to be left out: no ancestor of this model has one", ast->name);
        else
                *loop = e->g->loop[--e->g->nloop];
}
