/* safetensors: reading (one file, or shards under an index) and writing.
 *
 * Format (github.com/huggingface/safetensors): 8 bytes, the length N of the header, little-endian; N bytes of
 * JSON, {"name": {"dtype": "F32", "shape": [..], "data_offsets": [begin, end]}, .., "__metadata__": {..}};
 * the data, which the offsets count from and which the tensors cover without hole or overlap. An index is
 * {"weight_map": {"name": "file of the shard", ..}}. */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "checkpoint_private.h"

enum {
        PREFIX = 8,
        MAX_JSON = 16 << 20, /* bytes: room for 100,000 tensors */
        MAX_SHARDS = 4096,
        ALIGNMENT = 64,
};

static const char metadata[] = "__metadata__";

/* Reading. */

typedef struct {
        int64_t begin, end; /* bytes from the start of the data */
        const char *name;
} Extent;

static uint64_t header_length(const CkFile *file)
{
        uint64_t length;
        memcpy(&length, file->data, sizeof length);
        return length;
}

bool safetensors_probe(const CkFile *file)
{
        return ck_ends_with(file->path, ".safetensors") ||
               (file->size > PREFIX && header_length(file) <= MAX_JSON && file->data[PREFIX] == '{');
}

static json_t *parse_json(const CkFile *file, int64_t offset, int64_t length, CkError *err)
{
        json_error_t error;
        json_begin();
        json_t *json = json_parse((const char *)file->data + offset, (size_t)length, 0, &error);
        if (json_starved())
                ck_lack(err, "%s: out of memory", file->path);
        else if (!json)
                ck_fail(err, "%s: byte %lld: not valid JSON: %s", file->path,
                        (long long)(offset + error.position), ck_quote(error.text).text);
        else if (!json_is_object(json)) {
                ck_fail(err, "%s: byte %lld: expected a JSON object", file->path, (long long)offset);
                json_decref(json);
                json = NULL;
        }
        return json;
}

static json_t *parse_header(const CkFile *file, int64_t *data_start, CkError *err)
{
        if (file->size < PREFIX) {
                ck_fail(err, "%s: %lld bytes, but safetensors begins with %d that give the header's length",
                        file->path, (long long)file->size, PREFIX);
                return NULL;
        }
        uint64_t length = header_length(file);
        if (length > (uint64_t)(file->size - PREFIX)) {
                ck_fail(err,
                        "%s: the header's length is given as %llu bytes, but %lld follow: truncated, or not "
                        "safetensors",
                        file->path, (unsigned long long)length, (long long)(file->size - PREFIX));
                return NULL;
        }
        if (length > MAX_JSON) {
                ck_fail(err, "%s: a header of %llu bytes; lathe reads up to %d", file->path,
                        (unsigned long long)length, MAX_JSON);
                return NULL;
        }
        *data_start = PREFIX + (int64_t)length;
        return parse_json(file, PREFIX, (int64_t)length, err);
}

static bool check_metadata(const CkFile *file, json_t *json, CkError *err)
{
        const char *key;
        json_t *value;
        if (!json_is_object(json))
                return ck_fail(err, "%s: %s has to be an object of strings", file->path, metadata);
        json_object_foreach (json, key, value) {
                if (!json_is_string(value))
                        return ck_fail(err, "%s: %s: \"%s\" is not a string", file->path, metadata,
                                       ck_quote(key).text);
        }
        return true;
}

static bool read_type(CkTensor *tensor, const json_t *json, CkError *err)
{
        const char *name = json_string_value(json);
        if (!name)
                return ck_fail(err, "%s: tensor \"%s\": expected a dtype, a string", tensor->file->path,
                               ck_quote(tensor->name).text);
        return ck_type_of_safetensors(name, &tensor->dtype) ||
               ck_fail(err, "%s: tensor \"%s\": unknown dtype \"%s\"", tensor->file->path,
                       ck_quote(tensor->name).text, ck_quote(name).text);
}

