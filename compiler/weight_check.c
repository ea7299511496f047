/* A checkpoint against the map: every tensor that the map names is there, in its shape and in a type that lathe reads, and
 * every tensor that is there is named, if only by `drop` or `optional`.  All that is wrong is reported at once. */
#include "weight_map.h"

#include <stdlib.h>
#include <string.h>

static int by_text(const void *left, const void *right)
{
        return strcmp(*(const char *const *)left, *(const char *const *)right);
}

/* Whether a name fits a rule's: {i} stands for any number. */
static bool fits_rule(const char *rule, const char *name)
{
        while (*rule && (*rule == '{' || *rule == *name)) {
                if (*rule != '{') {
                        rule++;
                        name++;
                        continue;
                }
                size_t digits = strspn(name, "0123456789");
                rule += strcspn(rule, "}");
                if (digits == 0 || *rule == 0)
                        return false;
                rule++;
                name += digits;
        }
        return *rule == 0 && *name == 0;
}

static bool is_excused(const Graph *g, const char *name)
{
        for (int i = 0; i < g->nentry; i++)
                if (g->entry[i].kind != CK_MAP && fits_rule(g->entry[i].name, name))
                        return true;
        return false;
}

static void find_unused(const WeightMap *map, const Checkpoint *file, Faults *unused)
{
        const char **known = NEW_ARRAY(unused->arena, const char *, map->npublished);
        for (int i = 0; i < map->npublished; i++)
                known[i] = map->published[i].name;
        qsort(known, (size_t)map->npublished, sizeof *known, by_text);
        for (int i = 0; i < checkpoint_count(file); i++) {
                const CkTensor *t = checkpoint_at(file, i);
                if (!bsearch(&t->name, known, (size_t)map->npublished, sizeof *known, by_text) &&
                    !is_excused(map->graph, t->name))
                        fault_add(unused, (Span){NULL, 0, 0}, "\"%s\", %s %s", ck_quote(t->name).text, ck_type_name(t->dtype),
                                  shape_text(unused->arena, t->rank, t->shape));
        }
}

static bool has_shape(const Published *p, const CkTensor *t)
{
        return p->rank == t->rank && memcmp(p->shape, t->shape, (size_t)p->rank * sizeof *p->shape) == 0;
}

static void note_first(const Faults *faults, Diag *diag)
{
        fault_list(faults, diag);
        if (faults->span.source)
                diag_note(diag, faults->span, faults->n == 1 ? "wanted here" : "the first is wanted here");
}

bool weight_check(const WeightMap *map, const Checkpoint *file, const CkTensor **tensor, Diag *diag)
{
        Arena *a = map->graph->arena;
        Faults missing = {.arena = a}, unused = {.arena = a}, misshapen = {.arena = a}, unreadable = {.arena = a};
        for (int i = 0; i < map->npublished; i++) {
                const Published *p = &map->published[i];
                const CkTensor *t = tensor[i] = checkpoint_find(file, p->name);
                const char *shape = shape_text(a, p->rank, p->shape);
                if (!t)
                        fault_add(&missing, p->span, "\"%s\", %s", p->name, shape);
                else if (!has_shape(p, t))
                        fault_add(&misshapen, p->span, "\"%s\": %s in the file, %s in the model", p->name,
                                  shape_text(a, t->rank, t->shape), shape);
                else if (!ck_type_readable(t->dtype))
                        fault_add(&unreadable, p->span, "\"%s\": %s", p->name, ck_type_name(t->dtype));
        }
        find_unused(map, file, &unused);
        const char *path = checkpoint_path(file);
        const Span nowhere = {NULL, 0, 0};
        if (missing.n) {
                diag_error(diag, nowhere, "%s: %s missing", path, fault_count(&missing, "tensor"));
                note_first(&missing, diag);
        }
        if (misshapen.n) {
                diag_error(diag, nowhere, "%s: %s of another shape than the model's", path, fault_count(&misshapen, "tensor"));
                note_first(&misshapen, diag);
        }
        if (unreadable.n) {
                diag_error(diag, nowhere, "%s: %s of a type that can't be read: F32, F16 and BF16 can", path,
                           fault_count(&unreadable, "tensor"));
                note_first(&unreadable, diag);
        }
        if (unused.n) {
                diag_error(diag, nowhere, "%s: %s that the model does not use", path, fault_count(&unused, "tensor"));
                fault_list(&unused, diag);
                diag_hint(diag, "what a model does without, its checkpoint names: drop \"NAME\"");
        }
        return !missing.n && !misshapen.n && !unreadable.n && !unused.n;
}
