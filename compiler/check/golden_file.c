/* Golden files as text. */
#include "check.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { FLOAT_DIGITS = 9, NORM_DIGITS = 17 }; /* sufficient for every bit */

/* --- paths: in the file relative to its folder ------------------------------------------------------------------- */

static const char *path_beside(Golden *g, const char *path)
{
        return *path == '/' ? path : arena_printf(&g->arena, "%s%s", folder_of(&g->arena, g->path), path);
}

/* --- writing -------------------------------------------------------------------------------------------------------- */

static void golden_write_bytes(Text *t, const char *bytes)
{
        for (const unsigned char *b = (const unsigned char *)bytes; *b; b++)
                text_printf(t, "%02X", *b);
}

/* Options that are recorded unchanged, and with a hash of their file. */
static const struct {
        const char *key;
        OptionId id;
        size_t hash; /* offset in Golden; 0: not a file */
} recorded_option[] = {
        {"weights", OPT_WEIGHTS, offsetof(Golden, weights_hash)},
        {"quant", OPT_QUANT, 0},
        {"calibrate", OPT_CALIBRATE, offsetof(Golden, calibrate_hash)},
        {"kv", OPT_KV, 0},
        {"tokenizer", OPT_TOKENIZER, offsetof(Golden, tokenizer_hash)},
        {"inputs", OPT_INPUTS, offsetof(Golden, inputs_hash)},
};
enum { RECORDED_OPTIONS = sizeof recorded_option / sizeof *recorded_option };

static uint64_t *recorded_hash(Golden *g, int i)
{
        return (uint64_t *)(void *)((char *)g + recorded_option[i].hash);
}

/* Their content is part of the hash of the weights. */
static void write_adapters(Golden *g, Text *t)
{
        for (int i = 0; i < g->o.nadapter; i++)
                text_printf(t, "lora %s %.*g\n", path_from(&g->arena, g->path, g->o.adapter[i].path),
                            NORM_DIGITS, g->o.adapter[i].scale);
}

static void write_option(Golden *g, Text *t, int i)
{
        const OptionId id = recorded_option[i].id;
        const char *value = id != OPT_KV ? *option_value(&g->o, id)
                            : g->o.kv    ? storage_info[g->o.kv].text
                                         : NULL;
        if (id == OPT_INPUTS)
                text_printf(t, "spec 0x%016" PRIx64 "\n", g->spec);
        if (value && recorded_option[i].hash)
                text_printf(t, "%s %s 0x%016" PRIx64 "\n", recorded_option[i].key,
                            path_from(&g->arena, g->path, value), *recorded_hash(g, i));
        else if (value)
                text_printf(t, "%s %s\n", recorded_option[i].key, value);
        else if (id == OPT_WEIGHTS)
                text_printf(t, "weights by hash\n");
        if (id == OPT_WEIGHTS)
                write_adapters(g, t);
}

static void golden_write_head(Golden *g, Text *t)
{
        const CommandOptions *o = &g->o;
        text_printf(t, "lathe golden 2\nmodel %s %s\n",
                    path_from(&g->arena, g->path, o->source.path ? o->source.path : o->file[0]), o->model);
        for (int i = 0; i < o->noverride; i++)
                text_printf(t, "set %s %s\n", o->override[i].name, o->override[i].value);
        if (g->hyper)
                text_printf(t, "hyper %s\n", g->hyper);
        for (int i = 0; i < RECORDED_OPTIONS; i++)
                write_option(g, t, i);
        if (o->prompt) {
                text_printf(t, "prompt ");
                golden_write_bytes(t, o->prompt);
                text_printf(t, "\n");
        }
        if (o->steps)
                text_printf(t, "steps %" PRId64 "\n", o->steps);
        text_printf(t, "keep %" PRId64 "\n", g->keep);
        for (int i = 0; i < o->tap.n; i++)
                text_printf(t, "tap %s\n", o->tap.at[i]);
}

