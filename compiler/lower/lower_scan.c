/* Scans: strides from the maps of the operands and of the output.
 *
 * The kernel's domain is the loops of its root (heads, rows, width) with two more: the width of a key, and
 * the powers of the decay.  The runtime's kernel takes all rows of one head; heads are loops in the
 * emitted function, which threads share. */
#include "lower_private.h"

typedef struct {
        Address at;
        Buffer *buffer;
} ScanWalk;

enum { VALUES, QUERIES, KEYS, POWERS, OUTPUT, WALKS };

typedef struct {
        ScanWalk of[WALKS];
        int row, width, depth, power; /* loops */
        int around[MAX_LOOPS], naround;
} ScanWalks;

/* The walk of an operand along the rows, with loop `last` along its last axis. */
static MapResult scan_walk(Lower *l, Node *x, const Map *root, int last, ScanWalk *w)
{
        Map m = map_broadcast(root, &x->type);
        m.axis[x->type.rank - 1] = (AxisIndex){0};
        m.axis[x->type.rank - 1].coef[last] = 1;
        return address_through(l->plan, &l->domain, &m, x, NULL, &w->at, &w->buffer, &l->refine);
}

/* Finds the loops: heads, one of rows, of which there are as many as positions, and one of columns. */
static void scan_loops(const Lower *l, int rank, ScanWalks *w)
{
        w->naround = 0;
        w->width = l->loops - 1;
        for (int i = 0; i < w->width; i++)
                if (l->domain.loop[i].axis == rank - 2)
                        w->row = i;
                else
                        w->around[w->naround++] = i;
}

/* Whether the floats of a row are contiguous. */
static bool is_even(const Lower *l, const ScanWalk *w, int last)
{
        return reads_straight(w->buffer, &w->at) &&
               (dim_is(l->domain.loop[last].size, 1) || w->at.coef[last] == 1);
}

/* NULL, or the node that must have a buffer first. */
static Node *scan_walks(Lower *l, const Kernel *k, ScanWalks *w)
{
        Node *root = k->stores.of[0].node;
        ScanInputs s = scan_of(root);
        Domain loops = domain_of(l->plan->graph, &root->type);
        for (;;) {
                if (loops.n + 2 > MAX_LOOPS)
                        return root;
                l->domain = loops;
                l->loops = loops.n;
                w->depth = l->domain.n++;
                w->power = l->domain.n++;
                l->domain.loop[w->depth] = (DomainLoop){dim_fixed(s.depth), -1, 1};
                l->domain.loop[w->power] = (DomainLoop){dim_fixed(SCAN_POWERS), -1, 1};
                scan_loops(l, root->type.rank, w);
                Map m = map_identity(&loops, &root->type);
                Node *const in[] = {s.v, s.q, s.k, s.powers};
                const int last[] = {w->width, w->depth, w->depth, w->power, w->width};
                bool cut = false;
                for (int i = 0; i < OUTPUT && !cut; i++) {
                        MapResult r = in[i] ? scan_walk(l, in[i], &m, last[i], &w->of[i]) : MAP_OK;
                        cut = r == MAP_REFINE && l->refine.loop < w->width;
                        if (!cut && in[i] && (r != MAP_OK || !is_even(l, &w->of[i], last[i])))
                                return in[i];
                }
                if (!cut) {
                        w->of[OUTPUT] = (ScanWalk){address_of(k->stores.of[0].to, &m), k->stores.of[0].to};
                        return NULL;
                }
                domain_refine(&loops, l->refine);
        }
}

/* Address of an operand, by the loops over heads. */
static Operand scan_operand(Lower *l, const ScanWalks *w, int which)
{
        const ScanWalk *of = &w->of[which];
        int64_t coef[MAX_LOOPS] = {0};
        if (!of->buffer)
                return (Operand){0};
        for (int i = 0; i < w->naround; i++)
                coef[w->around[i]] = of->at.coef[w->around[i]];
        names_buffer(l, of->buffer);
        return (Operand){of->buffer, affine_index(l, of->at.offset, coef, false)};
}

Node *lower_scan(Plan *p, Kernel *k, Code *code)
{
        Lower l = lower_new(p, k, WHOLE_KERNEL, k->name);
        ScanWalks w = {0};
        l.lane = -1;
        Node *stuck = scan_walks(&l, k, &w);
        if (stuck)
                return stuck;
        ScanInputs s = scan_of(k->stores.of[0].node);
        ScanCall *call = NEW(l.arena, ScanCall);
        *call = (ScanCall){.q = scan_operand(&l, &w, QUERIES),
                           .k = scan_operand(&l, &w, KEYS),
                           .v = scan_operand(&l, &w, VALUES),
                           .powers = scan_operand(&l, &w, POWERS),
                           .out = scan_operand(&l, &w, OUTPUT),
                           .q_row = w.of[QUERIES].at.coef[w.row],
                           .k_row = w.of[KEYS].at.coef[w.row],
                           .v_row = w.of[VALUES].at.coef[w.row],
                           .out_row = w.of[OUTPUT].at.coef[w.row],
                           .depth = s.depth,
                           .width = s.width,
                           .heads = s.heads,
                           .maxima = s.maxima,
                           .row = w.row};
        for (; call->naround < w.naround; call->naround++)
                call->around[call->naround] = w.around[call->naround];
        if (k->kept) {
                names_buffer(&l, k->kept);
                call->state = (Operand){k->kept, index_number(l.arena, 0)};
                call->position = dim_named(p->graph->past);
                call->older = SCAN_OLDER(p->rewind);
        }
        add_stmt(&l, l.row, (Stmt){.op = STMT_SCAN, .call.scan = call});
        close_function(&l);
        add_function(p, code, l.function);
        return NULL;
}
