/* lathe weights: a model's weights under their published names, from hashes or a checkpoint; or the packed
 * weights that one rank reads. */
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

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

static int write_published(Model *m, const CommandOptions *o)
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
                code = written ? DONE : error.environment ? WRONG_ENVIRONMENT : WRONG_INPUT;
        }
        checkpoint_close(checkpoint);
        return code;
}

/* For a model with ranks: writes one rank's share of a packed file. */
static int write_share(Model *m, const CommandOptions *o)
{
        PackedFile whole = {0};
        Plan *p = model_passes(m, o) ? model_plan(m, o, chosen_target(o)) : NULL;
        if (!p)
                return failure_code(m);
        const char *error = packed_file_open(o->weights, p, 0, &whole);
        if (!error)
                error = packed_file_check(o->weights, &m->arena, &whole);
        const bool env_error = whole.env_error;
        WrittenFile file;
        if (!error)
                output_rank_file(&file, o->out, p, &whole, o->ranks.place);
        packed_file_close(&whole);
        if (error)
                fprintf(stderr, "lathe: %s\n", error);
        return error                     ? env_error ? WRONG_ENVIRONMENT : WRONG_INPUT
               : output_finish(&file, 1) ? DONE
                                         : WRONG_ENVIRONMENT;
}

static bool is_same_file(const char *one, const char *other)
{
        struct stat a, b;
        return !stat(one, &a) && !stat(other, &b) && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

static int share_command(const CommandOptions *o)
{
        const char *why;
        if (is_same_file(o->weights, o->out)) {
                fprintf(stderr, "lathe weights: -o %s is the whole weight file, which other ranks need\n",
                        o->out);
                return WRONG_USAGE;
        }
        if (!is_packed_file(o->weights, &why)) {
                fprintf(stderr,
                        "lathe weights: --rank cuts the share out of a weight file of `lathe build "
                        "--ranked`, and %s %s%s\n",
                        o->weights, why ? "can't be opened: " : "is none", why ? why : "");
                return why ? WRONG_ENVIRONMENT : WRONG_INPUT;
        }
        Model m;
        int code;
        CommandOptions ranked = *o;
        ranked.given[OPT_RANKED] = 1;
        if (model_load(&m, &ranked, &code))
                code = write_share(&m, &ranked);
        model_free(&m);
        return code;
}

int weights_command(const CommandOptions *o)
{
        if (!o->out) {
                fprintf(stderr, "lathe weights: needs -o FILE; see `lathe help weights`\n");
                return WRONG_USAGE;
        }
        if (!strcmp(o->out, "-")) {
                fprintf(stderr, "lathe weights: weights are written to a file, not to standard output\n");
                return WRONG_USAGE;
        }
        if (o->quant && strpbrk(o->quant, ",=")) {
                fprintf(stderr,
                        "lathe weights: --quant must be one type here, for all tensors that are written\n");
                return WRONG_USAGE;
        }
        if (o->quant && type_named(o->quant) == CK_TYPE_COUNT) {
                fprintf(stderr,
                        "lathe weights: --quant must be f32, f16 or bf16 here: the types of safetensors\n");
                return WRONG_USAGE;
        }
        if (o->ranks.place.ranks)
                return share_command(o);
        Model m;
        int code;
        if (model_load(&m, o, &code))
                code = write_published(&m, o);
        model_free(&m);
        return code;
}