static void write_value(const GoldenValue *v, Text *t)
{
        text_printf(t, "%s %s 0x%016" PRIx64 " norm %.*g first", v->name, v->shape, v->hash, NORM_DIGITS,
                    v->norm);
        for (int i = 0; i < v->shown; i++)
                text_printf(t, " %.*g", FLOAT_DIGITS, (double)v->first[i]);
        text_printf(t, " last");
        for (int i = 0; i < v->shown; i++)
                text_printf(t, " %.*g", FLOAT_DIGITS, (double)v->last[i]);
        text_printf(t, "\n");
}

const char *golden_text(Golden *g)
{
        Text *t = text_new(&g->arena);
        golden_write_head(g, t);
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
        char *at; /* the rest of the line, ended by NUL */
        int line;
        bool values;   /* after the empty line that ends the head */
        unsigned seen; /* set of head_line */
        const char *wrong;
} GoldenReading;

static bool golden_refuse(GoldenReading *r, const char *what)
{
        if (!r->wrong)
                r->wrong = what;
        return false;
}

/* The next word of the line; "" at its end. */
static char *golden_word(GoldenReading *r)
{
        r->at += strspn(r->at, " ");
        char *begin = r->at;
        r->at += strcspn(r->at, " ");
        if (*r->at)
                *r->at++ = 0;
        return begin;
}

/* Rejects further words, since they would not be checked. */
static bool line_ends(GoldenReading *r)
{
        const char *rest = r->at + strspn(r->at, " ");
        return !*rest ||
               golden_refuse(r, arena_printf(&r->g->arena, "unexpected %.40s at the end of the line", rest));
}

static bool read_hash(GoldenReading *r, uint64_t *hash)
{
        const char *text = golden_word(r);
        char *end;
        *hash = strtoull(text, &end, 16);
        return (!strncmp(text, "0x", 2) && !*end && end - text == 18) ||
               golden_refuse(r, "expected a hash of 16 digits");
}

static bool golden_read_number(GoldenReading *r, double *x)
{
        const char *text = golden_word(r);
        char *end;
        *x = strtod(text, &end);
        return (*text && !*end) || golden_refuse(r, "expected a number");
}

/* Reads a number of a value.  Another spelling than that of golden_text() is recorded, since it may
 * mislead a reader. */
static bool read_field(GoldenReading *r, GoldenValue *v, const char *field, int digits, double *x)
{
        const char *text = r->at + strspn(r->at, " ");
        char own[40];
        if (!golden_read_number(r, x))
                return false;
        const double held = digits == FLOAT_DIGITS ? (double)(float)*x : *x;
        if (isfinite(*x) && !isfinite(held))
                return golden_refuse(
                        r, arena_printf(&r->g->arena, "%s: %.40s is beyond the largest float", field, text));
        snprintf(own, sizeof own, "%.*g", digits, held);
        if (strcmp(own, text) != 0 && !v->respelled) {
                v->respelled = text;
                v->respelled_field = field;
        }
        return true;
}

static bool golden_read_prompt(GoldenReading *r)
{
        const char *digits = golden_word(r);
        size_t n = strlen(digits);
        char *bytes = arena_alloc(&r->g->arena, (int64_t)n / 2 + 1);
        for (size_t i = 0; i + 1 < n; i += 2) {
                char two[3] = {digits[i], digits[i + 1], 0}, *end;
                bytes[i / 2] = (char)strtol(two, &end, 16);
                if (*end || !bytes[i / 2])
                        return golden_refuse(r, "the prompt is bytes in hexadecimal, none of them 0");
        }
        r->g->o.prompt = bytes;
        return (n % 2 == 0 || golden_refuse(r, "the prompt has half a byte")) && line_ends(r);
}

/* A path, followed by its hash. */
static bool read_file_line(GoldenReading *r, const char **path, uint64_t *hash)
{
        char *last = strrchr(r->at, ' ');
        if (!last || !*r->at)
                return golden_refuse(r, "expected a file and its hash");
        *last = 0;
        *path = path_beside(r->g, r->at);
        r->at = last + 1;
        return read_hash(r, hash) && line_ends(r);
}

