/* --quant auto:BITS: a list of storage types with the least damage, of at most BITS bits a weight.
 *
 * All layers of a weight have one type, and at most one weight has a second type in some layers, so that a repeat has few
 * bodies.  Starting from the smallest types, the step to a larger type that removes most damage per byte is taken first: of
 * each weight only types on the lower convex hull of damage over bytes.  Of equal steps, that of the first weight is taken. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "driver.h"

/* A type for all open slots of a weight. */
typedef struct {
        Storage type;
        int64_t bytes;
        double damage;
} AutoPoint;

typedef struct {
        const Weight *w;
        bool *open;           /* [slots]: the list has no type for it */
        int64_t nopen, count; /* count: elements of a slot */
        double *damage;       /* [slots][WEIGHT_STORAGES] */
        AutoPoint *hull;      /* [nhull], from the smallest to the least damaged */
        int nhull, at;
        bool ends;       /* its next step does not fit */
        SlotStorage *of; /* [slots]; is: the chosen type */
} AutoWeight;

typedef struct {
        Model *m;
        Arena *a;
        const char *list; /* after the number of bits: ",PATH=TYPE…", or "" */
        double bits;
        AutoWeight *weight; /* [n] */
        int n;
        int64_t elements, bytes, most; /* of all weights; most: bytes that BITS allows */
        bool splits;                   /* a weight has a second type */
} AutoChoice;

/* The last result. */
static struct {
        Arena arena;
        uint64_t key;
        const char *list;
} auto_kept;

static bool auto_refuse(const AutoChoice *c, const char *why)
{
        c->m->env_error |= lacks_memory(why);
        fprintf(stderr, "lathe: --quant auto:%g: %s\n", c->bits, why);
        return false;
}

/* --- measured ------------------------------------------------------------------------------------------------------- */

/* Whether open slots of the weight may have a type. */
static bool auto_may_have(const AutoWeight *w, Storage type)
{
        bool good = weight_may_be(w->w, type);
        for (int64_t slot = 0; slot < w->w->slots && good; slot++)
                good = !w->open[slot] || storage_is_made(type) || w->of[slot].exact == type;
        return good;
}

static bool auto_measure(AutoChoice *c, AutoWeight *w, Weights *from, int64_t *done, int64_t total)
{
        Storage type[WEIGHT_STORAGES];
        double damage[WEIGHT_STORAGES];
        int n = 0;
        for (Storage s = 0; s < WEIGHT_STORAGES; s++)
                if (auto_may_have(w, s))
                        type[n++] = s;
        w->damage = NEW_ARRAY(c->a, double, w->w->slots *WEIGHT_STORAGES);
        for (int64_t i = 0; i < w->w->slots * WEIGHT_STORAGES; i++)
                w->damage[i] = INFINITY;
        for (int64_t slot = 0; slot < w->w->slots; slot++, *done += w->count) {
                progress("measuring types", PROGRESS_STEPS, *done, total);
                if (!w->open[slot])
                        continue;
                if (!weight_damage(from, w->w, slot, type, n, damage)) {
                        const char *why = weights_why(from);
                        return auto_refuse(c,
                                           why ? why : "the weights can't be read, or memory is exhausted");
                }
                for (int i = 0; i < n; i++)
                        w->damage[slot * WEIGHT_STORAGES + type[i]] = damage[i];
        }
        return true;
}

/* --- hulls ---------------------------------------------------------------------------------------------------------- */

/* Layers share the damage that a model takes: so that of a weight is the mean over its layers. */
static AutoPoint auto_point(const AutoWeight *w, Storage type)
{
        AutoPoint p = {type, storage_size(type, w->nopen * w->count), 0};
        for (int64_t slot = 0; slot < w->w->slots; slot++)
                if (w->open[slot])
                        p.damage += w->damage[slot * WEIGHT_STORAGES + type];
        p.damage /= (double)w->nopen;
        return p;
}

static bool auto_is_before(const AutoPoint *x, const AutoPoint *y)
{
        return x->bytes != y->bytes ? x->bytes < y->bytes : x->damage < y->damage;
}

