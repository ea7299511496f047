/* Reads JSON.  If memory is short, jansson reports invalid text or nothing, and 2.14 may even use a failed
 * allocation.  So reading ends at once if there is a handler. */
#include "base.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static _Thread_local bool out_of_memory;
static _Thread_local jmp_buf *way_out_of_json;

static void *json_memory(size_t n)
{
        void *memory = malloc(n);
        out_of_memory |= !memory;
        if (!memory && way_out_of_json)
                longjmp(*way_out_of_json, 1);
        return memory;
}

void json_begin(void)
{
        json_set_alloc_funcs(json_memory, free);
        out_of_memory = false;
}

bool json_out_of_memory(void)
{
        return out_of_memory;
}

/* Words that Python writes for numbers that are not finite, and texts of the same length that replace
 * them, so that errors keep their positions. */
static const struct {
        const char *word, *text;
        double value;
} not_finite[] = {{"NaN", "\"\x7f\"", NAN},
                  {"Infinity",
                   "\"\x7f"
                   "nfini\"",
                   INFINITY},
                  {"-Infinity",
                   "\"\x7f"
                   "-nfini\"",
                   -INFINITY}};
enum { NOT_FINITE = sizeof not_finite / sizeof *not_finite };

bool json_not_finite(const json_t *value, double *x)
{
        const char *text = json_string_value(value);
        for (int i = 0; text && i < NOT_FINITE; i++) {
                size_t n = strlen(not_finite[i].text) - 2;
                if (strlen(text) == n && !memcmp(text, not_finite[i].text + 1, n)) {
                        *x = not_finite[i].value;
                        return true;
                }
        }
        return false;
}

/* Index of the word at text[at], as a whole value; -1: none. */
static int not_finite_at(const char *text, size_t length, size_t at, char before)
{
        if (!strchr(":[,", before))
                return -1;
        for (int i = 0; i < NOT_FINITE; i++) {
                size_t n = strlen(not_finite[i].word);
                if (n <= length - at && !memcmp(text + at, not_finite[i].word, n) &&
                    (at + n == length || strchr(",]} \t\r\n", text[at + n])))
                        return i;
        }
        return -1;
}

/* A copy with such texts, for free(); NULL: nothing to replace, or out of memory. */
static char *json_of_python(const char *text, size_t length)
{
        char *copy = NULL, before = ' ';
        for (size_t at = 0; at < length; at++) {
                char c = text[at];
                int word = c == 'N' || c == 'I' || c == '-' ? not_finite_at(text, length, at, before) : -1;
                if (c == '"')
                        for (at++; at < length && text[at] != '"'; at++)
                                at += text[at] == '\\';
                if (word >= 0 && !copy && (copy = malloc(length + 1)))
                        memcpy(copy, text, length);
                out_of_memory |= word >= 0 && !copy;
                if (word >= 0 && copy)
                        memcpy(copy + at, not_finite[word].text, strlen(not_finite[word].text));
                if (!strchr(" \t\r\n", c) || !c)
                        before = c ? c : '?';
        }
        return copy;
}

json_t *json_parse_exact(const char *text, size_t length, size_t flags, json_error_t *error)
{
        jmp_buf way_out;
        json_t *json = NULL;
        way_out_of_json = &way_out;
        if (!setjmp(way_out))
                json = json_loadb(text, length, JSON_REJECT_DUPLICATES | flags, error);
        way_out_of_json = NULL;
        return out_of_memory ? NULL : json;
}

/* --- numbers of any size ---------------------------------------------------------------------------------------------- */

enum { WIDEST_INTEGER = 18 }; /* digits that always fit an int64 */

/* A number for jansson: an integer of many digits as a real, one beyond double as the largest double. */
static void copy_number(Text *to, const char *number, size_t n)
{
        const bool integer = strcspn(number, ".eE") >= n;
        const double value = strtod(number, NULL);
        if (isinf(value))
                text_printf(to, "%.17g", copysign(DBL_MAX, value));
        else if (integer && n > WIDEST_INTEGER)
                text_printf(to, "%.*s.0", (int)n, number);
        else
                text_add(to, number, (int64_t)n);
}

/* The text with such numbers; text[length] is 0. */
static Text *with_bounded_numbers(Arena *a, const char *text, size_t length)
{
        Text *to = text_new(a);
        bool quoted = false;
        for (size_t i = 0, n; i < length; i += n) {
                n = quoted || !strchr("-0123456789", text[i]) ? 1 : strspn(text + i, "+-.0123456789eE");
                if (text[i] && n > 1) {
                        copy_number(to, text + i, n);
                        continue;
                }
                n = quoted && text[i] == '\\' && i + 1 < length ? 2 : 1;
                quoted ^= text[i] == '"';
                text_add(to, text + i, (int64_t)n);
        }
        return to;
}

static json_t *json_load_bounded(const char *text, size_t length, size_t flags, json_error_t *error)
{
        json_t *json = json_parse_exact(text, length, flags, error);
        if (json || out_of_memory || json_error_code(error) != json_error_numeric_overflow)
                return json;
        Arena a = {0};
        const Text *bounded = with_bounded_numbers(&a, arena_strndup(&a, text, (int64_t)length), length);
        json = json_parse_exact(bounded->data, (size_t)bounded->n, flags, error);
        arena_free(&a);
        return json;
}

json_t *json_parse(const char *text, size_t length, size_t flags, json_error_t *error)
{
        size_t mark = (size_t)text_mark(text, (int64_t)length);
        char *copy = json_of_python(text + mark, length - mark);
        json_t *json = out_of_memory
                               ? NULL
                               : json_load_bounded(copy ? copy : text + mark, length - mark, flags, error);
        free(copy);
        return json;
}

json_t *json_finite(double x)
{
        return isfinite(x) ? json_real(x) : json_null();
}

bool json_write(json_t *value)
{
        const bool good =
                value && !out_of_memory && !json_dumpf(value, stdout, JSON_INDENT(2)) && putchar('\n') != EOF;
        json_decref(value);
        return good || !out_of_memory;
}

void json_print(FILE *f, const char *text, int64_t n)
{
        uint32_t code;
        for (int64_t i = 0, bytes; i < n; i += bytes) {
                unsigned char c = (unsigned char)text[i];
                const int64_t left = n - i < 4 ? n - i : 4;
                bytes = c < 0x80 ? 1 : decode_utf8(text + i, (int32_t)left, &code);
                if (c < ' ' || !bytes)
                        fprintf(f, "\\u%04x", bytes ? c : 0xfffd);
                else if (c < 0x80)
                        fprintf(f, c == '"' || c == '\\' ? "\\%c" : "%c", c);
                else
                        fwrite(text + i, 1, (size_t)bytes, f);
                bytes += !bytes;
        }
}
