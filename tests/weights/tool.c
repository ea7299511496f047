/* What the weight tests drive, on real model files.
 *
 *   tool read  MODEL [CHECKPOINT]         every slot as "name index value", values as bits of the float;
 * hashed without a file tool write MODEL OUT STORAGE [CHECKPOINT] tool check MODEL whether the entries give
 * every weight once
 *
 * Messages go to standard output too, after the driver's fashion.  1: a message was printed. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "language/language.h"
#include "weights/weights.h"

typedef struct {
        Arena arena;
        Interner names;
        Diag diag;
        Graph *g;
        Checkpoint *file;
        Weights *weights;
} Session;

static bool complain(Session *s, const CkError *err)
{
        diag_print(&s->diag, stdout);
        if (err)
                printf("lathe: %s\n", err->message);
        return false;
}

static bool open_model(Session *s, const char *path)
{
        s->names.arena = s->diag.arena = &s->arena;
        Program *p = program_load(&s->arena, &s->names, &s->diag, path, NULL);
        s->g = p ? elaborate_model(p, NULL, NULL, 0, &s->diag) : NULL;
        return (s->g && s->diag.count == 0) || complain(s, NULL);
}

static bool open_file(Session *s, const char *path)
{
        CkError err;
        if (!path) {
                s->weights = weights_hashed(&s->arena, s->g);
                return true;
        }
        s->file = checkpoint_open(path, &err);
        if (!s->file)
                return complain(s, &err);
        s->weights = weights_loaded(&s->arena, s->g, s->file, &s->diag);
        return s->weights || complain(s, NULL);
}

static bool print_slot(Session *s, const Weight *w, int64_t slot)
{
        int64_t count = type_count(&w->type, NULL);
        float *value = malloc((size_t)count * sizeof *value);
        double *wide = malloc((size_t)count * sizeof *wide);
        bool good = weights_read_f32(s->weights, w, slot, value) && weights_read(s->weights, w, slot, wide);
        for (int64_t i = 0; good && i < count; i++) {
                uint32_t bits;
                memcpy(&bits, &value[i], sizeof bits);
                printf("%s %" PRId64 " %08" PRIx32 "%s\n", weight_slot_name(&s->arena, w, slot), i, bits,
                       wide[i] == value[i] ? "" : " but the double differs");
        }
        free(wide);
        free(value);
        return good;
}

static bool print_slots(Session *s)
{
        for (int i = 0; i < s->g->nweight; i++)
                for (int64_t slot = 0; slot < s->g->weight[i]->slots; slot++)
                        if (!print_slot(s, s->g->weight[i], slot))
                                return printf("%s can't be read\n", s->g->weight[i]->path), false;
        return true;
}

static bool write_published(Session *s, const char *path, const char *storage)
{
        CkError err;
        CkType type = strcmp(storage, "f32") == 0 ? CK_F32 : strcmp(storage, "f16") == 0 ? CK_F16 : CK_BF16;
        return weights_write(s->g, s->weights, path, type, &err) || complain(s, &err);
}

static bool act(Session *s, int argc, char **argv)
{
        if (argc < 3 || !open_model(s, argv[2]))
                return false;
        if (strcmp(argv[1], "check") == 0)
                return weights_check(s->g, &s->diag) || complain(s, NULL);
        if (strcmp(argv[1], "read") == 0)
                return open_file(s, argc > 3 ? argv[3] : NULL) && print_slots(s);
        return argc > 4 && open_file(s, argc > 5 ? argv[5] : NULL) && write_published(s, argv[3], argv[4]);
}

int main(int argc, char **argv)
{
        Session s = {.g = NULL};
        bool good = act(&s, argc, argv);
        checkpoint_close(s.file);
        arena_free(&s.arena);
        return !good;
}
