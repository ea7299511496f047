/* Code as C: statements.
 *
 * Each vector becomes one `const v16 t<n> = ..;` (w16 where it holds doubles).  Where vectors are passed by address (libtcc has
 * none), the same statement reads `v16 t<n>; v_add(t<n>, t0, t1);`. */
#include "print_private.h"

#include <math.h>

/* --- vectors ---------------------------------------------------------------------------------------------------------- */

const char *literal_in_c(const Printer *p, bool far, double value)
{
        return far ? arena_printf(p->arena, "%.1f", value) : float_literal(p->arena, (float)value);
}

/* "v_add", "w_add" */
static const char *op_name(const Printer *p, const Stmt *s)
{
        return arena_printf(p->arena, "%c_%s", s->far ? 'w' : 'v', op_info[s->compute].vector);
}

static const char *vector_name(const Printer *p, bool far, const char *name)
{
        return far ? arena_printf(p->arena, "w%s", name + 1) : name;
}

static const char *vector_type(bool far)
{
        return far ? "w16" : "v16";
}

/* t<to> = function(arguments) */
static void print_assigned(const Printer *p, const Stmt *s, const char *function, const char *arguments,
                           Text *out)
{
        const char *comment = s->of && s->of->name ? arena_printf(p->arena, " /* %s */", s->of->name) : "";
        const char *constant = s->op == STMT_START ? "" : "const ", *type = vector_type(s->far);
        if (p->plan->by_address)
                text_printf(out, "%s t%d; %s(t%d, %s);%s\n", type, s->to, function, s->to, arguments,
                            comment);
        else
                text_printf(out, "%s%s t%d = %s(%s);%s\n", constant, type, s->to, function, arguments,
                            comment);
}

/* What a fold begins with. */
static const char *start_text(const Printer *p, const Stmt *s)
{
        return s->value == -INFINITY ? "-FLOAT_INF" : literal_in_c(p, s->far, s->value);
}

/* An element among blocks: their type, where they begin, its number. */
static const char *in_blocks(Printer *p, const Stmt *s)
{
        return arena_printf(p->arena, "%s, %s, %s", storage_text(p->arena, s->buffer),
                            pointer_name(p, s->buffer), index_text(p, s->at));
}

const char *element_number(Printer *p, Buffer *b, const Index *at)
{
        if (b->storage == STORAGE_Q8)
                return arena_printf(p->arena, "block_at(%s, %s, %s)", storage_text(p->arena, b),
                                    pointer_name(p, b), index_text(p, at));
        return arena_printf(p->arena, storage_info[b->storage].one, pointer_name(p, b), index_text(p, at));
}

static void print_load(Printer *p, const Stmt *s, Text *out)
{
        const char *load = storage_info[s->buffer->storage].load, *at = place_in_c(p, s->buffer, s->at);
        const char *n = s->lanes == ALL_LANES ? "16" : "n";
        p->rest |= s->lanes == REST_LANES;
        if (is_in_blocks(s->buffer->storage))
                print_assigned(p, s, "v_load_blocks",
                               arena_printf(p->arena, "%s, %lld, %s", in_blocks(p, s), (long long)s->step, n),
                               out);
        else if (s->step != 1)
                print_assigned(p, s, arena_printf(p->arena, "%s_strided", load),
                               arena_printf(p->arena, "%s, %lld, %s", at, (long long)s->step, n), out);
        else if (s->lanes == ALL_LANES)
                print_assigned(p, s, load, at, out);
        else
                print_assigned(p, s, arena_printf(p->arena, "%s_n", load),
                               arena_printf(p->arena, "%s, n", at), out);
}

static void print_element(Printer *p, const Stmt *s, Text *out)
{
        const Storage e = s->buffer->storage;
        print_assigned(p, s, storage_info[e].set, element_number(p, s->buffer, s->at), out);
}

static void print_gather(Printer *p, const Stmt *s, Text *out)
{
        Storage e = s->buffer->storage;
        const char *at = place_in_c(p, s->buffer, s->at);
        if (is_in_blocks(e))
                print_assigned(p, s, s->variant ? "v_gather_blocks_far" : "v_gather_blocks",
                               arena_printf(p->arena, "%s, t%d", in_blocks(p, s), s->from[0]), out);
        else
                print_assigned(p, s, s->variant ? storage_info[e].gather_far : storage_info[e].gather,
                               arena_printf(p->arena, s->variant ? "%s, t%d" : "%s, t%d, 1", at, s->from[0]),
                               out);
}

