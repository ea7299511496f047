/* A packed file's pages are touched ahead of those who compute with them, by a thread: so the first token finds them mapped, and the
 * work of mapping them lies beside that of compiling.  Pages that are not in memory are left: nobody may ever want them, as those of
 * experts that are not chosen. */
#define _DEFAULT_SOURCE /* mincore */
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "packed_file_private.h"

struct Toucher {
        char *at;
        size_t size;
        atomic_bool stop;
        pthread_t thread;
};

static void *touch(void *of)
{
        enum { AROUND = 1 << 16 }; /* bytes that systems map at a fault in a file's page */
        Toucher *t = of;
        unsigned char held = 0;
        for (size_t i = 0; i < t->size && !atomic_load(&t->stop); i += AROUND)
                if (!mincore(t->at + i, 1, &held) && held & 1)
                        (void)*(volatile char *)(t->at + i);
        return NULL;
}

void packed_file_touch(PackedFile *file)
{
        Toucher *t = file->mapped && !file->toucher ? calloc(1, sizeof *t) : NULL;
        if (!t)
                return;
        t->at = file->mapped;
        t->size = file->size;
        if (pthread_create(&t->thread, NULL, touch, t))
                free(t);
        else
                file->toucher = t;
}

void stop_touching(PackedFile *file)
{
        Toucher *t = file->toucher;
        if (!t)
                return;
        atomic_store(&t->stop, true);
        pthread_join(t->thread, NULL);
        free(t);
        file->toucher = NULL;
}
