/* Compares a recorded golden with one of a new run.  Every field is compared exactly: recording again
 * would write the same file. */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

/* --- values --------------------------------------------------------------------------------------------------------- */

enum { MANY_UNITS = 1000 }; /* of a double; larger numbers are not useful */

/* Number of doubles between two; negative ones count downwards. */
static uint64_t double_units(double a, double b)
{
        int64_t x, y;
        memcpy(&x, &a, sizeof x);
        memcpy(&y, &b, sizeof y);
        x = x < 0 ? INT64_MIN - x : x;
        y = y < 0 ? INT64_MIN - y : y;
        return x > y ? (uint64_t)x - (uint64_t)y : (uint64_t)y - (uint64_t)x;
}

static double shape_elements(const char *shape)
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

/* Maximum error of values: `bound` times their root mean square. */
static double max_off(const GoldenValue *was, double bound)
{
        return bound * was->norm / sqrt(fmax(shape_elements(was->shape), 1));
}

/* Compares the norm, with relative error `bound`, and the values at either end. */
static bool value_is_within(const GoldenValue *was, const GoldenValue *is, double bound)
{
        const double most = max_off(was, bound);
        bool good = close_enough(was->norm, is->norm, bound * was->norm);
        for (int i = 0; i < was->shown && i < is->shown; i++)
                good = good && close_enough((double)was->first[i], (double)is->first[i], most) &&
                       close_enough((double)was->last[i], (double)is->last[i], most);
        return good;
}

static void say_value(Text *to, const char *which, int i, float was, float is)
{
        Arena arena = {0};
        text_printf(to, "     %s value %d was %.9g, is %.9g%s\n", which, i, (double)was, (double)is,
                    golden_apart(&arena, was, is));
        arena_free(&arena);
}

/* Reports the first value that differs, or exceeds the bound; or the norm, to which all values contribute,
 * if no kept value does. */
