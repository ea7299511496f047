/* Assigns the entries of an importance matrix to the slots of weights, by the names of the checkpoint's tensors. */
#include "importance_private.h"
#include "checkpoint_private.h"
#include "weight_map_private.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void counted_add(CountedNames *to, const char *name)
{
        if (to->n < COUNTED_FIRST)
                to->first[to->n] = name;
        to->n++;
}

typedef struct {
        Arena *arena, scratch;
        const char *path;
        WeightMap *map;
        ImportanceEntries all;
        ImportanceEntry **of; /* [map->npublished]; NULL: no entry */
        ImportanceGaps *gaps;
        CkError *err;
} ImportanceMapping;

/* Means of a slot's columns. */
typedef struct {
        const Piece *piece;
        const ImportanceEntry *entry;
        int64_t columns, matrix; /* of the tensor: its columns, and the elements of a matrix */
        int64_t last, length;    /* of the slot: the last axis, and the contracted one */
        bool along;              /* the contracted axis is the last one */
        double *sum;             /* [length] */
        int64_t *n;              /* [length] */
} ColumnSums;

static void columns_of_tensor(const Published *p, int64_t *columns, int64_t *matrices)
{
        *columns = p->rank ? p->shape[p->rank - 1] : 1;
        *matrices = 1;
        for (int i = 0; i + 2 < p->rank; i++)
                *matrices *= p->shape[i];
}

/* --- entries -------------------------------------------------------------------------------------------------------- */

static int compare_entry_name(const void *name, const void *entry)
{
        return strcmp(name, ((const ImportanceEntry *)entry)->name);
}

static bool map_entry_to(ImportanceMapping *m, int i)
{
        const Published *p = &m->map->published[i];
        ImportanceEntry *e =
                bsearch(p->name, m->all.entry, (size_t)m->all.n, sizeof *m->all.entry, compare_entry_name);
        int64_t columns, matrices;
        m->of[i] = e;
        columns_of_tensor(p, &columns, &matrices);
        if (e)
                e->used = true;
        if (e && e->n != columns * matrices)
                return ck_fail(m->err,
                               "%s: entry \"%s\" has %" PRId64
                               " values, and the model's tensor of this name %" PRId64 " columns in %" PRId64
                               " matri%s: %" PRId64 " values are expected",
                               m->path, ck_quote(e->name).text, e->n, columns, matrices,
                               matrices == 1 ? "x" : "ces", columns * matrices);
        return true;
}

static bool map_all_entries(ImportanceMapping *m)
{
        int used = 0;
        m->of = NEW_ARRAY(&m->scratch, ImportanceEntry *, m->map->npublished);
        for (int i = 0; i < m->map->npublished; i++)
                if (!map_entry_to(m, i))
                        return false;
        for (int i = 0; i < m->all.n; i++)
                if (m->all.entry[i].used)
                        used++;
                else
                        counted_add(&m->gaps->unknown,
                                    arena_strdup(m->arena, ck_quote(m->all.entry[i].name).text));
        return used || ck_fail(m->err,
                               "%s: none of its %d entries is for a tensor of %s: the first is for \"%s\", "
                               "and the model's first tensor is "
                               "\"%s\"; entries have the names of a GGUF, so run the model from its GGUF",
                               m->path, m->all.n, m->map->graph->name, ck_quote(m->all.entry[0].name).text,
                               m->map->npublished ? ck_quote(m->map->published[0].name).text : "none");
}

/* --- slots ---------------------------------------------------------------------------------------------------------- */

/* Whether a digit changes neither the column of the slot nor the column and the matrix of the tensor. */
static bool digit_is_of_rows(const ColumnSums *c, const PieceDigit *d)
{
        return d->published % c->columns == 0 && d->published * d->size <= c->matrix &&
               (c->along ? d->slot % c->last == 0 : d->slot * d->size <= c->last);
}

static void columns_add(ColumnSums *c, int k, int64_t from, int64_t to)
{
        if (k == c->piece->ndigit) {
                const int64_t column = c->along ? to % c->last : to / c->last;
                c->sum[column] += (double)c->entry->mean[from / c->matrix * c->columns + from % c->columns];
                c->n[column]++;
                return;
        }
        const PieceDigit *d = &c->piece->digit[k];
        for (int64_t i = 0; i < (digit_is_of_rows(c, d) ? 1 : d->size); i++)
                columns_add(c, k + 1, from + i * d->published, to + i * d->slot);
}

