/* Layout of repeats: a value for the next iteration is stored where that one reads it, and stacked values are
 * adjacent. */
#include "plan_private.h"

/* Whether iterations of the body, or of repeats in it, pass on or stack the carried value, or a view of it. */
static bool leaves_as_it_is(const Body *b, const Node *carry)
{
        for (int i = 0; i < b->region->ncarry; i++)
                if (base_of(b->next[i]) == carry)
                        return true;
        for (int i = 0; i < b->region->nstack; i++)
                if (base_of(b->stack[i]) == carry)
                        return true;
        for (int i = 0; i < b->nnode; i++)
                for (int k = 0; b->node[i]->op == OP_REPEAT && k < b->node[i]->attr.region->nbody; k++)
                        if (leaves_as_it_is(b->node[i]->attr.region->body[k], carry))
                                return true;
        return false;
}

/* Whether a kernel of the body still reads carried value c when `next` is computed, or at another offset than
 * it is written. */
static bool overwrites_early(const Fuse *f, const Body *b, const Node *carry, const Node *next)
{
        const Kernel *writer = f->owner[next->id];
        for (int i = 0; i < f->uses->n; i++) {
                const Node *n = f->uses->all[i];
                if (base_of(n) != carry)
                        continue;
                for (int k = 0; k < f->uses->nuser[n->id]; k++) {
                        const Node *user = f->uses->user[n->id][k];
                        if (user->op == OP_VIEW)
                                continue;
                        const Kernel *reader = f->owner[user->id];
                        if (!reader || user->body != b)
                                return true;
                        bool aligned = n == carry && op_info[user->op].family == POINT &&
                                       same_dims(&user->type, &next->type);
                        if (reader == writer && !aligned)
                                return true;
                        const Node *root = reader->op == K_MATMUL ? reader->product.segment[0].store.node
                                                                  : reader->stores.of[0].node;
                        if (reader != writer && f->uses->place[root->id] > f->uses->place[next->id])
                                return true;
                }
        }
        return leaves_as_it_is(b, carry);
}

static Node *carry_node(const Body *b, int index)
{
        for (int i = 0; i < b->nnode; i++)
                if (b->node[i]->op == OP_CARRY && b->node[i]->attr.index == index)
                        return b->node[i];
        return NULL;
}

/* The storage of a carried value at the beginning and after every iteration. */
static Storage carried_storage(const Plan *p, const Node *repeat, int i)
{
        const Region *r = repeat->attr.region;
        Storage most = storage_of(p, repeat->in[i]);
        for (int k = 0; k < r->nbody; k++)
                most = storage_of(p, r->body[k]->next[i]) == STORAGE_F64 ? STORAGE_F64 : most;
        return most;
}

static Storage stacked_storage(const Plan *p, const Region *r, int i)
{
        Storage most = STORAGE_F32;
        for (int k = 0; k < r->nbody; k++)
                most = storage_of(p, r->body[k]->stack[i]) == STORAGE_F64 ? STORAGE_F64 : most;
        return most;
}

/* A value of a ring, before a position or after it. */
static Buffer *ring_part(Plan *p, Buffer *ring, bool is_after)
{
        Buffer *part = part_buffer(p, ring, &ring->type, &ring->layout, ring->name);
        part->ring = ring->ring;
        part->is_after = is_after;
        return part;
}

