/* The models of cases.h. */
#include "cases.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const Span NOWHERE = {0};

/* --- making nodes --- */

static Node *must(Make *m, Node *n)
{
        if (n)
                return n;
        diag_print(m->diag, stderr);
        fprintf(stderr, "a case does not build\n");
        abort();
}

static Node *op1(Make *m, Op op, Node *a)
{
        return must(m, build(m->g, m->b, m->diag, op, 1, &a, NULL, NOWHERE, NULL));
}

static Node *op2(Make *m, Op op, Node *a, Node *b)
{
        return must(m, build(m->g, m->b, m->diag, op, 2, (Node *[]){a, b}, NULL, NOWHERE, NULL));
}

static Node *where(Make *m, Node *c, Node *a, Node *b)
{
        return must(m, build(m->g, m->b, m->diag, OP_WHERE, 3, (Node *[]){c, a, b}, NULL, NOWHERE, NULL));
}

static Node *fold(Make *m, Op op, Node *a, int axis)
{
        return must(m, build(m->g, m->b, m->diag, op, 1, &a, &(Attr){.axis = axis}, NOWHERE, NULL));
}

static Node *number(Make *m, double value)
{
        return build_number(m->g, m->b, value, REAL, NOWHERE, NULL);
}

static Node *whole(Make *m, int64_t value)
{
        return build_number(m->g, m->b, (double)value, INT, NOWHERE, NULL);
}

static Node *weight(Make *m, int rank, int64_t a, int64_t b, int64_t c)
{
        Graph *g = m->g;
        Weight *w = NEW(g->arena, Weight);
        *w = (Weight){.id = g->nweight, .path = arena_printf(g->arena, "w%d", g->nweight), .slots = 1};
        w->part = NEW_ARRAY(g->arena, const char *, 1);
        w->part[0] = w->path;
        w->npart = 1;
        w->type = (Type){REAL, rank, {dim_fixed(a), dim_fixed(b), dim_fixed(c)}};
        if (m->region) {
                w->nregion = 1;
                w->region[0] = m->region;
                w->slots = m->region->iterations;
                w->slot_of = NEW_ARRAY(g->arena, int32_t, w->slots);
                for (int64_t i = 0; i < w->slots; i++)
                        w->slot_of[i] = (int32_t)i;
        }
        g->weight = arena_grow(g->arena, g->weight, g->nweight * (int64_t)sizeof *g->weight,
                               (g->nweight + 1) * (int64_t)sizeof *g->weight);
        g->weight[g->nweight++] = w;
        return must(m, build(g, m->b, m->diag, OP_WEIGHT, 0, NULL, &(Attr){.weight = w, .slot = -1}, NOWHERE,
                             NULL));
}

static Node *index_of(Make *m, Dim size)
{
        return node_new(m->g, m->b, OP_INDEX, 0, NULL, (Attr){0}, (Type){INT, 1, {size}}, NOWHERE, NULL);
}

/* The index along the last axis but one, [n, 1], and along the last, [n]. */
static Node *row(Make *m, Node *s)
{
        Node *i = view_rank(m->g, m->b, index_of(m, s->type.dim[s->type.rank - 2]), 2, NOWHERE, NULL);
        return must(m, view_transpose(m->g, m->b, i, (int[]){1, 0}, NOWHERE, NULL));
}

static Node *col(Make *m, Node *s)
{
        return index_of(m, s->type.dim[s->type.rank - 1]);
}

static Node *transpose(Make *m, Node *x)
{
        int perm[MAX_RANK];
        for (int i = 0; i < x->type.rank; i++)
                perm[i] = i;
        perm[x->type.rank - 1] = x->type.rank - 2;
        perm[x->type.rank - 2] = x->type.rank - 1;
        return must(m, view_transpose(m->g, m->b, x, perm, NOWHERE, NULL));
}

static Node *heads(Make *m, Node *x)
{
        return must(m, view_split(m->g, m->b, x, 2, NOWHERE, NULL));
}

static Node *merge(Make *m, Node *x)
{
        return must(m, view_merge(m->g, m->b, x, NOWHERE, NULL));
}

static Node *slice(Make *m, Node *x, int axis, Dim first, Dim count)
{
        return must(m, view_slice(m->g, m->b, x, axis, first, count, NOWHERE, NULL));
}

static Node *mm(Make *m, Node *a, Node *b)
{
        return op2(m, OP_MATMUL, a, b);
}

static Node *linear(Make *m, Node *x, int64_t n)
{
        return mm(m, x, weight(m, 2, x->type.dim[x->type.rank - 1].fixed, n, 0));
}

static Node *join(Make *m, Node *a, Node *b, int axis)
{
        return must(m, build(m->g, m->b, m->diag, OP_JOIN, 2, (Node *[]){a, b}, &(Attr){.axis = axis},
                             NOWHERE, NULL));
}

static Node *pad(Make *m, Node *x, int axis, int64_t before, int64_t after, double value)
{
        Attr attr = {.axis = axis, .before = dim_fixed(before), .after = dim_fixed(after), .value = value};
        return must(m, build(m->g, m->b, m->diag, OP_PAD, 1, &x, &attr, NOWHERE, NULL));
}

static Node *minus_inf(Make *m)
{
        return number(m, -INFINITY);
}

static Node *softmax(Make *m, Node *x)
{
        return op1(m, OP_SOFTMAX, x);
}

static Dim now(const Make *m)
{
        (void)m;
        return dim_named(0);
}

/* --- masks --- */

typedef Node *Mask(Make *m, Node *s);

static Node *past_only(Make *m, Node *s)
{
        return op2(m, OP_LESSEQ, col(m, s), row(m, s));
}

