/* lathe weights: a model's weights under their published names, by hash or from a checkpoint. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "commands_private.h"

static CkType type_named(const char *name)
{
        static const struct {
                const char *name;
                CkType type;
        } types[] = {{"f32", CK_F32}, {"f16", CK_F16}, {"bf16", CK_BF16}};
        for (size_t i = 0; i < sizeof types / sizeof *types; i++)
                if (!name || !strcasecmp(name, types[i].name))
                        return types[i].type;
        return CK_TYPE_COUNT;
}

static int write_published(Model *m, const Options *o)
{
        Checkpoint *checkpoint = NULL;
        CkError error;
        bool mapped = weights_check(m->graph, &m->diag);
        diag_print(&m->diag, stderr);
        Weights *weights = mapped ? open_weights(m, o, &checkpoint) : NULL;
        int code = failure_code(m);
        if (weights) {
                bool written = weights_write(m->graph, weights, o->out, type_named(o->quant), &error);
                if (!written)
                        fprintf(stderr, "lathe: %s\n", error.message);
                code = written ? DONE : WRONG_ENVIRONMENT;
        }
        checkpoint_close(checkpoint);
        return code;
}

int weights_command(const Options *o)
{
        if (!o->out) {
                fprintf(stderr, "lathe weights: wants -o FILE; `lathe help weights` says more\n");
                return WRONG_USAGE;
        }
        if (!strcmp(o->out, "-")) {
                fprintf(stderr, "lathe weights: a checkpoint is written to a file, not to standard output\n");
                return WRONG_USAGE;
        }
        if (o->quant && strpbrk(o->quant, ",=")) {
                fprintf(stderr, "lathe weights: --quant is one type here, of all tensors that are written\n");
                return WRONG_USAGE;
        }
        if (o->quant && type_named(o->quant) == CK_TYPE_COUNT) {
                fprintf(stderr,
                        "lathe weights: --quant is f32, f16 or bf16 here: the types of safetensors\n");
                return WRONG_USAGE;
        }
        Model m;
        int code;
        if (model_load(&m, o, &code))
                code = write_published(&m, o);
        model_free(&m);
        return code;
}