/* The next value is stored where the next iteration reads it, or in a ring beside the one that the body reads. */
static void lay_next(Fuse *f, Body *b, int i, Buffer *carried)
{
        Plan *p = f->plan;
        Node *next = b->next[i], *carry = carry_node(b, i);
        const bool ring = carried->ring > 0,
                   permuted = base_of(next)->op == OP_CARRY && base_of(next)->body == b;
        const int end = 4 * b->nnode + 4;
        if (carry)
                p->of_node.value[carry->id] = ring ? ring_part(p, carried, false) : carried;
        if (next == carry && !ring)
                return;
        if (permuted && !ring) { /* through a copy */
                Buffer *aside = buffer_new(p, IN_ARENA, &next->type, carried->name);
                aside->storage = carried->storage;
                layout_buffer(p, aside, -1);
                copy_kernel(f, next, aside, b, end);
                Kernel *k = f->kernel[f->nkernel - 1];
                k = fuse_kernel(f, K_LOOP, next);
                k->stores.of[0] = (Store){next, carried, true};
                k->order.at = end + 1;
                k->from_copy = aside;
                return;
        }
        Buffer *to = ring ? ring_part(p, carried, true) : carried;
        bool as_it_is =
                carried->storage == STORAGE_F32 || !f->owner[next->id] || f->owner[next->id]->op == K_LOOP;
        if (next->body == b && as_it_is && !permuted && next->op != OP_JOIN && is_made_by_kernel(f, next) &&
            !p->of_node.value[next->id] && (ring || !carry || !overwrites_early(f, b, carry, next)))
                p->of_node.value[next->id] = to;
        else
                copy_kernel(f, next, to, b, end + 1); /* after the copies of values that it overwrites */
}

/* Whether n is read after the repeat has begun: after it, or in its iterations.  A value without a buffer is
 * read where its users are computed.  seen [nnode]: nodes already found not to be. */
static bool outlives(const Fuse *f, const Node *n, const Node *repeat, bool *seen)
{
        if (f->uses->pinned[n->id])
                return true;
        if (seen[n->id])
                return false;
        seen[n->id] = true;
        for (int i = 0; i < f->uses->nuser[n->id]; i++) {
                const Node *user = f->uses->user[n->id][i];
                if (user == repeat)
                        continue;
                if (user->body != repeat->body || (user->op == OP_VIEW && f->uses->pinned[user->id]))
                        return true; /* an output that is a view is copied at the end */
                if (f->needs_buffer[user->id] ? f->uses->place[user->id] > f->uses->place[repeat->id]
                                              : outlives(f, user, repeat, seen))
                        return true;
        }
        return false;
}

/* The value in memory for n: the first of its views with a separate buffer, or the node under them. */
static const Node *stored_for(const Fuse *f, const Node *n)
{
        while (n->op == OP_VIEW && !f->plan->of_node.copy[n->id])
                n = n->in[0];
        return n;
}

/* The same for n or a part that would be stored in its memory. */
static bool part_outlives(const Fuse *f, const Node *n, const Node *repeat, bool *seen)
{
        n = stored_for(f, n);
        if (seen[n->id])
                return false;
        bool parts = n->op == OP_JOIN || n->op == OP_PAD, any = outlives(f, n, repeat, seen);
        for (int i = 0; parts && !any && i < n->nin; i++)
                any = part_outlives(f, n->in[i], repeat, seen);
        return any;
}

/* Stores a repeat's initial value where the repeat carries it, unless it is still needed unchanged. */
static void lay_first(Fuse *f, Node *first, const Node *repeat, Buffer *carried)
{
        int at = 4 * f->uses->place[repeat->id] + 1;
        Arena scratch = {.out_of_memory = f->arena->out_of_memory};
        bool outlived = part_outlives(f, first, repeat, NEW_ARRAY(&scratch, bool, f->plan->graph->nnode));
        arena_free(&scratch);
        if (outlived)
                copy_kernel(f, first, carried, repeat->body, at);
        else
                place_value(f, first, carried, repeat->body, at);
}

/* The value that a region carries.  In the state of an `along` each call goes on from the last one; the first
 * value is copied there in a sequence's first call. */
