/* Makes the interpreter of programs and of Code for a plan: no compiler, the same bits.
 *
 * It locates defects of a kernel.  If only compiled code disagrees with the graph's interpreter, printing or
 * a compiler is wrong; if this interpreter disagrees too, lowering is wrong. */
#include "interpret_private.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

static void find_store_functions(Functions *run, const Target *t, Storage e)
{
        const char *store = storage_info[e].store;
        char name[40];
        if (!*store)
                return;
        run->store[e] = kernel_find(t, store);
        snprintf(name, sizeof name, "%s_n", store);
        run->store_n[e] = kernel_find(t, name);
        snprintf(name, sizeof name, "%s_strided", store);
        run->store_strided[e] = kernel_find(t, name);
}

static void find_functions(Functions *run, const Target *t)
{
        const struct {
                KernelFunction **to;
                const char *name;
        } of_both[] = {{run->set, "set1"}, {run->count, "iota"}, {run->keep, "keep"},  {run->clamp, "clamp"},
                       {run->sum, "sum"},  {run->most, "maxof"}, {run->first, "first"}};
        char name[40];
        for (size_t i = 0; i < sizeof of_both / sizeof *of_both; i++)
                for (int f64 = 0; f64 < 2; f64++) {
                        snprintf(name, sizeof name, "%c_%s", "vw"[f64], of_both[i].name);
                        of_both[i].to[f64] = kernel_find(t, name);
                }
        for (int op = 0; op < OP_COUNT; op++)
                for (int f64 = 0; f64 < 2; f64++) {
                        snprintf(name, sizeof name, "%c_%s", "vw"[f64], op_info[op].vector);
                        run->compute[op][f64] = *op_info[op].vector ? kernel_find(t, name) : NULL;
                }
        for (int e = 0; e < STORAGE_COUNT; e++) {
                const StorageInfo *info = &storage_info[e];
                if (is_in_blocks(e))
                        continue;
                run->load[e] = kernel_find(t, info->load);
                snprintf(name, sizeof name, "%s_n", info->load);
                run->load_n[e] = kernel_find(t, name);
                snprintf(name, sizeof name, "%s_strided", info->load);
                run->strided[e] = kernel_find(t, name);
                run->gather[e][0] = *info->gather ? kernel_find(t, info->gather) : NULL;
                run->gather[e][1] = kernel_find(t, info->gather_wide);
                find_store_functions(run, t, (Storage)e);
        }
        run->convert[0] = kernel_find(t, "v_of_w");
        run->convert[1] = kernel_find(t, "w_of_v");
        run->soft = kernel_find(t, "v_soft");
        run->part = kernel_find(t, "v_part");
        run->multiply_add = kernel_find(t, "v_fma");
        run->matmul = kernel_find(t, "matmul");
        run->matmul_active = kernel_find(t, "matmul_active");
        run->contract = kernel_find(t, "contract");
        run->codes = kernel_find(t, "codes_of_rows");
        run->keep_codes = kernel_find(t, "keep_codes");
        run->blocks = kernel_find(t, "matmul_blocks");
        run->block_load = kernel_find(t, "v_load_blocks");
        run->attention = kernel_find(t, "attention");
        run->attention_share = kernel_find(t, "attention_share");
        run->attention_join = kernel_find(t, "attention_join");
        run->mixed_share = kernel_find(t, "mixed_share");
        run->attention_mixed = kernel_find(t, "attention_mixed");
        run->scan = kernel_find(t, "scan");
        run->top = kernel_find(t, "top_of");
        run->chosen = kernel_find(t, "chosen_of");
        run->among = kernel_find(t, "among_of");
        run->attention_chosen = kernel_find(t, "attention_chosen");
        run->argmax = kernel_find(t, "argmax_of");
}

/* A literal's values as in memory, with padding for loads of whole vectors. */
static void *literal_values(Arena *a, const Buffer *b)
{
        const Literal *l = b->table->attr.literal;
        int64_t size = storage_elements(b->storage, b->size), n = b->slots * size + LANES;
        float *near = NEW_ARRAY(a, float, n);
        double *f64 = b->storage == STORAGE_F64 ? NEW_ARRAY(a, double, n) : NULL;
        for (int64_t t = 0; t < l->iterations; t++)
                for (int64_t i = 0; i < size && i < l->count; i++) {
                        near[t * size + i] = (float)l->value[t * l->count + i];
                        if (f64)
                                f64[t * size + i] = l->value[t * l->count + i];
                }
        return f64 ? (void *)f64 : (void *)near;
}

const char *jit_code(Plan *p, JitCode *code)
{
        Arena *a = p->graph->arena;
        *code = (JitCode){0};
        const char *lacks = lacks_kernels(a, p->target);
        if (lacks)
                return lacks;
        Interpreter *own = NEW(a, Interpreter);
        own->plan = p;
        own->vectors = 1;
        find_functions(&own->run, p->target);
        own->literal = NEW_ARRAY(a, void *, p->nbuffer);
        for (int i = 0; i < p->nbuffer; i++)
                if (p->buffer[i]->home == IN_LITERAL)
                        own->literal[p->buffer[i]->id] = literal_values(a, p->buffer[i]);
        for (int i = 0; i < p->all.n; i++)
                for (int n = 0; n < p->all.kernel[i]->code->n; n++) {
                        int vectors = p->all.kernel[i]->code->function[n]->vectors;
                        own->vectors = vectors > own->vectors ? vectors : own->vectors;
                }
        code->program = run_program;
        code->interpreter = own;
        return NULL;
}
