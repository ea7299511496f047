/* Compiles and calls one variant of a model.  The emitted file is included by an adapter whose functions have the same types
 * for every model, so that one process can load them all. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include "variant.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check/check.h"

/* --- compiling ---------------------------------------------------------------------------------------------------- */

/* Whether an input has the size: of the group, or of any that is fed separately. */
static bool has_size(const Graph *g, int group, int size)
{
        for (int i = 0; i < g->ninput; i++) {
                const Input *in = &g->input[i];
                for (int k = 0; k < in->type.rank && is_fed_separately(g, in->group); k++)
                        if (in->type.dim[k].per[size] && (group < 0 || in->group == group))
                                return true;
        }
        return false;
}

/* What is fed separately, in front of the first call. */
static void add_feeds(const Graph *g, const char *name, Text *t)
{
        for (int i = 0; i < g->ninput; i++) {
                int group = g->input[i].group;
                if (!is_fed_separately(g, group) || (i > 0 && g->input[i - 1].group == group))
                        continue;
                text_printf(t, "        int error_%d = ", i);
                if (g->past >= 0)
                        text_printf(t, "%s_position(m) ? 0 : ", name);
                text_printf(t, "%s_feed_%s(m", name, g->input[i].group_name);
                for (int d = 0; d < g->nnamed; d++)
                        if (has_size(g, group, d))
                                text_printf(t, ", size[%d]", d);
                for (int k = i; k < g->ninput && g->input[k].group == group; k++)
                        text_printf(t, ", input[%d]", k);
                text_printf(t, ");\n        if (error_%d)\n                return error_%d;\n", i, i);
        }
}

/* int call(void *model, const int64_t *size, void *const *input, int64_t n, float *const *output), and its like */
static const char *adapter(Arena *a, const Plan *p)
{
        const Graph *g = p->graph;
        const char *name = p->c_name;
        Text *t = text_new(a);
        text_printf(
                t,
                "#include \"model.c\"\nvoid *variant_create(const char *weights, int threads, int *error);\n"
                "void *variant_create(const char *weights, int threads, int *error)\n{\n        return "
                "%s_new(weights, threads, "
                "error);\n}\n",
                name);
        text_printf(
                t,
                "void variant_destroy(void *m);\nvoid variant_destroy(void *m)\n{\n        %s_free(m);\n}\n",
                name);
        text_printf(t,
                    "const char *variant_error(int code);\nconst char *variant_error(int code)\n{\n        "
                    "return %s_error(code);\n}\n",
                    name);
        text_printf(
                t,
                "int variant_call(void *m, const int64_t *size, void *const *input, int64_t n, float *const "
                "*output);\n"
                "int variant_call(void *m, const int64_t *size, void *const *input, int64_t n, float *const "
                "*output)\n{\n"
                "        (void)size;\n        (void)input;\n        (void)n;\n");
        add_feeds(g, name, t);
        text_printf(t, "        return %s_forward(m", name);
        for (int i = 0; i < g->nnamed; i++)
                if ((g->past < 0 || (i != g->time && i != g->past)) && !has_size(g, -1, i))
                        text_printf(t, ", size[%d]", i);
        for (int i = 0; i < g->ninput; i++)
                if (!is_fed_separately(g, g->input[i].group))
                        text_printf(t, ", input[%d]", i);
        text_printf(t, g->past >= 0 ? ", n" : "");
        for (int i = 0; i < g->noutput; i++)
                text_printf(t, ", output[%d]", i);
        text_printf(t, ");\n}\n");
        return t->data;
}

static bool write_variant(Variant *v, Model *m, const CommandOptions *o, const char *folder)
{
        Arena *a = &m->arena;
        EmitOptions options = {.name = "model"};
        Checkpoint *none;
        Weights *weights = open_weights(m, o, &none);
        Text *c = text_new(a), *h = text_new(a);
        emit(v->plan, &options, c, h);
        const char *text = adapter(a, v->plan);
        v->weights = arena_printf(a, "%s/model.weights", folder);
        bool good = weights && write_weights(v->weights, v->plan, weights);
        if (!good)
                printf("MISTAKEN: %s: no weights\n", v->way->name);
        return good && write_file(arena_printf(a, "%s/model.c", folder), c->data, c->n) &&
               write_file(arena_printf(a, "%s/model.h", folder), h->data, h->n) &&
               write_file(arena_printf(a, "%s/adapter.c", folder), text, (int64_t)strlen(text));
}

static bool load(Variant *v, const char *path)
{
        v->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (!v->library) {
                printf("MISTAKEN: %s: %s\n", v->way->name, dlerror());
                return false;
        }
        *(void **)&v->create = dlsym(v->library, "variant_create");
        *(void **)&v->destroy = dlsym(v->library, "variant_destroy");
        *(void **)&v->call = dlsym(v->library, "variant_call");
        *(void **)&v->error = dlsym(v->library, "variant_error");
        return v->create && v->destroy && v->call && v->error;
}

