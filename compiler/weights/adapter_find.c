/* Assigns the tensors of an adapter to those of a checkpoint, by peft's names of modules.
 *
 *   MODULE.lora_A.weight [r, in], MODULE.lora_B.weight [out, r]    change MODULE.weight: [out, in], or [in, out] of a Conv1D
 *   MODULE.lora_embedding_A [r, rows], MODULE.lora_embedding_B [columns, r]    change MODULE.weight [rows, columns]
 *   MODULE.lora_magnitude_vector [out]    DoRA
 *   MODULE.lora_B.bias [out]    changes MODULE.bias
 *   other tensors    replace those of their name, or are added
 *
 * A module of peft's may have one part more at its start than the checkpoint's, or one less: the name of the model
 * without its head, which files of such models lack. */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "adapter_private.h"
#include "scaled_private.h"

typedef struct {
        Checkpoint *c;
        const AdapterConfig *config;
        const char *path; /* of the adapter's tensors */
        double scale;     /* of the adapter */
        int nbase;        /* tensors before those of the adapter, sorted */
        CkTensor *tensor; /* [n] those of the adapter, sorted */
        int n;
        bool *used; /* [n] */
        CkError *err;
} AdapterFinder;

/* Names of the parts of a module's change, after its name. */
typedef enum {
        PART_A,
        PART_B,
        PART_EMBEDDING_A,
        PART_EMBEDDING_B,
        PART_MAGNITUDE,
        PART_MAGNITUDE_WEIGHT,
        PART_BIAS,
        ADAPTER_PARTS
} AdapterPart;
static const char *const part_name[ADAPTER_PARTS] = {
        ".lora_A.weight",    ".lora_B.weight",         ".lora_embedding_A",
        ".lora_embedding_B", ".lora_magnitude_vector", ".lora_magnitude_vector.weight",
        ".lora_B.bias"};

/* The part that a tensor is; ADAPTER_PARTS: a whole tensor. */
static AdapterPart adapter_part(const char *name)
{
        AdapterPart part = PART_A;
        while (part < ADAPTER_PARTS && !text_ends_with(name, part_name[part]))
                part++;
        return part;
}

/* ---- names ---- */

static int adapter_compare_names(const void *a, const void *b)
{
        return strcmp(((const CkTensor *)a)->name, ((const CkTensor *)b)->name);
}

static CkTensor *tensor_named(CkTensor *tensor, int n, const char *name)
{
        const CkTensor key = {.name = name};
        return n ? bsearch(&key, tensor, (size_t)n, sizeof key, adapter_compare_names) : NULL;
}

/* A name without the parts that peft's wrappers add. */
static const char *name_in_model(const char *name)
{
        static const char wrapper[] = "base_model.model.";
        return strncmp(name, wrapper, sizeof wrapper - 1) ? name : name + sizeof wrapper - 1;
}

/* The checkpoint's tensor of a name; NULL: none, or several.  *two: the second of several. */
static CkTensor *tensor_of_base(const AdapterFinder *f, const char *name, const CkTensor **two)
{
        CkTensor *found = tensor_named(f->c->tensor, f->nbase, name);
        const char *dot = strchr(name, '.');
        *two = NULL;
        if (!found && dot && strchr(dot + 1, '.'))
                found = tensor_named(f->c->tensor, f->nbase, dot + 1);
        if (found)
                return found;
        for (int i = 0; i < f->nbase; i++) {
                const char *first = strchr(f->c->tensor[i].name, '.');
                if (!first || strcmp(first + 1, name) != 0)
                        continue;
                *two = found;
                found = &f->c->tensor[i];
        }
        return *two ? NULL : found;
}

static char *module_tensor(const char *module, size_t n, const char *suffix)
{
        char *name = malloc(n + strlen(suffix) + 1);
        if (name) {
                memcpy(name, module, n);
                strcpy(name + n, suffix);
        }
        return name;
}

/* The adapter's tensor of a module, which is then used; NULL: none. */
static CkTensor *adapter_take_part(AdapterFinder *f, const char *module, size_t n, AdapterPart part)
{
        char *name = module_tensor(module, n, part_name[part]);
        CkTensor *found = name ? tensor_named(f->tensor, f->n, name) : NULL;
        if (found)
                f->used[found - f->tensor] = true;
        free(name);
        return found;
}