static bool golden_read_model(GoldenReading *r)
{
        char *last = strrchr(r->at, ' ');
        if (!last)
                return golden_refuse(r, "expected a file and a model in it");
        *last = 0;
        options_set_model(&r->g->arena, &r->g->o, path_beside(r->g, r->at));
        r->g->o.model = last + 1;
        return true;
}

static bool read_setting(GoldenReading *r)
{
        CommandOptions *o = &r->g->o;
        const char *name = golden_word(r);
        if (!*name || !*r->at || o->noverride == MAX_OVERRIDES)
                return golden_refuse(r, "expected a hyperparameter and its value");
        o->override[o->noverride++] = (Override){.name = name, .value = r->at, .said = NULL};
        return true;
}

/* An integer up to 1000000000. */
static bool golden_read_count(GoldenReading *r, int64_t *n)
{
        double x = 0;
        const bool good = golden_read_number(r, &x) && x >= 0 && x <= 1e9 && x == floor(x);
        *n = good ? (int64_t)x : 0;
        return good;
}

static bool read_hyper(GoldenReading *r)
{
        r->g->hyper = r->at;
        return true;
}

static bool read_quant(GoldenReading *r)
{
        char why[QUANT_WHY];
        r->g->o.quant = r->at;
        return quant_fits(r->at, why) || golden_refuse(r, arena_printf(&r->g->arena, "quant: %s", why));
}

/* A directory and its scale. */
static bool read_adapter(GoldenReading *r)
{
        CommandOptions *o = &r->g->o;
        char *last = strrchr(r->at, ' ');
        double scale;
        if (!last || last == r->at || o->nadapter == MAX_ADAPTERS)
                return golden_refuse(r, "expected the directory of an adapter and its scale");
        *last = 0;
        const char *path = path_beside(r->g, r->at);
        r->at = last + 1;
        if (!golden_read_number(r, &scale) || !isfinite(scale))
                return golden_refuse(r, "the scale of an adapter is a finite number");
        o->adapter[o->nadapter++] = (CkAdapter){path, scale};
        return line_ends(r);
}

static bool read_kv(GoldenReading *r)
{
        return kv_storage(r->at, &r->g->o.kv) || golden_refuse(r, "kv must be f32, f16 or q8");
}

static bool read_spec(GoldenReading *r)
{
        return read_hash(r, &r->g->spec) && line_ends(r);
}

static bool read_steps(GoldenReading *r)
{
        return (golden_read_count(r, &r->g->o.steps) || golden_refuse(r, "steps must be 0 to 1000000000")) &&
               line_ends(r);
}

static bool read_keep(GoldenReading *r)
{
        return (golden_read_count(r, &r->g->keep) ||
                golden_refuse(r, "values to keep must be 0 to 1000000000")) &&
               line_ends(r);
}

static bool read_tap(GoldenReading *r)
{
        if (r->g->o.tap.n == MAX_TAPS)
                return golden_refuse(r, "too many taps");
        r->g->o.tap.at[r->g->o.tap.n++] = r->at;
        return true;
}

static const struct {
        const char *key;
        bool (*read)(GoldenReading *r); /* reads the rest of the line; NULL: a recorded_option */
        bool repeats;                   /* may be repeated */
} head_line[] = {
        {"model", golden_read_model, false},
        {"set", read_setting, true},
        {"hyper", read_hyper, false},
        {"weights", NULL, false},
        {"lora", read_adapter, true},
        {"quant", read_quant, false},
        {"calibrate", NULL, false},
        {"kv", read_kv, false},
        {"tokenizer", NULL, false},
        {"spec", read_spec, false},
        {"inputs", NULL, false},
        {"prompt", golden_read_prompt, false},
        {"steps", read_steps, false},
        {"keep", read_keep, false},
        {"tap", read_tap, true},
};

