/* Names that emitted C can bear: those of repeats, inputs, outputs and dimensions become identifiers that clash with no
 * keyword, no function of the runtime, no variable of the emitted functions, and not with one another. */
#include "plan.h"

#include <string.h>

#include "paste.h"

static const char *const word[] = {
        /* C */
        "alignas", "alignof", "asm", "auto", "bool", "break", "case", "char", "const", "continue", "default",
        "do", "double", "else", "enum", "extern", "false", "float", "for", "fortran", "goto", "if", "inline",
        "int", "long", "register", "restrict", "return", "short", "signed", "sizeof", "static", "struct",
        "switch", "true", "typedef", "typeof", "union", "unsigned", "void", "volatile", "while", "main",
        "linux", "unix",
        /* variables and members of what is emitted */
        "m", "j", "n", "i", "row", "rows", "end", "thread", "threads", "acc", "panel", "s", "head", "col",
        "from", "to", "place", "context", "lo", "hi", "units", "a", "first", "chunk", "error", "arg", "run",
        "program", "advance", "found", "count", "weights", "arena", "state", "scratch", "team", "members",
        "mapped", "mapped_size", "whole", "done", "fed", "fed_part", "part", "all", "unit", "next", "around",
        "begin", "base", "rings", "held"};

/* .. of an instance for several sequences */
static const char *const batch_word[] = {"sequence", "sequences", "range", "ranges",
                                         "of",       "slot",      "kept",  "fed"};

static bool is_letter(char c)
{
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* "} v16;" or "typedef __m512 v16;" */
static bool ends_typedef(const char *text, const char *at, size_t n)
{
        if (at[n] != ';' || at - text < 2 || at[-1] != ' ')
                return false;
        const char *line = at;
        while (line > text && line[-1] != '\n')
                line--;
        return at[-2] == '}' || !strncmp(line, "typedef ", 8);
}

/* --- functions, macros and types of the runtime: a hash table, filled at the first question ------------------- */

enum { WORDS = 8192 };

typedef struct {
        const char *at;
        size_t n;
} Word;

static Word runtime_word[WORDS];
static size_t runtime_words;

/* Where a word stands, or would. */
static Word *place_of(const char *at, size_t n)
{
        unsigned h = 2166136261u;
        for (size_t i = 0; i < n; i++)
                h = (h ^ (unsigned char)at[i]) * 16777619u;
        for (h %= WORDS; runtime_word[h].at; h = (h + 1) % WORDS)
                if (runtime_word[h].n == n && !memcmp(runtime_word[h].at, at, n))
                        break;
        return &runtime_word[h];
}

static void gather_words(const char *text)
{
        for (const char *at = text; *at;) {
                size_t n = 0;
                while (is_letter(at[n]))
                        n++;
                if (n && (at[n] == '(' || ends_typedef(text, at, n)) && runtime_words < WORDS / 2) {
                        Word *place = place_of(at, n);
                        runtime_words += !place->at;
                        *place = (Word){at, n};
                }
                at += n ? n : 1;
        }
}

static bool is_called(const char *name)
{
        if (!runtime_words)
                for (const EmbeddedFile *file = embedded_file; file->name; file++)
                        if (!strstr(file->name, ".model"))
                                gather_words(file->text);
        return place_of(name, strlen(name))->at;
}

bool is_c_word(const char *name)
{
        for (size_t i = 0; i < sizeof word / sizeof *word; i++)
                if (!strcmp(name, word[i]))
                        return true;
        for (int op = 0; op < OP_COUNT; op++)
                if (!strcmp(name, op_info[op].text))
                        return true;
        bool numbered = (name[0] == 't' || name[0] == 'i' || name[0] == 'x' || name[0] == 'c') &&
                        name[1] >= '0' && name[1] <= '9';
        return numbered || is_called(name);
}

static bool is_batch_word(const char *name)
{
        for (size_t i = 0; i < sizeof batch_word / sizeof *batch_word; i++)
                if (!strcmp(name, batch_word[i]))
                        return true;
        return false;
}

typedef struct {
        Graph *graph;
        bool batched;
        const char **name;
        int n;
} Names;

static bool is_taken(const Names *names, const char *name)
{
        for (int i = 0; i < names->n; i++)
                if (!strcmp(names->name[i], name))
                        return true;
        return false;
}

/* name, or name with what it is behind it, or a number too */
static const char *give(Names *names, const char *name, const char *what)
{
        Arena *a = names->graph->arena;
        bool word_of_ours = is_c_word(name) || (names->batched && is_batch_word(name));
        const char *own = word_of_ours ? arena_printf(a, "%s_%s", name, what) : name;
        const char *given = own;
        for (int i = 2; is_taken(names, given); i++)
                given = arena_printf(a, "%s_%d", own, i);
        return names->name[names->n++] = given;
}

static void name_regions(Names *names, const Body *b)
{
        for (int i = 0; i < b->nnode; i++) {
                if (b->node[i]->op != OP_REPEAT)
                        continue;
                Region *r = b->node[i]->attr.region;
                r->name = give(names, r->name, "trip");
                for (int k = 0; k < r->nbody; k++)
                        name_regions(names, r->body[k]);
        }
}

/* "layer[0].attn.q" -> "layer_0_attn_q"; "layer[i].x" -> "layer_x" */
static const char *tap_name(Arena *a, const char *name)
{
        char *id = arena_alloc(a, (int64_t)strlen(name) + 1), *to = id;
        for (const char *c = name; *c; c++) {
                if (*c == '[' && !(c[1] >= '0' && c[1] <= '9'))
                        c = strchr(c, ']');
                else if (*c != ']')
                        *to++ = is_letter(*c) ? *c : '_';
        }
        *to = 0;
        return id;
}

void name_for_c(Graph *g, bool batched)
{
        int most = g->nnode + g->nnamed + g->ninput + g->noutput;
        Names names = {g, batched, NEW_ARRAY(g->arena, const char *, most), 0};
        for (int i = 0; i < g->nnamed; i++)
                g->named[i].name = give(&names, g->named[i].name, "size");
        for (int i = 0; i < g->ninput; i++)
                g->input[i].name = give(&names, g->input[i].name, "input");
        for (int i = 0; i < g->noutput; i++)
                g->output[i].name = give(
                        &names, g->output[i].tap ? tap_name(g->arena, g->output[i].tap) : g->output[i].name,
                        "output");
        name_regions(&names, g->top);
}
