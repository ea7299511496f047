/* Code as text, for `show M code` and --dump=lower; docs/ir.md is its reference. */
#include "code.h"

#include <inttypes.h>

typedef struct {
        FILE *file;
        const Plan *plan;
        const Function *function;
        int depth;
} Dump;

/* --- integers ------------------------------------------------------------------------------------------------------ */

static void dump_sign(const Dump *d, int64_t factor, bool *first)
{
        if (*first)
                fprintf(d->file, factor < 0 ? "-" : "");
        else
                fprintf(d->file, factor < 0 ? " - " : " + ");
        if (factor != 1 && factor != -1)
                fprintf(d->file, "%" PRId64 " ", factor < 0 ? -factor : factor);
        *first = false;
}

static void dump_size(const Dump *d, Dim size, bool *first)
{
        for (int i = 0; i < MAX_NAMED; i++) {
                if (!size.per[i])
                        continue;
                dump_sign(d, size.per[i], first);
                if (i == NAMED_FIRST)
                        fprintf(d->file, "first");
                else if (i >= NAMED_BASE)
                        fprintf(d->file, "base%d", i - NAMED_BASE);
                else if (i >= NAMED_ALONG && i < NAMED_ALONG + MAX_ALONG)
                        fprintf(d->file, "%s", d->plan->graph->along[i - NAMED_ALONG].name);
                else
                        fprintf(d->file, "%s", d->plan->graph->named[i].name);
        }
        if (!size.fixed && !*first)
                return;
        bool more = !*first;
        fprintf(d->file, "%s%" PRId64,
                !more            ? ""
                : size.fixed < 0 ? " - "
                                 : " + ",
                more && size.fixed < 0 ? -size.fixed : size.fixed);
        *first = false;
}

static void dump_index(const Dump *d, const Index *x);

static void dump_two(const Dump *d, const char *before, const Index *x, const char *between,
                     const char *after)
{
        fprintf(d->file, "%s", before);
        dump_index(d, x->a);
        fprintf(d->file, "%s", between);
        dump_index(d, x->b);
        fprintf(d->file, "%s", after);
}

static void dump_index(const Dump *d, const Index *x)
{
        bool first = true;
        switch (x->op) {
        case INDEX_SUM:
                for (int i = 0; i < x->nterm; i++) {
                        dump_sign(d, x->term[i].coef, &first);
                        dump_index(d, x->term[i].of);
                }
                dump_size(d, x->offset, &first);
                break;
        case INDEX_LOOP: fprintf(d->file, "i%d", x->number); break;
        case INDEX_LANE: fprintf(d->file, "j"); break;
        case INDEX_PLACE: fprintf(d->file, "x%d", x->number); break;
        case INDEX_WHOLE: fprintf(d->file, "whole"); break;
        case INDEX_DONE: fprintf(d->file, "done"); break;
        case INDEX_PLUS: dump_two(d, "", x, " + ", ""); break;
        case INDEX_MINUS: dump_two(d, "", x, " - (", ")"); break;
        case INDEX_TIMES: dump_two(d, "(", x, ") * (", ")"); break;
        case INDEX_QUOTIENT: dump_two(d, "(", x, ") / ", ""); break;
        case INDEX_REMAINDER: dump_two(d, "(", x, ") % ", ""); break;
        case INDEX_MIN: dump_two(d, "min(", x, ", ", ")"); break;
        case INDEX_MAX: dump_two(d, "max(", x, ", ", ")"); break;
        case INDEX_HELD:
                fprintf(d->file, "held(");
                dump_index(d, x->a);
                fprintf(d->file, ")");
                break;
        case INDEX_TABLE:
                fprintf(d->file, "table%d[", x->table->id);
                dump_index(d, x->a);
                fprintf(d->file, "]");
                break;
        }
}

/* --- statements ---------------------------------------------------------------------------------------------------- */

static void dump_place(const Dump *d, const Buffer *b, const Index *at)
{
        fprintf(d->file, " %s", b->name);
        if (!at)
                return;
        fprintf(d->file, "[");
        dump_index(d, at);
        fprintf(d->file, "]");
}

static void dump_operand(const Dump *d, const char *name, Operand o)
{
        fprintf(d->file, "%s", name);
        dump_place(d, o.buffer, o.at);
}

