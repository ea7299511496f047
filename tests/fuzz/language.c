/* The language: from a text through the elaborator and all passes to C, for every model and test in it. */
#include <stdlib.h>

#include "driver/driver.h"
#include "harness.h"
#include "tokens.h"

/* As `lathe check`, then `lathe build --code-only`. */
static bool compile(Model *m, const CommandOptions *o, const char *name)
{
        Plan *p = model_check(m, o, name) ? model_plan(m, o, target_find("scalar")) : NULL;
        if (!p)
                return false;
        EmitOptions options = {.name = "f", .parameters = parameter_count(m->graph)};
        options.flops_token = cost_per_token(m->graph);
        emit(p, &options, text_new(&m->arena), text_new(&m->arena));
        return true;
}

static bool compile_all(Model *m, const CommandOptions *o)
{
        int n;
        const char **name = program_models(m->program, NULL, 0, &n);
        bool good = true;
        for (int i = 0; i < n; i++)
                good &= compile(m, o, name[i]);
        for (int i = 0; i < program_ntest(m->program); i++) {
                diag_clear(&m->diag);
                good &= elaborate_test(m->program, i, &m->diag) != NULL;
                diag_print(&m->diag, stderr);
        }
        return good;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        char *text = harness_text(data, size);
        Model m = {0};
        CommandOptions o;
        options_begin(&o);
        m.names.arena = m.diag.arena = &m.arena;
        harness_listen();
        const Source *source = source_new(&m.arena, "f.model", text, (int32_t)size);
        m.program = program_load(&m.arena, &m.names, &m.diag, "f.model", source);
        diag_print(&m.diag, stderr);
        bool good = m.program && !m.diag.count && compile_all(&m, &o);
        harness_heard_why(!good);
        model_free(&m);
        free(text);
        return 0;
}
