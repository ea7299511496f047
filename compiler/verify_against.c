/* lathe verify --against FILE.safetensors: a model against values that something else computed.
 *
 * The file holds inputs, outputs and values of the model by their names (taps.h); sizes of named dimensions follow from its
 * shapes.  The interpreter's answer, and then that of compiled code, is compared tensor by tensor: the largest difference,
 * relative to the largest finite value that the file has of the tensor. */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver.h"
#include "taps.h"
#include "trial.h"
#include "trial_program.h"

static const double interpreted_bound = 1e-9, compiled_bound = 1e-5;

typedef struct {
        const CkTensor *given;
        const Type *type; /* the model's */
        int output;       /* of the graph; -1: an input */
        double *value;    /* what the file says */
} Record;

typedef struct {
        Model m;
        const Options *o;
        Checkpoint *file;
        Record *record; /* in the order of the model: all its inputs, its outputs, then other values */
        int n;
        int64_t size[MAX_NAMED]; /* 0: not known yet */
        bool failed;
} Against;

static bool wrong(const Against *v, const char *format, ...) __attribute__((format(printf, 2, 3)));

static bool wrong(const Against *v, const char *format, ...)
{
        va_list args;
        va_start(args, format);
        fprintf(stderr, "lathe verify: %s: ", v->o->against);
        vfprintf(stderr, format, args);
        fputc('\n', stderr);
        va_end(args);
        return false;
}

