/* Files that a loop of the model converts to an input: pictures and sounds. */
#include "driver.h"

static const struct {
        const char *loop;
        int rank; /* of the input */
        MediaKind kind;
        const char *(*fault)(const Graph *g, const Input *in);
        const char *(*values)(Arena *a, const Loop *l, const char *path, const int64_t *dim, double **value,
                              bool *env_error);
} medium[] = {{"classify", 3, MEDIA_PICTURE, picture_fault, picture_values},
              {"transcribe", 1, MEDIA_SOUND, sound_fault, sound_values}};
enum { MEDIA = sizeof medium / sizeof *medium };

/* MEDIA: none */
static int medium_of(const char *path)
{
        int i = 0;
        const MediaKind kind = media_kind(path);
        while (i < MEDIA && medium[i].kind != kind)
                i++;
        return i;
}

bool is_medium_file(const char *path)
{
        return medium_of(path) < MEDIA;
}

const char *medium_values(const Graph *g, const Input *in, const char *path, bool is_sound, MediumValues *out)
{
        const int kind = is_sound ? MEDIA - 1 : medium_of(path);
        *out = (MediumValues){.rank = medium[kind].rank};
        const char *why = medium[kind].fault(g, in);
        if (why) {
                out->wrong_shape = true;
                return why;
        }
        for (int axis = 0; axis < out->rank; axis++)
                out->dim[axis] = dim_value(in->type.dim[axis], NULL);
        return medium[kind].values(g->arena, graph_loop(g, medium[kind].loop), path, out->dim, &out->value,
                                   &out->env_error);
}
