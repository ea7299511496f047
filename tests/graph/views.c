/* Views against brute force: each move is done on an array of element numbers and as a view, and the two
 * are compared. */
#include "harness.h"

enum { MAX_ELEMENTS = 4096 };

/* What a view should be: the shape with its numbers, and for each element its number in the input. */
typedef struct {
        int rank;
        int64_t dim[MAX_RANK];
        int64_t count, from[MAX_ELEMENTS];
} Moved;

static int64_t count_of(const Moved *m)
{
        int64_t count = 1;
        for (int i = 0; i < m->rank; i++)
                count *= m->dim[i];
        return count;
}

static void index_of(const Moved *m, int64_t at, int64_t *index)
{
        for (int i = m->rank - 1; i >= 0; i--) {
                index[i] = at % m->dim[i];
                at /= m->dim[i];
        }
}

static int64_t at_index(const Moved *m, const int64_t *index)
{
        int64_t at = 0;
        for (int i = 0; i < m->rank; i++)
                at = at * m->dim[i] + index[i];
        return at;
}

/* Each move: the new shape is set in `to`, then each element's index in `from` follows from its index in
 * `to`. */
typedef struct {
        enum { TRANSPOSE, SLICE, RESHAPE, SPLIT, MERGE, SPREAD, RANK, DROP, BROADCAST, MOVES } move;
        int perm[MAX_RANK];
        int axis;
        int64_t first, n;
} Move;

static void source_index(const Move *move, const Moved *from, const Moved *to, const int64_t *out,
                         int64_t *in)
{
        int last = from->rank - 1;
        switch (move->move) {
        case TRANSPOSE:
                for (int i = 0; i < to->rank; i++)
                        in[move->perm[i]] = out[i];
                return;
        case SLICE:
                memcpy(in, out, sizeof(int64_t[MAX_RANK]));
                in[move->axis] += move->first;
                return;
        case RESHAPE: index_of(from, at_index(to, out), in); return;
        case SPLIT:
                memcpy(in, out + 1, sizeof(int64_t) * (size_t)last);
                in[last] = out[0] * to->dim[to->rank - 1] + out[to->rank - 1];
                return;
        case MERGE:
                memcpy(in + 1, out, sizeof(int64_t) * (size_t)to->rank);
                in[0] = out[to->rank - 1] / from->dim[last];
                in[last] = out[to->rank - 1] % from->dim[last];
                return;
        case SPREAD:
                memcpy(in, out, sizeof(int64_t[MAX_RANK]));
                in[0] = out[0] / (to->dim[0] / from->dim[0]);
                return;
        case RANK: memcpy(in, out + (to->rank - from->rank), sizeof(int64_t) * (size_t)from->rank); return;
        case DROP:
                for (int i = 0; i < from->rank; i++)
                        in[i] = i < move->axis ? out[i] : i == move->axis ? 0 : out[i - 1];
                return;
        case BROADCAST:
                for (int i = 0; i < from->rank; i++)
                        in[i] = from->dim[i] == 1 ? 0 : out[i + to->rank - from->rank];
                return;
        case MOVES: return;
        }
}

static void move_elements(const Move *move, const Moved *from, Moved *to)
{
        to->count = count_of(to);
        for (int64_t at = 0; at < to->count; at++) {
                int64_t out[MAX_RANK + 1] = {0}, in[MAX_RANK + 1] = {0};
                index_of(to, at, out);
                source_index(move, from, to, out, in);
                to->from[at] = from->from[at_index(from, in)];
        }
}

/* A random shape of as many elements: what is there, its factors merged and split. */
static Type random_reshape(Random *r, const Type *from)
{
        Type t = *from;
        for (int step = random_below(r, 4); step >= 0; step--) {
                int axis = t.rank ? random_below(r, t.rank) : 0;
                Dim part;
                if (t.rank > 1 && axis + 1 < t.rank && random_below(r, 2) &&
                    dim_mul(t.dim[axis], t.dim[axis + 1], &part)) {
                        t.dim[axis] = part;
                        memmove(t.dim + axis + 1, t.dim + axis + 2,
                                sizeof(Dim) * (size_t)(t.rank - axis - 2));
                        t.rank--;
                } else if (t.rank && t.rank < 6) {
                        int64_t by = 1 + random_below(r, 4);
                        if (!dim_div(t.dim[axis], dim_fixed(by), &part))
                                continue;
                        memmove(t.dim + axis + 1, t.dim + axis, sizeof(Dim) * (size_t)(t.rank - axis));
                        t.rank++;
                        t.dim[axis + random_below(r, 2)] = dim_fixed(by);
                        t.dim[dim_is(t.dim[axis], by) ? axis + 1 : axis] = part;
                }
        }
        return t;
}