static Node *distance(Make *m, Node *s)
{
        return op2(m, OP_SUB, row(m, s), col(m, s));
}

static Node *masked(Make *m, Node *keep, Node *s)
{
        return where(m, keep, s, minus_inf(m));
}

static Node *causal(Make *m, Node *s)
{
        return masked(m, past_only(m, s), s);
}

static Node *causal_not(Make *m, Node *s)
{
        return masked(m, op1(m, OP_NOT, op2(m, OP_LESS, row(m, s), col(m, s))), s);
}

static Node *causal_added(Make *m, Node *s)
{
        return op2(m, OP_ADD, s, where(m, past_only(m, s), number(m, 0), minus_inf(m)));
}

static Node *causal_swapped(Make *m, Node *s)
{
        return where(m, op2(m, OP_LESS, row(m, s), col(m, s)), minus_inf(m), s);
}

static Node *causal_difference(Make *m, Node *s)
{
        return masked(m, op2(m, OP_LESS, number(m, -1), op1(m, OP_REAL_OF, distance(m, s))), s);
}

static Node *causal_max(Make *m, Node *s)
{
        Node *most = op2(m, OP_MAX, row(m, s), col(m, s));
        return masked(m, op2(m, OP_EQUAL, most, row(m, s)), s);
}

static Node *causal_log(Make *m, Node *s)
{
        return op2(m, OP_ADD, s, op1(m, OP_LOG, op1(m, OP_REAL_OF, past_only(m, s))));
}

static Node *causal_counted(Make *m, Node *s)
{
        Node *keep = op2(m, OP_SUB, number(m, 1), op1(m, OP_REAL_OF, op2(m, OP_LESS, row(m, s), col(m, s))));
        return masked(m, op2(m, OP_EQUAL, keep, number(m, 1)), s);
}

static Node *causal_nested(Make *m, Node *s)
{
        Node *inner = masked(m, op2(m, OP_LESS, distance(m, s), whole(m, 3)), s);
        return where(m, op2(m, OP_LESS, distance(m, s), whole(m, 0)), minus_inf(m), inner);
}

static Node *causal_doubled(Make *m, Node *s)
{
        Node *twice = op2(m, OP_MUL, whole(m, 2), col(m, s));
        return masked(m,
                      op2(m, OP_LESSEQ, op2(m, OP_ADD, twice, whole(m, 1)),
                          op2(m, OP_ADD, row(m, s), op2(m, OP_ADD, row(m, s), whole(m, 2)))),
                      s);
}

static Node *within(Make *m, Node *s, int64_t n)
{
        return op2(m, OP_LESS, distance(m, s), whole(m, n));
}

static Node *window(Make *m, Node *s)
{
        return masked(m, op2(m, OP_AND, past_only(m, s), within(m, s, 3)), s);
}

static Node *sinks(Make *m, Node *s)
{
        Node *sink = op2(m, OP_LESS, col(m, s), whole(m, 1));
        return masked(m, op2(m, OP_AND, past_only(m, s), op2(m, OP_OR, sink, within(m, s, 3))), s);
}

static Node *sinks_alone(Make *m, Node *s)
{
        return masked(m,
                      op2(m, OP_OR, op2(m, OP_LESS, col(m, s), whole(m, 1)),
                          op2(m, OP_AND, past_only(m, s), within(m, s, 2))),
                      s);
}

static Node *chunk(Make *m, Node *i)
{
        return op2(m, OP_FLOORDIV, i, whole(m, 4));
}

static Node *chunks(Make *m, Node *s)
{
        Node *together = op2(m, OP_EQUAL, chunk(m, row(m, s)), chunk(m, col(m, s)));
        return masked(m, op2(m, OP_AND, together, past_only(m, s)), s);
}

static Node *chunks_open(Make *m, Node *s)
{
        return masked(m, op2(m, OP_EQUAL, chunk(m, row(m, s)), chunk(m, col(m, s))), s);
}

static Node *chunks_before(Make *m, Node *s)
{
        return masked(m, op2(m, OP_LESS, chunk(m, col(m, s)), chunk(m, row(m, s))), s);
}

static Node *dilated(Make *m, Node *s)
{
        Node *even = op2(m, OP_EQUAL, op2(m, OP_MOD, distance(m, s), whole(m, 2)), whole(m, 0));
        return masked(m, op2(m, OP_AND, even, past_only(m, s)), s);
}

static Node *absolute(Make *m, Node *a)
{
        return op2(m, OP_MAX, a, op1(m, OP_NEG, a));
}

static Node *near_both_sides(Make *m, Node *s)
{
        return masked(m, op2(m, OP_LESSEQ, absolute(m, distance(m, s)), whole(m, 2)), s);
}

static Node *near_and_past(Make *m, Node *s)
{
        Node *near = op2(m, OP_LESSEQ, absolute(m, distance(m, s)), whole(m, 2));
        return masked(m, op2(m, OP_AND, near, past_only(m, s)), s);
}

static Node *head_windows(Make *m, Node *s)
{
        Node *head = view_rank(m->g, m->b, index_of(m, s->type.dim[0]), 3, NOWHERE, NULL);
        head = must(m, view_transpose(m->g, m->b, head, (int[]){2, 1, 0}, NOWHERE, NULL));
        Node *near = op2(m, OP_LESSEQ, distance(m, s), op2(m, OP_ADD, head, whole(m, 1)));
        return masked(
                m, op2(m, OP_AND, near, op2(m, OP_LESSEQ, op2(m, OP_SUB, head, whole(m, 1)), distance(m, s))),
                s);
}

static Node *heads_from_one(Make *m, Node *s)
{
        Node *head = view_rank(m->g, m->b, index_of(m, s->type.dim[0]), 3, NOWHERE, NULL);
        head = must(m, view_transpose(m->g, m->b, head, (int[]){2, 1, 0}, NOWHERE, NULL));
        return masked(m, op2(m, OP_LESSEQ, head, distance(m, s)), s);
}

