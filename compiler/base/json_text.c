/* jansson says of memory that is short that the text is wrong, or nothing at all; 2.14 may even use what it was not given, so
 * reading a text ends at once where there is a way out. */
#include "base.h"

#include <math.h>
#include <stdlib.h>

static _Thread_local bool starved;
static _Thread_local jmp_buf *way_out_of_json;

static void *json_memory(size_t n)
{
        void *memory = malloc(n);
        starved |= !memory;
        if (!memory && way_out_of_json)
                longjmp(*way_out_of_json, 1);
        return memory;
}

void json_begin(void)
{
        json_set_alloc_funcs(json_memory, free);
        starved = false;
}

bool json_starved(void)
{
        return starved;
}

json_t *json_parse(const char *text, size_t length, size_t flags, json_error_t *error)
{
        jmp_buf way_out;
        json_t *json = NULL;
        way_out_of_json = &way_out;
        if (!setjmp(way_out))
                json = json_loadb(text, length, JSON_REJECT_DUPLICATES | flags, error);
        way_out_of_json = NULL;
        return starved ? NULL : json;
}

json_t *json_finite(double x)
{
        return isfinite(x) ? json_real(x) : json_null();
}

bool json_write(json_t *value)
{
        const bool good =
                value && !starved && !json_dumpf(value, stdout, JSON_INDENT(2)) && putchar('\n') != EOF;
        json_decref(value);
        return good || !starved;
}

void json_print(FILE *f, const char *text, int64_t n)
{
        for (int64_t i = 0; i < n; i++) {
                unsigned char c = (unsigned char)text[i];
                if (c < ' ')
                        fprintf(f, "\\u%04x", c);
                else
                        fprintf(f, c == '"' || c == '\\' ? "\\%c" : "%c", c);
        }
}
