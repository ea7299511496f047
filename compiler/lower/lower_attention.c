/* Attention: strides from the maps of q, k, v and the output, the score expression as a function, and the
 * bounds of the unmasked keys.
 *
 * The kernel's domain is the product's loops (outer, heads, rows, width) with two more: the width of a
 * head, and the keys.  The runtime's kernel runs over rows and the loop of heads.  Outer loops, such as
 * those over frames or windows, are loops in the emitted function; threads divide their units of work too. */
#include "lower_private.h"

typedef struct {
        Address q, k, v, out, chosen;
        Buffer *q_buffer, *k_buffer, *v_buffer, *chosen_buffer;
        /* loops; head: of KV heads; share: queries of one KV head, or -1 */
        int row, head, share, width, depth, keys;
        int outer[MAX_LOOPS], nouter; /* outer loops, outermost first */
        Node *cut;                    /* the first operand that split a loop of the domain; NULL: none */
} AttentionWalks;

static MapResult attention_walk(Lower *l, Node *x, const Map *product, int axis0, int loop0, int axis1,
                                int loop1, Address *at, Buffer **b)
{
        Map m = map_broadcast(product, &x->type);
        m.axis[x->type.rank - 2] = m.axis[x->type.rank - 1] = (AxisIndex){0};
        if (loop0 >= 0)
                m.axis[axis0].coef[loop0] = 1;
        if (loop1 >= 0)
                m.axis[axis1].coef[loop1] = 1;
        if (loop0 < 0)
                m.axis[axis0] = product->axis[product->rank - 2];
        if (loop1 < 0)
                m.axis[axis1] = product->axis[product->rank - 1];
        return address_through(l->plan, &l->domain, &m, x, NULL, at, b, &l->refine);
}

static bool walk_is_fixed(const Lower *l, int loop)
{
        return dim_is_fixed(l->domain.loop[loop].size);
}

/* Whether queries of loop `inner`, whose size is fixed, share the keys and values of loop `head`. */
static bool shares_keys(const Lower *l, const AttentionWalks *w, int head, int inner)
{
        int64_t n = l->domain.loop[inner].size.fixed;
        return walk_is_fixed(l, head) && w->k.coef[inner] == 0 && w->v.coef[inner] == 0 &&
               w->q.coef[head] == n * w->q.coef[inner] && w->out.coef[head] == n * w->out.coef[inner];
}

/* Finds the loops of the product's axes.  False: an axis is split in a way that the kernel does not
 * support. */
static bool attention_loops(const Lower *l, int rank, AttentionWalks *w)
{
        w->row = w->head = w->share = -1;
        w->nouter = 0;
        w->width = l->loops - 1;
        for (int i = 0; i < w->width; i++) {
                int axis = l->domain.loop[i].axis;
                if (axis == rank - 1)
                        return false;
                if (axis < rank - 2)
                        w->outer[w->nouter++] = i;
                else if (w->row < 0 || walk_is_fixed(l, w->row)) {
                        if (w->row >= 0) /* of several loops over rows, the kernel has the last one */
                                w->outer[w->nouter++] = w->row;
                        w->row = i;
                } else {
                        return false;
                }
        }
        int last = w->nouter > 0 ? w->outer[w->nouter - 1] : -1;
        if (last < 0 || l->domain.loop[last].axis == rank - 2 || !walk_is_fixed(l, last))
                return true;
        w->head = w->outer[--w->nouter];
        if (w->nouter > 0 && !l->kernel->attention.mixes &&
            shares_keys(l, w, w->outer[w->nouter - 1], last)) {
                w->share = w->head;
                w->head = w->outer[--w->nouter];
        }
        return true;
}

/* The first position in a buffer of keys or values. */
static Dim first_held(const Buffer *b)
{
        int cache = cache_of(b);
        return cache < 0 ? dim_fixed(0) : dim_named(NAMED_BASE + cache);
}

