/* --tune FILE: measured tilings of products, one per line; missing ones are measured and appended.
 *
 * A line applies to products with the same target, storage, size, maximum rows of a call and sequences of a
 * batch, in any model. Candidates are measured alternately, so that other load affects all of them; the time
 * is that of the thread.  A candidate replaces the estimated tiling (plan/tile_cost.c) only if it is clearly
 * faster, so that a second measurement changes little. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "driver.h"

/* --- the file ------------------------------------------------------------------------------------------------------- */

enum { NAMES = 2, NUMBERS = 8, FIELDS = NAMES + NUMBERS };
static const char heading[] =
        "# Tilings of products, as measured by lathe: --tune FILE reads them from here, and adds missing "
        "ones.\n"
        "# target storage k outputs rows sequences: rows and panels of a tile, pieces of k, rows at once\n";

static void add_tuned(Arena *a, Tuned *tuned, const TunedProduct *product)
{
        GROW(a, tuned->product, tuned->n, tuned->cap);
        tuned->product[tuned->n++] = *product;
}

static Storage storage_named(const char *name)
{
        Storage s = 0;
        while (s < WEIGHT_STORAGES && strcmp(name, storage_info[s].text) != 0)
                s++;
        return s;
}

/* Parses a line, which is split into words.  Returns NULL, or an error message. */
static const char *parse_line(Arena *a, char *line, TunedProduct *product)
{
        char *word[FIELDS + 1], *rest = NULL;
        int n = 0;
        for (char *at = strtok_r(line, " \t\r", &rest); at && n <= FIELDS;
             at = strtok_r(NULL, " \t\r", &rest))
                word[n++] = at;
        if (n != FIELDS)
                return arena_printf(a, "a line has %d words: target, storage, %d numbers", FIELDS, NUMBERS);
        int64_t number[NUMBERS];
        for (int i = 0; i < NUMBERS; i++) {
                char *end;
                errno = 0;
                number[i] = strtoll(word[NAMES + i], &end, 10);
                if (*end || errno || number[i] < 1 || number[i] > INT32_MAX)
                        return arena_printf(a, "%s is not a number from 1 to %d", word[NAMES + i], INT32_MAX);
        }
        const Target *t = strcmp(word[0], "native") ? target_find(word[0]) : NULL;
        const Storage s = storage_named(word[1]);
        if (!t || target_is_portable(t))
                return arena_printf(a, "%s is not a target with tiles (`lathe targets` lists them)", word[0]);
        if (s == WEIGHT_STORAGES)
                return arena_printf(a, "unknown weight storage %s", word[1]);
        *product = (TunedProduct){.target = t,
                                  .of = {.storage = s,
                                         .depth = number[0],
                                         .panels = round_up(number[1], LANES) / LANES,
                                         .rows = number[2],
                                         .slots = (int)number[3]},
                                  .tiling = {(int)number[4], (int)number[5], (int)number[6], (int)number[7]}};
        return tiling_fault(a, t, &product->of, &product->tiling);
}

/* The content of the file, empty if it is missing; NULL after a message. */
static Tuned *read_tuned(Model *m, const char *path)
{
        Arena *a = &m->arena;
        Tuned *tuned = NEW(a, Tuned);
        const char *why;
        tuned->path = path;
        if (access(path, F_OK) && errno == ENOENT)
                return tuned;
        const Source *source = read_source(a, path, &why);
        if (!source) {
                fprintf(stderr, "lathe: --tune: can't read %s: %s\n", path, why);
                m->env_error = true;
                return NULL;
        }
        for (int line = 1; line <= source->nline; line++) {
                int32_t length;
                const char *text = source_line_text(source, line, &length);
                TunedProduct product = {0};
                const int32_t begin = (int32_t)(text - source->text);
                if (!length || *text == '#')
                        continue;
                why = parse_line(a, arena_strndup(a, text, length), &product);
                const TunedProduct *other = why ? NULL : tuned_find(tuned, product.target, &product.of);
                if (other)
                        why = arena_printf(a, "line %d has the same product", other->line);
                if (why) {
                        diag_error(&m->diag, (Span){source, begin, begin + length}, "%s", why);
                        diag_print(&m->diag, stderr);
                        return NULL;
                }
                product.line = line;
                add_tuned(a, tuned, &product);
        }
        return tuned;
}

static int compare_sizes(int64_t a, int64_t b)
{
        return (a > b) - (a < b);
}

static int by_product(const void *a, const void *b)
{
        const TunedProduct *x = a, *y = b;
        const int64_t of[2][6] = {{x->target - target_table, (int64_t)x->of.storage, x->of.depth,
                                   x->of.panels, x->of.rows, x->of.slots},
                                  {y->target - target_table, (int64_t)y->of.storage, y->of.depth,
                                   y->of.panels, y->of.rows, y->of.slots}};
        int order = 0;
        for (int i = 0; i < 6 && !order; i++)
                order = compare_sizes(of[0][i], of[1][i]);
        return order;
}

