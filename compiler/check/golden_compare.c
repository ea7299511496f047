/* Two goldens of one model: what was written down and what is found now. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

/* --- values --------------------------------------------------------------------------------------------------------- */

enum { MANY_UNITS = 1000 }; /* of a double: more say nothing to a reader */

/* Doubles between two: negative ones count downwards. */
static uint64_t double_units(double a, double b)
{
        int64_t x, y;
        memcpy(&x, &a, sizeof x);
        memcpy(&y, &b, sizeof y);
        x = x < 0 ? INT64_MIN - x : x;
        y = y < 0 ? INT64_MIN - y : y;
        return x > y ? (uint64_t)x - (uint64_t)y : (uint64_t)y - (uint64_t)x;
}

static double elements(const char *shape)
{
        double n = 1;
        for (char *c = (char *)shape + 1; *c >= '0' && *c <= '9'; c += strspn(c, ", "))
                n *= strtod(c, &c);
        return n;
}

static bool close_enough(double was, double is, double most)
{
        return was == is || (isnan(was) && isnan(is)) || fabs(was - is) <= most;
}

/* Values may be this far off: `bound` of their root mean square. */
static double most_off(const GoldenValue *was, double bound)
{
        return bound * was->norm / sqrt(fmax(elements(was->shape), 1));
}

/* To the bit, or by the bound: the norm by that much of itself. */
static bool within(const GoldenValue *was, const GoldenValue *is, double bound)
{
        double most = most_off(was, bound);
        bool good = bound > 0 && close_enough(was->norm, is->norm, bound * was->norm);
        for (int i = 0; i < was->shown; i++)
                good = good && close_enough((double)was->first[i], (double)is->first[i], most) &&
                       close_enough((double)was->last[i], (double)is->last[i], most);
        return good || was->hash == is->hash;
}

static void say_value(Text *to, const char *which, int i, float was, float is)
{
        Arena arena = {0};
        text_printf(to, "     %s value %d was %.9g, is %.9g%s\n", which, i, (double)was, (double)is,
                    golden_apart(&arena, was, is));
        arena_free(&arena);
}

/* The first that differs, or that is further off than the bound; the norm, in which every value has a part, where none that is
 * kept does. */
static void say_where(Text *to, const GoldenValue *was, const GoldenValue *is, double bound)
{
        for (int end = 0; end < 2; end++)
                for (int i = 0; i < was->shown; i++) {
                        float a = end ? was->last[i] : was->first[i], b = end ? is->last[i] : is->first[i];
                        bool same = !memcmp(&a, &b, sizeof a) || (isnan(a) && isnan(b));
                        if (same || (bound > 0 && close_enough((double)a, (double)b, most_off(was, bound))))
                                continue;
                        say_value(to, end ? "last" : "first", i, a, b);
                        return;
                }
        if (was->norm == is->norm) {
                text_printf(to,
                            "     in none of the first and last values, and the norm is the same: the hash "
                            "was 0x%016" PRIx64 ", is 0x%016" PRIx64 "\n",
                            was->hash, is->hash);
                return;
        }
        const uint64_t units = double_units(was->norm, is->norm);
        text_printf(to,
                    "     in none of the first and last values; the norm was %.17g, is %.17g: ", was->norm,
                    is->norm);
        if (units <= MANY_UNITS || was->norm == 0)
                text_printf(to, "%" PRIu64 " units in the last place of a double apart\n", units);
        else
                text_printf(to, "a change of %.2g %%\n", 100 * fabs(is->norm - was->norm) / was->norm);
}

static bool same_values(Text *to, const Golden *was, const Golden *is, double bound)
{
        int n = was->nvalue < is->nvalue ? was->nvalue : is->nvalue;
        for (int i = 0; i < n; i++) {
                const GoldenValue *a = &was->value[i], *b = &is->value[i];
                if (strcmp(a->name, b->name) || strcmp(a->shape, b->shape)) {
                        text_printf(to, "     value %d was %s %s, is %s %s\n", i + 1, a->name, a->shape,
                                    b->name, b->shape);
                        return false;
                }
                if (within(a, b, bound))
                        continue;
                text_printf(to, "     %s %s is the first that differs", a->name, a->shape);
                text_printf(to, bound > 0 ? " by more than %g\n" : "\n", bound);
                say_where(to, a, b, bound);
                return false;
        }
        if (was->nvalue != is->nvalue)
                text_printf(to, "     %d values were recorded, and there are %d\n", was->nvalue, is->nvalue);
        return was->nvalue == is->nvalue;
}

/* --- what they are of ------------------------------------------------------------------------------------------------- */

/* The value of a hyperparameter in "layers 4; eps 1e-05"; NULL: it has none. */
static const char *hyper_value(const char *all, const char *name, size_t n, size_t *length)
{
        for (const char *at = all; at; at = strstr(at, "; ") ? strstr(at, "; ") + 2 : NULL)
                if (!strncmp(at, name, n) && at[n] == ' ') {
                        const char *end = strstr(at, "; ");
                        *length = (end ? (size_t)(end - at) : strlen(at)) - n - 1;
                        return at + n + 1;
                }
        return NULL;
}