/* ---- errors ---- */

static bool adapter_lacks_memory(const AdapterFinder *f)
{
        return ck_lack(f->err, "%s: out of memory", f->path);
}

static const char *shape_in(char *text, size_t room, const CkTensor *t)
{
        size_t n = (size_t)snprintf(text, room, "[");
        for (int i = 0; i < t->rank && n < room; i++)
                n += (size_t)snprintf(text + n, room - n, "%s%lld", i ? ", " : "", (long long)t->shape[i]);
        snprintf(text + (n < room ? n : room - 2), n < room ? room - n : 2, "]");
        return text;
}

static bool adapter_no_base(const AdapterFinder *f, const CkTensor *of, const char *name, const CkTensor *two)
{
        const char **known = malloc(((size_t)f->nbase + 1) * sizeof *known);
        for (int i = 0; known && i < f->nbase; i++)
                known[i] = f->c->tensor[i].name;
        const char *near = known && !two ? nearest_name(name, known, f->nbase) : NULL;
        ck_fail(f->err, "%s: \"%s\" changes \"%s\", which %s %s%s%s%s", f->path, ck_quote(of->name).text,
                ck_quote(name).text, f->c->path, two ? "has more than once: one is \"" : "does not have",
                two    ? ck_quote(two->name).text
                : near ? "; it has \""
                       : "",
                near ? ck_quote(near).text : "", two || near ? "\"" : "");
        free(known);
        return false;
}

static bool adapter_other_shape(const AdapterFinder *f, const CkTensor *a, const CkTensor *b,
                                const CkTensor *base)
{
        char one[96], two[96], three[96];
        return ck_fail(f->err, "%s: \"%s\" %s%s%s: another shape than \"%s\", %s in %s", f->path,
                       ck_quote(a->name).text, shape_in(one, sizeof one, a),
                       b ? " and its second matrix " : "", b ? shape_in(two, sizeof two, b) : "",
                       ck_quote(base->name).text, shape_in(three, sizeof three, base), f->c->path);
}

/* ---- numbers ---- */

/* The numbers of a tensor as [rows, columns], or as [columns, rows] if `turn`, malloc'd; NULL after a message. */
static float *adapter_numbers(const AdapterFinder *f, const CkTensor *t, int64_t rows, bool turn)
{
        const int64_t columns = t->count / rows;
        float *x = malloc((size_t)t->count * sizeof *x + 1),
              *turned = turn && x ? malloc((size_t)t->count * sizeof *x + 1) : NULL;
        if (!x || (turn && !turned)) {
                free(x);
                adapter_lacks_memory(f);
                return NULL;
        }
        bool good = checkpoint_read_f32(t, 0, t->count, x) ||
                    ck_fail(f->err, "%s: \"%s\", %s: can't be read: %s", f->path, ck_quote(t->name).text,
                            ck_type_name(t->dtype),
                            ck_type_why(t->dtype) ? ck_type_why(t->dtype) : "the file has become shorter");
        for (int64_t i = 0; good && i < t->count; i++)
                good = isfinite(x[i]) ||
                       ck_fail(f->err, "%s: \"%s\": element %lld is %g; expected finite numbers", f->path,
                               ck_quote(t->name).text, (long long)i, (double)x[i]);
        for (int64_t i = 0; good && turn && i < t->count; i++)
                turned[i % columns * rows + i / columns] = x[i];
        free(turn || !good ? x : NULL);
        free(good ? NULL : turned);
        return !good ? NULL : turn ? turned : x;
}

/* The end of a name's first number between dots; 0: none. */
static size_t end_of_iteration(const char *name)
{
        for (const char *at = name; *at; at += strcspn(at, "."), at += *at == '.') {
                const size_t n = strspn(at, "0123456789");
                if (n && at[n] == '.')
                        return (size_t)(at - name) + n + 1;
        }
        return 0;
}

