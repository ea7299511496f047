/* Golden files as text. */
#include "check.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* --- paths: in the file relative to its folder ------------------------------------------------------------------- */

static const char *beside(Golden *g, const char *path)
{
        return *path == '/' ? path : arena_printf(&g->arena, "%s%s", folder_of(&g->arena, g->path), path);
}

/* --- writing -------------------------------------------------------------------------------------------------------- */

static void write_bytes(Text *t, const char *bytes)
{
        for (const unsigned char *b = (const unsigned char *)bytes; *b; b++)
                text_printf(t, "%02X", *b);
}

static void write_head(Golden *g, Text *t)
{
        const Options *o = &g->o;
        text_printf(t, "lathe golden 2\nmodel %s %s\n",
                    path_from(&g->arena, g->path, o->source ? o->source : o->file[0]), o->model);
        for (int i = 0; i < o->noverride; i++)
                text_printf(t, "set %s %s\n", o->override[i].name, o->override[i].value);
        if (g->hyper)
                text_printf(t, "hyper %s\n", g->hyper);
        if (o->weights)
                text_printf(t, "weights %s 0x%016" PRIx64 "\n", path_from(&g->arena, g->path, o->weights),
                            g->weights_hash);
        else
                text_printf(t, "weights by hash\n");
        if (o->quant)
                text_printf(t, "quant %s\n", o->quant);
        if (o->calibrate)
                text_printf(t, "calibrate %s 0x%016" PRIx64 "\n", path_from(&g->arena, g->path, o->calibrate),
                            g->calibrate_hash);
        if (o->kv)
                text_printf(t, "kv %s\n", storage_info[o->kv].text);
        if (o->tokenizer)
                text_printf(t, "tokenizer %s 0x%016" PRIx64 "\n", path_from(&g->arena, g->path, o->tokenizer),
                            g->tokenizer_hash);
        text_printf(t, "spec 0x%016" PRIx64 "\n", g->spec);
        if (o->inputs)
                text_printf(t, "inputs %s 0x%016" PRIx64 "\n", path_from(&g->arena, g->path, o->inputs),
                            g->inputs_hash);
        if (o->prompt) {
                text_printf(t, "prompt ");
                write_bytes(t, o->prompt);
                text_printf(t, "\n");
        }
        if (o->steps)
                text_printf(t, "steps %" PRId64 "\n", o->steps);
        text_printf(t, "keep %" PRId64 "\n", g->keep);
        for (int i = 0; i < o->ntap; i++)
                text_printf(t, "tap %s\n", o->tap[i]);
}

static void write_value(const GoldenValue *v, Text *t)
{
        text_printf(t, "%s %s 0x%016" PRIx64 " norm %.17g first", v->name, v->shape, v->hash, v->norm);
        for (int i = 0; i < v->shown; i++)
                text_printf(t, " %.9g", (double)v->first[i]);
        text_printf(t, " last");
        for (int i = 0; i < v->shown; i++)
                text_printf(t, " %.9g", (double)v->last[i]);
        text_printf(t, "\n");
}

const char *golden_text(Golden *g)
{
        Text *t = text_new(&g->arena);
        write_head(g, t);
        text_printf(t, "\n");
        for (int i = 0; i < g->nvalue; i++) {
                write_value(&g->value[i], t);
                golden_write_kept(&g->value[i], t);
        }
        if (g->text)
                text_printf(t, "text %s\n", g->text);
        if (g->npiece)
                text_printf(t, "pieces");
        for (int i = 0; i < g->npiece; i++)
                text_printf(t, " %d%s", g->piece[i], i + 1 == g->npiece ? "\n" : "");
        return t->data;
}

bool golden_write(Golden *g)
{
        const char *text = golden_text(g);
        return write_file(g->path, text, (int64_t)strlen(text));
}

/* --- reading --------------------------------------------------------------------------------------------------------- */

typedef struct {
        Golden *g;
        char *at; /* the rest of the line, NUL behind it */
        int line;
        const char *wrong;
} Reading;

static bool fail(Reading *r, const char *what)
{
        if (!r->wrong)
                r->wrong = what;
        return false;
}

/* The next word of the line, "" at its end. */
static char *word(Reading *r)
{
        r->at += strspn(r->at, " ");
        char *begin = r->at;
        r->at += strcspn(r->at, " ");
        if (*r->at)
                *r->at++ = 0;
        return begin;
}

static bool read_hash(Reading *r, uint64_t *hash)
{
        const char *text = word(r);
        char *end;
        *hash = strtoull(text, &end, 16);
        return (!strncmp(text, "0x", 2) && !*end && end - text == 18) ||
               fail(r, "a hash of 16 digits is wanted");
}

