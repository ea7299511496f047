/* The arena over time: a box for each buffer, whose width is its life and whose height is its size.
 *
 *      bytes
 *        |   +--------------------+
 *        |   |   q                |      +-------+
 *        |   +---------+----------+------+ h     |
 *        |   |   ln1   |          | gate +-------+
 *        +---+---------+----------+------+--------->  kernels, in the order in which they run */
#include <inttypes.h>
#include <math.h>

#include "pictures_private.h"

enum {
        LEFT = 110,
        HEAD = 44,
        BAND = 15,
        HIGH = 440,
        WIDE = 960,
        MIN_COLUMN = 15,
        MAX_COLUMN = 76,
        LEGEND = 64
};

typedef struct {
        Text *out;
        const Plan *plan;
        double column; /* width of a step */
        Axis bytes;
        bool *carried;   /* by buffer id */
        DrawnKind *kind; /* by buffer id */
        unsigned kinds;
} ArenaPicture;

static bool is_drawn(const Buffer *b)
{
        return b->home == IN_ARENA && !b->part_of && b->first >= 0;
}

static const Buffer *allocation_of(const Buffer *b)
{
        while (b->alias)
                b = b->alias;
        return b;
}

static double step_at(const ArenaPicture *d, int step)
{
        return LEFT + step * d->column;
}

/* --- kinds of buffers ------------------------------------------------------------------------------------------------- */

static void find_carried(ArenaPicture *d)
{
        for (int b = 1; b < d->plan->nbody; b++)
                for (int i = 0; i < d->plan->body[b]->nnode; i++) {
                        const Node *n = d->plan->body[b]->node[i];
                        Buffer *of = n->op == OP_CARRY ? d->plan->of_node.value[n->id] : NULL;
                        if (of)
                                d->carried[whole_buffer(of)->id] = true;
                }
}

/* A buffer's kind is that of the first kernel that stores it. */
static void find_kinds(ArenaPicture *d)
{
        const Plan *p = d->plan;
        int *first = NEW_ARRAY(d->out->arena, int, p->nbuffer);
        for (int b = 0; b < p->nbuffer; b++) {
                d->kind[b] = KIND_OTHER;
                first[b] = -1;
        }
        for (int b = 0; b < p->all.n; b++) {
                const Kernel *k = p->all.kernel[b];
                for (int w = 0; k->op != K_REPEAT && w < k->code->nwritten; w++) {
                        const int id = k->code->written[w]->id;
                        if (first[id] >= 0 && first[id] < k->order.step)
                                continue;
                        first[id] = k->order.step;
                        d->kind[id] = kind_of_kernel(k);
                }
        }
        for (int b = 0; b < p->nbuffer; b++) {
                d->kind[b] = d->carried[b] ? KIND_CARRIED : d->kind[b];
                if (is_drawn(p->buffer[b]))
                        d->kinds |= 1U << d->kind[b];
        }
}

/* --- boxes ------------------------------------------------------------------------------------------------------------ */

/* The name, or its last parts, that fit into the width in pixels; NULL: none. */
static const char *fitting(const char *name, double room, int size)
{
        while (name && svg_width(name, size) > room) {
                const char *dot = strchr(name, '.');
                name = dot ? dot + 1 : NULL;
        }
        return name;
}

typedef struct {
        double x, y, width, height;
} Area;

/* Buffers in the memory of another one are drawn within it. */
static Area area_of(const ArenaPicture *d, const Buffer *b)
{
        const double x = step_at(d, b->first), width = step_at(d, b->last + 1) - x;
        const double top = axis_at(&d->bytes, (double)(b->offset + b->size)),
                     height = axis_at(&d->bytes, (double)b->offset) - top;
        if (b->alias)
                return (Area){x + 2, top + 0.28 * height, width - 4, 0.44 * height};
        return (Area){x, top, width, height};
}

static void draw_buffer(const ArenaPicture *d, const Buffer *b)
{
        const Buffer *place = allocation_of(b);
        const Area at = area_of(d, b);
        Arena *a = d->out->arena;
        svg_open(d->out,
                 " data-buffer=\"%d\" data-offset=\"%" PRId64 "\" data-bytes=\"%" PRId64
                 "\" data-first=\"%d\" data-last=\"%d\" data-place=\"%d\"",
                 b->id, b->offset, b->size, b->first, b->last, place->id);
        svg_box(d->out, at.x, at.y, at.width, at.height, b->alias ? "inner" : "box",
                kind_fill[d->kind[b->id]],
                arena_printf(a, "%s %s: %" PRId64 " bytes from %" PRId64 ", kernels %d to %d%s%s", b->name,
                             type_text(a, d->plan->graph, &b->type), b->size, b->offset, b->first, b->last,
                             b->alias ? ", in the buffer of " : "", b->alias ? place->name : ""));
        svg_close(d->out);
}

