/* compare FOLDER FILE: whether a quantised checkpoint has the tensors of FILE, with the same types and numbers to the bit, read whole,
 * in parts, as doubles and in parts of parts; prints the first difference.  list FOLDER: a line for each tensor.  cut FOLDER: truncates its file while it is open.
 * blocks FOLDER: quantises numbers of MXFP4 again.  packed FOLDER FILE: whether blocks of its matrices have the numbers of FILE when these
 * are rounded; a line for each with the type of its blocks. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "weights/scaled_private.h"

static bool same(const CkTensor *a, const float *x, const float *y, int64_t first, int64_t n, const char *how)
{
        for (int64_t i = 0; i < n; i++)
                if (f32_bits(x[i]) != f32_bits(y[i]) && !(isnan(x[i]) && isnan(y[i]))) {
                        printf("%s: element %lld, %s, is %.9g (%08x); expected %.9g (%08x)\n", a->name,
                               (long long)(first + i), how, (double)x[i], f32_bits(x[i]), (double)y[i],
                               f32_bits(y[i]));
                        return false;
                }
        return true;
}

static bool same_in_parts(const CkTensor *a, const float *y, int64_t part)
{
        float x[512];
        double wide[512];
        for (int64_t at = 0, n; at < a->count; at += n) {
                n = a->count - at < part ? a->count - at : part;
                if (!checkpoint_read_f32(a, at, n, x) || !checkpoint_read_f64(a, at, n, wide) ||
                    !same(a, x, y + at, at, n, "in parts"))
                        return false;
                for (int64_t i = 0; i < n; i++)
                        x[i] = (float)wide[i];
                if (!same(a, x, y + at, at, n, "as a double"))
                        return false;
                checkpoint_let_go(a, at, n);
        }
        return true;
}

static bool same_tensor(const CkTensor *a, const CkTensor *b)
{
        static const int64_t part[] = {1, 7, 31, 32, 100, 512};
        if (a->dtype != b->dtype || a->rank != b->rank ||
            memcmp(a->shape, b->shape, (size_t)a->rank * sizeof *a->shape) != 0) {
                printf("%s: %s of rank %d, expected %s of rank %d, or another shape\n", b->name,
                       ck_type_name(a->dtype), a->rank, ck_type_name(b->dtype), b->rank);
                return false;
        }
        float *x = malloc((size_t)a->count * sizeof *x), *y = malloc((size_t)a->count * sizeof *y);
        bool good = x && y && checkpoint_read_f32(a, 0, a->count, x) &&
                    checkpoint_read_f32(b, 0, b->count, y) && same(a, x, y, 0, a->count, "at once");
        for (size_t i = 0; good && i < sizeof part / sizeof *part; i++)
                good = same_in_parts(a, y, part[i]);
        free(x);
        free(y);
        return good;
}

static int refuse(const CkError *err)
{
        printf("%s\n", err->message);
        return 1;
}

static int compare(const char *left, const char *right)
{
        CkError err;
        Checkpoint *a = checkpoint_open(left, &err), *b = a ? checkpoint_open(right, &err) : NULL;
        bool good = b;
        if (!b)
                refuse(&err);
        if (good && checkpoint_count(a) != checkpoint_count(b)) {
                printf("%d tensors, expected %d\n", checkpoint_count(a), checkpoint_count(b));
                good = false;
        }
        for (int i = 0; good && i < checkpoint_count(b); i++) {
                const CkTensor *wanted = checkpoint_at(b, i), *found = checkpoint_find(a, wanted->name);
                if (!found)
                        printf("no tensor %s\n", wanted->name);
                good = found && same_tensor(found, wanted);
        }
        checkpoint_close(a);
        checkpoint_close(b);
        return !good;
}

static int list(const char *path)
{
        CkError err;
        Checkpoint *c = checkpoint_open(path, &err);
        if (!c)
                return refuse(&err);
        for (int i = 0; i < checkpoint_count(c); i++) {
                const CkTensor *t = checkpoint_at(c, i);
                printf("%s %s", t->name, ck_type_name(t->dtype));
                for (int d = 0; d < t->rank; d++)
                        printf(" %lld", (long long)t->shape[d]);
                printf("%s\n", t->scaled ? " from codes" : "");
        }
        checkpoint_close(c);
        return 0;
}

/* The file is truncated while it is open: no read may touch it. */
static int cut(const char *path)
{
        CkError err;
        Checkpoint *c = checkpoint_open(path, &err);
        if (!c)
                return refuse(&err);
        const CkFile *file = checkpoint_file(c, 0);
        int n = 0, wrong = truncate(file->path, file->size - 1);
        for (int i = 0; i < checkpoint_count(c); i++) {
                float x;
                double wide;
                const CkTensor *t = checkpoint_at(c, i);
                n += t->scaled != NULL;
                wrong += t->scaled &&
                         (checkpoint_read_f32(t, 0, 1, &x) || checkpoint_read_f64(t, t->count - 1, 1, &wide));
        }
        if (n && !wrong)
                printf("every tensor from codes was refused\n");
        checkpoint_close(c);
        return wrong;
}

