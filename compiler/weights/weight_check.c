/* Checks a checkpoint against the map: every tensor that the map names must exist, with its shape and a
 * readable type, and every tensor of the file must be named, at least by `drop` or `optional`.  All errors
 * are reported at once. */
#include "weight_map_private.h"
#include "checkpoint_private.h"

#include <stdlib.h>
#include <string.h>

static int compare_paths(const void *left, const void *right)
{
        return strcmp(*(const char *const *)left, *(const char *const *)right);
}

/* The end of the number that `{i}` matches at the start of a name, and the rest of the rule; NULL: no
 * match. */
static const char *past_index(const char **rule, const char *name)
{
        size_t digits = strspn(name, "0123456789");
        *rule += strcspn(*rule, "}");
        if (digits == 0 || **rule == 0)
                return NULL;
        ++*rule;
        return name + digits;
}

/* Whether a name matches a rule: {i} stands for any number, * for any text.  At a mismatch, the last * is
 * extended by one character. */
static bool fits_rule(const char *rule, const char *name)
{
        const char *star = NULL, *taken = NULL;
        while (*name || *rule) {
                const char *past = NULL;
                if (*rule == '*') {
                        star = ++rule;
                        taken = name;
                        continue;
                }
                if (*rule == '{')
                        past = past_index(&rule, name);
                else if (*rule && *rule == *name)
                        past = name + 1, rule++;
                if (!past) {
                        if (!star || *taken == 0)
                                return false;
                        rule = star;
                        past = ++taken;
                }
                name = past;
        }
        return true;
}

static bool is_excused(const Graph *g, const char *name)
{
        for (int i = 0; i < g->nentry; i++)
                if (g->entry[i].kind != CK_MAP && fits_rule(g->entry[i].name, name))
                        return true;
        return false;
}

/* The end of the first number, as a whole part of the name, in which two names differ; the names are equal
 * otherwise.  0: there is none. */
static size_t other_iteration(const char *a, const char *b)
{
        size_t end = 0, i = 0;
        for (;;) {
                size_t m = strspn(a, "0123456789"), n = strspn(b, "0123456789");
                bool part = m && n && (i == 0 || a[-1] == '.') && (a[m] == '.' || !a[m]) &&
                            (b[n] == '.' || !b[n]);
                if (part && (m != n || strncmp(a, b, m) != 0) && end == 0)
                        end = i + m;
                size_t step_a = part ? m : 1, step_b = part ? n : 1;
                if (!part && *a != *b)
                        return 0;
                if (!part && !*a)
                        return end;
                a += step_a;
                b += step_b;
                i += step_a;
        }
}

/* The end of the iteration in the name of a tensor that the model has for other iterations; 0: it has not. */
static size_t further_iteration(const WeightMap *map, const char *name)
{
        for (int i = 0; i < map->npublished; i++) {
                size_t end = other_iteration(name, map->published[i].name);
                if (end)
                        return end;
        }
        return 0;
}

const char *weights_left_out(Arena *arena, const Weights *w, const Checkpoint *file)
{
        const char *all = NULL, *last = "";
        size_t last_end = 0;
        int n = 0;
        for (int i = 0; w->map && i < checkpoint_count(file); i++) {
                const CkTensor *t = checkpoint_at(file, i);
                bool used = is_excused(w->graph, t->name);
                for (int k = 0; k < w->map->npublished && !used; k++)
                        used = !strcmp(w->map->published[k].name, t->name);
                size_t end = used ? 0 : further_iteration(w->map, t->name);
                if (!end)
                        continue;
                n++;
                if (end == last_end && !strncmp(last, t->name, end))
                        continue;
                last = t->name;
                last_end = end;
                if (!all || !strstr(all, arena_printf(arena, "%.*s.*", (int)end, t->name)))
                        all = arena_printf(arena, "%s%s%.*s.*", all ? all : "", all ? ", " : "", (int)end,
                                           t->name);
        }
        return all ? arena_printf(arena, "%s (%d tensor%s)", all, n, n == 1 ? "" : "s") : NULL;
}

