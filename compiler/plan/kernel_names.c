/* Names of kernels in C, after the values that they compute.
 *
 *      layer_attn_qkv     products, after the paths of their weights: layer.attn.q.w, layer.attn.k.w, layer.attn.v.w
 *      layer_ffn_gate_up
 *      top_logits         kernels that store an output, after the output
 *      layer_ln1          the others, after the repeat, the blocks and the variable that their value comes from
 *      layer_attn_rope_q  a scheme's, after the scheme and the weight that their value comes from
 *
 * Values with the same name are distinguished by that weight, by their block (top_mel_power), or by
 * numbers. */
#include "plan_private.h"

#include <stdlib.h>
#include <string.h>

/* Whether a call adds information to a name.  A call that only wraps a block ("attention" within "attn") does
 * not. */
static bool says_something(const Instance *i)
{
        return !(i->scheme && i->is_whole) && (!i->outer || strcmp(i->name, i->block));
}

const char *name_of_instance(const Instance *i)
{
        return i->scheme ? i->scheme : i->name;
}

bool is_single_letter(const char *name)
{
        return name[0] != 'x' && name[1] == '\0';
}

/* Whether the text is a suffix of functions that belong to a kernel or repeat. */
static bool is_ending(const char *text)
{
        static const char *const ending[] = {"",      "_copy",   "_epilogue", "_score",   "_live",
                                             "_sink", "_active", "_body",     "_body_of", "_body_rest"};
        for (size_t i = 0; i < sizeof ending / sizeof *ending; i++)
                if (!strcmp(text, ending[i]))
                        return true;
        return false;
}

/* The rest of name after the prefix other; NULL: it has another prefix. */
static const char *behind(const char *name, const char *other)
{
        while (*other && *name == *other)
                name++, other++;
        return *other ? NULL : name;
}

/* Whether a function that belongs to one of the two kernels or repeats has the name of the other. */
static bool collide(const char *a, const char *b)
{
        while (*a && *a == *b)
                a++, b++;
        return (!*a && is_ending(b)) || (!*b && is_ending(a));
}

static bool is_segment(const Kernel *k, const char *name)
{
        for (int i = 0; i < k->product.nsegment; i++)
                if (!strcmp(k->product.segment[i].name, name))
                        return true;
        return false;
}

/* "_body_N" of one of n bodies */
static bool is_body(const char *rest, int n)
{
        const char *number = behind(rest, "_body_");
        size_t digits = number ? strspn(number, "0123456789") : 0;
        return digits > 0 && number[digits] == '\0' && strtol(number, NULL, 10) < n;
}

/* Whether a kernel other than `own`, or a repeat, has the name. */
static bool kernel_name_is_taken(const Fuse *f, const Kernel *own, const char *name)
{
        for (int i = 0; i < f->nkernel; i++) {
                const Kernel *k = f->kernel[i];
                if (k && k != own && (collide(name, k->name) || is_segment(k, name)))
                        return true;
        }
        for (int i = 1; i < f->plan->nbody; i++) {
                const Region *r = f->plan->body[i]->region;
                const char *rest = behind(name, r->name);
                if (rest && (is_ending(rest) || is_body(rest, r->nbody)))
                        return true;
        }
        return false;
}

/* --- products ------------------------------------------------------------------------------------------------------- */

/* The number of parts of a weight's path, without the last one unless it is the only one. */
static int weight_parts(const Weight *w)
{
        return w->npart > 1 ? w->npart - 1 : w->npart;
}

/* NULL: its right operand is not a weight. */
static const Weight *weight_of_product(const Node *product)
{
        const Node *w = base_of(product->in[1]);
        return w->op == OP_WEIGHT ? w->attr.weight : NULL;
}

static bool fills_output(const Fuse *f, const Node *n)
{
        for (int i = 0; i < f->plan->graph->noutput; i++)
                if (f->plan->graph->output[i].node == n)
                        return true;
        return false;
}

/* The number of leading parts that all weights share, not counting their last ones. */
static int shared_parts(const Weight *const *w, int n)
{
        int shared = weight_parts(w[0]) - 1;
        for (int i = 1; i < n; i++) {
                int same = 0;
                while (same < shared && same < weight_parts(w[i]) - 1 &&
                       !strcmp(w[0]->part[same], w[i]->part[same]))
                        same++;
                shared = same;
        }
        return shared;
}

/* "layer_attn_qkv", without numbers; NULL: a segment is not a weight, or there are too many for a name. */
static const char *name_of_weights(Fuse *f, const Weight *const *w, int n)
{
        enum { MOST = 4 };
        if (n > MOST)
                return NULL;
        Arena *a = f->arena;
        int shared = shared_parts(w, n);
        const char *name = "", *between = "_";
        for (int i = 0; i < shared; i++)
                name = arena_printf(a, "%s%s%s", name, i ? "_" : "", w[0]->part[i]);
        for (int i = 0; i < n; i++) {
                bool letter = weight_parts(w[i]) == shared + 1 && strlen(w[i]->part[shared]) == 1;
                for (int k = shared; k < weight_parts(w[i]); k++)
                        name = arena_printf(a, "%s%s%s", name,
                                            !*name                           ? ""
                                            : k == shared && i > 0 && letter ? ""
                                                                             : between,
                                            w[i]->part[k]);
        }
        return name;
}