static Node *alibi_then_causal(Make *m, Node *s)
{
        return causal(m, op2(m, OP_SUB, s, op2(m, OP_MUL, number(m, 0.2), distance(m, s))));
}

static Node *causal_then_alibi(Make *m, Node *s)
{
        return op2(m, OP_SUB, causal(m, s), op2(m, OP_MUL, number(m, 0.2), distance(m, s)));
}

static Node *relative_table(Make *m, Node *s)
{
        Node *at = op2(m, OP_MIN, op2(m, OP_ADD, op2(m, OP_MAX, distance(m, s), whole(m, -3)), whole(m, 3)),
                       whole(m, 7));
        Node *table = weight(m, 1, 8, 0, 0);
        Node *bias =
                must(m, build(m->g, m->b, m->diag, OP_GATHER, 2, (Node *[]){table, at}, NULL, NOWHERE, NULL));
        return causal(m, op2(m, OP_ADD, s, bias));
}

static Node *softcap(Make *m, Node *s)
{
        return op2(m, OP_MUL, number(m, 3), op1(m, OP_TANH, op2(m, OP_DIV, s, number(m, 3))));
}

static Node *softcap_then_mask(Make *m, Node *s)
{
        return causal(m, softcap(m, s));
}

static Node *mask_then_softcap(Make *m, Node *s)
{
        return softcap(m, causal(m, s));
}

static Node *mask_halved(Make *m, Node *s)
{
        return op2(m, OP_MUL, causal(m, s), number(m, 0.5));
}

static Node *mask_negated(Make *m, Node *s)
{
        return op2(m, OP_MUL, number(m, -1), causal(m, s));
}

static Node *mask_weighed(Make *m, Node *s)
{
        return op2(m, OP_MUL, causal(m, s), op2(m, OP_SUB, weight(m, 1, 1, 0, 0), number(m, 1)));
}

static Node *mask_finite(Make *m, Node *s)
{
        return where(m, past_only(m, s), s, number(m, -4));
}

static Node *unmasked(Make *m, Node *s)
{
        (void)m;
        return s;
}

static Node *off_by_one(Make *m, Node *s)
{
        return masked(m, op2(m, OP_LESSEQ, col(m, s), op2(m, OP_ADD, row(m, s), whole(m, 1))), s);
}

static Node *wrong_way(Make *m, Node *s)
{
        return masked(m, op2(m, OP_LESSEQ, row(m, s), col(m, s)), s);
}

static Node *mask_transposed(Make *m, Node *s)
{
        return transpose(m, causal(m, s));
}

static Node *mask_or_prefix(Make *m, Node *s)
{
        return masked(m, op2(m, OP_OR, past_only(m, s), op2(m, OP_LESS, col(m, s), whole(m, 4))), s);
}

static Node *mask_either(Make *m, Node *s)
{
        return masked(m, op2(m, OP_OR, past_only(m, s), within(m, s, 2)), s);
}

static Node *mask_twice(Make *m, Node *s)
{
        return op2(m, OP_MAX, causal(m, s), window(m, s));
}

static Node *mask_lost_in_max(Make *m, Node *s)
{
        return op2(m, OP_MAX, causal(m, s), number(m, -5));
}

static Node *mask_by_halves(Make *m, Node *s)
{
        return masked(m, op2(m, OP_LESSEQ, op2(m, OP_MUL, whole(m, 2), col(m, s)), row(m, s)), s);
}

static Node *mask_by_doubles(Make *m, Node *s)
{
        return masked(m, op2(m, OP_LESSEQ, col(m, s), op2(m, OP_MUL, whole(m, 2), row(m, s))), s);
}

/* --- attention --- */

static Node *attention(Make *m, Node *x, Mask *mask)
{
        Node *q = heads(m, linear(m, x, WIDTH)), *k = heads(m, linear(m, x, WIDTH)),
             *v = heads(m, linear(m, x, WIDTH));
        Node *s = op2(m, OP_MUL, mm(m, q, transpose(m, k)), number(m, 0.5));
        return op2(m, OP_ADD, x, merge(m, mm(m, softmax(m, mask(m, s)), v)));
}

#define ATTENTION(name)                                                                                      \
        static Node *attend_##name(Make *m, Node *x)                                                         \
        {                                                                                                    \
                return attention(m, x, name);                                                                \
        }
/* clang-format off */
ATTENTION(causal) ATTENTION(causal_not) ATTENTION(causal_added) ATTENTION(causal_swapped)
ATTENTION(causal_difference) ATTENTION(causal_max) ATTENTION(causal_log) ATTENTION(causal_counted)
ATTENTION(causal_nested) ATTENTION(causal_doubled) ATTENTION(window) ATTENTION(sinks) ATTENTION(sinks_alone)
ATTENTION(chunks) ATTENTION(chunks_open) ATTENTION(chunks_before) ATTENTION(dilated) ATTENTION(near_both_sides)
ATTENTION(near_and_past) ATTENTION(head_windows) ATTENTION(heads_from_one) ATTENTION(alibi_then_causal)
ATTENTION(causal_then_alibi) ATTENTION(relative_table) ATTENTION(softcap_then_mask) ATTENTION(mask_then_softcap)
ATTENTION(mask_halved) ATTENTION(mask_negated) ATTENTION(mask_weighed) ATTENTION(mask_finite) ATTENTION(unmasked)
ATTENTION(off_by_one) ATTENTION(wrong_way) ATTENTION(mask_transposed) ATTENTION(mask_or_prefix)
ATTENTION(mask_either) ATTENTION(mask_twice) ATTENTION(mask_lost_in_max) ATTENTION(mask_by_halves)
ATTENTION(mask_by_doubles)
        /* clang-format on */

        static Node *two_layers(Make *m, Node *x)
{
        return attention(m, attention(m, x, causal), window);
}

