/* Diagnostics: where in a source something is, and what is wrong there, as gcc and clang print it.
 *
 *   decoder.model:4:13: error: expected an expression after '+'
 *       y = x + * 2
 *             ^
 *
 * Errors are collected and printed by the driver. Notes belong to the error before them. The same span is
 * reported once; after `limit` errors one line says so and further ones are dropped. */
#ifndef DIAG_H
#define DIAG_H

#include "arena.h"

#include <stdbool.h>
#include <stdio.h>

typedef struct Source {
        const char *path; /* as printed in messages */
        const char *text; /* length bytes, then a NUL */
        int32_t length;
        int32_t nline;
        const int32_t *line; /* line[k]: offset of the first byte of line k + 1 */
        int before;          /* lines before this text in the file that path names: of a REPL's input */
} Source;

/* Bytes begin … end - 1 of a source. source == NULL: nowhere in particular. */
typedef struct Span {
        const Source *source;
        int32_t begin, end;
} Span;

typedef struct Message Message;

typedef struct Diag {
        Arena *arena; /* where messages live */
        int limit;    /* errors kept; 0 means 20 */
        int count;    /* errors kept so far: no errors, no count */
        bool full;    /* an error was dropped at the limit: worth stopping */
        bool dropped; /* the last error was not kept, so neither are its notes */
        Message *first, *last;
} Diag;

/* A source over text, which must outlive it. length is below 2^31. */
Source *source_new(Arena *arena, const char *path, const char *text, int32_t length);
int source_line(const Source *source, int32_t offset);   /* from 1, those before counted */
int source_column(const Source *source, int32_t offset); /* from 1, in characters */
/* A line without its line end, and its length. line counts from 1. */
const char *source_line_text(const Source *source, int line, int32_t *length);

/* From the start of a to the end of b; either may be nowhere. */
Span span_join(Span a, Span b);
int span_line(Span span); /* 0 if nowhere */

/* Start with `Diag diag = {.arena = &arena};`. A Diag of NULL drops everything. */
void diag_error(Diag *diag, Span span, const char *format, ...) __attribute__((format(printf, 3, 4)));
void diag_note(Diag *diag, Span span, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* A note without a place: `note: …`, for the fix. */
void diag_hint(Diag *diag, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Everything collected, in the order reported. Colour only where the stream is a terminal and NO_COLOR unset.
 */
void diag_print(const Diag *diag, FILE *stream);
/* Forgets what was collected (a REPL between two lines). */
void diag_clear(Diag *diag);

/* The candidate nearest to name by edits (insert, delete, replace, swap of neighbours), if near enough to be
 * worth a "did you mean", else NULL. Of equals the first by its letters. */
const char *nearest_name(const char *name, const char *const *candidate, int n);

#endif
