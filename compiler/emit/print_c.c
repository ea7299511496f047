/* Code as C: statements.
 *
 * A vector becomes a variable, `const v16 t<n> = ..;` (f64x16 if it holds doubles), or, if a single later
 * statement uses it, an expression in that statement.  Where vectors are passed by address (libtcc has
 * none), each has a statement, `v16 t<n>; v_add(t<n>, t0, t1);`. */
#include "print_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- vectors ---------------------------------------------------------------------------------------------------------- */

const char *literal_in_c(const Printer *p, bool f64, double value)
{
        return f64 ? arena_printf(p->arena, "%.1f", value) : float_literal(p->arena, (float)value);
}

/* A number with its decimal value where it is in hex: "0x1p-3f" and 0.125 in a comment. */
static const char *number_in_c(const Printer *p, bool f64, double value)
{
        const char *c = literal_in_c(p, f64, value);
        int digits = 1;
        if (f64 || p->plan->by_address || !strchr(c, 'p'))
                return c;
        while (digits < 9 && strtof(arena_printf(p->arena, "%.*g", digits, value), NULL) != (float)value)
                digits++;
        return arena_printf(p->arena, "%s /* %.*g */", c, digits, value);
}

/* "t3", or its inlined expression */
static const char *vector_text(const Printer *p, int t)
{
        return p->inlined[t] ? p->inlined[t] : arena_printf(p->arena, "t%d", t);
}

/* "v_add", "w_add" */
static const char *op_name(const Printer *p, const Stmt *s)
{
        return arena_printf(p->arena, "%c_%s", s->f64 ? 'w' : 'v', op_info[s->compute].vector);
}

static const char *vector_name(const Printer *p, bool f64, const char *name)
{
        return f64 ? arena_printf(p->arena, "w%s", name + 1) : name;
}

static const char *vector_type(bool f64)
{
        return f64 ? "f64x16" : "v16";
}

/* Keeps the expression of a vector that is inlined into its user.  False: it is not to be inlined, or too
 * long. */
static bool keep_inlined(const Printer *p, const Stmt *s, const char *expression)
{
        enum { MOST = 64 };
        if (!p->inlines || strlen(expression) > MOST)
                return false;
        p->inlined[s->to] = expression;
        return true;
}

/* t<to> = function(arguments) */
static void print_assigned(const Printer *p, const Stmt *s, const char *function, const char *arguments,
                           Text *out)
{
        if (keep_inlined(p, s, arena_printf(p->arena, "%s(%s)", function, arguments)))
                return;
        const char *comment = s->of && s->of->name ? arena_printf(p->arena, " /* %s */", s->of->name) : "";
        const char *constant = s->op == STMT_START ? "" : "const ", *type = vector_type(s->f64);
        if (p->plan->by_address)
                text_printf(out, "%s t%d; %s(t%d, %s);%s\n", type, s->to, function, s->to, arguments,
                            comment);
        else
                text_printf(out, "%s%s t%d = %s(%s);%s\n", constant, type, s->to, function, arguments,
                            comment);
}

/* Initial value of a fold. */
static const char *start_text(const Printer *p, const Stmt *s)
{
        return s->value == -INFINITY ? "-FLOAT_INF" : number_in_c(p, s->f64, s->value);
}

/* Arguments for an element of blocks: type, start, index. */
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

/* The number of lanes of the loop's last iteration. */
static const char *lanes_left(Printer *p)
{
        p->rest |= !p->one_turn;
        return p->one_turn ? arena_printf(p->arena, "%lld", (long long)p->turn_lanes) : "n";
}

static void print_load(Printer *p, const Stmt *s, Text *out)
{
        const char *load = storage_info[s->buffer->storage].load, *at = place_in_c(p, s->buffer, s->at);
        const char *n = s->lanes == ALL_LANES ? "16" : lanes_left(p);
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
                               arena_printf(p->arena, "%s, %s", at, n), out);
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
        print_assigned(
                p, s, s->variant ? storage_info[e].gather_wide : storage_info[e].gather,
                arena_printf(p->arena, s->variant ? "%s, %s" : "%s, %s, 1", at, vector_text(p, s->from[0])),
                out);
}

static void print_store(Printer *p, const Stmt *s, Text *out)
{
        const char *store = storage_info[s->buffer->storage].store, *at = place_in_c(p, s->buffer, s->at);
        const char *t = vector_text(p, s->from[0]), *n = s->lanes == ALL_LANES  ? "16"
                                                         : s->lanes == ONE_LANE ? "1"
                                                                                : lanes_left(p);
        if (s->step != 1 && s->lanes != ONE_LANE)
                text_printf(out, "%s_strided(%s, %lld, %s, %s);\n", store, at, (long long)s->step, t, n);
        else if (s->lanes == ALL_LANES)
                text_printf(out, "%s(%s, %s);\n", store, at, t);
        else
                text_printf(out, "%s_n(%s, %s, %s);\n", store, at, t, n);
}

