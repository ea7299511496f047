/* Memory: arenas and interned strings. See base.h.
 *
 * An arena is a list of chunks; an allocation takes the next bytes of the newest chunk, or opens a new one, as
 * large as all before: the system hands out large ones zeroed, without a second pass over them. A
 * large request gets a chunk of its own, put behind the newest, so that the room left there is not lost. The
 * interner is an open-addressed hash table (FNV-1a) that doubles when half full. */
#include "base.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
        ALIGNMENT = 16,
        FIRST_CHUNK = 1 << 13,
        CHUNK_SIZE = 1 << 16,
        LARGEST_CHUNK = 1 << 20,
        FIRST_SLOTS = 1024
};

struct ArenaChunk {
        ArenaChunk *next;
        int64_t used, size;
        _Alignas(ALIGNMENT) char bytes[];
};

const char no_memory[] = "out of memory";
const char no_memory_or_file[] = "a weight can't be read: out of memory, or its file has become shorter";

bool lacks_memory(const char *wrong)
{
        return wrong == no_memory || wrong == no_memory_or_file;
}

static void say_and_abort(void)
{
        fputs("lathe: out of memory\n", stderr);
        abort();
}

void (*arena_without_memory)(void) = say_and_abort;

void arena_fail(Arena *arena)
{
        if (arena->out_of_memory)
                longjmp(*arena->out_of_memory, 1);
        arena_without_memory();
        abort();
}

static ArenaChunk *chunk_new(Arena *arena, int64_t size)
{
        ArenaChunk *chunk = calloc(1, sizeof *chunk + (size_t)size);
        if (!chunk)
                arena_fail(arena);
        chunk->size = size;
        arena->total += size;
        return chunk;
}

/* A chunk with room for size bytes: the newest, a new one, or a separate one after the newest. */
static ArenaChunk *chunk_for(Arena *arena, int64_t size)
{
        ArenaChunk *newest = arena->chunk;
        if (newest && newest->size - newest->used >= size)
                return newest;
        bool own = newest && size > CHUNK_SIZE / 4;
        int64_t usual = arena->total < FIRST_CHUNK     ? FIRST_CHUNK
                        : arena->total < LARGEST_CHUNK ? arena->total
                                                       : LARGEST_CHUNK;
        ArenaChunk *chunk = chunk_new(arena, own || size > usual ? size : usual);
        ArenaChunk **link = own ? &newest->next : &arena->chunk;
        chunk->next = *link;
        *link = chunk;
        return chunk;
}

void *arena_alloc(Arena *arena, int64_t size)
{
        if (size < 0 || size > INT64_MAX / 2)
                arena_fail(arena);
        size = (size + ALIGNMENT - 1) & ~(int64_t)(ALIGNMENT - 1);
        if (size == 0)
                size = ALIGNMENT;
        ArenaChunk *chunk = chunk_for(arena, size);
        void *block = chunk->bytes + chunk->used;
        chunk->used += size;
        return block;
}

void *arena_alloc_array(Arena *arena, int64_t count, int64_t size)
{
        if (count < 0 || size < 0 || (size > 0 && count > INT64_MAX / size))
                arena_fail(arena);
        return arena_alloc(arena, count * size);
}

void *arena_grow(Arena *arena, const void *old, int64_t old_size, int64_t new_size)
{
        void *block = arena_alloc(arena, new_size);
        if (old_size > 0)
                memcpy(block, old, (size_t)old_size);
        return block;
}

char *arena_strndup(Arena *arena, const char *text, int64_t length)
{
        char *copy = arena_alloc(arena, length + 1);
        if (length > 0)
                memcpy(copy, text, (size_t)length);
        return copy;
}

char *arena_strdup(Arena *arena, const char *text)
{
        return arena_strndup(arena, text, (int64_t)strlen(text));
}

char *arena_vprintf(Arena *arena, const char *format, va_list args)
{
        char small[256];
        va_list again;
        va_copy(again, args);
        int length = vsnprintf(small, sizeof small, format, args);
        if (length < 0)
                arena_fail(arena);
        char *text = arena_alloc(arena, (int64_t)length + 1);
        if (length < (int)sizeof small)
                memcpy(text, small, (size_t)length);
        else
                vsnprintf(text, (size_t)length + 1, format, again);
        va_end(again);
        return text;
}

char *arena_printf(Arena *arena, const char *format, ...)
{
        va_list args;
        va_start(args, format);
        char *text = arena_vprintf(arena, format, args);
        va_end(args);
        return text;
}

void arena_free(Arena *arena)
{
        for (ArenaChunk *chunk = arena->chunk; chunk;) {
                ArenaChunk *next = chunk->next;
                free(chunk);
                chunk = next;
        }
        arena->chunk = NULL;
        arena->total = 0;
}

void arena_clear(Arena *arena)
{
        int64_t total = arena->total;
        if (arena->chunk && !arena->chunk->next) {
                memset(arena->chunk->bytes, 0, (size_t)arena->chunk->used);
                arena->chunk->used = 0;
        } else if (arena->chunk) {
                arena_free(arena);
                arena->chunk = chunk_new(arena, total);
        }
}

uint64_t hash_bytes(uint64_t h, const void *bytes, size_t n)
{
        const unsigned char *b = bytes;
        for (size_t i = 0; i < n; i++)
                h = (h ^ b[i]) * UINT64_C(0x100000001b3);
        return h;
}

/* Slot of the text, or the free slot for it. */
static const char **find_slot(const Interner *interner, const char *text, size_t length)
{
        uint64_t mask = (uint64_t)interner->slots - 1;
        uint64_t at = hash_bytes(HASH_START, text, (size_t)length) & mask;
        for (;; at = (at + 1) & mask) {
                const char *held = interner->slot[at];
                if (!held || (strlen(held) == length && memcmp(held, text, length) == 0))
                        return &interner->slot[at];
        }
}

static void grow_slots(Interner *interner)
{
        const char **old = interner->slot;
        int64_t old_slots = interner->slots;
        interner->slots = old_slots ? 2 * old_slots : FIRST_SLOTS;
        interner->slot = NEW_ARRAY(interner->arena, const char *, interner->slots);
        /* written first: a page that is read first is mapped to zeros, and again when it is written */
        memset(interner->slot, 0, (size_t)interner->slots * sizeof *interner->slot);
        for (int64_t i = 0; i < old_slots; i++)
                if (old[i])
                        *find_slot(interner, old[i], strlen(old[i])) = old[i];
}

const char *intern(Interner *interner, const char *text, int len)
{
        size_t length = len < 0 ? strlen(text) : (size_t)len;
        if (interner->used * 2 >= interner->slots)
                grow_slots(interner);
        const char **slot = find_slot(interner, text, length);
        if (!*slot) {
                *slot = arena_strndup(interner->arena, text, (int64_t)length);
                interner->used++;
        }
        return *slot;
}

bool is_interned(const Interner *interner, const char *text, int len)
{
        return interner->slots && *find_slot(interner, text, len < 0 ? strlen(text) : (size_t)len);
}
