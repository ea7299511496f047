/* The packed weights of a plan: from a packed file, from the cache of a source, or packed now.
 *
 * The packed weights of a source are cached in a file beside it, or in the user's cache folder, one for each
 * target.  Its key identifies the model and everything that changes its layout, the files of the source by
 * inode, size and time, and this program. It is written to a temporary file and renamed: two processes may
 * pack it twice, but neither reads an incomplete file. */
#define _XOPEN_SOURCE 700 /* realpath */
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "driver.h"

enum { MIN_KEPT = 8 << 20 }; /* bytes; fewer are packed quickly */

static uint64_t hash_text(uint64_t h, const char *text)
{
        return hash_bytes(h, text, strlen(text) + 1);
}

/* Hashes the lines of a model file except comments, since a converted one has its source's path in a
 * comment. */
static uint64_t hash_lines(uint64_t h, const char *text)
{
        for (size_t n; *text; text += n) {
                n = strcspn(text, "\n");
                n += text[n] == '\n';
                if (text[strspn(text, " \t")] != '#')
                        h = hash_bytes(h, text, n);
        }
        return h;
}

/* The model's files, including the library's, and the command's overrides. */
uint64_t hash_model(uint64_t h, const Model *m, const CommandOptions *o)
{
        for (int i = 0; i < program_files(m->program); i++)
                h = hash_lines(h, program_file(m->program, i)->text);
        h = hash_text(h, m->graph->name);
        for (int i = 0; i < o->noverride; i++)
                h = hash_text(hash_text(h, o->override[i].name), o->override[i].value);
        return hash_bytes(h, o->off, sizeof o->off);
}

uint64_t hash_calibration(uint64_t h, const CommandOptions *o)
{
        if (!o->calibrate)
                return h;
        h = hash_file_identity(h, o->calibrate);
        return o->tokenizer ? hash_file_identity(h, o->tokenizer) : h;
}

uint64_t hash_adapters(uint64_t h, const CommandOptions *o)
{
        for (int i = 0; i < o->nadapter; i++) {
                const CkAdapter *a = &o->adapter[i];
                char *whole = realpath(a->path, NULL);
                h = hash_bytes(hash_text(h, whole ? whole : a->path), &a->scale, sizeof a->scale);
                free(whole);
        }
        return h;
}

/* Weights changed by adapters have a file of their own, so that none is written again when adapters change. */
static const char *packed_name(Arena *a, const CommandOptions *o, const char *model, const char *target)
{
        if (!o->nadapter)
                return arena_printf(a, "%s.%s.packed", model, target);
        return arena_printf(a, "%s.%s.lora-%08x.packed", model, target,
                            (unsigned)(hash_adapters(HASH_START, o) >> 32));
}

/* 0: no key. */
static uint64_t packed_key(const Model *m, const CommandOptions *o, const Plan *p,
                           const Checkpoint *checkpoint)
{
        uint64_t h = hash_model(hash_lathe(HASH_START), m, o), layout = layout_hash(p);
        h = hash_text(hash_bytes(h, &layout, sizeof layout), p->target->name);
        const CkFile *file;
        for (int i = 0; (file = checkpoint_file(checkpoint, i)); i++)
                h = hash_file_identity(h, file->path);
        h = hash_adapters(o->quant ? hash_calibration(h, o) : h, o);
        return h ? h : 1;
}

/* ---- kept ---- */

static const char *packed_keep(Model *m, const CommandOptions *o, Plan *p, const char *path, uint64_t key)
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
                        error = "it can't be renamed";
        }
        checkpoint_close(checkpoint);
        if (w && !error)
                fprintf(stderr,
                        "lathe: note: packed weights, %.0f MB, are stored in %s for the next start (--cache "
                        "off: they are not)\n",
                        1e-6 * (double)p->bytes.weights, path);
        return error;
}

/* Whether the packed file can be cached: for the requested target, or this machine's.  Taps or disabled
 * passes must not replace other files. */
static bool may_keep(const CommandOptions *o, const Plan *p, const char *path)
{
        bool plain = true;
        for (int i = 0; i < p->graph->noutput; i++)
                plain = plain && !p->graph->output[i].tap;
        for (int i = 0; i < PASS_COUNT; i++)
                plain = plain && !o->off[i];
        bool meant = o->target.n ? o->target.n == 1 : p->target == target_find("native");
        return meant && (plain || access(path, F_OK) != 0);
}

/* Starts the check of an open file; wait: and waits for it.  The file is closed if it is damaged. */
static const char *check_file(const char *path, const Plan *p, PackedFile *file, bool wait)
{
        packed_check_begin(file);
        const char *error = wait ? packed_file_check(path, p->graph->arena, file) : NULL;
        if (error)
                packed_file_close(file);
        return error;
}

/* Path of the cached file, and *key.  NULL: no cache, or m has messages. */
static const char *path_of_kept(Model *m, const CommandOptions *o, const Plan *p, uint64_t *key)
{
        CkError wrong;
        const char *path =
                p->bytes.weights < MIN_KEPT
                        ? NULL
                        : kept_path(&m->arena, o, packed_name(&m->arena, o, m->graph->name, p->target->name));
        Checkpoint *checkpoint = path ? open_checkpoint(o, &wrong) : NULL;
        *key = checkpoint ? packed_key(m, o, p, checkpoint) : 0;
        checkpoint_close(checkpoint);
        return *key ? path : NULL;
}