static void print_per_iteration(Printer *p, const Stmt *s, Text *out)
{
        const Literal *l = s->of->attr.literal;
        text_printf(out, "static const %s c%d[%lld] = {", s->f64 ? "double" : "float", s->to,
                    (long long)l->iterations);
        for (int64_t i = 0; i < l->iterations; i++)
                text_printf(out, "%s%s", i ? ", " : "", literal_in_c(p, s->f64, l->value[i]));
        text_printf(out, "};\n");
        print_assigned(p, s, vector_name(p, s->f64, "v_set1"),
                       arena_printf(p->arena, "c%d[%s]", s->to, iteration_text(p, s->of->body->region)), out);
}

static const char *body_arguments(const Printer *p, const Stmt *s)
{
        const char *all = vector_text(p, s->from[0]);
        for (int i = 1; i < s->nfrom; i++)
                all = arena_printf(p->arena, "%s, %s", all, vector_text(p, s->from[i]));
        return all;
}

/* "(float)(i0 + 1)" */
static const char *as_lane(Printer *p, bool f64, const Index *x)
{
        const char *type = f64 ? "double" : "float", *text = index_text(p, x);
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
        if (keep_inlined(p, s, score ? arena_printf(p->arena, "v_load(%s)", as) : as))
                return;
        text_printf(out,
                    p->plan->by_address ? "const float *t%d = %s;"
                    : score             ? "const v16 t%d = v_load(%s);"
                                        : "const v16 t%d = %s;",
                    s->to, as);
        text_printf(out, s->of->name ? " /* %s */\n" : "\n", s->of->name);
}

/* All lanes of a sink are equal. */
static void print_result(const Printer *p, const char *t, Text *out)
{
        bool given_back = p->f->role == SCORE && p->plan->by_address;
        text_printf(out,
                    p->f->role == SINK ? "return v_maxof(%s);\n"
                    : given_back       ? "v_copy(to, %s);\n"
                                       : "return %s;\n",
                    t);
}

static void print_accumulate(const Printer *p, const Stmt *s, Text *out)
{
        const char *op = op_name(p, s);
        int t = s->to;
        if (p->plan->by_address)
                text_printf(out, "%s(t%d, t%d, t%d);\n", op, t, t, s->from[0]);
        else
                text_printf(out, "t%d = %s(t%d, %s);\n", t, op, t, vector_text(p, s->from[0]));
}

/* "const int n = m->time - j < 16 ? .." */
void print_rest(Printer *p, const CodeLoop *lanes, Text *out)
{
        const char *e = loop_end(p, lanes);
        text_printf(out, "const int n = %s - j < 16 ? (int)(%s - j) : 16;\n", e, e);
}

/* A loop of one iteration is printed without a loop. */
static void print_turn(Printer *p, const Stmt *s, int64_t lanes, Text *out)
{
        const bool around = p->one_turn;
        p->one_turn = true;
        p->turn_lanes = lanes;
        print_statements(p, s->inside, out);
        p->one_turn = around;
}

static bool has_one_turn(const CodeLoop *l)
{
        return dim_is_fixed(l->size) && l->size.fixed <= LANES && !l->from_first && !l->active &&
               !l->together;
}

static void print_lanes(Printer *p, const Stmt *s, Text *out)
{
        bool lane = p->lane, rest = p->rest;
        Text *inner = text_new(p->arena);
        if (has_one_turn(s->over)) {
                print_turn(p, s, s->over->size.fixed, out);
                return;
        }
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
                text_printf(out, "const int64_t x%d = clamp_index(%s(%s), %s);\n", s->to,
                            vector_name(p, s->f64, "v_first"), vector_text(p, s->from[0]),
                            index_text(p, s->at));
        else
                text_printf(out, "const int64_t x%d = %s;\n", s->to, index_text(p, s->at));
}

