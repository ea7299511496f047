/* Writes tensors: as safetensors, or a single one as a numpy array, by the file's name.
 *
 * A safetensors file is a header of JSON before the data (safetensors.c); an .npy is "\x93NUMPY", its
 * version, and a header that is a dictionary of Python, padded with spaces to a multiple of 64 bytes
 * (numpy.lib.format). */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "checkpoint_private.h"

enum { ALIGNMENT = 64 };

typedef struct {
        const char *path;
        char *aside;           /* temporary file */
        int descriptor, entry; /* entry: of ending.c */
        int n;
        const CkOutput *tensors;
        CkTensor *measured; /* [n] */
        int *order;         /* [n]: wider types first, so that every tensor is aligned to its type */
} TensorsWriter;

static bool is_written(CkType type)
{
        return type == CK_F32 || type == CK_F16 || type == CK_BF16 || type == CK_I32 || type == CK_BOOL;
}

static bool check_output(const TensorsWriter *writer, int i, CkError *err)
{
        const CkOutput *output = &writer->tensors[i];
        const CkFile file = {.path = (char *)writer->path};
        CkTensor *tensor = &writer->measured[i];
        if (!is_written(output->dtype) || output->rank < 0 || output->rank > CK_MAX_RANK ||
            !strcmp(output->name, METADATA))
                return ck_fail(err, "%s: tensor \"%s\": cannot be written with this name, type or rank",
                               writer->path, ck_quote(output->name).text);
        *tensor = (CkTensor){.name = output->name, .dtype = output->dtype, .rank = output->rank};
        memcpy(tensor->shape, output->shape, sizeof tensor->shape);
        return checkpoint_measure(&file, tensor, err);
}

static bool order_outputs(TensorsWriter *writer, CkError *err)
{
        int placed = 0;
        for (int i = 0; i < writer->n; i++)
                if (!check_output(writer, i, err))
                        return false;
        for (int bits = 32; bits >= 8; bits /= 2)
                for (int i = 0; i < writer->n; i++)
                        if (ck_type_bits(writer->tensors[i].dtype) == bits)
                                writer->order[placed++] = i;
        return true;
}

/* Bytes of padding up to the data's alignment. */
static size_t padding(size_t bytes)
{
        return (ALIGNMENT - bytes % ALIGNMENT) % ALIGNMENT;
}

static json_t *tensor_entry(const CkTensor *tensor, int64_t begin)
{
        json_t *shape = json_array();
        for (int i = 0; i < tensor->rank; i++)
                json_array_append_new(shape, json_integer(tensor->shape[i]));
        return json_pack("{s:s, s:o, s:[I, I]}", "dtype", ck_type_name(tensor->dtype), "shape", shape,
                         "data_offsets", (json_int_t)begin, (json_int_t)(begin + tensor->bytes));
}

/* transformers requires {"format": "pt"}. */
static bool describe_all(const TensorsWriter *writer, json_t *header, CkError *err)
{
        int64_t begin = 0;
        if (json_object_set_new(header, METADATA, json_pack("{s:s}", "format", "pt")))
                return ck_lack(err, "%s: out of memory", writer->path);
        for (int i = 0; i < writer->n; i++) {
                const CkTensor *tensor = &writer->measured[writer->order[i]];
                if (tensor->bytes > INT64_MAX - begin)
                        return ck_fail(err, "%s: more bytes than 64 bits can count", writer->path);
                if (json_object_get(header, tensor->name))
                        return ck_fail(err, "%s: tensor \"%s\" is given twice", writer->path,
                                       ck_quote(tensor->name).text);
                if (json_object_set_new(header, tensor->name, tensor_entry(tensor, begin)))
                        return ck_fail(err, "%s: tensor \"%s\": its name is not UTF-8, or out of memory",
                                       writer->path, ck_quote(tensor->name).text);
                begin += tensor->bytes;
        }
        return true;
}

static bool tensors_write_bytes(const TensorsWriter *writer, const void *data, size_t size, CkError *err)
{
        const char *from = data;
        while (size) {
                ssize_t written = write(writer->descriptor, from, size);
                if (written < 0 && errno != EINTR)
                        return ck_lack(err, "%s: cannot write: %s", writer->path, strerror(errno));
                if (written > 0) {
                        from += written;
                        size -= (size_t)written;
                }
        }
        return true;
}

/* Padded with spaces, so that the data begin at a multiple of ALIGNMENT; it is preceded by `prefix` bytes. */
static bool write_text(const TensorsWriter *writer, const char *text, size_t prefix, CkError *err)
{
        char spaces[ALIGNMENT];
        memset(spaces, ' ', sizeof spaces);
        return tensors_write_bytes(writer, text, strlen(text), err) &&
               tensors_write_bytes(writer, spaces, padding(prefix + strlen(text)), err);
}