/* "[2, 7]" */
static const char *shape_text(Arena *a, int rank, const int64_t *dim)
{
        const char *text = "[";
        for (int i = 0; i < rank; i++)
                text = arena_printf(a, "%s%s%" PRId64, text, i ? ", " : "", dim[i]);
        return arena_printf(a, "%s]", text);
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
                double f64;
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
        case CK_F64: return x.f64;
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

static bool read_values(Against *v, Record *r)
{
        const CkTensor *t = r->given;
        r->value = malloc((size_t)t->count * sizeof *r->value + 1);
        if (!r->value)
                v->m.lacking = true;
        if (!r->value)
                return wrong(v, no_memory);
        if (ck_type_readable(t->dtype)) {
                if (!checkpoint_read_f64(t, 0, t->count, r->value))
                        return wrong(v, "%s can't be read", t->name);
        } else if (is_whole(t->dtype) || t->dtype == CK_F64) {
                for (int64_t i = 0; i < t->count; i++)
                        r->value[i] = element(t, i);
        } else {
                return wrong(v, "%s is %s: integers and F64, F32, F16 and BF16 are read", t->name,
                             ck_type_name(t->dtype));
        }
        for (int64_t i = 0; i < t->count; i++)
                if (isnan(r->value[i]) || (r->output < 0 && !isfinite(r->value[i])))
                        return wrong(v, "%s: element %" PRId64 " is %g", t->name, i, r->value[i]);
        return true;
}

/* --- names -------------------------------------------------------------------------------------------------------- */

static void add_record(Against *v, const CkTensor *t, int output)
{
        v->record[v->n++] = (Record){.given = t, .output = output};
}

/* A field of a group goes by its own name, or by step.t. */
static const CkTensor *find_input(const Against *v, const Input *in)
{
        const CkTensor *t =
                checkpoint_find(v->file, arena_printf(v->m.graph->arena, "%s.%s", in->group_name, in->name));
        return t ? t : checkpoint_find(v->file, in->name);
}

static bool find_inputs(Against *v)
{
        const Graph *g = v->m.graph;
        for (int i = 0; i < g->ninput; i++) {
                const Input *in = &g->input[i];
                const CkTensor *t = find_input(v, in);
                if (!t)
                        return wrong(v, "the input %s %s is not there", in->name,
                                     type_text(g->arena, g, &in->type));
                if (in->type.dtype != REAL && !is_whole(t->dtype))
                        return wrong(v, "the input %s is %s: it holds integers, I32 or I64", in->name,
                                     ck_type_name(t->dtype));
                add_record(v, t, -1);
        }
        return true;
}

static bool is_input(const Against *v, const CkTensor *t)
{
        for (int i = 0; i < v->m.graph->ninput; i++)
                if (v->record[i].given == t)
                        return true;
        return false;
}

static bool find_values(Against *v)
{
        Graph *g = v->m.graph;
        int outputs = g->noutput;
        for (int i = 0; i < outputs; i++) {
                const CkTensor *t = checkpoint_find(v->file, g->output[i].name);
                if (t)
                        add_record(v, t, i);
        }
        for (int i = 0; i < checkpoint_count(v->file); i++) {
                const CkTensor *t = checkpoint_at(v->file, i);
                const char *why;
                if (is_input(v, t))
                        continue;
                int output = tap_add(g, t->name, &why);
                if (output < 0)
                        return wrong(v, "%s", why);
                if (output >= outputs)
                        add_record(v, t, output);
        }
        return v->n > g->ninput ||
               wrong(v, "nothing to compare: neither an output nor another value is there");
}

static bool read_file(Against *v)
{
        CkError error;
        v->file = checkpoint_open(v->o->against, &error);
        if (!v->file) {
                fprintf(stderr, "lathe verify: %s\n", error.message);
                return false;
        }
        const Graph *g = v->m.graph;
        v->record = NEW_ARRAY(&v->m.arena, Record, g->ninput + checkpoint_count(v->file) + 1);
        if (!find_inputs(v) || !find_values(v))
                return false;
        for (int i = 0; i < v->n; i++) {
                Record *r = &v->record[i];
                r->type = i < g->ninput ? &g->input[i].type : &g->output[r->output].node->type;
                if (!read_values(v, r))
                        return false;
        }
        return true;
}

/* --- shapes --------------------------------------------------------------------------------------------------------- */

/* The one named dimension of d whose size is not known; -1: none, or several. */
static int one_unknown(const Against *v, Dim d)
{
        int unknown = -1, n = 0;
        for (int k = 0; k < MAX_NAMED; k++)
                if (d.per[k] != 0 && v->size[k] == 0) {
                        unknown = k;
                        n++;
                }
        return n == 1 ? unknown : -1;
}

/* What follows from the shapes, one unknown size after another; what fits no size stays open, and is refused then. */
static void infer_sizes(Against *v)
{
        for (bool found = true; found;) {
                found = false;
                for (int i = 0; i < v->n; i++) {
                        const Record *r = &v->record[i];
                        for (int a = 0; a < r->type->rank && r->type->rank == r->given->rank; a++) {
                                Dim d = r->type->dim[a];
                                int k = one_unknown(v, d);
                                int64_t rest = k < 0 ? 0 : r->given->shape[a] - dim_value(d, v->size);
                                if (k < 0 || rest <= 0 || rest % d.per[k] != 0)
                                        continue;
                                v->size[k] = rest / d.per[k];
                                found = true;
                        }
                }
        }
}

static bool check_shape(const Against *v, const Record *r)
{
        const Graph *g = v->m.graph;
        int64_t want[MAX_RANK];
        bool fits = r->type->rank == r->given->rank;
        for (int a = 0; a < r->type->rank; a++) {
                want[a] = dim_value(r->type->dim[a], v->size);
                fits = fits && want[a] == r->given->shape[a];
        }
        if (fits)
                return true;
        const char *type = type_text(g->arena, g, r->type),
                   *shape = shape_text(g->arena, r->type->rank, want);
        return wrong(v, "%s has shape %s in the file and %s%s%s in the model", r->given->name,
                     shape_text(g->arena, r->given->rank, r->given->shape), type,
                     strcmp(type, shape) != 0 ? " = " : "", strcmp(type, shape) != 0 ? shape : "");
}

static bool check_shapes(Against *v)
{
        const Graph *g = v->m.graph;
        infer_sizes(v);
        for (int k = 0; k < g->nnamed; k++)
                if (v->size[k] == 0)
                        v->size[k] = 1; /* nothing in the file tells */
        for (int i = 0; i < v->n; i++)
                if (!check_shape(v, &v->record[i]))
                        return false;
        return true;
}

/* --- comparing -------------------------------------------------------------------------------------------------------- */

static const char *place_text(Arena *a, const CkTensor *t, int64_t at)
{
        int64_t index[CK_MAX_RANK];
        for (int k = t->rank - 1; k >= 0; k--) {
                index[k] = at % t->shape[k];
                at /= t->shape[k];
        }
        return shape_text(a, t->rank, index);
}

static double difference(double found, double expected)
{
        if (found == expected)
                return 0;
        double d = fabs(found - expected);
        return isfinite(d) ? d : INFINITY;
}

/* What was found of one tensor: as doubles or, if that is NULL, as floats. */
typedef struct {
        const double *wide;
        const float *narrow;
        OutputShape shape;
        bool hides; /* elements in columns after their row's position */
} Found;

static double found_at(const Found *f, int64_t i)
{
        return f->wide ? f->wide[i] : (double)f->narrow[i];
}

/* The largest difference, relative to the largest finite value, and where it is. */
static double largest_error(const Record *r, const Found *f, int64_t *at)
{
        double most = 0, scale = 0;
        *at = 0;
        for (int64_t i = 0; i < r->given->count; i++) {
                double size = fabs(r->value[i]), d = difference(found_at(f, i), r->value[i]);
                if (f->hides && is_later(&f->shape, i))
                        continue;
                if (d > most) {
                        most = d;
                        *at = i;
                }
                scale = isfinite(size) && size > scale ? size : scale;
        }
        return most == 0 ? 0 : most / (scale > 0 ? scale : 1);
}

typedef struct {
        int name, shape; /* columns of the table */
        double bound;
} Table;

static void print_line(Against *v, const Table *table, const Record *r, const Found *f)
{
        Arena *a = &v->m.arena;
        const CkTensor *t = r->given;
        int64_t at;
        double error = largest_error(r, f, &at);
        bool good = error <= table->bound;
        v->failed |= !good;
        printf("%-*s  %-*s  ", table->name, t->name, table->shape, shape_text(a, t->rank, t->shape));
        if (error == 0)
                printf("0\n");
        else
                printf("%.1e  %s%s", error, place_text(a, t, at), good ? "\n" : "");
        if (!good)
                printf("  FAIL: more than %g: %.9g where the file has %.9g\n", table->bound, found_at(f, at),
                       r->value[at]);
        fflush(stdout);
}

/* Outputs of v->m.graph, as doubles or as floats. */
static void print_table(Against *v, const char *what, const Tensor *wide, float *const *narrow, double bound)
{
        const Graph *g = v->m.graph;
        Table table = {.bound = bound};
        for (int i = g->ninput; i < v->n; i++) {
                const CkTensor *t = v->record[i].given;
                int name = (int)strlen(t->name), shape = (int)strlen(shape_text(g->arena, t->rank, t->shape));
                table.name = name > table.name ? name : table.name;
                table.shape = shape > table.shape ? shape : table.shape;
        }
        printf("%s\n", what);
        for (int i = g->ninput; i < v->n; i++) {
                const Record *r = &v->record[i];
                const Output *o = &g->output[r->output];
                Found f = {.shape = output_shape(g, &o->node->type, v->size), .hides = isnan(o->later)};
                f.wide = wide ? wide[r->output].data : NULL;
                f.narrow = narrow ? narrow[r->output] : NULL;
                print_line(v, &table, r, &f);
        }
}

/* --- the command ------------------------------------------------------------------------------------------------------- */

static Tensor *inputs_of(Against *v)
{
        Tensor *input = NEW_ARRAY(&v->m.arena, Tensor, v->m.graph->ninput);
        for (int i = 0; i < v->m.graph->ninput; i++) {
                const Record *r = &v->record[i];
                input[i] = (Tensor){.rank = r->given->rank, .data = r->value};
                for (int a = 0; a < input[i].rank; a++)
                        input[i].dim[a] = r->given->shape[a];
        }
        return input;
}

static void print_heading(const Against *v)
{
        printf("%s", v->m.graph->name);
        for (int i = 0; i < v->m.graph->nnamed; i++)
                printf("%s%s = %" PRId64, i ? ", " : ": ", v->m.graph->named[i].name, v->size[i]);
        printf("\n");
        fflush(stdout);
}

static bool interpret_against(Against *v)
{
        Graph *g = v->m.graph;
        Checkpoint *checkpoint;
        WeightSource source = {open_weights(&v->m, v->o, &checkpoint), weights_read};
        Tensor *output = NEW_ARRAY(&v->m.arena, Tensor, g->noutput);
        const char *why = source.from ? interpret(g, v->size, inputs_of(v), &source, NULL, output) : NULL;
        v->m.lacking |= lacks_memory(why);
        if (why)
                fprintf(stderr, "lathe verify: the interpreter: %s\n", why);
        else if (source.from)
                print_table(v, "interpreted", output, NULL,
                            v->o->bound > 0 ? v->o->bound : interpreted_bound);
        for (int i = 0; i < g->noutput; i++)
                tensor_free(&output[i]);
        checkpoint_close(checkpoint);
        return source.from && !why;
}

/* The graph once more, through its passes, with the same outputs. */
static bool graph_for_code(Against *v)
{
        const char *why;
        if (!model_elaborate(&v->m, v->o, v->o->model))
                return false;
        for (int i = 0; i < v->n; i++)
                if (v->record[i].output >= 0)
                        tap_add(v->m.graph, v->record[i].given->name, &why);
        return model_passes(&v->m, v->o);
}

static void print_target(Against *v, const Target *target, bool jit, const Trial *t)
{
        double bound = v->o->bound > compiled_bound ? v->o->bound : compiled_bound;
        const char *how = jit ? "compiled, %s, just in time" : "compiled, %s";
        print_table(v, arena_printf(&v->m.arena, how, target->name), NULL, t->output, bound);
        if (t->run < 0)
                return;
        v->failed = true;
        printf("FAIL: %s[%" PRId64 "] is %a, and %a if the model is called another way\n",
               v->m.graph->output[t->at_output].name, t->at, (double)t->one, (double)t->other);
}

/* jit: through libtcc in this process, else built by the system's compiler. */
static bool compile_against(Against *v, const Target *target, bool jit)
{
        Checkpoint *checkpoint = NULL;
        Trial t = {.size = v->size, .input = inputs_of(v)};
        char *folder = jit ? NULL : trial_folder();
        bool good = (folder || jit) && graph_for_code(v);
        if (good) {
                Graph *g = v->m.graph;
                WeightSource source = {open_weights(&v->m, v->o, &checkpoint), weights_read};
                t.sequential = is_sequential(g, v->size);
                t.output = NEW_ARRAY(&v->m.arena, float *, g->noutput);
                Plan *plan = source.from ? model_plan(&v->m, v->o, target) : NULL;
                good = plan && (jit ? trial_jit(plan, &source, &t) : trial(plan, folder, &source, &t));
        }
        if (good)
                print_target(v, target, jit, &t);
        for (int i = 0; t.output && i < v->m.graph->noutput; i++)
                free(t.output[i]);
        checkpoint_close(checkpoint);
        trial_remove(folder);
        return good;
}

static bool target_against(Against *v, const Target *target)
{
        bool by_cc = v->o->jit != JIT_TCC, by_tcc = v->o->jit != JIT_CC && trial_jit_runs(target);
        return (!by_cc || compile_against(v, target, false)) && (!by_tcc || compile_against(v, target, true));
}

static int compare_with(Against *v)
{
        const Target *target[MAX_TARGETS];
        int n = choose_targets(&v->m.arena, v->o, target);
        if (n < 0)
                return WRONG_ENVIRONMENT;
        print_heading(v);
        if (!interpret_against(v))
                return failure_code(&v->m);
        for (int i = 0; i < n; i++)
                if (!target_against(v, target[i]))
                        return WRONG_ENVIRONMENT;
        return v->failed ? WRONG_INPUT : DONE;
}

int verify_against(const Options *o)
{
        Against v = {.o = o};
        int code;
        if (model_load(&v.m, o, &code)) {
                bool good = read_file(&v) && check_shapes(&v);
                code = good ? compare_with(&v) : failure_code(&v.m);
        }
        for (int i = 0; i < v.n; i++)
                free(v.record[i].value);
        checkpoint_close(v.file);
        model_free(&v.m);
        return code;
}
