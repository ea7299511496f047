/* Names of buffers in C: after their role in the formula.
 *
 *      q_w, gain      a weight, after the end of its path; of one letter, with the part before
 *      q, ln1, ffn    a value, after its variable or, if that has at most one letter, after its block
 *      q_rope         a scheme's value, after its weight and the scheme; rope_cos, a table of the scheme
 *      k_cache        a state that grows by positions; others end in _state
 *
 * Offsets are constants: ARENA_Q_ROPE, WEIGHT_LAYER_ATTN_Q_W. */
#include <ctype.h>
#include <string.h>

#include "plan_private.h"

/* The begin of the second-last part of a path; NULL: there is none. */
static const char *part_before(const char *path, const char *last)
{
        const char *at = last - 1;
        if (last == path)
                return NULL;
        while (at > path && at[-1] != '.')
                at--;
        return at;
}

static const char *role_of_weight(Arena *a, const char *path)
{
        const char *last = last_name_part(path), *before = part_before(path, last);
        return before && !last[1] ? arena_printf(a, "%.*s_%s", (int)(last - 1 - before), before, last) : last;
}

static const char *role_of_table(Arena *a, const Node *n)
{
        const Instance *own = named_instance(n);
        const char *name = n->name ? n->name : op_info[n->op].text;
        return own && (own->scheme || !n->name) ? arena_printf(a, "%s_%s", name_of_instance(own), name)
                                                : name;
}

/* The role of state "k.y" is k. */
static const char *role_of_state(const Plan *p, const Buffer *b)
{
        const char *last = last_name_part(b->name), *before = part_before(b->name, last);
        const bool letters = before && !last[1] && last - before == 2;
        bool grows = false;
        for (int i = 0; i < b->type.rank && p->graph->past >= 0; i++)
                grows |= b->type.dim[i].per[p->graph->past] != 0;
        return arena_printf(p->graph->arena, "%.*s_%s", letters ? 1 : (int)strlen(last),
                            letters ? before : last, grows ? "cache" : "state");
}

static const char *role_of_value(Arena *a, const Node *n)
{
        const Instance *own = named_instance(n);
        if (!own || (n->name && !is_single_letter(n->name)))
                return n->name ? n->name : op_info[n->op].text;
        const char *source = own->scheme ? source_name(n) : NULL;
        return source ? arena_printf(a, "%s_%s", source, own->scheme) : name_of_instance(own);
}

/* value: the first one stored in it, or NULL */
static const char *buffer_role_of(const Plan *p, const Buffer *b, const Node *value)
{
        Arena *a = p->graph->arena;
        switch (b->home) {
        case IN_WEIGHTS: return b->table ? role_of_table(a, b->table) : role_of_weight(a, b->name);
        case IN_STATE: return role_of_state(p, b);
        case IN_ARENA: return value ? role_of_value(a, value) : last_name_part(b->name);
        default: return last_name_part(b->name);
        }
}

/* "ARENA_LN1", or with a number if another buffer or the runtime has that name */
static const char *offset_name(const Plan *p, const Buffer *b)
{
        static const char *const home[] = {
                [IN_ARENA] = "ARENA", [IN_WEIGHTS] = "WEIGHT", [IN_STATE] = "STATE"};
        Text *t = text_new(p->graph->arena);
        text_printf(t, "%s_", home[b->home]);
        for (const char *c = b->home == IN_ARENA ? b->role : b->name; *c; c++)
                text_printf(t, "%c", is_name_char(*c) ? toupper((unsigned char)*c) : '_');
        bool taken = is_c_word(t->data) || !strcmp(t->data + strlen(home[b->home]), "_FLOATS");
        for (int i = 0; i < p->nbuffer; i++)
                taken |= p->buffer[i]->offset_name && !strcmp(p->buffer[i]->offset_name, t->data);
        if (taken)
                text_printf(t, "_%d", b->id);
        return t->data;
}

static bool has_offset(const Buffer *b)
{
        const bool placed = b->home == IN_ARENA ? !b->alias : b->home == IN_WEIGHTS || b->home == IN_STATE;
        return placed && !b->part_of;
}

void name_buffers(Plan *p)
{
        Arena *a = p->graph->arena;
        const Node **value = NEW_ARRAY(a, const Node *, p->nbuffer);
        for (int i = 0; i < p->nbody; i++)
                for (int k = 0; k < p->body[i]->nnode; k++) {
                        const Node *n = p->body[i]->node[k];
                        const Buffer *b = p->of_node.value[n->id];
                        if (b && !value[b->id])
                                value[b->id] = n;
                }
        for (int i = 0; i < p->nbuffer; i++) {
                Buffer *b = p->buffer[i];
                b->role = buffer_role_of(p, b, value[i]);
                if (has_offset(b))
                        b->offset_name = offset_name(p, b);
        }
}