static bool read_recorded_file(GoldenReading *r, const char *key)
{
        int i = 0;
        while (strcmp(recorded_option[i].key, key) != 0)
                i++;
        if (recorded_option[i].id == OPT_WEIGHTS && !strcmp(r->at, "by hash"))
                return true;
        return read_file_line(r, option_value(&r->g->o, recorded_option[i].id), recorded_hash(r->g, i));
}

static bool read_head_line(GoldenReading *r, const char *key)
{
        for (size_t i = 0; i < sizeof head_line / sizeof *head_line; i++) {
                if (strcmp(head_line[i].key, key) != 0)
                        continue;
                if (!head_line[i].repeats && r->seen >> i & 1)
                        return golden_refuse(r, arena_printf(&r->g->arena, "%s is given twice", key));
                r->seen |= 1u << i;
                return head_line[i].read ? head_line[i].read(r) : read_recorded_file(r, key);
        }
        return golden_refuse(
                r,
                "unknown line; expected model, set, hyper, weights, lora, quant, calibrate, kv, tokenizer, "
                "spec, inputs, "
                "prompt, steps, keep or tap");
}

GoldenValue *golden_value_new(Golden *g)
{
        GROW(&g->arena, g->value, g->nvalue, g->cap_value);
        return &g->value[g->nvalue++];
}

static bool golden_read_values(GoldenReading *r, GoldenValue *v, const char *key, float *to, int *n)
{
        if (strcmp(golden_word(r), key))
                return golden_refuse(r, "expected norm, first and last values after the hash");
        *n = 0;
        while (*n < SHOWN && *r->at && strncmp(r->at, "last", 4)) {
                double x;
                if (!read_field(r, v, key, FLOAT_DIGITS, &x))
                        return false;
                to[(*n)++] = (float)x;
        }
        return true;
}

static bool golden_read_value(GoldenReading *r, const char *name)
{
        char *close = strchr(r->at, ']');
        if (*r->at != '[' || !close || close[1] != ' ')
                return golden_refuse(r, "a value is NAME [SHAPE] HASH norm X first … last …");
        GoldenValue *v = golden_value_new(r->g);
        close[1] = 0;
        *v = (GoldenValue){.name = name, .shape = r->at};
        r->at = close + 2;
        int shown = 0;
        if (!read_hash(r, &v->hash) ||
            (strcmp(golden_word(r), "norm") && !golden_refuse(r, "expected norm after the hash")) ||
            !read_field(r, v, "norm", NORM_DIGITS, &v->norm) ||
            !golden_read_values(r, v, "first", v->first, &v->shown) ||
            !golden_read_values(r, v, "last", v->last, &shown) || !line_ends(r))
                return false;
        if (!isfinite(v->norm) || v->norm < 0)
                return golden_refuse(r, "norm is a finite number, 0 or more");
        return shown == v->shown || golden_refuse(r, "expected as many last values as first ones");
}

/* Integers up to the line's end; returns their number. */
static int64_t read_counts(GoldenReading *r, int32_t **to)
{
        int64_t n = 0;
        *to = NEW_ARRAY(&r->g->arena, int32_t, (int64_t)strlen(r->at) / 2 + 1);
        for (int64_t x; *r->at && !r->wrong; n++)
                if (golden_read_count(r, &x))
                        (*to)[n] = (int32_t)x;
                else
                        golden_refuse(r, "expected whole numbers");
        return n;
}

