/* The weights of a plan, packed: a file that was packed before, a source's kept from an earlier start, or packed now.
 *
 * What a source's weights became is kept as a file beside it, or in the user's folder of such files, one for each target.  Its key says
 * what it was made of: the model and all that changes its layout, the files of the source by name, size and time, and this program.
 * It is written aside and renamed: two processes at once pack it twice, and neither sees half of it. */
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "driver.h"

enum { LEAST_KEPT = 8 << 20 }; /* bytes: less is packed in no time */

static uint64_t hash_text(uint64_t h, const char *text)
{
        return hash_bytes(h, text, strlen(text) + 1);
}

/* The model's files, the library's among them, and what the command says instead. */
uint64_t hash_model(uint64_t h, const Model *m, const Options *o)
{
        for (int i = 0; i < program_files(m->program); i++)
                h = hash_text(h, program_file(m->program, i)->text);
        h = hash_text(h, m->graph->name);
        for (int i = 0; i < o->noverride; i++)
                h = hash_text(hash_text(h, o->override[i].name), o->override[i].value);
        return hash_bytes(h, o->off, sizeof o->off);
}

uint64_t hash_file_named(uint64_t h, const char *path)
{
        return path ? hash_file_identity(hash_text(h, path), path) : h;
}

uint64_t hash_calibration(uint64_t h, const Options *o)
{
        return o->calibrate ? hash_file_named(hash_file_named(h, o->calibrate), o->tokenizer) : h;
}

/* 0: there is none. */
static uint64_t key_of(const Model *m, const Options *o, const Plan *p, const Checkpoint *checkpoint)
{
        uint64_t h = hash_model(hash_lathe(HASH_START), m, o), layout = layout_hash(p);
        h = hash_text(hash_bytes(h, &layout, sizeof layout), p->target->name);
        const CkFile *file;
        for (int i = 0; (file = checkpoint_file(checkpoint, i)); i++)
                h = hash_file_named(h, file->path);
        h = o->quant ? hash_calibration(h, o) : h;
        return h ? h : 1;
}

/* ---- kept ---- */

static const char *keep(Model *m, const Options *o, Plan *p, const char *path, uint64_t key)
{
        Checkpoint *checkpoint;
        WrittenFile file;
        Weights *w = open_weights(m, o, &checkpoint);
        const char *error = NULL;
        if (w) {
                output_weights(&file, path, p, w, &(WeightTail){.size = 0}, key);
                error = file.error ? arena_strdup(&m->arena, file.error) : NULL;
                if (error)
                        output_drop(&file);
                else if (!output_finish(&file, 1))
                        error = "it can't be put in its place";
        }
        checkpoint_close(checkpoint);
        if (w && !error)
                fprintf(stderr,
                        "lathe: note: packed weights, %.0f MB, are kept in %s for the next start (--cache "
                        "off: they are not)\n",
                        1e-6 * (double)p->weights_size, path);
        return error;
}

/* Of the target that was asked for, or this machine's.  What tapped values or a missing pass change takes no other's place. */
static bool may_keep(const Options *o, const Plan *p, const char *path)
{
        bool plain = true;
        for (int i = 0; i < p->graph->noutput; i++)
                plain = plain && !p->graph->output[i].tap;
        for (int i = 0; i < PASS_COUNT; i++)
                plain = plain && !o->off[i];
        bool meant = o->ntarget ? o->ntarget == 1 : p->target == target_find("native");
        return meant && (plain || access(path, F_OK) != 0);
}

bool packed_weights_kept(Model *m, const Options *o, Plan *p, PackedWeights *packed)
{
        *packed = (PackedWeights){.code = DONE};
        if (!o->weights || !o->source)
                return false;
        CkError wrong;
        const char *path =
                p->weights_size < LEAST_KEPT
                        ? NULL
                        : kept_path(&m->arena, o,
                                    arena_printf(&m->arena, "%s.%s.packed", m->graph->name, p->target->name));
        Checkpoint *checkpoint = path ? checkpoint_open(o->weights, &wrong) : NULL;
        uint64_t key = checkpoint ? key_of(m, o, p, checkpoint) : 0;
        checkpoint_close(checkpoint);
        if (!key)
                return false;
        const char *error = packed_file_open(path, p, key, &packed->file);
        if (error && !may_keep(o, p, path))
                return false;
        if (error) {
                error = keep(m, o, p, path, key);
                if (m->diag.count || m->lacking)
                        return false;
                if (!error)
                        error = packed_file_open(path, p, key, &packed->file);
        }
        if (error)
                fprintf(stderr, "lathe: note: %s: the packed weights can't be kept: %s\n", path, error);
        packed->weights = packed->file.weights;
        return !error;
}

/* ---- all ways ---- */

static const char *pack_now(Model *m, const Options *o, Plan *p, PackedWeights *packed)
{
        Checkpoint *checkpoint;
        Weights *w = open_weights(m, o, &checkpoint);
        const char *error = NULL;
        if (w) {
                packed->pool = pool_new();
                error = packed->pool ? pool_fit(packed->pool, p, w, 1, &packed->weights) : no_memory;
        }
        checkpoint_close(checkpoint);
        packed->code = error ? WRONG_ENVIRONMENT : w ? DONE : failure_code(m);
        return error;
}

void packed_weights_begin(const Options *o, PackedWeights *packed)
{
        *packed = (PackedWeights){.code = DONE};
        if (!o->weights || o->quant)
                return;
        packed_file_begin(o->weights, &packed->file);
        packed_file_touch(&packed->file);
}

const char *packed_weights(Model *m, const Options *o, Plan *p, PackedWeights *packed)
{
        const char *why = NULL;
        packed->code = DONE;
        if (o->weights && is_packed_file(o->weights, &why)) {
                packed->code = WRONG_USAGE;
                if (o->quant)
                        return arena_printf(&m->arena, "%s is packed, and --quant rounds before that",
                                            o->weights);
                const char *error = packed_file_open(o->weights, p, 0, &packed->file);
                packed->weights = packed->file.weights;
                packed->code = !error ? DONE : packed->file.lacking ? WRONG_ENVIRONMENT : WRONG_INPUT;
                return error;
        }
        if (why) {
                packed->code = WRONG_ENVIRONMENT;
                return arena_printf(&m->arena, "%s: cannot open: %s", o->weights, why);
        }
        if (packed_weights_kept(m, o, p, packed))
                return NULL;
        packed->code = failure_code(m);
        return m->diag.count || m->lacking ? NULL : pack_now(m, o, p, packed);
}

bool cache_has_effect(const Options *o, const char *command)
{
        if (!o->cache || (o->source && o->weights))
                return true;
        fprintf(stderr,
                "lathe %s: --cache has no effect: what a published model becomes is kept, and %s is a model "
                "file; `lathe help %.*s` says more\n",
                command, o->file[0], (int)strcspn(command, " "), command);
        return false;
}

void packed_weights_close(PackedWeights *packed)
{
        packed_file_close(&packed->file);
        pool_free(packed->pool);
        *packed = (PackedWeights){0};
}
