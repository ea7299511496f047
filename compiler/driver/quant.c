/* --quant TYPE[,PATH=TYPE…]: the storage types of weights.
 *
 * A path is that of a weight as in `lathe show MODEL params`, or its first parts: head, layer.attn,
 * layer[*].ffn.down, layer[3].attn.v, layer[0..4].  A part may have shell wildcards.  Later entries of the
 * list have precedence; weights without an entry keep the storage of the checkpoint.  The first type may
 * be the name of a mixture (mixtures.def). */
#define _POSIX_C_SOURCE 200809L
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "driver.h"

enum { MAX_PART = 128 };

typedef enum { ALL, FIRST_FOUR, FIRST_EIGHTH, MORE } LayerRange;

static const struct {
        const char *name;
        Storage all;
} mixture_table[] = {
#define MIXTURE(name, type) {name, STORAGE_##type},
#define PART(...)
#include "mixtures.def"
#undef MIXTURE
#undef PART
};

static const struct {
        const char *name;
        WeightRole role;
        LayerRange layers;
        Storage type;
} mixture_part[] = {
#define MIXTURE(...)
#define PART(name, role, layers, type) {name, ROLE_##role, layers, STORAGE_##type},
#include "mixtures.def"
#undef MIXTURE
#undef PART
};
enum {
        MIXTURES = sizeof mixture_table / sizeof *mixture_table,
        MIXTURE_PARTS = sizeof mixture_part / sizeof *mixture_part
};

/* --- a list ------------------------------------------------------------------------------------------------------- */

static bool path_name_is(const char *name, size_t n, const char *known)
{
        return strlen(known) == n && !strncasecmp(name, known, n);
}

static Storage weight_storage(const char *name, size_t n)
{
        for (Storage s = 0; s < WEIGHT_STORAGES; s++)
                if (path_name_is(name, n, storage_info[s].text))
                        return s;
        return STORAGE_COUNT;
}

/* -1: unknown. */
static int mixture_of(const char *name, size_t n)
{
        for (int i = 0; i < MIXTURES; i++)
                if (path_name_is(name, n, mixture_table[i].name))
                        return i;
        return -1;
}

/* An entry of the list: path [path_n] and type. */
typedef struct {
        const char *path, *type;
        size_t path_n, type_n;
        Storage storage;
        int mixture; /* -1: none */
} QuantChoice;

static const char *quant_read_choice(const char *at, QuantChoice *c)
{
        size_t n = strcspn(at, ","), path = strcspn(at, "=");
        bool named = path < n;
        *c = (QuantChoice){.path = at, .path_n = named ? path : 0};
        c->type = named ? at + path + 1 : at;
        c->type_n = n - (size_t)(c->type - at);
        c->storage = weight_storage(c->type, c->type_n);
        c->mixture = named ? -1 : mixture_of(c->type, c->type_n);
        return at[n] ? at + n + 1 : NULL;
}

enum {
        MAX_BITS = 32,     /* a weight, of auto:BITS */
        MAX_BITS_TEXT = 12 /* length of that number: digits and a point */
};

bool quant_is_auto(const char *list, double *bits, const char **rest)
{
        static const char name[] = "auto:";
        const size_t n = strcspn(list, ",");
        if (strncasecmp(list, name, sizeof name - 1) != 0)
                return false;
        const char *number = list + sizeof name - 1;
        const size_t used = strspn(number, "0123456789.");
        char *end;
        *rest = list + n;
        *bits = used ? strtod(number, &end) : 0;
        if (used > MAX_BITS_TEXT || number + used != *rest || (used && end != *rest))
                *bits = 0;
        return true;
}

