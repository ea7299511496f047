/* Code as C: pointers to the buffers of a kernel, declared at the start of its function: `const float *x =
 * m->arena + 768; [96]`. */
#include "print_private.h"

#include <string.h>

/* Whether it is the counter of a repeat around the kernel. */
static bool is_iteration(const Kernel *k, const char *name)
{
        for (const Region *r = k->body->region; r; r = r->repeat->body->region)
                if (!strcmp(r->name, name))
                        return true;
        return false;
}

const char *place_in_c(Printer *p, Buffer *b, const Index *at)
{
        const char *name = pointer_name(p, b), *offset = index_text(p, at);
        return strcmp(offset, "0") ? arena_printf(p->arena, "%s + %s", name, offset) : name;
}

const char *operand_text(Printer *p, Operand o)
{
        if (index_is(o.at, 0))
                return pointer_name(p, o.buffer);
        if (o.buffer->storage == STORAGE_Q8)
                return arena_printf(p->arena, "%s + KEPT_SIZE(%s, %s)", pointer_name(p, o.buffer),
                                    storage_text(p->arena, o.buffer), index_text(p, o.at));
        return place_in_c(p, o.buffer, o.at);
}

const char *storage_text(Arena *a, const Buffer *b)
{
        if (b->storage == STORAGE_Q8)
                return arena_printf(a, "STORAGE_KEPT(%lld, %d)", (long long)b->group,
                                    b->layout.tiled >= 0 ? LANES : 1);
        return arena_printf(a, "STORAGE_%s", storage_info[b->storage].name);
}

const char *iteration_text(Printer *p, const Region *r)
{
        const Region *nest[MAX_NEST];
        int n = iterations_around(p->kernel->body, nest);
        for (int i = 0; i < n; i++)
                if (nest[i] == r)
                        p->iterations |= 1u << i;
        return r->name;
}

/* " + slot * stride" for a buffer with a slot for each iteration; in floats, or in elements of its own
 * array */
static const char *iteration_slot(Printer *p, const Buffer *b, Text *before)
{
        long long stride =
                b->home == IN_LITERAL ? storage_elements(b->storage, b->slot_stride) : FLOATS(b->slot_stride);
        if (!b->region || b->slots == 1)
                return "";
        /* stacked values of a repeat, which are new in each iteration of its outer repeats */
        if (b->home == IN_ARENA)
                return arena_printf(p->arena, " + %s * %lld", iteration_text(p, b->region), stride);
        const Region *nest[MAX_NEST];
        Body within = {.region = b->region};
        int n = iterations_around(&within, nest);
        const char *iteration = NULL;
        int64_t iterations = 1;
        for (int i = 0; i < n; i++) {
                if (nest[i]->along) /* no slot for each position */
                        continue;
                const char *own = iteration_text(p, nest[i]);
                iteration = iteration ? arena_printf(p->arena, "(%s * %lld + %s)", iteration,
                                                     (long long)nest[i]->iterations, own)
                                      : own;
                iterations *= nest[i]->iterations;
        }
        if (!b->slot_of || b->slots == iterations)
                return arena_printf(p->arena, " + %s * %lld", iteration, stride);
        text_printf(before, "static const int16_t slot_%d[%lld] = {", b->id, (long long)iterations);
        for (int64_t i = 0; i < iterations; i++)
                text_printf(before, "%s%d", i ? ", " : "", b->slot_of[i]);
        text_printf(before, "};\n");
        return arena_printf(p->arena, " + slot_%d[%s] * %lld", b->id, iteration, stride);
}

/* " + (m->past + t + 1) % 4 * 80", of a part of a ring: after position t of the call */
static const char *ring_text(Printer *p, const Buffer *b)
{
        if (!b->ring || !b->part_of)
                return "";
        const Graph *g = p->plan->graph;
        return arena_printf(p->arena, " + (m->%s + %s%s) %% %lld * %lld", g->named[g->past].name,
                            iteration_text(p, along_around(p->kernel->body)), b->is_after ? " + 1" : "",
                            (long long)b->ring, (long long)FLOATS(b->slot_stride / b->ring));
}