static int64_t stride_along(const Address *a, int loop)
{
        return loop < 0 ? 0 : a->coef[loop];
}

/* Whether the runtime's kernel can load keys and values from it: numbers, and states in codes. */
static bool is_loaded(const Buffer *b)
{
        return b->storage == STORAGE_F32 || b->storage == STORAGE_BF16 || is_kept_narrow(b);
}

/* Whether the positions of tiles or pages are the keys, from the first one that is stored. */
static bool counts_keys(const Lower *l, const AttentionWalks *w, const Buffer *b, const Address *a)
{
        for (int i = 0; i < l->domain.n; i++)
                if (a->tile_index.coef[i] != (i == w->keys))
                        return false;
        return dim_equal(a->tile_index.offset, dim_scale(first_held(b), -1));
}

/* Whether a kernel with this start and these steps reads whole groups that share a scale.  within: the
 * loop along them. */
static bool takes_groups(const Lower *l, const Buffer *b, const Address *a, int within)
{
        bool tiled = b->layout.tiled >= 0;
        int64_t block = b->group * (tiled ? LANES : 1);
        if (b->storage != STORAGE_Q8)
                return true;
        bool whole = a->offset.fixed % block == 0 && (tiled ? a->tile % block == 0 : a->apart % block == 0);
        for (int i = 0; i < MAX_NAMED; i++)
                whole &= a->offset.per[i] % block == 0;
        for (int i = 0; i < l->domain.n; i++)
                whole &= i == within || a->coef[i] % block == 0;
        return whole;
}

/* Keys in rows, or values: one after the other, each contiguous. */
static bool is_stored_in_rows(const Address *a)
{
        return !a->tiled || a->apart;
}

/* Whether all heads are in one loop, each with keys and values, which may be shared. */
static bool heads_may_mix(const Lower *l, const AttentionWalks *w, const Type *weights)
{
        const DomainLoop *head = w->head >= 0 ? &l->domain.loop[w->head] : NULL;
        return head && head->axis == weights->rank - 3 && dim_equal(head->size, weights->dim[head->axis]);
}

static bool loop_is_one(const Lower *l, int loop)
{
        return dim_is(l->domain.loop[loop].size, 1);
}

static bool reads_queries(const Lower *l, const AttentionWalks *w)
{
        return reads_straight(w->q_buffer, &w->q) && (loop_is_one(l, w->depth) || w->q.coef[w->depth] == 1);
}

static bool reads_keys(const Lower *l, const AttentionWalks *w)
{
        const bool rows = is_stored_in_rows(&w->k);
        if (w->k.dense || !is_loaded(w->k_buffer))
                return false;
        /* all equal: a k_key of 0 would mean tiles */
        if (rows && !w->k.paged && w->k.coef[w->keys] == 0 && !loop_is_one(l, w->keys))
                return false;
        if (!loop_is_one(l, w->depth) && w->k.coef[w->depth] != (rows ? 1 : LANES))
                return false;
        if (w->k_buffer->storage == STORAGE_Q8 &&
            l->domain.loop[w->depth].size.fixed % w->k_buffer->group != 0)
                return false;
        return takes_groups(l, w->k_buffer, &w->k, w->depth) &&
               (!w->k.tiled || counts_keys(l, w, w->k_buffer, &w->k));
}

static bool reads_values(const Lower *l, const AttentionWalks *w)
{
        return is_stored_in_rows(&w->v) && is_loaded(w->v_buffer) &&
               (loop_is_one(l, w->width) || w->v.coef[w->width] == 1) &&
               takes_groups(l, w->v_buffer, &w->v, w->width) &&
               (!w->v.paged || counts_keys(l, w, w->v_buffer, &w->v));
}

