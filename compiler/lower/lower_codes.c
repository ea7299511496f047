/* Keys and values stored as codes: their rows, first computed as floats, are encoded by groups
 * (runtime/kept.h). */
#include "lower_private.h"

/* The first of the innermost loops that make up a group.  *cut: the loop to split first. */
static void find_group(const Domain *d, int64_t group, int *first, Refine *cut)
{
        int64_t within = 1;
        cut->at = 0;
        for (*first = d->n; *first > 0 && within < group; --*first) {
                int64_t size = d->loop[*first - 1].size.fixed, wanted = group / within;
                if (size > wanted)
                        *cut = (Refine){*first - 1, wanted};
                within *= size;
        }
}

/* Splits the domain so that its loops from *first on are a group.  False: the groups of x are not evenly
 * spaced. */
static bool cut_in_groups(Lower *l, Node *root, int64_t group, int *first, Address *x, Buffer **of)
{
        Domain *d = &l->domain;
        *d = domain_of(l->plan->graph, &root->type);
        for (;;) {
                MapResult r = MAP_REFINE;
                find_group(d, group, first, &l->refine);
                if (!l->refine.at) {
                        Map at = map_identity(d, &root->type);
                        r = address_through(l->plan, d, &at, root, NULL, x, of, &l->refine);
                }
                if (r == MAP_OK)
                        break;
                if (r == MAP_FAIL || d->n == MAX_LOOPS)
                        return false;
                domain_refine(d, l->refine);
        }
        for (int i = *first; i + 1 < d->n; i++)
                if (x->coef[i] != x->coef[i + 1] * d->loop[i + 1].size.fixed)
                        return false;
        return reads_straight(*of, x);
}

/* Address of a group. */
static Operand begin_of(const Lower *l, Buffer *b, Address at)
{
        for (int i = l->loops; i < l->domain.n; i++)
                at.coef[i] = 0;
        return (Operand){b, address_index(l, &at, false)};
}

Node *lower_codes(Plan *p, Kernel *k, Code *code)
{
        Node *root = k->stores.of[0].node;
        Buffer *to = k->stores.of[0].to, *of;
        Lower l = lower_new(p, k, WHOLE_KERNEL, k->name);
        Address x;
        l.lane = -1;
        if (!cut_in_groups(&l, root, to->group, &l.loops, &x, &of))
                return root;
        Map at = map_identity(&l.domain, &root->type);
        Address y = address_of(to, &at);
        names_buffer(&l, of);
        names_buffer(&l, to);
        CodeLoop *over = NEW(l.arena, CodeLoop);
        *over = (CodeLoop){.size = dim_fixed(to->group)};
        SelectCall *call = NEW(l.arena, SelectCall);
        *call = (SelectCall){.to = begin_of(&l, to, y),
                             .of = begin_of(&l, of, x),
                             .to_step = to->layout.tiled >= 0 ? LANES : 1,
                             .of_step = to->group > 1 ? x.coef[l.domain.n - 1] : 1,
                             .over = over,
                             .count = (int)to->group};
        StmtList *inside = NEW(l.arena, StmtList);
        add_stmt(&l, inside, (Stmt){.op = STMT_CODES, .call.select = call});
        add_stmt(&l, l.row, (Stmt){.op = STMT_ROWS, .end = l.loops, .inside = inside});
        l.domain.n = l.loops;
        close_function(&l);
        add_function(p, code, l.function);
        return NULL;
}
