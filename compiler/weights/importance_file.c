/* Reads importance matrices of llama.cpp: sums of squared activations, by tensor and column.
 *
 * The old format has, little-endian: int32 entries; for each an int32 length and the tensor's name, int32 calls, int32
 * values, float32 values, each a mean times calls; at the end optionally int32 calls, and an int32 length and a text.
 * A GGUF has the tensors NAME.in_sum2 [matrices, columns] and NAME.counts [matrices, 1]. */
#include "importance_private.h"
#include "checkpoint_private.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
        MAX_ENTRIES = 1 << 20,
        MAX_NAME_LENGTH = 1024 /* bytes of a tensor's name */
};
#define SUMS ".in_sum2"
#define COUNTS ".counts"

static int compare_entries(const void *x, const void *y)
{
        return strcmp(((const ImportanceEntry *)x)->name, ((const ImportanceEntry *)y)->name);
}

/* Sorts entries; false: two have one name. */
static bool entries_sort(ImportanceEntries *all, const char *path, CkError *err)
{
        if (all->n)
                qsort(all->entry, (size_t)all->n, sizeof *all->entry, compare_entries);
        for (int i = 0; i + 1 < all->n; i++)
                if (!strcmp(all->entry[i].name, all->entry[i + 1].name))
                        return ck_fail(err, "%s: two entries have the name \"%s\"", path,
                                       ck_quote(all->entry[i].name).text);
        return true;
}

/* Whether value i of an entry is a sum of squares. */
static bool is_sum_of_squares(double x, const char *path, const char *name, int64_t i, CkError *err)
{
        return (x >= 0 && x < INFINITY) ||
               ck_fail(err,
                       "%s: value %" PRId64
                       " of entry \"%s\" is %g: a sum of squares is finite, and at least 0",
                       path, i, ck_quote(name).text, x);
}

/* ---- the old format ---- */

typedef struct {
        FILE *file;
        const char *path;
        int64_t left; /* bytes that have not been read */
        CkError *err;
} OldMatrix;

static bool old_read(OldMatrix *r, void *to, int64_t n, const char *what)
{
        if (n > r->left)
                return ck_fail(r->err,
                               "%s: the file ends within %s: %" PRId64 " bytes are left, and %" PRId64
                               " are required",
                               r->path, what, r->left, n);
        r->left -= n;
        return fread(to, 1, (size_t)n, r->file) == (size_t)n ||
               ck_lack(r->err, "%s: cannot read: %s", r->path, strerror(errno));
}

static bool old_number(OldMatrix *r, int32_t *x, const char *what, int64_t least, int64_t most)
{
        if (!old_read(r, x, sizeof *x, what))
                return false;
        return (*x >= least && *x <= most) ||
               ck_fail(r->err, "%s: %s is %" PRId32 ", expected %" PRId64 " to %" PRId64, r->path, what, *x,
                       least, most);
}

/* Whether a name is UTF-8 without control characters. */
static bool is_entry_name(const char *name, int32_t length)
{
        uint32_t code;
        for (int32_t at = 0, n; at < length; at += n) {
                n = decode_utf8(name + at, length - at, &code);
                if (n <= 0 || code < 0x20 || code == 0x7f)
                        return false;
        }
        return true;
}

static bool old_entry(OldMatrix *r, Arena *arena, int32_t at, ImportanceEntry *to)
{
        char what[64];
        int32_t length, calls, n;
        snprintf(what, sizeof what, "the length of the name of entry %" PRId32, at);
        if (!old_number(r, &length, what, 1, MAX_NAME_LENGTH))
                return false;
        char *name = arena_alloc(arena, (size_t)length + 1);
        snprintf(what, sizeof what, "the name of entry %" PRId32, at);
        if (!old_read(r, name, length, what))
                return false;
        name[length] = 0;
        if (!is_entry_name(name, length))
                return ck_fail(r->err, "%s: %s is no text in UTF-8", r->path, what);
        snprintf(what, sizeof what, "the number of calls of entry %" PRId32, at);
        if (!old_number(r, &calls, what, 0, INT32_MAX))
                return false;
        snprintf(what, sizeof what, "the number of values of entry %" PRId32, at);
        if (!old_number(r, &n, what, 1, INT32_MAX))
                return false;
        snprintf(what, sizeof what, "the values of entry %" PRId32, at);
        if (n > r->left / (int64_t)sizeof(float))
                return old_read(r, NULL, n * (int64_t)sizeof(float), what);
        float *value = NEW_ARRAY(arena, float, n);
        if (!old_read(r, value, n * (int64_t)sizeof *value, what))
                return false;
        for (int32_t i = 0; i < n; i++) {
                if (!is_sum_of_squares((double)value[i], r->path, name, i, r->err))
                        return false;
                value[i] = calls ? (float)((double)value[i] / calls) : value[i];
        }
        *to = (ImportanceEntry){.name = name, .n = n, .mean = value};
        return true;
}

static bool old_entries(OldMatrix *r, Arena *arena, ImportanceEntries *all)
{
        int32_t n, calls, length;
        if (!old_number(r, &n, "the number of entries", 1, MAX_ENTRIES))
                return false;
        for (int32_t i = 0, cap = 0; i < n; i++) {
                GROW(arena, all->entry, all->n, cap);
                if (!old_entry(r, arena, i, &all->entry[all->n]))
                        return false;
                all->n++;
        }
        if (r->left == 0 || r->left == sizeof calls)
                return true;
        return old_read(r, &calls, sizeof calls, "the number of calls at the end") &&
               old_number(r, &length, "the length of the text at the end", 0, INT32_MAX) &&
               (length == r->left ||
                ck_fail(r->err, "%s: the text at the end has %" PRId32 " bytes, and %" PRId64 " are left",
                        r->path, length, r->left));
}