/* EVERY and 8 digits for each value. */
static bool read_kept(GoldenReading *r, GoldenValue *v)
{
        const char *digits = golden_read_count(r, &v->every) && v->every ? golden_word(r) : "";
        const size_t n = strlen(digits) / 8;
        v->kept = NEW_ARRAY(&r->g->arena, float, (int64_t)n + 1);
        for (size_t i = 0; i < n; i++) {
                char one[9] = {0};
                memcpy(one, digits + 8 * i, 8);
                const uint32_t bits = (uint32_t)strtoul(one, NULL, 16);
                memcpy(&v->kept[i], &bits, sizeof bits);
                if (strspn(one, "0123456789ABCDEF") != 8)
                        return golden_refuse(r, "expected 8 hexadecimal digits for each value that is kept");
        }
        v->nkept = (int64_t)n;
        return ((n && 8 * n == strlen(digits)) ||
                golden_refuse(
                        r, "kept must be a whole number above 0, and 8 hexadecimal digits for each value")) &&
               line_ends(r);
}

/* A line about the preceding value or text; false: another line. */
static bool is_about_last(GoldenReading *r, const char *key)
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

/* A quoted text, only once, with the length of its pieces. */
static bool golden_read_text(GoldenReading *r)
{
        Golden *g = r->g;
        const size_t n = strlen(r->at);
        if (g->text)
                return golden_refuse(r, "text is given twice");
        g->text = r->at;
        return (n > 1 && r->at[n - 1] == '"') || golden_refuse(r, "text is a text in double quotes");
}

static bool pieces_fit(GoldenReading *r)
{
        const Golden *g = r->g;
        int64_t n = 2;
        for (int i = 0; i < g->npiece; i++)
                n += g->piece[i];
        return !g->npiece || n == (int64_t)strlen(g->text) ||
               golden_refuse(r, "the pieces are not as long as the text together");
}

static bool golden_read_line(GoldenReading *r)
{
        if (r->line == 1) {
                r->g->format = !strcmp(r->at, "lathe golden 1") ? 1 : 2;
                return r->g->format == 1 || !strcmp(r->at, "lathe golden 2") ||
                       golden_refuse(r, "this is not a golden file: it begins with `lathe golden 2`, or 1");
        }
        if (!*r->at) {
                r->values = true;
                return true;
        }
        if (*r->at == '#')
                return true;
        const char *key = golden_word(r);
        if (!r->values)
                return read_head_line(r, key);
        if (!strcmp(key, "text") && *r->at == '"')
                return golden_read_text(r);
        if (is_about_last(r, key))
                return !r->wrong;
        return golden_read_value(r, key);
}

/* The lines of a text.  An editor may have added a byte order mark, or carriage returns. */
static void golden_read_lines(GoldenReading *r, char *line, int64_t length)
{
        if ((int64_t)strlen(line) != length)
                golden_refuse(r, "it has a byte 0");
        if (!strncmp(line, "\xef\xbb\xbf", 3))
                line += 3;
        for (char *next; line && !r->wrong; line = next) {
                next = strchr(line, '\n');
                const size_t n = next ? (size_t)(next - line) : strlen(line);
                if (next)
                        *next++ = 0;
                else if (!n)
                        break;
                if (n && line[n - 1] == '\r')
                        line[n - 1] = 0;
                r->at = line;
                r->line++;
                golden_read_line(r);
        }
}

bool golden_read(Golden *g, const char *path)
{
        const char *why = NULL;
        *g = (Golden){.path = path, .keep = GOLDEN_KEPT, .format = 2};
        g->o = (CommandOptions){.chunk = 64, .slots = 1, .threads = 1};
        const Source *all = read_source(&g->arena, path, &why);
        if (!all) {
                g->why = arena_printf(&g->arena, "lathe: %s: %s", path, why);
                g->code = WRONG_ENVIRONMENT;
                return false;
        }
        GoldenReading r = {.g = g};
        golden_read_lines(&r, arena_strndup(&g->arena, all->text, all->length), all->length);
        if (!r.wrong && !g->o.nfile)
                golden_refuse(&r, "it names no model");
        if (!r.wrong)
                pieces_fit(&r);
        if (r.wrong)
                g->why = arena_printf(&g->arena, "%s:%d: error: %s", path, r.line, r.wrong);
        g->code = r.wrong ? WRONG_INPUT : DONE;
        return !r.wrong;
}
