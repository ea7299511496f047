/* Checkpoints: the table of formats, mapped files, and tensors by name.
 *
 * A reader (safetensors.c, gguf.c, llama2c.c, npy.c) checks its file and adds tensors; here they are
 * sorted by name and searched by bisection. Formats are rows of a table. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "adapter_private.h"
#include "scaled_private.h"

_Static_assert(sizeof(void *) == 8, "checkpoints are mapped whole: 64-bit addresses");
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "checkpoints are little-endian and are used in place"
#endif

/* In order of probing: formats with a known suffix come before those that are recognised by content. */
static const CkFormat formats[] = {
        {"sharded safetensors", false, safetensors_index_probe, safetensors_index_read},
        {"safetensors", false, safetensors_probe, safetensors_read},
        {"GGUF", false, gguf_probe, gguf_read},
        {"numpy", true, npy_probe, npy_read},
        {"llama2.c", false, llama2c_probe, llama2c_read},
};

bool ck_fail(CkError *err, const char *format, ...)
{
        va_list arguments;
        err->environment = false;
        va_start(arguments, format);
        vsnprintf(err->message, sizeof err->message, format, arguments);
        va_end(arguments);
        return false;
}

bool ck_lack(CkError *err, const char *format, ...)
{
        va_list arguments;
        err->environment = true;
        va_start(arguments, format);
        vsnprintf(err->message, sizeof err->message, format, arguments);
        va_end(arguments);
        return false;
}

CkQuoted ck_quote(const char *name)
{
        CkQuoted quoted;
        size_t length = strlen(name), room = sizeof quoted.text - 1, keep = length;
        if (length > room) {
                keep = room - 3;
                while (keep && (name[keep] & 0xc0) == 0x80) /* not inside a UTF-8 character */
                        keep--;
        }
        for (size_t i = 0; i < keep; i++)
                quoted.text[i] = (unsigned char)name[i] < 0x20 || name[i] == 0x7f ? '?' : name[i];
        strcpy(quoted.text + keep, keep < length ? "..." : "");
        return quoted;
}