static void print_store(Printer *p, const Stmt *s, Text *out)
{
        const char *store = storage_info[s->buffer->storage].store, *at = place_in_c(p, s->buffer, s->at);
        p->rest |= s->lanes == REST_LANES;
        if (s->lanes == ONE_LANE)
                text_printf(out, "%s_n(%s, t%d, 1);\n", store, at, s->from[0]);
        else if (s->step != 1)
                text_printf(out, "%s_strided(%s, %lld, t%d, %s);\n", store, at, (long long)s->step,
                            s->from[0], s->lanes == ALL_LANES ? "16" : "n");
        else if (s->lanes == ALL_LANES)
                text_printf(out, "%s(%s, t%d);\n", store, at, s->from[0]);
        else
                text_printf(out, "%s_n(%s, t%d, n);\n", store, at, s->from[0]);
}

static void print_per_iteration(Printer *p, const Stmt *s, Text *out)
{
        const Literal *l = s->of->attr.literal;
        text_printf(out, "static const %s c%d[%lld] = {", s->far ? "double" : "float", s->to,
                    (long long)l->iterations);
        for (int64_t i = 0; i < l->iterations; i++)
                text_printf(out, "%s%s", i ? ", " : "", literal_in_c(p, s->far, l->value[i]));
        text_printf(out, "};\n");
        print_assigned(p, s, vector_name(p, s->far, "v_set1"),
                       arena_printf(p->arena, "c%d[%s]", s->to, iteration_text(p, s->of->body->region)), out);
}

static const char *body_arguments(const Printer *p, const Stmt *s)
{
        const char *all = arena_printf(p->arena, "t%d", s->from[0]);
        for (int i = 1; i < s->nfrom; i++)
                all = arena_printf(p->arena, "%s, t%d", all, s->from[i]);
        return all;
}

/* "(float)(i0 + 1)" */
static const char *as_lane(Printer *p, bool far, const Index *x)
{
        const char *type = far ? "double" : "float", *text = index_text(p, x);
        return arena_printf(p->arena, x->op == INDEX_LANE ? "(%s)%s" : "(%s)(%s)", type, text);
}

static void print_given(Printer *p, const Stmt *s, Text *out)
{
        const bool score = p->f->role == SCORE;
        const char *as = score ? "s" : s->variant ? "acc[1]" : "acc[0]";
        p->s |= score;
        p->apart |= s->at != NULL;
        if (s->at)
                as = arena_printf(p->arena, "s + (%s) * s_apart", index_text(p, s->at));
        text_printf(out,
                    p->plan->by_address ? "const float *t%d = %s;"
                    : score             ? "const v16 t%d = v_load(%s);"
                                        : "const v16 t%d = %s;",
                    s->to, as);
        text_printf(out, s->of->name ? " /* %s */\n" : "\n", s->of->name);
}

/* Of a sink the lanes are all the same. */
static void print_result(Printer *p, int t, Text *out)
{
        bool given_back = p->f->role == SCORE && p->plan->by_address;
        text_printf(out,
                    p->f->role == SINK ? "return v_maxof(t%d);\n"
                    : given_back       ? "v_copy(to, t%d);\n"
                                       : "return t%d;\n",
                    t);
}

static void print_accumulate(const Printer *p, const Stmt *s, Text *out)
{
        const char *op = op_name(p, s);
        int t = s->to;
        if (p->plan->by_address)
                text_printf(out, "%s(t%d, t%d, t%d);\n", op, t, t, s->from[0]);
        else
                text_printf(out, "t%d = %s(t%d, t%d);\n", t, op, t, s->from[0]);
}

/* "const int n = m->time - j < 16 ? .." */
void print_rest(Printer *p, const CodeLoop *lanes, Text *out)
{
        const char *e = loop_end(p, lanes);
        text_printf(out, "const int n = %s - j < 16 ? (int)(%s - j) : 16;\n", e, e);
}

static void print_lanes(Printer *p, const Stmt *s, Text *out)
{
        bool lane = p->lane, rest = p->rest;
        Text *inner = text_new(p->arena);
        if (s->lanes == REST_LANES)
                print_rest(p, s->over, inner);
        print_statements(p, s->inside, inner);
        p->m |= s->over->from_first;
        text_printf(out, "for (int64_t j = %s; j < %s; j += 16) {\n", s->over->from_first ? "m->first" : "0",
                    loop_end(p, s->over));
        text_indent(out, inner, 1);
        text_printf(out, "}\n");
        p->lane = lane;
        p->rest = rest;
}

