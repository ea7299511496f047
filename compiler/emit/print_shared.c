/* A function that several kernels call: kernels whose Code is equal except for the buffers.
 *
 *      STEP void rmsnorm_96(const tale *m, const float *x, const float *gain, float *out, int64_t first,
 *      int thread)
 *
 * It is printed before the first of them, and named after their block and the width of its rows. */
#include <string.h>

#include "print_private.h"

static const CodeLoop *rows_of(const Kernel *k)
{
        const Function *f = k->code->function[0];
        return &f->loop[f->body.stmt[0].begin];
}

static void collect(const StepList *list, const Kernel **kernel, int *n)
{
        for (int i = 0; i < list->n; i++) {
                const Step *s = list->step[i];
                if (s->op == STEP_CALL && may_be_shared(s->kernel))
                        kernel[(*n)++] = s->kernel;
                if (s->op != STEP_FOR_SEQUENCES && s->op != STEP_FOR_RANGES)
                        collect(&s->inside, kernel, n);
        }
}

static bool name_is_taken(const Plan *p, SharedFunction *const *shared, const char *name)
{
        bool taken = is_c_word(name) || !strcmp(name, p->c_name);
        for (int i = 0; i < p->all.n; i++)
                taken |= p->all.kernel[i]->name && !strcmp(p->all.kernel[i]->name, name);
        for (int i = 0; i < p->steps; i++)
                taken |= shared[i] && shared[i]->name && !strcmp(shared[i]->name, name);
        return taken;
}

/* "rmsnorm_96" */
static const char *name_of_shared(const Plan *p, SharedFunction *const *shared, const Kernel *k)
{
        Arena *a = p->graph->arena;
        const Function *f = k->code->function[0];
        const Dim width = f->loop[f->nloop - 1].size;
        const Node *value = k->stores.of[0].node;
        const char *block = k->where && k->where->block ? k->where->block
                            : value->name               ? arena_printf(a, "compute_%s", value->name)
                                                        : op_info[value->op].text,
                   *name = dim_is_fixed(width) ? arena_printf(a, "%s_%lld", block, (long long)width.fixed)
                                               : block,
                   *own = name;
        for (int i = 2; name_is_taken(p, shared, own); i++)
                own = arena_printf(a, "%s_%d", name, i);
        return own;
}

SharedFunction **find_shared(Plan *p)
{
        SharedFunction **shared = NEW_ARRAY(p->graph->arena, SharedFunction *, p->steps + 1);
        const Kernel **kernel = NEW_ARRAY(p->graph->arena, const Kernel *, p->steps + 1);
        int n = 0;
        collect(p->program, kernel, &n);
        for (int i = 0; i < n; i++)
                for (int j = 0; j < i && !shared[kernel[i]->order.step]; j++) {
                        const Kernel *first = kernel[j];
                        if (!kernels_alike(first, kernel[i]))
                                continue;
                        SharedFunction **of = &shared[first->order.step];
                        if (!*of) {
                                *of = NEW(p->graph->arena, SharedFunction);
                                (*of)->kernel = first;
                                (*of)->name = name_of_shared(p, shared, first);
                        }
                        (*of)->takes_first |= rows_of(first)->from_first != rows_of(kernel[i])->from_first;
                        shared[kernel[i]->order.step] = *of;
                }
        return shared;
}

const char *shared_parameters(const Printer *p)
{
        Text *t = text_new(p->arena);
        for (int i = 0; i < p->f->npointer; i++)
                text_printf(t, ", %s%s *%s", p->pointer[i].stored ? "" : "const ",
                            storage_info[p->f->pointer[i]->storage].c, p->pointer[i].name);
        text_put(t, p->shared->takes_first ? ", int64_t first" : "");
        return t->data;
}

void print_shared_call(Plan *p, const Kernel *k, const SharedFunction *shared, Text *out)
{
        Printer printer = {.plan = p, .kernel = k, .f = k->code->function[0], .arena = p->graph->arena};
        Text *t = text_new(p->graph->arena);
        text_printf(t, "%s(m", shared->name);
        for (int i = 0; i < printer.f->npointer; i++)
                text_printf(t, ", %s", pointer_value(&printer, printer.f->pointer[i]));
        if (shared->takes_first)
                text_printf(t, ", %s", rows_of(k)->from_first ? "m->first" : "0");
        text_printf(out, "%s, thread); /* %s */\n", t->data, k->name);
}
