/* lathe check: parses, elaborates, proves; prints only errors.
 *
 * It checks every model of each file without a missing hyperparameter, or that of -m, and every test; of
 * other models only their settings. */
#include <stdio.h>

#include "commands_private.h"
#include "import/import.h"

static bool check_tests(Model *m)
{
        bool good = true;
        for (int i = 0; i < program_ntest(m->program); i++) {
                diag_clear(&m->diag);
                good &= elaborate_test(m->program, i, &m->diag) != NULL;
                diag_print(&m->diag, stderr);
        }
        return good;
}

static bool check_program_parts(Model *m, const CommandOptions *o)
{
        if (o->model)
                return model_check(m, o, o->model);
        int n;
        const char **name = program_models(m->program, o->override, o->noverride, &n);
        bool good = true;
        for (int i = 0; i < n; i++)
                good &= model_check(m, o, name[i]);
        diag_clear(&m->diag);
        check_open_models(m->program, o->override, o->noverride, &m->diag);
        configs_check(m->program, &m->diag);
        diag_print(&m->diag, stderr);
        good &= m->diag.count == 0;
        return check_tests(m) && good;
}

int check_command(const CommandOptions *o)
{
        int worst = DONE;
        for (int i = 0; i < o->nfile; i++) {
                Model m;
                int code;
                if (model_open(&m, o->file[i], &code))
                        code = check_program_parts(&m, o) ? DONE : WRONG_INPUT;
                worst = code > worst ? code : worst;
                model_free(&m);
        }
        return worst;
}
