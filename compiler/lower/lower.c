/* Lower: kernels become Code.  This file has the loops around a fused expression, the selection among a
 * row's elements, and the search for the active rows of an iteration. */
#include "lower_private.h"

#include <string.h>

/* --- construction of functions ----------------------------------------------------------------------------------- */

Lower lower_new(Plan *p, Kernel *k, Role role, const char *name)
{
        Arena *a = p->graph->arena;
        Function *f = NEW(a, Function);
        f->role = role;
        f->name = name;
        f->row = -1;
        Lower l = {.plan = p, .kernel = k, .arena = a, .function = f};
        l.row = NEW(a, StmtList);
        l.lanes = NEW(a, StmtList);
        return l;
}

void set_lane(Lower *l, int loop)
{
        Dim size = l->domain.loop[loop].size;
        l->lane = loop;
        l->whole_lanes = dim_is_fixed(size) && size.fixed % LANES == 0;
}

/* Whether a loop runs only over requested rows. */
bool begins_at_first(const Lower *l, int loop)
{
        return l->kernel->rows == ROWS_REQUESTED && loop == 0;
}

static CodeLoop code_loop(const Lower *l, int loop)
{
        return (CodeLoop){.size = l->domain.loop[loop].size,
                          .from_first = begins_at_first(l, loop),
                          .active = loop == 0 && l->active_only,
                          .together = loop == 0 && (l->kernel->batching == BATCH_ROWS ||
                                                    l->kernel->batching == BATCH_ROWS_LOOKED_UP)};
}

const CodeLoop *new_loop(const Lower *l, int loop)
{
        CodeLoop *own = NEW(l->arena, CodeLoop);
        *own = code_loop(l, loop);
        return own;
}

void add_function(Plan *p, Code *code, Function *f)
{
        Arena *a = p->graph->arena;
        code->function = arena_grow(a, code->function, code->n * (int64_t)sizeof *code->function,
                                    (code->n + 1) * (int64_t)sizeof *code->function);
        code->function[code->n++] = f;
}

static void append(Lower *l, StmtList *to, const StmtList *from)
{
        for (int i = 0; i < from->n; i++)
                add_stmt(l, to, from->stmt[i]);
}

void close_function(Lower *l)
{
        Function *f = l->function;
        for (int i = 0; i < l->domain.n; i++)
                f->loop[i] = code_loop(l, i);
        f->vectors = l->numbers;
        f->nloop = l->domain.n;
        f->lane_loop = l->lane;
        f->whole_lanes = l->whole_lanes;
        append(l, &f->body, l->row);
        append(l, &f->body, l->lanes);
}

/* The function's body is `inside` for every row of its first n loops. */
static void close_rows(Lower *l, StmtOp op, int n, StmtList *inside)
{
        l->row = NEW(l->arena, StmtList);
        l->lanes = NEW(l->arena, StmtList);
        add_stmt(l, l->row, (Stmt){.op = op, .end = n, .inside = inside});
        close_function(l);
}

/* --- loops ------------------------------------------------------------------------------------------------------- */

/* The stores of a loop kernel; false: stuck or refined. */
static bool loop_stores(Lower *l, StmtList *stores)
{
        Kernel *k = l->kernel;
        for (int i = 0; i < k->stores.n; i++) {
                Node *root = k->stores.of[i].node;
                Map at = map_identity(&l->domain, &root->type);
                for (int d = 0; d < l->domain.n; d++)
                        if (dim_is(l->domain.loop[d].size, 1) && root->type.rank)
                                at.axis[l->domain.loop[d].axis].coef[d] = 0;
                int value;
                if (k->op == K_FILL) {
                        value = lower_constant(l, root, k->fill);
                } else {
                        l->computing = k->stores.of[i].copy ? NULL : root;
                        value = lower_value(l, root, &at);
                }
                if (value < 0)
                        return false;
                if (!lower_store(l, root, k->stores.of[i].to, &at, value, stores)) {
                        l->stuck = root;
                        return false;
                }
        }
        return true;
}

/* Whether the kernel must compute one element at a time for stuck's sake: a fold along another axis than
 * the last runs in lanes itself; other expressions do so as a last resort.  The kernel's last loop then
 * has size 1. */
static bool wants_single(const Plan *p, const Kernel *k, const Node *stuck)
{
        const Node *root = k->stores.of[0].node;
        return p->of_node.single[root->id] || (op_info[root->op].family == REDUCE && root == stuck);
}

/* Ends the rows of a loop kernel with its stores. */
static void close_loops(Lower *l, const StmtList *stores)
{
        int last = l->loops - 1;
        bool single = dim_is(l->domain.loop[last].size, 1);
        append(l, l->lanes, stores);
        add_stmt(l, l->row,
                 (Stmt){.op = single ? STMT_ONE : STMT_LANES,
                        .over = new_loop(l, last),
                        .lanes = l->whole_lanes ? ALL_LANES : REST_LANES,
                        .inside = l->lanes});
        close_rows(l, STMT_ROWS, last, l->row);
}

static Node *lower_loop(Plan *p, Kernel *k, Code *code)
{
        Domain domain = domain_of(p->graph, &k->stores.of[0].node->type);
        for (;;) {
                Lower l = lower_new(p, k, WHOLE_KERNEL, k->name);
                l.domain = domain;
                l.loops = domain.n;
                l.active_only = k->rows == ROWS_ACTIVE;
                set_lane(&l, domain.n - 1);
                StmtList stores = {0};
                if (loop_stores(&l, &stores)) {
                        close_loops(&l, &stores);
                        add_function(p, code, l.function);
                        return NULL;
                }
                if (!l.refined && wants_single(p, k, l.stuck) && !dim_is(domain.loop[domain.n - 1].size, 1) &&
                    domain.n < MAX_LOOPS) {
                        int last = k->stores.of[0].node->type.rank - 1;
                        domain.loop[domain.n++] = (DomainLoop){dim_fixed(1), last, 1};
                } else if (l.refined) {
                        domain_refine(&domain, l.refine);
                } else {
                        return l.stuck;
                }
        }
}

