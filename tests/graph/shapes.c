/* Shape and dtype inference, arithmetic on sizes, and what is said when inputs do not fit. */
#include "harness.h"

static void test_dims(void)
{
        Fixture f;
        fixture_start(&f, 1);
        add_named(&f, "time", 100);
        Dim time = dim_named(0), four = dim_fixed(4), d;
        Dim affine = dim_add(dim_scale(time, 8), four); /* 8 time + 4 */
        verdict("dim: printed",
                strcmp(dim_text(&f.arena, f.g, affine), "8 time + 4") == 0 &&
                        strcmp(dim_text(&f.arena, f.g, dim_sub(time, dim_fixed(1))), "time - 1") == 0 &&
                        strcmp(dim_text(&f.arena, f.g, dim_fixed(0)), "0") == 0);
        verdict("dim: product with a number", dim_mul(affine, four, &d) && d.fixed == 16 && d.per[0] == 32);
        verdict("dim: product of two names is none", !dim_mul(time, time, &d));
        verdict("dim: product too large is none",
                !dim_mul(dim_fixed(INT64_C(1) << 30), dim_fixed(1 << 20), &d));
        verdict("dim: quotient by a number", dim_div(affine, four, &d) && d.fixed == 1 && d.per[0] == 2);
        verdict("dim: quotient with a rest is none", !dim_div(affine, dim_fixed(8), &d));
        verdict("dim: quotient by a name",
                dim_div(dim_scale(time, 6), dim_scale(time, 2), &d) && dim_is(d, 3));
        verdict("dim: quotient that is not a number is none",
                !dim_div(affine, time, &d) && !dim_div(four, time, &d));
        verdict("dim: extremes", dim_bound(f.g, affine) == 804 && dim_least(f.g, affine) == 12);
        f.g->time = 0;
        f.g->past = add_named(&f, "past", 100);
        Dim both = dim_add(dim_named(1), time);
        verdict("dim: time and past share their bound", dim_bound(f.g, both) == 100 &&
                                                                dim_least(f.g, both) == 1 &&
                                                                dim_least(f.g, dim_named(1)) == 0);
        fixture_end(&f);
}

static bool has_type(const Node *n, Type t)
{
        return n && type_equal(&n->type, &t);
}

static void test_results(void)
{
        Fixture f;
        fixture_start(&f, 2);
        add_named(&f, "time", 100);
        Node *x = new_input(&f, "x", of_shape(REAL, 3, 4, TIME, 8)),
             *w = new_input(&f, "w", of_shape(REAL, 2, 8, 5));
        Node *row = new_input(&f, "row", of_shape(INT, 2, TIME, 1)),
             *mask = new_input(&f, "m", of_shape(BOOL, 1, 8));
        Node *table = new_input(&f, "t", of_shape(INT, 3, 10, 6, 2)),
             *ids = new_input(&f, "i", of_shape(INT, 1, TIME));
        verdict("shape: add broadcasts", has_type(op2(&f, OP_ADD, row, x), of_shape(REAL, 3, 4, TIME, 8)));
        verdict("shape: ints stay ints", has_type(op2(&f, OP_MUL, row, row), of_shape(INT, 2, TIME, 1)));
        verdict("shape: bools add to ints", has_type(op2(&f, OP_ADD, mask, mask), of_shape(INT, 1, 8)));
        verdict("shape: a quotient is real", has_type(op2(&f, OP_DIV, row, row), of_shape(REAL, 2, TIME, 1)));
        verdict("shape: less", has_type(op2(&f, OP_LESS, row, x), of_shape(BOOL, 3, 4, TIME, 8)));
        verdict("shape: where", has_type(op3(&f, OP_WHERE, mask, row, row), of_shape(INT, 2, TIME, 8)));
        verdict("shape: where of bools", has_type(op3(&f, OP_WHERE, mask, mask, mask), of_shape(BOOL, 1, 8)));
        verdict("shape: matmul", has_type(op2(&f, OP_MATMUL, x, w), of_shape(REAL, 3, 4, TIME, 5)));
        verdict("shape: sum", has_type(op_axis(&f, OP_SUM, x, 1), of_shape(REAL, 3, 4, 1, 8)));
        verdict("shape: sum of bools counts", has_type(op_axis(&f, OP_SUM, mask, 0), of_shape(INT, 1, 1)));
        verdict("shape: argmax", has_type(op_axis(&f, OP_ARGMAX, x, 2), of_shape(INT, 3, 4, TIME, 1)));
        verdict("shape: gather rows", has_type(op2(&f, OP_GATHER, table, ids), of_shape(INT, 3, TIME, 6, 2)));
        verdict("shape: gather by two",
                has_type(op3(&f, OP_GATHER, table, ids, row), of_shape(INT, 3, TIME, TIME, 2)));
        Attr joining = {.axis = 1};
        Node *joined = op_in(&f, f.g->top, OP_JOIN, 2, (Node *[]){x, x}, &joining);
        verdict("shape: join", joined && dim_equal(joined->type.dim[1], dim_scale(dim_named(0), 2)));
        fixture_end(&f);
}

