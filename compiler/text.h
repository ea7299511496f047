/* Text that grows: what is emitted is put together in these. */
#ifndef TEXT_H
#define TEXT_H
#include <stdint.h>

#include "arena.h"

typedef struct Text {
        Arena *arena;
        char *data; /* n bytes and a NUL */
        int64_t n, cap;
} Text;

Text *text_new(Arena *a);
void text_printf(Text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
void text_add(Text *t, const char *bytes, int64_t n);
/* every line of `from`, indented by `levels` of 8 columns */
void text_indent(Text *t, const Text *from, int levels);
/* a float as a C literal that has these very bits: "0x1.8p+1f", "-FLOAT_INF" */
const char *float_literal(Arena *a, float x);
/* path.c: the folder of a file, "" or with a slash at its end; and another file's path as seen from there */
const char *folder_of(Arena *a, const char *path);
const char *path_from(Arena *a, const char *file, const char *path);
/* The length of the UTF-8 sequence at text [length], 0 if it is none; its code point. */
int decode_utf8(const char *text, int32_t length, uint32_t *code);
#endif
