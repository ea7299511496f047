/* Code as C: integers and sizes, with a minimum of parentheses. */
#include "print_private.h"

/* position: name of the counter of the `along` around */
static const char *dim_at(Arena *a, const Graph *g, Dim d, const char *position)
{
        Text *t = text_new(a);
        if (d.fixed || dim_is_fixed(d))
                text_printf(t, "%lld", (long long)d.fixed);
        for (int i = 0; i < MAX_NAMED; i++) {
                if (!d.per[i])
                        continue;
                const char *name = i == NAMED_FIRST   ? "m->first"
                                   : i >= NAMED_BASE  ? arena_printf(a, "m->base[%d]", i - NAMED_BASE)
                                   : i >= NAMED_ALONG ? position
                                                      : arena_printf(a, "m->%s", g->named[i].name);
                text_printf(t, "%s", d.per[i] < 0 ? (t->n ? " - " : "-") : t->n ? " + " : "");
                if (d.per[i] != 1 && d.per[i] != -1)
                        text_printf(t, "%lld * ", (long long)(d.per[i] < 0 ? -d.per[i] : d.per[i]));
                text_printf(t, "%s", name);
        }
        return t->data;
}

const char *dim_expression(Arena *a, const Graph *g, Dim d)
{
        return dim_at(a, g, d, "0");
}

const char *call_rows(const Plan *p)
{
        return dim_expression(p->graph->arena, p->graph, dim_named(p->graph->time));
}

const char *size_expression(Printer *p, Dim d)
{
        const Region *along = names_position(d) ? along_around(p->kernel->body) : NULL;
        const char *position = along ? iteration_text(p, along) : "0";
        Dim sizes = d;
        for (int i = 0; i < MAX_ALONG; i++)
                sizes.per[NAMED_ALONG + i] = 0;
        p->m |= !dim_is_fixed(sizes);
        return dim_at(p->arena, p->plan->graph, d, position);
}

const char *loop_end(Printer *p, const CodeLoop *loop)
{
        Dim rest = loop->size;
        if (!loop->together || !rest.fixed)
                return size_expression(p, rest);
        rest.fixed = 0;
        p->m = true;
        const char *each = arena_printf(p->arena, "%lld * m->sequences", (long long)loop->size.fixed);
        return dim_is_fixed(rest) ? each : arena_printf(p->arena, "%s + %s", size_expression(p, rest), each);
}

const char *rows_before(Printer *p, Dim rows)
{
        const int size = varying_size(p->plan->graph);
        const long long per = size < 0 ? 0 : rows.per[size], fixed = rows.fixed;
        const char *named = per == 1 ? "m->before" : arena_printf(p->arena, "%lld * m->before", per);
        p->m = true;
        if (!fixed)
                return named;
        const char *each = arena_printf(p->arena, "%lld * m->number", fixed);
        return per ? arena_printf(p->arena, "%s + %s", named, each) : each;
}

/* Precedence of an expression, from which parentheses are decided. */
typedef enum { CHOICE, ADDITION, PRODUCT, ATOM } Precedence;

typedef struct {
        const char *text;
        Precedence binding;
} SpelledIndex;

static Precedence binding_of_size(Dim d)
{
        int terms = d.fixed != 0;
        bool simple = d.fixed >= 0;
        for (int i = 0; i < MAX_NAMED; i++) {
                terms += d.per[i] != 0;
                simple &= d.per[i] >= 0 && d.per[i] <= 1;
        }
        return terms > 1 || d.fixed < 0 ? ADDITION : simple ? ATOM : PRODUCT;
}

static SpelledIndex spell(Printer *p, const Index *x);

static const char *spelled_within(Printer *p, const Index *x, Precedence least)
{
        SpelledIndex s = spell(p, x);
        return s.binding < least ? arena_printf(p->arena, "(%s)", s.text) : s.text;
}