static void print_stmt(Printer *p, const Stmt *s, Text *out)
{
        Arena *a = p->arena;
        const char *set = vector_name(p, s->f64, "v_set1");
        switch (s->op) {
        case STMT_NUMBER: print_assigned(p, s, set, number_in_c(p, s->f64, s->value), out); break;
        case STMT_START: print_assigned(p, s, set, start_text(p, s), out); break;
        case STMT_INDEX: print_assigned(p, s, set, as_lane(p, s->f64, s->at), out); break;
        case STMT_PER_ITERATION: print_per_iteration(p, s, out); break;
        case STMT_ELEMENT: print_element(p, s, out); break;
        case STMT_LOAD: print_load(p, s, out); break;
        case STMT_GATHER: print_gather(p, s, out); break;
        case STMT_COUNT:
                print_assigned(p, s, vector_name(p, s->f64, "v_iota"), as_lane(p, s->f64, s->at), out);
                break;
        case STMT_GIVEN: print_given(p, s, out); break;
        case STMT_COMPUTE: print_assigned(p, s, op_name(p, s), body_arguments(p, s), out); break;
        case STMT_MULTIPLY_ADD: print_assigned(p, s, "v_fma", body_arguments(p, s), out); break;
        case STMT_CONVERT:
                print_assigned(p, s, s->f64 ? "w_of_v" : "v_of_w", body_arguments(p, s), out);
                break;
        case STMT_EXP_DIFF: print_assigned(p, s, "v_soft", body_arguments(p, s), out); break;
        case STMT_SAFE_DIV: print_assigned(p, s, "v_part", body_arguments(p, s), out); break;
        case STMT_KEEP:
                print_assigned(p, s, vector_name(p, s->f64, "v_keep"),
                               arena_printf(a, "%s, %s, %s", vector_text(p, s->from[0]), lanes_left(p),
                                            start_text(p, s)),
                               out);
                break;
        case STMT_CLAMP:
                print_assigned(
                        p, s, vector_name(p, s->f64, "v_clamp"),
                        arena_printf(a, "%s, %s", vector_text(p, s->from[0]), as_lane(p, s->f64, s->at)),
                        out);
                break;
        case STMT_ACCUMULATE: print_accumulate(p, s, out); break;
        case STMT_ACROSS: {
                const char *fold = vector_name(p, s->f64, s->compute == OP_MAX ? "v_maxof" : "v_sum");
                print_assigned(p, s, set, arena_printf(a, "%s(%s)", fold, vector_text(p, s->from[0])), out);
                break;
        }
        case STMT_STORE: print_store(p, s, out); break;
        case STMT_PLACE:
        case STMT_INTEGER: print_integer(p, s, out); break;
        case STMT_LANES: print_lanes(p, s, out); break;
        case STMT_ONE: print_turn(p, s, 1, out); break;
        case STMT_ROWS:
        case STMT_ALL_ROWS: print_rows(p, s, out); break;
        case STMT_ACTIVE:
                text_printf(out, "if (v_first(%s) != 0)\n        active[count++] = (int32_t)row;\n",
                            vector_text(p, s->from[0]));
                break;
        case STMT_RESULT: print_result(p, vector_text(p, s->from[0]), out); break;
        case STMT_BOUNDS: print_bounds(p, s, out); break;
        default: print_call(p, s, out); break;
        }
}

/* --- expressions within statements --------------------------------------------------------------------------------------- */

static void statement_uses(const StmtList *b, int *uses)
{
        for (const Stmt *s = b->stmt; s < b->stmt + b->n; s++) {
                for (int i = 0; i < s->nfrom; i++)
                        uses[s->from[i]]++;
                if (s->inside)
                        statement_uses(s->inside, uses);
        }
}

void printer_begin(Printer *p)
{
        p->uses = NEW_ARRAY(p->arena, int, p->f->vectors + 1);
        p->inlined = NEW_ARRAY(p->arena, const char *, p->f->vectors + 1);
        statement_uses(&p->f->body, p->uses);
        name_pointers(p);
}

/* Whether the statement defines a vector from other vectors and numbers only. */
static bool is_of_vectors(const Stmt *s)
{
        return s->op == STMT_NUMBER || s->op == STMT_COMPUTE || s->op == STMT_MULTIPLY_ADD ||
               s->op == STMT_CONVERT || s->op == STMT_EXP_DIFF || s->op == STMT_SAFE_DIV ||
               s->op == STMT_ACROSS || s->op == STMT_GIVEN;
}

/* Whether the vector of b's statement i is inlined into the statement that uses it; a number is inlined
 * into all.  Its operands and user must be in the same list, without a change of a sum in between.  A
 * named value has its own statement, unless it is only stored. */
static bool is_inlined(const Printer *p, const StmtList *b, int i)
{
        const Stmt *s = &b->stmt[i];
        const bool number = s->op == STMT_NUMBER, named = s->op != STMT_GIVEN && s->of && s->of->name;
        if (p->plan->by_address || !is_of_vectors(s) || (p->uses[s->to] != 1 && !number))
                return false;
        int found = 0;
        for (const Stmt *next = s + 1; next < b->stmt + b->n; next++) {
                const bool takes_name = number || !named || next->op == STMT_STORE || next->op == STMT_RESULT;
                const int before = found;
                for (int k = 0; k < next->nfrom && takes_name; k++)
                        found += next->from[k] == s->to;
                if (!number && (next->inside || (next->op == STMT_ACCUMULATE && found == before)))
                        break;
        }
        return found == p->uses[s->to];
}

void print_statements(Printer *p, const StmtList *b, Text *out)
{
        for (int i = 0; i < b->n; i++) {
                p->inlines = is_inlined(p, b, i);
                print_stmt(p, &b->stmt[i], out);
        }
}