/* half-rotary positions on q and k: cos and sin of row x theta */
static Node *rotate(Make *m, Node *x)
{
        int last = x->type.rank - 1;
        Node *angle = op2(m, OP_MUL, row(m, x), number(m, 0.3));
        Dim half = dim_fixed(x->type.dim[last].fixed / 3);
        Node *first = slice(m, x, last, dim_fixed(0), half);
        Node *rest = slice(m, x, last, half, dim_sub(x->type.dim[last], half));
        Node *turned = join(m, rest, op1(m, OP_NEG, first), last);
        return op2(m, OP_ADD, op2(m, OP_MUL, x, op1(m, OP_COS, angle)),
                   op2(m, OP_MUL, turned, op1(m, OP_SIN, angle)));
}

static Node *rotary(Make *m, Node *x)
{
        Node *q = rotate(m, heads(m, linear(m, x, WIDTH))), *k = rotate(m, heads(m, linear(m, x, WIDTH)));
        Node *v = heads(m, linear(m, x, WIDTH));
        return merge(m, mm(m, softmax(m, causal(m, mm(m, q, transpose(m, k)))), v));
}

static Node *grouped_keys(Make *m, Node *x)
{
        Node *q = heads(m, linear(m, x, WIDTH)), *k = linear(m, x, WIDTH / 2), *v = linear(m, x, WIDTH / 2);
        k = view_spread(m->g, m->b, view_rank(m->g, m->b, k, 3, NOWHERE, NULL), 2, NOWHERE, NULL);
        v = view_spread(m->g, m->b, view_rank(m->g, m->b, v, 3, NOWHERE, NULL), 2, NOWHERE, NULL);
        return merge(m,
                     mm(m, softmax(m, causal(m, mm(m, must(m, q), transpose(m, must(m, k))))), must(m, v)));
}

/* softmax spelled out */
static Node *own_softmax(Make *m, Node *x)
{
        Node *s = causal(m, mm(m, x, transpose(m, x)));
        Node *e = op1(m, OP_EXP, op2(m, OP_SUB, s, fold(m, OP_MAXOF, s, 1)));
        return mm(m, op2(m, OP_DIV, e, fold(m, OP_SUM, e, 1)), x);
}

static Node *sigmoid_attention(Make *m, Node *x)
{
        Node *s = causal(m, mm(m, x, transpose(m, x)));
        Node *e = op1(m, OP_EXP, op1(m, OP_NEG, s));
        return mm(m, op2(m, OP_DIV, number(m, 1), op2(m, OP_ADD, number(m, 1), e)), x);
}

static Node *sigmoid_unmasked(Make *m, Node *x)
{
        Node *s = mm(m, x, transpose(m, x));
        Node *e = op1(m, OP_EXP, op1(m, OP_NEG, s));
        return mm(m, op2(m, OP_DIV, number(m, 1), op2(m, OP_ADD, number(m, 1), e)), x);
}

static Node *softmax_of_keys_first(Make *m, Node *x)
{
        Node *s = transpose(m, causal(m, mm(m, x, transpose(m, x))));
        return mm(m, transpose(m, softmax(m, s)), x);
}

static Node *sink_logit(Make *m, Node *x)
{
        Node *s = causal(m, mm(m, x, transpose(m, x)));
        Node *sink = linear(m, x, 1);
        Node *p =
                must(m, build(m->g, m->b, m->diag, OP_SOFTMAX, 2, (Node *[]){s, sink}, NULL, NOWHERE, NULL));
        return mm(m, p, x);
}

/* --- without attention --- */

static Node *ones(Make *m)
{
        Node *i = index_of(m, now(m));
        Node *up = view_rank(m->g, m->b, i, 2, NOWHERE, NULL);
        Type square = {INT, 2, {now(m), now(m)}};
        return must(m, view_broadcast(m->g, m->b, up, &square, NOWHERE, NULL));
}

static Node *running_mean(Make *m, Node *x)
{
        Node *t = where(m, past_only(m, ones(m)), number(m, 1), number(m, 0));
        return mm(m, op2(m, OP_DIV, t, fold(m, OP_SUM, t, 1)), x);
}

static Node *running_sum_by_bools(Make *m, Node *x)
{
        return mm(m, op1(m, OP_REAL_OF, past_only(m, ones(m))), x);
}

static Node *running_sum_by_product(Make *m, Node *x)
{
        Node *t = op1(m, OP_REAL_OF, past_only(m, ones(m)));
        t = must(m, view_reshape(m->g, m->b, t, &(Type){REAL, 3, {now(m), now(m), dim_fixed(1)}}, NOWHERE,
                                 NULL));
        Node *y = fold(m, OP_SUM, op2(m, OP_MUL, t, x), 1);
        return must(m, view_drop(m->g, m->b, y, 1, NOWHERE, NULL));
}

static Node *decayed(Make *m, Node *x)
{
        Node *t = where(m, past_only(m, ones(m)), op2(m, OP_POW, number(m, 0.5), distance(m, ones(m))),
                        number(m, 0));
        return mm(m, t, x);
}

static Node *running_max(Make *m, Node *x)
{
        Node *up = must(m, view_rank(m->g, m->b, x, 3, NOWHERE, NULL));
        Node *keep = past_only(m, ones(m));
        keep = must(m, view_reshape(m->g, m->b, keep, &(Type){BOOL, 3, {now(m), now(m), dim_fixed(1)}},
                                    NOWHERE, NULL));
        Node *y = fold(m, OP_MAXOF, where(m, keep, up, minus_inf(m)), 1);
        return must(m, view_drop(m->g, m->b, y, 1, NOWHERE, NULL));
}

