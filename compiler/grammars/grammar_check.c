/* Checks that a grammar can be matched from left to right and always ends: names are defined, no rule is
 * left-recursive, and each rule allows some text. */
#include "grammars_private.h"

static int rule_named(const Grammar *g, const char *name)
{
        for (int i = 0; i < g->nrule; i++)
                if (!strcmp(g->rule[i].name, name))
                        return i;
        return -1;
}

static void grammar_refuse_name(Arena *a, Diag *diag, const Grammar *g, const GrammarItem *item)
{
        const char **names = NEW_ARRAY(a, const char *, g->nrule + 1);
        for (int i = 0; i < g->nrule; i++)
                names[i] = g->rule[i].name;
        const char *near = nearest_name(item->name, names, g->nrule);
        diag_error(diag, item->span, "unknown rule %s", item->name);
        if (near)
                diag_hint(diag, "did you mean %s?", near);
}

static void resolve_names(Arena *a, Diag *diag, const Grammar *g, GrammarItem *item)
{
        if (item->kind == ITEM_RULE) {
                item->rule = rule_named(g, item->name);
                if (item->rule < 0)
                        grammar_refuse_name(a, diag, g, item);
        }
        for (int i = 0; i < item->nkid; i++)
                resolve_names(a, diag, g, item->kid[i]);
}

/* Whether it allows the empty text, by the current knowledge of rules. */
static bool item_may_be_empty(const Grammar *g, const GrammarItem *item)
{
        bool all = true, one = false;
        for (int i = 0; i < item->nkid; i++) {
                const bool empty = item_may_be_empty(g, item->kid[i]);
                all = all && empty;
                one = one || empty;
        }
        switch (item->kind) {
        case ITEM_SET: return false;
        case ITEM_RULE: return g->rule[item->rule].may_be_empty;
        case ITEM_SEQUENCE: return all;
        case ITEM_EITHER: return one;
        case ITEM_TIMES: return item->least == 0 || all;
        }
        return false;
}

/* Whether it allows any text at all, by the current knowledge of rules. */
static bool allows_some(const bool *rule, const GrammarItem *item)
{
        bool all = true, one = false;
        for (int i = 0; i < item->nkid; i++) {
                const bool some = allows_some(rule, item->kid[i]);
                all = all && some;
                one = one || some;
        }
        switch (item->kind) {
        case ITEM_SET: return true;
        case ITEM_RULE: return rule[item->rule];
        case ITEM_SEQUENCE: return all;
        case ITEM_EITHER: return one;
        case ITEM_TIMES: return item->least == 0 || all;
        }
        return false;
}

static void find_empty(Grammar *g)
{
        for (bool more = true; more;) {
                more = false;
                for (int i = 0; i < g->nrule; i++) {
                        GrammarRuleText *r = &g->rule[i];
                        if (r->may_be_empty || !item_may_be_empty(g, r->body))
                                continue;
                        r->may_be_empty = more = true;
                }
        }
}

static void refuse_endless(Arena *a, Diag *diag, const Grammar *g)
{
        bool *ends = NEW_ARRAY(a, bool, g->nrule + 1);
        for (bool more = true; more;) {
                more = false;
                for (int i = 0; i < g->nrule; i++)
                        if (!ends[i] && allows_some(ends, g->rule[i].body))
                                ends[i] = more = true;
        }
        for (int i = 0; i < g->nrule; i++)
                if (!ends[i])
                        diag_error(
                                diag, g->rule[i].span,
                                "the rule %s allows nothing: whatever is chosen, it goes on without an end",
                                g->rule[i].name);
}

/* --- left recursion ---------------------------------------------------------------------------------------------------- */

enum { MAX_DEPTH_OF_WALK = 20000 };

typedef struct {
        Diag *diag;
        const Grammar *g;
        enum { UNSEEN, OPEN, CLOSED } * rule;
        const GrammarItem **by; /* item by which an open rule refers to the next one */
        int *open, nopen, depth;
} LeftWalk;

static void walk_rule(LeftWalk *w, int rule);

static void refuse_left(LeftWalk *w, const GrammarItem *item)
{
        int first = w->nopen - 1;
        diag_error(w->diag, item->span,
                   "the rule %s begins with itself%s: write the repetition with * or +, or the rule behind "
                   "what it repeats",
                   w->g->rule[item->rule].name, w->open[first] == item->rule ? "" : ", through others");
        while (w->open[first] != item->rule)
                first--;
        for (; first < w->nopen - 1; first++)
                diag_note(w->diag, w->by[first]->span, "%s begins with %s here",
                          w->g->rule[w->open[first]].name, w->by[first]->name);
}

/* Visits the items that may come first in an item. */
static void walk_item(LeftWalk *w, const GrammarItem *item)
{
        if (w->depth == MAX_DEPTH_OF_WALK) {
                diag_error(w->diag, item->span, "rules name one another too deeply here");
                return;
        }
        w->depth++;
        if (item->kind == ITEM_RULE && w->rule[item->rule] == OPEN) {
                refuse_left(w, item);
        } else if (item->kind == ITEM_RULE && w->rule[item->rule] == UNSEEN) {
                w->by[w->nopen - 1] = item;
                walk_rule(w, item->rule);
        }
        for (int i = 0; i < item->nkid; i++) {
                walk_item(w, item->kid[i]);
                if (item->kind == ITEM_SEQUENCE && !item_may_be_empty(w->g, item->kid[i]))
                        break;
        }
        w->depth--;
}

static void walk_rule(LeftWalk *w, int rule)
{
        w->rule[rule] = OPEN;
        w->open[w->nopen++] = rule;
        walk_item(w, w->g->rule[rule].body);
        w->nopen--;
        w->rule[rule] = CLOSED;
}

static void refuse_left_recursion(Arena *a, Diag *diag, const Grammar *g)
{
        LeftWalk w = {.diag = diag, .g = g, .rule = arena_alloc_array(a, g->nrule + 1, sizeof *w.rule)};
        w.by = NEW_ARRAY(a, const GrammarItem *, g->nrule + 1);
        w.open = NEW_ARRAY(a, int, g->nrule + 1);
        for (int i = 0; i < g->nrule; i++)
                if (w.rule[i] == UNSEEN)
                        walk_rule(&w, i);
}

bool grammar_check(Arena *a, Diag *diag, const Source *source, Grammar *g)
{
        g->root = rule_named(g, "root");
        if (g->root < 0) {
                diag_error(diag, (Span){source, 0, 1},
                           "a grammar needs the rule root, which the whole text follows");
                return false;
        }
        for (int i = 0; i < g->nrule; i++)
                resolve_names(a, diag, g, g->rule[i].body);
        if (diag->count)
                return false;
        find_empty(g);
        refuse_left_recursion(a, diag, g);
        refuse_endless(a, diag, g);
        return diag->count == 0;
}
