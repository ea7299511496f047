/* Chunks of C text: a file of the runtime is a sequence of top-level declarations, each with its comment,
 * separated by blank lines outside of braces. */
#include "base.h"

#include <string.h>

static bool is_comment(const CChunk *c)
{
        int64_t n;
        for (const char *p = c->text; p < c->text + c->n; p++)
                if (*p == '#' && (p == c->text || p[-1] == '\n'))
                        return false;
        return !next_name(&(CScan){.at = c->text, .end = c->text + c->n}, &n);
}

bool next_chunk(const char **at, CChunk *chunk)
{
        const char *begin = *at;
        while (*begin == '\n')
                begin++;
        int braces = 0;
        bool comment = false;
        const char *p = begin;
        for (; *p && (*p != '\n' || p[1] != '\n' || braces || comment); p++) {
                if (comment)
                        comment = !(p[0] == '/' && p[-1] == '*');
                else if (p[0] == '/' && p[1] == '*')
                        comment = true;
                else
                        braces += (*p == '{') - (*p == '}');
        }
        *at = p;
        *chunk = (CChunk){.text = begin, .n = p - begin};
        chunk->comment_only = is_comment(chunk);
        return p > begin;
}

static char next_mark(const char *at)
{
        while (*at == ' ' || *at == '\n')
                at++;
        return *at;
}

static bool name_is(const char *name, int64_t n, const char *word)
{
        return n == (int64_t)strlen(word) && !memcmp(name, word, (size_t)n);
}

/* Macros, enumerators, and names before ( ; = [ or a struct's brace at the outermost level. */
static bool declares(CDeclared *d, const char *name, int64_t n)
{
        const CScan *s = &d->scan;
        char mark = next_mark(s->at);
        if (s->directive)
                return name_is(d->before, d->nbefore, "define");
        if (s->braces == 1)
                return d->in_enum && strchr(",=}", mark);
        if (s->braces || s->parens)
                return false;
        d->in_enum = (name_is(name, n, "enum") && mark == '{') || name_is(d->before, d->nbefore, "enum");
        return !name_is(name, n, "enum") && !name_is(name, n, "struct") &&
               !name_is(name, n, "__attribute__") && strchr("(;=[{", mark);
}

const char *next_declared(CDeclared *d, int64_t *n)
{
        CChunk c;
        for (;;) {
                for (const char *name; (name = next_name(&d->scan, n));) {
                        bool found = declares(d, name, *n);
                        d->before = name;
                        d->nbefore = *n;
                        if (found)
                                return name;
                }
                if (!next_chunk(&d->text, &c))
                        return NULL;
                d->scan = (CScan){.at = c.text, .end = c.text + c.n};
                d->before = "";
                d->nbefore = 0;
                d->in_enum = false;
        }
}