static Node *mean_over_time(Make *m, Node *x)
{
        Node *n = op1(
                m, OP_REAL_OF,
                must(m, build(m->g, m->b, m->diag, OP_SIZE, 0, NULL, &(Attr){.dim = now(m)}, NOWHERE, NULL)));
        return op2(m, OP_ADD, x, op2(m, OP_DIV, fold(m, OP_SUM, x, 0), n));
}

static Node *sum_over_time(Make *m, Node *x)
{
        return op2(m, OP_ADD, x, fold(m, OP_SUM, x, 0));
}

static Node *counts_time(Make *m, Node *x)
{
        Node *one = op2(m, OP_MUL, op1(m, OP_REAL_OF, index_of(m, now(m))), number(m, 0));
        return op2(m, OP_MUL, x, fold(m, OP_SUM, op2(m, OP_ADD, one, number(m, 1)), 0));
}

static Node *uses_length(Make *m, Node *x)
{
        Node *n =
                must(m, build(m->g, m->b, m->diag, OP_SIZE, 0, NULL, &(Attr){.dim = now(m)}, NOWHERE, NULL));
        return op2(m, OP_MUL, x, op1(m, OP_REAL_OF, n));
}

static Node *rows_from_the_end(Make *m, Node *x)
{
        Node *n =
                must(m, build(m->g, m->b, m->diag, OP_SIZE, 0, NULL, &(Attr){.dim = now(m)}, NOWHERE, NULL));
        Node *left = op2(m, OP_SUB, n, row(m, x));
        return op2(m, OP_MUL, x, op1(m, OP_REAL_OF, left));
}

static Node *norm(Make *m, Node *x, int axis)
{
        Node *square = op2(m, OP_MUL, x, x);
        Node *mean = op2(m, OP_MUL, fold(m, OP_SUM, square, axis), number(m, 1.0 / WIDTH));
        return op2(m, OP_DIV, x, op1(m, OP_SQRT, op2(m, OP_ADD, mean, number(m, 1e-5))));
}

static Node *normed_attention(Make *m, Node *x)
{
        return norm(m, attention(m, norm(m, x, 1), causal), 1);
}

static Node *norm_over_time(Make *m, Node *x)
{
        return norm(m, x, 0);
}

/* y[i] = sum over j < 3 of x[i - j] w[j] */
static Node *convolution(Make *m, Node *x)
{
        Node *padded = pad(m, x, 0, 2, 0, 0), *y = NULL;
        for (int j = 0; j < 3; j++) {
                Node *part = op2(m, OP_MUL, slice(m, padded, 0, dim_fixed(2 - j), now(m)),
                                 weight(m, 1, WIDTH, 0, 0));
                y = y ? op2(m, OP_ADD, y, part) : part;
        }
        return y;
}

static Node *convolution_twice(Make *m, Node *x)
{
        return convolution(m, op1(m, OP_TANH, convolution(m, x)));
}

static Node *convolution_centred(Make *m, Node *x)
{
        Node *padded = pad(m, x, 0, 1, 1, 0);
        Node *y = op2(m, OP_ADD, slice(m, padded, 0, dim_fixed(0), now(m)),
                      slice(m, padded, 0, dim_fixed(2), now(m)));
        return op2(m, OP_ADD, x, y);
}

static Node *shifted_back(Make *m, Node *x)
{
        Node *zeros = op2(m, OP_MUL, weight(m, 2, 1, WIDTH, 0), number(m, 0));
        Node *before = join(m, zeros, slice(m, x, 0, dim_fixed(0), dim_sub(now(m), dim_fixed(1))), 0);
        return op2(m, OP_ADD, x, linear(m, before, WIDTH));
}

static Node *shifted_by_gather(Make *m, Node *x)
{
        Node *at = op2(m, OP_MAX, op2(m, OP_SUB, index_of(m, now(m)), whole(m, 1)), whole(m, 0));
        Node *before =
                must(m, build(m->g, m->b, m->diag, OP_GATHER, 2, (Node *[]){x, at}, NULL, NOWHERE, NULL));
        return op2(m, OP_ADD, x, before);
}

static Node *gather_chunk_start(Make *m, Node *x)
{
        Node *at = op2(m, OP_MUL, chunk(m, index_of(m, now(m))), whole(m, 4));
        return must(m, build(m->g, m->b, m->diag, OP_GATHER, 2, (Node *[]){x, at}, NULL, NOWHERE, NULL));
}

static Node *gather_chunk_end(Make *m, Node *x)
{
        Node *at = op2(m, OP_ADD, op2(m, OP_MUL, chunk(m, index_of(m, now(m))), whole(m, 4)), whole(m, 3));
        return must(m, build(m->g, m->b, m->diag, OP_GATHER, 2, (Node *[]){x, at}, NULL, NOWHERE, NULL));
}

static Node *gather_ahead(Make *m, Node *x)
{
        Node *at = op2(m, OP_ADD, index_of(m, now(m)), whole(m, 1));
        return must(m, build(m->g, m->b, m->diag, OP_GATHER, 2, (Node *[]){x, at}, NULL, NOWHERE, NULL));
}

static Node *first_row_dropped(Make *m, Node *x)
{
        Node *rest = slice(m, x, 0, dim_fixed(1), dim_sub(now(m), dim_fixed(1)));
        return op2(m, OP_ADD, x, pad(m, rest, 0, 0, 1, 0));
}

