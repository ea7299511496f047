/* A cache of a source's tokenizer as tables, since reading tokenizer.json would take most of the time of a
 * start.
 *
 * The file: a head, then the tables.  Its key identifies their source files and lathe's version. */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "driver.h"

enum { MIN_KEPT = 1 << 15 }; /* bytes of tables */

typedef struct {
        char name[8];
        uint64_t key, size, hash; /* of the tables */
        int64_t vocab;
        char about[88]; /* with a NUL */
} KeptHead;
static const char kept_name[8] = "lathe t1";

static bool ends_so(const char *name)
{
        static const char *const end[] = {".json", ".txt", ".model", ".tiktoken"};
        size_t n = strlen(name);
        for (size_t i = 0; i < sizeof end / sizeof *end; i++) {
                size_t k = strlen(end[i]);
                if (n > k && !strcmp(name + n - k, end[i]))
                        return true;
        }
        return false;
}

/* Key of a file, or of the files in a folder from which a tokenizer may be read, in any order. */
static uint64_t files_key(Arena *a, const char *path)
{
        DIR *folder = opendir(path);
        uint64_t sum = folder ? 0 : hash_file_identity(HASH_START, path);
        for (struct dirent *d; folder && (d = readdir(folder));)
                if (ends_so(d->d_name))
                        sum += hash_file_identity(hash_bytes(HASH_START, d->d_name, strlen(d->d_name)),
                                                  arena_printf(a, "%s/%s", path, d->d_name));
        if (folder)
                closedir(folder);
        return hash_bytes(hash_lathe(HASH_START), &sum, sizeof sum);
}

/* FNV-1a by eight bytes: a millisecond for megabytes. */
static uint64_t hash_words(const void *block, uint64_t size)
{
        uint64_t h = HASH_START, word;
        for (uint64_t at = 0; at + 8 <= size; at += 8) {
                memcpy(&word, (const char *)block + at, sizeof word);
                h = (h ^ word) * UINT64_C(0x100000001b3);
        }
        return h;
}

static const TokenBlock *tokens_open_kept(Arena *a, const char *path, uint64_t key)
{
        KeptHead head;
        struct stat about;
        TokenTables tables;
        /* opening a pipe would wait for a writer */
        bool regular = !stat(path, &about) && S_ISREG(about.st_mode);
        FILE *file = regular ? fopen(path, "rb") : NULL;
        void *block = NULL;
        bool good = file && !fstat(fileno(file), &about) && fread(&head, sizeof head, 1, file) == 1 &&
                    !memcmp(head.name, kept_name, sizeof kept_name) && head.key == key &&
                    head.size < INT32_MAX && head.size % 8 == 0 &&
                    (uint64_t)about.st_size == sizeof head + head.size &&
                    memchr(head.about, 0, sizeof head.about);
        if (good) {
                block = arena_alloc(a, (int64_t)head.size);
                good = fread(block, 1, head.size, file) == head.size &&
                       hash_words(block, head.size) == head.hash && tokens_open(&tables, block, head.size) &&
                       (int64_t)tables.head->vocab == head.vocab;
        }
        if (file)
                fclose(file);
        if (!good)
                return NULL;
        TokenBlock *kept = NEW(a, TokenBlock);
        *kept = (TokenBlock){.block = block,
                             .size = (int64_t)head.size,
                             .vocab = (int32_t)head.vocab,
                             .about = arena_strdup(a, head.about)};
        return kept;
}

/* Failures are ignored: the next start takes longer. */
static void tokens_keep(Arena *a, const char *path, uint64_t key, const TokenBlock *block)
{
        KeptHead head = {.key = key, .size = (uint64_t)block->size, .vocab = block->vocab};
        WrittenFile file;
        memcpy(head.name, kept_name, sizeof head.name);
        head.hash = hash_words(block->block, (uint64_t)block->size);
        snprintf(head.about, sizeof head.about, "%s", block->about);
        char *bytes = arena_alloc(a, (int64_t)sizeof head + block->size);
        memcpy(bytes, &head, sizeof head);
        memcpy(bytes + sizeof head, block->block, (size_t)block->size);
        if (output_bytes(&file, path, bytes, (int64_t)sizeof head + block->size))
                output_finish(&file, 1);
        else
                output_drop(&file);
}

const char *source_tables(Arena *a, const CommandOptions *o, const char *path, const char *name,
                          const TokenBlock **tables)
{
        const char *kept = name ? kept_path(a, o, arena_printf(a, "%s.tokens.packed", name)) : NULL;
        uint64_t key = kept ? files_key(a, path) : 0;
        bool env_error;
        *tables = kept ? tokens_open_kept(a, kept, key) : NULL;
        if (*tables)
                return NULL;
        TokenBlock *block = NEW(a, TokenBlock);
        const char *why = tokenizer_open(a, path, block, &env_error);
        if (!why && kept && block->size >= MIN_KEPT)
                tokens_keep(a, kept, key, block);
        *tables = block;
        return why;
}
