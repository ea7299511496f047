/* The elaborator: from the syntax tree to a graph.  This file has its state, messages and tests;
 * elaborate_model.c has models, and each part of the language has its own file: expression, operator,
 * index, call, statement, declare, repeat, weight, checkpoint; with value.c, scope.c, program.c and
 * builtin.c. */
#include "elaborate_private.h"

#include <stdarg.h>
#include <stdlib.h>

Value poisoned(Elaborator *e, Span span, const char *format, ...)
{
        va_list args;
        va_start(args, format);
        const char *text = arena_vprintf(e->diag->arena, format, args);
        va_end(args);
        report_fault(e->diag, e->g, span, e->where, 0, NULL, text);
        if (e->diag->full)
                e->stopped = true;
        return POISON;
}

void hint_nearest(Elaborator *e, const char *name, const char *const *candidate, int n)
{
        const char *near = nearest_name(name, candidate, n);
        if (near)
                diag_hint(e->diag, "did you mean %s?", near);
}

/* Checks limits that span several constructs, at the start of expressions and statements. */
bool stopped(Elaborator *e, Span span)
{
        if (e->stopped)
                return true;
        e->work++;
        if (e->g->nnode > MAX_NODES)
                poisoned(e, span, "the graph has more than %d nodes", MAX_NODES);
        else if (e->g->deepest > MAX_TOWER)
                poisoned(e, span, "more than %d operations in a row, each on the one before: write a repeat",
                         MAX_TOWER);
        else if (e->work > MAX_WORK)
                poisoned(e, span, "elaboration does not end: more than %d expressions", MAX_WORK);
        else if (interrupted)
                diag_error(e->diag, (Span){0}, "interrupted");
        else
                return e->stopped;
        return e->stopped = true;
}

Elaborator *elaborator_new(Program *p, const char *name, Diag *diag)
{
        Elaborator *e = NEW(p->work, Elaborator);
        e->program = p;
        e->diag = diag;
        e->keep = e->arena = p->work;
        e->g = graph_new(p->work, name);
        e->g->source = p->main->source;
        e->body = e->g->top;
        e->iterations = 1;
        e->root = e->path = NEW(e->keep, PathScope);
        e->root->name = name;
        return e;
}

Graph *elaborator_finish(Elaborator *e)
{
        if (e->diag->count > 0)
                return NULL;
        verify(e->g, "elaborate");
        return integers_check(e->g, e->diag) ? e->g : NULL;
}

Graph *elaborate_test(Program *p, int which, Diag *diag)
{
        const Ast *test = p->test[which];
        int errors = diag->count;
        Elaborator *e = elaborator_new(p, test->name, diag);
        e->in_test = true;
        run_statements(e, scope_new(e, &p->main->scope, true), test->kid[0]);
        if (diag->count == errors)
                number_slots(e);
        if (diag->count == errors && e->g->nrequire == 0 && e->work == 0)
                poisoned(e, test->span, "this test requires nothing");
        return diag->count == errors ? elaborator_finish(e) : NULL;
}
