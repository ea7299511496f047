/* The interpreter against loops written by hand, op by op. */
#include "harness.h"

static const int64_t time3[MAX_NAMED] = {3};

static bool near_equal(double a, double b)
{
        return a == b || (isnan(a) && isnan(b)) || fabs(a - b) <= 1e-12 * (fabs(a) + fabs(b));
}

/* Runs one node on the given input values (of the graph's inputs, in order) and compares it with
 * `expected`. */
static bool gives(Fixture *f, Node *n, const double *const *value, const double *expected, int64_t count)
{
        Tensor input[4] = {{0}}, output;
        for (int i = 0; i < f->g->ninput; i++) {
                const Type *t = &f->g->input[i].type;
                input[i].rank = t->rank;
                for (int k = 0; k < t->rank; k++)
                        input[i].dim[k] = dim_value(t->dim[k], time3);
                input[i].data = (double *)value[i];
        }
        if (!n || !run_nodes(f, time3, input, &n, 1, &output))
                return false;
        bool same = type_count(&n->type, time3) == count;
        for (int64_t i = 0; same && i < count; i++) {
                same = near_equal(output.data[i], expected[i]);
                if (!same)
                        printf("     element %lld: %g, expected %g\n", (long long)i, output.data[i],
                               expected[i]);
        }
        tensor_free(&output);
        return same;
}

static double unary(Op op, double a)
{
        switch (op) {
        case OP_NEG: return -a;
        case OP_EXP: return exp(a);
        case OP_LOG: return log(a);
        case OP_SQRT: return sqrt(a);
        case OP_SIN: return sin(a);
        case OP_COS: return cos(a);
        case OP_TANH: return tanh(a);
        case OP_ERF: return erf(a);
        case OP_ATAN: return atan(a);
        case OP_FLOOR: return floor(a);
        default: return a;
        }
}

static double binary(Op op, double a, double b)
{
        switch (op) {
        case OP_ADD: return a + b;
        case OP_SUB: return a - b;
        case OP_MUL: return a * b;
        case OP_DIV: return a / b;
        case OP_POW: return pow(a, b);
        case OP_MAX: return a > b ? a : b;
        case OP_MIN: return a < b ? a : b;
        case OP_FLOORDIV: return floor(a / b);
        case OP_MOD: return a - b * floor(a / b);
        case OP_LESS: return a < b ? 1 : 0;
        case OP_LESSEQ: return a <= b ? 1 : 0;
        default: return a == b || (a != a && b != b) ? 1 : 0; /* equal */
        }
}

static const double samples[8] = {0, -1.5, 2.25, 0.5, -INFINITY, INFINITY, NAN, -3};

static void test_pointwise(void)
{
        static const Op one[] = {OP_NEG,  OP_EXP, OP_LOG,  OP_SQRT,  OP_SIN,    OP_COS,
                                 OP_TANH, OP_ERF, OP_ATAN, OP_FLOOR, OP_REAL_OF};
        static const Op two[] = {OP_ADD, OP_SUB,      OP_MUL, OP_DIV,  OP_POW,    OP_MAX,
                                 OP_MIN, OP_FLOORDIV, OP_MOD, OP_LESS, OP_LESSEQ, OP_EQUAL};
        Fixture f;
        char name[64];
        fixture_start(&f, 1);
        Node *x = new_input(&f, "x", of_shape(REAL, 1, 8)), *y = new_input(&f, "y", of_shape(REAL, 2, 3, 1));
        static const double b[3] = {-3, 0.5, 2.25};
        const double *value[] = {samples, b};
        double expected[24];
        for (size_t k = 0; k < sizeof one / sizeof *one; k++) {
                for (int i = 0; i < 8; i++)
                        expected[i] = unary(one[k], samples[i]);
                snprintf(name, sizeof name, "meaning: %s", op_info[one[k]].text);
                verdict(name, gives(&f, op1(&f, one[k], x), value, expected, 8));
        }
        for (size_t k = 0; k < sizeof two / sizeof *two; k++) {
                for (int i = 0; i < 24; i++)
                        expected[i] = binary(two[k], samples[i % 8], b[i / 8]);
                if (two[k] ==
                    OP_POW) /* the root, as evaluate.c settles it: sqrt(-inf) is NaN where pow gives inf */
                        expected[8 + 4] = NAN;
                snprintf(name, sizeof name, "meaning: %s, broadcast", op_info[two[k]].text);
                verdict(name, gives(&f, op2(&f, two[k], x, y), value, expected, 24));
        }
        fixture_end(&f);
}