/* Counts whether the bias of a matrix that is not square has a number for each row or for each column. */
static void count_orientation(const AdapterFinder *f, const CkTensor *t, int *by_row, int *by_column)
{
        const size_t n = strlen(t->name);
        if (t->rank != 2 || t->shape[0] == t->shape[1] || !text_ends_with(t->name, ".weight"))
                return;
        char *name = module_tensor(t->name, n - strlen("weight"), "bias");
        const CkTensor *bias = name ? tensor_named(f->c->tensor, f->nbase, name) : NULL;
        *by_row += bias && bias->rank == 1 && bias->shape[0] == t->shape[0];
        *by_column += bias && bias->rank == 1 && bias->shape[0] == t->shape[1];
        free(name);
}

/* Whether a square matrix is [in, out]: as others of its layer, by their biases; else as fan_in_fan_out states, which
 * peft takes from the last module only. */
static bool is_square_turned(const AdapterFinder *f, const CkTensor *base)
{
        const size_t layer = end_of_iteration(base->name);
        int by_row = 0, by_column = 0;
        const CkTensor *first = f->c->tensor, *end = first + f->nbase, *t = base;
        while (layer && t > first && !strncmp(t[-1].name, base->name, layer))
                t--;
        for (; layer && t < end && !strncmp(t->name, base->name, layer); t++)
                count_orientation(f, t, &by_row, &by_column);
        return by_row && !by_column ? false : by_column && !by_row ? true : f->config->turned;
}

/* ---- changes ---- */

/* The changes of a tensor, to which one is added. */
static bool delta_append(const AdapterFinder *f, CkTensor *base, AdapterDelta *delta)
{
        CkAdapted *a = base->adapted ? base->adapted : calloc(1, sizeof *a);
        if (!a) {
                adapter_delta_free(delta);
                return adapter_lacks_memory(f);
        }
        if (!base->adapted) {
                CkType type = base->scaled ? base->scaled->result : base->dtype;
                *a = (CkAdapted){
                        .base = *base, .rows = base->shape[0], .columns = base->count / base->shape[0]};
                base->dtype = type == CK_F16 || type == CK_BF16 ? type : CK_F32;
                base->data = NULL;
                base->scaled = NULL;
                base->adapted = a;
        }
        base->adapter = f->path;
        AdapterDelta **last = &a->first;
        while (*last)
                last = &(*last)->next;
        *last = delta;
        return true;
}

static bool take_magnitudes(AdapterFinder *f, AdapterDelta *d, const char *module, size_t n, int64_t outputs,
                            const CkTensor *base)
{
        const CkTensor *t = adapter_take_part(f, module, n, PART_MAGNITUDE);
        t = t ? t : adapter_take_part(f, module, n, PART_MAGNITUDE_WEIGHT);
        if (!t && !f->config->magnitudes)
                return true;
        if (!t || !f->config->magnitudes)
                return ck_fail(f->err,
                               "%s: \"%.*s\" %s lora_magnitude_vector; expected one, as use_dora of %s is %s",
                               f->path, (int)(n > 120 ? 120 : n), module, t ? "has a" : "has no",
                               f->config->path, t ? "false: none" : "true");
        if (t->count != outputs)
                return adapter_other_shape(f, t, NULL, base);
        d->magnitude = adapter_numbers(f, t, 1, false);
        return d->magnitude != NULL;
}

/* Fills the matrices of a change; a and b have rank d->rank. */
static bool fill_delta(AdapterFinder *f, AdapterDelta *d, const CkTensor *a, const CkTensor *b,
                       const CkTensor *base, bool embedding)
{
        const int64_t rows = base->rank ? base->shape[0] : 0, columns = rows ? base->count / rows : 0;
        const int64_t in = a->count / d->rank, out = b->count / d->rank;
        const bool straight = !embedding && rows == out && columns == in;
        const bool turned = (embedding || base->rank == 2) && rows == in && columns == out;
        if (base->rank < 2 || (!straight && !turned))
                return adapter_other_shape(f, a, b, base);
        d->by_column = turned && (!straight || is_square_turned(f, base));
        d->left = d->by_column ? adapter_numbers(f, a, d->rank, true) : adapter_numbers(f, b, out, false);
        d->right = !d->left       ? NULL
                   : d->by_column ? adapter_numbers(f, b, out, true)
                                  : adapter_numbers(f, a, d->rank, false);
        return d->right != NULL;
}