/* --- top, lists of it, argmax --------------------------------------------------------------------------------------------------- */

static Node *lower_select(Plan *p, Kernel *k, Code *code)
{
        Node *root = k->stores.of[0].node, *in = root->in[0];
        Buffer *to = k->stores.of[0].to, *of;
        const bool along = root->op != OP_ARGMAX, chosen = root->op == OP_CHOSEN,
                   among = root->op == OP_AMONG;
        int axis = along ? root->type.rank - 1 : root->attr.axis;
        Lower l = lower_new(p, k, WHOLE_KERNEL, k->name);
        l.domain = domain_of(p->graph, &root->type);
        l.loops = l.domain.n;
        set_lane(&l, l.loops - 1);
        Map at = map_identity(&l.domain, &root->type), from = at;
        int own = l.lane, of_loop = own, to_loop = own;
        if (!along || chosen || among) { /* of other elements than those of the result */
                of_loop = l.domain.n++;
                l.domain.loop[of_loop] = (DomainLoop){in->type.dim[axis], -1, 1};
                from.axis[axis] = (AxisIndex){0};
                from.axis[axis].coef[of_loop] = 1;
                own = among ? own : of_loop;
                l.lane = own;
        }
        Address x;
        if (address_through(p, &l.domain, &from, in, NULL, &x, &of, &l.refine) != MAP_OK)
                return in;
        Address y = address_of(to, &at);
        if (!reads_straight(of, &x))
                return base_of(in);
        const int64_t of_step = x.coef[of_loop], to_step = along ? y.coef[to_loop] : 0;
        x.coef[of_loop] = 0;
        if (along)
                y.coef[to_loop] = 0;
        names_buffer(&l, of);
        names_buffer(&l, to);
        SelectCall *call = NEW(l.arena, SelectCall);
        *call = (SelectCall){.to = {to, address_index(&l, &y, false)},
                             .of = {of, address_index(&l, &x, false)},
                             .to_step = to_step,
                             .of_step = of_step,
                             .over = new_loop(&l, own),
                             .count = among ? (int)in->type.dim[axis].fixed : root->attr.index};
        StmtList *inside = NEW(l.arena, StmtList);
        const StmtOp op = chosen ? STMT_CHOSEN : among ? STMT_AMONG : along ? STMT_TOP : STMT_ARGMAX;
        add_stmt(&l, inside, (Stmt){.op = op, .call.select = call});
        close_rows(&l, STMT_ROWS, along ? l.loops - 1 : l.loops, inside);
        add_function(p, code, l.function);
        return NULL;
}

/* --- the rows that an iteration changes ------------------------------------------------------------------------------ */

static Node *lower_active(Plan *p, Kernel *k, Code *code)
{
        Node *root = k->stores.of[0].node;
        Lower l = lower_new(p, k, ACTIVE_ROWS, k->name);
        l.domain = domain_of(p->graph, &root->type);
        l.loops = l.domain.n;
        set_lane(&l, l.loops - 1);
        Map at = map_identity(&l.domain, &root->type);
        at.axis[root->type.rank - 1] = (AxisIndex){0}; /* of size 1 */
        int value = lower_value(&l, root, &at);
        if (value < 0)
                return l.stuck;
        StmtList *inside = l.row;
        append(&l, inside, l.lanes);
        add_stmt(&l, inside, (Stmt){.op = STMT_ACTIVE, .from = {value}, .nfrom = 1});
        close_rows(&l, STMT_ALL_ROWS, l.loops - 1, inside);
        add_function(p, code, l.function);
        return NULL;
}

/* --- all kinds ------------------------------------------------------------------------------------------------------- */

/* Whether the kernel may copy the view element by element, as a last resort. */
static bool may_move(const Plan *p, const Kernel *k)
{
        const Node *root = k->stores.of[0].node;
        return root->op == OP_VIEW && p->of_node.single[root->id] && !k->stores.of[0].copy;
}

static Node *lower_kind(Plan *p, Kernel *k, Code *code)
{
        Node *stuck;
        switch (k->op) {
        case K_LOOP:
                if (k->stores.of[0].to->storage == STORAGE_Q8)
                        return lower_codes(p, k, code);
                stuck = lower_loop(p, k, code);
                return stuck && may_move(p, k) ? lower_move(p, k, code) : stuck;
        case K_FILL: return lower_loop(p, k, code);
        case K_MATMUL: return lower_matmul(p, k, code);
        case K_ACTIVATION_MATMUL: return lower_activations(p, k, code);
        case K_ATTENTION: return lower_attention(p, k, code);
        case K_SCAN: return lower_scan(p, k, code);
        case K_SELECT: return lower_select(p, k, code);
        case K_ACTIVE: return lower_active(p, k, code);
        case K_REPEAT: return NULL;
        }
        return NULL;
}

Node *lower(Plan *p, Kernel *k)
{
        Code *code = NEW(p->graph->arena, Code);
        Node *stuck = lower_kind(p, k, code);
        k->code = code;
        if (!stuck)
                code_facts(p, k, code);
        return stuck;
}

bool pass_lower(Plan *p, Diag *diag)
{
        (void)diag;
        for (int i = 0; i < p->all.n; i++)
                lower(p, p->all.kernel[i]);
        for (int i = 0; i < p->all.n; i++)
                check_code(p, p->all.kernel[i]);
        return true;
}
