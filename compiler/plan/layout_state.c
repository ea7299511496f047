/* Layout of states: keys and values of earlier calls, states of scans, and values of separately fed
 * inputs. */
#include "plan_private.h"

/* Gives the buffer the storage of the state. */
static void keep_as(const Plan *p, Buffer *b, const Node *n)
{
        const StateVar *s = n->attr.state;
        b->storage = s->storage == STORAGE_F32 ? storage_of(p, n) : s->storage;
        b->group = s->group;
}

/* Whether a state is stored in pages: consecutive rows of positions that only attention reads. */
static bool suits_pages(const Fuse *f, const Node *append, int tiled)
{
        const Plan *p = f->plan;
        int axis = append->attr.axis, named = 0;
        for (int a = 0; a < append->type.rank; a++)
                named += !dim_is_fixed(append->type.dim[a]);
        if (!p->pages || !is_all_positions(p, append))
                return false;
        bool read = f->uses->nuser[append->in[0]->id] > 1; /* a separate reader of the past rows */
        if (named == 1 && !read && (tiled < 0 || tiled == axis) && is_for_attention(f, append, false))
                return true;
        plan_explain(
                f->plan,
                "%s: each slot has room for all positions: not only attention reads it, as keys or as values",
                append->attr.state->name);
        return false;
}

void lay_state(Fuse *f, Node *append, int tiled)
{
        Plan *p = f->plan;
        StateVar *s = append->attr.state;
        Buffer *b = buffer_new(p, IN_STATE, &append->type, s->name);
        keep_as(p, b, append);
        b->cache = p->windows.of_state[s->id];
        b->per_head = s->per_head;
        b->paged = suits_pages(f, append, tiled);
        if (b->paged)
                b->shift_axis = append->attr.axis;
        if (b->cache >= 0) {
                b->shift_axis = append->attr.axis;
                b->shift = dim_scale(dim_named(NAMED_BASE + b->cache), -1);
        }
        layout_buffer(p, b, tiled);
        b->index = s->id;
        b->slots = s->slots;
        b->slot_of = s->slot_of;
        b->slot_stride = b->size;
        b->region = append->body->region;
        p->of_node.value[append->id] = b;
        Buffer *rows = part_buffer(p, b, &append->in[1]->type, &b->layout, s->name);
        rows->shift_axis = append->attr.axis;
        rows->shift = dim_add(b->shift, dim_named(p->graph->past));
        place_value(f, append->in[1], rows, append->body, 4 * f->uses->place[append->id] + 2);
}

/* The state of a scan, whose layout its kernel knows. */
void lay_scan(Fuse *f, Kernel *k)
{
        const Node *n = k->stores.of[0].node;
        const StateVar *s = n->attr.state;
        if (k->op != K_SCAN || !s)
                return;
        Type type = s->type; /* [units, floats of a block] */
        type.dim[1] = dim_scale(type.dim[1], 1 + SCAN_OLDER(f->plan->rewind));
        Buffer *b = k->kept = buffer_new(f->plan, IN_STATE, &type, s->name);
        layout_buffer(f->plan, b, -1);
        b->index = s->id;
        b->slots = s->slots;
        b->slot_of = s->slot_of;
        b->slot_stride = b->size;
        b->region = n->body->region;
}

/* A value of separately fed inputs: one buffer, which its part fills and others read, each with the
 * iterations of its own repeats. */
void lay_kept(Fuse *f, Node *keep, const int *tiled)
{
        Plan *p = f->plan;
        const StateVar *s = keep->attr.state;
        int axis = -1;
        for (int i = 0; i < f->uses->n; i++)
                if (f->uses->all[i]->op == OP_KEPT && f->uses->all[i]->attr.state == s && axis < 0)
                        axis = tiled[f->uses->all[i]->id];
        Buffer *b = p->of_node.value[keep->id] = buffer_new(p, IN_STATE, &s->type, s->name);
        keep_as(p, b, keep);
        layout_buffer(p, b, axis);
        b->index = s->id;
        b->slots = s->slots;
        b->slot_of = s->slot_of;
        b->slot_stride = b->size;
        b->region = keep->body->region;
        for (int i = 0; i < f->uses->n; i++) {
                const Node *kept = f->uses->all[i];
                if (kept->op != OP_KEPT || kept->attr.state != s)
                        continue;
                p->of_node.value[kept->id] = part_buffer(p, b, &s->type, &b->layout, s->name);
                p->of_node.value[kept->id]->region = kept->body->region;
        }
        place_value(f, keep->in[0], b, keep->body, 4 * f->uses->place[keep->id] + 2);
}
