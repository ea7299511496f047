/* Sets of characters. */
#include "form_private.h"

#include <stdlib.h>

typedef struct {
        uint32_t first, last;
        char category[3];
} CategoryRange;

static const CategoryRange category_table[] = {
#define RANGE(first, last, category) {first, last, #category},
#include "categories.def"
#undef RANGE
};
enum { CATEGORY_RANGES = sizeof category_table / sizeof category_table[0] };

static int by_first(const void *a, const void *b)
{
        const CharRange *x = a, *y = b;
        return (x->first > y->first) - (x->first < y->first);
}

CharSet charset_of(Arena *a, const CharRange *range, int n)
{
        CharSet set = {NEW_ARRAY(a, CharRange, n + 1), 0};
        CharRange *sorted = NEW_ARRAY(a, CharRange, n + 1);
        memcpy(sorted, range, (size_t)n * sizeof *range);
        qsort(sorted, (size_t)n, sizeof *sorted, by_first);
        for (int i = 0; i < n; i++) {
                CharRange *last = set.n ? &set.range[set.n - 1] : NULL;
                if (last && sorted[i].first <= last->last + 1)
                        last->last = sorted[i].last > last->last ? sorted[i].last : last->last;
                else
                        set.range[set.n++] = sorted[i];
        }
        return set;
}

CharSet charset_join(Arena *a, CharSet x, CharSet y)
{
        CharRange *all = NEW_ARRAY(a, CharRange, x.n + y.n + 1);
        for (int i = 0; i < x.n + y.n; i++)
                all[i] = i < x.n ? x.range[i] : y.range[i - x.n];
        return charset_of(a, all, x.n + y.n);
}

CharSet charset_without(Arena *a, CharSet x)
{
        CharSet set = {NEW_ARRAY(a, CharRange, x.n + 1), 0};
        uint32_t next = 0;
        for (int i = 0; i < x.n; i++) {
                if (x.range[i].first > next)
                        set.range[set.n++] = (CharRange){next, x.range[i].first - 1};
                next = x.range[i].last + 1;
        }
        if (next <= LAST_CHARACTER)
                set.range[set.n++] = (CharRange){next, LAST_CHARACTER};
        return set;
}

bool charset_meets(CharSet x, CharSet y)
{
        for (int i = 0, k = 0; i < x.n && k < y.n;) {
                if (x.range[i].last < y.range[k].first)
                        i++;
                else if (y.range[k].last < x.range[i].first)
                        k++;
                else
                        return true;
        }
        return false;
}

bool charset_category(Arena *a, const char *name, int length, CharSet *out)
{
        CharRange *found = NEW_ARRAY(a, CharRange, CATEGORY_RANGES);
        int n = 0;
        if (length < 1 || length > 2)
                return false;
        if (length == 2 && !strncmp(name, "Cn", 2))
                return false;
        for (int i = 0; i < CATEGORY_RANGES; i++) {
                const CategoryRange *r = &category_table[i];
                if (!strncmp(r->category, name, (size_t)length))
                        found[n++] = (CharRange){r->first, r->last};
        }
        *out = charset_of(a, found, n);
        return n > 0 && *name != 'C'; /* assigned characters differ between versions of Unicode */
}

CharSet charset_space(Arena *a)
{
        static const CharRange space[] = {
                {9, 13},          {0x20, 0x20},     {0x85, 0x85},     {0xa0, 0xa0},     {0x1680, 0x1680},
                {0x2000, 0x200a}, {0x2028, 0x2029}, {0x202f, 0x202f}, {0x205f, 0x205f}, {0x3000, 0x3000}};
        return charset_of(a, space, sizeof space / sizeof space[0]);
}