/* The part of an area for the name: before another value uses it. */
static Area free_area(const ArenaPicture *d, const Buffer *b)
{
        Area at = area_of(d, b);
        int until = b->last + 1;
        for (int i = 0; i < d->plan->nbuffer; i++) {
                const Buffer *other = d->plan->buffer[i];
                if (is_drawn(other) && other != b && allocation_of(other) == b && other->first < until)
                        until = other->first;
        }
        at.width = b->alias ? at.width : step_at(d, until) - at.x;
        return at;
}

/* Draws the name in letters of this size, over lines; false: no room. */
static bool draw_name(const ArenaPicture *d, const Buffer *b, Area at, int size)
{
        Text *out = d->out;
        const char *class = size == SVG_SIZE ? "text middle" : "small middle",
                   *fill = kind_fill[d->kind[b->id]];
        const char *across = at.height > size ? fitting(b->name, at.width - 4, size) : NULL;
        const char *up = at.width > size + 1 ? fitting(b->name, at.height - 4, size) : NULL;
        const char *shape = type_text(out->arena, d->plan->graph, &b->type);
        const double x = at.x + at.width / 2, y = at.y + at.height / 2;
        const double wide = across ? svg_width(across, size)
                            : up   ? svg_width(up, size)
                                   : 0,
                     wide_shape = svg_width(shape, SVG_SMALL);
        if (across && at.height > 2.6 * size && wide_shape < at.width - 4) {
                const double plate = fmax(wide, wide_shape);
                svg_box(out, x - plate / 2 - 2, y - size, plate + 4, 2 * size + 2, "plate", fill, NULL);
                svg_text(out, x, y - 1, class, across);
                svg_text(out, x, y + 11, "small middle grey", shape);
        } else if (across) {
                svg_box(out, x - wide / 2 - 2, y - size * 0.5, wide + 4, size, "plate", fill, NULL);
                svg_text(out, x, y + size * 0.36, class, across);
        } else if (up) {
                svg_box(out, x - size * 0.5, y - wide / 2 - 2, size, wide + 4, "plate", fill, NULL);
                svg_text_up(out, x + size * 0.36, y, class, up);
        }
        return across || up;
}

static void draw_names(const ArenaPicture *d)
{
        for (int i = 0; i < d->plan->nbuffer; i++) {
                const Buffer *b = d->plan->buffer[i];
                if (is_drawn(b) && !draw_name(d, b, free_area(d, b), SVG_SIZE))
                        draw_name(d, b, free_area(d, b), SVG_SMALL);
        }
}

/* --- the frame -------------------------------------------------------------------------------------------------------- */

static void draw_kernel_names(const ArenaPicture *d, int body, double bottom)
{
        const Plan *p = d->plan;
        Arena *a = d->out->arena;
        for (int i = 0; i < p->list[body].n; i++) {
                const Kernel *k = p->list[body].kernel[i];
                const double x = step_at(d, k->order.step) + d->column / 2 + 4;
                const bool repeat = k->op == K_REPEAT;
                svg_open(d->out, " data-kernel=\"%d\"", k->order.step);
                svg_text_up(d->out, x, bottom + 8, repeat ? "text end grey" : "text end",
                            repeat ? arena_printf(a, "%s begins", k->name) : k->name);
                svg_close(d->out);
                if (!repeat)
                        continue;
                for (int b = 0; b < k->repeat.region->nbody; b++)
                        draw_kernel_names(d, body_number(p, k->repeat.region->body[b]), bottom);
                svg_text_up(d->out, step_at(d, k->order.last) + d->column / 2 + 4, bottom + 8,
                            "text end grey", arena_printf(a, "%s ends", k->name));
        }
}

static int deepest_repeat(const Plan *p, int body)
{
        int most = 0;
        for (int i = 0; i < p->list[body].n; i++) {
                const Kernel *k = p->list[body].kernel[i];
                for (int b = 0; k->op == K_REPEAT && b < k->repeat.region->nbody; b++) {
                        const int depth = 1 + deepest_repeat(p, body_number(p, k->repeat.region->body[b]));
                        most = depth > most ? depth : most;
                }
        }
        return most;
}

/* Draws a band behind a repeat's kernels, darker if nested. */
static void draw_repeats(const ArenaPicture *d, int body, int depth)
{
        const Plan *p = d->plan;
        for (int i = 0; i < p->list[body].n; i++) {
                const Kernel *k = p->list[body].kernel[i];
                if (k->op != K_REPEAT)
                        continue;
                const double x = step_at(d, k->order.step), width = step_at(d, k->order.last + 1) - x;
                const double y = HEAD + BAND * depth;
                const char *text = arena_printf(d->out->arena, "%s × %" PRId64, k->repeat.region->name,
                                                k->repeat.region->iterations);
                svg_box(d->out, x, y, width, d->bytes.from - y, "frame", depth % 2 ? "#e8eef6" : "#f3f6fa",
                        text);
                svg_text_within(d->out, x + width / 2, y + 12, width, "middle bold", text,
                                k->repeat.region->name);
                for (int b = 0; b < k->repeat.region->nbody; b++)
                        draw_repeats(d, body_number(p, k->repeat.region->body[b]), depth + 1);
        }
}