static void print_one(Printer *p, const Stmt *s, Text *out)
{
        bool lane = p->lane;
        Text *inner = text_new(p->arena);
        p->lane = false;
        print_statements(p, s->inside, inner);
        if (p->lane)
                text_printf(out, "const int64_t j = 0;\n");
        text_indent(out, inner, 0);
        p->lane = lane;
}

/* --- statements ---------------------------------------------------------------------------------------------------------- */

static void print_bounds(Printer *p, const Stmt *s, Text *out)
{
        if (s->at) {
                p->lo = true;
                text_printf(out, "*lo = %s;\n", index_text(p, s->at));
        }
        if (s->high) {
                p->hi = true;
                text_printf(out, "*hi = %s;\n", index_text(p, s->high));
        }
}

static void print_integer(Printer *p, const Stmt *s, Text *out)
{
        if (s->op == STMT_PLACE)
                text_printf(out, "const int64_t x%d = clamp_index(%s(t%d), %s);\n", s->to,
                            vector_name(p, s->far, "v_first"), s->from[0], index_text(p, s->at));
        else
                text_printf(out, "const int64_t x%d = %s;\n", s->to, index_text(p, s->at));
}

static void print_stmt(Printer *p, const Stmt *s, Text *out)
{
        Arena *a = p->arena;
        const char *set = vector_name(p, s->far, "v_set1");
        switch (s->op) {
        case STMT_NUMBER: print_assigned(p, s, set, literal_in_c(p, s->far, s->value), out); break;
        case STMT_START: print_assigned(p, s, set, start_text(p, s), out); break;
        case STMT_INDEX: print_assigned(p, s, set, as_lane(p, s->far, s->at), out); break;
        case STMT_PER_ITERATION: print_per_iteration(p, s, out); break;
        case STMT_ELEMENT: print_element(p, s, out); break;
        case STMT_LOAD: print_load(p, s, out); break;
        case STMT_GATHER: print_gather(p, s, out); break;
        case STMT_COUNT:
                print_assigned(p, s, vector_name(p, s->far, "v_iota"), as_lane(p, s->far, s->at), out);
                break;
        case STMT_GIVEN: print_given(p, s, out); break;
        case STMT_COMPUTE: print_assigned(p, s, op_name(p, s), body_arguments(p, s), out); break;
        case STMT_MULTIPLY_ADD: print_assigned(p, s, "v_fma", body_arguments(p, s), out); break;
        case STMT_CONVERT:
                print_assigned(p, s, s->far ? "w_of_v" : "v_of_w", body_arguments(p, s), out);
                break;
        case STMT_EXP_DIFF: print_assigned(p, s, "v_soft", body_arguments(p, s), out); break;
        case STMT_SAFE_DIV: print_assigned(p, s, "v_part", body_arguments(p, s), out); break;
        case STMT_KEEP:
                p->rest = true;
                print_assigned(p, s, vector_name(p, s->far, "v_keep"),
                               arena_printf(a, "t%d, n, %s", s->from[0], start_text(p, s)), out);
                break;
        case STMT_CLAMP:
                print_assigned(p, s, vector_name(p, s->far, "v_clamp"),
                               arena_printf(a, "t%d, %s", s->from[0], as_lane(p, s->far, s->at)), out);
                break;
        case STMT_ACCUMULATE: print_accumulate(p, s, out); break;
        case STMT_ACROSS: {
                const char *fold = vector_name(p, s->far, s->compute == OP_MAX ? "v_maxof" : "v_sum");
                print_assigned(p, s, set, arena_printf(a, "%s(t%d)", fold, s->from[0]), out);
                break;
        }
        case STMT_STORE: print_store(p, s, out); break;
        case STMT_PLACE:
        case STMT_INTEGER: print_integer(p, s, out); break;
        case STMT_LANES: print_lanes(p, s, out); break;
        case STMT_ONE: print_one(p, s, out); break;
        case STMT_ROWS:
        case STMT_ALL_ROWS: print_rows(p, s, out); break;
        case STMT_ACTIVE:
                text_printf(out, "if (v_first(t%d) != 0)\n        active[count++] = (int32_t)row;\n",
                            s->from[0]);
                break;
        case STMT_RESULT: print_result(p, s->from[0], out); break;
        case STMT_BOUNDS: print_bounds(p, s, out); break;
        default: print_call(p, s, out); break;
        }
}

void print_statements(Printer *p, const StmtList *b, Text *out)
{
        for (int i = 0; i < b->n; i++)
                print_stmt(p, &b->stmt[i], out);
}
