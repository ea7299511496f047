/* --quant TYPE[,PATH=TYPE…]: what weights are rounded to.
 *
 * A path is that of a weight as `lathe show MODEL params` prints it, or its first parts: head, layer.attn, layer[*].ffn.down.  A part may
 * have wildcards of the shell.  What stands later in the list goes before what stands earlier; weights that nothing names stay as the
 * checkpoint has them. */
#define _POSIX_C_SOURCE 200809L
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "driver.h"

enum { MAX_PART = 128 };

static Storage weight_storage(const char *name, size_t n)
{
        for (Storage s = 0; s < WEIGHT_STORAGES; s++)
                if (strlen(storage_info[s].text) == n && !strncasecmp(name, storage_info[s].text, n))
                        return s;
        return STORAGE_COUNT;
}

/* One of the list: its path [path_n] and type. */
typedef struct {
        const char *path, *type;
        size_t path_n, type_n;
} Choice;

static const char *read_choice(const char *at, Choice *c)
{
        size_t n = strcspn(at, ","), path = strcspn(at, "=");
        bool named = path < n;
        *c = (Choice){.path = at, .path_n = named ? path : 0};
        c->type = named ? at + path + 1 : at;
        c->type_n = n - (size_t)(c->type - at);
        return at[n] ? at + n + 1 : NULL;
}

/* "f32, f16, ..." */
static const char *storages(char *to, size_t room)
{
        size_t n = 0;
        for (Storage s = 0; s < WEIGHT_STORAGES && n < room; s++)
                n += (size_t)snprintf(to + n, room - n, "%s%s", s ? ", " : "", storage_info[s].text);
        return to;
}

bool quant_fits(const char *list, char why[QUANT_WHY])
{
        Choice c;
        char all[128];
        for (const char *at = list, *next; at; at = next) {
                next = read_choice(at, &c);
                if (weight_storage(c.type, c.type_n) == STORAGE_COUNT)
                        return snprintf(why, QUANT_WHY, "a type is one of %s, not %.*s",
                                        storages(all, sizeof all), (int)(c.type_n < 40 ? c.type_n : 40),
                                        c.type),
                               false;
                if (c.path_n == 0 && at != list)
                        return snprintf(why, QUANT_WHY,
                                        "behind the first type stand PATH=TYPE, not %.*s alone",
                                        (int)c.type_n, c.type),
                               false;
        }
        return true;
}

/* A part of a path without what stands in brackets behind it, as [*]; false: too long. */
static bool next_part(const char **at, const char *end, char *part)
{
        size_t n = strcspn(*at, ".");
        if (n > (size_t)(end - *at))
                n = (size_t)(end - *at);
        const char *bracket = n > 3 && (*at)[n - 1] == ']' ? *at + n - 3 : NULL;
        size_t kept = bracket && !strncmp(bracket, "[*]", 3) ? n - 3 : n;
        if (kept >= MAX_PART)
                return false;
        memcpy(part, *at, kept);
        part[kept] = 0;
        *at += n < (size_t)(end - *at) ? n + 1 : n;
        return true;
}

static bool names(const Choice *c, const char *path)
{
        char wanted[MAX_PART], part[MAX_PART];
        const char *pattern = c->path, *end = c->path + c->path_n, *stop = path + strlen(path);
        while (pattern < end)
                if (path == stop || !next_part(&pattern, end, wanted) || !next_part(&path, stop, part) ||
                    fnmatch(wanted, part, 0) != 0)
                        return false;
        return true;
}

bool quant_weights(const Graph *g, const char *list)
{
        Choice c;
        for (const char *at = list, *next; at; at = next) {
                int found = 0;
                next = read_choice(at, &c);
                for (int i = 0; i < g->nweight; i++) {
                        if (!names(&c, g->weight[i]->path))
                                continue;
                        weight_round(g->weight[i], weight_storage(c.type, c.type_n));
                        found++;
                }
                if (found || !c.path_n)
                        continue;
                fprintf(stderr,
                        "lathe: --quant: %s has no weight %.*s; `lathe show MODEL params` lists its "
                        "weights\n",
                        g->name, (int)c.path_n, c.path);
                return false;
        }
        return true;
}
