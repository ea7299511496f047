/*
 * .npy (numpy.lib.format): "\x93NUMPY", a version, the header's length in 2 (from version 2 on 4) bytes; the header, {'descr': '<f4',
 * 'fortran_order': False, 'shape': (3, 4), }; the numbers.  Each number begins with its lowest byte.
 */
#include <stdint.h>
#include <string.h>

enum { NPY_AXES = 8 };

typedef struct {
        char kind;                   /* 'f': floats, 'i': whole numbers */
        int bytes, rank;             /* of a number: 4 or 8 */
        int64_t dim[NPY_AXES];
        int64_t count, data;         /* number of elements, and their offset */
} NpyHead;

/* Faults of a file; NPY_GOOD: none. */
enum { NPY_GOOD, NPY_OTHER, NPY_HEADER, NPY_KIND, NPY_ORDER, NPY_SIZE };

/* The value after "'key': " in the header [n]; NULL: no such key. */
static inline const char *npy_field(const char *header, int64_t n, const char *key)
{
        const int64_t length = (int64_t)strlen(key);
        for (int64_t i = 0; i + length < n; i++)
                if (!memcmp(header + i, key, (size_t)length)) {
                        i += length;
                        while (i + 1 < n && (header[i] == ' ' || header[i] == ':'))
                                i++;
                        return header + i;
                }
        return NULL;
}

/* Parses a shape, "(3, 4)". */
static inline int npy_shape(const char *at, const char *end, NpyHead *h)
{
        h->count = 1;
        for (at++; at < end && *at != ')'; at++) {
                if (*at == ' ' || *at == ',')
                        continue;
                int64_t size = 0;
                if (*at < '0' || *at > '9' || h->rank == NPY_AXES)
                        return NPY_HEADER;
                for (; at < end && *at >= '0' && *at <= '9' && size < INT64_C(1) << 40; at++)
                        size = 10 * size + (*at - '0');
                if (h->count > 0 && size > (INT64_C(1) << 50) / h->count)
                        return NPY_SIZE;
                h->dim[h->rank++] = size;
                h->count *= size;
                at--;
        }
        return at < end ? NPY_GOOD : NPY_HEADER;
}

/* Parses the header of bytes [n]. */
static inline int npy_head(const uint8_t *bytes, int64_t n, NpyHead *h)
{
        *h = (NpyHead){0};
        if (n < 12 || memcmp(bytes, "\x93NUMPY", 6))
                return NPY_OTHER;
        const int wide = bytes[6] > 1;
        h->data = (wide ? 12 : 10) + (bytes[8] | (int64_t)bytes[9] << 8 | (wide ? (int64_t)bytes[10] << 16 | (int64_t)bytes[11] << 24 : 0));
        if (h->data > n)
                return NPY_SIZE;
        const char *header = (const char *)bytes + (wide ? 12 : 10), *end = (const char *)bytes + h->data;
        const char *type = npy_field(header, end - header, "'descr'"), *order = npy_field(header, end - header, "'fortran_order'"),
                   *shape = npy_field(header, end - header, "'shape'");
        if (!type || !order || !shape || end - type < 5 || *shape != '(')
                return NPY_HEADER;
        h->kind = type[2];
        h->bytes = type[3] - '0';
        if (type[0] != '\'' || type[1] != '<' || (h->kind != 'f' && h->kind != 'i') || (h->bytes != 4 && h->bytes != 8) || type[4] != '\'')
                return NPY_KIND;
        if (*order != 'F')
                return NPY_ORDER;
        const int fault = npy_shape(shape, end, h);
        return fault ? fault : h->count * h->bytes == n - h->data ? NPY_GOOD : NPY_SIZE;
}

/* Number i of a valid file; integers are exact up to 2^53. */
static inline double npy_value(const NpyHead *h, const uint8_t *bytes, int64_t i)
{
        const uint8_t *from = bytes + h->data + i * h->bytes;
        uint64_t x = 0;
        for (int k = 0; k < h->bytes; k++)
                x |= (uint64_t)from[k] << 8 * k;
        if (h->kind == 'i') {
                const uint64_t sign = UINT64_C(1) << (8 * h->bytes - 1);
                return x & sign ? -(double)((sign << 1) - x) : (double)x;
        }
        const uint32_t low = (uint32_t)x;
        float narrow;
        double value;
        memcpy(&narrow, &low, sizeof narrow);
        memcpy(&value, &x, sizeof value);
        return h->bytes == 4 ? (double)narrow : value;
}

/* The message of a fault. */
static inline const char *npy_fault(int fault)
{
        switch (fault) {
        case NPY_OTHER:
                return "it is not a .npy file";
        case NPY_KIND:
                return "unsupported type of numbers; expected <f4, <f8, <i4 or <i8";
        case NPY_ORDER:
                return "it is stored column by column: save numpy.ascontiguousarray() of it";
        case NPY_SIZE:
                return "it is shorter or longer than its shape says";
        default:
                return "its header is invalid";
        }
}
