/* base: shared by all rooms, independent of models.
 *
 * Arenas (arena.c), messages about a source (diag.c), text that grows (text.c, c_scan.c), files and processes
 * that must end with lathe (output.c, ending.c), formats of files (formats.c), the machine (clock.c,
 * memory.c, interrupt.c), functions of real numbers with the same bits everywhere (real_functions.c, halves),
 * and the texts that lathe is built with (embedded_text.c). */
#ifndef BASE_H
#define BASE_H
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>

/* Memory: arenas and interned strings.
 *
 * An arena hands out zeroed memory that is released all at once: one arena a compilation, one scratch arena a
 * pass. Nothing in it is freed by itself, so that trees and graphs need no owner per node.
 *
 * A failed allocation never returns. The driver may set `arena.out_of_memory` to a jmp_buf of its own; then
 * arena_alloc jumps there with value 1 (the arena stays valid and may be freed). Without one it calls
 * arena_without_memory, which does not return. */

typedef struct ArenaChunk ArenaChunk;

typedef struct Arena {
        ArenaChunk *chunk;      /* newest first */
        int64_t total;          /* bytes allocated by the system */
        jmp_buf *out_of_memory; /* target after a failed allocation; NULL: arena_without_memory() */
} Arena;

/* Set by the driver first: ends the process. By default a message and abort(). */
extern void (*arena_without_memory)(void);

/* Results of functions that return an error message, if memory is short, or that may be the reason: these
 * pointers, not copies. */
extern const char no_memory[], no_memory_or_file[];
bool lacks_memory(const char *wrong); /* whether it is one of these two; NULL: no error */

/* Start empty with `Arena arena = {0};`. Pointers are 16-aligned, bytes zero; size may be 0, never negative.
 */
void *arena_alloc(Arena *arena, int64_t size);
/* count * size with overflow check: out of memory instead of a short array. */
void *arena_alloc_array(Arena *arena, int64_t count, int64_t size);
/* A copy of the first old_size bytes in a block of new_size; the old block remains allocated. */
void *arena_grow(Arena *arena, const void *old, int64_t old_size, int64_t new_size);
char *arena_strdup(Arena *arena, const char *text);
char *arena_strndup(Arena *arena, const char *text, int64_t length);
char *arena_printf(Arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));
char *arena_vprintf(Arena *arena, const char *format, va_list args) __attribute__((format(printf, 2, 0)));
/* Releases everything; the arena is empty and may be used again. */
void arena_free(Arena *arena);
/* Empties it, and keeps the same amount of memory in one piece. */
void arena_clear(Arena *arena);
/* Handles a failed allocation outside of the arena; does not return. */
_Noreturn void arena_fail(Arena *arena);

#define NEW(arena, Type) ((Type *)arena_alloc((arena), (int64_t)sizeof(Type)))
#define NEW_ARRAY(arena, Type, n) ((Type *)arena_alloc_array((arena), (n), (int64_t)sizeof(Type)))
/* Makes room for one more element after the first n of an array, by doubling; cap: capacity. */
#define GROW(arena, array, n, cap)                                                                           \
        ((n) < (cap)                                                                                         \
                 ? (void)0                                                                                   \
                 : (void)((array) = arena_grow((arena), (array), (int64_t)(n) * (int64_t)sizeof *(array),    \
                                               ((cap) = (cap) ? 2 * (cap) : 8) * (int64_t)sizeof *(array))))

/* FNV-1a over bytes; a hash begins as HASH_START. */
#define HASH_START UINT64_C(0xcbf29ce484222325)
uint64_t hash_bytes(uint64_t h, const void *bytes, size_t n);

/* Equal texts have the same pointer: compare interned strings with ==. */
typedef struct Interner {
        Arena *arena; /* memory of the texts */
        const char **slot;
        int64_t slots, used; /* slots: a power of two, or 0 before the first text */
} Interner;

/* Start with `Interner names = {.arena = &arena};`. text: len bytes without NUL, or up to NUL if len < 0. */
const char *intern(Interner *interner, const char *text, int len);
bool is_interned(const Interner *interner, const char *text, int len); /* without interning */