static void test_logic(void)
{
        Fixture f;
        fixture_start(&f, 1);
        Node *p = new_input(&f, "p", of_shape(BOOL, 1, 4)), *q = new_input(&f, "q", of_shape(BOOL, 1, 4));
        Node *x = new_input(&f, "x", of_shape(REAL, 1, 4)), *y = new_input(&f, "y", of_shape(REAL, 0));
        static const double a[] = {0, 0, 1, 1}, b[] = {0, 1, 0, 1}, v[] = {NAN, 2, 3, INFINITY}, w[] = {-7};
        const double *value[] = {a, b, v, w};
        verdict("meaning: and", gives(&f, op2(&f, OP_AND, p, q), value, (double[]){0, 0, 0, 1}, 4));
        verdict("meaning: or", gives(&f, op2(&f, OP_OR, p, q), value, (double[]){0, 1, 1, 1}, 4));
        verdict("meaning: not", gives(&f, op1(&f, OP_NOT, p), value, (double[]){1, 1, 0, 0}, 4));
        verdict("meaning: where takes no part of the other side",
                gives(&f, op3(&f, OP_WHERE, p, x, y), value, (double[]){-7, -7, 3, INFINITY}, 4));
        fixture_end(&f);
}

static void test_reductions(void)
{
        Fixture f;
        fixture_start(&f, 1);
        Node *x = new_input(&f, "x", of_shape(REAL, 2, TIME, 4)); /* [3, 4] */
        add_named(&f, "time", 3);
        static const double v[12] = {1, 5, 5, 2, -1, -1, -3, -1, 0.5, 7, 6, 7};
        const double *value[] = {v};
        double sum[4], most[3];
        for (int i = 0; i < 4; i++)
                sum[i] = v[i] + v[4 + i] + v[8 + i];
        for (int i = 0; i < 3; i++)
                most[i] = fmax(fmax(v[4 * i], v[4 * i + 1]), fmax(v[4 * i + 2], v[4 * i + 3]));
        verdict("meaning: sum", gives(&f, op_axis(&f, OP_SUM, x, 0), value, sum, 4));
        verdict("meaning: maxof", gives(&f, op_axis(&f, OP_MAXOF, x, 1), value, most, 3));
        verdict("meaning: argmax takes the first",
                gives(&f, op_axis(&f, OP_ARGMAX, x, 1), value, (double[]){1, 0, 1}, 3));
        Attr two = {.index = 2};
        Node *top = op_in(&f, f.g->top, OP_TOP, 1, &x, &two);
        static const double chosen[12] = {0, 1, 1, 0, 1, 1, 0, 0, 0, 1, 0, 1};
        verdict("meaning: top takes two, the first of equals", gives(&f, top, value, chosen, 12));
        fixture_end(&f);
}

static void test_movement(void)
{
        Fixture f;
        fixture_start(&f, 1);
        Node *x = new_input(&f, "x", of_shape(REAL, 2, 2, 3)),
             *i = new_input(&f, "i", of_shape(INT, 2, 2, 1));
        Node *j = new_input(&f, "j", of_shape(INT, 1, 2));
        static const double v[] = {1, 2, 3, 4, 5, 6}, a[] = {1, -4}, b[] = {9, 0};
        const double *value[] = {v, a, b};
        Attr padding = {.axis = 1, .before = dim_fixed(1), .after = dim_fixed(2), .value = -1},
             joining = {.axis = 1};
        static const double padded[] = {-1, 1, 2, 3, -1, -1, -1, 4, 5, 6, -1, -1};
        verdict("meaning: pad", gives(&f, op_in(&f, f.g->top, OP_PAD, 1, &x, &padding), value, padded, 12));
        Node *narrow = view_slice(f.g, f.g->top, x, 1, dim_fixed(2), dim_fixed(1), (Span){0}, NULL);
        Node *joined = op_in(&f, f.g->top, OP_JOIN, 2, (Node *[]){x, narrow}, &joining);
        verdict("meaning: join", gives(&f, joined, value, (double[]){1, 2, 3, 3, 4, 5, 6, 6}, 8));
        verdict("meaning: gather rows, clamped",
                gives(&f, op2(&f, OP_GATHER, x, j), value, (double[]){4, 5, 6, 1, 2, 3}, 6));
        verdict("meaning: gather by two, broadcast",
                gives(&f, op3(&f, OP_GATHER, x, i, j), value, (double[]){6, 4, 3, 1},
                      4)); /* [i][j]: rows 1, 0; columns 2, 0 */
        verdict("meaning: index",
                gives(&f, new_index(&f, f.g->top, dim_fixed(3), 5), value, (double[]){5, 6, 7}, 3));
        add_named(&f, "time", 3);
        Attr size = {.dim = dim_add(dim_scale(dim_named(0), 2), dim_fixed(1))};
        verdict("meaning: size",
                gives(&f, op_in(&f, f.g->top, OP_SIZE, 0, NULL, &size), value, (double[]){7}, 1));
        fixture_end(&f);
}

