/* Repeats, weights' slots and state in the interpreter, against loops by hand. */
#include "harness.h"

static const int64_t no_size[MAX_NAMED];

static Weight *new_weight(Fixture *f, const char *path, Type type, int nregion, Region **region,
                          int64_t slots)
{
        Graph *g = f->g;
        Weight *w = NEW(&f->arena, Weight);
        *w = (Weight){.id = g->nweight, .path = path, .type = type, .nregion = nregion, .slots = slots};
        for (int r = 0; r < nregion; r++)
                w->region[r] = region[r];
        int64_t size = (int64_t)sizeof *g->weight;
        g->weight = arena_grow(g->arena, g->weight, g->nweight * size, (g->nweight + 1) * size);
        return g->weight[g->nweight++] = w;
}

static Node *read_weight(Fixture *f, Body *body, Weight *w)
{
        Attr attr = {.weight = w, .slot = -1};
        return op_in(f, body, OP_WEIGHT, 0, NULL, &attr);
}

/* Four iterations of two bodies.  Body 0: (x, y) -> (y, x + y); body 1: (x, y) -> (y * table, x).  The weight is
 * only in body 1, so it has two slots for four iterations; what is stacked is the new first value. */
static void test_bodies(void)
{
        Fixture f;
        fixture_start(&f, 1);
        Node *x = new_input(&f, "x", of_shape(REAL, 1, 2)), *y = new_input(&f, "y", of_shape(REAL, 1, 2));
        Region *region = new_region(&f, "layer", 4, 2, 2, 1);
        region->body_of[1] = region->body_of[3] = 1;
        Node *repeat = new_repeat(&f, f.g->top, region, (Node *[]){x, y});
        Body *zero = region->body[0], *one = region->body[1];
        Node *a = new_carry(&f, zero, 0), *b = new_carry(&f, zero, 1);
        zero->next[0] = zero->stack[0] = b;
        zero->next[1] = op_in(&f, zero, OP_ADD, 2, (Node *[]){a, b}, NULL);
        Weight *w = new_weight(&f, "layer.w", of_shape(REAL, 1, 2), 1, &region, 2);
        w->slot_of = NEW_ARRAY(&f.arena, int32_t, 4);
        memcpy(w->slot_of, (int32_t[]){-1, 0, -1, 1}, 4 * sizeof *w->slot_of);
        static const double table[] = {2, 3, 5, 7};
        Node *c = new_carry(&f, one, 0), *d = new_carry(&f, one, 1),
             *t = new_literal(&f, one, of_shape(REAL, 0), 4, table);
        Node *scaled = op_in(&f, one, OP_MUL, 2, (Node *[]){d, t}, NULL);
        one->next[0] = one->stack[0] =
                op_in(&f, one, OP_ADD, 2, (Node *[]){scaled, read_weight(&f, one, w)}, NULL);
        one->next[1] = c;
        Node *want[] = {new_result(&f, repeat, 0), new_result(&f, repeat, 1), new_result(&f, repeat, 2)};
        add_output(&f, want[0]);
        verify(f.g, "test_bodies");
        Tensor *in = random_inputs(&f, no_size), out[3];
        bool right = run_nodes(&f, no_size, in, want, 3, out);
        for (int i = 0; right && i < 2; i++) {
                double p = in[0].data[i], q = in[1].data[i];
                for (int iteration = 0; iteration < 4; iteration++) {
                        double next =
                                iteration % 2 ? q * table[iteration] + weight_value(w, iteration / 2, i) : q;
                        q = iteration % 2 ? p : p + q;
                        p = next;
                        right = right && out[2].data[iteration * 2 + i] == p;
                }
                right = right && out[0].data[i] == p && out[1].data[i] == q;
        }
        verdict("repeat: bodies, carried and stacked values, tables, slots",
                right && want[2]->type.rank == 2);
        free_tensors(in, 2);
        for (int i = 0; i < 3; i++)
                tensor_free(&out[i]);
        fixture_end(&f);
}

