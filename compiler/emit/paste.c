/* Paste: copies only the declarations of the runtime that are used.
 *
 * A runtime file is a sequence of chunks, each a top-level declaration with the comment above it, set apart
 * by blank lines outside of braces.  A chunk defines the names declared at its outermost level; it is needed
 * when a needed text uses one of them.  Chunks that define nothing (includes, checks) are included with their
 * file.  It is a linker for source text; the symbols of chunks are determined when lathe is built (embed.c).
 * A chunk with preprocessor conditions is first reduced by the facts about the program; only the rest is
 * pasted, and determines further needed chunks. */
#include "emit.h"

#include <stdbool.h>
#include <string.h>

typedef struct {
        bool *listed, *used; /* [files]: may be pasted; contains a needed chunk */
        bool *needed;        /* [embedded_chunks] */
        const char **text;   /* [embedded_chunks]: text of a chunk after resolving its conditions */
        const CFact *facts;
        Arena *arena;
        bool *hidden; /* [EMBEDDED_WORDS]: defined by the given text */
} Paste;

static int name_index(const char *name, int64_t n)
{
        return word_slot(embedded_word, embedded_words, name, n);
}

static void need_chunk(Paste *p, int number);

/* Marks the chunks that define a name, unless the given text defines it. */
static void need_word(Paste *p, int at)
{
        const EmbeddedWord *w = &embedded_word[at];
        for (int i = 0; i < w->declarations && !p->hidden[at]; i++)
                need_chunk(p, embedded_declaration[w->declaration + i]);
}

static void need_text(Paste *p, const char *text)
{
        CScan s = {.at = text, .end = text + strlen(text)};
        const char *name;
        int64_t n;
        while ((name = next_name(&s, &n)))
                need_word(p, name_index(name, n));
}

/* Text of a chunk after its conditions are resolved by the facts. */
static const char *chunk_text(const Paste *p, const EmbeddedChunk *c)
{
        Text *t = text_new(p->arena);
        resolve_conditions(t, embedded_file[c->file].text + c->at, c->n, p->facts);
        while (t->n && t->data[t->n - 1] == '\n')
                t->data[--t->n] = 0;
        return t->data;
}

static void need_chunk(Paste *p, int number)
{
        const EmbeddedChunk *c = &embedded_chunk[number];
        if (p->needed[number] || !p->listed[c->file])
                return;
        p->needed[number] = p->used[c->file] = true;
        if (c->conditional) {
                p->text[number] = chunk_text(p, c);
                need_text(p, p->text[number]);
                return;
        }
        for (int i = 0; i < c->uses; i++)
                need_word(p, embedded_use[c->use + i]);
}

/* Hides the names that the given text defines: it is not pasted, but replaces their chunks. */
static void paste_define(Paste *p, const char *given)
{
        CDeclared d = {.text = given};
        const char *name;
        int64_t n;
        while ((name = next_declared(&d, &n)))
                p->hidden[name_index(name, n)] = true;
        need_text(p, given);
}

static Paste paste_new(Arena *a, const char *const *files, const CFact *facts)
{
        int n = 0;
        while (embedded_file[n].name)
                n++;
        Paste p = {.listed = NEW_ARRAY(a, bool, n),
                   .used = NEW_ARRAY(a, bool, n),
                   .needed = NEW_ARRAY(a, bool, embedded_chunks),
                   .text = NEW_ARRAY(a, const char *, embedded_chunks),
                   .facts = facts,
                   .arena = a,
                   .hidden = NEW_ARRAY(a, bool, EMBEDDED_WORDS)};
        for (int i = 0; files[i]; i++)
                p.listed[embedded_find(files[i]) - embedded_file] = true;
        return p;
}

/* Adds chunks that define nothing, of files that are used. */
static void need_rest(Paste *p, const EmbeddedFile *f)
{
        for (int i = f->chunk; i < f->chunk + f->chunks; i++)
                if (!embedded_chunk[i].declares && !embedded_chunk[i].comment_only &&
                    p->used[embedded_chunk[i].file])
                        need_chunk(p, i);
}

static void paste_file(const Paste *p, const EmbeddedFile *f, Text *out)
{
        for (int i = f->chunk; i < f->chunk + f->chunks; i++) {
                if (!p->needed[i] || (p->text[i] && !*p->text[i]))
                        continue;
                if (p->text[i])
                        text_put(out, p->text[i]);
                else
                        text_add(out, f->text + embedded_chunk[i].at, embedded_chunk[i].n);
                text_add(out, "\n\n", 2);
        }
}

void paste_runtime(Text *out, const char *const *files, const CFact *facts, const char *given,
                   const char *user)
{
        Paste p = paste_new(out->arena, files, facts);
        if (given)
                paste_define(&p, given);
        need_text(&p, user);
        for (int i = 0; files[i] && !given; i++)
                need_rest(&p, embedded_find(files[i]));
        for (int i = 0; files[i]; i++)
                paste_file(&p, embedded_find(files[i]), out);
}

void paste_renamed(Text *out, const char *text, const char *suffix)
{
        Interner declared = {.arena = out->arena};
        CDeclared d = {.text = text};
        const char *name, *copied = text;
        int64_t n;
        while ((name = next_declared(&d, &n)))
                intern(&declared, name, (int)n);
        CScan s = {.at = text, .end = text + strlen(text)};
        while ((name = next_name(&s, &n))) {
                bool member = name > text && (name[-1] == '.' || (name[-1] == '>' && name[-2] == '-'));
                text_add(out, copied, name - copied);
                text_add(out, name, n);
                if (!member && is_interned(&declared, name, (int)n))
                        text_add(out, suffix, (int64_t)strlen(suffix));
                copied = name + n;
        }
        text_add(out, copied, (int64_t)strlen(copied));
}