static void dump_loop(const Dump *d, const char *name, const CodeLoop *l)
{
        bool first = true;
        fprintf(d->file, " %s%s < %s", l->from_first ? "first <= " : "", name, l->together ? "all " : "");
        if (l->active)
                fprintf(d->file, "active");
        else
                dump_size(d, l->size, &first);
}

static void dump_numbered(const Dump *d, int loop)
{
        char name[16];
        snprintf(name, sizeof name, "i%d", loop);
        dump_loop(d, name, &d->function->loop[loop]);
}

static void dump_attention(const Dump *d, const AttentionCall *c)
{
        bool first = true;
        dump_operand(d, " q", c->q);
        dump_operand(d, ", k", c->k);
        dump_operand(d, ", v", c->v);
        dump_operand(d, ", out", c->out);
        if (c->chosen.buffer)
                dump_operand(d, ", chosen", c->chosen);
        fprintf(d->file,
                "; %" PRId64 " heads of %" PRId64 ", %" PRId64 " of keys, values of %" PRId64 "; keys ",
                c->heads, c->head_dim, c->kv_heads, c->v_dim);
        dump_size(d, c->keys, &first);
        fprintf(d->file, "; scores %s, bounds %s", c->score->name, c->live->name);
        if (c->sink)
                fprintf(d->file, ", sink %s", c->sink->name);
        if (c->weigh)
                fprintf(d->file, ", weights %s%s", c->weigh->name, c->all_weigh ? " of all keys" : "");
        if (c->row >= 0)
                dump_numbered(d, c->row);
}

static void dump_scan(const Dump *d, const ScanCall *c)
{
        static const char *const name[] = {" v", ", q", ", k", ", powers", ", out", ", state"};
        const Operand of[] = {c->v, c->q, c->k, c->powers, c->out, c->state};
        for (int i = 0; i < 6; i++)
                if (of[i].buffer)
                        dump_operand(d, name[i], of[i]);
        fprintf(d->file, "; %s%" PRId64 " heads, %" PRId64 " by %" PRId64, c->maxima ? "maxima, " : "",
                c->heads, c->depth, c->width);
        dump_numbered(d, c->row);
}

static void dump_activations(const Dump *d, const ActivationCall *c)
{
        dump_operand(d, " to", c->to);
        dump_operand(d, ", a", c->a);
        dump_operand(d, ", b", c->b);
        if (c->row >= 0)
                dump_numbered(d, c->row);
}

static void dump_call(const Dump *d, const Stmt *s)
{
        switch (s->op) {
        case STMT_MATMUL:
                dump_operand(d, " x", s->call.matmul->x);
                fprintf(d->file, ", rows %" PRId64 " apart", s->call.matmul->ldx);
                for (int i = 0; i < d->function->nloop - 1; i++)
                        dump_numbered(d, i);
                for (int i = 0; i < s->call.matmul->npart; i++) {
                        const MatmulPart *part = &s->call.matmul->part[i];
                        fprintf(d->file, "; %s to %s", part->segment->w[0]->name, part->epilogue->name);
                }
                break;
        case STMT_ACTIVATION_MATMUL: dump_activations(d, s->call.activation); break;
        case STMT_ATTENTION: dump_attention(d, s->call.attention); break;
        case STMT_SCAN: dump_scan(d, s->call.scan); break;
        case STMT_TOP:
        case STMT_CHOSEN:
        case STMT_AMONG:
        case STMT_ARGMAX:
        case STMT_CODES:
                dump_operand(d, " to", s->call.select->to);
                dump_operand(d, ", of", s->call.select->of);
                break;
        case STMT_MOVE:
                dump_operand(d, " to", s->call.move->to);
                dump_operand(d, ", from", s->call.move->from);
                break;
        default: break;
        }
        int n;
        const int *around = loops_around(s, &n);
        for (int i = 0; i < n; i++)
                dump_numbered(d, around[i]);
}

static bool defines_vector(const Stmt *s)
{
        return s->op <= STMT_ACROSS && s->op != STMT_ACCUMULATE;
}

static void dump_stmt(Dump *d, const Stmt *s);

static void dump_list(Dump *d, const StmtList *b)
{
        d->depth++;
        for (int i = 0; i < b->n; i++)
                dump_stmt(d, &b->stmt[i]);
        d->depth--;
}

