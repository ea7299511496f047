/* Recorded values of a model's inputs and outputs. */
#include "checkpoint_private.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static bool recorded_refuse(Recorded *f, const char *format, ...) __attribute__((format(printf, 2, 3)));

static bool recorded_refuse(Recorded *f, const char *format, ...)
{
        char text[1024];
        va_list args;
        va_start(args, format);
        vsnprintf(text, sizeof text, format, args);
        va_end(args);
        f->why = arena_printf(f->g->arena, "%s: %s", f->path, text);
        return false;
}

/* --- the file's values ------------------------------------------------------------------------------------------ */

static bool type_is_integer(CkType t)
{
        return t == CK_I8 || t == CK_U8 || t == CK_I16 || t == CK_U16 || t == CK_I32 || t == CK_U32 ||
               t == CK_I64 || t == CK_U64 || t == CK_BOOL;
}

static double element(const CkTensor *t, int64_t i)
{
        union {
                int64_t i64;
                uint64_t u64;
                int32_t i32;
                uint32_t u32;
                int16_t i16;
                uint16_t u16;
                int8_t i8;
                uint8_t u8;
        } x;
        size_t bytes = (size_t)ck_type_bits(t->dtype) / 8;
        memcpy(&x, (const char *)t->data + (size_t)i * bytes, bytes);
        switch (t->dtype) {
        case CK_I64: return (double)x.i64;
        case CK_U64: return (double)x.u64;
        case CK_I32: return x.i32;
        case CK_U32: return x.u32;
        case CK_I16: return x.i16;
        case CK_U16: return x.u16;
        case CK_I8: return x.i8;
        default: return x.u8;
        }
}

static bool is_real(const Record *r)
{
        return r->output >= 0 || r->type->dtype == REAL;
}

/* Checks an input of ids. */
static bool are_whole(Recorded *f, const Record *r)
{
        for (int64_t i = 0; i < r->given->count; i++) {
                double x = r->value[i];
                if (x != floor(x) || fabs(x) > INT32_MAX)
                        return recorded_refuse(
                                f, "%s: element %" PRId64 " is %.9g: expected a whole number of 32 bits",
                                r->given->name, i, x);
        }
        return true;
}

bool is_values_file(const char *path)
{
        static const char *const end[] = {".npy", ".safetensors"};
        size_t n = strlen(path);
        for (int i = 0; i < 2; i++)
                if (n > strlen(end[i]) && !strcmp(path + n - strlen(end[i]), end[i]))
                        return true;
        return false;
}

static bool recorded_read_all(const CkTensor *t, double *value)
{
        if (!t->file) { /* created in memory */
                memcpy(value, t->data, (size_t)t->bytes);
                return true;
        }
        if (ck_type_readable(t->dtype))
                return checkpoint_read_f64(t, 0, t->count, value);
        if (!type_is_integer(t->dtype))
                return false;
        for (int64_t i = 0; i < t->count; i++)
                value[i] = element(t, i);
        return true;
}

/* The tensor with this name, and its numbers; NULL after a message. */
static const CkTensor *load_tensor(const Checkpoint *file, const char *name, double **value, CkError *err)
{
        const CkTensor *t = checkpoint_find(file, name);
        if (!t && checkpoint_count(file) == 1)
                t = checkpoint_at(file, 0);
        *value = t ? malloc((size_t)t->count * sizeof **value + 1) : NULL;
        if (!t)
                ck_fail(err, "%s: it has several tensors, and none is named %s", checkpoint_path(file), name);
        else if (!*value)
                ck_lack(err, "%s: out of memory", checkpoint_path(file));
        else if (!recorded_read_all(t, *value))
                ck_fail(err, "%s: %s is %s: integers and F64, F32, F16 and BF16 are read",
                        checkpoint_path(file), t->name, ck_type_name(t->dtype));
        else
                return t;
        free(*value);
        return NULL;
}

bool values_load(const char *path, const char *name, NamedValues *values, CkError *err)
{
        Checkpoint *file = values_open(path, err);
        const CkTensor *t = file ? load_tensor(file, name, &values->value, err) : NULL;
        if (t) {
                values->rank = t->rank;
                memcpy(values->dim, t->shape, sizeof values->dim);
        }
        checkpoint_close(file);
        return t != NULL;
}