static void shape_from(Moved *to, const Type *t, const int64_t *size)
{
        to->rank = t->rank;
        for (int i = 0; i < t->rank; i++)
                to->dim[i] = dim_value(t->dim[i], size);
}

/* Tries one random move on x; NULL where it does not apply or cannot be a view. */
static Node *random_move(Fixture *f, Node *x, const Moved *from, Moved *to, Move *move, const int64_t *size)
{
        Random *r = &f->random;
        Graph *g = f->g;
        Span s = {0};
        int rank = from->rank;
        *move = (Move){.move = (unsigned)random_below(r, MOVES), .n = 1 + random_below(r, 6)};
        move->axis = rank ? random_below(r, rank) : 0;
        if (rank == 0 && move->move != RANK && move->move != BROADCAST)
                return NULL;
        Type type;
        switch (move->move) {
        case TRANSPOSE:
                for (int i = 0; i < rank; i++)
                        move->perm[i] = i;
                for (int i = rank - 1; i > 0; i--) {
                        int k = random_below(r, i + 1), swap = move->perm[i];
                        move->perm[i] = move->perm[k];
                        move->perm[k] = swap;
                }
                x = view_transpose(g, g->top, x, move->perm, s, NULL);
                break;
        case SLICE: {
                Dim first = dim_fixed(random_below(r, 3)),
                    count = dim_sub(x->type.dim[move->axis], dim_fixed(random_below(r, 4)));
                move->first = first.fixed;
                x = view_slice(g, g->top, x, move->axis, first, dim_sub(count, first), s, NULL);
                break;
        }
        case RESHAPE:
                type = random_reshape(r, &x->type);
                x = view_reshape(g, g->top, x, &type, s, NULL);
                break;
        case SPLIT: x = rank < 6 ? view_split(g, g->top, x, move->n, s, NULL) : NULL; break;
        case MERGE: x = view_merge(g, g->top, x, s, NULL); break;
        case SPREAD:
                x = from->count < 1000 ? view_spread(g, g->top, x, move->n * from->dim[0], s, NULL) : NULL;
                break;
        case RANK: x = rank < 6 ? view_rank(g, g->top, x, rank + 1, s, NULL) : NULL; break;
        case DROP: x = view_drop(g, g->top, x, move->axis, s, NULL); break;
        case BROADCAST:
                type = x->type;
                if (rank && dim_is(type.dim[move->axis], 1) && from->count < 1000)
                        type.dim[move->axis] = random_below(r, 2) ? dim_named(0) : dim_fixed(move->n);
                x = view_broadcast(g, g->top, x, &type, s, NULL);
                break;
        case MOVES: break;
        }
        if (x)
                shape_from(to, &x->type, size);
        return x;
}

static bool agrees(Fixture *f, Node *x, const Moved *m, const int64_t *size, int64_t inputs)
{
        Tensor input = {.rank = f->g->input[0].type.rank}, output;
        for (int i = 0; i < input.rank; i++)
                input.dim[i] = dim_value(f->g->input[0].type.dim[i], size);
        input.data = malloc((size_t)inputs * sizeof(double));
        for (int64_t i = 0; i < inputs; i++)
                input.data[i] = (double)i;
        bool same = run_nodes(f, size, &input, &x, 1, &output);
        for (int64_t i = 0; same && i < m->count; i++)
                same = output.data[i] == (double)m->from[i];
        if (x->op == OP_VIEW && x->in[0]->op == OP_INPUT) /* view_index says the same */
                for (int64_t at = 0; same && at < m->count; at++) {
                        int64_t out[MAX_RANK] = {0}, in[MAX_RANK], number = 0;
                        index_of(m, at, out);
                        view_index(x->attr.view, size, out, m->rank, input.rank, in);
                        for (int i = 0; i < input.rank; i++)
                                number = number * input.dim[i] + in[i];
                        same = number == m->from[at];
                }
        tensor_free(&input);
        tensor_free(&output);
        return same;
}

/* Views of views above an input; 0 where x is the input. */
static int chain_length(const Node *x)
{
        int length = 0;
        for (; x->op == OP_VIEW; x = x->in[0])
                length++;
        return length;
}

static const int64_t sizes[3][MAX_NAMED] = {{1}, {3}, {6}};

