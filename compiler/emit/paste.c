/* Paste: of the runtime's text just the declarations that are used.
 *
 * A runtime file is a sequence of chunks, each a top-level declaration with the comment above it, set apart by blank lines
 * outside of braces.  A chunk defines the names declared at its outermost level; it is needed when a needed text uses one of
 * them.  Chunks that define nothing (includes, checks) come along with their file.  It is a linker for source text. */
#include "emit.h"

#include <stdbool.h>
#include <string.h>

typedef struct {
        const char *text;
        int64_t n;
        int file; /* -1: given, not pasted */
        bool needed, anonymous, comment_only;
        int names; /* defined here */
} Chunk;

/* A name and a chunk that defines it, chained with the others of one hash. */
typedef struct {
        const char *name;
        int64_t length;
        int chunk, next;
} Definition;

enum { BUCKETS = 1024 };

typedef struct {
        Arena *arena;
        Chunk *chunk;
        int n, cap;
        Definition *definition;
        int ndefinition, cap_definition;
        int bucket[BUCKETS]; /* the first of its definitions, or -1 */
} Chunks;

static unsigned bucket_of(const char *name, int64_t n)
{
        uint64_t h = hash_bytes(HASH_START, name, (size_t)n);
        return (unsigned)((h ^ h >> 32) % BUCKETS);
}

static Chunks chunks_new(Arena *a)
{
        Chunks all = {.arena = a};
        for (int i = 0; i < BUCKETS; i++)
                all.bucket[i] = -1;
        return all;
}

static void define(Chunks *all, Chunk *c, const char *name, int64_t n)
{
        GROW(all->arena, all->definition, all->ndefinition, all->cap_definition);
        int *bucket = &all->bucket[bucket_of(name, n)];
        all->definition[all->ndefinition] = (Definition){name, n, (int)(c - all->chunk), *bucket};
        *bucket = all->ndefinition++;
        c->names++;
}

/* The next definition of a name, from definition `at` on (-1: none); begins with that of its bucket. */
static int find(const Chunks *all, int at, const char *name, int64_t n)
{
        while (at >= 0 &&
               (all->definition[at].length != n || memcmp(all->definition[at].name, name, (size_t)n)))
                at = all->definition[at].next;
        return at;
}

static char next_mark(const char *at)
{
        while (*at == ' ' || *at == '\n')
                at++;
        return *at;
}

/* What a chunk defines: macros, enumerators, and names before ( ; = [ or a struct's brace at the outermost level. */
static void find_names(Chunks *all, Chunk *c)
{
        CScan s = {.at = c->text, .end = c->text + c->n};
        const char *name, *before = "";
        int64_t n, nbefore = 0;
        bool in_enum = false;
        c->comment_only = true;
        for (const char *p = c->text; p < s.end; p++)
                if (*p == '#' && (p == c->text || p[-1] == '\n'))
                        c->comment_only = false;
        while ((name = next_name(&s, &n))) {
                c->comment_only = false;
                bool after_define = nbefore == 6 && !strncmp(before, "define", 6);
                bool is_enum = nbefore == 4 && !strncmp(before, "enum", 4);
                char mark = next_mark(s.at);
                if (s.directive) {
                        if (after_define)
                                define(all, c, name, n);
                } else if (s.braces == 0 && s.parens == 0) {
                        bool keyword = (n == 4 && !strncmp(name, "enum", 4)) ||
                                       (n == 6 && !strncmp(name, "struct", 6)) ||
                                       (n == 13 && !strncmp(name, "__attribute__", 13));
                        in_enum = (n == 4 && !strncmp(name, "enum", 4) && mark == '{') || is_enum;
                        if (!keyword && strchr("(;=[{", mark))
                                define(all, c, name, n);
                } else if (s.braces == 1 && in_enum && strchr(",=}", mark)) {
                        define(all, c, name, n);
                }
                before = name;
                nbefore = n;
        }
        c->anonymous = c->names == 0;
}