static bool read_shape(CkTensor *tensor, const json_t *json, CkError *err)
{
        if (!json_is_array(json))
                return ck_fail(err, "%s: tensor \"%s\": expected a shape, a list of integers",
                               tensor->file->path, ck_quote(tensor->name).text);
        if (json_array_size(json) > CK_MAX_RANK)
                return ck_fail(err, "%s: tensor \"%s\": %zu dimensions; lathe reads up to %d",
                               tensor->file->path, ck_quote(tensor->name).text, json_array_size(json),
                               CK_MAX_RANK);
        tensor->rank = (int)json_array_size(json);
        for (int i = 0; i < tensor->rank; i++) {
                const json_t *size = json_array_get(json, (size_t)i);
                tensor->shape[i] = json_integer_value(size);
                if (!json_is_integer(size) || tensor->shape[i] < 0)
                        return ck_fail(err, "%s: tensor \"%s\": dimension %d of its shape is not a size",
                                       tensor->file->path, ck_quote(tensor->name).text, i);
        }
        return true;
}

static bool read_extent(const CkTensor *tensor, const json_t *json, int64_t data_size, Extent *extent,
                        CkError *err)
{
        const json_t *begin = json_array_get(json, 0), *end = json_array_get(json, 1);
        const char *path = tensor->file->path, *name = tensor->name;
        if (json_array_size(json) != 2 || !json_is_integer(begin) || !json_is_integer(end))
                return ck_fail(err, "%s: tensor \"%s\": expected data_offsets, [begin, end]", path,
                               ck_quote(name).text);
        *extent = (Extent){json_integer_value(begin), json_integer_value(end), name};
        if (extent->begin < 0 || extent->end < extent->begin || extent->end > data_size)
                return ck_fail(err,
                               "%s: tensor \"%s\": data_offsets %lld .. %lld are outside the file's %lld "
                               "bytes of data",
                               path, ck_quote(name).text, (long long)extent->begin, (long long)extent->end,
                               (long long)data_size);
        if (extent->end - extent->begin != tensor->bytes)
                return ck_fail(
                        err,
                        "%s: tensor \"%s\": %lld elements of %s are %lld bytes, but data_offsets hold %lld",
                        path, ck_quote(name).text, (long long)tensor->count, ck_type_name(tensor->dtype),
                        (long long)tensor->bytes, (long long)(extent->end - extent->begin));
        return true;
}

static bool read_tensor(Checkpoint *checkpoint, const CkFile *file, const char *name, const json_t *entry,
                        int64_t data_start, Extent *extent, CkError *err)
{
        CkTensor tensor = {.name = name, .file = file};
        if (!json_is_object(entry) || json_object_size(entry) != 3)
                return ck_fail(err, "%s: tensor \"%s\": expected an object of dtype, shape and data_offsets",
                               file->path, ck_quote(name).text);
        if (!read_type(&tensor, json_object_get(entry, "dtype"), err) ||
            !read_shape(&tensor, json_object_get(entry, "shape"), err) ||
            !checkpoint_measure(file, &tensor, err) ||
            !read_extent(&tensor, json_object_get(entry, "data_offsets"), file->size - data_start, extent,
                         err))
                return false;
        tensor.data = file->data + data_start + extent->begin;
        return checkpoint_add(checkpoint, &tensor, err);
}

static int by_begin(const void *a, const void *b)
{
        const Extent *x = a, *y = b;
        if (x->begin != y->begin)
                return x->begin < y->begin ? -1 : 1;
        return (x->end > y->end) - (x->end < y->end);
}

static bool check_cover(const CkFile *file, Extent *extent, int n, int64_t data_size, CkError *err)
{
        int64_t at = 0;
        if (n)
                qsort(extent, (size_t)n, sizeof *extent, by_begin);
        for (int i = 0; i < n; i++) {
                if (extent[i].begin != at)
                        return ck_fail(err,
                                       "%s: tensor \"%s\" begins at byte %lld of the data, %s byte %lld, "
                                       "where the one before ends",
                                       file->path, ck_quote(extent[i].name).text, (long long)extent[i].begin,
                                       extent[i].begin < at ? "before" : "after", (long long)at);
                at = extent[i].end;
        }
        if (at != data_size)
                return ck_fail(err,
                               "%s: %lld bytes follow the last tensor, which ends at byte %lld of the data",
                               file->path, (long long)(data_size - at), (long long)at);
        return true;
}

