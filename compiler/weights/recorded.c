/* Values of a model from a file that something else wrote. */
#include "weights.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static bool wrong(Recorded *f, const char *format, ...) __attribute__((format(printf, 2, 3)));

static bool wrong(Recorded *f, const char *format, ...)
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

static bool is_whole(CkType t)
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

static bool read_values(Recorded *f, Record *r)
{
        const CkTensor *t = r->given;
        r->value = malloc((size_t)t->count * sizeof *r->value + 1);
        if (!r->value) {
                f->why = no_memory;
                return false;
        }
        if (ck_type_readable(t->dtype)) {
                if (!checkpoint_read_f64(t, 0, t->count, r->value))
                        return wrong(f, "%s can't be read", t->name);
        } else if (is_whole(t->dtype)) {
                for (int64_t i = 0; i < t->count; i++)
                        r->value[i] = element(t, i);
        } else {
                return wrong(f, "%s is %s: integers and F64, F32, F16 and BF16 are read", t->name,
                             ck_type_name(t->dtype));
        }
        for (int64_t i = 0; i < t->count; i++)
                if (isnan(r->value[i]) || (r->output < 0 && r->value[i] == INFINITY)) /* a mask holds -inf */
                        return wrong(f, "%s: element %" PRId64 " is %g", t->name, i, r->value[i]);
        return true;
}

/* --- names -------------------------------------------------------------------------------------------------------- */

static void add_record(Recorded *f, const CkTensor *t, int output)
{
        f->record[f->n++] = (Record){.given = t, .output = output};
}

/* A field of a group goes by its own name, or by step.t. */
static const CkTensor *find_input(const Recorded *f, const Input *in)
{
        const CkTensor *t =
                checkpoint_find(f->file, arena_printf(f->g->arena, "%s.%s", in->group_name, input_name(in)));
        return t ? t : checkpoint_find(f->file, input_name(in));
}

static bool find_inputs(Recorded *f)
{
        const Graph *g = f->g;
        for (int i = 0; i < g->ninput; i++) {
                const Input *in = &g->input[i];
                const CkTensor *t = find_input(f, in);
                if (!t)
                        return wrong(f, "the input %s %s is not there", input_name(in),
                                     type_text(g->arena, g, &in->type));
                if (in->type.dtype != REAL && !is_whole(t->dtype))
                        return wrong(f, "the input %s is %s: it holds integers, I32 or I64", input_name(in),
                                     ck_type_name(t->dtype));
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

static bool find_values(Recorded *f)
{
        Graph *g = f->g;
        int outputs = g->noutput;
        for (int i = 0; i < outputs; i++) {
                const CkTensor *t = checkpoint_find(f->file, output_name(&g->output[i]));
                if (t)
                        add_record(f, t, i);
        }
        for (int i = 0; i < checkpoint_count(f->file); i++) {
                const CkTensor *t = checkpoint_at(f->file, i);
                const char *why;
                if (is_input(f, t))
                        continue;
                int output = tap_add(g, t->name, &why);
                if (output < 0)
                        return wrong(f, "%s", why);
                if (output >= outputs)
                        add_record(f, t, output);
        }
        return f->n > g->ninput ||
               wrong(f, "nothing to compare: neither an output nor another value is there");
}

/* --- shapes --------------------------------------------------------------------------------------------------------- */

/* The one named dimension of d whose size is not known; -1: none, or several. */
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

/* What follows from the shapes, one unknown size after another; what fits no size stays open, and is refused then. */
static void infer_sizes(Recorded *f)
{
        for (bool found = true; found;) {
                found = false;
                for (int i = 0; i < f->n; i++) {
                        const Record *r = &f->record[i];
                        for (int a = 0; a < r->type->rank && r->type->rank == r->given->rank; a++) {
                                Dim d = r->type->dim[a];
                                int k = one_unknown(f, d);
                                int64_t rest = k < 0 ? 0 : r->given->shape[a] - dim_value(d, f->size);
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
        bool fits = r->type->rank == r->given->rank;
        for (int a = 0; a < r->type->rank; a++) {
                want[a] = dim_value(r->type->dim[a], f->size);
                fits = fits && want[a] == r->given->shape[a];
        }
        if (fits)
                return true;
        const char *type = type_text(g->arena, g, r->type),
                   *shape = shape_text(g->arena, r->type->rank, want);
        return wrong(f, "%s has shape %s in the file and %s%s%s in the model", r->given->name,
                     shape_text(g->arena, r->given->rank, r->given->shape), type,
                     strcmp(type, shape) != 0 ? " = " : "", strcmp(type, shape) != 0 ? shape : "");
}

static bool check_shapes(Recorded *f)
{
        infer_sizes(f);
        for (int k = 0; k < f->g->nnamed; k++)
                if (f->size[k] == 0)
                        f->size[k] = 1; /* nothing in the file tells */
        for (int i = 0; i < f->n; i++)
                if (!check_shape(f, &f->record[i]))
                        return false;
        return true;
}

/* --- the whole ---------------------------------------------------------------------------------------------------------- */

static bool read_records(Recorded *f, WhatIsRecorded what)
{
        const Graph *g = f->g;
        f->record = NEW_ARRAY(g->arena, Record, g->ninput + checkpoint_count(f->file) + 1);
        if (!find_inputs(f) || (what == INPUTS_AND_VALUES && !find_values(f)))
                return false;
        for (int i = 0; i < f->n; i++) {
                Record *r = &f->record[i];
                r->type = i < g->ninput ? &g->input[i].type : &g->output[r->output].node->type;
                if (!read_values(f, r))
                        return false;
        }
        return check_shapes(f);
}

const char *recorded_read(Recorded *f, Graph *g, const char *path, WhatIsRecorded what)
{
        CkError error;
        *f = (Recorded){.g = g, .path = path};
        f->file = checkpoint_open(path, &error);
        if (!f->file)
                return arena_strdup(g->arena, error.message);
        return read_records(f, what) ? NULL : f->why;
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

void recorded_free(Recorded *f)
{
        for (int i = 0; i < f->n; i++)
                free(f->record[i].value);
        checkpoint_close(f->file);
}