static bool write_safetensors_header(const TensorsWriter *writer, CkError *err)
{
        json_begin();
        json_t *header = json_object();
        char *text = NULL;
        bool good = header && describe_all(writer, header, err);
        if (good)
                text = json_dumps(header, JSON_COMPACT | JSON_PRESERVE_ORDER);
        json_decref(header);
        if (json_out_of_memory() || !header || (good && !text)) {
                free(text);
                return ck_lack(err, "%s: out of memory", writer->path);
        }
        if (!good)
                return false;
        uint64_t length = strlen(text) + padding(SAFETENSORS_PREFIX + strlen(text));
        if (length > SAFETENSORS_HEADER)
                good = ck_fail(err, "%s: a header of %" PRIu64 " bytes; lathe reads up to %d", writer->path,
                               length, SAFETENSORS_HEADER);
        good = good && tensors_write_bytes(writer, &length, sizeof length, err) &&
               write_text(writer, text, SAFETENSORS_PREFIX, err);
        free(text);
        return good;
}

static bool write_npy_header(const TensorsWriter *writer, CkError *err)
{
        unsigned char begin[NPY_PREFIX] = NPY_MAGIC "\1";
        char text[256];
        const CkTensor *tensor = writer->measured;
        const char *type = writer->n == 1 ? npy_type_name(tensor->dtype) : NULL;
        if (writer->n != 1)
                return ck_fail(err, "%s: a .npy holds one array, not %d: write .safetensors", writer->path,
                               writer->n);
        if (!type)
                return ck_fail(err, "%s: numpy has no %s: write .safetensors", writer->path,
                               ck_type_name(tensor->dtype));
        int n = snprintf(text, sizeof text, "{'descr': '%s', 'fortran_order': False, 'shape': (", type);
        for (int i = 0; i < tensor->rank; i++)
                n += snprintf(text + n, sizeof text - (size_t)n, "%s%" PRId64 "%s", i ? " " : "",
                              tensor->shape[i], i + 1 < tensor->rank || tensor->rank == 1 ? "," : "");
        snprintf(text + n, sizeof text - (size_t)n, "), }");
        size_t length = strlen(text) + 1 + padding(NPY_PREFIX + strlen(text) + 1);
        begin[NPY_PREFIX - 2] = (unsigned char)length;
        return tensors_write_bytes(writer, begin, sizeof begin, err) &&
               write_text(writer, text, NPY_PREFIX + 1, err) && tensors_write_bytes(writer, "\n", 1, err);
}

/* Whether the numbers from element `first` on that are finite as floats are finite in 16 bits. */
static bool check_halves(const TensorsWriter *writer, const CkTensor *tensor, const float *block,
                         int64_t first, int64_t count, CkError *err)
{
        const bool is_f16 = tensor->dtype == CK_F16;
        for (int64_t i = 0; i < count && (is_f16 || tensor->dtype == CK_BF16); i++) {
                float x = is_f16 ? f16_to_f32(f32_to_f16(block[i])) : bf16_to_f32(f32_to_bf16(block[i]));
                if (isinf(x) && !isinf(block[i]))
                        return ck_fail(err,
                                       "%s: tensor \"%s\": element %" PRId64
                                       " is %.9g, beyond the largest %s: write %sf32",
                                       writer->path, ck_quote(tensor->name).text, first + i, (double)block[i],
                                       is_f16 ? "f16, 65504" : "bf16, 3.38953139e+38",
                                       is_f16 ? "bf16 or " : "");
        }
        return true;
}

/* Converts numbers of an engine, which are floats. */
static bool write_block(const TensorsWriter *writer, CkType type, const float *block, void *as, int64_t count,
                        CkError *err)
{
        uint16_t *half = as;
        int32_t *whole = as;
        unsigned char *truth = as;
        if (type == CK_F32)
                return tensors_write_bytes(writer, block, (size_t)count * sizeof *block, err);
        for (int64_t i = 0; i < count; i++)
                switch ((int)type) {
                case CK_I32: whole[i] = (int32_t)block[i]; break;
                case CK_BOOL: truth[i] = block[i] != 0; break;
                case CK_F16: half[i] = f32_to_f16(block[i]); break;
                default: half[i] = f32_to_bf16(block[i]); break;
                }
        return tensors_write_bytes(writer, as, (size_t)(count * ck_type_bits(type) / 8), err);
}

typedef struct {
        int64_t done, total; /* bytes */
} WrittenTensor;