/* Opens without blocking on a pipe, and keeps the descriptor, so that truncation is detected. */
static bool map_checkpoint_file(CkFile *file, CkError *err)
{
        struct stat status;
        if (!stat(file->path, &status) && !S_ISREG(status.st_mode))
                return ck_fail(err, "%s: not a regular file, which a checkpoint has to be", file->path);
        file->descriptor = open(file->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
        if (file->descriptor < 0 || fstat(file->descriptor, &status))
                return ck_lack(err, "%s: cannot open: %s", file->path, strerror(errno));
        input_read(file->path);
        if (!S_ISREG(status.st_mode))
                return ck_fail(err, "%s: not a regular file, which a checkpoint has to be", file->path);
        if (status.st_size == 0)
                return ck_fail(err, "%s: the file is empty", file->path);
        file->size = status.st_size;
        void *data = mmap(NULL, (size_t)file->size, PROT_READ, MAP_PRIVATE, file->descriptor, 0);
        if (data == MAP_FAILED)
                return ck_lack(err, "%s: cannot map %lld bytes: %s", file->path, (long long)file->size,
                               strerror(errno));
        file->data = data;
        file->entry = ending_mapping(data, (size_t)file->size, file->path);
        return true;
}

static void release_file(CkFile *file)
{
        if (file->data) {
                ending_forget(file->entry);
                munmap((void *)file->data, (size_t)file->size);
        }
        if (file->descriptor >= 0)
                close(file->descriptor);
        free(file->path);
        free(file);
}

const CkFile *checkpoint_map(Checkpoint *checkpoint, const char *path, CkError *err)
{
        CkFile **files = realloc(checkpoint->file, (size_t)(checkpoint->nfile + 1) * sizeof *files);
        if (files)
                checkpoint->file = files;
        CkFile *file = files ? calloc(1, sizeof *file) : NULL;
        char *copy = file ? strdup(path) : NULL;
        if (!copy) {
                free(file);
                ck_lack(err, "%s: out of memory", path);
                return NULL;
        }
        *file = (CkFile){.path = copy, .descriptor = -1};
        checkpoint->file[checkpoint->nfile++] = file;
        return map_checkpoint_file(file, err) ? file : NULL;
}

bool checkpoint_measure(const CkFile *file, CkTensor *tensor, CkError *err)
{
        int64_t bits = ck_type_bits(tensor->dtype), values = ck_type_values(tensor->dtype);
        int64_t most = INT64_MAX / bits, count = 1;
        bool empty = false;
        for (int i = 0; i < tensor->rank; i++)
                empty |= tensor->shape[i] == 0;
        for (int i = 0; i < tensor->rank && !empty; i++) {
                if (tensor->shape[i] < 0 || count > most / tensor->shape[i])
                        return ck_fail(
                                err, "%s: tensor \"%s\": its shape has more elements than 64 bits can count",
                                file->path, ck_quote(tensor->name).text);
                count *= tensor->shape[i];
        }
        tensor->count = empty ? 0 : count;
        if (tensor->count % values || tensor->count / values * bits % 8)
                return ck_fail(err, "%s: tensor \"%s\": %lld elements of %s do not fill whole %s", file->path,
                               ck_quote(tensor->name).text, (long long)tensor->count,
                               ck_type_name(tensor->dtype), values > 1 ? "blocks" : "bytes");
        tensor->bytes = tensor->count / values * bits / 8;
        return true;
}

bool checkpoint_add(Checkpoint *checkpoint, const CkTensor *tensor, CkError *err)
{
        if (checkpoint->count == checkpoint->capacity) {
                int capacity = checkpoint->capacity ? 2 * checkpoint->capacity : 64;
                CkTensor *grown = realloc(checkpoint->tensor, (size_t)capacity * sizeof *grown);
                if (!grown)
                        return ck_lack(err, "%s: out of memory", tensor->file->path);
                checkpoint->tensor = grown;
                checkpoint->capacity = capacity;
        }
        const char *prefix = checkpoint->prefix ? checkpoint->prefix : "";
        const size_t room = strlen(prefix) + strlen(tensor->name) + 1;
        char *name = malloc(room);
        if (name)
                snprintf(name, room, "%s%s", prefix, tensor->name);
        if (!name)
                return ck_lack(err, "%s: out of memory", tensor->file->path);
        CkTensor *added = &checkpoint->tensor[checkpoint->count++];
        *added = *tensor;
        added->name = name;
        return true;
}

bool checkpoint_set_meta(Checkpoint *checkpoint, const char *key, int64_t value, CkError *err)
{
        if (checkpoint->nmeta == MAX_META)
                return ck_fail(err, "%s: more than %d numbers in the header", checkpoint->path, MAX_META);
        checkpoint->meta[checkpoint->nmeta].key = key;
        checkpoint->meta[checkpoint->nmeta++].value = value;
        return true;
}

/* The checkpoint of a directory: the index if there is one, otherwise the only .safetensors file. */
typedef struct {
        char name[256]; /* the one that was found, or the conventional one among several */
        int found;
} FolderChoice;

static void checkpoint_choose(FolderChoice *choice, const char *name, const char *conventional)
{
        choice->found++;
        if (choice->found == 1 || !strcmp(name, conventional))
                snprintf(choice->name, sizeof choice->name, "%s", name);
}

static bool choose_in_directory(const char *path, char **chosen, CkError *err)
{
        static const char one[] = "model.safetensors", index[] = "model.safetensors.index.json";
        FolderChoice single = {.found = 0}, sharded = {.found = 0}, gguf = {.found = 0};
        DIR *directory = opendir(path);
        if (!directory)
                return ck_lack(err, "%s: cannot open: %s", path, strerror(errno));
        for (struct dirent *entry; (entry = readdir(directory));) {
                if (text_ends_with(entry->d_name, ".safetensors.index.json"))
                        checkpoint_choose(&sharded, entry->d_name, index);
                if (text_ends_with(entry->d_name, ".safetensors"))
                        checkpoint_choose(&single, entry->d_name, one);
                if (text_ends_with(entry->d_name, ".gguf"))
                        checkpoint_choose(&gguf, entry->d_name, "");
        }
        closedir(directory);
        const FolderChoice *choice = sharded.found                     ? &sharded
                                     : single.found || gguf.found != 1 ? &single
                                                                       : &gguf;
        const char *conventional = sharded.found ? index : one;
        if (!choice->found)
                return ck_fail(err,
                               "%s: a directory without a .safetensors file or .safetensors.index.json%s",
                               path, gguf.found ? "; of several .gguf one is given by its own name" : "");
        if (choice->found > 1 && strcmp(choice->name, conventional))
                return ck_fail(err, "%s: a directory with %d checkpoints and no %s: name the file you mean",
                               path, choice->found, conventional);
        size_t size = strlen(path) + strlen(choice->name) + 2;
        *chosen = malloc(size);
        if (!*chosen)
                return ck_lack(err, "%s: out of memory", path);
        snprintf(*chosen, size, "%s%s%s", path, text_ends_with(path, "/") ? "" : "/", choice->name);
        return true;
}

static int compare_files(const void *a, const void *b)
{
        return strcmp(((const CkTensor *)a)->name, ((const CkTensor *)b)->name);
}

bool checkpoint_sort(Checkpoint *checkpoint, CkError *err)
{
        if (checkpoint->count)
                qsort(checkpoint->tensor, (size_t)checkpoint->count, sizeof *checkpoint->tensor,
                      compare_files);
        for (int i = 1; i < checkpoint->count; i++)
                if (!strcmp(checkpoint->tensor[i - 1].name, checkpoint->tensor[i].name))
                        return ck_fail(err, "%s: two tensors are named \"%s\"",
                                       checkpoint->tensor[i].file->path,
                                       ck_quote(checkpoint->tensor[i].name).text);
        return true;
}

static bool fail_format(const char *path, const Format *other, CkError *err)
{
        static const char wanted[] = "expected .safetensors, a .safetensors.index.json, a directory with one "
                                     "of them, a .gguf, or a "
                                     "llama2.c .bin";
        if (!other)
                return ck_fail(err, "%s: not a format that lathe reads: %s", path, wanted);
        return ck_fail(err, "%s: this is %s: %s%s%s", path, other->name, wanted, other->advice ? "; " : "",
                       other->advice ? other->advice : "");
}

bool json_in(const char *folder, const char *inside, const char *name, json_t **json, CkError *err)
{
        char path[4096], *text = NULL;
        const char *why;
        size_t room = 0;
        *json = NULL;
        if (snprintf(path, sizeof path, "%s%s%s%s", folder, inside, *inside ? "/" : "", name) >=
            (int)sizeof path)
                return true;
        if (access(path, F_OK) != 0)
                return true;
        input_read(path);
        FILE *file = input_open(path, &why);
        if (!file)
                return ck_lack(err, "%s: cannot open: %s", path, why);
        json_error_t error = {0};
        const ssize_t n = getdelim(&text, &room, 0, file);
        const int fault = n < 0 && !feof(file) ? errno : 0;
        json_begin();
        *json = json_parse(n > 0 ? text : "", n > 0 ? (size_t)n : 0, 0, &error);
        free(text);
        fclose(file);
        if (fault)
                return ck_lack(err, "%s: cannot read: %s", path, strerror(fault));
        if (json_out_of_memory())
                return ck_lack(err, "%s: out of memory", path);
        return *json || ck_fail(err, "%s:%d: byte %d: not valid JSON: %s", path, error.line, error.position,
                                ck_quote(error.text).text);
}

/* The same; NULL also if it is unreadable. */
static json_t *json_if_valid(const char *folder, const char *inside, const char *name)
{
        CkError unused;
        json_t *json;
        return json_in(folder, inside, name, &json, &unused) ? json : NULL;
}

/* Computes numbers of quantised tensors from `first` on, if the file's folder has a config.json with a
 * quantization_config.  This file is then one of the checkpoint's, since numbers depend on it. */
static bool read_scaled(Checkpoint *checkpoint, const CkFile *file, int first, CkError *err)
{
        const char *slash = strrchr(file->path, '/');
        const size_t n = slash ? (size_t)(slash - file->path) + 1 : 0;
        char *path = malloc(n + sizeof "config.json");
        if (!path)
                return ck_lack(err, "%s: out of memory", file->path);
        memcpy(path, file->path, n);
        path[n] = 0;
        json_t *config = NULL;
        ScaledConfig quantised;
        bool good = text_ends_with(file->path, ".gguf") || json_in(path, "", "config.json", &config, err);
        strcpy(path + n, "config.json");
        good = good && scaled_config_read(&quantised, config, path, err);
        int count = checkpoint->count - first;
        if (good && !quantised.method)
                good = scaled_have_config(checkpoint->tensor + first, count, path, err);
        if (good && quantised.method)
                good = checkpoint_map(checkpoint, path, err) &&
                       (!count || scaled_find(checkpoint->tensor + first, &count, &quantised, err));
        checkpoint->count = first + count;
        json_decref(config);
        free(path);
        return good;
}

static bool open_file(Checkpoint *checkpoint, const char *path, bool values, CkError *err)
{
        const CkFile *file = checkpoint_map(checkpoint, path, err);
        if (!file)
                return false;
        for (size_t i = 0; i < sizeof formats / sizeof *formats && !checkpoint->format; i++)
                if ((values || !formats[i].values) && formats[i].probe(file))
                        checkpoint->format = &formats[i];
        const Format *other = format_of(file->data, file->size);
        bool guessed = checkpoint->format && checkpoint->format->probe == llama2c_probe;
        if (!checkpoint->format || (other && !checkpoint->format->values && (guessed || other->advice)))
                return fail_format(path, other, err);
        const int first = checkpoint->count;
        return checkpoint->format->read(checkpoint, file, err) &&
               (values || read_scaled(checkpoint, file, first, err));
}

/* Opens the weights of another module of a sentence-transformers directory; they are named "PATH/TENSOR". */
static bool open_module(Checkpoint *checkpoint, const char *folder, const char *module, CkError *err)
{
        const size_t room = strlen(folder) + strlen(module) + sizeof "/model.safetensors";
        char *path = malloc(2 * room), *prefix = path ? path + room : NULL;
        struct stat status;
        if (!path)
                return ck_lack(err, "%s: out of memory", folder);
        snprintf(path, room, "%s%s/model.safetensors", folder, module);
        snprintf(prefix, room, "%s/", module);
        bool good = true;
        if (!stat(path, &status)) {
                const CkFile *file = checkpoint_map(checkpoint, path, err);
                checkpoint->prefix = prefix;
                good = file && (safetensors_probe(file) || ck_fail(err, "%s: no safetensors", path)) &&
                       safetensors_read(checkpoint, file, err);
                checkpoint->prefix = NULL;
        }
        free(path);
        return good;
}

static const char *module_path(const json_t *modules, size_t i)
{
        const char *path = json_string_value(json_object_get(json_array_get(modules, i), "path"));
        return path && *path != '/' && !strstr(path, "..") ? path : "";
}

/* Replaces a first module that is a Router by those of its route `document`. */
static void replace_router(json_t *modules, const char *folder)
{
        const char *type = json_string_value(json_object_get(json_array_get(modules, 0), "type")),
                   *dot = type ? strrchr(type, '.') : NULL, *path = module_path(modules, 0);
        if (!dot || (strcmp(dot, ".Router") != 0 && strcmp(dot, ".Asym") != 0))
                return;
        json_t *router = json_if_valid(folder, path, "router_config.json");
        router = router ? router : json_if_valid(folder, path, "config.json");
        const json_t *route = json_object_get(json_object_get(router, "structure"), "document");
        for (size_t i = 0; i < json_array_size(route); i++) {
                const char *name = json_string_value(json_array_get(route, i));
                json_array_insert_new(
                        modules, i + 1,
                        json_pack("{s: o}", "path",
                                  json_sprintf("%s%s%s", path, *path ? "/" : "", name ? name : "")));
        }
        json_array_remove(modules, 0);
        json_decref(router);
}

/* modules.json of a directory; NULL: missing, or not a list. */
static json_t *modules_in(const char *folder)
{
        json_t *modules = json_if_valid(folder, "", "modules.json");
        if (json_is_array(modules)) {
                replace_router(modules, folder);
                return modules;
        }
        json_decref(modules);
        return NULL;
}

/* A directory: its checkpoint, or, for sentence-transformers, those of the Transformer and of the modules
 * after it. */
static bool open_directory(Checkpoint *checkpoint, const char *path, bool values, CkError *err)
{
        char *chosen = NULL;
        const size_t n = strlen(path) + 2;
        char *folder = malloc(n);
        if (!folder)
                return ck_lack(err, "%s: out of memory", path);
        snprintf(folder, n, "%s%s", path, text_ends_with(path, "/") ? "" : "/");
        json_t *modules = modules_in(folder);
        const char *first = module_path(modules, 0);
        char *main = malloc(n + strlen(first));
        bool good = main || ck_lack(err, "%s: out of memory", path);
        if (good)
                sprintf(main, "%s%s", *first ? folder : path, first);
        good = good && choose_in_directory(main, &chosen, err) && open_file(checkpoint, chosen, values, err);
        for (size_t i = 1; good && i < json_array_size(modules); i++)
                good = !*module_path(modules, i) ||
                       open_module(checkpoint, folder, module_path(modules, i), err);
        json_decref(modules);
        free(main);
        free(folder);
        free(chosen);
        return good;
}

static bool open_path(Checkpoint *checkpoint, const char *path, bool values, CkError *err);

const char *checkpoint_pair_comma(const char *path)
{
        struct stat status;
        return stat(path, &status) ? strchr(path, ',') : NULL;
}

/* Tensors of a head, and of the model for which it drafts. */
static bool open_pair(Checkpoint *checkpoint, const char *path, const char *comma, CkError *err)
{
        char *head = strdup(path);
        if (!head)
                return ck_lack(err, "%s: out of memory", path);
        head[comma - path] = 0;
        bool good = open_path(checkpoint, head, false, err);
        free(head);
        const CkFormat *format = checkpoint->format;
        CkPair *pair = checkpoint->pair;
        const int npair = checkpoint->npair, nmeta = checkpoint->nmeta;
        checkpoint->format = NULL;
        checkpoint->pair = NULL;
        checkpoint->npair = 0;
        checkpoint->prefix = CK_FIRST;
        good = good && open_path(checkpoint, comma + 1, false, err);
        pairs_free(checkpoint->pair, checkpoint->npair);
        checkpoint->format = format;
        checkpoint->pair = pair;
        checkpoint->npair = npair;
        checkpoint->nmeta = nmeta;
        checkpoint->prefix = NULL;
        return good;
}

static bool open_path(Checkpoint *checkpoint, const char *path, bool values, CkError *err)
{
        struct stat status;
        const char *comma = values || checkpoint->prefix ? NULL : checkpoint_pair_comma(path);
        if (comma)
                return open_pair(checkpoint, path, comma, err);
        if (stat(path, &status))
                return ck_lack(err, "%s: cannot open: %s", path, strerror(errno));
        if (!S_ISDIR(status.st_mode))
                return open_file(checkpoint, path, values, err);
        return open_directory(checkpoint, path, values, err);
}

static Checkpoint *open_any(const char *path, bool values, CkError *err)
{
        Checkpoint *checkpoint = calloc(1, sizeof *checkpoint);
        if (checkpoint)
                checkpoint->path = strdup(path);
        if (!checkpoint || !checkpoint->path)
                ck_lack(err, "%s: out of memory", path);
        else if (open_path(checkpoint, path, values, err) && checkpoint_sort(checkpoint, err))
                return checkpoint;
        checkpoint_close(checkpoint);
        return NULL;
}

Checkpoint *checkpoint_open(const char *path, CkError *err)
{
        return open_any(path, false, err);
}

Checkpoint *values_open(const char *path, CkError *err)
{
        return open_any(path, true, err);
}

void checkpoint_close(Checkpoint *checkpoint)
{
        if (!checkpoint)
                return;
        for (int i = 0; i < checkpoint->count; i++) {
                scaled_free(checkpoint->tensor[i].scaled);
                adapted_free(checkpoint->tensor[i].adapted);
                free((void *)checkpoint->tensor[i].name);
        }
        for (int i = 0; i < checkpoint->nfile; i++)
                release_file(checkpoint->file[i]);
        pairs_free(checkpoint->pair, checkpoint->npair);
        free(checkpoint->tensor);
        free(checkpoint->file);
        free(checkpoint->path);
        free(checkpoint);
}

const char *checkpoint_path(const Checkpoint *checkpoint)
{
        return checkpoint->path;
}

const char *checkpoint_format(const Checkpoint *checkpoint)
{
        return checkpoint->format->name;
}

const CkFile *checkpoint_file(const Checkpoint *checkpoint, int index)
{
        return index < checkpoint->nfile ? checkpoint->file[index] : NULL;
}

int checkpoint_count(const Checkpoint *checkpoint)
{
        return checkpoint->count;
}

const CkTensor *checkpoint_at(const Checkpoint *checkpoint, int index)
{
        return &checkpoint->tensor[index];
}

const CkTensor *checkpoint_find(const Checkpoint *checkpoint, const char *name)
{
        CkTensor key = {.name = name};
        if (!checkpoint->count)
                return NULL;
        return bsearch(&key, checkpoint->tensor, (size_t)checkpoint->count, sizeof key, compare_files);
}

bool checkpoint_meta(const Checkpoint *checkpoint, const char *key, int64_t *value)
{
        for (int i = 0; i < checkpoint->nmeta; i++)
                if (!strcmp(checkpoint->meta[i].key, key)) {
                        *value = checkpoint->meta[i].value;
                        return true;
                }
        return false;
}

void checkpoint_take_pairs(Checkpoint *checkpoint, CkPair *pairs, int n)
{
        checkpoint->pair = pairs;
        checkpoint->npair = n;
}

int checkpoint_pairs(const Checkpoint *checkpoint)
{
        return checkpoint->npair;
}

const CkPair *checkpoint_pair_at(const Checkpoint *checkpoint, int index)
{
        return &checkpoint->pair[index];
}

const CkPair *checkpoint_pair(const Checkpoint *checkpoint, const char *key)
{
        return pair_find(checkpoint->pair, checkpoint->npair, key);
}