static const char *slot_text(Printer *p, const Buffer *b, Text *before)
{
        return arena_printf(p->arena, "%s%s", iteration_slot(p, b, before), ring_text(p, b));
}

static void literal_array(Printer *p, Buffer *b, Text *out)
{
        const Literal *l = b->table->attr.literal;
        bool f64 = b->storage == STORAGE_F64;
        int64_t size = storage_elements(b->storage, b->size);
        text_printf(out, "static const %s %s_all[%lld] = {", storage_info[b->storage].c, pointer_name(p, b),
                    (long long)(b->slots * size + LANES));
        for (int64_t t = 0; t < l->iterations; t++)
                for (int64_t i = 0; i < size; i++)
                        text_printf(out, "%s%s", t + i ? ", " : "",
                                    literal_in_c(p, f64, i < l->count ? l->value[t * l->count + i] : 0));
        text_printf(out, "};\n");
}

static bool pointer_is_stored(const Kernel *k, const Buffer *b)
{
        for (int i = 0; i < k->stores.n + k->product.nsegment; i++) {
                Buffer *to =
                        i < k->stores.n ? k->stores.of[i].to : k->product.segment[i - k->stores.n].store.to;
                if (to && pointed_buffer(to) == b)
                        return true;
        }
        return k->kept == b;
}

static const char *shape_comment(const Printer *p, const Buffer *b)
{
        const char *t = type_text(p->arena, p->plan->graph, &b->type);
        if (b->layout.tiled < 0)
                return t;
        return arena_printf(p->arena, "%s, tiled by 16 along axis %d", t, b->layout.tiled);
}

/* " + 768 * m->first": rows of earlier sequences; with tiles, each sequence starts in a new one. */
static const char *before_text(Printer *p, const Buffer *whole)
{
        const char *rows = rows_before(p, sequence_rows(p->plan, whole));
        if (whole->layout.tiled >= 0)
                rows = arena_printf(p->arena, "(%s) / 16 + m->number", rows);
        return arena_printf(p->arena, " + (%s) * %lld", rows,
                            (long long)FLOATS(buffer_size(whole, sequence_row(whole))));
}

const char *offset_text(const Plan *p, const Buffer *b)
{
        while (b->alias)
                b = b->alias;
        return p->names_offsets && b->offset_name
                       ? b->offset_name
                       : arena_printf(p->graph->arena, "%lld", (long long)FLOATS(b->offset));
}

/* Address of a buffer in the arena, the weights or the state. */
static const char *home_text(Printer *p, Buffer *b, const char *constant, const char *slot)
{
        static const char *home[] = {[IN_ARENA] = "arena", [IN_WEIGHTS] = "weights", [IN_STATE] = "state"};
        Buffer *own = whole_buffer(b);
        while (own->alias)
                own = own->alias;
        if (own->home == IN_ARENA && sees_sequence(p->plan, p->kernel, p->f))
                slot = arena_printf(p->arena, "%s%s", slot, before_text(p, own));
        if (b->replicated)
                slot = arena_printf(p->arena, "%s + (%s == 1 ? thread * %lld : 0)", slot, call_rows(p->plan),
                                    (long long)FLOATS(storage_size(b->storage, own_row(p->plan, b))));
        const char *at = arena_printf(p->arena, "m->%s", home[own->paged ? IN_ARENA : b->home]);
        const char *offset = offset_text(p->plan, own);
        if (strcmp(offset, "0"))
                at = arena_printf(p->arena, "%s + %s", at, offset);
        at = arena_printf(p->arena, "%s%s", at, slot);
        const char *c = storage_info[b->storage].c;
        return strcmp(c, "float") ? arena_printf(p->arena, "(%s%s *)(%s)", constant, c, at) : at;
}

/* NULL: the buffer is not in the arena, the weights or the state. */
static const char *address_text(Printer *p, Buffer *b)
{
        if (b->home == IN_LITERAL || b->home == IN_INPUT || b->home == IN_OUTPUT)
                return NULL;
        return home_text(p, b, "", slot_text(p, b, text_new(p->arena)));
}