/* "f32, f16, ..." */
static const char *types(char *to, size_t room)
{
        size_t n = 0;
        for (Storage s = 0; s < WEIGHT_STORAGES && n < room; s++)
                if (storage_can_be_made(s))
                        n += (size_t)snprintf(to + n, room - n, "%s%s", s ? ", " : "", storage_info[s].text);
        for (int i = 0; i < MIXTURES && n < room; i++)
                n += (size_t)snprintf(to + n, room - n, "%s%s", i ? ", " : "; the first also of auto:BITS, ",
                                      mixture_table[i].name);
        return to;
}

bool quant_fits(const char *list, char why[QUANT_WHY])
{
        QuantChoice c;
        char all[400];
        double bits;
        const char *at = list, *rest;
        if (quant_is_auto(list, &bits, &rest)) {
                if (!(bits > 0 && bits <= MAX_BITS))
                        return snprintf(why, QUANT_WHY,
                                        "auto:BITS is a number of bits a weight, as auto:4.5: above 0, and "
                                        "at most %d, not %.*s",
                                        MAX_BITS, rest - list < 40 ? (int)(rest - list) : 40, list),
                               false;
                at = *rest ? rest + 1 : NULL;
        }
        for (const char *next; at; at = next) {
                next = quant_read_choice(at, &c);
                if (c.storage == STORAGE_COUNT && (c.mixture < 0 || at != list))
                        return snprintf(why, QUANT_WHY, "a type is one of %s, not %.*s",
                                        types(all, sizeof all), (int)(c.type_n < 40 ? c.type_n : 40), c.type),
                               false;
                if (c.storage != STORAGE_COUNT && !storage_can_be_made(c.storage))
                        return snprintf(why, QUANT_WHY,
                                        "lathe reads %s from published weights, but cannot make it: a type "
                                        "is one of %s",
                                        storage_info[c.storage].text, types(all, sizeof all)),
                               false;
                if (c.path_n == 0 && at != list)
                        return snprintf(why, QUANT_WHY, "after the first type come PATH=TYPE, not only %.*s",
                                        (int)c.type_n, c.type),
                               false;
        }
        return true;
}

/* --- paths -------------------------------------------------------------------------------------------------------- */

/* Iterations of a part of a path: [*], [3], [0..4], which ends before 4. */
typedef struct {
        long long first, end;
        bool any; /* [*], or not given */
} IterationRange;

/* Reads and removes them from the end of a part. */
static void read_iterations(char *part, IterationRange *is)
{
        char *bracket = strrchr(part, '[');
        int used = -1;
        *is = (IterationRange){.any = true};
        if (!bracket || bracket == part)
                return;
        if (!strcmp(bracket, "[*]")) {
                *bracket = 0;
        } else if (sscanf(bracket, "[%lld]%n", &is->first, &used) == 1 && used > 0 && !bracket[used]) {
                *is = (IterationRange){is->first, is->first + 1, false};
                *bracket = 0;
        } else if (sscanf(bracket, "[%lld..%lld]%n", &is->first, &is->end, &used) == 2 && used > 0 &&
                   !bracket[used]) {
                is->any = false;
                *bracket = 0;
        }
}

/* The path's next part, up to a dot outside of brackets; false: too long. */
static bool next_path_part(const char **at, const char *end, char *part)
{
        size_t n = 0;
        bool inside = false;
        for (; *at < end && (inside || **at != '.'); (*at)++, n++) {
                inside = **at == '[' || (inside && **at != ']');
                if (n + 1 >= MAX_PART)
                        return false;
                part[n] = **at;
        }
        part[n] = 0;
        *at += *at < end;
        return true;
}

static bool names(const QuantChoice *c, const Weight *w, int64_t slot)
{
        char part[MAX_PART];
        const char *at = c->path, *end = c->path + c->path_n;
        int64_t iteration[4];
        weight_iterations(w, slot, iteration);
        for (int p = 0, r = 0; at < end; p++) {
                IterationRange is;
                if (p == w->npart || !next_path_part(&at, end, part))
                        return false;
                read_iterations(part, &is);
                bool repeated = r < w->nregion && w->region_part[r] == p;
                if (fnmatch(part, w->part[p], 0) != 0 || (!is.any && !repeated) ||
                    (!is.any && (iteration[r] < is.first || iteration[r] >= is.end)))
                        return false;
                r += repeated;
        }
        return true;
}