/* Nested: three iterations around two; a weight with a slot for each pair, a value of the outer body used in
 * the inner one. */
static void test_nested(void)
{
        Fixture f;
        fixture_start(&f, 1);
        Node *x = new_input(&f, "x", of_shape(REAL, 1, 2));
        Region *outer = new_region(&f, "layer", 3, 1, 1, 0), *inner = new_region(&f, "expert", 2, 1, 1, 1);
        Node *repeat = new_repeat(&f, f.g->top, outer, &x);
        Body *body = outer->body[0], *deep = inner->body[0];
        Node *h = new_carry(&f, body, 0), *twice = op_in(&f, body, OP_ADD, 2, (Node *[]){h, h}, NULL);
        Node *again = new_repeat(&f, body, inner, &h);
        Node *e = new_carry(&f, deep, 0);
        Weight *w = new_weight(&f, "layer.expert.w", of_shape(REAL, 1, 2), 2, (Region *[]){outer, inner}, 6);
        w->iteration_of = (int32_t[]){0, 1, 2, 3, 4, 5};
        w->part = (const char *[]){"layer", "expert", "w"};
        w->npart = 3;
        w->region_part[1] = 1;
        Node *sum = op_in(&f, deep, OP_ADD, 2, (Node *[]){e, twice}, NULL);
        deep->next[0] = deep->stack[0] =
                op_in(&f, deep, OP_ADD, 2, (Node *[]){sum, read_weight(&f, deep, w)}, NULL);
        Node *stacked = new_result(&f, again, 1);
        Attr axis = {.axis = 0};
        Node *total = op_in(&f, body, OP_SUM, 1, &stacked, &axis);
        total = view_drop(f.g, body, total, 0, (Span){0}, NULL);
        body->next[0] = op_in(&f, body, OP_ADD, 2, (Node *[]){total, new_result(&f, again, 0)}, NULL);
        Node *want = new_result(&f, repeat, 0);
        add_output(&f, want);
        verify(f.g, "test_nested");
        Tensor *in = random_inputs(&f, no_size), out;
        bool right = run_nodes(&f, no_size, in, &want, 1, &out);
        for (int i = 0; right && i < 2; i++) {
                double p = in[0].data[i];
                for (int t = 0; t < 3; t++) {
                        double q = p, all = 0;
                        for (int u = 0; u < 2; u++) {
                                q = q + (p + p) + weight_value(w, t * 2 + u, i);
                                all += q;
                        }
                        p = all + q;
                }
                right = out.data[i] == p;
        }
        verdict("repeat: nested, with a slot for each pair of iterations", right);
        verdict("repeat: slots' names hold the iterations",
                strcmp(weight_slot_name(&f.arena, w, 5), "layer.2.expert.1.w") == 0);
        free_tensors(in, 1);
        tensor_free(&out);
        fixture_end(&f);
}

/* y = the sum over all positions so far, in a repeat of two iterations with a state slot each: fed 2, then 1,
 * then 3 rows. */