static SpelledIndex spell_sum(Printer *p, const Index *x)
{
        Text *t = text_new(p->arena);
        const char *constant = size_expression(p, x->offset);
        int64_t first = 0;
        int terms = 0;
        for (int i = 0; i < x->nterm; i++) {
                int64_t c = x->term[i].coef;
                if (p->one_turn && x->term[i].of->op == INDEX_LANE)
                        continue;
                first = terms++ ? first : c;
                text_printf(t, "%s", c < 0 ? (t->n ? " - " : "-") : t->n ? " + " : "");
                if (c != 1 && c != -1)
                        text_printf(t, "%lld * ", (long long)(c < 0 ? -c : c));
                text_printf(t, "%s", spelled_within(p, x->term[i].of, ATOM));
        }
        if (terms == 0)
                return (SpelledIndex){constant, binding_of_size(x->offset)};
        if (dim_is(x->offset, 0))
                return (SpelledIndex){t->data, terms > 1 || first < 0 ? ADDITION
                                               : first == 1           ? ATOM
                                                                      : PRODUCT};
        bool minus = *constant == '-';
        return (SpelledIndex){
                arena_printf(p->arena, "%s%s%s", t->data, minus ? " - " : " + ", constant + minus), ADDITION};
}

static SpelledIndex spell_two(Printer *p, const Index *x, const char *operator, Precedence own,
                              Precedence right)
{
        const char *a = spelled_within(p, x->a, own), *b = spelled_within(p, x->b, right);
        return (SpelledIndex){arena_printf(p->arena, "%s %s %s", a, operator, b), own};
}

static SpelledIndex spell_choice(Printer *p, const Index *x, const char *operator)
{
        const char *a = spell(p, x->a).text, *b = spell(p, x->b).text;
        return (SpelledIndex){arena_printf(p->arena, "(%s) %s (%s) ? (%s) : (%s)", a, operator, b, a, b),
                              CHOICE};
}

static SpelledIndex spelled_atom(const char *text)
{
        return (SpelledIndex){text, ATOM};
}

static SpelledIndex spell(Printer *p, const Index *x)
{
        switch (x->op) {
        case INDEX_SUM: return spell_sum(p, x);
        case INDEX_LOOP:
                if (x->number + 1 == p->row_alias) {
                        p->row = true;
                        return spelled_atom("row");
                }
                p->loops |= 1u << x->number;
                return spelled_atom(arena_printf(p->arena, "i%d", x->number));
        case INDEX_LANE: p->lane |= !p->one_turn; return spelled_atom(p->one_turn ? "0" : "j");
        case INDEX_PLACE: return spelled_atom(arena_printf(p->arena, "x%d", x->number));
        case INDEX_WHOLE: p->m = true; return spelled_atom("m->whole");
        case INDEX_DONE: p->m = true; return spelled_atom("m->done");
        case INDEX_PLUS: return spell_two(p, x, "+", ADDITION, ADDITION);
        case INDEX_MINUS: return spell_two(p, x, "-", ADDITION, PRODUCT);
        case INDEX_TIMES: return spell_two(p, x, "*", PRODUCT, ATOM);
        case INDEX_QUOTIENT: return spell_two(p, x, "/", PRODUCT, ATOM);
        case INDEX_REMAINDER: return spell_two(p, x, "%", PRODUCT, ATOM);
        case INDEX_MIN: return spell_choice(p, x, "<");
        case INDEX_MAX: return spell_choice(p, x, ">");
        case INDEX_HELD:
                p->m = true;
                return spelled_atom(arena_printf(p->arena, "page_row(m->page_of, %s)", spell(p, x->a).text));
        case INDEX_TABLE:
                return spelled_atom(
                        arena_printf(p->arena, "of_row_%d[%s]", x->table->id, spell(p, x->a).text));
        }
        return spelled_atom("0");
}

const char *index_text(Printer *p, const Index *x)
{
        return spell(p, x).text;
}
