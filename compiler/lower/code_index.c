/* Integers of Code: construction and comparison. */
#include "code.h"

const char *const stmt_text[STMT_END] = {
#define STMT(name, text, ...) text,
#include "code.def"
#undef STMT
};

const Index *index_size(Arena *a, Dim d)
{
        Index *x = NEW(a, Index);
        x->op = INDEX_SUM;
        x->offset = d;
        return x;
}

const Index *index_number(Arena *a, int64_t n)
{
        return index_size(a, dim_fixed(n));
}

const Index *index_leaf(Arena *a, IndexOp op, int number)
{
        Index *x = NEW(a, Index);
        x->op = op;
        x->number = number;
        return x;
}

const Index *index_two(Arena *a, IndexOp op, const Index *x, const Index *y)
{
        Index *r = NEW(a, Index);
        r->op = op;
        r->a = x;
        r->b = y;
        return r;
}

bool index_is(const Index *x, int64_t n)
{
        return x->op == INDEX_SUM && x->nterm == 0 && dim_is(x->offset, n);
}

bool index_same(const Index *x, const Index *y)
{
        if (x == y || !x || !y)
                return x == y;
        if (x->op != y->op || x->number != y->number || x->nterm != y->nterm || x->table != y->table ||
            !dim_equal(x->offset, y->offset) || !index_same(x->a, y->a) || !index_same(x->b, y->b))
                return false;
        for (int i = 0; i < x->nterm; i++)
                if (x->term[i].coef != y->term[i].coef || !index_same(x->term[i].of, y->term[i].of))
                        return false;
        return true;
}

int index_nodes(const Index *x)
{
        if (!x)
                return 0;
        int n = 1 + index_nodes(x->a) + index_nodes(x->b);
        /* each appears twice in C */
        if (x->op == INDEX_MIN || x->op == INDEX_MAX)
                n = 2 * n;
        for (int i = 0; i < x->nterm; i++)
                n += index_nodes(x->term[i].of);
        return n;
}
