/* Products: the call of the runtime's matmul() for each part, the epilogue on its results, and the product
 * of two activations. */
#include "lower_private.h"

#include "../../runtime/contraction_call.h"

/* --- products with weights ---------------------------------------------------------------------------------------- */

/* The loops of a product.  With a weight by heads, loops over heads come first, then those over rows. */
static Domain product_domain(const Plan *p, const Node *product)
{
        Domain d = domain_of(p->graph, &product->type), ordered = d;
        const int rows = product->type.rank - 2;
        if (product->in[1]->type.rank == 2)
                return d;
        ordered.n = 0;
        for (int turn = 0; turn < 3; turn++)
                for (int i = 0; i < d.n; i++) {
                        int own = d.loop[i].axis < rows ? 0 : d.loop[i].axis == rows ? 1 : 2;
                        if (own == turn)
                                ordered.loop[ordered.n++] = d.loop[i];
                }
        return ordered;
}

/* The epilogue of a product: computes from the results, and stores. */
static Node *lower_epilogue(Plan *p, Kernel *k, const Segment *s, int outer, Code *code)
{
        Lower l = lower_new(p, k, EPILOGUE, s->name);
        Node *root = s->store.node;
        l.domain = product_domain(p, s->product[0]);
        l.loops = l.domain.n;
        set_lane(&l, l.domain.n - 1);
        for (int i = 0; i < s->nproduct; i++)
                l.given[i] = s->product[i];
        Map at = map_identity(&l.domain, &root->type);
        l.computing = root;
        int value = lower_value(&l, root, &at);
        if (value < 0)
                return l.stuck;
        if (!lower_store(&l, root, s->store.to, &at, value, l.lanes))
                return root;
        close_function(&l);
        l.function->outer = outer;
        l.function->products = s->nproduct;
        add_function(p, code, l.function);
        return NULL;
}

/* The first of the loops that together count evenly spaced rows, up to `end`. */
static int first_even(const Domain *d, const Address *a, int end)
{
        int i = end > 0 ? end - 1 : 0;
        while (i > 0 && dim_is_fixed(d->loop[i].size) && a->coef[i - 1] == a->coef[i] * d->loop[i].size.fixed)
                i--;
        return i;
}

/* Number of outermost loops over the heads of a weight; 0: the weight is not split by heads. */
static int loops_over_heads(const Lower *l)
{
        const Node *product = l->kernel->product.segment[0].product[0];
        int n = 0;
        while (product->in[1]->type.rank > 2 && l->domain.loop[n].axis < product->type.rank - 2)
                n++;
        return n;
}

/* Offset of the panels of a head. */
static const Index *segment_head(const Lower *l, const Segment *s, int outer)
{
        WeightByHeads w;
        const Layout *lies = &s->w[0]->layout;
        const Node *right = s->product[0]->in[1];
        int64_t coef[MAX_LOOPS] = {0};
        if (!weight_by_heads(right, &w))
                return affine_index(l, dim_fixed(0), coef, false);
        int64_t unit = w.is_depth ? w.depth : LANES, apart = w.is_depth ? lies->stride[w.axis] : lies->tile;
        int before = s->product[0]->type.rank - right->type.rank;
        for (int i = 0; i < outer; i++) {
                int axis = l->domain.loop[i].axis - before;
                if (axis >= 0)
                        coef[i] = w.step[axis] / unit * apart * l->domain.loop[i].stride;
        }
        return affine_index(l, dim_fixed(w.first / unit * apart), coef, false);
}

/* The rows of the left operand.  If two sizes of the call run over them, such as positions and keys, the
 * runtime's product takes those of the inner one; earlier loops are around the call.  False: they are not
 * evenly spaced. */
static bool row_walk(Lower *l, Node *x, MatmulCall *call)
{
        Domain d = l->domain;
        d.loop[d.n] = (DomainLoop){x->type.dim[x->type.rank - 1], -1, 1};
        int k = d.n++, rows = l->loops - 1;
        Map out = map_identity(&l->domain, &l->kernel->product.segment[0].product[0]->type);
        Map m = map_broadcast(&out, &x->type);
        m.axis[x->type.rank - 1] = (AxisIndex){0};
        m.axis[x->type.rank - 1].coef[k] = 1;
        Refine refine;
        Address a;
        if (address_through(l->plan, &d, &m, x, NULL, &a, &call->x.buffer, &refine) != MAP_OK)
                return false;
        if (!reads_straight(call->x.buffer, &a) || a.coef[k] != 1)
                return false;
        call->ldx = rows ? a.coef[rows - 1] : 0;
        int heads = loops_over_heads(l);
        call->outer = first_even(&d, &a, rows);
        /* a copy would be even */
        if (call->outer > heads && dim_is_fixed(d.loop[call->outer].size))
                return false;
        call->outer = call->outer > heads ? call->outer : heads;
        Dim offset = a.offset;
        if (rows && begins_at_first(l, call->outer))
                offset = dim_add(offset, dim_scale(dim_named(NAMED_FIRST), a.coef[call->outer]));
        int64_t around[MAX_LOOPS] = {0};
        for (int i = 0; i < call->outer; i++)
                around[i] = a.coef[i];
        call->x.at = affine_index(l, offset, around, false);
        names_buffer(l, call->x.buffer);
        return true;
}