static bool read_number(Reading *r, double *x)
{
        const char *text = word(r);
        char *end;
        *x = strtod(text, &end);
        return (*text && !*end) || fail(r, "a number is wanted");
}

static bool read_prompt(Reading *r)
{
        const char *digits = word(r);
        size_t n = strlen(digits);
        char *bytes = arena_alloc(&r->g->arena, (int64_t)n / 2 + 1);
        for (size_t i = 0; i + 1 < n; i += 2) {
                char two[3] = {digits[i], digits[i + 1], 0}, *end;
                bytes[i / 2] = (char)strtol(two, &end, 16);
                if (*end || !bytes[i / 2])
                        return fail(r, "the prompt is bytes in hexadecimal, none of them 0");
        }
        r->g->o.prompt = bytes;
        return n % 2 == 0 || fail(r, "the prompt has half a byte");
}

/* A path, and the hash behind it. */
static bool read_file_line(Reading *r, const char **path, uint64_t *hash)
{
        char *last = strrchr(r->at, ' ');
        if (!last || !*r->at)
                return fail(r, "a file and its hash are wanted");
        *last = 0;
        *path = beside(r->g, r->at);
        r->at = last + 1;
        return read_hash(r, hash);
}

static bool read_model(Reading *r)
{
        char *last = strrchr(r->at, ' ');
        if (!last)
                return fail(r, "a file and a model in it are wanted");
        *last = 0;
        r->g->o.file[0] = beside(r->g, r->at);
        r->g->o.nfile = 1;
        r->g->o.model = last + 1;
        return true;
}

static bool read_setting(Reading *r)
{
        Options *o = &r->g->o;
        const char *name = word(r);
        if (!*name || !*r->at || o->noverride == MAX_OVERRIDES)
                return fail(r, "a hyperparameter and its value are wanted");
        o->override[o->noverride++] = (Override){.name = name, .value = r->at, .said = NULL};
        return true;
}

/* A whole number up to 1000000000. */
static bool read_count(Reading *r, int64_t *n)
{
        double x = 0;
        const bool good = read_number(r, &x) && x >= 0 && x <= 1e9;
        *n = good ? (int64_t)x : 0;
        return good;
}

static bool read_head_line(Reading *r, const char *key)
{
        Golden *g = r->g;
        char why[QUANT_WHY];
        if (!strcmp(key, "model"))
                return read_model(r);
        if (!strcmp(key, "set"))
                return read_setting(r);
        if (!strcmp(key, "hyper")) {
                g->hyper = r->at;
                return true;
        }
        if (!strcmp(key, "inputs"))
                return read_file_line(r, &g->o.inputs, &g->inputs_hash);
        if (!strcmp(key, "weights"))
                return !strcmp(r->at, "by hash") || read_file_line(r, &g->o.weights, &g->weights_hash);
        if (!strcmp(key, "quant")) {
                g->o.quant = r->at;
                return quant_fits(r->at, why) ||
                       fail(r, "quant is TYPE[,PATH=TYPE…]; types are f32, f16 and bf16");
        }
        if (!strcmp(key, "calibrate"))
                return read_file_line(r, &g->o.calibrate, &g->calibrate_hash);
        if (!strcmp(key, "kv"))
                return kv_storage(r->at, &g->o.kv) || fail(r, "kv is f32, f16 or q8");
        if (!strcmp(key, "tokenizer"))
                return read_file_line(r, &g->o.tokenizer, &g->tokenizer_hash);
        if (!strcmp(key, "spec"))
                return read_hash(r, &g->spec);
        if (!strcmp(key, "prompt"))
                return read_prompt(r);
        if (!strcmp(key, "steps"))
                return read_count(r, &g->o.steps) || fail(r, "steps are 0 to 1000000000");
        if (!strcmp(key, "keep"))
                return read_count(r, &g->keep) || fail(r, "values to keep are 0 to 1000000000");
        if (!strcmp(key, "tap") && g->o.ntap < MAX_TAPS) {
                g->o.tap[g->o.ntap++] = r->at;
                return true;
        }
        return fail(r, "no such line is known: model, set, hyper, weights, quant, calibrate, kv, tokenizer, "
                       "spec, inputs, "
                       "prompt, steps, keep or tap");
}

GoldenValue *golden_value_new(Golden *g)
{
        GROW(&g->arena, g->value, g->nvalue, g->cap_value);
        return &g->value[g->nvalue++];
}

static bool read_values(Reading *r, const char *key, float *to, int *n)
{
        if (strcmp(word(r), key))
                return fail(r, "norm, first and last values are wanted behind the hash");
        *n = 0;
        while (*n < SHOWN && *r->at && strncmp(r->at, "last", 4)) {
                double x;
                if (!read_number(r, &x))
                        return false;
                to[(*n)++] = (float)x;
        }
        return true;
}