static void test_state(void)
{
        Fixture f;
        fixture_start(&f, 1);
        Graph *g = f.g;
        g->time = add_named(&f, "time", 8);
        g->past = add_named(&f, "past", 8);
        Node *x = new_input(&f, "x", of_shape(REAL, 2, TIME, 2));
        Region *region = new_region(&f, "layer", 2, 1, 1, 0);
        Node *repeat = new_repeat(&f, g->top, region, &x);
        Body *body = region->body[0];
        StateVar *state = NEW(&f.arena, StateVar);
        *state = (StateVar){.name = "layer.x", .type = of_shape(REAL, 2, 8, 2), .region = region, .slots = 2};
        g->state = &state;
        g->nstate = 1;
        Attr attr = {.state = state};
        Node *h = new_carry(&f, body, 0), *past = op_in(&f, body, OP_READ, 0, NULL, &attr);
        Node *all = op_in(&f, body, OP_APPEND, 2, (Node *[]){past, h}, &attr),
             *sum = op_in(&f, body, OP_SUM, 1, &all, &attr);
        body->next[0] = op_in(&f, body, OP_ADD, 2, (Node *[]){h, sum}, NULL);
        add_output(&f, new_result(&f, repeat, 0));
        verify(g, "test_state");
        InterpState *kept = interp_state_new(g);
        static const int64_t fed[] = {2, 1, 3};
        double value[12], total[2][2] = {{0}};
        int64_t row = 0;
        bool right = true;
        for (int i = 0; i < 12; i++)
                value[i] = random_number(&f.random);
        for (int call = 0; right && call < 3; call++) {
                int64_t size[MAX_NAMED] = {fed[call], row}, n = fed[call];
                Tensor in = {.rank = 2, .dim = {n, 2}, .data = value + row * 2}, out;
                right = !interpret(g, size, &in, NULL, kept, &out);
                double level[2][12];
                for (int64_t i = 0; i < n * 2; i++)
                        level[0][i] = value[row * 2 + i];
                for (int iteration = 0; iteration < 2; iteration++) {
                        for (int64_t i = 0; i < n * 2; i++)
                                total[iteration][i % 2] += level[0][i];
                        for (int64_t i = 0; i < n * 2; i++)
                                level[0][i] += total[iteration][i % 2];
                }
                for (int64_t i = 0; right && i < n * 2; i++)
                        right = fabs(out.data[i] - level[0][i]) < 1e-12;
                tensor_free(&out);
                row += n;
        }
        verdict("state: read and append over three calls, a slot for each iteration", right);
        int64_t wrong[MAX_NAMED] = {1, 5};
        Tensor in = {.rank = 2, .dim = {1, 2}, .data = value}, out;
        const char *error = interpret(g, wrong, &in, NULL, kept, &out);
        verdict("state: a past that is not there",
                error && strcmp(error, "state layer.x holds 6 positions where the past has 5") == 0);
        interp_state_free(kept);
        fixture_end(&f);
}

/* What something else keeps: given[row]. */
static double given_value(void *given, const StateVar *s, int64_t slot, const int64_t *index, double *scale)
{
        *scale = NAN;
        return s->id == 0 && slot == 0 ? ((const double *)given)[index[0]] : 0;
}

/* A state in f16, fed 1, then 3 rows: alone, and where it follows another, which it does in the first row alone, that is near the middle
 * of two. */
static void test_rounded_state(void)
{
        Fixture f;
        fixture_start(&f, 1);
        Graph *g = f.g;
        g->time = add_named(&f, "time", 8);
        g->past = add_named(&f, "past", 8);
        Node *x = new_input(&f, "x", of_shape(REAL, 1, TIME));
        StateVar *state = NEW(&f.arena, StateVar);
        *state = (StateVar){.name = "x", .type = of_shape(REAL, 1, 8), .storage = STORAGE_F16, .slots = 1};
        g->state = &state;
        g->nstate = 1;
        Attr attr = {.state = state};
        Node *past = op_in(&f, g->top, OP_READ, 0, NULL, &attr);
        add_output(&f, op_in(&f, g->top, OP_APPEND, 2, (Node *[]){past, x}, &attr));
        verify(g, "test_rounded_state");
        double value[] = {1 + 0x1p-11 + 1e-6, 0.3, 0x1p-26, -2.0001};
        double own[] = {1 + 0x1p-10, 0.300048828125, 0, -2}, given[] = {1, 0.5, NAN, -2 - 0x1p-9};
        const KeptSource source = {given, given_value};
        for (int follows = 0; follows < 2; follows++) {
                InterpState *kept = interp_state_new(g);
                bool right = kept != NULL;
                if (follows)
                        interp_state_follow(kept, &source);
                for (int64_t row = 0; right && row < 4; row += row ? 3 : 1) {
                        int64_t size[MAX_NAMED] = {row ? 3 : 1, row};
                        Tensor in = {.rank = 1, .dim = {size[0]}, .data = value + row}, out;
                        right = !interpret(g, size, &in, NULL, kept, &out);
                        for (int64_t i = 0; right && i < row + size[0]; i++)
                                right = out.data[i] == (follows && i == 0 ? given[0] : own[i]);
                        tensor_free(&out);
                }
                verdict(follows ? "state: another's rounding is followed where both are right"
                                : "state: what is appended is rounded",
                        right);
                interp_state_free(kept);
        }
        fixture_end(&f);
}