static const char *compute_word(const Stmt *s)
{
        bool named = s->op == STMT_COMPUTE || s->op == STMT_ACCUMULATE || s->op == STMT_ACROSS;
        return named ? op_info[s->compute].vector : "";
}

/* "t3 = load", "t3 accumulate add", "x4 = place" */
static void code_dump_head(const Dump *d, const Stmt *s)
{
        bool integer = s->op == STMT_PLACE || s->op == STMT_INTEGER;
        fprintf(d->file, "%*s", 2 * d->depth, "");
        if (defines_vector(s))
                fprintf(d->file, "t%d = ", s->to);
        else if (integer)
                fprintf(d->file, "x%d = ", s->to);
        else if (s->op == STMT_ACCUMULATE)
                fprintf(d->file, "t%d ", s->to);
        if (s->op == STMT_COMPUTE)
                fprintf(d->file, "%s", compute_word(s));
        else
                fprintf(d->file, "%s%s%s", stmt_text[s->op], *compute_word(s) ? " " : "", compute_word(s));
        fprintf(d->file, s->f64 ? ".f64" : "");
}

static void dump_stmt(Dump *d, const Stmt *s)
{
        code_dump_head(d, s);
        for (int i = 0; i < s->nfrom; i++)
                fprintf(d->file, "%s t%d", i ? "," : "", s->from[i]);
        if (s->op == STMT_NUMBER || s->op == STMT_KEEP || s->op == STMT_START)
                fprintf(d->file, " %.9g", s->value);
        if (s->op == STMT_GIVEN)
                fprintf(d->file, " %d", s->variant);
        if (s->buffer) {
                dump_place(d, s->buffer, s->at);
        } else if (s->at) {
                fprintf(d->file, " ");
                dump_index(d, s->at);
        }
        if (s->op == STMT_BOUNDS && s->high) {
                fprintf(d->file, " to ");
                dump_index(d, s->high);
        }
        if ((s->op == STMT_LOAD || s->op == STMT_STORE) && s->step != 1)
                fprintf(d->file, " step %" PRId64, s->step);
        if (s->op == STMT_LOAD || s->op == STMT_STORE)
                fprintf(d->file, s->lanes == REST_LANES ? ", n" : s->lanes == ONE_LANE ? ", 1" : "");
        if (s->op == STMT_LANES)
                dump_loop(d, "j", s->over);
        for (int i = s->begin; i < s->end; i++)
                dump_numbered(d, i);
        dump_call(d, s);
        if (s->of && s->of->name)
                fprintf(d->file, "  # %s", s->of->name);
        fprintf(d->file, "\n");
        if (s->inside)
                dump_list(d, s->inside);
}

/* --- functions ------------------------------------------------------------------------------------------------------ */

static void dump_uses(FILE *f, const Code *c)
{
        fprintf(f, "# reads");
        for (int i = 0; i < c->nread; i++)
                fprintf(f, " %s", c->read[i]->name);
        fprintf(f, "; writes");
        for (int i = 0; i < c->nwritten; i++)
                fprintf(f, " %s", c->written[i]->name);
        fprintf(f, "%s%s\n", c->uses & USES_POSITION ? "; depends on positions" : "",
                c->uses & USES_STATE ? "; on state" : "");
}

static void dump_function(FILE *f, const Plan *p, const Function *of)
{
        static const char *const role[] = {
                [WHOLE_KERNEL] = "kernel", [EPILOGUE] = "epilogue", [SCORE] = "score",
                [LIVE] = "bounds",         [SINK] = "sink",         [ACTIVE_ROWS] = "active"};
        Dump d = {.file = f, .plan = p, .function = of};
        fprintf(f, "%s %s {\n", role[of->role], of->name);
        dump_list(&d, &of->body);
        fprintf(f, "}\n");
}

void dump_code(FILE *f, const Plan *p)
{
        bool first = true;
        for (int i = 0; i < p->all.n; i++) {
                const Kernel *kernel = p->all.kernel[i];
                if (kernel->op == K_REPEAT)
                        continue;
                fprintf(f, first ? "" : "\n");
                first = false;
                dump_uses(f, kernel->code);
                for (int n = 0; n < kernel->code->n; n++)
                        dump_function(f, p, kernel->code->function[n]);
        }
}