/* Checks an input as floats: masks have -inf, but a finite number must stay finite. */
static bool recorded_check_input(Recorded *f, const Record *r)
{
        for (int64_t i = 0; i < r->given->count; i++) {
                double x = r->value[i];
                if (x == INFINITY)
                        return recorded_refuse(f, "%s: element %" PRId64 " is %g", r->given->name, i, x);
                if (is_real(r) && beyond_f32(x))
                        return recorded_refuse(
                                f,
                                "%s: element %" PRId64
                                " is %.9g, beyond the largest float of 32 bits, 3.40282347e+38: scale the "
                                "input",
                                r->given->name, i, x);
        }
        return true;
}

static bool recorded_read_values(Recorded *f, Record *r)
{
        const CkTensor *t = r->given;
        r->value = malloc((size_t)t->count * sizeof *r->value + 1);
        if (!r->value) {
                f->why = no_memory;
                return false;
        }
        if (!recorded_read_all(t, r->value))
                return recorded_refuse(f, "%s is %s: integers and F64, F32, F16 and BF16 are read", t->name,
                                       ck_type_name(t->dtype));
        for (int64_t i = 0; i < t->count; i++)
                if (isnan(r->value[i]))
                        return recorded_refuse(f, "%s: element %" PRId64 " is %g", t->name, i, r->value[i]);
        if (r->output < 0 && !recorded_check_input(f, r))
                return false;
        return is_real(r) || are_whole(f, r);
}

/* --- names -------------------------------------------------------------------------------------------------------- */

static void add_record(Recorded *f, const CkTensor *t, int output)
{
        f->record[f->n++] = (Record){.given = t, .output = output};
}

/* The number of given tensors; the tensor of an input, and the number of its occurrences. */
static int count_given(const Recorded *f)
{
        int n = f->nmade;
        for (int i = 0; i < f->nfile; i++)
                n += checkpoint_count(f->file[i]);
        return n;
}

static const CkTensor *find_named(const Recorded *f, const char *name, int *places)
{
        const CkTensor *found = NULL;
        for (int i = 0; i < f->nmade + f->nfile; i++) {
                const CkTensor *t = i >= f->nmade ? checkpoint_find(f->file[i - f->nmade], name)
                                    : !strcmp(f->made[i].name, name) ? &f->made[i]
                                                                     : NULL;
                *places += t != NULL;
                found = found ? found : t;
        }
        return found;
}

const Input *input_named(const Graph *g, const char *name)
{
        for (int i = 0; i < g->ninput; i++) {
                const char *group = g->input[i].group_name, *own = input_name(&g->input[i]);
                size_t n = group ? strlen(group) : 0;
                if (!strcmp(own, name) ||
                    (n && !strncmp(group, name, n) && name[n] == '.' && !strcmp(own, name + n + 1)))
                        return &g->input[i];
        }
        return NULL;
}

/* A field of a group has its own name, or step.t. */
static const CkTensor *find_input(const Recorded *f, const Input *in, int *places)
{
        const CkTensor *t =
                find_named(f, arena_printf(f->g->arena, "%s.%s", in->group_name, input_name(in)), places);
        return t ? t : find_named(f, input_name(in), places);
}

/* A single array is for the only input, whatever its file name. */
static const CkTensor *only_tensor(const Recorded *f)
{
        return f->g->ninput != 1 || count_given(f) != 1 ? NULL
               : f->nmade                               ? &f->made[0]
                                                        : checkpoint_at(f->file[0], 0);
}

/* Names input `first` and those after it that are missing, too. */
static bool refuse_missing(Recorded *f, int first, const char *state)
{
        const Graph *g = f->g;
        const char *list = NULL;
        int n = 0, places = 0;
        for (int i = first; i < g->ninput; i++) {
                const Input *in = &g->input[i];
                if (find_input(f, in, &places))
                        continue;
                list = arena_printf(g->arena, "%s%s%s %s", n ? list : "", n ? ", " : "", input_name(in),
                                    type_text(g->arena, g, &in->type));
                n++;
        }
        return n == 1 ? recorded_refuse(f, "the input %s is not %s", list, state)
                      : recorded_refuse(f, "the inputs %s are not %s", list, state);
}

static bool find_inputs(Recorded *f, WhatIsRecorded what)
{
        const Graph *g = f->g;
        for (int i = 0; i < g->ninput; i++) {
                const Input *in = &g->input[i];
                int places = 0;
                const CkTensor *t = find_input(f, in, &places);
                if (!t && what == IN_BATCHES)
                        t = only_tensor(f);
                if (!t && what != SOME_INPUTS)
                        return refuse_missing(f, i, what == IN_BATCHES ? "given" : "there");
                if (places > 1)
                        return recorded_refuse(f, "the input %s is given twice", input_name(in));
                if (t && in->type.dtype != REAL && !type_is_integer(t->dtype) && t->file)
                        return recorded_refuse(f, "the input %s is %s: it holds integers, I32 or I64",
                                               input_name(in), ck_type_name(t->dtype));
                add_record(f, t, -1);
        }
        return true;
}