static bool check_ranks_of(const AdapterFinder *f, const CkTensor *a, const CkTensor *b, int64_t rank)
{
        const bool matrices = a->rank >= 2 && b->rank >= 2;
        const bool fits = matrices && a->count && b->count && a->shape[0] == rank && b->shape[1] == rank &&
                          b->count == b->shape[0] * rank;
        char one[96], two[96];
        return fits || ck_fail(f->err,
                               "%s: \"%s\" %s, \"%s\" %s: expected rank %lld in the first and the last "
                               "dimension, the r of %s",
                               f->path, ck_quote(a->name).text, shape_in(one, sizeof one, a),
                               b->name + strlen(b->name) - strlen("lora_B.weight"),
                               shape_in(two, sizeof two, b), (long long)rank, f->config->path);
}

/* The tensor that a part changes: MODULE + suffix.  NULL after a message. */
static CkTensor *changed_tensor(const AdapterFinder *f, const CkTensor *part, size_t n, const char *suffix)
{
        const CkTensor *two = NULL;
        char *name = module_tensor(part->name, n, suffix);
        CkTensor *base = name ? tensor_of_base(f, name_in_model(name), &two) : NULL;
        if (!name)
                adapter_lacks_memory(f);
        else if (!base)
                adapter_no_base(f, part, name_in_model(name), two);
        else if (!ck_type_readable(base->dtype))
                ck_fail(f->err, "%s: \"%s\", %s, which \"%s\" changes, can't be read: %s", f->c->path,
                        ck_quote(base->name).text, ck_type_name(base->dtype), ck_quote(part->name).text,
                        ck_type_why(base->dtype));
        free(name);
        return base && ck_type_readable(base->dtype) ? base : NULL;
}

/* The change that matrix A of a module begins. */
static bool take_change(AdapterFinder *f, const CkTensor *a, AdapterPart part)
{
        const size_t n = strlen(a->name) - strlen(part_name[part]);
        const bool embedding = part == PART_EMBEDDING_A;
        const CkTensor *b = adapter_take_part(f, a->name, n, embedding ? PART_EMBEDDING_B : PART_B);
        char *module = module_tensor(a->name, n, "");
        AdapterDelta *d = calloc(1, sizeof *d);
        CkTensor *base = NULL;
        f->used[a - f->tensor] = true;
        bool good = (module && d) || adapter_lacks_memory(f);
        if (good && !b)
                good = ck_fail(f->err, "%s: \"%s\" has no second matrix, %s", f->path, ck_quote(a->name).text,
                               part_name[embedding ? PART_EMBEDDING_B : PART_B]);
        good = good && adapter_scale(f->config, name_in_model(module), &d->rank, &d->scale, f->err) &&
               check_ranks_of(f, a, b, d->rank) && (base = changed_tensor(f, a, n, ".weight")) != NULL &&
               fill_delta(f, d, a, b, base, embedding) &&
               take_magnitudes(f, d, a->name, n, d->by_column ? base->count / base->shape[0] : base->shape[0],
                               base);
        free(module);
        if (!good) {
                adapter_delta_free(d);
                return false;
        }
        d->scale *= f->scale;
        return delta_append(f, base, d);
}

/* The bias of matrix B of a module, which is added to the bias of the product. */
static bool take_bias(AdapterFinder *f, const CkTensor *bias)
{
        const size_t n = strlen(bias->name) - strlen(part_name[PART_BIAS]);
        AdapterDelta *d = calloc(1, sizeof *d);
        char *module = module_tensor(bias->name, n, "");
        CkTensor *base = NULL;
        int64_t rank;
        f->used[bias - f->tensor] = true;
        bool good = (module && d) || adapter_lacks_memory(f);
        if (good && (!f->config->biases || f->config->magnitudes))
                good = ck_fail(f->err, "%s: \"%s\": expected lora_bias true in %s, and use_dora false",
                               f->path, ck_quote(bias->name).text, f->config->path);
        good = good && adapter_scale(f->config, name_in_model(module), &rank, &d->scale, f->err) &&
               (base = changed_tensor(f, bias, n, ".bias")) != NULL &&
               ((base->rank == 1 && bias->rank == 1 && base->count && bias->count == base->count) ||
                adapter_other_shape(f, bias, NULL, base));
        if (good) {
                d->rank = 1;
                d->scale *= f->scale;
                d->left = adapter_numbers(f, bias, bias->count, false);
                d->right = malloc(sizeof *d->right);
                good = d->left && (d->right || adapter_lacks_memory(f));
        }
        free(module);
        if (!good) {
                adapter_delta_free(d);
                return false;
        }
        d->right[0] = 1;
        return delta_append(f, base, d);
}