/* Draws the total bytes of live buffers in each step. */
static void draw_live(const ArenaPicture *d)
{
        const Plan *p = d->plan;
        Text *path = text_new(d->out->arena);
        for (int step = 0; step < p->steps; step++) {
                int64_t sum = 0;
                for (int b = 0; b < p->nbuffer; b++) {
                        const Buffer *of = p->buffer[b];
                        if (is_drawn(of) && !of->alias && of->first <= step && of->last >= step)
                                sum += of->size;
                }
                const double y = axis_at(&d->bytes, (double)sum);
                text_printf(path, "%c%.1f %.1f L%.1f %.1f ", step ? 'L' : 'M', step_at(d, step), y,
                            step_at(d, step + 1), y);
        }
        svg_path(d->out, "live", path->data);
}

static void draw_peak(const ArenaPicture *d)
{
        const Plan *p = d->plan;
        Arena *a = d->out->arena;
        const double y = axis_at(&d->bytes, (double)p->bytes.arena), right = step_at(d, p->steps);
        svg_open(d->out, " data-arena=\"%" PRId64 "\"", p->bytes.arena);
        svg_line(d->out, LEFT, y, right, y, "peak");
        svg_close(d->out);
        svg_text(d->out, right + 6, y + 4, "text red",
                 arena_printf(a, "arena %s", in_units(a, (double)p->bytes.arena, "B")));
        if (p->bytes.arena_bound == p->bytes.arena)
                return;
        const double bound = axis_at(&d->bytes, (double)p->bytes.arena_bound);
        svg_line(d->out, LEFT, bound, right, bound, "peak");
        svg_text(d->out, right + 6, bound + (bound - y < 14 ? y - bound + 18 : 4), "text red",
                 arena_printf(a, "lower bound %s", in_units(a, (double)p->bytes.arena_bound, "B")));
}

static void arena_key(const ArenaPicture *d, double y)
{
        svg_legend(d->out, LEFT, y, d->kinds);
        svg_line(d->out, LEFT, y + 18, LEFT + 14, y + 18, "live");
        svg_text(d->out, LEFT + 19, y + 22, "text", "bytes in use");
        svg_box(d->out, LEFT + 130, y + 13, 14, 10, "inner", "#ffffff", NULL);
        svg_text(d->out, LEFT + 149, y + 22, "text", "takes the place of the value that it is computed from");
}

static void draw_chart(const ArenaPicture *d)
{
        const Plan *p = d->plan;
        const double bottom = d->bytes.from, wide = step_at(d, p->steps) - LEFT;
        draw_repeats(d, 0, 0);
        axis_draw_left(d->out, &d->bytes, LEFT, wide, "bytes of the arena");
        svg_line(d->out, LEFT, bottom, LEFT + wide, bottom, "axis");
        for (int inner = 0; inner < 2; inner++)
                for (int b = 0; b < p->nbuffer; b++)
                        if (is_drawn(p->buffer[b]) && (p->buffer[b]->alias != NULL) == inner)
                                draw_buffer(d, p->buffer[b]);
        draw_live(d);
        draw_names(d);
        draw_peak(d);
        draw_kernel_names(d, 0, bottom);
}

void draw_arena(Text *out, const Plan *p)
{
        Arena *a = out->arena;
        ArenaPicture d = {.out = out, .plan = p};
        const double top = HEAD + 8 + BAND * deepest_repeat(p, 0);
        d.column = fmin(fmax((double)WIDE / (p->steps > 0 ? p->steps : 1), MIN_COLUMN), MAX_COLUMN);
        d.bytes = (Axis){.low = 0,
                         .high = p->bytes.arena > 0 ? (double)p->bytes.arena * 1.02 : 1,
                         .from = top + HIGH,
                         .to = top,
                         .unit = "B"};
        d.carried = NEW_ARRAY(a, bool, p->nbuffer);
        d.kind = NEW_ARRAY(a, DrawnKind, p->nbuffer);
        find_carried(&d);
        find_kinds(&d);
        const bool grows = p->graph->past >= 0;
        const char *title = arena_printf(
                a, "%s: the arena over time%s", p->c_name,
                grows ? arena_printf(a, ", up to %" PRId64 " new positions a call", p->chunk) : "");
        const double names = fmax(widest_name(p), 110), wide = fmax(LEFT + p->steps * d.column + 190, 760),
                     key = d.bytes.from + names + 46;
        svg_begin(out, wide, key + LEGEND - 22, title);
        svg_text(out, LEFT, 26, "title", title);
        draw_chart(&d);
        svg_text(out, LEFT + p->steps * d.column / 2, d.bytes.from + names + 24, "text middle",
                 "kernels, in the order in which they run");
        arena_key(&d, key);
        svg_end(out);
}