static bool is_input(const Recorded *f, const CkTensor *t)
{
        for (int i = 0; i < f->g->ninput; i++)
                if (f->record[i].given == t)
                        return true;
        return false;
}

static bool recorded_find_values(Recorded *f)
{
        Graph *g = f->g;
        int outputs = g->noutput;
        for (int i = 0; i < outputs; i++) {
                const CkTensor *t = checkpoint_find(f->file[0], output_name(&g->output[i]));
                if (t)
                        add_record(f, t, i);
        }
        for (int i = 0; i < checkpoint_count(f->file[0]); i++) {
                const CkTensor *t = checkpoint_at(f->file[0], i);
                const char *why;
                if (is_input(f, t))
                        continue;
                int output = tap_add(g, t->name, &why);
                if (output < 0)
                        return recorded_refuse(f, "%s", why);
                if (output >= outputs)
                        add_record(f, t, output);
        }
        return f->n > g->ninput ||
               recorded_refuse(f, "nothing to compare: the file has neither outputs nor other values");
}

/* --- shapes --------------------------------------------------------------------------------------------------------- */

/* The only named dimension of d with unknown size; -1: none, or several. */
static int one_unknown(const Recorded *f, Dim d)
{
        int unknown = -1, n = 0;
        for (int k = 0; k < MAX_NAMED; k++)
                if (d.per[k] != 0 && f->size[k] == 0) {
                        unknown = k;
                        n++;
                }
        return n == 1 ? unknown : -1;
}

/* Number of leading axes: 1 in a batch. */
static int batch_axes(const Record *r)
{
        return r->batched ? 1 : 0;
}

/* Whether it is a single number for a whole input. */
static bool is_fill(const Record *r)
{
        return r->given->rank == 0 && r->type->rank > 0;
}

static bool find_batch(Recorded *f)
{
        for (int i = 0; i < f->n; i++) {
                Record *r = &f->record[i];
                r->batched = r->given && r->given->rank == r->type->rank + 1;
                if (!r->batched)
                        continue;
                if (f->batch && r->given->shape[0] != f->batch)
                        return recorded_refuse(
                                f, "%s is a batch of %" PRId64 ", and another input one of %" PRId64,
                                r->given->name, r->given->shape[0], f->batch);
                f->batch = r->given->shape[0];
                if (!f->batch)
                        return recorded_refuse(f, "%s is an empty batch", r->given->name);
        }
        return true;
}

/* Solves the sizes from the shapes, one unknown at a time; shapes that match no size remain open, and are
 * rejected later. */
static void infer_sizes(Recorded *f)
{
        for (bool found = true; found;) {
                found = false;
                for (int i = 0; i < f->n; i++) {
                        const Record *r = &f->record[i];
                        int before = batch_axes(r);
                        for (int a = 0;
                             r->given && a < r->type->rank && r->type->rank + before == r->given->rank; a++) {
                                Dim d = r->type->dim[a];
                                int k = one_unknown(f, d);
                                int64_t rest =
                                        k < 0 ? 0 : r->given->shape[before + a] - dim_value(d, f->size);
                                if (k < 0 || rest <= 0 || rest % d.per[k] != 0)
                                        continue;
                                f->size[k] = rest / d.per[k];
                                found = true;
                        }
                }
        }
}

static bool check_shape(Recorded *f, const Record *r)
{
        const Graph *g = f->g;
        int64_t want[MAX_RANK];
        int before = batch_axes(r);
        bool fits = r->type->rank + before == r->given->rank;
        for (int a = 0; a < r->type->rank; a++) {
                want[a] = dim_value(r->type->dim[a], f->size);
                fits = fits && want[a] == r->given->shape[before + a];
        }
        if (fits)
                return true;
        const char *type = type_text(g->arena, g, r->type),
                   *shape = shape_text(g->arena, r->type->rank, want);
        return recorded_refuse(f, "%s has shape %s %s and %s%s%s in the model", r->given->name,
                               shape_text(g->arena, r->given->rank, r->given->shape),
                               f->nfile == 1 && !f->nmade ? "in the file" : "as given", type,
                               strcmp(type, shape) != 0 ? " = " : "", strcmp(type, shape) != 0 ? shape : "");
}