/* The operand that the kernel can't read; the product, if the kernel has no such loops; NULL: none. */
static Node *misfit(const Lower *l, const AttentionWalks *w)
{
        Kernel *k = l->kernel;
        if (k->attention.mixes && !heads_may_mix(l, w, &k->attention.softmax->type))
                return w->cut ? w->cut : k->stores.of[0].node;
        return !reads_queries(l, w)  ? k->attention.q
               : !reads_keys(l, w)   ? k->attention.k
               : !reads_values(l, w) ? k->attention.v
                                     : NULL;
}

/* The walk of each operand.  *stuck: the last one tried. */
static MapResult walk_operands(Lower *l, Kernel *k, const Map *product, AttentionWalks *w, Node **stuck)
{
        const int kr = k->attention.k->type.rank, vr = k->attention.v->type.rank,
                  qr = k->attention.q->type.rank;
        *stuck = k->attention.q;
        MapResult r =
                attention_walk(l, k->attention.q, product, qr - 2, -1, qr - 1, w->depth, &w->q, &w->q_buffer);
        if (r != MAP_OK)
                return r;
        *stuck = k->attention.k;
        r = attention_walk(l, k->attention.k, product, kr - 2, w->depth, kr - 1, w->keys, &w->k,
                           &w->k_buffer);
        if (r != MAP_OK)
                return r;
        *stuck = k->attention.v;
        return attention_walk(l, k->attention.v, product, vr - 2, w->keys, vr - 1, -1, &w->v, &w->v_buffer);
}

/* Finds every walk, splitting loops of the domain if a view requires it.  NULL, or the node that prevents
 * the kernel: see misfit(). */
static Node *attention_walks(Lower *l, Kernel *k, AttentionWalks *w)
{
        Node *product = k->stores.of[0].node;
        int rank = product->type.rank;
        Domain loops = domain_of(l->plan->graph, &product->type);
        Dim depth = k->attention.q->type.dim[k->attention.q->type.rank - 1],
            keys = k->attention.k->type.dim[k->attention.k->type.rank - 1];
        for (w->cut = NULL;;) {
                if (loops.n + 2 > MAX_LOOPS)
                        return w->cut ? w->cut : product;
                l->domain = loops;
                l->loops = loops.n;
                w->depth = l->domain.n++;
                w->keys = l->domain.n++;
                l->domain.loop[w->depth] = (DomainLoop){depth, -1, 1};
                l->domain.loop[w->keys] = (DomainLoop){keys, -1, 1};
                Map m = map_identity(&loops, &product->type);
                Node *operand;
                MapResult r = walk_operands(l, k, &m, w, &operand);
                if (r == MAP_OK) {
                        w->out = address_of(k->stores.of[0].to, &m);
                        return attention_loops(l, rank, w) ? misfit(l, w) : w->cut ? w->cut : product;
                }
                if (r == MAP_FAIL || l->refine.loop >= loops.n)
                        return operand;
                w->cut = w->cut ? w->cut : operand;
                domain_refine(&loops, l->refine);
        }
}

/* --- chosen keys --------------------------------------------------------------------------------------------- */

/* Maximum number of visited nodes. */
enum { MAX_MASK_NODES = 500 };

/* The map of the mask `among` from the kernel's loops, where the scores n have map m. */
static bool find_mask(Lower *l, const Node *n, const Map *m, const Node *among, Map *found)
{
        Refine refine;
        if (n == among) {
                *found = *m;
                return true;
        }
        if (++l->looked > MAX_MASK_NODES || n->op == OP_MATMUL)
                return false;
        if (n->op == OP_VIEW) {
                Map in;
                return map_view(&l->domain, m, n->attr.view, n->in[0]->type.rank, &in, &refine) == MAP_OK &&
                       find_mask(l, n->in[0], &in, among, found);
        }
        for (int i = 0; op_info[n->op].family == POINT && i < n->nin; i++) {
                const Map in = map_broadcast(m, &n->in[i]->type);
                if (find_mask(l, n->in[i], &in, among, found))
                        return true;
        }
        return false;
}