/* Damage that a byte of a step removes. */
static double auto_gain(const AutoPoint *from, const AutoPoint *to)
{
        return (from->damage - to->damage) / (double)(to->bytes - from->bytes);
}

static void auto_hull(AutoChoice *c, AutoWeight *w)
{
        AutoPoint all[WEIGHT_STORAGES];
        int n = 0;
        for (Storage s = 0; s < WEIGHT_STORAGES; s++) {
                AutoPoint p = auto_point(w, s);
                int at = n;
                if (!isfinite(p.damage))
                        continue;
                for (; at > 0 && auto_is_before(&p, &all[at - 1]); at--)
                        all[at] = all[at - 1];
                all[at] = p;
                n++;
        }
        w->hull = NEW_ARRAY(c->a, AutoPoint, n);
        for (int i = 0; i < n;) {
                int next = n;
                w->hull[w->nhull++] = all[i];
                for (int k = i + 1; k < n; k++)
                        if (all[k].bytes > all[i].bytes && all[k].damage < all[i].damage &&
                            (next == n || auto_gain(&all[i], &all[k]) > auto_gain(&all[i], &all[next])))
                                next = k;
                i = next;
        }
}

/* --- chosen --------------------------------------------------------------------------------------------------------- */

static void auto_set(AutoWeight *w, int64_t slot, Storage type)
{
        w->of[slot].is = w->of[slot].asked = (uint8_t)type;
}

/* The weight whose next step removes most damage per byte; NULL: none is left. */
static AutoWeight *auto_next(AutoChoice *c)
{
        AutoWeight *best = NULL;
        double gain = 0;
        for (int i = 0; i < c->n; i++) {
                AutoWeight *w = &c->weight[i];
                if (w->ends || w->at + 1 >= w->nhull)
                        continue;
                double own = auto_gain(&w->hull[w->at], &w->hull[w->at + 1]);
                if (!best || own > gain) {
                        best = w;
                        gain = own;
                }
        }
        return best;
}

/* Takes the step in the layers where it removes most damage, as many as fit. */
static void auto_split(AutoChoice *c, AutoWeight *w)
{
        const AutoPoint *was = &w->hull[w->at], *is = was + 1;
        const int64_t each = storage_size(is->type, w->count) - storage_size(was->type, w->count);
        for (; each > 0 && c->bytes + each <= c->most; c->bytes += each) {
                int64_t best = -1;
                double most = 0;
                for (int64_t slot = 0; slot < w->w->slots; slot++) {
                        const double *d = w->damage + slot * WEIGHT_STORAGES;
                        if (!w->open[slot] || w->of[slot].is == is->type)
                                continue;
                        if (best < 0 || d[was->type] - d[is->type] > most) {
                                best = slot;
                                most = d[was->type] - d[is->type];
                        }
                }
                if (best < 0)
                        break;
                auto_set(w, best, is->type);
                c->splits = true;
        }
}

static void auto_spend(AutoChoice *c)
{
        for (AutoWeight *w; (w = auto_next(c));) {
                const int64_t more = w->hull[w->at + 1].bytes - w->hull[w->at].bytes;
                if (c->bytes + more <= c->most) {
                        w->at++;
                        c->bytes += more;
                        for (int64_t slot = 0; slot < w->w->slots; slot++)
                                if (w->open[slot])
                                        auto_set(w, slot, w->hull[w->at].type);
                        continue;
                }
                w->ends = true;
                if (w->nopen > 1 && !c->splits)
                        auto_split(c, w);
        }
}