static bool read_tensors(Checkpoint *checkpoint, const CkFile *file, json_t *header, int64_t data_start,
                         CkError *err)
{
        const char *name;
        json_t *entry;
        int n = 0;
        bool good = true;
        Extent *extent = calloc(json_object_size(header) + 1, sizeof *extent);
        if (!extent)
                return ck_lack(err, "%s: out of memory", file->path);
        json_object_foreach (header, name, entry) {
                if (!strcmp(name, metadata))
                        good = check_metadata(file, entry, err);
                else
                        good = read_tensor(checkpoint, file, name, entry, data_start, &extent[n++], err);
                if (!good)
                        break;
        }
        good = good && check_cover(file, extent, n, file->size - data_start, err);
        free(extent);
        return good;
}

bool safetensors_read(Checkpoint *checkpoint, const CkFile *file, CkError *err)
{
        int64_t data_start = 0;
        json_t *header = parse_header(file, &data_start, err);
        bool good = header && read_tensors(checkpoint, file, header, data_start, err);
        json_decref(header);
        return good;
}

bool safetensors_index_probe(const CkFile *file)
{
        return ck_ends_with(file->path, ".index.json");
}

/* A shard is named relative to its index, and may not lead out of the index's directory. */
static bool is_inside(const char *path)
{
        if (!*path || *path == '/')
                return false;
        for (const char *part = path; part; part = strchr(part, '/')) {
                part += *part == '/';
                if (!strncmp(part, "..", 2) && (part[2] == '/' || !part[2]))
                        return false;
        }
        return true;
}

static const CkFile *open_shard(Checkpoint *checkpoint, const CkFile *index, const char *shard, CkError *err)
{
        const char *slash = strrchr(index->path, '/');
        size_t folder = slash ? (size_t)(slash + 1 - index->path) : 0, size = folder + strlen(shard) + 1;
        char *path = malloc(size);
        if (!path) {
                ck_lack(err, "%s: out of memory", index->path);
                return NULL;
        }
        memcpy(path, index->path, folder);
        strcpy(path + folder, shard);
        const CkFile *file = checkpoint_map(checkpoint, path, err);
        free(path);
        return file && safetensors_read(checkpoint, file, err) ? file : NULL;
}

/* Every tensor of a new shard has to be one that the index gives to that shard. */
static bool check_shard(const Checkpoint *checkpoint, const CkFile *index, const json_t *map,
                        const char *shard, int first, CkError *err)
{
        for (int i = first; i < checkpoint_count(checkpoint); i++) {
                const char *name = checkpoint_at(checkpoint, i)->name;
                const char *active_only = json_string_value(json_object_get(map, name));
                if (!active_only || strcmp(active_only, shard) != 0)
                        return ck_fail(err, "%s: tensor \"%s\" is in %s, but the index %s%s", index->path,
                                       ck_quote(name).text, ck_quote(shard).text,
                                       active_only ? "gives " : "does not list it",
                                       active_only ? ck_quote(active_only).text : "");
        }
        return true;
}

static bool read_shards(Checkpoint *checkpoint, const CkFile *index, const json_t *map, json_t *opened,
                        CkError *err)
{
        const char *name;
        json_t *value;
        json_object_foreach ((json_t *)map, name, value) {
                const char *shard = json_string_value(value);
                if (!shard || !is_inside(shard))
                        return ck_fail(err, "%s: tensor \"%s\": \"%s\" is not a file beside the index",
                                       index->path, ck_quote(name).text,
                                       ck_quote(shard ? shard : "(no string)").text);
                if (json_object_get(opened, shard))
                        continue;
                if (json_object_size(opened) == MAX_SHARDS)
                        return ck_fail(err, "%s: more than %d shards", index->path, MAX_SHARDS);
                int first = checkpoint_count(checkpoint);
                if (!open_shard(checkpoint, index, shard, err) ||
                    !check_shard(checkpoint, index, map, shard, first, err))
                        return false;
                if (json_object_set_new(opened, shard, json_true()))
                        return ck_lack(err, "%s: out of memory", index->path);
        }
        return true;
}

/* All that the shards hold is listed, each in its own shard and each once; so equal numbers mean that all
 * that is listed is held. */
static bool check_complete(const Checkpoint *checkpoint, const CkFile *index, const json_t *map, CkError *err)
{
        const char *name;
        json_t *value;
        if ((size_t)checkpoint_count(checkpoint) == json_object_size(map))
                return true;
        json_t *held = json_object();
        for (int i = 0; held && i < checkpoint_count(checkpoint); i++)
                json_object_set_new(held, checkpoint_at(checkpoint, i)->name, json_true());
        ck_lack(err, "%s: out of memory", index->path);
        json_object_foreach ((json_t *)map, name, value) {
                if (held && !json_object_get(held, name)) {
                        ck_fail(err, "%s: tensor \"%s\" is not in %s, where the index says", index->path,
                                ck_quote(name).text, ck_quote(json_string_value(value)).text);
                        break;
                }
        }
        json_decref(held);
        return false;
}