/* Finds the list of each row; false: not possible.  Heads that don't share one are no group of queries. */
static bool find_list(Lower *l, AttentionWalks *w, const Map *at)
{
        Node *among = l->kernel->attention.chosen;
        Map mask, list;
        l->looked = 0;
        if (!find_mask(l, l->kernel->attention.score, at, among, &mask))
                return false;
        l->looked = 0;
        const int last = mask.rank - 1;
        for (int i = 0; i < l->domain.n; i++)
                if (mask.axis[last].coef[i] != (i == w->keys))
                        return false;
        list = mask;
        list.axis[last] = (AxisIndex){0};
        if (!dim_is(mask.axis[last].offset, 0) || !is_stored_in_rows(&w->k) ||
            address_through(l->plan, &l->domain, &list, among->in[0], NULL, &w->chosen, &w->chosen_buffer,
                            &l->refine) != MAP_OK ||
            !reads_straight(w->chosen_buffer, &w->chosen) || w->chosen.tiled || w->chosen.dense)
                return false;
        if (w->share >= 0 && w->chosen.coef[w->share] != 0) {
                w->outer[w->nouter++] = w->head;
                w->head = w->share;
                w->share = -1;
        }
        return true;
}

static bool knows_loop(const Index *x, int loop)
{
        if (!x)
                return false;
        bool knows = (x->op == INDEX_LOOP && x->number == loop) || knows_loop(x->a, loop) ||
                     knows_loop(x->b, loop);
        for (int i = 0; i < x->nterm && !knows; i++)
                knows = knows_loop(x->term[i].of, loop);
        return knows;
}

/* Whether the function's value depends on the index of the key, other than through its argument. */
static bool depends_on_key(const StmtList *list, int keys)
{
        for (int i = 0; i < list->n; i++) {
                const Stmt *s = &list->stmt[i];
                if (s->op == STMT_COUNT || s->op == STMT_LOAD || s->op == STMT_GATHER ||
                    s->op == STMT_PLACE || knows_loop(s->at, keys) ||
                    (s->inside && depends_on_key(s->inside, keys)))
                        return true;
        }
        return false;
}

/* --- the functions -------------------------------------------------------------------------------------------- */

/* The runtime's kernel counts the heads of all outer loops. */
static void count_heads(Function *f, const AttentionWalks *w)
{
        for (int i = 0; i < w->nouter; i++)
                f->head[f->nhead++] = w->outer[i];
        if (w->head >= 0)
                f->head[f->nhead++] = w->head;
        if (w->share >= 0)
                f->head[f->nhead++] = w->share;
        f->row = w->row;
}

/* A callback of the kernel, over the loops of l. */
static Lower called_back(const Lower *l, const AttentionWalks *w, Role role, const char *suffix)
{
        Lower g =
                lower_new(l->plan, l->kernel, role, arena_printf(l->arena, "%s_%s", l->kernel->name, suffix));
        g.domain = l->domain;
        g.loops = l->loops;
        g.lane = w->keys;
        g.whole_lanes = g.rest_is_ours = true;
        count_heads(g.function, w);
        return g;
}

/* The function of the score expression from the values of `given`, which the kernel passes.  NULL: not
 * possible, see l->stuck. */
static const Function *score_function(Lower *l, const AttentionWalks *w, const char *suffix,
                                      const Node *given, Node *score, const Map *at)
{
        Lower g = called_back(l, w, SCORE, suffix);
        g.given[0] = given;
        g.of_heads = l->kernel->attention.mixes ? at : NULL;
        int value = near_value(&g, score, at);
        if (value < 0) {
                l->stuck = g.stuck;
                return NULL;
        }
        add_stmt(&g, g.lanes, (Stmt){.op = STMT_RESULT, .from = {value}, .nfrom = 1});
        close_function(&g);
        return g.function;
}

