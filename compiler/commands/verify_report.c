/* lathe verify: the report of each check. */
#include <math.h>
#include <stdio.h>

#include "verify_private.h"

void report_begin(Verify *v)
{
        const Graph *g = v->oracle;
        if (!v->o->given[OPT_JSON]) {
                print_named_sizes(g, v->size);
                printf("%-40s%-9s%s\n", "", "error", "bits");
                fflush(stdout);
                return;
        }
        json_begin();
        v->report = json_object();
        json_object_set_new(v->report, "model", json_string(g->name));
        json_object_set_new(v->report, "sizes", json_named_sizes(g, v->size));
        json_object_set_new(v->report, "checks", json_array());
}

static void print_check(Arena *a, const char *what, double error, double most, bool good, const char *bits)
{
        const char *rest =
                good ? bits : arena_printf(a, "FAIL: more than %g%s%s", most, *bits ? "; " : "", bits);
        printf("%-38s  %-*s%s\n", what, *rest ? 9 : 0, error == 0 ? "0" : arena_printf(a, "%.1e", error),
               rest);
        fflush(stdout);
}

static bool any_node(const Body *b, bool (*is)(const Node *n))
{
        for (int i = 0; i < b->nnode; i++) {
                const Node *n = b->node[i];
                if (is(n))
                        return true;
                for (int k = 0; n->op == OP_REPEAT && k < n->attr.region->nbody; k++)
                        if (any_node(n->attr.region->body[k], is))
                                return true;
        }
        return false;
}

static bool rounds_activations(const Node *n)
{
        return n->op == OP_MATMUL && rounded_group(n) > 0;
}

/* Whether a small change of a real may change the result by any amount. */
static bool jumps(const Node *n)
{
        bool of_reals = false;
        for (int i = 0; i < n->nin; i++)
                of_reals |= n->in[i]->type.dtype == REAL;
        switch ((int)n->op) {
        case OP_TOP:
        case OP_ARGMAX:
        case OP_CHOSEN:
        case OP_FLOOR:
        case OP_FLOORDIV:
        case OP_MOD:
        case OP_LESS:
        case OP_LESSEQ:
        case OP_EQUAL: return of_reals;
        default: return false;
        }
}

/* An 8-bit code may differ by one if double and float round differently: such outputs do not measure compiled
 * code, whose products are tested in tests/blocks.  A code is a 127th of its group's largest value, and few differ. */
static bool is_of_codes(const Verify *v, double error)
{
        const double most = 0.1;
        return any_node(v->oracle->top, rounds_activations) &&
               (error <= most || (isfinite(error) && any_node(v->oracle->top, jumps)));
}

void report_check(Verify *v, const char *what, double error, double most, bool agrees, const char *bits)
{
        bool flips = error > most && is_of_codes(v, error);
        bool good = error <= most || flips;
        v->failed |= !good || !agrees;
        if (flips)
                bits = arena_printf(&v->m.arena,
                                    "%s%sactivations' codes differ between double and float: not judged",
                                    bits, *bits ? "; " : "");
        if (!v->report) {
                print_check(&v->m.arena, what, error, most, good, bits);
                return;
        }
        json_array_append_new(json_object_get(v->report, "checks"),
                              json_pack("{s:s, s:o, s:f, s:s, s:b}", "what", what, "error",
                                        json_finite(error), "most", most, "bits", bits, "passed",
                                        good && agrees));
}

void report_floats(Verify *v, double error)
{
        if (v->report)
                json_object_set_new(v->report, "in_floats", json_finite(error));
        else
                printf("%-40s%.1e\n", "the interpreter itself, in floats", error);
}

bool report_end(Verify *v)
{
        json_t *all = v->report;
        if (!all)
                return true;
        v->report = NULL;
        json_object_set_new(all, "passed", json_boolean(!v->failed));
        if (json_write(all))
                return true;
        fprintf(stderr, "lathe verify: out of memory\n");
        return false;
}

bool give_up(Verify *v, const char *what, const char *why)
{
        v->m.env_error |= lacks_memory(why);
        fprintf(stderr, "lathe verify: %s: %s\n", what, why);
        return false;
}

void verify_tick(Verify *v)
{
        progress("verifying", PROGRESS_STEPS, ++v->done, v->steps);
}