/* Whether it is a bias of zeros, which some programs that quantise write for products without a bias. */
static bool is_zero_bias(const CkTensor *t)
{
        enum { MOST = 1 << 20 };
        bool zero = text_ends_with(t->name, ".bias") && ck_type_readable(t->dtype) && t->count <= MOST;
        float x;
        for (int64_t i = 0; zero && i < t->count; i++)
                zero = checkpoint_read_f32(t, i, 1, &x) && x == 0;
        return zero;
}

/* Whether a tensor repeats another one; it was compared with that. */
static bool is_repeated(const WeightMap *map, const char *name)
{
        for (int i = 0; i < map->repeated->npublished; i++)
                if (!strcmp(map->repeated->published[i].name, name))
                        return true;
        return false;
}

/* adapted: those that an adapter has or changes, which no model may drop */
static void find_unused(const WeightMap *map, const Checkpoint *file, Faults *unused, Faults *adapted)
{
        const char **known = NEW_ARRAY(unused->arena, const char *, map->npublished);
        for (int i = 0; i < map->npublished; i++)
                known[i] = map->published[i].name;
        qsort(known, (size_t)map->npublished, sizeof *known, compare_paths);
        for (int i = 0; i < checkpoint_count(file); i++) {
                const CkTensor *t = checkpoint_at(file, i);
                if (bsearch(&t->name, known, (size_t)map->npublished, sizeof *known, compare_paths) ||
                    (map->graph->first_iterations && further_iteration(map, t->name)))
                        continue;
                if (t->adapter && !is_repeated(map, t->name))
                        fault_add(adapted, (Span){NULL, 0, 0}, "\"%s\" of %s", ck_quote(t->name).text,
                                  t->adapter);
                else if (strncmp(t->name, CK_FIRST, strlen(CK_FIRST)) != 0 &&
                         !is_excused(map->graph, t->name) && !is_zero_bias(t))
                        fault_add(unused, (Span){NULL, 0, 0}, "\"%s\", %s %s", ck_quote(t->name).text,
                                  ck_type_name(t->dtype), shape_text(unused->arena, t->rank, t->shape));
        }
}

static bool has_shape(const Published *p, const CkTensor *t)
{
        return p->rank == t->rank && memcmp(p->shape, t->shape, (size_t)p->rank * sizeof *p->shape) == 0;
}

/* The unused tensor of this shape with the most similar name; NULL: none is similar. */
static const char *near_unused(const WeightMap *map, const Checkpoint *file, const Published *p)
{
        Arena scratch = {.out_of_memory = map->graph->arena->out_of_memory};
        const char **name = NEW_ARRAY(&scratch, const char *, checkpoint_count(file));
        int n = 0;
        for (int i = 0; i < checkpoint_count(file); i++) {
                const CkTensor *t = checkpoint_at(file, i);
                bool used = !has_shape(p, t);
                for (int k = 0; k < map->npublished && !used; k++)
                        used = !strcmp(map->published[k].name, t->name);
                if (!used)
                        name[n++] = t->name;
        }
        const char *near = nearest_name(p->name, name, n);
        arena_free(&scratch);
        return near;
}

/* Adds missing names; suggestions are searched only for listed ones. */
static void add_missing(Faults *missing, const WeightMap *map, const Checkpoint *file, const Published *p)
{
        const char *near = missing->n < FAULTS_LISTED ? near_unused(map, file, p) : NULL,
                   *shape = shape_text(map->graph->arena, p->rank, p->shape);
        if (near)
                fault_add(missing, p->span, "\"%s\", %s; the file has \"%s\"", p->name, shape,
                          ck_quote(near).text);
        else
                fault_add(missing, p->span, "\"%s\", %s", p->name, shape);
}

/* Why all numbers of quantised matrices are missing; NULL: the file has no codes of this tensor. */
static const char *codes_hint(const WeightMap *map, const Checkpoint *file, const char *name)
{
        Arena *a = map->graph->arena;
        const char *codes = scaled_codes_of(a, file, name);
        if (!codes)
                return NULL;
        return arena_printf(a,
                            "the file has \"%s\", codes of a quantised matrix; their numbers need the "
                            "quantization_config of a config.json beside the file",
                            ck_quote(codes).text);
}

/* A kind of fault: words about the file, and the kind of tensors. */
typedef struct {
        Faults faults;
        const char *message;
        const char *hint; /* or NULL */
} FaultKind;