static void test_matmul(void)
{
        Fixture f;
        fixture_start(&f, 7);
        Node *a = new_input(&f, "a", of_shape(REAL, 4, 2, 1, 3, 4)),
             *b = new_input(&f, "b", of_shape(REAL, 3, 5, 4, 6));
        double x[24], y[120], expected[2 * 5 * 3 * 6];
        for (int i = 0; i < 24; i++)
                x[i] = random_number(&f.random);
        for (int i = 0; i < 120; i++)
                y[i] = random_number(&f.random);
        for (int o = 0; o < 2; o++)
                for (int h = 0; h < 5; h++)
                        for (int i = 0; i < 3; i++)
                                for (int j = 0; j < 6; j++) {
                                        double sum = 0;
                                        for (int k = 0; k < 4; k++)
                                                sum += x[(o * 3 + i) * 4 + k] * y[(h * 4 + k) * 6 + j];
                                        expected[((o * 5 + h) * 3 + i) * 6 + j] = sum;
                                }
        const double *value[] = {x, y};
        verdict("meaning: matmul, leading axes broadcast",
                gives(&f, op2(&f, OP_MATMUL, a, b), value, expected, 180));
        fixture_end(&f);
        fixture_start(&f, 7);
        a = new_input(&f, "a", of_shape(REAL, 2, 1, 2));
        b = new_input(&f, "b", of_shape(REAL, 2, 2, 2));
        const double *masked[] = {(double[]){0, 2}, (double[]){NAN, INFINITY, 3, 4}};
        const Attr past = {.index = ZEROS_LEFT};
        Node *in[] = {a, b};
        verdict("meaning: matmul past zeros, a weight of 0 hides NaN and infinity",
                gives(&f, op_in(&f, f.g->top, OP_MATMUL, 2, in, &past), masked, (double[]){6, 8}, 2));
        verdict("meaning: matmul, 0 times NaN or infinity is NaN",
                gives(&f, op2(&f, OP_MATMUL, a, b), masked, (double[]){NAN, NAN}, 2));
        fixture_end(&f);
}

static void test_softmax(void)
{
        Fixture f;
        fixture_start(&f, 1);
        Node *x = new_input(&f, "x", of_shape(REAL, 2, 3, 3)),
             *sink = new_input(&f, "s", of_shape(REAL, 2, 3, 1));
        static const double v[9] = {1, 2, -INFINITY, -INFINITY, -INFINITY, -INFINITY, 700, 710, 720},
                            s[3] = {0, 1, -INFINITY};
        const double *value[] = {v, s};
        double total = exp(1) + exp(2), last = exp(-20) + exp(-10) + 1;
        double plain[9] = {exp(1) / total,  exp(2) / total,  0,       0, 0, 0,
                           exp(-20) / last, exp(-10) / last, 1 / last};
        double sunk[9] = {
                exp(1) / (total + 1), exp(2) / (total + 1), 0, 0, 0, 0, plain[6], plain[7], plain[8]};
        verdict("meaning: softmax, a row without a live score is 0",
                gives(&f, op1(&f, OP_SOFTMAX, x), value, plain, 9));
        verdict("meaning: softmax with a sink", gives(&f, op2(&f, OP_SOFTMAX, x, sink), value, sunk, 9));
        fixture_end(&f);
}

static void test_complaints(void)
{
        Fixture f;
        fixture_start(&f, 1);
        add_named(&f, "time", 8);
        Node *ids = new_input(&f, "tokens", of_shape(INT, 1, TIME));
        f.g->input[0].bound = 10;
        add_output(&f, ids);
        Tensor in = {.rank = 1, .dim = {3}, .data = (double[]){1, 10, 2}}, out;
        const char *error = interpret(f.g, time3, &in, NULL, NULL, &out);
        verdict("complaint: an id out of range",
                error && strcmp(error, "input tokens: 10 at 1 is not a whole number from 0 to 9") == 0);
        error = interpret(f.g, (const int64_t[MAX_NAMED]){9}, &in, NULL, NULL, &out);
        verdict("complaint: a size above its bound",
                error && strcmp(error, "size time is 9: it may be 1 to 8") == 0);
        error = interpret(f.g, (const int64_t[MAX_NAMED]){2}, &in, NULL, NULL, &out);
        verdict("complaint: an input of another shape",
                error && strcmp(error, "input tokens should have shape [time]") == 0);
        fixture_end(&f);
}

void test_meaning(void)
{
        test_pointwise();
        test_logic();
        test_reductions();
        test_movement();
        test_matmul();
        test_softmax();
        test_complaints();
}