Node *lower_matmul(Plan *p, Kernel *k, Code *code)
{
        Lower l = lower_new(p, k, WHOLE_KERNEL, k->name);
        l.domain = product_domain(p, k->product.segment[0].product[0]);
        l.loops = l.domain.n;
        set_lane(&l, l.loops - 1);
        MatmulCall *call = NEW(l.arena, MatmulCall);
        if (!row_walk(&l, k->product.x, call))
                return k->product.x;
        call->part = NEW_ARRAY(l.arena, MatmulPart, k->product.nsegment);
        for (; call->npart < k->product.nsegment; call->npart++) {
                const Segment *s = &k->product.segment[call->npart];
                Node *stuck = lower_epilogue(p, k, s, call->outer, code);
                if (stuck)
                        return stuck;
                MatmulPart *part = &call->part[call->npart];
                *part = (MatmulPart){s, code->function[code->n - 1], call->panels,
                                     round_up(s->n, LANES) / LANES, segment_head(&l, s, call->outer)};
                call->panels += part->panels;
                names_buffer(&l, s->w[0]);
        }
        add_stmt(&l, l.row, (Stmt){.op = STMT_MATMUL, .call.matmul = call});
        close_function(&l);
        add_function(p, code, l.function);
        return NULL;
}

/* --- products of two activations -------------------------------------------------------------------------------------- */

/* An operand of the product in terms of the output's loops: axis `own` runs with loop `own_loop`, the
 * others with the output's. */
static MapResult product_operand(Lower *l, Node *x, int own, int own_loop, const Map *out, Address *at,
                                 Buffer **b)
{
        Map m = map_broadcast(out, &x->type);
        m.axis[own] = (AxisIndex){0};
        m.axis[own].coef[own_loop] = 1;
        return address_through(l->plan, &l->domain, &m, x, NULL, at, b, &l->refine);
}

/* The loop whose rows share b: preferably heads that fill a unit, so that a call of one position reads b once; then one bounded by a
 * size of the call, then the longest; -1: none. */
static int shared_step(const Lower *l, const Address *b)
{
        int best = -1;
        int64_t longest = 1;
        bool from_first = false;
        for (int i = 0; i < l->loops - 1; i++)
                from_first |= begins_at_first(l, i);
        for (int i = 0; i < l->loops - 1; i++) {
                Dim size = l->domain.loop[i].size;
                const bool fills = dim_is_fixed(size) && size.fixed >= CONTRACT_ROWS && !from_first;
                int64_t rows = fills ? INT64_MAX : dim_is_fixed(size) ? size.fixed : INT64_MAX - 1;
                if (b->coef[i] != 0 || rows <= longest)
                        continue;
                best = i;
                longest = rows;
        }
        return best;
}

/* Removes the rows from an address: the result is that of the first row. */
static const Index *first_row(const Lower *l, Address at, int row, int64_t *step)
{
        *step = row < 0 ? 0 : at.coef[row];
        if (row >= 0 && begins_at_first(l, row))
                at.offset = dim_add(at.offset, dim_scale(dim_named(NAMED_FIRST), *step));
        if (row >= 0)
                at.coef[row] = 0;
        return address_index(l, &at, false);
}

Node *lower_activations(Plan *p, Kernel *k, Code *code)
{
        Node *root = k->stores.of[0].node;
        Lower l = lower_new(p, k, WHOLE_KERNEL, k->name);
        l.domain = domain_of(p->graph, &root->type);
        l.loops = l.domain.n;
        set_lane(&l, l.loops - 1);
        int inner = l.domain.n++;
        l.domain.loop[inner] = (DomainLoop){k->product.x->type.dim[k->product.x->type.rank - 1], -1, 1};
        Map m = map_identity(&l.domain, &root->type);
        Address x, y, to = address_of(k->stores.of[0].to, &m);
        ActivationCall *call = NEW(l.arena, ActivationCall);
        call->to.buffer = k->stores.of[0].to;
        if (product_operand(&l, k->product.x, k->product.x->type.rank - 1, inner, &m, &x, &call->a.buffer) !=
                    MAP_OK ||
            !reads_straight(call->a.buffer, &x))
                return k->product.x;
        if (product_operand(&l, k->product.y, k->product.y->type.rank - 2, inner, &m, &y, &call->b.buffer) !=
                    MAP_OK ||
            y.tiled || (!is_kept_narrow(call->b.buffer) && !reads_straight(call->b.buffer, &y)))
                return k->product.y;
        names_buffer(&l, call->a.buffer);
        names_buffer(&l, call->b.buffer);
        names_buffer(&l, call->to.buffer);
        call->a_step = x.coef[inner];
        call->b_step = y.coef[inner];
        call->b_lane = y.coef[l.lane];
        x.coef[inner] = y.coef[inner] = 0;
        call->row = shared_step(&l, &y);
        call->to.at = first_row(&l, to, call->row, &call->to_row);
        call->a.at = first_row(&l, x, call->row, &call->a_row);
        call->b.at = address_index(&l, &y, false);
        for (int i = 0; i < l.loops - 1; i++)
                if (i != call->row)
                        call->around[call->naround++] = i;
        call->columns = new_loop(&l, l.lane);
        call->depth = new_loop(&l, inner);
        call->zeros = root->attr.index;
        add_stmt(&l, l.row, (Stmt){.op = STMT_ACTIVATION_MATMUL, .call.activation = call});
        close_function(&l);
        add_function(p, code, l.function);
        return NULL;
}