/* Sets the smallest types; false after a message. */
static bool auto_begin(AutoChoice *c, SlotStorage **of)
{
        const Graph *g = c->m->graph;
        for (int i = 0; i < g->nweight; i++) {
                const Weight *w = g->weight[i];
                const int64_t count = type_count(&w->type, NULL);
                c->elements += w->slots * count;
                for (int64_t slot = 0; slot < w->slots; slot++)
                        c->bytes += storage_size((Storage)of[i][slot].is, count);
        }
        for (int i = 0; i < c->n; i++) {
                AutoWeight *w = &c->weight[i];
                c->bytes += w->hull[0].bytes;
                for (int64_t slot = 0; slot < w->w->slots; slot++) {
                        if (!w->open[slot])
                                continue;
                        c->bytes -= storage_size((Storage)w->of[slot].is, w->count);
                        auto_set(w, slot, w->hull[0].type);
                }
        }
        c->most = (int64_t)(c->bits * (double)c->elements / 8);
        if (c->bytes <= c->most)
                return true;
        return auto_refuse(
                c,
                arena_printf(c->a,
                             "the weights of %s have at least %.3f bits each on average, with the smallest "
                             "types%s: give auto:%.2f to auto:32",
                             g->name, 8 * (double)c->bytes / (double)c->elements,
                             *c->list ? " and those of the list" : "",
                             ceil(800 * (double)c->bytes / (double)c->elements) / 100));
}

/* --- the list ------------------------------------------------------------------------------------------------------- */

/* The type of most elements. */
static Storage auto_base(const AutoChoice *c)
{
        int64_t count[WEIGHT_STORAGES] = {0};
        Storage best = STORAGE_F32;
        for (int i = 0; i < c->n; i++)
                for (int64_t slot = 0; slot < c->weight[i].w->slots; slot++)
                        if (c->weight[i].open[slot])
                                count[c->weight[i].of[slot].is] += c->weight[i].count;
        for (Storage s = 0; s < WEIGHT_STORAGES; s++)
                best = count[s] > count[best] ? s : best;
        return best;
}

/* Adds ",layer[2..4].ffn.up.w=q6_k" for slots first to last, which differ only in the iteration of the innermost repeat. */
static void auto_list_add(Text *t, const Weight *w, int64_t first, int64_t last)
{
        int64_t from[4], to[4];
        weight_iterations(w, first, from);
        weight_iterations(w, last, to);
        for (int p = 0, r = 0; p < w->npart; p++) {
                text_printf(t, "%s%s", p ? "." : ",", w->part[p]);
                if (r == w->nregion || w->region_part[r] != p)
                        continue;
                if (from[r] == to[r])
                        text_printf(t, "[%" PRId64 "]", from[r]);
                else
                        text_printf(t, "[%" PRId64 "..%" PRId64 "]", from[r], to[r] + 1);
                r++;
        }
}

/* Whether slot + 1 is the next iteration of the innermost repeat. */
static bool auto_goes_on(const Weight *w, int64_t slot)
{
        int64_t is[4], next[4];
        weight_iterations(w, slot, is);
        weight_iterations(w, slot + 1, next);
        for (int r = 0; r + 1 < w->nregion; r++)
                if (is[r] != next[r])
                        return false;
        return next[w->nregion - 1] == is[w->nregion - 1] + 1;
}

static void auto_list_weight(Text *t, const AutoWeight *a, Storage base)
{
        const Weight *w = a->w;
        const Storage all = a->hull[a->at].type;
        bool fallback = false;
        for (int64_t slot = 0; slot < w->slots; slot++)
                fallback |= a->open[slot] && weight_rounded(w, (Storage)a->of[slot].exact, base) != all;
        if (fallback)
                text_printf(t, ",%s=%s", w->path, storage_info[all].text);
        for (int64_t slot = 0, end; slot < w->slots; slot = end) {
                end = slot + 1;
                if (!a->open[slot] || a->of[slot].is == all)
                        continue;
                while (end < w->slots && a->open[end] && a->of[end].is == a->of[slot].is &&
                       auto_goes_on(w, end - 1))
                        end++;
                auto_list_add(t, w, slot, end - 1);
                text_printf(t, "=%s", storage_info[a->of[slot].is].text);
        }
}

static const char *auto_list(const AutoChoice *c)
{
        const Storage base = auto_base(c);
        Text *t = text_new(&auto_kept.arena);
        text_printf(t, "%s", storage_info[base].text);
        for (int i = 0; i < c->n; i++)
                auto_list_weight(t, &c->weight[i], base);
        text_printf(t, "%s", c->list);
        return t->data;
}

/* --- all ------------------------------------------------------------------------------------------------------------ */