bool safetensors_index_read(Checkpoint *checkpoint, const CkFile *file, CkError *err)
{
        if (file->size > MAX_JSON)
                return ck_fail(err, "%s: an index of %lld bytes; lathe reads up to %d", file->path,
                               (long long)file->size, MAX_JSON);
        json_t *index = parse_json(file, 0, file->size, err);
        if (!index)
                return false;
        const json_t *map = json_object_get(index, "weight_map");
        json_t *opened = json_object();
        bool good = opened && json_is_object(map);
        if (!good)
                ck_fail(err, "%s: expected \"weight_map\", an object that gives each tensor's file",
                        file->path);
        good = good && read_shards(checkpoint, file, map, opened, err) &&
               check_complete(checkpoint, file, map, err);
        json_decref(opened);
        json_decref(index);
        return good;
}

/* Writing. */

typedef struct {
        const char *path;
        char *aside;           /* where the bytes go until they are complete */
        int descriptor, entry; /* the latter of ending.c */
        int n;
        const CkOutput *tensors;
        CkTensor *measured; /* [n] */
        int *order;         /* [n]: wider types first, so that every tensor is aligned to its type */
} Writer;

static bool check_output(const Writer *writer, int i, CkError *err)
{
        const CkOutput *output = &writer->tensors[i];
        const CkFile file = {.path = (char *)writer->path};
        CkTensor *tensor = &writer->measured[i];
        bool written = output->dtype == CK_F32 || output->dtype == CK_F16 || output->dtype == CK_BF16;
        if (!written || output->rank < 0 || output->rank > CK_MAX_RANK || !strcmp(output->name, metadata))
                return ck_fail(err, "%s: tensor \"%s\": cannot be written with this name, type or rank",
                               writer->path, ck_quote(output->name).text);
        *tensor = (CkTensor){.name = output->name, .dtype = output->dtype, .rank = output->rank};
        memcpy(tensor->shape, output->shape, sizeof tensor->shape);
        return checkpoint_measure(&file, tensor, err);
}

static bool order_outputs(Writer *writer, CkError *err)
{
        int placed = 0;
        for (int i = 0; i < writer->n; i++)
                if (!check_output(writer, i, err))
                        return false;
        for (int bits = 32; bits >= 16; bits /= 2)
                for (int i = 0; i < writer->n; i++)
                        if (ck_type_bits(writer->tensors[i].dtype) == bits)
                                writer->order[placed++] = i;
        return true;
}

static json_t *describe(const CkTensor *tensor, int64_t begin)
{
        json_t *shape = json_array();
        for (int i = 0; i < tensor->rank; i++)
                json_array_append_new(shape, json_integer(tensor->shape[i]));
        return json_pack("{s:s, s:o, s:[I, I]}", "dtype", ck_type_name(tensor->dtype), "shape", shape,
                         "data_offsets", (json_int_t)begin, (json_int_t)(begin + tensor->bytes));
}

/* {"format": "pt"} is what transformers asks for. */
static bool describe_all(const Writer *writer, json_t *header, CkError *err)
{
        int64_t begin = 0;
        if (json_object_set_new(header, metadata, json_pack("{s:s}", "format", "pt")))
                return ck_lack(err, "%s: out of memory", writer->path);
        for (int i = 0; i < writer->n; i++) {
                const CkTensor *tensor = &writer->measured[writer->order[i]];
                if (tensor->bytes > INT64_MAX - begin)
                        return ck_fail(err, "%s: more bytes than 64 bits can count", writer->path);
                if (json_object_get(header, tensor->name))
                        return ck_fail(err, "%s: tensor \"%s\" is given twice", writer->path,
                                       ck_quote(tensor->name).text);
                if (json_object_set_new(header, tensor->name, describe(tensor, begin)))
                        return ck_fail(err, "%s: tensor \"%s\": its name is not UTF-8, or out of memory",
                                       writer->path, ck_quote(tensor->name).text);
                begin += tensor->bytes;
        }
        return true;
}

static bool write_bytes(const Writer *writer, const void *data, size_t size, CkError *err)
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

