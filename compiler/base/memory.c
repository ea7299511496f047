/* The available memory: Linux reports it in /proc and in the control group; elsewhere there is no limit. */
#include "base.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

/* The first matching line; -1: none */
static int64_t proc_number(const char *path, const char *format)
{
        FILE *f = fopen(path, "r");
        char line[256];
        long long n = -1, found;
        while (f && n < 0 && fgets(line, sizeof line, f))
                if (sscanf(line, format, &found) == 1)
                        n = found;
        if (f)
                fclose(f);
        return n;
}

int64_t memory_available(void)
{
        int64_t free = proc_number("/proc/meminfo", "MemAvailable: %lld kB");
        int64_t most = proc_number("/sys/fs/cgroup/memory.max", "%lld"),
                used = proc_number("/sys/fs/cgroup/memory.current", "%lld");
        free = free < 0 ? INT64_MAX : free * 1024;
        if (most >= 0 && used >= 0 && most - used < free)
                free = most > used ? most - used : 0;
        return free;
}

#ifdef __SANITIZE_ADDRESS__
void memory_limit(void) /* the sanitizer reserves terabytes */
{
}
#else
void memory_limit(void)
{
        int64_t free = memory_available(), held = proc_number("/proc/self/status", "VmData: %lld kB");
        struct rlimit now;
        if (free == INT64_MAX || held < 0 || getrlimit(RLIMIT_DATA, &now))
                return;
        rlim_t limit = (rlim_t)(free + 1024 * held);
        if (now.rlim_cur == RLIM_INFINITY || now.rlim_cur > limit) {
                now.rlim_cur = limit;
                setrlimit(RLIMIT_DATA, &now);
        }
}
#endif