static void say_where(Text *to, const GoldenValue *was, const GoldenValue *is, double bound)
{
        for (int end = 0; end < 2; end++)
                for (int i = 0; i < was->shown; i++) {
                        float a = end ? was->last[i] : was->first[i], b = end ? is->last[i] : is->first[i];
                        bool same = !memcmp(&a, &b, sizeof a) || (isnan(a) && isnan(b));
                        if (same || (bound > 0 && close_enough((double)a, (double)b, max_off(was, bound))))
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

/* --- the fields of a value: the hash decides nothing about them ------------------------------------------------- */

static bool same_float(float a, float b)
{
        return !memcmp(&a, &b, sizeof a) || (isnan(a) && isnan(b));
}

/* Reports a field of a value that differs from the new run. */
__attribute__((format(printf, 3, 4))) static bool refuse_field(Text *to, const GoldenValue *v,
                                                               const char *format, ...)
{
        char what[256];
        va_list list;
        va_start(list, format);
        vsnprintf(what, sizeof what, format, list);
        va_end(list);
        text_printf(to, "     %s %s: %s\n", v->name, v->shape, what);
        return false;
}

/* Compares the norm and the values at either end, exactly, and their spelling. */
static bool same_ends(Text *to, const GoldenValue *was, const GoldenValue *is)
{
        for (int end = 0; end < 2; end++)
                for (int i = 0; i < was->shown; i++) {
                        const float a = end ? was->last[i] : was->first[i],
                                    b = end ? is->last[i] : is->first[i];
                        if (!same_float(a, b))
                                return refuse_field(to, was, "%s value %d is recorded as %.9g, and is %.9g",
                                                    end ? "last" : "first", i, (double)a, (double)b);
                }
        if (was->norm != is->norm)
                return refuse_field(to, was, "norm is recorded as %.17g, and is %.17g", was->norm, is->norm);
        if (was->respelled)
                return refuse_field(to, was, "%s is spelled %.40s, which is not how records spell it",
                                    was->respelled_field, was->respelled);
        return true;
}

/* Compares the kept values of an output, to the bit or by the bound.  A file of the first form may lack them. */
static bool compare_kept(Text *to, const GoldenValue *was, const GoldenValue *is, double bound, bool may_lack)
{
        if (!was->nkept && may_lack)
                return true;
        if (was->nkept != is->nkept || (is->nkept && was->every != is->every))
                return refuse_field(to, was,
                                    "kept has %" PRId64 " values, one of %" PRId64 ", and is to have %" PRId64
                                    ", one of %" PRId64,
                                    was->nkept, was->every, is->nkept, is->every);
        for (int64_t i = 0; i < was->nkept; i++) {
                const float a = was->kept[i], b = is->kept[i];
                if (same_float(a, b) ||
                    (bound > 0 && close_enough((double)a, (double)b, max_off(was, bound))))
                        continue;
                return refuse_field(to, was, "kept value %" PRId64 " was %.9g, is %.9g", i, (double)a,
                                    (double)b);
        }
        return true;
}

/* With a bound another token may be the most likely: then the recorded one is at most twice the bound
 * below it. */
static bool same_likeliest(Text *to, const GoldenValue *was, const GoldenValue *is, double bound,
                           bool may_lack)
{
        if (!was->nlikeliest && may_lack)
                return true;
        if (was->nlikeliest != is->nlikeliest)
                return refuse_field(to, was, "likeliest has %" PRId64 " tokens, and is to have %" PRId64,
                                    was->nlikeliest, is->nlikeliest);
        for (int64_t i = 0; i < was->nlikeliest; i++) {
                const bool near = bound > 0 && is->behind && (double)is->behind[i] <= 2 * max_off(was, bound);
                if (was->likeliest[i] != is->likeliest[i] && !near)
                        return refuse_field(to, was, "likeliest token %" PRId64 " was %d, is %d", i,
                                            (int)was->likeliest[i], (int)is->likeliest[i]);
        }
        return true;
}

static bool same_value(Text *to, const GoldenValue *was, const GoldenValue *is, double bound, bool may_lack)
{
        if (strcmp(was->name, is->name) != 0 || strcmp(was->shape, is->shape) != 0)
                return refuse_field(to, was, "there is %s %s in its place", is->name, is->shape);
        if (was->shown != is->shown)
                return refuse_field(to, was, "%d first and last values are recorded, and there are %d",
                                    was->shown, is->shown);
        if (bound > 0 ? !value_is_within(was, is, bound) : was->hash != is->hash) {
                text_printf(to, "     %s %s is the first that differs", was->name, was->shape);
                text_printf(to, bound > 0 ? " by more than %g\n" : "\n", bound);
                say_where(to, was, is, bound);
                return false;
        }
        return (bound > 0 || same_ends(to, was, is)) && compare_kept(to, was, is, bound, may_lack) &&
               same_likeliest(to, was, is, bound, may_lack);
}

static bool compare_outputs(Text *to, const Golden *was, const Golden *is, double bound)
{
        int n = was->nvalue < is->nvalue ? was->nvalue : is->nvalue;
        for (int i = 0; i < n; i++)
                if (!same_value(to, &was->value[i], &is->value[i], bound, was->format < 2))
                        return false;
        if (was->nvalue != is->nvalue)
                text_printf(to, "     %d values were recorded, and there are %d\n", was->nvalue, is->nvalue);
        return was->nvalue == is->nvalue;
}

/* --- the text ---------------------------------------------------------------------------------------------------- */

/* Compares exactly, even with a bound.  The texts are shown with the changes of outputs. */
static bool compare_texts(Text *to, const Golden *was, const Golden *is, double bound)
{
        const char *a = was->text ? was->text : "", *b = is->text ? is->text : "";
        if (strcmp(a, b) != 0) {
                if (!*a || !*b)
                        text_printf(to, "     the text was %s\n     and is       %s\n",
                                    *a ? a : "not recorded", *b ? b : "none");
                return bound > 0;
        }
        if (!was->npiece && was->format < 2)
                return true;
        if (was->npiece == is->npiece &&
            (!was->npiece || !memcmp(was->piece, is->piece, (size_t)was->npiece * sizeof *was->piece)))
                return true;
        text_printf(to, "     pieces are not those of the text's tokens: %d are recorded, and there are %d\n",
                    was->npiece, is->npiece);
        return false;
}

/* --- origin of values ------------------------------------------------------------------------------------------------- */

/* The value of a hyperparameter in "layers 4; eps 1e-05"; NULL: none. */
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

/* Reports hyperparameters whose values differ; returns whether there are any. */
static bool say_hypers(Text *to, const char *was, const char *is)
{
        bool any = false;
        for (const char *at = was; at; at = strstr(at, "; ") ? strstr(at, "; ") + 2 : NULL) {
                size_t n = strcspn(at, " "), old_length = 0, new_length = 0;
                const char *old = hyper_value(was, at, n, &old_length),
                           *new = hyper_value(is, at, n, &new_length);
                if (old && new && (old_length != new_length || strncmp(old, new, old_length) != 0)) {
                        text_printf(to, "     %.*s was %.*s, is %.*s\n", (int)n, at, (int)old_length, old,
                                    (int)new_length, new);
                        any = true;
                }
        }
        return any;
}

/* Compares the graph and its hyperparameters.  With a bound both may differ. */
static bool same_model(Text *to, const Golden *was, const Golden *is, double bound)
{
        const char *hyper = is->hyper ? is->hyper : "";
        const bool same_hypers = !was->hyper || !strcmp(was->hyper, hyper);
        if (was->spec != is->spec)
                text_printf(to, "     the model differs from the recorded one (spec)\n");
        else if (!same_hypers)
                text_printf(to, "     the hyperparameters differ from the recorded ones:\n");
        if (!same_hypers && !say_hypers(to, was->hyper, hyper))
                text_printf(to, "     hyper was %s\n     and is    %s\n", was->hyper, hyper);
        return was->spec != is->spec ? bound > 0 : same_hypers;
}

/* Compares a file of the golden by its hash. */
static bool same_file(Text *to, const char *path, uint64_t was, uint64_t is)
{
        if (path && was != is)
                text_printf(to, "     the content of %s differs from the recorded one\n", path);
        return !path || was == is;
}

static bool same_adapters(const CommandOptions *was, const CommandOptions *is)
{
        bool same = was->nadapter == is->nadapter;
        for (int i = 0; same && i < was->nadapter; i++)
                same = !strcmp(was->adapter[i].path, is->adapter[i].path) &&
                       was->adapter[i].scale == is->adapter[i].scale;
        return same;
}

static bool same_weights(Text *to, const Golden *was, const Golden *is)
{
        const char *a = was->o.weights, *b = is->o.weights;
        if (!same_adapters(&was->o, &is->o)) {
                text_printf(to, "     the weights are changed by other adapters\n");
                return is->other_weights;
        }
        if ((a == b || (a && b && !strcmp(a, b))) && was->o.nadapter &&
            was->weights_hash != is->weights_hash) {
                text_printf(to, "     the content of %s or of its adapters differs from the recorded one\n",
                            a);
                return false;
        }
        if (a == b || (a && b && !strcmp(a, b)))
                return same_file(to, a, was->weights_hash, is->weights_hash);
        text_printf(to, "     the weights are those of %s\n", b);
        return is->other_weights;
}

/* Compares the origin of the values: model, weights, inputs.  Options of the check replace recorded ones; with a bound files may differ. */
static bool same_origin(Text *to, const Golden *was, const Golden *is, double bound)
{
        bool good = same_model(to, was, is, bound);
        good &= same_weights(to, was, is) || bound > 0;
        if (is->o.quant && (!was->o.quant || strcmp(was->o.quant, is->o.quant)))
                text_printf(to, "     the weights are rounded to %s\n", is->o.quant);
        if (is->o.kv != was->o.kv)
                text_printf(to, "     keys and values are kept in %s\n", storage_info[is->o.kv].text);
        bool files = same_file(to, was->o.calibrate, was->calibrate_hash, is->calibrate_hash);
        files &= same_file(to, was->o.tokenizer, was->tokenizer_hash, is->tokenizer_hash);
        files &= same_file(to, was->o.input_file.at[0], was->inputs_hash, is->inputs_hash);
        return good && (files || bound > 0);
}

bool golden_compare(Text *to, const Golden *was, const Golden *is, double bound)
{
        bool good = compare_outputs(to, was, is, bound);
        good &= compare_texts(to, was, is, bound);
        good &= same_origin(to, was, is, bound);
        if (!good)
                golden_say_changes(to, was, is);
        return good;
}

/* --- lines -------------------------------------------------------------------------------------------------------------- */

typedef struct {
        const char **line;
        int n;
} TextLines;

static TextLines lines_of(Arena *a, const char *text)
{
        TextLines l = {NULL, 0};
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

/* Lines of kept values are long, and are shortened. */
static void compare_print_line(FILE *to, char sign, const char *line)
{
        const size_t n = strlen(line);
        const bool whole = n <= 200 || strncmp(line, "kept ", 5) != 0;
        fprintf(to, "%c%.*s%s\n", sign, whole ? (int)n : 60, line, whole ? "" : "…");
}

/* By the longest common subsequence: common [was.n + 1][is.n + 1] is its length from line i and k on. */
int golden_diff(FILE *to, Arena *a, const char *was_text, const char *is_text)
{
        TextLines was = lines_of(a, was_text), is = lines_of(a, is_text);
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
                compare_print_line(to, gone ? '-' : '+', gone ? was.line[i] : is.line[k]);
                changed++;
                *(gone ? &i : &k) += 1;
        }
        return changed;
}
