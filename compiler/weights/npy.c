/* .npy: one array of numpy's (numpy.lib.format), as values of an input or an output.
 *
 * "\x93NUMPY", version 1.0, 2.0 or 3.0, the header's length in 2 (from version 2 on 4) bytes, little-endian; the header,
 * {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }, with its keys in any order; the data. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checkpoint_private.h"

static const struct {
        const char *name;
        CkType type;
} types[] = {{"<f4", CK_F32}, {"<f2", CK_F16},  {"<f8", CK_F64}, {"<i4", CK_I32},
             {"<i8", CK_I64}, {"|b1", CK_BOOL}, {"|i1", CK_I8},  {"|u1", CK_U8},
             {"<i2", CK_I16}, {"<u2", CK_U16},  {"<u4", CK_U32}, {"<u8", CK_U64}};
enum { TYPES = sizeof types / sizeof *types };

const char *npy_type_name(CkType type)
{
        for (int i = 0; i < TYPES; i++)
                if (types[i].type == type)
                        return types[i].name;
        return NULL;
}

bool npy_probe(const CkFile *file)
{
        return file->size >= (int64_t)strlen(NPY_MAGIC) && !memcmp(file->data, NPY_MAGIC, strlen(NPY_MAGIC));
}

/* A text of the header, up to `end`. */
typedef struct {
        const CkFile *file;
        const char *at, *end;
        CkError *err;
} NpyHeader;

static bool npy_refuse(const NpyHeader *h, const char *expected)
{
        return ck_fail(h->err, "%s: byte %lld: expected %s in the header of a numpy array", h->file->path,
                       (long long)(h->at - (const char *)h->file->data), expected);
}

static void skip_blanks(NpyHeader *h)
{
        while (h->at < h->end && (*h->at == ' ' || *h->at == '\n'))
                h->at++;
}

static bool npy_take(NpyHeader *h, char c)
{
        skip_blanks(h);
        if (h->at == h->end || *h->at != c)
                return false;
        h->at++;
        return true;
}

static bool take_word(NpyHeader *h, const char *word)
{
        skip_blanks(h);
        size_t n = strlen(word);
        if ((size_t)(h->end - h->at) < n || memcmp(h->at, word, n) != 0)
                return false;
        h->at += n;
        return true;
}

/* 'text' */
static bool npy_take_text(NpyHeader *h, char *text, size_t room)
{
        size_t n = 0;
        if (!npy_take(h, '\''))
                return npy_refuse(h, "a string in quotes");
        for (; h->at < h->end && *h->at != '\'' && n + 1 < room; h->at++)
                text[n++] = *h->at;
        text[n] = 0;
        return npy_take(h, '\'') || npy_refuse(h, "a short string in quotes");
}

static bool npy_read_type(NpyHeader *h, CkTensor *t)
{
        char name[16];
        if (!npy_take_text(h, name, sizeof name))
                return false;
        for (int i = 0; i < TYPES; i++)
                if (!strcmp(types[i].name, name)) {
                        t->dtype = types[i].type;
                        return true;
                }
        return ck_fail(h->err,
                       "%s: the array's type is %s; lathe reads <f4, <f2, <f8, whole numbers and bools, "
                       "little-endian: "
                       "astype('<f4')",
                       h->file->path, ck_quote(name).text);
}

static bool read_order(NpyHeader *h)
{
        if (take_word(h, "False"))
                return true;
        if (!take_word(h, "True"))
                return npy_refuse(h, "True or False");
        return ck_fail(h->err,
                       "%s: the array is stored column by column: save numpy.ascontiguousarray() of it",
                       h->file->path);
}

static bool npy_read_shape(NpyHeader *h, CkTensor *t)
{
        if (!npy_take(h, '('))
                return npy_refuse(h, "a shape in parentheses");
        while (!npy_take(h, ')')) {
                if (t->rank == CK_MAX_RANK)
                        return ck_fail(h->err, "%s: the array has more than %d axes", h->file->path,
                                       CK_MAX_RANK);
                int64_t size = 0;
                const char *begin = h->at;
                for (; h->at < h->end && *h->at >= '0' && *h->at <= '9'; h->at++) {
                        if (size > (INT64_MAX - 9) / 10)
                                return npy_refuse(h, "a size of 63 bits");
                        size = 10 * size + (*h->at - '0');
                }
                if (h->at == begin)
                        return npy_refuse(h, "a size");
                t->shape[t->rank++] = size;
                if (!npy_take(h, ',') && (skip_blanks(h), h->at == h->end || *h->at != ')'))
                        return npy_refuse(h, "a comma or the end of the shape");
        }
        return true;
}

static bool read_fields(NpyHeader *h, CkTensor *t)
{
        enum { DESCR, ORDER, SHAPE, FIELDS };
        static const char *const name[FIELDS] = {"descr", "fortran_order", "shape"};
        bool has[FIELDS] = {false};
        char key[16];
        if (!npy_take(h, '{'))
                return npy_refuse(h, "a dictionary");
        while (!npy_take(h, '}')) {
                int field = 0;
                if (!npy_take_text(h, key, sizeof key))
                        return false;
                while (field < FIELDS && strcmp(name[field], key) != 0)
                        field++;
                if (field == FIELDS || has[field] || !npy_take(h, ':'))
                        return npy_refuse(h, "descr, fortran_order and shape, each once");
                has[field] = true;
                if (field == DESCR   ? !npy_read_type(h, t)
                    : field == ORDER ? !read_order(h)
                                     : !npy_read_shape(h, t))
                        return false;
                if (!npy_take(h, ',') && (skip_blanks(h), h->at == h->end || *h->at != '}'))
                        return npy_refuse(h, "a comma or the end of the dictionary");
        }
        return (has[DESCR] && has[ORDER] && has[SHAPE]) || npy_refuse(h, "descr, fortran_order and shape");
}

/* "folder/pixels.npy" is pixels. */
static char *stem(const char *path)
{
        const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *dot = strrchr(name, '.');
        return strndup(name, dot && dot > name ? (size_t)(dot - name) : strlen(name));
}

bool npy_read(Checkpoint *checkpoint, const CkFile *file, CkError *err)
{
        const unsigned char *data = file->data;
        int version = file->size > NPY_PREFIX + 2 ? data[6] : 0,
            prefix = version == 1 ? NPY_PREFIX : NPY_PREFIX + 2;
        if (!version)
                return ck_fail(err, "%s: the file ends within the header of a numpy array", file->path);
        if (version > 3)
                return ck_fail(err, "%s: version %d of numpy's format; lathe reads 1, 2 and 3", file->path,
                               version);
        int64_t length = data[8] | data[9] << 8;
        if (version > 1)
                length |= (int64_t)data[10] << 16 | (int64_t)data[11] << 24;
        if (length > file->size - prefix)
                return ck_fail(err, "%s: the header has %lld bytes, but the file ends after %lld", file->path,
                               (long long)length, (long long)(file->size - prefix));
        const char *begin = (const char *)data + prefix;
        NpyHeader h = {file, begin, begin + length, err};
        CkTensor t = {.file = file, .data = begin + length};
        t.name = stem(file->path);
        if (!t.name)
                return ck_lack(err, "%s: out of memory", file->path);
        bool good = read_fields(&h, &t) && checkpoint_measure(file, &t, err);
        if (good && t.bytes != file->size - prefix - length)
                good = ck_fail(err, "%s: the array's shape and type are %lld bytes, but the file has %lld",
                               file->path, (long long)t.bytes, (long long)(file->size - prefix - length));
        good = good && checkpoint_add(checkpoint, &t, err);
        free((void *)t.name);
        return good;
}