/* What something else keeps as codes: the scale of all rows. */
static double given_code(void *given, const StateVar *s, int64_t slot, const int64_t *index, double *scale)
{
        static const double code[] = {127, -64};
        (void)s, (void)slot;
        *scale = *(const double *)given;
        return *scale * code[index[1]];
}

/* A state in codes of 8 bits, two numbers to a scale, fed 1, 3 and 1 rows: alone, and where it follows another, whose scale may be that of
 * the first row. */
static void test_coded_state(void)
{
        Fixture f;
        fixture_start(&f, 1);
        Graph *g = f.g;
        g->time = add_named(&f, "time", 8);
        g->past = add_named(&f, "past", 8);
        Node *x = new_input(&f, "x", of_shape(REAL, 2, TIME, 2));
        StateVar *state = NEW(&f.arena, StateVar);
        *state = (StateVar){
                .name = "x", .type = of_shape(REAL, 2, 8, 2), .storage = STORAGE_Q8, .group = 2, .slots = 1};
        g->state = &state;
        g->nstate = 1;
        Attr attr = {.state = state};
        Node *past = op_in(&f, g->top, OP_READ, 0, NULL, &attr);
        add_output(&f, op_in(&f, g->top, OP_APPEND, 2, (Node *[]){past, x}, &attr));
        verify(g, "test_coded_state");
        const double low = 0x1p-7 + 9 * 0x1p-17,
                     high = 0x1p-7 + 10 * 0x1p-17; /* neighbours in half precision */
        double value[] = {127 * low * (1 + 1e-6), -0.5, NAN, 1, 0, -0.0, 127 * 0x3.001p-24, 0, 0.3, 2};
        double own[] = {127 * high,      -63 * high,      NAN, NAN, 0, 0, 95 * 0x4p-24, 0,
                        19 * 0x1.024p-6, 127 * 0x1.024p-6};
        double given[] = {127 * low, -63 * low};
        const KeptSource source = {(void *)&low, given_code};
        for (int follows = 0; follows < 2; follows++) {
                InterpState *kept = interp_state_new(g);
                bool right = kept != NULL;
                if (follows)
                        interp_state_follow(kept, &source);
                for (int64_t row = 0; right && row < 5;) {
                        int64_t n = row == 1 ? 3 : 1;
                        int64_t size[MAX_NAMED] = {n, row};
                        Tensor in = {.rank = 2, .dim = {n, 2}, .data = value + 2 * row}, out;
                        right = !interpret(g, size, &in, NULL, kept, &out);
                        for (int64_t i = 0; right && i < 2 * (row + n); i++) {
                                double wanted = follows && i < 2 ? given[i] : own[i];
                                right = out.data[i] == wanted || (isnan(out.data[i]) && isnan(wanted));
                        }
                        tensor_free(&out);
                        row += n;
                }
                verdict(follows ? "state: another's scale is followed where both are right"
                                : "state: what is appended becomes codes",
                        right);
                interp_state_free(kept);
        }
        fixture_end(&f);
}

void test_repeats(void)
{
        test_bodies();
        test_nested();
        test_state();
        test_rounded_state();
        test_coded_state();
}