bool recorded_fill(Recorded *f, int i)
{
        Record *r = &f->record[i];
        if (!r->given || !is_fill(r))
                return true;
        r->count = type_count(r->type, f->size);
        double x = r->value[0], *value = malloc((size_t)r->count * sizeof *value + 1);
        for (int64_t k = 0; value && k < r->count; k++)
                value[k] = x;
        free(r->value);
        r->value = value;
        f->why = value ? NULL : no_memory;
        return value != NULL;
}

static bool check_shapes(Recorded *f, WhatIsRecorded what)
{
        if (what == IN_BATCHES && !find_batch(f))
                return false;
        infer_sizes(f);
        /* not determined by the file */
        for (int k = 0; k < f->g->nnamed && what != SOME_INPUTS; k++)
                if (f->size[k] == 0)
                        f->size[k] = 1;
        for (int i = 0; i < f->n; i++) {
                Record *r = &f->record[i];
                if (!r->given)
                        continue;
                bool fills = (what == IN_BATCHES || what == SOME_INPUTS) && is_fill(r);
                r->count = fills ? 1 : r->given->count / (r->batched ? f->batch : 1);
                if (!fills && !check_shape(f, r))
                        return false;
                if (fills && what == IN_BATCHES && !recorded_fill(f, i))
                        return false;
        }
        return true;
}

/* --- the whole ---------------------------------------------------------------------------------------------------------- */

static bool read_records(Recorded *f, WhatIsRecorded what)
{
        const Graph *g = f->g;
        f->record = NEW_ARRAY(g->arena, Record, g->ninput + count_given(f) + 1);
        if (!find_inputs(f, what) || (what == INPUTS_AND_VALUES && !recorded_find_values(f)))
                return false;
        for (int i = 0; i < f->n; i++) {
                Record *r = &f->record[i];
                r->type = i < g->ninput ? &g->input[i].type : &g->output[r->output].node->type;
                if (r->given && !recorded_read_values(f, r))
                        return false;
        }
        return check_shapes(f, what);
}

const char *recorded_gather(Recorded *f, Graph *g, const char *path, WhatIsRecorded what)
{
        f->g = g;
        f->path = path;
        return read_records(f, what) ? NULL : f->why;
}

const char *recorded_read(Recorded *f, Graph *g, const char *path, WhatIsRecorded what)
{
        CkError error;
        *f = (Recorded){0};
        f->file[0] = values_open(path, &error);
        if (!f->file[0])
                return arena_strdup(g->arena, error.message);
        f->nfile = 1;
        return recorded_gather(f, g, path, what);
}

Tensor *recorded_inputs(const Recorded *f)
{
        Tensor *input = NEW_ARRAY(f->g->arena, Tensor, f->g->ninput);
        for (int i = 0; i < f->g->ninput; i++) {
                const Record *r = &f->record[i];
                input[i] = (Tensor){.rank = r->given->rank, .data = r->value};
                for (int a = 0; a < input[i].rank; a++)
                        input[i].dim[a] = r->given->shape[a];
        }
        return input;
}

void *recorded_input(const Recorded *f, int i, int64_t in_batch)
{
        const Record *r = &f->record[i];
        const double *x = r->value + (r->batched ? in_batch * r->count : 0);
        void *data = malloc((size_t)r->count * sizeof(float) + 4);
        float *real = data;
        int32_t *whole = data;
        for (int64_t k = 0; data && k < r->count; k++)
                if (r->type->dtype == REAL)
                        real[k] = (float)x[k];
                else
                        whole[k] = (int32_t)x[k];
        return data;
}

bool recorded_add(Recorded *f, const char *name, int rank, const int64_t *dim, double *value)
{
        if (f->nmade == MAX_GIVEN) {
                free(value);
                return false;
        }
        CkTensor *t = &f->made[f->nmade++];
        *t = (CkTensor){.name = name, .dtype = CK_F64, .rank = rank, .count = 1, .data = value};
        for (int a = 0; a < rank; a++)
                t->count *= t->shape[a] = dim[a];
        t->bytes = t->count * (int64_t)sizeof *value;
        return true;
}

void recorded_free(Recorded *f)
{
        for (int i = 0; i < f->n; i++)
                free(f->record[i].value);
        for (int i = 0; i < f->nfile; i++)
                checkpoint_close(f->file[i]);
        for (int i = 0; i < f->nmade; i++)
                free((void *)f->made[i].data);
}