static Buffer *lay_carried(Fuse *f, Node *repeat, int i)
{
        Plan *p = f->plan;
        const Region *r = repeat->attr.region;
        const StateVar *s = r->kept ? r->kept[i] : NULL;
        const char *name = s ? s->name : repeat->in[i]->name ? repeat->in[i]->name : "carried";
        Buffer *b = buffer_new(p, s ? IN_STATE : IN_ARENA, &repeat->in[i]->type, name);
        b->storage = carried_storage(p, repeat, i);
        layout_buffer(p, b, -1);
        if (s) {
                b->ring = p->rewind ? p->rewind + 1 : 0;
                b->size *= p->rewind + 1;
                b->index = s->id;
                b->slots = s->slots;
                b->slot_of = s->slot_of;
                b->slot_stride = b->size;
                b->region = repeat->body->region;
        }
        for (int k = 0; k < r->nbody; k++)
                lay_next(f, r->body[k], i, b);
        if (!s) {
                lay_first(f, repeat->in[i], repeat, b);
                return b;
        }
        copy_kernel(f, repeat->in[i], b, repeat->body, 4 * f->uses->place[repeat->id] + 1);
        f->kernel[f->nkernel - 1]->rows = ROWS_AT_START;
        return b;
}

/* Results of an `along` over a named size, in the order of the positions: each is stored at its own. */
static Buffer *lay_positions(Fuse *f, Node *repeat, int i)
{
        Plan *p = f->plan;
        Region *r = repeat->attr.region;
        Node *each = r->body[0]->stack[i];
        Type type = {
                .dtype = each->type.dtype, .rank = each->type.rank + 1, .dim = {positions_of(p->graph, r)}};
        for (int a = 0; a < each->type.rank; a++)
                type.dim[a + 1] = each->type.dim[a];
        Buffer *all = buffer_new(p, IN_ARENA, &type, "stacked");
        all->storage = stacked_storage(p, r, i);
        layout_buffer(p, all, -1);
        Layout one = all->layout;
        one.rank--;
        for (int a = 0; a < one.rank; a++)
                one.stride[a] = all->layout.stride[a + 1];
        Buffer *slot = part_buffer(p, all, &each->type, &one, "stacked");
        slot->region = r;
        slot->slots = bound_of(p, type.dim[0]);
        slot->slot_stride = storage_size(all->storage, all->layout.stride[0]);
        place_value(f, each, slot, r->body[0], 4 * r->body[0]->nnode + 3);
        return all;
}

void lay_repeat(Fuse *f, Node *repeat)
{
        Plan *p = f->plan;
        Region *r = repeat->attr.region;
        Buffer **value = NEW_ARRAY(f->arena, Buffer *, r->ncarry + r->nstack);
        for (int i = 0; i < r->ncarry; i++)
                value[i] = lay_carried(f, repeat, i);
        const Dim count = r->along ? positions_of(p->graph, r) : dim_fixed(r->iterations);
        for (int i = 0; i < r->nstack && !dim_is_fixed(count); i++)
                value[r->ncarry + i] = lay_positions(f, repeat, i);
        for (int i = 0; i < r->nstack && dim_is_fixed(count); i++) {
                Node *first = r->body[0]->stack[i];
                Buffer *all = value[r->ncarry + i] = buffer_new(p, IN_ARENA, &first->type, "stacked");
                all->storage = stacked_storage(p, r, i);
                layout_buffer(p, all, -1);
                Layout one = all->layout;
                int64_t stride = all->size;
                all->size *= count.fixed;
                for (int k = 0; k < r->nbody; k++) {
                        Buffer *slot = part_buffer(p, all, &first->type, &one, "stacked");
                        slot->region = r;
                        slot->slots = count.fixed;
                        slot->slot_stride = stride;
                        /* before the carried values are overwritten: see lay_next */
                        place_value(f, r->body[k]->stack[i], slot, r->body[k], 4 * r->body[k]->nnode + 3);
                }
                all->layout.rank++;
                for (int a = all->layout.rank - 1; a > 0; a--)
                        all->layout.stride[a] = all->layout.stride[a - 1];
                all->layout.stride[0] = storage_elements(all->storage, stride);
        }
        for (int i = 0; i < f->uses->nuser[repeat->id]; i++) {
                Node *result = f->uses->user[repeat->id][i];
                p->of_node.value[result->id] = value[result->attr.index];
                if (result->attr.index < r->ncarry)
                        continue;
                value[result->attr.index]->type = result->type;
                if (f->force_buffer[result->id])
                        copy_to_read(f, result, value[result->attr.index]);
        }
}
