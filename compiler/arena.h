/* Memory: arenas and interned strings.
 *
 * An arena hands out zeroed memory that is released all at once: one arena a compilation, one scratch arena a
 * pass. Nothing in it is freed by itself, so that trees and graphs need no owner per node.
 *
 * A failed allocation never returns. The driver may set `arena.out_of_memory` to a jmp_buf of its own; then
 * arena_alloc jumps there with value 1 (the arena stays valid and may be freed). Without one it calls
 * arena_without_memory, which does not return. */
#ifndef ARENA_H
#define ARENA_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct ArenaChunk ArenaChunk;

typedef struct Arena {
        ArenaChunk *chunk;      /* newest first */
        int64_t total;          /* bytes held from the system */
        jmp_buf *out_of_memory; /* where a failed allocation goes; NULL: arena_without_memory() */
} Arena;

/* The driver's, set before anything else runs: ends the process. By default a message and abort(). */
extern void (*arena_without_memory)(void);

/* What functions that return what is wrong in words return where memory is short, or how that begins. */
extern const char no_memory[];
bool lacks_memory(const char *wrong); /* NULL: nothing is wrong */

/* Start empty with `Arena arena = {0};`. Pointers are 16-aligned, bytes zero; size may be 0, never negative.
 */
void *arena_alloc(Arena *arena, int64_t size);
/* count * size with the product checked: what does not fit is out of memory, not a short array. */
void *arena_alloc_array(Arena *arena, int64_t count, int64_t size);
/* A copy of the first old_size bytes in a block of new_size; the old block stays until the arena goes. */
void *arena_grow(Arena *arena, const void *old, int64_t old_size, int64_t new_size);
char *arena_strdup(Arena *arena, const char *text);
char *arena_strndup(Arena *arena, const char *text, int64_t length);
char *arena_printf(Arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));
char *arena_vprintf(Arena *arena, const char *format, va_list args) __attribute__((format(printf, 2, 0)));
/* Releases everything; the arena is empty and may be used again. */
void arena_free(Arena *arena);
/* Does not return: takes the arena's way out of a failed allocation, for allocations made elsewhere. */
_Noreturn void arena_fail(Arena *arena);

#define NEW(arena, Type) ((Type *)arena_alloc((arena), (int64_t)sizeof(Type)))
#define NEW_ARRAY(arena, Type, n) ((Type *)arena_alloc_array((arena), (n), (int64_t)sizeof(Type)))

/* Equal texts are one pointer: compare interned strings with ==. */
typedef struct Interner {
        Arena *arena; /* where the texts live */
        const char **slot;
        int64_t slots, used; /* slots: a power of two, or 0 before the first text */
} Interner;

/* Start with `Interner names = {.arena = &arena};`. len bytes of text without a NUL, or all of it where len < 0. */
const char *intern(Interner *interner, const char *text, int len);

#endif