bool quant_names(const char *list, const Weight *w, int64_t slot)
{
        QuantChoice c;
        for (const char *at = list, *next; at; at = next) {
                next = quant_read_choice(at, &c);
                if (names(&c, w, slot))
                        return true;
        }
        return false;
}

/* --- mixtures ----------------------------------------------------------------------------------------------------- */

static bool layer_is_among(LayerRange which, int64_t i, int64_t n)
{
        switch (which) {
        case ALL: return true;
        case FIRST_FOUR: return i < 4;
        case FIRST_EIGHTH: return i < n / 8;
        case MORE: return i < n / 8 || i >= 7 * n / 8 || (i - n / 8) % 3 == 2;
        }
        return false;
}

static Storage mixture_storage(int mixture, const Weight *w, int64_t slot)
{
        int64_t iteration[4] = {0};
        weight_iterations(w, slot, iteration);
        for (int i = 0; i < MIXTURE_PARTS; i++)
                if (!strcmp(mixture_part[i].name, mixture_table[mixture].name) &&
                    mixture_part[i].role == w->role &&
                    layer_is_among(mixture_part[i].layers, w->layer + iteration[0], w->layers))
                        return mixture_part[i].type;
        return mixture_table[mixture].all;
}

/* --- storages ----------------------------------------------------------------------------------------------------- */

static bool quant_choose(const Graph *g, const QuantChoice *c, SlotStorage *const *of)
{
        bool found = !c->path_n;
        for (int i = 0; i < g->nweight; i++) {
                const Weight *w = g->weight[i];
                for (int64_t slot = 0; slot < w->slots; slot++) {
                        if (!names(c, w, slot))
                                continue;
                        found = true;
                        SlotStorage *s = &of[i][slot];
                        s->asked =
                                (uint8_t)(c->mixture < 0 ? c->storage : mixture_storage(c->mixture, w, slot));
                        s->is = (uint8_t)weight_rounded(w, (Storage)s->exact, (Storage)s->asked);
                }
        }
        if (!found)
                fprintf(stderr,
                        "lathe: --quant: %s has no weight %.*s; `lathe show MODEL params` lists its "
                        "weights\n",
                        g->name, (int)c->path_n, c->path);
        return found;
}

SlotStorage **quant_slots(Arena *arena, const Graph *g, const Weights *from, const char *list)
{
        SlotStorage **of = NEW_ARRAY(arena, SlotStorage *, g->nweight);
        for (int i = 0; i < g->nweight; i++) {
                const Weight *w = g->weight[i];
                of[i] = NEW_ARRAY(arena, SlotStorage, w->slots);
                for (int64_t slot = 0; slot < w->slots; slot++) {
                        uint8_t exact = (uint8_t)weight_exact(from, w, slot);
                        of[i][slot] = (SlotStorage){exact, exact, exact};
                }
        }
        QuantChoice c;
        for (const char *at = list, *next; at && *at; at = next) {
                next = quant_read_choice(at, &c);
                if (!quant_choose(g, &c, of))
                        return NULL;
        }
        return of;
}

bool quant_weights(Arena *arena, const Graph *g, const Weights *from, const char *list)
{
        SlotStorage **of = quant_slots(arena, g, from, list);
        for (int i = 0; of && i < g->nweight; i++) {
                Weight *w = g->weight[i];
                w->storage = (Storage)of[i][0].is;
                w->asked = (Storage)of[i][0].asked;
                for (int64_t slot = 1; slot < w->slots; slot++)
                        if (of[i][slot].is != of[i][0].is)
                                w->storage = STORAGE_F32;
        }
        return of != NULL;
}