static Node *shift_there_and_back(Make *m, Node *x)
{
        Node *rest = slice(m, x, 0, dim_fixed(1), dim_sub(now(m), dim_fixed(1)));
        return op2(m, OP_ADD, x, pad(m, rest, 0, 1, 0, 0));
}

static Node *drop_rows(Make *m, Node *x, int64_t n)
{
        return slice(m, x, 0, dim_fixed(n), dim_sub(x->type.dim[0], dim_fixed(n)));
}

static Node *picture_prefix(Make *m, Node *x)
{
        return drop_rows(m, attention(m, join(m, weight(m, 2, 4, WIDTH, 0), x, 0), mask_or_prefix), 4);
}

static Node *prefix_too_short(Make *m, Node *x)
{
        return drop_rows(m, attention(m, join(m, weight(m, 2, 2, WIDTH, 0), x, 0), mask_or_prefix), 2);
}

static Node *class_token_in_front(Make *m, Node *x)
{
        return drop_rows(m, attention(m, join(m, weight(m, 2, 1, WIDTH, 0), x, 0), causal), 1);
}

static Node *class_token_behind(Make *m, Node *x)
{
        Node *y = attention(m, join(m, x, weight(m, 2, 1, WIDTH, 0), 0), causal);
        return slice(m, y, 0, dim_fixed(0), now(m));
}

static Node *cross_attention(Make *m, Node *x)
{
        Node *memory = weight(m, 2, 5, WIDTH, 0);
        Node *q = heads(m, linear(m, x, WIDTH)), *k = heads(m, linear(m, memory, WIDTH)),
             *v = heads(m, memory);
        return op2(m, OP_ADD, x, merge(m, mm(m, softmax(m, mm(m, q, transpose(m, k))), v)));
}

/* compressed keys and values; the contraction reads the latent itself */
static Node *latent_absorbed(Make *m, Node *x)
{
        Node *c = linear(m, x, 4);
        Node *q = heads(m, linear(m, x, 8));
        Node *p = softmax(m, causal(m, mm(m, q, transpose(m, c))));
        return merge(m, mm(m, mm(m, p, c), weight(m, 3, 2, 4, 3)));
}

static Node *latent(Make *m, Node *x)
{
        Node *c = linear(m, x, 4);
        Node *q = heads(m, linear(m, x, 6)), *k = heads(m, linear(m, c, 6)), *v = heads(m, linear(m, c, 6));
        Node *shared = rotate(m, linear(m, x, 3)), *turned = rotate(m, heads(m, linear(m, x, 6)));
        Node *s = op2(m, OP_ADD, mm(m, q, transpose(m, k)), mm(m, turned, transpose(m, shared)));
        return merge(m, mm(m, softmax(m, causal(m, s)), v));
}

static Node *top(Make *m, Node *x, int k)
{
        return must(m, build(m->g, m->b, m->diag, OP_TOP, 1, &x, &(Attr){.index = k}, NOWHERE, NULL));
}

static Node *experts_per_token(Make *m, Node *x)
{
        Node *g = linear(m, x, WIDTH);
        Node *gate = where(m, top(m, g, 2), g, number(m, 0));
        return op2(m, OP_ADD, x, op2(m, OP_MUL, gate, op1(m, OP_TANH, linear(m, x, WIDTH))));
}

static Node *experts_choose_tokens(Make *m, Node *x)
{
        Node *g = transpose(m, linear(m, x, WIDTH));
        return op2(m, OP_MUL, x, transpose(m, op1(m, OP_REAL_OF, top(m, g, 1))));
}

/* each row attends to its two best keys among those it may see */
static Node *best_keys(Make *m, Node *x)
{
        Node *s = causal(m, mm(m, x, transpose(m, x)));
        return mm(m, softmax(m, masked(m, top(m, s, 1), s)), x);
}

static Node *parallel_residual(Make *m, Node *x)
{
        return op2(m, OP_ADD, attention(m, x, causal), op1(m, OP_TANH, linear(m, x, WIDTH)));
}

static Node *past_of_past(Make *m, Node *x)
{
        Node *p = softmax(m, causal(m, mm(m, x, transpose(m, x))));
        return mm(m, mm(m, p, p), x);
}

static Node *relu_of_mask(Make *m, Node *x)
{
        Node *s = mm(m, x, transpose(m, x));
        Node *p = op2(m, OP_MUL, op1(m, OP_REAL_OF, past_only(m, s)), s);
        return mm(m, op2(m, OP_MAX, p, number(m, 0)), x);
}

static Node *sum_of_masked_scores(Make *m, Node *x)
{
        Node *s = mm(m, x, transpose(m, x));
        return op2(m, OP_MUL, x, fold(m, OP_SUM, where(m, past_only(m, s), s, number(m, 0)), 1));
}

static Node *count_of_masked_scores(Make *m, Node *x)
{
        Node *s = mm(m, x, transpose(m, x));
        return op2(m, OP_MUL, x, fold(m, OP_SUM, where(m, past_only(m, s), s, number(m, 0.25)), 1));
}

static Node *best_place(Make *m, Node *x)
{
        Node *at = fold(m, OP_ARGMAX, causal(m, mm(m, x, transpose(m, x))), 1);
        return op2(m, OP_ADD, x, op1(m, OP_REAL_OF, at));
}

static Node *best_place_of_all(Make *m, Node *x)
{
        Node *at = fold(m, OP_ARGMAX, mm(m, x, transpose(m, x)), 1);
        return op2(m, OP_ADD, x, op1(m, OP_REAL_OF, at));
}

static Node *every_second_row(Make *m, Node *x)
{
        Node *y = where(m, op2(m, OP_EQUAL, op2(m, OP_MOD, row(m, x), whole(m, 2)), whole(m, 0)), x,
                        number(m, 0));
        return attention(m, y, causal);
}