static void say_hypers(Text *to, const char *was, const char *is)
{
        for (const char *at = was; at; at = strstr(at, "; ") ? strstr(at, "; ") + 2 : NULL) {
                size_t n = strcspn(at, " "), old_length = 0, new_length = 0;
                const char *old = hyper_value(was, at, n, &old_length),
                           *new = hyper_value(is, at, n, &new_length);
                if (old && new && (old_length != new_length || strncmp(old, new, old_length) != 0))
                        text_printf(to, "     %.*s was %.*s, is %.*s\n", (int)n, at, (int)old_length, old,
                                    (int)new_length, new);
        }
}

static void say_file(Text *to, const char *path, uint64_t was, uint64_t is)
{
        if (path && was != is)
                text_printf(to, "     %s has other bytes than when this was recorded\n", path);
}

static void say_what_changed(Text *to, const Golden *was, const Golden *is)
{
        if (was->spec != is->spec) {
                text_printf(to, "     the model is not what it was when this was recorded\n");
                if (was->hyper && is->hyper)
                        say_hypers(to, was->hyper, is->hyper);
        }
        if (was->o.weights != is->o.weights &&
            (!was->o.weights || !is->o.weights || strcmp(was->o.weights, is->o.weights)))
                text_printf(to, "     the weights are those of %s\n", is->o.weights);
        else
                say_file(to, was->o.weights, was->weights_hash, is->weights_hash);
        if (is->o.quant && (!was->o.quant || strcmp(was->o.quant, is->o.quant)))
                text_printf(to, "     the weights are rounded to %s\n", is->o.quant);
        if (is->o.kv != was->o.kv)
                text_printf(to, "     keys and values are kept in %s\n", storage_info[is->o.kv].text);
        say_file(to, was->o.calibrate, was->calibrate_hash, is->calibrate_hash);
        say_file(to, was->o.tokenizer, was->tokenizer_hash, is->tokenizer_hash);
        say_file(to, was->o.inputs, was->inputs_hash, is->inputs_hash);
}

bool golden_compare(Text *to, const Golden *was, const Golden *is, double bound)
{
        bool good = same_values(to, was, is, bound);
        if (good && bound == 0 && was->text && strcmp(was->text, is->text ? is->text : "") != 0) {
                if (!is->text)
                        text_printf(to, "     the text was %s\n     and is none\n", was->text);
                good = false;
        }
        say_what_changed(to, was, is);
        if (!good)
                golden_say_changes(to, was, is);
        return good;
}

/* --- lines -------------------------------------------------------------------------------------------------------------- */

typedef struct {
        const char **line;
        int n;
} Lines;

static Lines lines_of(Arena *a, const char *text)
{
        Lines l = {NULL, 0};
        int n = 0;
        for (const char *c = text; *c; c++)
                n += *c == '\n';
        l.line = NEW_ARRAY(a, const char *, n + 1);
        while (l.n < n) {
                size_t length = strcspn(text, "\n");
                l.line[l.n++] = arena_strndup(a, text, (int64_t)length);
                text += length + 1;
        }
        return l;
}

/* Of values that are kept the line is long, and says nothing to a reader. */
static void print_line(FILE *to, char sign, const char *line)
{
        const size_t n = strlen(line);
        const bool whole = n <= 200 || strncmp(line, "kept ", 5) != 0;
        fprintf(to, "%c%.*s%s\n", sign, whole ? (int)n : 60, line, whole ? "" : "…");
}

/* By the longest common subsequence: common [was.n + 1][is.n + 1] is its length from line i and k on. */
int golden_diff(FILE *to, Arena *a, const char *was_text, const char *is_text)
{
        Lines was = lines_of(a, was_text), is = lines_of(a, is_text);
        int width = is.n + 1, changed = 0;
        int *common = NEW_ARRAY(a, int, (int64_t)(was.n + 1) * width);
        for (int i = was.n - 1; i >= 0; i--)
                for (int k = is.n - 1; k >= 0; k--) {
                        int down = common[(i + 1) * width + k], right = common[i * width + k + 1];
                        common[i * width + k] = !strcmp(was.line[i], is.line[k])
                                                        ? common[(i + 1) * width + k + 1] + 1
                                                        : (down > right ? down : right);
                }
        for (int i = 0, k = 0; i < was.n || k < is.n;) {
                if (i < was.n && k < is.n && !strcmp(was.line[i], is.line[k])) {
                        i++;
                        k++;
                        continue;
                }
                bool gone =
                        i < was.n && (k == is.n || common[(i + 1) * width + k] >= common[i * width + k + 1]);
                print_line(to, gone ? '-' : '+', gone ? was.line[i] : is.line[k]);
                changed++;
                *(gone ? &i : &k) += 1;
        }
        return changed;
}
