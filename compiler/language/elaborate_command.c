/* `lathe elaborate FILE [MODEL] [-D NAME=VALUE]`, for developers and tests: prints the elaborated model. */
#include "elaborate_private.h"

#include <string.h>

static void print_region(FILE *f, const Region *region, int depth)
{
        fprintf(f, "%*s%s: %lld iterations, %d bod%s", depth * 2, "", region->name,
                (long long)region->iterations, region->nbody, region->nbody == 1 ? "y" : "ies");
        for (int i = 0; i < region->nbody; i++)
                fprintf(f, "%s%d", i ? ", " : " of ", region->body[i]->nnode);
        fprintf(f, " nodes\n");
        for (int i = 0; i < region->nbody; i++)
                for (int k = 0; k < region->body[i]->nnode; k++)
                        if (region->body[i]->node[k]->op == OP_REPEAT)
                                print_region(f, region->body[i]->node[k]->attr.region, depth + 1);
}

/* One line each for weights with shape and slots, repeats with their bodies, outputs, settings and
 * entries. */
static void print_summary(FILE *f, const Graph *g, Arena *arena)
{
        for (int i = 0; i < g->nhyper; i++)
                fprintf(f, "%s %s %s%s", i ? "" : "hyper", g->hyper[i].name,
                        setting_text(arena, &g->hyper[i]), i + 1 == g->nhyper ? "\n" : "");
        for (int i = 0; i < g->ninput; i++)
                fprintf(f, "input %s %s group %d %s\n", g->input[i].name,
                        type_text(arena, g, &g->input[i].type), g->input[i].group, g->input[i].group_name);
        for (int i = 0; i < g->nweight; i++) {
                const Weight *w = g->weight[i];
                fprintf(f, "weight %s %s slots %lld", w->path, type_text(arena, g, &w->type),
                        (long long)w->slots);
                fprintf(f, w->centre != 0 ? " centre %g\n" : "\n", w->centre);
        }
        fprintf(f, "top: %d nodes\n", g->top->nnode);
        for (int i = 0; i < g->top->nnode; i++)
                if (g->top->node[i]->op == OP_REPEAT)
                        print_region(f, g->top->node[i]->attr.region, 1);
        for (int i = 0; i < g->noutput; i++)
                fprintf(f, "output %s %s\n", g->output[i].name,
                        type_text(arena, g, &g->output[i].node->type));
        for (int i = 0; i < g->nloop; i++) {
                fprintf(f, "loop %s", g->loop[i].name);
                for (int k = 0; k < g->loop[i].nsetting; k++)
                        fprintf(f, " %s %s", g->loop[i].setting[k].name,
                                setting_text(arena, &g->loop[i].setting[k]));
                fprintf(f, "\n");
        }
        for (int i = 0; i < g->nentry; i++) {
                static const char *const kind[] = {"map", "drop", "optional"};
                fprintf(f, "%s %s", kind[g->entry[i].kind], g->entry[i].name);
                if (g->entry[i].expr)
                        fprintf(f, " %s", type_text(arena, g, &g->entry[i].expr->type));
                fprintf(f, "\n");
        }
        if (g->nrequire)
                fprintf(f, "require %d\n", g->nrequire);
}

static int elaborate_all_tests(Program *p, Diag *diag, bool dump)
{
        for (int i = 0; i < program_ntest(p); i++) {
                Graph *g = elaborate_test(p, i, diag);
                if (!g)
                        continue;
                printf("test \"%s\"\n", program_test_name(p, i));
                if (dump)
                        graph_dump(stdout, g);
                else
                        print_summary(stdout, g, p->arena);
        }
        return diag->count > 0;
}

/* --dump prints the graph, --tests elaborates the file's tests instead of a model. */
int elaborate_command(int argc, char **argv)
{
        Arena arena = {0};
        Interner names = {.arena = &arena};
        Diag diag = {.arena = &arena};
        Override override[64];
        const char *path = NULL, *model = NULL;
        int noverride = 0, failed = 1;
        bool dump = false, tests = false;
        for (int i = 1; i < argc; i++) {
                char *equals;
                if (strcmp(argv[i], "--dump") == 0)
                        dump = true;
                else if (strcmp(argv[i], "--tests") == 0)
                        tests = true;
                else if (strcmp(argv[i], "-D") == 0 && i + 1 < argc && (equals = strchr(argv[i + 1], '=')) &&
                         noverride < 64)
                        override[noverride++] =
                                (Override){arena_strndup(&arena, argv[i + 1], equals - argv[i + 1]),
                                           equals + 1, NULL},
                        i++;
                else if (!path)
                        path = argv[i];
                else
                        model = argv[i];
        }
        if (!path) {
                fprintf(stderr, "usage: lathe elaborate [--dump] [--tests] [-D NAME=VALUE] FILE [MODEL]\n");
                return 2;
        }
        Program *p = program_load(&arena, &names, &diag, path, NULL);
        if (p && diag.count == 0 && tests) {
                failed = elaborate_all_tests(p, &diag, dump);
        } else if (p && diag.count == 0) {
                Graph *g = elaborate_model(p, model, override, noverride, &diag);
                failed = !g;
                if (g && dump)
                        graph_dump(stdout, g);
                else if (g)
                        print_summary(stdout, g, &arena);
        }
        fflush(stdout);
        diag_print(&diag, stderr);
        arena_free(&arena);
        return failed;
}