/* The name of a whole tensor in the model, malloc'd; NULL: out of memory. */
static char *name_of_whole(const CkTensor *t)
{
        static const char inner[] = ".base_layer.";
        char *name = strdup(name_in_model(t->name)), *at = name ? strstr(name, inner) : NULL;
        if (at)
                memmove(at + 1, at + sizeof inner - 1, strlen(at + sizeof inner - 1) + 1);
        return name;
}

/* False after a message: a whole tensor can't be that of the checkpoint (NULL: it is added). */
static bool check_whole(const AdapterFinder *f, const CkTensor *t, const CkTensor *base)
{
        if (strstr(t->name, "lora_") || strstr(t->name, "trainable_tokens"))
                return ck_fail(
                        f->err,
                        "%s: \"%s\": this kind of tensor is not supported; merge the adapter with peft",
                        f->path, ck_quote(t->name).text);
        if (base && base->adapter)
                return ck_fail(
                        f->err,
                        "%s: \"%s\" replaces \"%s\", which %s changes or replaces: use one of these adapters",
                        f->path, ck_quote(t->name).text, ck_quote(base->name).text, base->adapter);
        return !base ||
               (base->rank == t->rank &&
                !memcmp(base->shape, t->shape, (size_t)t->rank * sizeof *t->shape)) ||
               adapter_other_shape(f, t, NULL, base);
}

/* A whole tensor: replaces that of the checkpoint, or is added under its name. */
static bool adapter_take_whole(AdapterFinder *f, CkTensor *t)
{
        const CkTensor *two = NULL;
        char *name = name_of_whole(t);
        CkTensor *base = name ? tensor_of_base(f, name, &two) : NULL;
        const bool good = !name ? adapter_lacks_memory(f)
                          : two ? adapter_no_base(f, t, name, two)
                                : check_whole(f, t, base);
        free(name);
        if (good && base) {
                scaled_free(base->scaled);
                name = (char *)base->name;
                *base = *t;
                base->name = name;
                base->adapter = f->path;
                f->used[t - f->tensor] = true;
        } else if (good) {
                t->adapter = f->path;
        }
        return good;
}

static bool take_all_parts(AdapterFinder *f)
{
        int changes = 0;
        for (int i = 0; i < f->n; i++) {
                const bool whole = adapter_part(f->tensor[i].name) == ADAPTER_PARTS;
                if (whole && !adapter_take_whole(f, &f->tensor[i]))
                        return false;
                changes += whole;
        }
        for (int i = 0; i < f->n; i++) {
                const AdapterPart part =
                        f->tensor[i].adapter ? ADAPTER_PARTS : adapter_part(f->tensor[i].name);
                if ((part == PART_A || part == PART_EMBEDDING_A) && !take_change(f, &f->tensor[i], part))
                        return false;
                if (part == PART_BIAS && !take_bias(f, &f->tensor[i]))
                        return false;
                changes += part < ADAPTER_PARTS;
        }
        for (int i = 0; i < f->n; i++)
                if (!f->used[i] && !f->tensor[i].adapter)
                        return ck_fail(f->err, "%s: \"%s\" has no first matrix, lora_A", f->path,
                                       ck_quote(f->tensor[i].name).text);
        return changes || ck_fail(f->err, "%s: there are no tensors, so nothing would change", f->path);
}

/* Keeps those of the adapter's tensors that are added to the checkpoint, under their names in the model. */
static bool keep_added(AdapterFinder *f)
{
        int kept = f->nbase;
        for (int i = 0; i < f->n; i++) {
                CkTensor t = f->tensor[i];
                const char *name = f->used[i] ? NULL : name_of_whole(&t);
                if (!f->used[i] && !name)
                        return adapter_lacks_memory(f);
                free((void *)t.name);
                f->tensor[i].name = NULL; /* freed once, also if the rest can't be kept */
                t.name = name;
                if (name)
                        f->c->tensor[kept++] = t;
        }
        f->c->count = kept;
        return true;
}

