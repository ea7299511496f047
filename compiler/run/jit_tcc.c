/* Compiles the program by libtcc; neither headers nor a library of tcc are needed at run time. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include "jit_private.h"

#include "../../runtime/guard.h"
#include "../../runtime/team.h"

#include <libtcc.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Objects to link for a target: the kernels of its vectors, and its own products with blocks. */
enum { TABLES = 2 };
static const KernelSymbol *const *kernel_tables(const Target *t)
{
#define TARGET(name, machine, vectors, dot, ...)                                                             \
        {ON_##machine(kernels_##vectors, NULL), ON_##machine(kernels_blocks_##name, NULL)},
        static const KernelSymbol *const linked[][TABLES] = {
#include "../kernels/targets.def"
        };
        return linked[t - target_table];
}

bool has_kernels(const Target *t)
{
        return kernel_tables(t)[0];
}

const char *lacks_kernels(Arena *a, const Target *t)
{
        return !has_kernels(t) ? arena_printf(a, "no kernels for %s are compiled into this lathe", t->name)
               : !target_runs_here(t) ? arena_printf(a, "this processor does not run code for %s", t->name)
                                      : NULL;
}

KernelFunction *kernel_find(const Target *t, const char *name)
{
        for (int i = 0; i < TABLES; i++)
                for (const KernelSymbol *k = kernel_tables(t)[i]; k && k->name; k++)
                        if (!strcmp(k->name, name))
                                return k->function;
        return NULL;
}

static void barrier(Team *team)
{
        team_barrier(team);
}

/* Whether memory can be made executable.  libtcc exits if not. */
static bool has_executable_memory(void)
{
        size_t page = (size_t)sysconf(_SC_PAGESIZE);
        void *at = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (at == MAP_FAILED)
                return false;
        bool good = !mprotect(at, page, PROT_READ | PROT_WRITE | PROT_EXEC);
        munmap(at, page);
        return good;
}

static const char *declarations(Arena *a, const KernelSymbol *const *tables)
{
        Text *t = text_new(a);
        text_printf(t, "%s\nvoid profile_mark(int kernel);\n", embedded_text("jit.h"));
        for (int i = 0; i < TABLES; i++)
                for (const KernelSymbol *k = tables[i]; k->name; k++)
                        if (k->declaration)
                                text_printf(t, "%s\n\n", k->declaration);
        return t->data;
}

/* libtcc takes functions as pointers to objects. */
static const void *as_object(KernelFunction *f)
{
        const void *p;
        memcpy(&p, &f, sizeof p);
        return p;
}

static void add_symbols(TCCState *s, const KernelSymbol *const *tables)
{
        for (int i = 0; i < TABLES; i++)
                for (const KernelSymbol *k = tables[i]; k->name; k++)
                        tcc_add_symbol(s, k->name, as_object(k->function));
        const KernelSymbol own[] = {{"team_barrier", NULL, (KernelFunction *)barrier},
                                    {"profile_mark", NULL, (KernelFunction *)profile_mark},
                                    {"memset", NULL, (KernelFunction *)memset},
                                    {"memcpy", NULL, (KernelFunction *)memcpy},
                                    {"memmove", NULL, (KernelFunction *)memmove}};
        for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
                tcc_add_symbol(s, own[i].name, as_object(own[i].function));
}

typedef struct {
        Arena *arena;
        const char *message; /* the first */
} Complaint;

static void complain(void *opaque, const char *message)
{
        Complaint *c = opaque;
        if (!c->message)
                c->message = arena_strdup(c->arena, message);
}

/* libtcc keeps the state of a compilation in globals. */
static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;

static const char *tcc_compile(TCCState *s, const KernelSymbol *const *tables, const char *text,
                               JitCode *code)
{
        tcc_set_options(s, "-nostdlib -nostdinc");
        tcc_set_output_type(s, TCC_OUTPUT_MEMORY);
        if (tcc_compile_string(s, text))
                return "can't be compiled";
        add_symbols(s, tables);
        if (tcc_relocate(s, TCC_RELOCATE_AUTO))
                return "can't be linked";
        void *program = tcc_get_symbol(s, "lathe_program");
        memcpy(&code->program, &program, sizeof program);
        code->from = s;
        return program ? NULL : "has no program";
}

const char *jit_tcc(Plan *p, JitCode *code)
{
        Arena *a = p->graph->arena;
        *code = (JitCode){0};
        const char *lacks = lacks_kernels(a, p->target);
        if (lacks)
                return lacks;
        if (!has_executable_memory())
                return "no executable memory, which libtcc needs, can be allocated here; --jit cc works "
                       "without it";
        Text *text = text_new(a);
        emit_program_alone(p, declarations(a, kernel_tables(p->target)), text);
        Complaint complaint = {.arena = a};
        pthread_mutex_lock(&one_at_a_time);
        ending_enter_tcc(&complaint.message);
        TCCState *s = tcc_new();
        const char *error = no_memory;
        if (s) {
                tcc_set_error_func(s, &complaint, complain);
                error = tcc_compile(s, kernel_tables(p->target), text->data, code);
        }
        if (s && error)
                tcc_delete(s);
        ending_leave_tcc();
        pthread_mutex_unlock(&one_at_a_time);
        if (!error)
                return NULL;
        *code = (JitCode){0};
        return arena_printf(a, "libtcc: the program %s%s%s", error, complaint.message ? ": " : "",
                            complaint.message ? complaint.message : "");
}

void jit_tcc_free(JitCode *code)
{
        if (!code->from)
                return;
        pthread_mutex_lock(&one_at_a_time);
        tcc_delete(code->from);
        pthread_mutex_unlock(&one_at_a_time);
        *code = (JitCode){0};
}