static bool write_tuned(Arena *a, Tuned *tuned)
{
        Text *text = text_new(a);
        text_printf(text, "%s", heading);
        qsort(tuned->product, (size_t)tuned->n, sizeof *tuned->product, by_product);
        for (int i = 0; i < tuned->n; i++) {
                TunedProduct *p = &tuned->product[i];
                p->line = i + 3;
                text_printf(text, "%s %s %" PRId64 " %" PRId64 " %" PRId64 " %d %d %d %d %d\n",
                            p->target->name, storage_info[p->of.storage].text, p->of.depth,
                            p->of.panels * LANES, p->of.rows, p->of.slots, p->tiling.rows, p->tiling.panels,
                            p->tiling.k_block, p->tiling.rows_at_once);
        }
        input_to_replace(tuned->path);
        return write_file(tuned->path, text->data, text->n);
}

/* --- measuring ------------------------------------------------------------------------------------------------------ */

enum { CANDIDATES = 8, ROUNDS = 7 };
static const double MAX_MEASURED_WORK = 2e8; /* operations of a measured call */

/* A shape with fewer panels and rows, for a short call: whole tiles of panels and the product's remainder. */
static ProductShape shortened(const ProductShape *of)
{
        const int64_t whole = 12;
        ProductShape less = *of;
        less.rows = min_int64(of->rows, INT64_C(2) * MAX_AT_ONCE);
        int64_t most = (int64_t)(MAX_MEASURED_WORK / (2.0 * LANES * (double)of->depth * (double)less.rows)) /
                       whole * whole;
        most = most < whole ? whole : most;
        if (of->panels > most + of->panels % whole)
                less.panels = most + of->panels % whole;
        return less;
}

/* The fastest tiling, with a preference for the first one: by the time of calls with most rows and, in a
 * batch, of one row per sequence. */
static ProductTiling fastest(const ProductTimer *timer, const ProductShape *of, const ProductTiling *tiling,
                             int n)
{
        const int64_t count[2] = {of->rows, of->slots};
        const int counts = of->slots > 1 && of->slots < of->rows ? 2 : 1;
        double least[CANDIDATES][2], sum[CANDIDATES] = {0};
        int best = 0;
        for (int round = 0; round < ROUNDS; round++)
                for (int i = 0; i < n; i++)
                        for (int c = 0; c < counts; c++) {
                                const double time =
                                        product_seconds(timer, count[c], &tiling[i]) / (double)count[c];
                                least[i][c] = round == 0 || time < least[i][c] ? time : least[i][c];
                        }
        for (int i = 0; i < n; i++) {
                for (int c = 0; c < counts; c++)
                        sum[i] += least[i][c];
                if (sum[i] < 0.98 * sum[0] && sum[i] < sum[best])
                        best = i;
        }
        return tiling[best];
}

/* Measures tiles, then blocks of k, then rows at once. */
static bool tune_measure(const Target *t, const ProductShape *of, ProductTiling *tiling)
{
        const ProductShape less = shortened(of);
        ProductTimer *timer = product_timer_new(t, &less);
        if (!timer)
                return false;
        for (int which = 0; which < 3; which++) {
                ProductTiling candidate[CANDIDATES] = {*tiling};
                const int n = 1 + candidate_tilings(t, of, tiling, which, candidate + 1, CANDIDATES - 1);
                *tiling = n > 1 ? fastest(timer, &less, candidate, n) : *tiling;
        }
        product_timer_free(timer);
        return true;
}

/* Measures tilings that are missing in the file, and writes it. */
static bool measure_lacking(Model *m, const Plan *p, Tuned *tuned, const ProductShape *shape, int n)
{
        int env_error = 0, done = 0;
        for (int i = 0; i < n; i++)
                env_error += !tuned_find(tuned, p->target, &shape[i]);
        if (env_error && (!has_kernels(p->target) || !target_runs_here(p->target))) {
                fprintf(stderr,
                        "lathe: note: %s lacks %d of %d products of %s, which can't be measured on this "
                        "machine: their tilings are "
                        "estimates\n",
                        tuned->path, env_error, n, p->target->name);
                return true;
        }
        for (int i = 0; i < n; i++) {
                if (tuned_find(tuned, p->target, &shape[i]))
                        continue;
                const char *why;
                TunedProduct product = {
                        .target = p->target, .of = shape[i], .tiling = estimated_tiling(p, &shape[i], &why)};
                progress("measuring products", PROGRESS_STEPS, done++, env_error);
                if (!tune_measure(p->target, &shape[i], &product.tiling)) {
                        fprintf(stderr, "lathe: --tune: %s\n", no_memory);
                        m->env_error = true;
                        return false;
                }
                add_tuned(&m->arena, tuned, &product);
        }
        if (!env_error)
                return true;
        progress("measuring products", PROGRESS_STEPS, env_error, env_error);
        fprintf(stderr, "lathe: %d product%s of %s measured, and added to %s\n", env_error,
                env_error == 1 ? "" : "s", p->target->name, tuned->path);
        m->env_error = !write_tuned(&m->arena, tuned);
        return !m->env_error;
}

bool tune(Model *m, const CommandOptions *o, Plan *p)
{
        ProductShape *shape;
        if (target_is_portable(p->target) || o->off[PASS_tile]) {
                fprintf(stderr, "lathe: --tune has no effect with %s: no tilings are chosen\n",
                        o->off[PASS_tile] ? "--no-tile" : "--target portable");
                return false;
        }
        Tuned *tuned = read_tuned(m, o->tune);
        const int n = product_shapes(p, &shape);
        if (!tuned || !measure_lacking(m, p, tuned, shape, n))
                return false;
        p->tuned = tuned;
        return true;
}