/* The weights that have slots without a type. */
static void auto_weights(AutoChoice *c, SlotStorage **of)
{
        const Graph *g = c->m->graph;
        c->weight = NEW_ARRAY(c->a, AutoWeight, g->nweight);
        for (int i = 0; i < g->nweight; i++) {
                const Weight *w = g->weight[i];
                AutoWeight *to = &c->weight[c->n];
                if (!weight_may_be(w, STORAGE_F16))
                        continue;
                *to = (AutoWeight){.w = w, .of = of[i], .count = type_count(&w->type, NULL)};
                to->open = NEW_ARRAY(c->a, bool, w->slots);
                for (int64_t slot = 0; slot < w->slots; slot++)
                        to->nopen += to->open[slot] = !*c->list || !quant_names(c->list + 1, w, slot);
                c->n += to->nopen > 0;
        }
}

static bool auto_choose(AutoChoice *c, Weights *from)
{
        SlotStorage **of = quant_slots(c->a, c->m->graph, from, *c->list ? c->list + 1 : NULL);
        int64_t done = 0, total = 0;
        if (!of)
                return false;
        auto_weights(c, of);
        for (int i = 0; i < c->n; i++)
                total += c->weight[i].w->slots * c->weight[i].count;
        for (int i = 0; i < c->n; i++) {
                if (!auto_measure(c, &c->weight[i], from, &done, total))
                        return false;
                auto_hull(c, &c->weight[i]);
        }
        progress("measuring types", PROGRESS_STEPS, total, total);
        if (!auto_begin(c, of))
                return false;
        auto_spend(c);
        auto_kept.list = auto_list(c);
        fprintf(stderr, "lathe: note: --quant auto:%g of %s is --quant %s: %.3f bits a weight, %.6g MB\n",
                c->bits, c->m->graph->name, auto_kept.list, 8 * (double)c->bytes / (double)c->elements,
                1e-6 * (double)c->bytes);
        return true;
}

/* Opens the weights of a newly elaborated model. */
static bool auto_open(AutoChoice *c, const CommandOptions *o, const Importance *by)
{
        Model *m = c->m;
        CommandOptions plain = *o;
        plain.tap.n = 0;
        if (!model_elaborate(m, &plain, m->graph->name))
                return false;
        CkError error;
        Checkpoint *file = o->weights ? open_checkpoint(o, &error) : NULL;
        if (o->weights && !file) {
                m->env_error |= error.environment;
                return auto_refuse(c, error.message);
        }
        Weights *from =
                file ? weights_loaded(c->a, m->graph, file, &m->diag) : weights_hashed(c->a, m->graph);
        diag_print(&m->diag, stderr);
        if (from)
                weights_weigh(from, by);
        bool good = from && auto_choose(c, from);
        checkpoint_close(file);
        return good;
}

static uint64_t auto_key(const Model *m, const CommandOptions *o, const char *list)
{
        CommandOptions plain = *o;
        memset(plain.off, 0, sizeof plain.off);
        uint64_t key = hash_calibration(hash_model(HASH_START, m, &plain), o);
        key = hash_adapters(o->weights ? hash_file_identity(key, o->weights) : key, o);
        return hash_bytes(key, list, strlen(list) + 1);
}

const char *quant_settled(Model *m, const CommandOptions *o, const char *list)
{
        AutoChoice c = {.m = m};
        if (!list || !quant_is_auto(list, &c.bits, &c.list))
                return list;
        const uint64_t key = auto_key(m, o, list);
        if (key == auto_kept.key)
                return auto_kept.list;
        const Importance *by = o->calibrate ? calibrated(m, o) : NULL;
        if (o->calibrate && !by)
                return NULL;
        Model was = *m;
        Arena scratch = {.out_of_memory = m->arena.out_of_memory};
        c.a = &scratch;
        m->checkpoint = NULL;
        arena_free(&auto_kept.arena);
        auto_kept.arena = (Arena){.out_of_memory = m->arena.out_of_memory};
        auto_kept.key = 0;
        const bool good = auto_open(&c, o, by);
        auto_kept.key = good ? key : 0;
        arena_free(&scratch);
        model_restore(m, &was);
        return good ? auto_kept.list : NULL;
}