/* Its lanes are all equal. */
static const Function *sink_function(Lower *l, const AttentionWalks *w, Node *sink, const Map *at)
{
        Lower g = called_back(l, w, SINK, "sink");
        Map row = *at, of;
        row.axis[at->rank - 1] = (AxisIndex){0};
        of = map_broadcast(&row, &sink->type);
        int value = near_value(&g, sink, &of);
        if (value < 0) {
                l->stuck = g.stuck;
                return NULL;
        }
        add_stmt(&g, g.row, (Stmt){.op = STMT_RESULT, .from = {value}, .nfrom = 1});
        close_function(&g);
        return g.function;
}

static const Function *live_function(const Lower *l, const AttentionWalks *w, const Bounds *b)
{
        Lower g = called_back(l, w, LIVE, "live");
        add_stmt(&g, g.row, (Stmt){.op = STMT_BOUNDS, .at = b->low, .high = b->high});
        close_function(&g);
        return g.function;
}

/* The bounds of the row's keys, and the expression without the masks that they imply.  Mixed heads share
 * one row, and have no bounds if a masked key has a weight. */
static Bounds bounds_of(Lower *l, const Kernel *k, const AttentionWalks *w, const Map *at, Node **bare)
{
        Bounds bounds = {0};
        *bare = k->attention.score;
        l->lane = w->keys;
        if (k->attention.all_weigh)
                return bounds;
        live_keys(l, k->attention.score, at, w->keys, &bounds, bare);
        if (!k->attention.mixes || (!knows_loop(bounds.low, w->head) && !knows_loop(bounds.high, w->head)))
                return bounds;
        *bare = k->attention.score;
        return (Bounds){0};
}

/* Address of an operand, by the loops around the kernel's own. */
static Operand attention_operand(const Lower *l, const AttentionWalks *w, Buffer *b, const Address *at)
{
        int64_t coef[MAX_LOOPS] = {0};
        for (int i = 0; i < w->nouter; i++)
                coef[w->outer[i]] = at->coef[w->outer[i]];
        return (Operand){b, affine_index(l, at->offset, coef, false)};
}

static AttentionCall *attention_call(const Lower *l, const AttentionWalks *w)
{
        AttentionCall *c = NEW(l->arena, AttentionCall);
        int inner = w->share >= 0 ? w->share : w->head;
        int64_t share = w->share >= 0 ? l->domain.loop[w->share].size.fixed : 1;
        int64_t groups = w->head >= 0 ? l->domain.loop[w->head].size.fixed : 1;
        bool all_share = !l->kernel->attention.mixes && w->share < 0 && w->head >= 0 &&
                         stride_along(&w->k, w->head) == 0 && stride_along(&w->v, w->head) == 0 &&
                         (!w->chosen_buffer || stride_along(&w->chosen, w->head) == 0);
        Address q = w->q, o = w->out, k = w->k, v = w->v, chosen = w->chosen;
        const bool in_rows = is_stored_in_rows(&k);
        c->first_key = first_held(w->k_buffer);
        c->first_value = first_held(w->v_buffer);
        c->first_held = cache_of(w->k_buffer) >= 0 || cache_of(w->v_buffer) >= 0;
        k.offset = dim_add(k.offset, dim_scale(c->first_key, stride_along(&k, w->keys)));
        v.offset = dim_add(v.offset, dim_scale(c->first_value, stride_along(&v, w->keys)));
        if (w->row >= 0 && begins_at_first(l, w->row)) {
                q.offset = dim_add(q.offset, dim_scale(dim_named(NAMED_FIRST), stride_along(&q, w->row)));
                o.offset = dim_add(o.offset, dim_scale(dim_named(NAMED_FIRST), stride_along(&o, w->row)));
                chosen.offset = dim_add(chosen.offset,
                                        dim_scale(dim_named(NAMED_FIRST), stride_along(&chosen, w->row)));
        }
        if (w->chosen_buffer) {
                const Node *list = l->kernel->attention.chosen->in[0];
                c->chosen = attention_operand(l, w, w->chosen_buffer, &chosen);
                c->chosen_row = stride_along(&chosen, w->row);
                c->chosen_head = stride_along(&chosen, w->head);
                c->count = list->type.dim[list->type.rank - 1].fixed;
        }
        c->q = attention_operand(l, w, w->q_buffer, &q);
        c->k = attention_operand(l, w, w->k_buffer, &k);
        c->v = attention_operand(l, w, w->v_buffer, &v);
        c->out = attention_operand(l, w, l->kernel->stores.of[0].to, &o);
        c->q_row = stride_along(&q, w->row);
        c->q_head = stride_along(&q, inner);
        c->k_head = stride_along(&k, w->head);
        c->k_tile = in_rows ? 0 : k.tile;
        c->k_key = !in_rows ? 0 : k.paged ? k.apart : stride_along(&k, w->keys);
        /* there is only one */
        if (in_rows && !c->k_key)
                c->k_key = l->domain.loop[w->depth].size.fixed;
        c->v_head = stride_along(&v, w->head);
        c->v_key = v.paged ? v.apart : stride_along(&v, w->keys);
        c->k_paged = k.paged;
        c->v_paged = v.paged;
        c->out_row = stride_along(&o, w->row);
        c->out_head = stride_along(&o, inner);
        c->heads = groups * share;
        c->kv_heads = all_share ? 1 : groups;
        c->head_dim = l->domain.loop[w->depth].size.fixed;
        c->v_dim = l->domain.loop[w->width].size.fixed;
        c->keys = l->domain.loop[w->keys].size;
        c->row = w->row;
        for (; c->naround < w->nouter; c->naround++)
                c->around[c->naround] = w->outer[c->naround];
        return c;
}