/* Whether quantising the numbers of MXFP4 to MXFP4 gives them again. */
static int blocks(const char *path)
{
        CkError err;
        Checkpoint *c = checkpoint_open(path, &err);
        if (!c)
                return refuse(&err);
        int n = 0, other = 0;
        for (int i = 0; i < checkpoint_count(c); i++) {
                const CkTensor *t = checkpoint_at(c, i);
                const int64_t rows = t->rank == 3 ? t->shape[2] : 0, columns = t->rank == 3 ? t->shape[1] : 0;
                for (int64_t at = 0; t->scaled && at < t->count / 32; at++) {
                        const int64_t row = at % rows, block = at / rows % (columns / 32),
                                      batch = at / rows / (columns / 32);
                        float x[32], y[32], most = 0;
                        unsigned char bytes[32];
                        for (int k = 0; k < 32; k++) {
                                checkpoint_read_f32(t, (batch * columns + block * 32 + k) * rows + row, 1,
                                                    &x[k]);
                                most = fabsf(x[k]) > most ? fabsf(x[k]) : most;
                        }
                        if (most > 0x1p120f) /* beyond what the quantiser scales */
                                continue;
                        bool made = quantise_block(CK_MXFP4, x, NULL, bytes);
                        if (made)
                                ck_type_widen(CK_MXFP4, bytes, 1, y);
                        for (int k = 0; made && k < 32; k++)
                                made = x[k] == y[k]; /* zeros lose their signs */
                        other += !made;
                        n++;
                }
        }
        printf("%d blocks, %d with other numbers\n", n, other);
        checkpoint_close(c);
        return !n || other;
}

static float round_as(CkType type, float x)
{
        return type == CK_BF16 ? bf16_to_f32(f32_to_bf16(x)) : type == CK_F16 ? f16_to_f32(f32_to_f16(x)) : x;
}

/* Whether the blocks of a matrix have the numbers y when they are rounded as the reference rounds; zeros of MXFP4 lose their signs. */
static bool same_blocks(const CkTensor *t, const float *y)
{
        const CkType type = checkpoint_block_type(t);
        const int steps = ck_type_values(type);
        const int64_t along = checkpoint_block_step(t);
        uint8_t block[512];
        float x[256];
        for (int64_t i = 0; i < t->count; i++) {
                if (i / along % steps != 0)
                        continue;
                if (!checkpoint_block(t, i, block)) {
                        if (isfinite(y[i]) || type != CK_MXFP4)
                                return printf("%s: element %lld is not in a block\n", t->name, (long long)i) <
                                       0;
                        continue;
                }
                ck_type_widen(type, block, 1, x);
                for (int k = 0; k < steps; k++) {
                        const int64_t at = i + k * along;
                        const float found = round_as(t->scaled->result, round_as(t->scaled->computed, x[k]));
                        if (f32_bits(found) != f32_bits(y[at]) && !(type == CK_MXFP4 && found == y[at]) &&
                            !(isnan(found) && isnan(y[at])))
                                return printf("%s: element %lld of blocks is %.9g; expected %.9g\n", t->name,
                                              (long long)at, (double)found, (double)y[at]) < 0;
                }
        }
        return true;
}

static int packed(const char *left, const char *right)
{
        CkError err;
        Checkpoint *a = checkpoint_open(left, &err), *b = a ? checkpoint_open(right, &err) : NULL;
        bool good = b || !refuse(&err);
        for (int i = 0; good && i < checkpoint_count(a); i++) {
                const CkTensor *t = checkpoint_at(a, i), *wanted = checkpoint_find(b, t->name);
                if (!t->scaled || t->scaled->blocks == CK_TYPE_COUNT)
                        continue;
                float *y = malloc((size_t)t->count * sizeof *y);
                good = y && wanted && checkpoint_read_f32(wanted, 0, t->count, y) && same_blocks(t, y);
                printf("%s %s\n", t->name, ck_type_name(t->scaled->blocks));
                free(y);
        }
        checkpoint_close(a);
        checkpoint_close(b);
        return !good;
}

int main(int argc, char **argv)
{
        if (argc == 4 && !strcmp(argv[1], "packed"))
                return packed(argv[2], argv[3]);
        if (argc == 4 && !strcmp(argv[1], "compare"))
                return compare(argv[2], argv[3]);
        if (argc == 3 && !strcmp(argv[1], "blocks"))
                return blocks(argv[2]);
        if (argc == 3 && !strcmp(argv[1], "cut"))
                return cut(argv[2]);
        return argc == 3 && !strcmp(argv[1], "list") ? list(argv[2]) : 2;
}