static Node *three_layers_deep(Make *m, Node *x)
{
        return attention(m, convolution(m, attention(m, x, window)), causal_log);
}

/* --- repeats --- */

typedef Node *Layer(Make *m, Node *x);

/* iterations of `even` and `odd` in turn; values of the last body node are stacked if `stacked` */
static Node *repeat(Make *m, Node *x, int64_t iterations, Layer *even, Layer *odd, bool stacked)
{
        Graph *g = m->g;
        Region *r = NEW(g->arena, Region);
        *r = (Region){.name = "layer",
                      .iterations = iterations,
                      .nbody = odd ? 2 : 1,
                      .ncarry = 1,
                      .nstack = stacked};
        r->body = NEW_ARRAY(g->arena, Body *, 2);
        r->body_of = NEW_ARRAY(g->arena, uint8_t, iterations);
        Make inner = *m;
        inner.region = r;
        for (int k = 0; k < r->nbody; k++) {
                Body *b = r->body[k] = inner.b = body_new(g, r);
                Node *carry = node_new(g, b, OP_CARRY, 0, NULL, (Attr){.index = 0}, x->type, NOWHERE, NULL);
                b->next = NEW_ARRAY(g->arena, Node *, 1);
                b->stack = NEW_ARRAY(g->arena, Node *, 1);
                b->next[0] = (k ? odd : even)(&inner, carry);
                b->stack[0] = b->next[0];
        }
        for (int64_t i = 0; odd && i < iterations; i++)
                r->body_of[i] = (uint8_t)(i % 2);
        r->repeat = must(m, build(g, m->b, m->diag, OP_REPEAT, 1, &x, &(Attr){.region = r}, NOWHERE, NULL));
        Node *y = must(m, build(g, m->b, m->diag, OP_RESULT, 1, &r->repeat, &(Attr){.index = stacked},
                                NOWHERE, NULL));
        return y;
}

static Node *repeat_causal(Make *m, Node *x)
{
        return repeat(m, x, 3, attend_causal, NULL, false);
}

static Node *repeat_two_bodies(Make *m, Node *x)
{
        return repeat(m, x, 4, attend_window, attend_causal, false);
}

static Node *repeat_one_open(Make *m, Node *x)
{
        return repeat(m, x, 4, attend_causal, attend_unmasked, false);
}

static Node *repeat_creeping(Make *m, Node *x)
{
        return repeat(m, x, 3, gather_ahead, NULL, false);
}

static Node *repeat_convolution(Make *m, Node *x)
{
        return repeat(m, x, 3, convolution, NULL, false);
}

static Node *repeat_stacked(Make *m, Node *x)
{
        Node *y = repeat(m, x, 3, attend_window, NULL, true);
        y = fold(m, OP_SUM, y, 0);
        y = must(m, view_drop(m->g, m->b, y, 0, NOWHERE, NULL));
        return attention(m, y, causal);
}

static Node *keys_of_carry(Make *m, Node *x)
{
        return op2(m, OP_ADD, x,
                   mm(m, softmax(m, causal(m, mm(m, linear(m, x, WIDTH), transpose(m, x)))), x));
}

/* what is made of a weight with a slot an iteration stays in its iteration */
static Node *weights_reworked(Make *m, Node *x)
{
        return op2(m, OP_ADD, x, mm(m, op1(m, OP_TANH, x), op1(m, OP_TANH, weight(m, 2, WIDTH, WIDTH, 0))));
}

static Node *repeat_weights_reworked(Make *m, Node *x)
{
        return repeat(m, x, 3, weights_reworked, NULL, false);
}

static Node *repeat_keys_of_carry(Make *m, Node *x)
{
        return repeat(m, x, 3, keys_of_carry, NULL, false);
}

/* --- the table --- */