/* Sums of a slot; false: a piece of it has no entry. */
static bool slot_columns(const ImportanceMapping *m, const Weight *w, int64_t slot, ColumnSums *c)
{
        Piece *const *piece;
        const int64_t n = slot_pieces(m->map, w, slot, &piece);
        for (int64_t i = 0; i < n; i++) {
                const Published *p = &m->map->published[piece[i]->published];
                int64_t matrices;
                c->piece = piece[i];
                c->entry = m->of[piece[i]->published];
                if (!c->entry)
                        return false;
                columns_of_tensor(p, &c->columns, &matrices);
                c->matrix = p->count / matrices;
                columns_add(c, 0, piece[i]->from, piece[i]->to);
        }
        return true;
}

void importance_note_zeros(const SlotImportance *s, ImportanceGaps *gaps)
{
        int64_t zeros = 0;
        for (int64_t i = 0; i < s->n; i++)
                zeros += s->weight[i] == 0;
        gaps->columns += zeros;
        if (zeros)
                counted_add(&gaps->zero, s->slot);
}

bool importance_is_zero(const float *mean, int64_t n)
{
        while (n > 0 && mean[n - 1] == 0)
                n--;
        return n == 0;
}

/* The old format has 1 in all columns of an expert that was never chosen. */
static bool is_unmeasured(const float *mean, int64_t n)
{
        while (n > 0 && mean[n - 1] == 1)
                n--;
        return n == 0;
}

/* Adds the slot to the result if the file has weights for all its columns. */
static void map_slot(ImportanceMapping *m, const Weight *w, int64_t slot, SlotImportance *all, int *n)
{
        ColumnSums c = {.last = w->type.dim[1].fixed,
                        .length = w->type.dim[w->contracted].fixed,
                        .along = w->contracted == 1};
        const char *name = weight_slot_name(m->arena, w, slot);
        float *mean = NEW_ARRAY(m->arena, float, c.length);
        c.sum = NEW_ARRAY(&m->scratch, double, c.length);
        c.n = NEW_ARRAY(&m->scratch, int64_t, c.length);
        bool good = slot_columns(m, w, slot, &c);
        for (int64_t i = 0; i < c.length && good; i++) {
                good = c.n[i] > 0;
                mean[i] = good ? (float)(c.sum[i] / (double)c.n[i]) : 0;
        }
        if (!good) {
                counted_add(&m->gaps->without, name);
        } else if (importance_is_zero(mean, c.length) || is_unmeasured(mean, c.length)) {
                counted_add(&m->gaps->unreached, name);
        } else {
                all[*n] = (SlotImportance){name, c.length, mean};
                importance_note_zeros(&all[(*n)++], m->gaps);
        }
}

int compare_slot_importance(const void *x, const void *y)
{
        return strcmp(((const SlotImportance *)x)->slot, ((const SlotImportance *)y)->slot);
}

static void map_all_slots(ImportanceMapping *m, const Graph *g, Importance *to)
{
        int n = 0;
        for (int i = 0; i < g->nweight; i++)
                n += (int)g->weight[i]->slots;
        SlotImportance *all = NEW_ARRAY(m->arena, SlotImportance, n);
        n = 0;
        for (int i = 0; i < g->nweight; i++)
                for (int64_t slot = 0; g->weight[i]->contracted >= 0 && slot < g->weight[i]->slots; slot++)
                        map_slot(m, g->weight[i], slot, all, &n);
        if (n)
                qsort(all, (size_t)n, sizeof *all, compare_slot_importance);
        *to = (Importance){n, all};
}

bool importance_read(Arena *arena, const Graph *g, const char *path, Importance *to, ImportanceGaps *gaps,
                     Diag *diag, CkError *err)
{
        ImportanceMapping m = {.arena = arena,
                               .scratch = {.out_of_memory = arena->out_of_memory},
                               .path = path,
                               .gaps = gaps,
                               .err = err};
        *gaps = (ImportanceGaps){0};
        bool good = importance_entries(&m.scratch, path, &m.all, err);
        if (good) {
                find_contracted(g);
                m.map = weight_map(&m.scratch, g, diag);
                good = m.map || ck_fail(err, "%s: the checkpoint of %s names no tensors", path, g->name);
        }
        good = good && map_all_entries(&m);
        if (good)
                map_all_slots(&m, g, to);
        arena_free(&m.scratch);
        return good;
}