Node *lower_attention(Plan *p, Kernel *k, Code *code)
{
        Lower l = lower_new(p, k, WHOLE_KERNEL, k->name);
        AttentionWalks w = {.head = -1};
        l.lane = -1;
        Node *stuck = attention_walks(&l, k, &w);
        if (stuck)
                return stuck;
        const Type *t = &k->attention.score->type;
        Map at = {.rank = t->rank}, product = map_identity(&l.domain, &k->stores.of[0].node->type);
        for (int a = 0; a < t->rank - 1; a++)
                at.axis[a] = product.axis[a];
        at.axis[t->rank - 1].coef[w.keys] = 1;
        if (k->attention.chosen && !find_list(&l, &w, &at))
                return k->stores.of[0].node;
        Node *bare;
        const Bounds bounds = bounds_of(&l, k, &w, &at, &bare);
        Buffer *named[] = {w.q_buffer, w.k_buffer, w.v_buffer, k->stores.of[0].to, w.chosen_buffer};
        for (int i = 0; i < (w.chosen_buffer ? 5 : 4); i++)
                names_buffer(&l, named[i]);
        AttentionCall *call = attention_call(&l, &w);
        call->score = score_function(&l, &w, "score", k->attention.core, bare, &at);
        if (k->attention.mixes)
                call->weigh =
                        score_function(&l, &w, "weigh", k->attention.softmax, k->attention.weights, &at);
        if (!call->score || (k->attention.mixes && !call->weigh))
                return l.stuck ? l.stuck : k->stores.of[0].node;
        call->by_column = depends_on_key(&call->score->body, w.keys);
        call->all_weigh = k->attention.all_weigh;
        call->sink = k->attention.sink ? sink_function(&l, &w, k->attention.sink, &at) : NULL;
        if (k->attention.sink && !call->sink)
                return l.stuck ? l.stuck : k->stores.of[0].node;
        call->live = live_function(&l, &w, &bounds);
        add_stmt(&l, l.row, (Stmt){.op = STMT_ATTENTION, .call.attention = call});
        close_function(&l);
        add_function(p, code, (Function *)call->score);
        add_function(p, code, (Function *)call->live);
        if (call->sink)
                add_function(p, code, (Function *)call->sink);
        if (call->weigh)
                add_function(p, code, (Function *)call->weigh);
        add_function(p, code, l.function);
        return NULL;
}