static bool read_value(Reading *r, const char *name)
{
        char *close = strchr(r->at, ']');
        if (*r->at != '[' || !close || close[1] != ' ')
                return fail(r, "a value is NAME [SHAPE] HASH norm X first … last …");
        GoldenValue *v = golden_value_new(r->g);
        close[1] = 0;
        *v = (GoldenValue){.name = name, .shape = r->at};
        r->at = close + 2;
        int shown = 0;
        if (!read_hash(r, &v->hash) ||
            (strcmp(word(r), "norm") && !fail(r, "norm is wanted behind the hash")) ||
            !read_number(r, &v->norm) || !read_values(r, "first", v->first, &v->shown) ||
            !read_values(r, "last", v->last, &shown))
                return false;
        return shown == v->shown || fail(r, "as many last values as first ones are wanted");
}

/* Whole numbers up to the line's end; how many. */
static int64_t read_counts(Reading *r, int32_t **to)
{
        int64_t n = 0;
        *to = NEW_ARRAY(&r->g->arena, int32_t, (int64_t)strlen(r->at) / 2 + 1);
        for (int64_t x; *r->at && !r->wrong; n++)
                if (read_count(r, &x))
                        (*to)[n] = (int32_t)x;
                else
                        fail(r, "whole numbers are wanted");
        return n;
}

/* EVERY and 8 digits for each value. */
static bool read_kept(Reading *r, GoldenValue *v)
{
        const char *digits = read_count(r, &v->every) && v->every ? word(r) : "";
        const size_t n = strlen(digits) / 8;
        v->kept = NEW_ARRAY(&r->g->arena, float, (int64_t)n + 1);
        for (size_t i = 0; i < n; i++) {
                char one[9] = {0}, *end;
                memcpy(one, digits + 8 * i, 8);
                const uint32_t bits = (uint32_t)strtoul(one, &end, 16);
                memcpy(&v->kept[i], &bits, sizeof bits);
                if (*end || strspn(one, "0123456789ABCDEF") != 8)
                        return fail(r, "8 hexadecimal digits are wanted for each value that is kept");
        }
        v->nkept = (int64_t)n;
        return (n && 8 * n == strlen(digits)) ||
               fail(r, "kept wants a whole number above 0, and 8 hexadecimal digits for each value");
}

/* What stands behind a value or the text, and is about it; false: it is no such line. */
static bool is_about_last(Reading *r, const char *key)
{
        Golden *g = r->g;
        GoldenValue *v = g->nvalue ? &g->value[g->nvalue - 1] : NULL;
        if (*r->at == '[')
                return false;
        if (!strcmp(key, "kept") && v && !v->nkept)
                return read_kept(r, v), true;
        if (!strcmp(key, "likeliest") && v && !v->nlikeliest)
                return v->nlikeliest = read_counts(r, &v->likeliest), true;
        if (!strcmp(key, "pieces") && g->text && !g->npiece)
                return g->npiece = (int)read_counts(r, &g->piece), true;
        return false;
}

static bool read_line(Reading *r, bool *values)
{
        if (r->line == 1)
                return !strcmp(r->at, "lathe golden 1") || !strcmp(r->at, "lathe golden 2") ||
                       fail(r, "this is no golden file: it begins with `lathe golden 2`, or 1");
        if (!*r->at) {
                *values = true;
                return true;
        }
        if (*r->at == '#')
                return true;
        const char *key = word(r);
        if (!*values)
                return read_head_line(r, key);
        if (!strcmp(key, "text") && *r->at == '"') {
                r->g->text = r->at;
                return true;
        }
        if (is_about_last(r, key))
                return !r->wrong;
        return read_value(r, key);
}

bool golden_read(Golden *g, const char *path)
{
        const char *why = NULL;
        *g = (Golden){.path = path, .keep = GOLDEN_KEPT};
        g->o = (Options){.chunk = 64, .slots = 1, .threads = 1};
        const Source *all = read_source(&g->arena, path, &why);
        if (!all) {
                g->why = arena_printf(&g->arena, "lathe: %s: %s", path, why);
                g->code = WRONG_ENVIRONMENT;
                return false;
        }
        Reading r = {.g = g};
        bool values = false;
        char *line = arena_strndup(&g->arena, all->text, all->length);
        for (char *next; line && !r.wrong; line = next) {
                next = strchr(line, '\n');
                if (next)
                        *next++ = 0;
                else if (!*line)
                        break;
                r.at = line;
                r.line++;
                read_line(&r, &values);
        }
        if (!r.wrong && !g->o.nfile)
                fail(&r, "it names no model");
        if (r.wrong)
                g->why = arena_printf(&g->arena, "%s:%d: error: %s", path, r.line, r.wrong);
        g->code = r.wrong ? WRONG_INPUT : DONE;
        return !r.wrong;
}