static bool write_header(const Writer *writer, CkError *err)
{
        char spaces[ALIGNMENT];
        json_begin();
        json_t *header = json_object();
        char *text = NULL;
        bool good = header && describe_all(writer, header, err);
        if (good)
                text = json_dumps(header, JSON_COMPACT | JSON_PRESERVE_ORDER);
        json_decref(header);
        if (json_starved() || !header || (good && !text)) {
                free(text);
                return ck_lack(err, "%s: out of memory", writer->path);
        }
        if (!good)
                return false;
        size_t size = strlen(text), padding = (ALIGNMENT - (PREFIX + size) % ALIGNMENT) % ALIGNMENT;
        uint64_t length = size + padding;
        memset(spaces, ' ', sizeof spaces);
        if (length > MAX_JSON)
                good = ck_fail(err, "%s: a header of %zu bytes; lathe reads up to %d", writer->path, size,
                               MAX_JSON);
        good = good && write_bytes(writer, &length, sizeof length, err) &&
               write_bytes(writer, text, size, err) && write_bytes(writer, spaces, padding, err);
        free(text);
        return good;
}

static bool write_block(const Writer *writer, CkType type, const float *block, uint16_t *half, int64_t count,
                        CkError *err)
{
        if (type == CK_F32)
                return write_bytes(writer, block, (size_t)count * sizeof *block, err);
        for (int64_t i = 0; i < count; i++)
                half[i] = type == CK_F16 ? f32_to_f16(block[i]) : f32_to_bf16(block[i]);
        return write_bytes(writer, half, (size_t)count * sizeof *half, err);
}

typedef struct {
        int64_t done, total; /* bytes */
} Written;

static bool write_tensor(const Writer *writer, int index, CkFill *fill, void *context, float *block,
                         uint16_t *half, Written before, CkError *err)
{
        const CkTensor *tensor = &writer->measured[index];
        int64_t row = tensor->rank ? tensor->shape[tensor->rank - 1] : 1;
        int64_t most = row > 0 && row <= CK_BLOCK ? CK_BLOCK / row * row : CK_BLOCK;
        for (int64_t first = 0; first < tensor->count; first += most) {
                int64_t count = tensor->count - first < most ? tensor->count - first : most;
                if (!fill(context, index, first, count, block, err) ||
                    !write_block(writer, tensor->dtype, block, half, count, err))
                        return false;
                progress("writing", PROGRESS_BYTES,
                         before.done + (first + count) * (tensor->bytes / tensor->count), before.total);
        }
        return true;
}

static bool write_data(const Writer *writer, CkFill *fill, void *context, CkError *err)
{
        float *block = malloc(CK_BLOCK * sizeof *block);
        uint16_t *half = malloc(CK_BLOCK * sizeof *half);
        bool good = block && half;
        if (!good)
                ck_lack(err, "%s: out of memory", writer->path);
        int64_t total = 0, done = 0;
        for (int i = 0; i < writer->n; i++)
                total += writer->measured[i].bytes;
        progress("writing", PROGRESS_BYTES, 0, total);
        for (int i = 0; good && i < writer->n; i++) {
                int tensor = writer->order[i];
                good = write_tensor(writer, tensor, fill, context, block, half, (Written){done, total}, err);
                done += writer->measured[tensor].bytes;
        }
        progress("writing", PROGRESS_BYTES, total, total);
        free(block);
        free(half);
        return good;
}

/* The file beside the target is our own by its name, so one that a killed process left may be replaced. */
static bool open_aside(Writer *writer, CkError *err)
{
        struct stat status;
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

static bool finish(Writer *writer, bool good, CkError *err)
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

bool safetensors_write(const char *path, int n, const CkOutput *tensors, CkFill *fill, void *context,
                       CkError *err)
{
        Writer writer = {.path = path, .descriptor = -1, .entry = -1, .n = n, .tensors = tensors};
        writer.measured = calloc((size_t)n + 1, sizeof *writer.measured);
        writer.order = calloc((size_t)n + 1, sizeof *writer.order);
        bool good = writer.measured && writer.order;
        if (!good)
                ck_lack(err, "%s: out of memory", path);
        good = good && order_outputs(&writer, err) && open_aside(&writer, err) &&
               write_header(&writer, err) && write_data(&writer, fill, context, err);
        return finish(&writer, good, err);
}
