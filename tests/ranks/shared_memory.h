/* A transport of a few lines: processes that map one file of zeros, in which a barrier is, and the values that a gather brings together. */
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum { ROOM = 1 << 20 };

typedef struct {
        atomic_int arrived, phase;
        float value[ROOM];
} Shared;

typedef struct {
        Shared *shared;
        int rank, ranks;
        long gathers, floats;
} Peers;

/* Waits for all, as many seconds as WAIT says, or 10; 1: one of them did not come. */
static int meet(const Peers *p)
{
        const int phase = atomic_load(&p->shared->phase);
        const time_t begin = time(NULL), seconds = getenv("WAIT") ? atoi(getenv("WAIT")) : 10;
        if (atomic_fetch_add(&p->shared->arrived, 1) == p->ranks - 1) {
                atomic_store(&p->shared->arrived, 0);
                atomic_store(&p->shared->phase, phase + 1);
                return 0;
        }
        while (atomic_load(&p->shared->phase) == phase) {
                sched_yield();
                if (time(NULL) > begin + seconds)
                        return 1;
                if (time(NULL) > begin)
                        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        }
        return 0;
}

static int gather(void *of, float *all, const int64_t *begin)
{
        Peers *p = of;
        float *value = p->shared->value;
        if (begin[p->ranks] > ROOM)
                return 1;
        p->gathers++;
        p->floats += (long)begin[p->ranks];
        memcpy(value + begin[p->rank], all + begin[p->rank],
               (size_t)(begin[p->rank + 1] - begin[p->rank]) * sizeof *all);
        if (meet(p))
                return 1;
        memcpy(all, value, (size_t)begin[p->ranks] * sizeof *all);
        return meet(p);
}

/* The file of that name; SHARED_FAILED: it can't be mapped. */
#define SHARED_FAILED ((Shared *)MAP_FAILED)
static Shared *shared_memory(const char *path)
{
        return mmap(NULL, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, open(path, O_RDWR), 0);
}