/* "q", or "q_12" if the name is taken */
static const char *unlike_others(const Printer *p, const Buffer *b, int before)
{
        bool taken =
                is_c_word(b->role) || !strcmp(b->role, p->plan->c_name) || is_iteration(p->kernel, b->role);
        for (int i = 0; i < before; i++)
                taken |= !strcmp(p->pointer[i].name, b->role);
        return taken ? arena_printf(p->arena, "%s_%d", b->role, b->id) : b->role;
}

/* Renames pointer i, unless another one has the name. */
static void rename_pointer(Printer *p, int i, const char *name)
{
        for (int k = 0; k < p->f->npointer; k++)
                if (k != i && !strcmp(p->pointer[k].name, name))
                        return;
        p->pointer[i].name = name;
}

/* Names the parameters of a shared function: its only input is x, its result out. */
static void name_parameters(Printer *p)
{
        int taken = 0, last = 0;
        for (int i = 0; i < p->f->npointer; i++) {
                Buffer *b = p->f->pointer[i];
                if (p->pointer[i].stored && !code_reads(p->code, whole_buffer(b)))
                        rename_pointer(p, i, "out");
                if (b->home == IN_ARENA && !p->pointer[i].stored)
                        taken++, last = i;
        }
        if (taken == 1)
                rename_pointer(p, last, "x");
}

/* Buffers at the same address have one pointer, except in a shared function. */
void name_pointers(Printer *p)
{
        const Printer uses = *p;
        p->pointer = NEW_ARRAY(p->arena, NamedPointer, p->f->npointer + 1);
        for (int i = 0; i < p->f->npointer; i++) {
                Buffer *b = p->f->pointer[i];
                NamedPointer own = {
                        .address = address_text(p, b), .stored = pointer_is_stored(p->kernel, b), .first = i};
                for (int k = 0; k < i && own.first == i && own.address && !p->shared; k++)
                        if (p->pointer[k].address && !strcmp(p->pointer[k].address, own.address))
                                own.first = k;
                own.name = own.first == i ? unlike_others(p, b, i) : p->pointer[own.first].name;
                p->pointer[own.first].stored |= own.stored;
                p->pointer[i] = own;
        }
        if (p->shared)
                name_parameters(p);
        p->m = uses.m;
        p->iterations = uses.iterations;
}

static const NamedPointer *named_pointer(const Printer *p, const Buffer *b)
{
        int i = 0;
        while (p->f->pointer[i] != b)
                i++;
        return &p->pointer[i];
}

const char *pointer_name(Printer *p, Buffer *b)
{
        return named_pointer(p, pointed_buffer(b))->name;
}

const char *pointer_value(Printer *p, Buffer *b)
{
        return b->home == IN_INPUT
                       ? arena_printf(p->arena, "m->input_%s", p->plan->graph->input[b->index].name)
               : b->home == IN_OUTPUT
                       ? arena_printf(p->arena, "m->output_%s", p->plan->graph->output[b->index].name)
                       : address_text(p, b);
}

void print_pointer(Printer *p, Buffer *b, Text *out)
{
        const char *name = pointer_name(p, b), *slot = slot_text(p, b, out);
        const char *constant = named_pointer(p, b)->stored ? "" : "const ",
                   *type = storage_info[b->storage].c;
        p->m |= b->home != IN_LITERAL;
        if (b->home == IN_LITERAL) {
                literal_array(p, b, out);
                text_printf(out, "const %s *%s = %s_all%s;\n", type, name, name, slot);
        } else if (b->home == IN_INPUT) {
                text_printf(out, "const %s *%s = m->input_%s; /* %s */\n", type, name,
                            p->plan->graph->input[b->index].name, shape_comment(p, b));
        } else if (b->home == IN_OUTPUT) {
                text_printf(out, "%s%s *%s = m->output_%s; /* %s */\n", constant, type, name,
                            p->plan->graph->output[b->index].name, shape_comment(p, b));
        } else {
                text_printf(out, "%s%s *%s = %s; /* %s */\n", constant, type, name,
                            home_text(p, b, constant, slot), shape_comment(p, b));
        }
}

void print_pointers(Printer *p, Text *out)
{
        for (int i = 0; i < p->f->npointer; i++)
                if (p->pointer[i].first == i && !p->shared)
                        print_pointer(p, p->f->pointer[i], out);
}