static bool check_report(const FaultKind *kind, const char *path, Diag *diag)
{
        const Faults *faults = &kind->faults;
        if (faults->n == 0)
                return true;
        diag_error(diag, (Span){NULL, 0, 0}, "%s: %s %s", path, fault_count(faults, "tensor"), kind->message);
        fault_list(faults, diag);
        if (kind->hint)
                diag_hint(diag, "%s", kind->hint);
        if (faults->span.source)
                diag_note(diag, faults->span,
                          faults->n == 1 ? "required here" : "the first is required here");
        return false;
}

static bool is_transposed(const Published *p, const CkTensor *t)
{
        return p->rank == 2 && t->rank == 2 && p->shape[0] == t->shape[1] && p->shape[1] == t->shape[0];
}

bool weight_check(const WeightMap *map, const Checkpoint *file, const CkTensor **tensor, Diag *diag)
{
        Arena *a = map->graph->arena;
        FaultKind missing = {{.arena = a}, "missing", NULL};
        FaultKind misshapen = {{.arena = a}, "of another shape than the model's", NULL};
        FaultKind unreadable = {{.arena = a}, "of a type that can't be read", NULL};
        FaultKind unused = {{.arena = a},
                            "that the model does not use",
                            "a checkpoint lists the tensors that its model does not use: drop \"NAME\""};
        FaultKind differing = {{.arena = a},
                               "with other numbers than the one that has the same weights in the model",
                               "if the file is right, the model needs a weight for each: is a key that ties "
                               "them, as tie_word_embeddings, true by mistake?"};
        FaultKind adapted = {{.arena = a},
                             "of an adapter that the model does not use",
                             "the adapter is for another model, or for parts that this model does not have"};
        if (map->graph->nentry == 0)
                missing.hint = "the model has no checkpoint entries, so tensors go by the weights' own names";
        for (int i = 0; i < map->npublished; i++)
                tensor[i] = checkpoint_find(file, map->published[i].name);
        for (int i = 0; i < map->repeated->npublished; i++) {
                const Published *p = &map->repeated->published[i];
                const CkTensor *t = checkpoint_find(file, p->name);
                if (!tensor[p->twin])
                        tensor[p->twin] = t;
                else if (t && !checkpoint_same_numbers(t, tensor[p->twin]))
                        fault_add(&differing.faults, p->span, "\"%s\" and \"%s\"", p->name,
                                  map->published[p->twin].name);
        }
        for (int i = 0; i < map->npublished; i++) {
                const Published *p = &map->published[i];
                const CkTensor *t = tensor[i];
                const char *shape = shape_text(a, p->rank, p->shape);
                if (!t)
                        add_missing(&missing.faults, map, file, p);
                else if (!has_shape(p, t))
                        fault_add(&misshapen.faults, p->span, "\"%s\": %s in the file, %s in the model",
                                  p->name, shape_text(a, t->rank, t->shape), shape);
                else if (!ck_type_readable(t->dtype))
                        fault_add(&unreadable.faults, p->span, "\"%s\": %s (%s)", p->name,
                                  ck_type_name(t->dtype), ck_type_why(t->dtype));
                if (t && !has_shape(p, t) && is_transposed(p, t))
                        misshapen.hint = "a tensor that the file stores transposed is written with ', as in "
                                         "layer[i].ffn.up.w'";
        }
        for (int i = 0; i < map->npublished && !missing.hint; i++)
                if (!tensor[i])
                        missing.hint = codes_hint(map, file, map->published[i].name);
        for (int i = 0; i < map->npublished && !missing.hint; i++)
                if (!tensor[i] && !strncmp(map->published[i].name, CK_FIRST, strlen(CK_FIRST)))
                        missing.hint = CK_FIRST
                                "… are tensors of the model for which this one drafts: `lathe run MODEL "
                                "--draft HEAD` passes them; elsewhere --weights HEAD,MODEL";
        find_unused(map, file, &unused.faults, &adapted.faults);
        const FaultKind *kind[] = {&missing, &misshapen, &unreadable, &unused, &differing, &adapted};
        bool good = true;
        for (size_t i = 0; i < sizeof kind / sizeof *kind; i++)
                good = check_report(kind[i], checkpoint_path(file), diag) && good;
        return good;
}