static Chunk *add_chunk(Chunks *all, const char *text, int64_t n, int file)
{
        GROW(all->arena, all->chunk, all->n, all->cap);
        Chunk *c = &all->chunk[all->n++];
        *c = (Chunk){.text = text, .n = n, .file = file};
        find_names(all, c);
        return c;
}

/* Cuts a file at blank lines outside of braces and comments. */
static void cut_file(Chunks *all, const char *text, int file)
{
        const char *begin = text;
        int braces = 0;
        bool comment = false;
        for (const char *p = text;; p++) {
                bool blank = *p == '\n' && p[1] == '\n' && !braces && !comment;
                if (*p && !blank) {
                        if (comment)
                                comment = !(p[0] == '/' && p > text && p[-1] == '*');
                        else if (p[0] == '/' && p[1] == '*')
                                comment = true;
                        else
                                braces += (*p == '{') - (*p == '}');
                        continue;
                }
                while (*begin == '\n')
                        begin++;
                if (p > begin)
                        add_chunk(all, begin, p - begin, file);
                if (!*p)
                        return;
                begin = p + 1;
        }
}

/* Marks what defines the names that a text uses; what is given stands before all else, and hides it. */
static void need(Chunks *all, const char *text, int64_t length)
{
        CScan s = {.at = text, .end = text + length};
        const char *name;
        int64_t n;
        while ((name = next_name(&s, &n))) {
                int first = find(all, all->bucket[bucket_of(name, n)], name, n);
                bool hidden = false;
                for (int i = first; i >= 0; i = find(all, all->definition[i].next, name, n))
                        hidden |= all->chunk[all->definition[i].chunk].file < 0;
                for (int i = first; i >= 0 && !hidden; i = find(all, all->definition[i].next, name, n)) {
                        Chunk *c = &all->chunk[all->definition[i].chunk];
                        if (c->needed)
                                continue;
                        c->needed = true;
                        need(all, c->text, c->n);
                }
        }
}

void paste_runtime(Text *out, const char *const *files, const char *given, const char *user)
{
        Chunks all = chunks_new(out->arena);
        if (given)
                cut_file(&all, given, -1);
        for (int i = 0; files[i]; i++)
                cut_file(&all, embedded_text(files[i]), i);
        if (given)
                need(&all, given, (int64_t)strlen(given));
        need(&all, user, (int64_t)strlen(user));
        for (int i = 0; i < all.n; i++)
                for (int k = 0; k < all.n && all.chunk[i].anonymous; k++)
                        if (all.chunk[k].needed && all.chunk[k].file == all.chunk[i].file &&
                            !all.chunk[i].comment_only && !given) {
                                all.chunk[i].needed = true;
                                need(&all, all.chunk[i].text, all.chunk[i].n);
                        }
        for (int i = 0; i < all.n; i++) {
                if (!all.chunk[i].needed)
                        continue;
                text_add(out, all.chunk[i].text, all.chunk[i].n);
                text_add(out, "\n\n", 2);
        }
}

static bool is_defined(const Chunks *all, const char *name, int64_t n)
{
        return find(all, all->bucket[bucket_of(name, n)], name, n) >= 0;
}

void paste_renamed(Text *out, const char *text, const char *suffix)
{
        Chunks all = chunks_new(out->arena);
        cut_file(&all, text, 0);
        CScan s = {.at = text, .end = text + strlen(text)};
        const char *name, *copied = text;
        int64_t n;
        while ((name = next_name(&s, &n))) {
                bool member = name > text && (name[-1] == '.' || (name[-1] == '>' && name[-2] == '-'));
                text_add(out, copied, name - copied);
                text_add(out, name, n);
                if (!member && is_defined(&all, name, n))
                        text_add(out, suffix, (int64_t)strlen(suffix));
                copied = name + n;
        }
        text_add(out, copied, (int64_t)strlen(copied));
}