bool variant_open(Variant *v, Model *m, const CommandOptions *options, const Way *way, const char *folder)
{
        static int number; /* a library's path must be new to be loaded anew */
        CommandOptions o = *options;
        *v = (Variant){.way = way};
        o.chunk = way->chunk;
        int pass = 0;
        while (way->off && pass < PASS_COUNT && strcmp(pass_table[pass].name, way->off))
                pass++;
        if (pass == PASS_COUNT) {
                printf("MISTAKEN: %s: no such pass\n", way->name);
                return false;
        }
        if (way->off)
                o.off[pass] = true;
        if (!model_elaborate(m, &o, o.model) || !model_passes(m, &o))
                return false;
        v->plan = model_plan(m, &o, target_find(way->target));
        if (!v->plan)
                return false;
        v->graph = m->graph;
        v->causal = m->graph->past >= 0;
        if (!write_variant(v, m, &o, folder))
                return false;
        const char *path = arena_printf(&m->arena, "%s/%d.so", folder, number++);
        const char *command = arena_printf(&m->arena,
                                           "cd %s && %s -std=c11 -shared -fPIC adapter.c -o %s -lpthread "
                                           "2>log || { sed 5q log; exit 1; }",
                                           folder, way->compiler, path);
        fflush(stdout);
        if (system(command)) {
                printf("MISTAKEN: %s: what was emitted does not compile\n", way->name);
                return false;
        }
        bool loaded = load(v, path);
        unlink(path);
        return loaded;
}

void variant_close(Variant *v)
{
        if (v->library)
                dlclose(v->library);
        v->library = NULL;
}

/* --- tensors ------------------------------------------------------------------------------------------------------ */

int64_t elements_of(const Tensors *t, const Type *type)
{
        return type_count(type, t->size);
}

int64_t rows_of(const Tensors *t, const Type *type)
{
        return grows(t->graph, type) ? dim_value(type->dim[0], t->size) : 1;
}

/* n numbers of four bytes that end where a page begins which may not be touched. */
static void *guarded(int64_t n)
{
        size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = (size_t)n * 4,
               whole = (bytes + page - 1) / page * page;
        char *at = mmap(NULL, whole + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (at == MAP_FAILED || mprotect(at + whole, page, PROT_NONE)) {
                perror("mmap");
                exit(3);
        }
        return at + whole - bytes;
}

static void release(void *numbers, int64_t n)
{
        size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = (size_t)n * 4,
               whole = (bytes + page - 1) / page * page;
        munmap((char *)numbers + bytes - whole, whole + page);
}

static double spoil(const Input *in, double value, double poison)
{
        if (in->bound)
                return fmod(value + 1 + floor(fabs(isfinite(poison) ? poison : 2)), (double)in->bound);
        return isfinite(poison) ? value * poison + 0.5 : poison;
}

Tensors tensors_new(const Graph *g, const int64_t *size, const Tensor *input, int64_t spoilt, double poison)
{
        Tensors t = {.graph = g, .unwanted = -1};
        memcpy(t.size, size, sizeof t.size);
        t.input = NEW_ARRAY(g->arena, void *, g->ninput);
        t.output = NEW_ARRAY(g->arena, float *, g->noutput);
        for (int i = 0; i < g->ninput; i++) {
                const Input *in = &g->input[i];
                int64_t n = elements_of(&t, &in->type),
                        from = grows(g, &in->type) ? n / rows_of(&t, &in->type) * spoilt : n;
                t.input[i] = guarded(n);
                for (int64_t k = 0; k < n; k++) {
                        double x = k < from ? input[i].data[k] : spoil(in, input[i].data[k], poison);
                        if (in->type.dtype == REAL)
                                ((float *)t.input[i])[k] = (float)x;
                        else
                                ((int32_t *)t.input[i])[k] = (int32_t)x;
                }
        }
        for (int i = 0; i < g->noutput; i++) {
                int64_t n = elements_of(&t, &g->output[i].node->type);
                t.output[i] = guarded(n);
                memset(t.output[i], 0xff, (size_t)n * sizeof(float));
        }
        return t;
}

void tensors_free(Tensors *t)
{
        for (int i = 0; i < t->graph->ninput; i++)
                release(t->input[i], elements_of(t, &t->graph->input[i].type));
        for (int i = 0; i < t->graph->noutput; i++)
                release(t->output[i], elements_of(t, &t->graph->output[i].node->type));
}

/* --- calling ------------------------------------------------------------------------------------------------------ */

/* One call, for positions at .. at + n - 1. */
static int call_piece(const Variant *v, void *model, int64_t at, int64_t n, const Tensors *t)
{
        const Graph *g = t->graph;
        void *input[64];
        float *output[64];
        for (int i = 0; i < g->ninput; i++) {
                const Type *type = &g->input[i].type;
                int64_t row = elements_of(t, type) / rows_of(t, type);
                input[i] = (char *)t->input[i] + (grows(g, type) ? 4 * at * row : 0);
        }
        for (int i = 0; i < g->noutput; i++) {
                const Type *type = &g->output[i].node->type;
                int64_t row = elements_of(t, type) / rows_of(t, type);
                output[i] = i == t->unwanted ? NULL : t->output[i] + (grows(g, type) ? at * row : 0);
        }
        return v->call(model, t->size, input, n, output);
}

const char *variant_run(const Variant *v, int threads, int64_t piece, Tensors *t)
{
        int error = 0;
        void *model = v->create(v->weights, threads, &error);
        if (!model)
                return v->error(error);
        int64_t n = v->causal ? t->size[t->graph->time] : 1;
        for (int64_t at = 0; at < n && !error; at += piece)
                error = call_piece(v, model, at, at + piece < n ? piece : n - at, t);
        v->destroy(model);
        return error ? v->error(error) : NULL;
}
