/* Valid names for emitted C: names of repeats, inputs, outputs and dimensions become identifiers without
 * conflicts with keywords, functions of the runtime, variables of emitted functions, and each other. */
#include "kernels.h"

#include <string.h>

static const char *const keyword[] = {
        /* C */
        "alignas", "alignof", "asm", "auto", "bool", "break", "case", "char", "const", "continue", "default",
        "do", "double", "else", "enum", "extern", "false", "float", "for", "fortran", "goto", "if", "inline",
        "int", "long", "register", "restrict", "return", "short", "signed", "sizeof", "static", "struct",
        "switch", "true", "typedef", "typeof", "typeof_unqual", "union", "unsigned", "void", "volatile",
        "while", "main", "linux", "unix", "errno", "stdin", "stdout", "stderr", "EOF", "BUFSIZ", "NAN",
        "INFINITY", "I",
        /* C++, for the header */
        "and", "and_eq", "bitand", "bitor", "catch", "char8_t", "char16_t", "char32_t", "class", "compl",
        "concept", "consteval", "constexpr", "constinit", "const_cast", "contract_assert", "co_await",
        "co_return", "co_yield", "decltype", "delete", "dynamic_cast", "explicit", "export", "friend",
        "mutable", "namespace", "new", "noexcept", "not", "not_eq", "nullptr", "operator", "or", "or_eq",
        "private", "protected", "public", "reinterpret_cast", "requires", "static_assert", "static_cast",
        "template", "this", "thread_local", "throw", "try", "typeid", "typename", "using", "virtual",
        "wchar_t", "xor", "xor_eq"};

/* variables and members of emitted C */
static const char *const variable[] = {
        "m", "j", "n", "i", "row", "rows", "end", "thread", "threads", "acc", "panel", "s", "head", "col",
        "from", "to", "place", "context", "lo", "hi", "units", "a", "first", "chunk", "error", "arg", "run",
        "program", "advance", "active", "count", "weights", "arena", "state", "scratch", "team", "members",
        "mapped", "mapped_size", "own_memory", "whole", "done", "fed", "fed_part", "part", "all", "unit",
        "s_apart", "next", "around", "begin", "base", "caches", "held", "first_head", "end_head",
        /* of ranks */
        "ranks", "first_row", "behind_row", "ranks_by", "BY_OUTPUTS", "BY_ROWS", "WAY_BEGIN", "WAY_END",
        "way", "batches", "begun", "begun_past", "begun_sequence", "batch_sequences"};

/* functions and structs of the included headers; prefixes of functions that end like a model's function
 * ("sem_init") */
static const char *const library_word[] = {
#include "c_library.def"
};

/* members of an instance with several sequences */
static const char *const batch_word[] = {"sequence", "sequences", "range", "ranges",  "number",    "before",
                                         "slot",     "kept",      "fed",   "page_of", "page_table"};

/* NULL: not a word of the runtime. */
static const EmbeddedWord *runtime_word_of(const char *name)
{
        int at = word_slot(embedded_word, embedded_words, name, (int64_t)strlen(name));
        return embedded_word[at].named ? &embedded_word[at] : NULL;
}

#define IS_AMONG(list, name) is_among(list, sizeof(list) / sizeof *(list), name)

static bool is_among(const char *const *list, size_t n, const char *name)
{
        for (size_t i = 0; i < n; i++)
                if (!strcmp(name, list[i]))
                        return true;
        return false;
}

bool is_c_word(const char *name)
{
        if (IS_AMONG(keyword, name) || IS_AMONG(variable, name))
                return true;
        for (int op = 0; op < OP_COUNT; op++)
                if (!strcmp(name, op_info[op].text))
                        return true;
        bool numbered = (name[0] == 't' || name[0] == 'i' || name[0] == 'x' || name[0] == 'c') &&
                        name[1] >= '0' && name[1] <= '9';
        bool reserved = name[0] == '_' && (name[1] == '_' || (name[1] >= 'A' && name[1] <= 'Z'));
        const EmbeddedWord *known = runtime_word_of(name);
        return numbered || reserved || (known && known->outer);
}