const CausalCase causal_case[] = {
        {"causal", true, 0, attend_causal},
        {"not later", true, 0, attend_causal_not},
        {"added mask", true, 0, attend_causal_added},
        {"branches swapped", true, 0, attend_causal_swapped},
        {"real difference", true, 0, attend_causal_difference},
        {"max equals row", true, 0, attend_causal_max},
        {"log of the mask", true, 0, attend_causal_log},
        {"one minus the mask", true, 0, attend_causal_counted},
        {"nested where", true, 0, attend_causal_nested},
        {"doubled indices", true, 0, attend_causal_doubled},
        {"sliding window", true, 0, attend_window},
        {"sinks and window", true, 0, attend_sinks},
        {"sinks or window", true, 0, attend_sinks_alone},
        {"chunks", true, 0, attend_chunks},
        {"chunks before", true, 0, attend_chunks_before},
        {"dilated", true, 0, attend_dilated},
        {"near and past", true, 0, attend_near_and_past},
        {"window from a head", true, 0, attend_heads_from_one},
        {"half the past", true, 0, attend_mask_by_halves},
        {"max of two masks", true, 0, attend_mask_twice},
        {"alibi", true, 0, attend_alibi_then_causal},
        {"mask, then alibi", true, 0, attend_causal_then_alibi},
        {"relative table", true, 0, attend_relative_table},
        {"softcap, then mask", true, 0, attend_softcap_then_mask},
        {"mask halved", true, 0, attend_mask_halved},
        {"two layers", true, 0, two_layers},
        {"three layers", true, 0, three_layers_deep},
        {"rotary", true, 0, rotary},
        {"grouped keys", true, 0, grouped_keys},
        {"softmax spelled out", true, 0, own_softmax},
        {"sigmoid attention", true, 0, sigmoid_attention},
        {"sink logit", true, 0, sink_logit},
        {"running mean", true, 0, running_mean},
        {"running sum by bools", true, 0, running_sum_by_bools},
        {"running sum by product", true, 0, running_sum_by_product},
        {"decayed sum", true, 0, decayed},
        {"running max", true, 0, running_max},
        {"normed attention", true, 0, normed_attention},
        {"convolution", true, 0, convolution},
        {"convolution twice", true, 0, convolution_twice},
        {"shifted back", true, 0, shifted_back},
        {"shifted by gather", true, 0, shifted_by_gather},
        {"start of the chunk", true, 0, gather_chunk_start},
        {"there and back", true, 0, shift_there_and_back},
        {"picture prefix", true, 0, picture_prefix},
        {"class token in front", true, 0, class_token_in_front},
        {"token behind, dropped", true, 0, class_token_behind},
        {"cross attention", true, 0, cross_attention},
        {"latent keys", true, 0, latent},
        {"latent absorbed", true, 0, latent_absorbed},
        {"experts per token", true, 0, experts_per_token},
        {"best keys", true, 0, best_keys},
        {"best place", true, 0, best_place},
        {"parallel residual", true, 0, parallel_residual},
        {"past of the past", true, 0, past_of_past},
        {"relu of the mask", true, 0, relu_of_mask},
        {"sum of masked scores", true, 0, sum_of_masked_scores},
        {"every second row", true, 0, every_second_row},
        {"repeat", true, 0, repeat_causal},
        {"repeat with two bodies", true, 0, repeat_two_bodies},
        {"repeat of convolutions", true, 0, repeat_convolution},
        {"repeat, weights reworked", true, 0, repeat_weights_reworked},
        {"repeat, stacked", true, 0, repeat_stacked},
        {"repeat, keys of what it carries", true, 0, repeat_keys_of_carry},

        {"no mask", false, OP_SOFTMAX, attend_unmasked},
        {"mask, then softcap", false, OP_SOFTMAX, attend_mask_then_softcap},
        {"mask times -1", false, OP_SOFTMAX, attend_mask_negated},
        {"mask times a weight", false, OP_SOFTMAX, attend_mask_weighed},
        {"finite mask", false, OP_SOFTMAX, attend_mask_finite},
        {"mask lost in max", false, OP_SOFTMAX, attend_mask_lost_in_max},
        {"off by one", false, OP_SOFTMAX, attend_off_by_one},
        {"wrong way round", false, OP_SOFTMAX, attend_wrong_way},
        {"mask transposed", false, OP_SOFTMAX, attend_mask_transposed},
        {"softmax over queries", false, OP_SOFTMAX, softmax_of_keys_first},
        {"prefix of the text", false, OP_SOFTMAX, attend_mask_or_prefix},
        {"past or near", false, OP_SOFTMAX, attend_mask_either},
        {"twice the row", false, OP_SOFTMAX, attend_mask_by_doubles},
        {"both sides", false, OP_SOFTMAX, attend_near_both_sides},
        {"whole chunks", false, OP_SOFTMAX, attend_chunks_open},
        {"a head looks ahead", false, OP_SOFTMAX, attend_head_windows},
        {"sigmoid without mask", false, OP_MATMUL, sigmoid_unmasked},
        {"mean over time", false, OP_SUM, mean_over_time},
        {"sum over time", false, OP_SUM, sum_over_time},
        {"counts time", false, OP_SUM, counts_time},
        {"counts what is masked", false, OP_SUM, count_of_masked_scores},
        {"length of time", false, OP_SIZE, uses_length},
        {"rows from the end", false, OP_SIZE, rows_from_the_end},
        {"norm over time", false, OP_SUM, norm_over_time},
        {"centred convolution", false, OP_VIEW, convolution_centred},
        {"first row dropped", false, OP_VIEW, first_row_dropped},
        {"end of the chunk", false, OP_GATHER, gather_chunk_end},
        {"gather ahead", false, OP_GATHER, gather_ahead},
        {"prefix too short", false, OP_SOFTMAX, prefix_too_short},
        {"experts choose tokens", false, OP_TOP, experts_choose_tokens},
        {"best place of all", false, OP_ARGMAX, best_place_of_all},
        {"repeat, one body open", false, OP_SOFTMAX, repeat_one_open},
        {"repeat that creeps ahead", false, OP_GATHER, repeat_creeping},
};
const int ncausal_case = sizeof causal_case / sizeof *causal_case;

Graph *build_case(Arena *arena, const CausalCase *c)
{
        Diag diag = {.arena = arena};
        Graph *g = graph_new(arena, c->name);
        g->nnamed = 1;
        g->named[0] = (Named){.name = "time", .bound = BOUND};
        g->ninput = g->noutput = g->ngroup = 1;
        g->input = NEW(arena, Input);
        g->input[0] = (Input){.name = "x", .type = {REAL, 2, {dim_named(0), dim_fixed(WIDTH)}}};
        Make m = {.g = g, .b = g->top, .diag = &diag};
        Node *x = must(&m, build(g, g->top, &diag, OP_INPUT, 0, NULL, &(Attr){.index = 0}, NOWHERE, NULL));
        g->output = NEW(arena, Output);
        g->output[0] = (Output){.name = "y", .node = c->build(&m, x)};
        verify(g, c->name);
        return g;
}

/* --- numbers --- */

double test_random(uint64_t *state)
{
        *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        return (double)(int64_t)(*state >> 20 & 0xffffffff) / 2147483648.0 - 1;
}

bool test_weight(void *from, const Weight *w, int64_t slot, double *value)
{
        (void)from;
        uint64_t state = (uint64_t)w->id * 977 + (uint64_t)slot * 131 + 5;
        int64_t n = type_count(&w->type, (int64_t[MAX_NAMED]){0});
        for (int64_t i = 0; i < n; i++)
                value[i] = test_random(&state);
        return true;
}