/* Diagnostics: where in a source something is, and what is wrong there, as gcc and clang print it.
 *
 *   decoder.model:4:13: error: expected an expression after '+'
 *       y = x + * 2
 *             ^
 *
 * Errors are collected and printed by the driver. Notes belong to the error before them. The same span is
 * reported once; after `limit` errors one line says so and further ones are dropped. */

typedef struct Source {
        const char *path; /* as in messages */
        const char *text; /* length bytes, then a NUL */
        int32_t length;
        int32_t nline;
        const int32_t *line; /* line[k]: offset of the first byte of line k + 1 */
        int before;          /* number of earlier lines in the file of `path`: for a REPL's input */
        bool library;        /* a module of the library, not a file of the user */
} Source;

/* Bytes begin … end - 1 of a source. source == NULL: nowhere. */
typedef struct Span {
        const Source *source;
        int32_t begin, end;
} Span;

typedef struct DiagMessage DiagMessage;

typedef struct Diag {
        Arena *arena; /* memory of the messages */
        int limit;    /* maximum of kept errors; 0 means 20 */
        int count;    /* number of kept errors */
        bool full;    /* an error was dropped because of the limit: the caller should stop */
        bool dropped; /* the last error was dropped, with its notes */
        DiagMessage *first, *last;
} Diag;

/* A source for text, which must outlive it. length is below 2^31. */
Source *source_new(Arena *arena, const char *path, const char *text, int32_t length);
/* A line without its line end, and its length. line counts from 1. */
const char *source_line_text(const Source *source, int line, int32_t *length);

/* From the start of a to the end of b; either may be nowhere. */
Span span_join(Span a, Span b);
int span_line(Span span); /* 0: nowhere */