/* The whole message, notes included. */
static bool says(Fixture *f, const char *expected)
{
        char *text = NULL;
        size_t length;
        FILE *stream = open_memstream(&text, &length);
        diag_print(&f->diag, stream);
        fclose(stream);
        bool same = strcmp(text, expected) == 0;
        if (!same)
                printf("expected:\n%sfound:\n%s", expected, text);
        free(text);
        diag_clear(&f->diag);
        return same;
}

static void test_errors(void)
{
        Fixture f;
        fixture_start(&f, 3);
        add_named(&f, "time", 100);
        Node *x = new_input(&f, "x", of_shape(REAL, 2, TIME, 64)),
             *y = new_input(&f, "y", of_shape(REAL, 2, TIME, 32));
        Node *w = new_input(&f, "w", of_shape(REAL, 2, 7, 64)),
             *v = new_input(&f, "v", of_shape(REAL, 1, 64));
        const char *text = "block attention(x) {\n    y = x + z\n}\nq = attention(x)\n";
        Source *source = source_new(&f.arena, "a.model", text, (int32_t)strlen(text));
        Instance q = {.name = "q", .block = "attention", .call = {source, 41, 53}};
        Node *in[] = {x, y};
        Node *n = build(f.g, f.g->top, &f.diag, OP_ADD, 2, in, NULL, (Span){source, 29, 34}, &q);
        verdict("error: broadcast, with both shapes and the instance",
                !n && says(&f, "a.model:2:9: error: add: shapes [time, 64] and [time, 32] do not fit: "
                               "counted from the right, "
                               "sizes must be equal or 1, but 64 meets 32\n"
                               "    y = x + z\n        ^~~~~\n"
                               "a.model:4:5: note: in attention, called here as q\n"
                               "q = attention(x)\n    ^~~~~~~~~~~~\n"));
        verdict("error: matmul",
                !op2(&f, OP_MATMUL, x, w) && says(&f, "lathe: error: matmul: [time, 64] @ [7, 64]: the last "
                                                      "axis of the left (64) must "
                                                      "be as long as the last but one of the right (7)\n"
                                                      "note: the right side transposed (') would fit\n"));
        verdict("error: matmul of a vector",
                !op2(&f, OP_MATMUL, x, v) &&
                        says(&f, "lathe: error: matmul: [time, 64] @ [64]: both sides need two axes or "
                                 "more\n"));
        verdict("error: and of reals",
                !op2(&f, OP_AND, x, x) &&
                        says(&f, "lathe: error: and: input 1 should hold bools, but holds reals\n"));
        verdict("error: gather by reals",
                !op2(&f, OP_GATHER, x, v) &&
                        says(&f, "lathe: error: gather: input 2 should hold ints, but holds reals\n"));
        verdict("error: no such axis",
                !op_axis(&f, OP_SUM, x, 2) &&
                        says(&f, "lathe: error: sum: there is no axis 2 in shape [time, 64]\n"));
        Attr joining = {.axis = 0};
        verdict("error: join", !op_in(&f, f.g->top, OP_JOIN, 2, in, &joining) &&
                                       says(&f, "lathe: error: join: shapes [time, 64] and [time, 32] do not "
                                                "fit: they may differ "
                                                "along axis 0 alone\n"));
        Node *sink = new_input(&f, "s", of_shape(REAL, 1, 64));
        verdict("error: sink",
                !op2(&f, OP_SOFTMAX, x, sink) &&
                        says(&f, "lathe: error: softmax: a sink of shape [64] does not fit scores of shape "
                                 "[time, 64]: expected one for each row, [time, 1]\n"));
        Node *big = new_input(&f, "b", of_shape(REAL, 2, 1 << 21, 1 << 21));
        Attr padding = {.axis = 0, .after = dim_fixed(1)};
        verdict("error: too many elements",
                !op_in(&f, f.g->top, OP_PAD, 1, &big, &padding) &&
                        says(&f, "lathe: error: pad: a tensor of shape [2097153, 2097152] has too many "
                                 "elements: more than 2^42\n"));
        fixture_end(&f);
}

void test_shapes(void)
{
        test_dims();
        test_results();
        test_errors();
}
