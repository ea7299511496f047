/* Numbers of a checkpoint's tensors, as floats and doubles. */
#include <math.h>
#include <string.h>
#include <sys/stat.h>

#include "adapter_private.h"
#include "scaled_private.h"

enum { MAX_VALUES = 256 }; /* of a block */

/* Checks the file's size first: access beyond the end of a truncated file would kill the process. */
static bool still_whole(const CkFile *file)
{
        struct stat status;
        return !fstat(file->descriptor, &status) && status.st_size >= file->size;
}

static bool can_read(const CkTensor *tensor, int64_t first, int64_t count)
{
        return ck_type_readable(tensor->dtype) && first >= 0 && count >= 0 &&
               first <= tensor->count - count &&
               (tensor->adapted  ? can_read(adapted_base(tensor), 0, 0)
                : tensor->scaled ? scaled_is_whole(tensor)
                                 : still_whole(tensor->file));
}

/* Converts whole blocks directly, and the requested part of a block at either end. */
static void widen_tensor(const CkTensor *tensor, int64_t first, int64_t count, float *out)
{
        int64_t values = ck_type_values(tensor->dtype), bytes = ck_type_bits(tensor->dtype) / 8, n;
        float block[MAX_VALUES];
        if (tensor->scaled) {
                scaled_read(tensor, first, count, out);
                return;
        }
        for (; count; first += n, out += n, count -= n) {
                int64_t skipped = first % values;
                const unsigned char *from = (const unsigned char *)tensor->data + first / values * bytes;
                if (!skipped && count >= values) {
                        n = count - count % values;
                        ck_type_widen(tensor->dtype, from, n / values, out);
                        continue;
                }
                n = values - skipped < count ? values - skipped : count;
                ck_type_widen(tensor->dtype, from, 1, block);
                memcpy(out, block + skipped, (size_t)n * sizeof *out);
        }
}

bool checkpoint_read_f32(const CkTensor *tensor, int64_t first, int64_t count, float *out)
{
        if (!can_read(tensor, first, count))
                return false;
        if (tensor->adapted)
                return adapted_read_f32(tensor, first, count, out);
        widen_tensor(tensor, first, count, out);
        return true;
}

bool checkpoint_read_f64(const CkTensor *tensor, int64_t first, int64_t count, double *out)
{
        enum { AT_ONCE = 1024 };
        float part[AT_ONCE];
        if (!can_read(tensor, first, count))
                return false;
        if (tensor->adapted)
                return adapted_read(tensor, first, count, out);
        if (tensor->dtype == CK_F64) {
                if (count)
                        memcpy(out, (const char *)tensor->data + 8 * first, (size_t)count * sizeof *out);
                return true;
        }
        if (tensor->dtype == CK_I64) {
                for (int64_t i = 0, x; i < count; i++) {
                        memcpy(&x, (const char *)tensor->data + 8 * (first + i), sizeof x);
                        out[i] = (double)x;
                }
                return true;
        }
        for (int64_t done = 0; done < count;) {
                int64_t n = count - done < AT_ONCE ? count - done : AT_ONCE;
                widen_tensor(tensor, first + done, n, part);
                for (int64_t i = 0; i < n; i++)
                        out[done + i] = part[i];
                done += n;
        }
        return true;
}

bool checkpoint_same_numbers(const CkTensor *a, const CkTensor *b)
{
        enum { MOST = 4096 };
        double x[MOST], y[MOST];
        if (a->rank != b->rank || memcmp(a->shape, b->shape, (size_t)a->rank * sizeof *a->shape) != 0)
                return false;
        for (int64_t at = 0, n; at < a->count; at += n) {
                n = a->count - at < MOST ? a->count - at : MOST;
                if (!checkpoint_read_f64(a, at, n, x) || !checkpoint_read_f64(b, at, n, y) ||
                    memcmp(x, y, (size_t)n * sizeof *x) != 0)
                        return false;
        }
        return true;
}

void checkpoint_let_go(const CkTensor *tensor, int64_t first, int64_t count)
{
        int64_t values = ck_type_values(tensor->dtype), bytes = ck_type_bits(tensor->dtype) / 8;
        const char *data = (const char *)tensor->data;
        if (tensor->adapted)
                checkpoint_let_go(adapted_base(tensor), first, count);
        else if (tensor->scaled)
                scaled_let_go(tensor, first, count);
        else
                pages_let_go(data + first / values * bytes, data + (first + count) / values * bytes);
}
