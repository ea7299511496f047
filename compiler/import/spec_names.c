/* Gives a name to calls that lists repeat:
 *
 *   sliding_128 = sliding(window: 128)
 *   mask [sliding_128, sliding_128, causal]
 *
 * The name is the function's and its first integer; without one, or if two calls would have the same name,
 * a counter is added. */
#include <string.h>

#include "import_private.h"

enum { MAX_NAMES_SHOWN = 64 };

typedef struct {
        const char *text, *name;
        const Ast *call;
        int times;
} Repeated;

typedef struct {
        Import *m;
        int n;
        Repeated call[MAX_NAMES_SHOWN];
} SpecNames;

static Repeated *names_find(SpecNames *s, const char *text)
{
        for (int i = 0; i < s->n; i++)
                if (!strcmp(s->call[i].text, text))
                        return &s->call[i];
        return NULL;
}

/* The call in a list's element; NULL: another expression, or too many calls to name. */
static Repeated *names_add(SpecNames *s, const Ast *element)
{
        if (element->kind != AST_CALL)
                return NULL;
        const char *text = spec_tree_text(s->m->arena, element);
        Repeated *found = names_find(s, text);
        if (!found && s->n < MAX_NAMES_SHOWN) {
                found = &s->call[s->n++];
                *found = (Repeated){.text = text, .call = element};
        }
        return found;
}

static void names_count(SpecNames *s, const Ast *e)
{
        for (int i = 0; i < e->nkid; i++) {
                Repeated *call = e->kind == AST_LIST ? names_add(s, e->kid[i]) : NULL;
                if (call)
                        call->times++;
                else if (e->kid[i])
                        names_count(s, e->kid[i]);
        }
}

static const char *first_number(const Ast *call)
{
        for (int i = 1; i < call->nkid; i++)
                if (call->kid[i]->kind == AST_ARG && call->kid[i]->kid[0]->kind == AST_NUMBER &&
                    call->kid[i]->kid[0]->is_int)
                        return call->kid[i]->kid[0]->name;
        return NULL;
}

static bool names_is_taken(const SpecNames *s, const char *name)
{
        for (int i = 0; i < s->n; i++)
                if (s->call[i].name && !strcmp(s->call[i].name, name))
                        return true;
        return false;
}

static const char *name_for(SpecNames *s, const Ast *call)
{
        const char *head = call->kid[0]->name, *number = first_number(call);
        const char *name = number ? arena_printf(s->m->arena, "%s_%s", head, number) : NULL;
        for (int i = 1; !name || names_is_taken(s, name); i++)
                name = arena_printf(s->m->arena, "%s_%d", head, i);
        return name;
}

static void names_replace(SpecNames *s, Ast *e)
{
        for (int i = 0; i < e->nkid; i++) {
                const Ast *kid = e->kid[i];
                const Repeated *call = e->kind == AST_LIST && kid->kind == AST_CALL
                                               ? names_find(s, spec_tree_text(s->m->arena, kid))
                                               : NULL;
                if (call && call->name) {
                        e->kid[i] = ast_new(s->m->arena, AST_NAME, (Span){0}, 0);
                        e->kid[i]->name = call->name;
                } else if (kid) {
                        names_replace(s, e->kid[i]);
                }
        }
}

int spec_name_calls(Import *m, Ast **tree, int n, Ast ***named)
{
        SpecNames *s = NEW(m->arena, SpecNames);
        s->m = m;
        for (int i = 0; i < n; i++)
                names_count(s, tree[i]);
        *named = NEW_ARRAY(m->arena, Ast *, s->n);
        int names = 0;
        for (int i = 0; i < s->n; i++) {
                if (s->call[i].times < 2)
                        continue;
                s->call[i].name = name_for(s, s->call[i].call);
                (*named)[names++] = spec_let(m, s->call[i].name, (Ast *)s->call[i].call);
        }
        for (int i = 0; i < n && names; i++)
                names_replace(s, tree[i]);
        return names;
}