static bool old_matrix(Arena *arena, const char *path, ImportanceEntries *all, CkError *err)
{
        const char *why;
        OldMatrix r = {.file = input_open(path, &why), .path = path, .err = err};
        if (!r.file)
                return ck_lack(err, "%s: cannot open: %s", path, why);
        bool good = !fseeko(r.file, 0, SEEK_END) && (r.left = ftello(r.file)) >= 0 &&
                    !fseeko(r.file, 0, SEEK_SET);
        if (!good)
                ck_lack(err, "%s: cannot read: %s", path, strerror(errno));
        good = good && old_entries(&r, arena, all);
        fclose(r.file);
        return good;
}

/* ---- GGUF ---- */

static bool tensor_name_ends(const char *name, const char *end)
{
        const size_t n = strlen(name), k = strlen(end);
        return n > k && !strcmp(name + n - k, end);
}

static bool sums_fit(const char *path, const CkTensor *sums, const char *of, const CkTensor *counts,
                     CkError *err)
{
        if (!counts)
                return ck_fail(err, "%s: tensor \"%s\" has no \"%s" COUNTS "\" beside it", path,
                               ck_quote(sums->name).text, ck_quote(of).text);
        if (sums->dtype != CK_F32 || counts->dtype != CK_F32)
                return ck_fail(err, "%s: \"%s" SUMS "\" is %s and \"%s" COUNTS "\" %s; both have to be F32",
                               path, ck_quote(of).text, ck_type_name(sums->dtype), ck_quote(of).text,
                               ck_type_name(counts->dtype));
        const int64_t matrices = sums->rank > 1 ? sums->count / sums->shape[sums->rank - 1] : 1;
        return (sums->count > 0 && counts->count == matrices) ||
               ck_fail(err,
                       "%s: \"%s" COUNTS "\" has %" PRId64 " numbers, and \"%s" SUMS "\" %" PRId64
                       " rows of columns: one for each row is expected",
                       path, ck_quote(of).text, counts->count, ck_quote(of).text, sums->count ? matrices : 0);
}

static bool gguf_entry(Arena *arena, const Checkpoint *file, const CkTensor *sums, ImportanceEntry *to,
                       CkError *err)
{
        const char *path = checkpoint_path(file);
        const char *name = arena_strndup(arena, sums->name, (int64_t)(strlen(sums->name) - strlen(SUMS)));
        const CkTensor *counts = checkpoint_find(file, arena_printf(arena, "%s" COUNTS, name));
        if (!sums_fit(path, sums, name, counts, err))
                return false;
        const int64_t columns = sums->count / counts->count;
        float *mean = NEW_ARRAY(arena, float, sums->count), *count = NEW_ARRAY(arena, float, counts->count);
        if (!checkpoint_read_f32(sums, 0, sums->count, mean) ||
            !checkpoint_read_f32(counts, 0, counts->count, count))
                return ck_lack(err, "%s: the file was truncated", path);
        for (int64_t i = 0; i < counts->count; i++)
                if (!is_sum_of_squares((double)count[i], path, counts->name, i, err))
                        return false;
        for (int64_t i = 0; i < sums->count; i++) {
                const double n = (double)count[i / columns];
                if (!is_sum_of_squares((double)mean[i], path, sums->name, i, err))
                        return false;
                mean[i] = n > 0 ? (float)((double)mean[i] / n) : 0;
                if (!isfinite(mean[i]))
                        return ck_fail(err,
                                       "%s: value %" PRId64 " of \"%s\", divided by its count, is no float",
                                       path, i, ck_quote(sums->name).text);
        }
        *to = (ImportanceEntry){.name = name, .n = sums->count, .mean = mean};
        return true;
}

static bool gguf_matrix(Arena *arena, const char *path, ImportanceEntries *all, CkError *err)
{
        Checkpoint *file = checkpoint_open(path, err);
        bool good = file;
        for (int i = 0, cap = 0; good && i < checkpoint_count(file); i++) {
                const CkTensor *t = checkpoint_at(file, i);
                if (!tensor_name_ends(t->name, SUMS))
                        continue;
                GROW(arena, all->entry, all->n, cap);
                good = gguf_entry(arena, file, t, &all->entry[all->n], err);
                all->n += good;
        }
        if (good && !all->n)
                good = ck_fail(err,
                               "%s: a GGUF without tensors NAME" SUMS
                               ": an importance matrix has them; a text is no GGUF",
                               path);
        checkpoint_close(file);
        return good;
}

/* ---- both ---- */

/* The first four bytes of a file; "\1\1\1\1" if it has fewer. */
static void first_bytes(const char *path, unsigned char begin[4])
{
        const char *why;
        FILE *file = input_open(path, &why);
        if (!file || fread(begin, 1, 4, file) != 4)
                memset(begin, 1, 4);
        if (file)
                fclose(file);
}

/* They are "GGUF", or a number of entries below 2^24, which no text begins with. */
bool importance_is_matrix(const char *path)
{
        unsigned char begin[4];
        first_bytes(path, begin);
        return !memcmp(begin, "GGUF", sizeof begin) || begin[3] == 0;
}

bool importance_entries(Arena *arena, const char *path, ImportanceEntries *all, CkError *err)
{
        unsigned char begin[4];
        first_bytes(path, begin);
        *all = (ImportanceEntries){0};
        input_read(path);
        return (memcmp(begin, "GGUF", sizeof begin) ? old_matrix : gguf_matrix)(arena, path, all, err) &&
               entries_sort(all, path, err);
}