static bool adapter_find(Checkpoint *c, int nbase, const AdapterConfig *config, const CkFile *file,
                         double scale, CkError *err)
{
        AdapterFinder f = {.c = c,
                           .config = config,
                           .path = file->path,
                           .scale = scale,
                           .nbase = nbase,
                           .n = c->count - nbase,
                           .err = err};
        f.tensor = c->tensor + nbase;
        f.used = calloc((size_t)f.n + 1, sizeof *f.used);
        if (!f.used)
                return adapter_lacks_memory(&f);
        if (f.n)
                qsort(f.tensor, (size_t)f.n, sizeof *f.tensor, adapter_compare_names);
        const bool good =
                adapter_has_saved(config, f.tensor, f.n, err) && take_all_parts(&f) && keep_added(&f);
        free(f.used);
        return good && checkpoint_sort(c, err);
}

/* ---- files ---- */

/* Reads the adapter's tensors after those of the checkpoint. */
static const CkFile *adapter_open(Checkpoint *c, const char *folder, CkError *err)
{
        const size_t room = strlen(folder) + sizeof ADAPTER_FILE + 1;
        char *path = malloc(room);
        const CkFile *file = NULL;
        if (!path) {
                ck_lack(err, "%s: out of memory", folder);
                return NULL;
        }
        snprintf(path, room, "%sadapter_model.bin", folder);
        const bool pickle = !access(path, F_OK);
        snprintf(path, room, "%s%s", folder, ADAPTER_FILE);
        if (pickle && access(path, F_OK) != 0)
                ck_fail(err,
                        "%s: there is no such file beside adapter_model.bin, a pickle, which is a program "
                        "and is never read; "
                        "save_pretrained() of peft writes safetensors",
                        path);
        else if ((file = checkpoint_map(c, path, err)) && !safetensors_probe(file)) {
                ck_fail(err, "%s: this is not a safetensors file", path);
                file = NULL;
        } else if (file && !safetensors_read(c, file, err))
                file = NULL;
        free(path);
        return file;
}

static bool adapt_by(Checkpoint *c, const CkAdapter *adapter, CkError *err)
{
        struct stat about;
        const size_t n = strlen(adapter->path) + 2;
        if (stat(adapter->path, &about))
                return ck_lack(err, "%s: cannot open: %s", adapter->path, strerror(errno));
        if (!S_ISDIR(about.st_mode))
                return ck_fail(err, "%s: not a directory; --lora takes a directory of peft, with %s and %s",
                               adapter->path, ADAPTER_CONFIG, ADAPTER_FILE);
        char *folder = malloc(n);
        if (!folder)
                return ck_lack(err, "%s: out of memory", adapter->path);
        snprintf(folder, n, "%s%s", adapter->path, text_ends_with(adapter->path, "/") ? "" : "/");
        AdapterConfig config;
        const int nbase = c->count;
        const CkFile *file = NULL;
        const bool good = adapter_config_read(&config, folder, err) && checkpoint_map(c, config.path, err) &&
                          (file = adapter_open(c, folder, err)) &&
                          adapter_find(c, nbase, &config, file, adapter->scale, err);
        adapter_config_free(&config);
        free(folder);
        return good;
}

bool checkpoint_adapt(Checkpoint *c, const CkAdapter *adapter, int n, CkError *err)
{
        if (n && c->format->read != safetensors_read && c->format->read != safetensors_index_read)
                return ck_fail(err,
                               "%s: --lora needs the safetensors files of the model, whose names adapters "
                               "have; this is %s",
                               c->path, c->format->name);
        for (int i = 0; i < n; i++)
                if (!adapt_by(c, &adapter[i], err))
                        return false;
        return true;
}

bool adapter_parse(char *text, CkAdapter *adapter)
{
        char *equals = strrchr(text, '='), *end = NULL;
        *adapter = (CkAdapter){text, 1};
        if (!equals || !access(text, F_OK))
                return *text != 0;
        adapter->scale = strtod(equals + 1, &end);
        if (end == equals + 1 || *end || !isfinite(adapter->scale) || equals == text)
                return false;
        *equals = 0;
        return true;
}
