/* safetensors: reading, one file, or shards under an index; tensors_write.c writes them.
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

enum { MAX_SHARDS = 4096 };

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
        return text_ends_with(file->path, ".safetensors") ||
               (file->size > SAFETENSORS_PREFIX && header_length(file) <= SAFETENSORS_HEADER &&
                file->data[SAFETENSORS_PREFIX] == '{');
}

static json_t *parse_json(const CkFile *file, int64_t offset, int64_t length, CkError *err)
{
        json_error_t error;
        json_begin();
        json_t *json = json_parse((const char *)file->data + offset, (size_t)length, 0, &error);
        if (json_out_of_memory())
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
        if (file->size < SAFETENSORS_PREFIX) {
                ck_fail(err, "%s: %lld bytes, but safetensors begins with %d that give the header's length",
                        file->path, (long long)file->size, SAFETENSORS_PREFIX);
                return NULL;
        }
        uint64_t length = header_length(file);
        if (length > (uint64_t)(file->size - SAFETENSORS_PREFIX)) {
                ck_fail(err,
                        "%s: the header's length is given as %llu bytes, but %lld follow: truncated, or not "
                        "safetensors",
                        file->path, (unsigned long long)length, (long long)(file->size - SAFETENSORS_PREFIX));
                return NULL;
        }
        if (length > SAFETENSORS_HEADER) {
                ck_fail(err, "%s: a header of %llu bytes; lathe reads up to %d", file->path,
                        (unsigned long long)length, SAFETENSORS_HEADER);
                return NULL;
        }
        *data_start = SAFETENSORS_PREFIX + (int64_t)length;
        return parse_json(file, SAFETENSORS_PREFIX, (int64_t)length, err);
}

static bool check_metadata(const CkFile *file, json_t *json, CkError *err)
{
        const char *key;
        json_t *value;
        if (!json_is_object(json))
                return ck_fail(err, "%s: %s has to be an object of strings", file->path, METADATA);
        json_object_foreach (json, key, value) {
                if (!json_is_string(value))
                        return ck_fail(err, "%s: %s: \"%s\" is not a string", file->path, METADATA,
                                       ck_quote(key).text);
        }
        return true;
}

static bool safetensors_read_type(CkTensor *tensor, const json_t *json, CkError *err)
{
        const char *name = json_string_value(json);
        if (!name)
                return ck_fail(err, "%s: tensor \"%s\": expected a dtype, a string", tensor->file->path,
                               ck_quote(tensor->name).text);
        return ck_type_of_safetensors(name, &tensor->dtype) ||
               ck_fail(err, "%s: tensor \"%s\": unknown dtype \"%s\"", tensor->file->path,
                       ck_quote(tensor->name).text, ck_quote(name).text);
}

static bool safetensors_read_shape(CkTensor *tensor, const json_t *json, CkError *err)
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
        if (!safetensors_read_type(&tensor, json_object_get(entry, "dtype"), err) ||
            !safetensors_read_shape(&tensor, json_object_get(entry, "shape"), err) ||
            !checkpoint_measure(file, &tensor, err) ||
            !read_extent(&tensor, json_object_get(entry, "data_offsets"), file->size - data_start, extent,
                         err))
                return false;
        tensor.data = file->data + data_start + extent->begin;
        return checkpoint_add(checkpoint, &tensor, err);
}

static int compare_begins(const void *a, const void *b)
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
                qsort(extent, (size_t)n, sizeof *extent, compare_begins);
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
                if (!strcmp(name, METADATA))
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
        return text_ends_with(file->path, ".index.json");
}

/* A shard is named relative to its index, and must be inside the index's directory. */
static bool path_is_inside(const char *path)
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

/* A tensor's name in the file: those of a model for which a head drafts have a prefix. */
static const char *name_in_file(const Checkpoint *checkpoint, int i)
{
        const char *name = checkpoint_at(checkpoint, i)->name;
        return strncmp(name, CK_FIRST, strlen(CK_FIRST)) ? name : name + strlen(CK_FIRST);
}

/* Every tensor of a new shard must be one that the index assigns to it. */
static bool check_shard(const Checkpoint *checkpoint, const CkFile *index, const json_t *map,
                        const char *shard, int first, CkError *err)
{
        for (int i = first; i < checkpoint_count(checkpoint); i++) {
                const char *name = name_in_file(checkpoint, i);
                const char *listed_in = json_string_value(json_object_get(map, name));
                if (!listed_in || strcmp(listed_in, shard) != 0)
                        return ck_fail(err, "%s: tensor \"%s\" is in %s, but the index %s%s", index->path,
                                       ck_quote(name).text, ck_quote(shard).text,
                                       listed_in ? "gives " : "does not list it",
                                       listed_in ? ck_quote(listed_in).text : "");
        }
        return true;
}

static bool safetensors_read_shards(Checkpoint *checkpoint, const CkFile *index, const json_t *map,
                                    json_t *opened, CkError *err)
{
        const char *name;
        json_t *value;
        json_object_foreach ((json_t *)map, name, value) {
                const char *shard = json_string_value(value);
                if (!shard || !path_is_inside(shard))
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

/* All tensors of the shards are in the index, once and in their shard; so equal counts mean that none is
 * missing. */
static bool check_complete(const Checkpoint *checkpoint, int first, const CkFile *index, const json_t *map,
                           CkError *err)
{
        const char *name;
        json_t *value;
        if ((size_t)(checkpoint_count(checkpoint) - first) == json_object_size(map))
                return true;
        json_t *held = json_object();
        for (int i = first; held && i < checkpoint_count(checkpoint); i++)
                json_object_set_new(held, name_in_file(checkpoint, i), json_true());
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
        if (file->size > SAFETENSORS_HEADER)
                return ck_fail(err, "%s: an index of %lld bytes; lathe reads up to %d", file->path,
                               (long long)file->size, SAFETENSORS_HEADER);
        json_t *index = parse_json(file, 0, file->size, err);
        if (!index)
                return false;
        const int first = checkpoint_count(checkpoint);
        const json_t *map = json_object_get(index, "weight_map");
        json_t *opened = json_object();
        bool good = opened && json_is_object(map);
        if (!good)
                ck_fail(err, "%s: expected \"weight_map\", an object that gives each tensor's file",
                        file->path);
        good = good && safetensors_read_shards(checkpoint, file, map, opened, err) &&
               check_complete(checkpoint, first, file, map, err);
        json_decref(opened);
        json_decref(index);
        return good;
}
