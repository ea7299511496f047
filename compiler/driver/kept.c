/* Location of the cached form of a source: in its folder, or in the user's. */
#define _XOPEN_SOURCE 700 /* realpath */
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "driver.h"

typedef enum { BESIDE, IN_USERS_FOLDER, NOWHERE } KeptPlace;

static const char *const place_name[] = {"beside", "user", "off"};

/* A value of --cache; -1: unknown. */
static int kept_place(const char *name)
{
        for (int i = 0; i < 3; i++)
                if (!strcmp(name, place_name[i]))
                        return i;
        return -1;
}

/* The command line takes precedence over the environment. */
static KeptPlace chosen_place(const CommandOptions *o)
{
        const char *variable = getenv("LATHE_CACHE");
        int place = o->cache ? kept_place(o->cache) : variable && *variable ? kept_place(variable) : BESIDE;
        static bool said; /* printed once per process */
        if (place < 0 && !said)
                fprintf(stderr,
                        "lathe: note: LATHE_CACHE must be beside, user or off, not %s; nothing is stored\n",
                        variable);
        said = said || place < 0;
        return place < 0 ? NOWHERE : (KeptPlace)place;
}

uint64_t hash_file_identity(uint64_t h, const char *path)
{
        struct stat about;
        if (stat(path, &about))
                return h;
        int64_t number[4] = {(int64_t)about.st_ino, about.st_size, about.st_mtim.tv_sec,
                             about.st_mtim.tv_nsec};
        return hash_bytes(h, number, sizeof number);
}

uint64_t hash_lathe(uint64_t h)
{
        return hash_file_identity(hash_bytes(h, LATHE_VERSION, sizeof LATHE_VERSION), "/proc/self/exe");
}

/* Creates the folders of a path. */
static bool make_folder(char *path)
{
        for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
                *slash = 0;
                bool good = !mkdir(path, 0777) || errno == EEXIST;
                *slash = '/';
                if (!good)
                        return false;
        }
        return true;
}

/* With a slash at its end; NULL: not available. */
static const char *users_folder(Arena *a)
{
        const char *base = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
        char *path = base && *base == '/'   ? arena_printf(a, "%s/lathe/", base)
                     : home && *home == '/' ? arena_printf(a, "%s/.cache/lathe/", home)
                                            : NULL;
        return path && make_folder(path) && !access(path, W_OK) ? path : NULL;
}

/* Files of a source have one place, however its path is spelled (relative, with .., through links). */
const char *kept_path(Arena *a, const CommandOptions *o, const char *name)
{
        KeptPlace place = chosen_place(o);
        char *whole = place == NOWHERE || !o->source.path ? NULL : realpath(o->source.path, NULL);
        if (!whole)
                return NULL;
        const char *source = arena_strdup(a, whole);
        free(whole);
        const char *beside = path_is_folder(source) ? arena_printf(a, "%s/", source) : folder_of(a, source);
        if (place == BESIDE && !access(beside, W_OK))
                return arena_printf(a, "%s%s", beside, name);
        const char *users = users_folder(a);
        uint64_t hash = hash_bytes(HASH_START, source, strlen(source));
        return users ? arena_printf(a, "%s%016llx.%s", users, (unsigned long long)hash, name) : NULL;
}