/* Whether emitted C uses the word, even as a local variable. */
static bool is_emitted_word(const char *name)
{
        return runtime_word_of(name) || is_c_word(name) || IS_AMONG(batch_word, name);
}

static bool is_identifier(const char *name)
{
        for (const char *c = name; *c; c++)
                if (!is_name_char(*c))
                        return false;
        return *name && (*name < '0' || *name > '9');
}

const char *c_word_kind(const char *name)
{
        return IS_AMONG(keyword, name)        ? "a keyword or a macro of C or C++"
               : IS_AMONG(library_word, name) ? "a word of the C library"
               : is_emitted_word(name)        ? "a word of the emitted code"
                                              : NULL;
}

const char *c_name_fault(const char *name)
{
        if (!is_identifier(name))
                return "no identifier of C";
        if (*name == '_' || strstr(name, "__"))
                return "a name that C or C++ keeps for itself";
        return c_word_kind(name);
}

const char *c_model_name(Arena *a, const char *name)
{
        char *id = arena_strdup(a, name);
        for (char *c = id; *c; c++)
                if (!is_name_char(*c))
                        *c = '_';
        if (!c_name_fault(id))
                return id;
        bool front = *id == '_' || (*id >= '0' && *id <= '9');
        return arena_printf(a, front ? "model_%s" : "%s_model", id + strspn(id, "_"));
}

typedef struct {
        Graph *graph;
        bool batched;
        const char **name;
        int n;
} CNames;

static bool c_name_is_taken(const CNames *names, const char *name)
{
        for (int i = 0; i < names->n; i++)
                if (!strcmp(names->name[i], name))
                        return true;
        return false;
}

/* name; or, if taken, name_what or with a number */
static const char *names_reserve(CNames *names, const char *name, const char *what)
{
        Arena *a = names->graph->arena;
        bool word_of_ours = is_c_word(name) || c_name_is_taken(names, name) ||
                            (names->batched && IS_AMONG(batch_word, name));
        const char *own = word_of_ours ? arena_printf(a, "%s_%s", name, what) : name;
        const char *given = own;
        for (int i = 2; c_name_is_taken(names, given); i++)
                given = arena_printf(a, "%s_%d", own, i);
        return names->name[names->n++] = given;
}

static void name_regions(CNames *names, const Body *b)
{
        for (int i = 0; i < b->nnode; i++) {
                if (b->node[i]->op != OP_REPEAT)
                        continue;
                Region *r = b->node[i]->attr.region;
                r->name = names_reserve(names, r->name, "iteration");
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
                        *to++ = is_name_char(*c) ? *c : '_';
        }
        *to = 0;
        return id;
}

void name_for_c(Graph *g, const char *c_name, bool batched)
{
        int most = 1 + g->nnode + g->nnamed + g->ninput + g->noutput;
        CNames names = {g, batched, NEW_ARRAY(g->arena, const char *, most), 0};
        names.name[names.n++] = c_name;
        for (int i = 0; i < g->nnamed; i++) {
                if (!g->named[i].model_name)
                        g->named[i].model_name = g->named[i].name;
                g->named[i].name = names_reserve(&names, g->named[i].model_name, "size");
        }
        for (int i = 0; i < g->ninput; i++) {
                Input *in = &g->input[i];
                in->model_name = input_name(in);
                in->name = names_reserve(&names, in->model_name, "input");
        }
        for (int i = 0; i < g->noutput; i++) {
                Output *o = &g->output[i];
                o->model_name = output_name(o);
                o->name =
                        names_reserve(&names, o->tap ? tap_name(g->arena, o->tap) : o->model_name, "output");
        }
        name_regions(&names, g->top);
}