/* One random chain of moves, checked after each; *moves and *chained count what happened. */
static bool one_chain(uint64_t seed, int *moves, int *chained)
{
        static Moved now[3], next[3];
        Fixture f;
        fixture_start(&f, seed);
        add_named(&f, "time", 6);
        static const int64_t choice[] = {1, 2, 3, 4, 6, 8, TIME};
        Type type = {.dtype = REAL, .rank = 1 + random_below(&f.random, 4)};
        for (int i = 0; i < type.rank; i++) {
                int64_t n = choice[random_below(&f.random, 7)];
                type.dim[i] = n == TIME ? dim_named(0) : dim_fixed(n);
        }
        Node *x = new_input(&f, "x", type);
        for (int k = 0; k < 3; k++) {
                shape_from(&now[k], &type, sizes[k]);
                now[k].count = count_of(&now[k]);
                for (int64_t i = 0; i < now[k].count && i < MAX_ELEMENTS; i++)
                        now[k].from[i] = i;
        }
        bool right = now[2].count <= MAX_ELEMENTS / 4;
        int64_t inputs[3] = {now[0].count, now[1].count, now[2].count};
        for (int step = 0; right && step < 6; step++) {
                Move move;
                Node *moved = random_move(&f, x, &now[2], &next[2], &move, sizes[2]);
                if (!moved || count_of(&next[2]) > MAX_ELEMENTS)
                        continue;
                x = moved;
                for (int k = 0; right && k < 3; k++) {
                        shape_from(&next[k], &x->type, sizes[k]);
                        move_elements(&move, &now[k], &next[k]);
                        now[k] = next[k];
                        right = agrees(&f, x, &now[k], sizes[k], inputs[k]);
                }
                ++*moves;
        }
        *chained += chain_length(x) > 1;
        right = right || inputs[2] > MAX_ELEMENTS / 4;
        add_output(&f, x);
        if (right)
                verify(f.g, "random moves");
        else
                graph_dump(stdout, f.g);
        fixture_end(&f);
        return right;
}

static void test_random_views(void)
{
        int moves = 0, chained = 0;
        bool right = true;
        for (uint64_t seed = 0; right && seed < 3000; seed++)
                right = one_chain(seed, &moves, &chained);
        verdict("view: random moves equal brute force, at three sizes of time", right && moves > 8000);
        verdict("view: most views of views are one", chained * 4 < 3000);
}

static void test_named_views(void)
{
        Fixture f;
        fixture_start(&f, 1);
        add_named(&f, "time", 50);
        Graph *g = f.g;
        Span s = {0};
        Node *x = new_input(&f, "x", of_shape(REAL, 2, TIME, 48));
        Node *heads = view_split(g, g->top, x, 6, s, NULL);
        verdict("view: split is one view",
                heads && heads->op == OP_VIEW && heads->in[0] == x && heads->type.rank == 3);
        verdict("view: merge after split is nothing", view_merge(g, g->top, heads, s, NULL) == x);
        static const int swap[] = {0, 2, 1};
        Node *back = view_transpose(g, g->top, heads, swap, s, NULL);
        verdict("view: a transpose combines with a split", back->in[0] == x);
        verdict("view: twice transposed is the first",
                view_equal(view_transpose(g, g->top, back, swap, s, NULL)->attr.view, heads->attr.view, 2));
        Type flat = {.dtype = REAL, .rank = 1, .dim = {dim_scale(dim_named(0), 48)}};
        Node *line = view_reshape(g, g->top, x, &flat, s, NULL);
        verdict("view: flat and back is nothing",
                line && view_reshape(g, g->top, line, &x->type, s, NULL) == x);
        Node *grouped = view_spread(g, g->top, view_split(g, g->top, x, 2, s, NULL), 6, s, NULL);
        verdict("view: spread heads are one view of the input", grouped && grouped->in[0] == x);
        verdict("view: spread needs a multiple", !view_spread(g, g->top, heads, 8, s, NULL));
        verdict("view: split needs a divisor", !view_split(g, g->top, x, 7, s, NULL));
        verdict("view: slice within bounds",
                view_slice(g, g->top, x, 1, dim_fixed(40), dim_fixed(8), s, NULL) &&
                        !view_slice(g, g->top, x, 1, dim_fixed(40), dim_fixed(9), s, NULL));
        Node *last = view_slice(g, g->top, x, 0, dim_sub(dim_named(0), dim_fixed(1)), dim_fixed(1), s, NULL);
        verdict("view: the last position", last && dim_is(last->type.dim[0], 1));
        verdict("view: two positions may not be there",
                !view_slice(g, g->top, x, 0, dim_sub(dim_named(0), dim_fixed(2)), dim_fixed(2), s, NULL));
        Type wrong = of_shape(REAL, 2, 48, 7);
        verdict("view: reshape must keep the elements", !view_reshape(g, g->top, x, &wrong, s, NULL));
        fixture_end(&f);
}

void test_views(void)
{
        test_named_views();
        test_random_views();
}
