/* Scores apart: if the weights or scores of an attention have other users, the attention computes its own
 * copy, and stays one kernel.
 *
 *   before                                    after
 *
 *   s = q k'                                  s = q k'                   s' = q k'
 *   w = softmax(s)   <- used elsewhere        w = softmax(s)  <- used    w' = softmax(s')
 *   y = w v                                                              y = w' v
 *
 * The other users read stored ones, as before.  If the only other users are attention too, such as two
 * softmaxes of one product or two products with one softmax, each has its own copy, and none is stored.
 *
 * Before: a graph after all passes but those for taps.  After: the scores of such attention have no other
 * user, unless a second product costs more than it saves.  No later pass may join equal nodes. */
#include <string.h>

#include "rebuild_private.h"
#include "simplify_private.h"

/* A product of a softmax's weights with values, which may become one kernel. */
typedef struct {
        Node *product, *weights; /* the product, and its left operand */
        Scores scores;
        bool stored; /* its scores or weights have a user other than attention */
        bool apart;  /* it gets its own scores: */
        Node **own;  /* by id: the copy; NULL: none */
} ApartSite;

typedef struct {
        Graph *g;
        Arena scratch;
        Uses *uses;
        Needed needed; /* nodes needed only by taps have their own copies */
        int limit;     /* ids of copies are at least this */
        ApartSite *site;
        int nsite, cap_site;
} ScoresApart;

static bool covers(const ApartSite *s, const Node *n)
{
        return n == s->weights || scores_hold(&s->scores, n);
}

static void scores_find_sites(ScoresApart *p, const Body *b)
{
        for (int i = 0; i < b->nnode; i++) {
                Node *n = b->node[i];
                ApartSite s = {.product = n, .weights = n->nin ? n->in[0] : NULL};
                for (int k = 0; n->op == OP_REPEAT && k < n->attr.region->nbody; k++)
                        scores_find_sites(p, n->attr.region->body[k]);
                if (n->op != OP_MATMUL || s.weights->body != n->body || !p->needed.node[n->id] ||
                    find_attention(&p->scratch, p->g, n, NULL, &s.scores))
                        continue;
                GROW(&p->scratch, p->site, p->nsite, p->cap_site);
                p->site[p->nsite++] = s;
        }
}

static bool is_output(const Graph *g, const Node *n)
{
        for (int i = 0; i < g->noutput; i++)
                if (g->output[i].node == n && !g->output[i].tap)
                        return true;
        return false;
}

/* Whether an attention uses n through this user. */
static bool is_for_site(const ScoresApart *p, const Node *n, const Node *user)
{
        for (int i = 0; i < p->nsite; i++)
                if (covers(&p->site[i], n) && (covers(&p->site[i], user) || p->site[i].product == user))
                        return true;
        return false;
}

static bool scores_is_stored(const ScoresApart *p, const Node *n)
{
        bool stored = p->uses->leaves[n->id] || is_output(p->g, n);
        for (int i = 0; i < p->uses->nuser[n->id] && !stored; i++) {
                const Node *user = p->uses->user[n->id][i];
                stored = p->needed.node[user->id] && !is_for_site(p, n, user);
        }
        return stored;
}

static bool share_a_node(const ApartSite *a, const ApartSite *b)
{
        bool share = a->weights == b->weights;
        for (int i = 0; i < a->scores.n && !share; i++)
                share = covers(b, a->scores.node[i]);
        return share;
}

static int64_t last_axis_size(const Node *n)
{
        return n->type.dim[n->type.rank - 1].fixed;
}

/* Whether a second product costs no more than one kernel saves: a separate product with values would read
 * stored weights, masked ones too. */
static bool pays(const ApartSite *s)
{
        return last_axis_size(s->scores.core->in[0]) <= last_axis_size(s->product);
}

/* Among attention with common scores the first keeps the original ones, unless they are stored for other
 * users. */
static void apart_decide(ScoresApart *p)
{
        for (int i = 0; i < p->nsite; i++) {
                ApartSite *s = &p->site[i];
                s->stored = scores_is_stored(p, s->weights);
                for (int k = 0; k < s->scores.n; k++)
                        s->stored |= scores_is_stored(p, s->scores.node[k]);
                s->apart = s->stored && pays(s);
        }
        for (int i = 0; i < p->nsite; i++) {
                ApartSite *s = &p->site[i];
                for (int k = 0; k < p->nsite && !s->stored; k++)
                        s->apart |= k != i && (k < i || p->site[k].stored) && share_a_node(s, &p->site[k]);
        }
}

/* By id: the nodes of the site's scores that have other users, and the nodes that use those. */
static bool *shared_axes(ScoresApart *p, const ApartSite *s)
{
        bool *shared = NEW_ARRAY(&p->scratch, bool, p->limit);
        const Body *b = s->product->body;
        for (int i = p->uses->place[s->weights->id]; i >= 0; i--) {
                const Node *n = b->node[i];
                if (!covers(s, n))
                        continue;
                shared[n->id] = p->uses->leaves[n->id] || is_output(p->g, n);
                for (int k = 0; k < p->uses->nuser[n->id]; k++) {
                        const Node *user = p->uses->user[n->id][k];
                        shared[n->id] |= shared[user->id] ||
                                         (!covers(s, user) && user != s->product && p->needed.node[user->id]);
                }
        }
        return shared;
}

static void scores_take_own(const ScoresApart *p, const ApartSite *s, Node *n)
{
        for (int i = 0; i < n->nin; i++)
                if (n->in[i]->id < p->limit && s->own[n->in[i]->id])
                        n->in[i] = s->own[n->in[i]->id];
}

/* Copies the shared nodes, and lets the site read the copies. */
static void site_separate(ScoresApart *p, ApartSite *s)
{
        const bool *shared = shared_axes(p, s);
        const Body *b = s->product->body;
        s->own = NEW_ARRAY(&p->scratch, Node *, p->limit);
        for (int i = 0; b->node[i] != s->product; i++) {
                Node *n = b->node[i];
                if (!covers(s, n))
                        continue;
                if (shared[n->id]) {
                        Node *copy = s->own[n->id] = NEW(p->g->arena, Node);
                        *copy = *n;
                        copy->id = p->g->nnode++;
                        copy->in = NEW_ARRAY(p->g->arena, Node *, n->nin);
                        memcpy(copy->in, n->in, (size_t)n->nin * sizeof(Node *));
                        n = copy;
                }
                scores_take_own(p, s, n);
        }
        scores_take_own(p, s, s->product);
}

/* A copy is placed directly after its original, where all its inputs are available. */
static void scores_append(void *context, Graph *g, Body *b, Node *n)
{
        const ScoresApart *p = context;
        body_append(g, b, n);
        for (int k = 0; k < p->nsite; k++)
                if (p->site[k].own && p->site[k].own[n->id])
                        body_append(g, b, p->site[k].own[n->id]);
}

bool separate_scores(Graph *g)
{
        ScoresApart p = {.g = g, .limit = g->nnode, .scratch = {.out_of_memory = g->arena->out_of_memory}};
        p.uses = uses_of(&p.scratch, g);
        p.needed = outputs_need(&p.scratch, g);
        scores_find_sites(&p, g->top);
        apart_decide(&p);
        bool any = false;
        for (int i = 0; i < p.nsite; i++) {
                any |= p.site[i].apart;
                if (p.site[i].apart)
                        site_separate(&p, &p.site[i]);
        }
        rebuild_body(g, g->top, scores_append, &p);
        arena_free(&p.scratch);
        if (any)
                prune(g); /* removes originals whose users all have copies */
        return any;
}
