/* `lathe show MODEL PART -o FILE`: the part as a picture (pictures/), as SVG, PDF or PNG. */
#include <stdio.h>
#include <string.h>

#include "driver.h"
#include "pictures/pictures.h"

enum { THREADS_SHOWN = 4 /* default of --threads */ };

bool picture_name_fits(const CommandOptions *o, ModelPart part)
{
        const bool graph = part == PART_GRAPH || part == PART_ELABORATED;
        if (!o->out || !strcmp(o->out, "-") || is_drawing_name(o->out) ||
            (graph && text_ends_with(o->out, ".dot")))
                return true;
        fprintf(stderr,
                "lathe show: -o must be a name that ends in .svg, .pdf%s, or - for SVG on standard output, "
                "not "
                "%s\n",
                graph ? ", .png or .dot" : " or .png", o->out);
        return false;
}

int shown_threads(const CommandOptions *o)
{
        return o->given[OPT_THREADS] ? o->threads : THREADS_SHOWN;
}

/* The given ceilings, or measured ones; false after a message. */
static bool find_roof(const CommandOptions *o, const Target *t, Roof *roof)
{
        if (o->speed.gflops > 0) {
                *roof = (Roof){{o->speed.gbytes * 1e9, o->speed.gflops * 1e9}, "one thread, as given"};
                return true;
        }
        if (!target_runs_here(t)) {
                fprintf(stderr,
                        "lathe show: code for %s does not run here, so its roof can't be measured; --roof "
                        "gives it\n",
                        t->name);
                return false;
        }
        roof->from = "one thread, measured on this machine";
        if (ceilings_measure(&roof->most, 1))
                return true;
        fprintf(stderr, "lathe show: the roof can't be measured here; --roof gives it\n");
        return false;
}

static int show_write_picture(const CommandOptions *o, const Text *t)
{
        return drawing_write(o->out, t->data, t->n) ? DONE : WRONG_ENVIRONMENT;
}

int picture_of_graph(Model *m, const CommandOptions *o)
{
        Text *t = text_new(&m->arena);
        if (text_ends_with(o->out, ".dot"))
                print_graph_dot(t, m->graph);
        else
                draw_graph(t, m->graph);
        return show_write_picture(o, t);
}

int picture_of_plan(Model *m, const CommandOptions *o, ModelPart part, const Plan *p)
{
        Text *t = text_new(&m->arena);
        Roof roof;
        if (part == PART_PLAN) {
                draw_arena(t, p);
                return show_write_picture(o, t);
        }
        if (!find_roof(o, p->target, &roof))
                return WRONG_ENVIRONMENT;
        if (part == PART_THREADS) {
                draw_threads(t, p, &roof, shown_threads(o));
                return show_write_picture(o, t);
        }
        PlanCall *call;
        const int n = calls_of(&m->arena, p, &call);
        draw_roofline(t, p, &roof, call, n);
        return show_write_picture(o, t);
}