/* The weights of a product's segments; 0: there are too many. */
static int kernel_weights(const Kernel *k, const Weight **w, int most)
{
        int n = 0;
        for (int i = 0; i < k->product.nsegment; i++)
                for (int p = 0; p < k->product.segment[i].nproduct; p++) {
                        if (n == most)
                                return 0;
                        w[n++] = weight_of_product(k->product.segment[i].product[p]);
                }
        return n;
}

/* --- all kernels ------------------------------------------------------------------------------------------------------ */

const Instance *named_instance(const Node *n)
{
        const Instance *i = n->where;
        while (i && !says_something(i))
                i = i->outer;
        return i;
}

static const char *name_of_value(Fuse *f, const Node *root)
{
        Arena *a = f->arena;
        const char *name = root->name;
        const Instance *own = named_instance(root);
        if (own && (!name || own->name == name || is_single_letter(name)))
                name = NULL; /* the instance's own name is enough */
        else if (!name)
                name = op_info[root->op].text;
        for (const Instance *i = own; i; i = i->outer)
                if (says_something(i))
                        name = name ? arena_printf(a, "%s_%s", name_of_instance(i), name)
                                    : name_of_instance(i);
        return name;
}

/* Adds the names of the enclosing repeats as a prefix, except `named` of them, which the name has already;
 * top_ if there is none. */
static const char *within_repeats(Fuse *f, const Body *b, int named, const char *name)
{
        const Region *nest[MAX_NEST];
        int n = iterations_around(b, nest);
        if (n == 0)
                return arena_printf(f->arena, "top_%s", name);
        for (int i = n - 1; i >= named; i--)
                name = arena_printf(f->arena, "%s_%s", nest[i]->name, name);
        return name;
}

/* The weight closest to a value among its ancestors; NULL: none is near. */
static const Weight *source_of(const Node *n, int depth)
{
        if (n->op == OP_MATMUL)
                return weight_of_product(n);
        for (int i = 0; i < n->nin && depth > 0; i++) {
                const Weight *w = source_of(n->in[i], depth - 1);
                if (w)
                        return w;
        }
        return NULL;
}

const char *source_name(const Node *root)
{
        enum { NEAR = 8 };
        const Weight *w = source_of(root, NEAR);
        return w ? w->part[weight_parts(w) - 1] : NULL;
}

static bool is_of_scheme(const Node *n)
{
        const Instance *i = named_instance(n);
        return i && i->scheme;
}

static const char *identifier(Fuse *f, const Node *root, const char *name)
{
        if (is_tapped(f->plan->graph, root))
                return arena_printf(f->arena, "tap_%s", name);
        return is_c_word(name) ? arena_printf(f->arena, "top_%s", name) : name;
}

/* The name, or a longer one if others have it. */
static const char *one_of_its_own(Fuse *f, const Kernel *k, const Node *root, const char *full)
{
        const char *source = source_name(root), *given = full;
        if (k->op == K_LOOP && source && (is_of_scheme(root) || kernel_name_is_taken(f, k, given)))
                full = given = arena_printf(f->arena, "%s_%s", full, source);
        if (!root->name && root->where && !says_something(root->where) && kernel_name_is_taken(f, k, given))
                given = arena_printf(f->arena, "%s_%s", full, root->where->block);
        for (int i = 2; kernel_name_is_taken(f, k, given); i++)
                given = arena_printf(f->arena, "%s_%d", full, i);
        return given;
}

/* tale_step is reserved for callers of a model named tale. */
static bool is_of_interface(const Plan *p, const char *name)
{
        size_t n = strlen(p->c_name);
        return !strncmp(name, p->c_name, n) && name[n] == '_';
}

/* After the weights of its products; NULL: not weights, too many, or it stores an output. */
static const char *name_after_weights(Fuse *f, const Kernel *k, const Node *root)
{
        enum { MOST = 8 };
        const Weight *w[MOST];
        int n = fills_output(f, root) ? 0 : kernel_weights(k, w, MOST);
        const char *name = n ? name_of_weights(f, w, n) : NULL;
        if (!name)
                return NULL;
        int named = is_of_interface(f->plan, name) ? 0 : w[0]->nregion;
        return identifier(f, root, within_repeats(f, k->body, named, name));
}

void name_kernel(Fuse *f, Kernel *k)
{
        const Node *root = k->product.nsegment ? k->product.segment[0].store.node : k->stores.of[0].node;
        const char *name = name_after_weights(f, k, root);
        if (!name && k->product.nsegment > 1)
                return; /* merged: named after the first one */
        const char **known = &f->called[root->id];
        if (!name && !*known)
                *known = identifier(f, root, within_repeats(f, k->body, 0, name_of_value(f, root)));
        k->name = one_of_its_own(f, k, root, name ? name : *known);
}