static bool write_tensor(const TensorsWriter *writer, int index, CkFill *fill, void *context, float *block,
                         void *as, WrittenTensor before, CkError *err)
{
        const CkTensor *tensor = &writer->measured[index];
        int64_t row = tensor->rank ? tensor->shape[tensor->rank - 1] : 1;
        int64_t most = row > 0 && row <= CK_BLOCK ? CK_BLOCK / row * row : CK_BLOCK;
        for (int64_t first = 0; first < tensor->count; first += most) {
                int64_t count = tensor->count - first < most ? tensor->count - first : most;
                if (!fill(context, index, first, count, block, err) ||
                    !check_halves(writer, tensor, block, first, count, err) ||
                    !write_block(writer, tensor->dtype, block, as, count, err))
                        return false;
                progress("writing", PROGRESS_BYTES,
                         before.done + (first + count) * (tensor->bytes / tensor->count), before.total);
        }
        return true;
}

static bool write_data(const TensorsWriter *writer, CkFill *fill, void *context, CkError *err)
{
        float *block = malloc(CK_BLOCK * sizeof *block);
        void *as = malloc(CK_BLOCK * sizeof *block);
        bool good = block && as;
        if (!good)
                ck_lack(err, "%s: out of memory", writer->path);
        int64_t total = 0, done = 0;
        for (int i = 0; i < writer->n; i++)
                total += writer->measured[i].bytes;
        progress("writing", PROGRESS_BYTES, 0, total);
        for (int i = 0; good && i < writer->n; i++) {
                int tensor = writer->order[i];
                good = write_tensor(writer, tensor, fill, context, block, as, (WrittenTensor){done, total},
                                    err);
                done += writer->measured[tensor].bytes;
        }
        progress("writing", PROGRESS_BYTES, total, total);
        free(block);
        free(as);
        return good;
}

/* The temporary file next to the target has a name of ours, so one left by a killed process may be
 * replaced. */
static bool open_aside(TensorsWriter *writer, CkError *err)
{
        static const char *const other[] = {".json", ".csv",   ".gguf", ".bin", ".c",
                                            ".h",    ".model", ".html", ".png", ".txt"};
        struct stat status;
        if (is_input_read(writer->path))
                return ck_fail(err, "%s: it is an input of this command: choose another name for the output",
                               writer->path);
        for (size_t i = 0; i < sizeof other / sizeof *other; i++)
                if (text_ends_with(writer->path, other[i]))
                        return ck_fail(
                                err, "%s: tensors are written as safetensors or .npy: choose another suffix",
                                writer->path);
        if (!stat(writer->path, &status) && !S_ISREG(status.st_mode))
                return ck_fail(err, "%s: cannot write: it exists and is not a regular file", writer->path);
        size_t size = strlen(writer->path) + 32;
        writer->aside = malloc(size);
        if (!writer->aside)
                return ck_lack(err, "%s: out of memory", writer->path);
        snprintf(writer->aside, size, "%s.%ld.part", writer->path, (long)getpid());
        writer->entry = ending_file(writer->aside);
        unlink(writer->aside);
        writer->descriptor = open(writer->aside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (writer->descriptor < 0)
                return ck_lack(err, "%s: cannot write: %s", writer->path, strerror(errno));
        return true;
}

static bool writer_finish(TensorsWriter *writer, bool good, CkError *err)
{
        if (writer->descriptor >= 0) {
                if (good && fsync(writer->descriptor))
                        good = ck_lack(err, "%s: cannot write: %s", writer->path, strerror(errno));
                if (close(writer->descriptor) && good)
                        good = ck_lack(err, "%s: cannot write: %s", writer->path, strerror(errno));
                if (good && rename(writer->aside, writer->path))
                        good = ck_lack(err, "%s: cannot rename to it: %s", writer->path, strerror(errno));
                if (!good)
                        unlink(writer->aside);
        }
        ending_forget(writer->entry);
        free(writer->aside);
        free(writer->measured);
        free(writer->order);
        return good;
}

bool tensors_write(const char *path, int n, const CkOutput *tensors, CkFill *fill, void *context,
                   CkError *err)
{
        TensorsWriter writer = {.path = path, .descriptor = -1, .entry = -1, .n = n, .tensors = tensors};
        writer.measured = calloc((size_t)n + 1, sizeof *writer.measured);
        writer.order = calloc((size_t)n + 1, sizeof *writer.order);
        bool good = writer.measured && writer.order;
        if (!good)
                ck_lack(err, "%s: out of memory", path);
        good = good && order_outputs(&writer, err) && open_aside(&writer, err) &&
               (text_ends_with(path, ".npy") ? write_npy_header : write_safetensors_header)(&writer, err) &&
               write_data(&writer, fill, context, err);
        return writer_finish(&writer, good, err);
}