static bool packed_open_kept(Model *m, const CommandOptions *o, Plan *p, PackedWeights *packed, bool wait)
{
        uint64_t key;
        *packed = (PackedWeights){.code = DONE};
        const char *path = o->weights && o->source.path ? path_of_kept(m, o, p, &key) : NULL;
        if (!path)
                return false;
        const char *error = packed_file_open(path, p, key, &packed->file);
        if (!error && (error = check_file(path, p, &packed->file, wait)))
                fprintf(stderr, "lathe: note: %s; the weights are packed again\n", error);
        if (error && !may_keep(o, p, path))
                return false;
        if (error) {
                error = packed_keep(m, o, p, path, key);
                if (m->diag.count || m->env_error)
                        return false;
                if (!error)
                        error = packed_file_open(path, p, key, &packed->file);
                if (!error)
                        error = check_file(path, p, &packed->file, wait);
        }
        if (error)
                fprintf(stderr, "lathe: note: %s: the packed weights can't be stored: %s\n", path, error);
        packed->weights = packed->file.weights;
        return !error;
}

bool packed_weights_kept(Model *m, const CommandOptions *o, Plan *p, PackedWeights *packed)
{
        return packed_open_kept(m, o, p, packed, true);
}

/* ---- all ways ---- */

static const char *pack_now(Model *m, const CommandOptions *o, Plan *p, PackedWeights *packed)
{
        Checkpoint *checkpoint;
        Weights *w = open_weights(m, o, &checkpoint);
        const char *error = NULL;
        const int64_t left = memory_available();
        if (w && p->bytes.weights > left)
                error = arena_printf(p->graph->arena,
                                     "out of memory: the weights of %s take %.1f GB, and %.1f GB are free",
                                     p->graph->name, 1e-9 * (double)p->bytes.weights, 1e-9 * (double)left);
        else if (w) {
                packed->pool = pool_new();
                error = packed->pool ? pool_fit(packed->pool, p, w, 1, &packed->weights) : no_memory;
        }
        checkpoint_close(checkpoint);
        packed->code = !w               ? failure_code(m)
                       : !error         ? DONE
                       : weights_why(w) ? WRONG_INPUT
                                        : WRONG_ENVIRONMENT;
        return error;
}

void packed_weights_begin(const CommandOptions *o, PackedWeights *packed)
{
        *packed = (PackedWeights){.code = DONE};
        if (!o->weights || o->quant || o->nadapter)
                return;
        packed_file_begin(o->weights, &packed->file);
        packed_check_begin(&packed->file);
}

/* Opens a packed file of the options. */
static const char *open_named(Model *m, const CommandOptions *o, Plan *p, PackedWeights *packed, bool wait)
{
        packed->code = WRONG_USAGE;
        if (o->quant || o->nadapter)
                return arena_printf(&m->arena, "%s is already packed, and --%s applies before packing",
                                    o->weights, o->quant ? "quant" : "lora");
        const char *error = packed_file_open(o->weights, p, 0, &packed->file);
        if (!error && (error = check_file(o->weights, p, &packed->file, wait)))
                error = arena_printf(&m->arena, "%s; `lathe build` with the same options packs it again",
                                     error);
        packed->weights = packed->file.weights;
        packed->code = !error ? DONE : packed->file.env_error ? WRONG_ENVIRONMENT : WRONG_INPUT;
        return error;
}

static const char *open_packed(Model *m, const CommandOptions *o, Plan *p, PackedWeights *packed, bool wait)
{
        const char *why = NULL;
        packed->code = DONE;
        if (o->weights && is_packed_file(o->weights, &why))
                return open_named(m, o, p, packed, wait);
        if (why) {
                packed->code = WRONG_ENVIRONMENT;
                return arena_printf(&m->arena, "%s: cannot open: %s", o->weights, why);
        }
        if (packed_open_kept(m, o, p, packed, wait))
                return NULL;
        packed->code = failure_code(m);
        return m->diag.count || m->env_error ? NULL : pack_now(m, o, p, packed);
}

const char *packed_weights(Model *m, const CommandOptions *o, Plan *p, PackedWeights *packed)
{
        return open_packed(m, o, p, packed, true);
}

const char *packed_weights_unchecked(Model *m, const CommandOptions *o, Plan *p, PackedWeights *packed)
{
        return open_packed(m, o, p, packed, false);
}

const char *packed_weights_check(Model *m, const CommandOptions *o, Plan *p, PackedWeights *packed,
                                 bool *changed)
{
        *changed = packed_file_check("", &m->arena, &packed->file) != NULL;
        if (!*changed)
                return NULL;
        packed_file_close(&packed->file);
        return packed_weights(m, o, p, packed);
}

bool cache_has_effect(const CommandOptions *o, const char *command)
{
        if (!o->cache || (o->source.path && o->weights))
                return true;
        fprintf(stderr,
                "lathe %s: --cache has no effect: only results for published models are stored, and %s %s; "
                "see "
                "`lathe help %.*s`\n",
                command, o->source.path ? o->source.path : o->file[0],
                o->source.path ? "has no weights" : "is a model file", (int)strcspn(command, " "), command);
        return false;
}

void packed_weights_close(PackedWeights *packed)
{
        packed_file_close(&packed->file);
        pool_free(packed->pool);
        *packed = (PackedWeights){0};
}