/* Start with `Diag diag = {.arena = &arena};`. NULL as a Diag drops all messages. */
void diag_error(Diag *diag, Span span, const char *format, ...) __attribute__((format(printf, 3, 4)));
void diag_note(Diag *diag, Span span, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* The same at `span`, for a fault that arises at `origin`: each pair is reported once. */
void diag_error_from(Diag *diag, Span span, Span origin, const char *format, ...)
        __attribute__((format(printf, 4, 5)));
/* A note without a position: `note: …`, for the fix. */
void diag_hint(Diag *diag, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Prints all messages in order, coloured if the stream is a terminal and NO_COLOR is not set. */
void diag_print(const Diag *diag, FILE *stream);
/* Drops all messages (for a REPL between lines). */
void diag_clear(Diag *diag);

/* The candidate closest to name by edits (insert, delete, replace, swap of neighbours), if close enough
 * for a "did you mean", else NULL. Of equal ones the first alphabetically. */
const char *nearest_name(const char *name, const char *const *candidate, int n);

/* Growing text, for all output. */

typedef struct Text {
        Arena *arena;
        char *data; /* n bytes and a NUL */
        int64_t n, cap;
} Text;

Text *text_new(Arena *a);
void text_printf(Text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
void text_add(Text *t, const char *bytes, int64_t n);
void text_put(Text *t, const char *text); /* a whole text, of any length */
/* Adds every line of `from`, indented by `levels` of 8 columns. */
void text_indent(Text *t, const Text *from, int levels);
/* A C literal with exactly the bits of a float: "0x1.8p+1f", "-FLOAT_INF". */
const char *float_literal(Arena *a, float x);
/* A C string literal: other bytes than ASCII are octal with three digits. */
const char *c_string(Arena *a, const char *text);
/* A text for a C comment: characters that would end it, open another one or change the direction of
 * reading are replaced; "?": invalid UTF-8. */
const char *comment_text(Arena *a, const char *text, int64_t n);
/* A string literal of the language, with quotes and escapes. */
const char *quoted_text(Arena *a, const char *text);
void print_text(FILE *f, const char *text);                     /* the same, printed */
const char *in_units(Arena *a, double value, const char *unit); /* "5.37 GB", "13.0 TFLOP" */
const char *in_seconds(Arena *a, double value);                 /* "8.40 ms" */
/* path.c: the folder of a file, "" or with a slash at its end; another file's path relative to it. */
const char *folder_of(Arena *a, const char *path);
const char *path_from(Arena *a, const char *file, const char *path);
bool path_is_folder(const char *path);
/* The first name, alphabetically, in a folder ("": current) with this beginning and end; NULL: none. */
const char *name_in_folder(Arena *a, const char *folder, const char *begin, const char *end);
/* Length of the UTF-8 sequence at text [length], 0 if invalid; *code: its code point. */
int decode_utf8(const char *text, int32_t length, uint32_t *code);

/* ASCII characters by ranges, since <ctype.h> depends on the locale. */
static inline bool is_digit(char c)
{
        return c >= '0' && c <= '9';
}

static inline bool is_name_start(char c)
{
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static inline bool is_name_char(char c)
{
        return is_name_start(c) || is_digit(c);
}

static inline bool text_equal(const char *a, const char *b) /* NULL equals only NULL */
{
        return a == b || (a && b && !strcmp(a, b));
}

static inline bool text_ends_with(const char *text, const char *end)
{
        const size_t n = strlen(text), k = strlen(end);
        return n >= k && !strcmp(text + n - k, end);
}

/* "scores" in "layer.attn.scores". */
static inline const char *last_name_part(const char *name)
{
        const char *dot = strrchr(name, '.');
        return dot ? dot + 1 : name;
}

/* Identifiers of C text. */

typedef struct {
        const char *at, *end;
        int braces, parens;
        bool directive; /* within a line that begins with # */
} CScan;

/* The next identifier at or after s->at, [*n], outside of comments, strings and characters; NULL at the
 * end.  Counts braces and parentheses. */
const char *next_name(CScan *s, int64_t *n);

/* A top-level declaration with its comment; or a comment, an include, a check. */
typedef struct {
        const char *text;
        int64_t n;
        bool comment_only;
} CChunk;
bool next_chunk(const char **at, CChunk *chunk); /* in a NUL-terminated text; false: no more */

/* Start with `CDeclared d = {.text = text};`. */
typedef struct {
        const char *text; /* rest after the last chunk; NULL: none */
        CScan scan;
        const char *before; /* the previous identifier */
        int64_t nbefore;
        bool in_enum;
} CDeclared;
/* like next_name(): the next name that a text declares at its outermost level */
const char *next_declared(CDeclared *d, int64_t *n);

/* A name in preprocessor conditions, with its value, and whether it is defined. */
typedef struct {
        const char *name;
        int value;
} CFact;
/* Adds a text of whole lines with its conditions resolved by the facts; the last fact has no name.  Other
 * names are unknown. */
void resolve_conditions(Text *out, const char *text, int64_t n, const CFact *facts);

/* JSON, by jansson. */

void json_begin(void);         /* before values are created or parsed */
bool json_out_of_memory(void); /* whether memory was short since then */
/* NULL: invalid, with *error, or out of memory, in which case the partial result is lost.  flags: of
 * jansson, in addition to the rejection of duplicate keys.  NaN, Infinity and -Infinity, which Python
 * writes and JSON lacks, are read as texts for json_not_finite(); a byte order mark is skipped. */
json_t *json_parse(const char *text, size_t length, size_t flags, json_error_t *error);
/* The same of standard JSON only; numbers that an int64 or a double can't store are errors. */
json_t *json_parse_exact(const char *text, size_t length, size_t flags, json_error_t *error);
bool json_not_finite(const json_t *value, double *x); /* NaN, Infinity or -Infinity, as written by Python */
json_t *json_finite(double x);                        /* null if JSON lacks the number */
bool json_write(json_t *value); /* to standard output, indented; takes ownership.  false: out of memory */
/* Prints bytes as within a JSON string; U+FFFD for those that are not UTF-8. */
void json_print(FILE *f, const char *text, int64_t n);

/* Well-known file formats, recognised by their first bytes. */

typedef enum {
        FORMAT_JSON,
        FORMAT_GGUF,
        FORMAT_PICKLE,
        FORMAT_LLAMA2C_TOKENIZER,
        FORMAT_SENTENCEPIECE,
        FORMAT_OTHER
} FormatKind;
typedef struct {
        FormatKind kind;
        const char *name;   /* "an ONNX model" */
        const char *advice; /* for unsupported formats: what to do; else NULL */
} Format;
const Format *format_of(const unsigned char *data, int64_t n); /* NULL: unknown */
const Format *format_of_file(const char *path); /* the same for a directory, or an unreadable file */

/* Embedded files: the runtime's text and the library in the language. */

typedef struct {
        const char *name; /* "matmul.h", "decoder.model" */
        const char *text;
        int chunk, chunks; /* of a header: first chunk, and number */
} EmbeddedFile;

/* Chunks of the runtime's headers, determined at build time by embed.c. */
typedef struct {
        int at, n; /* range in its file's text */
        int file;
        int use, uses; /* its words: first in embedded_use, and number */
        bool declares; /* a name */
        bool comment_only;
        bool conditional; /* contains preprocessor conditions */
} EmbeddedChunk;

typedef struct {
        int at, n;                     /* in embedded_words; n 0: free */
        int declaration, declarations; /* chunks that declare it: first in embedded_declaration, and number */
        bool outer;                    /* a function, a macro or a type; else a variable or a member */
        bool named;                    /* also used without the `$` of names from the model */
} EmbeddedWord;

enum { EMBEDDED_WORDS = 1 << 13 }; /* slots of a hash table, mostly free */

/* Generated from runtime/ and models/lib/ at build time; the files end with a NULL name. */
extern const EmbeddedFile embedded_file[];
extern const EmbeddedChunk embedded_chunk[];
extern const EmbeddedWord embedded_word[EMBEDDED_WORDS];
extern const int embedded_use[], embedded_declaration[]; /* indices of words; chunks */
extern const char embedded_words[];
extern const int embedded_chunks;

const EmbeddedFile *embedded_find(const char *name);
const char *embedded_text(const char *name); /* NULL: none */
/* Slot of the word in such a table, or of its insertion.  words: texts. */
int word_slot(const EmbeddedWord *table, const char *words, const char *name, int64_t n);

/* Files are written to temporary names; output_finish() renames several when all are complete.  A path
 * that is a symbolic link remains one: its target is replaced. */

typedef struct {
        const char *path, *error;
        char *aside, *linked; /* linked: target of a symbolic link; NULL: not a link */
        FILE *file;
        int entry; /* of ending.c */
} WrittenFile;
bool output_begin(WrittenFile *o, const char *path); /* opens o->file; false with o->error, also below */
bool output_bytes(WrittenFile *o, const char *path, const char *bytes, int64_t n);
bool output_copy(WrittenFile *o, const char *path, const char *from); /* the contents of the file `from` */
bool output_finish(WrittenFile *o, int n); /* false after a message: one had an error, or can't be renamed */
void output_drop(WrittenFile *o);          /* instead: removes the temporary file silently */
/* Writes one file; false after a message. */
bool write_file(const char *path, const char *bytes, int64_t n); /* -: to standard output */

/* terminal.c: from now on, if standard output and standard error are terminals, control characters other
 * than newline and tab are printed as \x1b, so that texts of models, labels and file names can't control
 * the terminal. */
void guard_terminals(void);
int terminal_file(FILE *f); /* the descriptor, if the stream is a terminal; else -1 */
void terminal_control(FILE *f, const char *sequence); /* a control sequence by lathe itself */
void terminal_say(const char *text);                  /* to standard error; also in a signal handler */
FILE *terminal_under(FILE *f); /* the unguarded stream, for libedit, which prints control sequences */

/* Exit codes. */
enum { DONE = 0, WRONG_INPUT = 1, WRONG_USAGE = 2, WRONG_ENVIRONMENT = 3 };

/* input_file.c: opens a regular file for reading.  NULL, with *why as text and errno: missing, or a
 * directory, a pipe, a socket, a device. */
FILE *input_open(const char *path, const char **why);
/* Length of the byte order mark at the start of a text: 3, or 0.  Readers of text files skip it. */
int64_t text_mark(const char *text, int64_t n);

/* inputs_read.c: records a file that was read, for --depfile, each path once; the list so far. */
void input_read(const char *path);
const char *const *inputs_read(int *count);
/* Whether the file at path has been read as an input, by whatever name: outputs don't replace it, unless
 * input_to_replace() was called with its name. */
bool is_input_read(const char *path);
void input_to_replace(const char *path);

/* Resources that must not outlive the process: temporary files and folders, child processes.
 *
 * Whatever ends the process early (a signal, out of memory in the middle of a pass, libtcc, a truncated
 * mapped file) ends those processes and removes those files first.  The table is global, as signals are; a
 * forked child owns nothing of its parent's.  Added paths must stay valid until they are removed. */

/* Each returns a number for ending_forget(); -1, which that ignores, if the table is full. */
int ending_file(const char *path);
int ending_folder(const char *path, const char *const *inside); /* inside: names in it, ended by NULL */
int ending_process(pid_t process);                              /* negative: a process group */
int ending_mapping(const void *at, size_t size, const char *path);
void ending_forget(int entry);

/* From now on signals that end the process clean up first, except ignored ones; and so does exit() within
 * libtcc. */
void ending_watch(void);
void ending_catch(int signal_number); /* catches a signal again, after another handler */

/* Ends a child or its process group, and waits for it: SIGTERM first, SIGKILL after a while. */
void end_process(pid_t process);

/* Removes a temporary folder with the given names (ended by NULL), and files left by other programs: a C
 * compiler that is killed leaves its temporary file. */
void remove_folder(const char *folder, const char *const *inside);

/* Prints a message and exits with the code for a failed environment. */
_Noreturn void end_without_memory(void);

/* libtcc exits if memory is short: between these two calls that is reported, with its last message. */
void ending_enter_tcc(const char *const *said);
void ending_leave_tcc(void);

/* Ctrl-C in a run or a REPL: long work tests this regularly, and ends with the error "interrupted". */

extern atomic_bool interrupted;

/* line_editor.c: lines from a terminal, with editing, history and completion. */

typedef struct {
        const char **word;
        int n;
        size_t length;   /* of the current word */
        bool in_command; /* in a command of the REPL, not in the language */
} Completions;
/* Completions of the word before the cursor, by name. */
typedef Completions CompleteWord(void *of, Arena *a, const char *line, size_t cursor);

typedef struct LineEditor LineEditor;
/* The history is in the file that the environment variable names. If it is unset, the file is `name` in the
 * home folder; if it is empty, the history is not saved. complete NULL: no completion. Returns NULL if out of
 * memory. */
LineEditor *editor_new(const char *variable, const char *name, CompleteWord *complete, void *of);
void editor_free(LineEditor *e); /* NULL is allowed */
/* A line without its end, valid until the next call. False: interrupted, or the end. */
bool editor_line(LineEditor *e, const char *prompt, const char **line, size_t *length);
/* Adds an input, of one or several lines, to the history, and writes it: a terminal may be closed at any
 * time. */
void editor_remember(LineEditor *e, const char *input, size_t length);

/* Time, for reports of speed. */

double seconds(void); /* since an arbitrary moment; monotonic */

/* Available memory, and a limit for a REPL. */

int64_t memory_available(void); /* bytes that may still be allocated; INT64_MAX if unknown */
/* From now on larger requests fail, so that the process is not killed when it uses them. */
void memory_limit(void);

/* Progress on standard error: a bar on a terminal, nothing elsewhere. */

/* `what`: done of total, in bytes (then with their rate) or in steps, and the remaining time.  Shown half
 * a second after the first call; at done == total the line is cleared.  For nested work only the outer is
 * shown. */
typedef enum { PROGRESS_BYTES, PROGRESS_STEPS } ProgressUnit;
void progress(const char *what, ProgressUnit unit, int64_t done, int64_t total);
void progress_clear(void); /* clears the line before a message; the next call shows the bar again */

/* Time by kernel for code emitted with Plan.timed. */

typedef struct {
        double seconds;
        int64_t calls;
} ProfileRow;

/* Rows [n], by Kernel.order.step, to which marks add from now on; NULL: none. */
void profile_into(ProfileRow *row, int n);
/* Called by the code, on one thread, when a kernel is done; -1: a call begins. */
void profile_mark(int kernel);

/* exp, log, sin, cos, tanh, erf, atan and pow in double: within 0.51 units in the last place, the same
 * bits on every machine.  All numbers in graphs, tables and weights are computed by these and not by libm. */

double real_exp(double x);
double real_log(double x);
double real_sin(double x);
double real_cos(double x);
double real_tanh(double x);
double real_erf(double x);
double real_atan(double x);
double real_pow(double x, double y); /* special cases as in IEEE 754 */

static inline int64_t min_int64(int64_t a, int64_t b)
{
        return a < b ? a : b;
}

static inline int64_t max_int64(int64_t a, int64_t b)
{
        return a > b ? a : b;
}

/* First of `total` items that belong to share `i` of `n`; the runtime divides work in the same way. */
static inline int64_t share_start(int64_t total, int i, int n)
{
        return total * i / n;
}

/* For numbers that are not negative; of 0 and another, the other. */
static inline int64_t common_divisor(int64_t a, int64_t b)
{
        while (b) {
                int64_t rest = a % b;
                a = b;
                b = rest;
        }
        return a;
}

/* f16 (IEEE 754 binary16) and bf16 (the upper half of an f32) to f32, exactly, and back, rounded to
 * nearest even.
 *
 * NaN remains NaN: its sign and upper payload bits are kept, the quiet bit is set on narrowing. Only
 * integer operations, so that flush-to-zero and rounding modes of the host have no effect. */

static inline uint32_t f32_bits(float x)
{
        uint32_t bits;
        memcpy(&bits, &x, sizeof bits);
        return bits;
}

static inline float f32_of_bits(uint32_t bits)
{
        float x;
        memcpy(&x, &bits, sizeof x);
        return x;
}

static inline float bf16_to_f32(uint16_t half)
{
        return f32_of_bits((uint32_t)half << 16);
}

static inline uint16_t f32_to_bf16(float x)
{
        uint32_t bits = f32_bits(x);
        if ((bits & 0x7fffffffu) > 0x7f800000u)
                return (uint16_t)(bits >> 16 | 0x40u);
        return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

static inline float f16_to_f32(uint16_t half)
{
        uint32_t sign = (uint32_t)(half & 0x8000u) << 16;
        uint32_t exponent = half >> 10 & 31u;
        uint32_t mantissa = half & 0x3ffu;
        if (exponent == 31)
                return f32_of_bits(sign | 0x7f800000u | mantissa << 13);
        if (exponent)
                return f32_of_bits(sign | (exponent + 112) << 23 | mantissa << 13);
        if (!mantissa)
                return f32_of_bits(sign);
        /* Subnormal, mantissa * 2^-24: shift the leading bit to f32's implicit one. */
        uint32_t shift = 0;
        while (!(mantissa & 0x400u)) {
                mantissa <<= 1;
                shift++;
        }
        return f32_of_bits(sign | (113 - shift) << 23 | (mantissa & 0x3ffu) << 13);
}

static inline uint16_t f32_to_f16(float x)
{
        uint32_t bits = f32_bits(x);
        uint32_t sign = bits >> 16 & 0x8000u;
        uint32_t magnitude = bits & 0x7fffffffu;
        if (magnitude > 0x7f800000u)
                return (uint16_t)(sign | 0x7e00u | (magnitude >> 13 & 0x1ffu));
        if (magnitude >= 0x477ff000u) /* 65520, halfway to 2^16, and above */
                return (uint16_t)(sign | 0x7c00u);
        if (magnitude < 0x33000000u) /* below 2^-25, half the smallest subnormal */
                return (uint16_t)sign;
        uint32_t exponent = magnitude >> 23;
        uint32_t significand = (magnitude & 0x7fffffu) | 0x800000u;
        uint32_t drop = exponent < 113 ? 126 - exponent : 13; /* number of bits below the result's last */
        /* A normal number's implicit one is added into the exponent field, hence 113 - 1. */
        uint32_t half = (exponent < 113 ? 0 : (exponent - 113) << 10) + (significand >> drop);
        uint32_t rest = significand & ((1u << drop) - 1);
        uint32_t tie = 1u << (drop - 1);
        if (rest > tie || (rest == tie && (half & 1u)))
                half++;
        return (uint16_t)(sign | half);
}

/* The version in `lathe --version` and emitted files. */
#define LATHE_VERSION "0.1.0"
#endif
