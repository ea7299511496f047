/* Completes a word: names of commands, their arguments (files, parts, passes, models, hyperparameters), and
 * elsewhere visible names: a call's named parameters, members after a dot, and values of the current
 * model. */
#include "repl_private.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_CANDIDATES = 4096 };

typedef struct {
        Arena *arena;
        const char *begin; /* start of the completed word */
        size_t length;
        const char *found[MAX_CANDIDATES];
        int n;
} Candidates;

static void offer(Candidates *c, const char *name)
{
        if (c->n == MAX_CANDIDATES || strncmp(name, c->begin, c->length) != 0)
                return;
        for (int i = 0; i < c->n; i++)
                if (!strcmp(c->found[i], name))
                        return;
        c->found[c->n++] = arena_strdup(c->arena, name);
}

static void offer_files(Candidates *c)
{
        const char *slash = NULL;
        for (size_t i = 0; i < c->length; i++)
                if (c->begin[i] == '/')
                        slash = c->begin + i;
        size_t n = slash ? (size_t)(slash - c->begin) + 1 : 0;
        const char *folder = n ? arena_strndup(c->arena, c->begin, (int64_t)n) : "";
        DIR *dir = opendir(n ? folder : ".");
        for (struct dirent *d; dir && (d = readdir(dir));) {
                const char *path = arena_printf(c->arena, "%s%s", folder, d->d_name);
                if (d->d_name[0] == '.' && c->length == n)
                        continue;
                DIR *inner = opendir(path);
                offer(c, inner ? arena_printf(c->arena, "%s/", path) : path);
                if (inner)
                        closedir(inner);
        }
        if (dir)
                closedir(dir);
}

static void offer_words(ReplSession *s, Candidates *c)
{
        static const char *const word[] = {"block",   "scheme", "model",  "checkpoint", "import",
                                           "test",    "repeat", "over",   "along",      "shared",
                                           "require", "within", "return", "weight",     "none",
                                           "true",    "false",  "then",   "else"};
        const char *name[256];
        for (size_t i = 0; i < sizeof word / sizeof *word; i++)
                offer(c, word[i]);
        int n = variable_names(s, name, 256);
        for (int i = 0; i < n; i++)
                offer(c, name[i]);
        n = builtin_names(name, 256);
        for (int i = 0; i < n; i++)
                offer(c, name[i]);
        const Program *p = s->program;
        /* loads the library, which is parsed at the first lookup */
        library_find(s->program, intern(&s->names, "linear", -1));
        for (int k = 0; k < p->nfile; k++)
                for (int64_t i = 0; i < p->file[k]->table.slots; i++)
                        if (p->file[k]->table.slot[i] && (p->file[k] == p->main || p->file[k]->library))
                                offer(c, p->file[k]->table.slot[i]->name);
}

static const Definition *find_definition(ReplSession *s, const char *name, size_t n)
{
        const char *word = intern(&s->names, name, (int32_t)n);
        const Definition *d = file_find(s->program->main, word);
        return d ? d : library_find(s->program, word);
}

/* --- a call's parameters ---------------------------------------------------------------------------------------------- */

/* Start of the call around the cursor: its bracket; NULL: none. */
static const char *open_call(const char *line, const char *cursor)
{
        int closed = 0;
        for (const char *at = cursor; at-- > line;) {
                closed += strchr(")]}", *at) != NULL;
                if (!strchr("([{", *at))
                        continue;
                if (closed-- == 0)
                        return *at == '(' && at > line && is_name_char(at[-1]) ? at : NULL;
        }
        return NULL;
}

/* "x; axis, before": the names after the semicolon. */
static void offer_builtin_parameters(Candidates *c, const char *takes)
{
        for (const char *at = strchr(takes, ';'); at && *at; at += strcspn(at, ",")) {
                at += strspn(at, ";, ");
                const size_t n = strcspn(at, ", ");
                if (n)
                        offer(c, arena_printf(c->arena, "%.*s:", (int)n, at));
        }
}

static bool offer_parameters(ReplSession *s, Candidates *c, const char *line)
{
        const char *open = open_call(line, c->begin), *name = open, *about;
        while (name && name > line && is_name_char(name[-1]))
                name--;
        if (!open)
                return false;
        const Definition *d = find_definition(s, name, (size_t)(open - name));
        const char *takes = builtin_takes(arena_strndup(c->arena, name, open - name), &about);
        if (!d && takes)
                offer_builtin_parameters(c, takes);
        if (!d || (d->ast->kind != AST_BLOCK && d->ast->kind != AST_SCHEME))
                return c->n > 0;
        const Ast *by_name = d->ast->kid[0]->kid[1];
        for (int i = 0; by_name && i < by_name->nkid; i++)
                offer(c, arena_printf(c->arena, "%s:", by_name->kid[i]->name));
        return c->n > 0;
}

/* --- after a point ------------------------------------------------------------------------------------------------------ */

static void offer_members_of(Candidates *c, const Definition *d)
{
        const Ast *members = d && d->ast->kind == AST_SCHEME ? d->ast->kid[1] : NULL;
        for (int i = 0; members && i < members->nkid; i++)
                if (members->kid[i]->kind == AST_MEMBER)
                        offer(c, members->kid[i]->name);
}

/* The members of the scheme in a statement `places = rope(theta: 1e6)`. */
static void offer_members_of_statement(ReplSession *s, Candidates *c, const Ast *statement)
{
        const Ast *value = statement && statement->kind == AST_LET ? statement->kid[1] : NULL;
        const Ast *name = value && value->kind == AST_CALL ? value->kid[0] : value;
        if (name && name->kind == AST_NAME)
                offer_members_of(c, find_definition(s, name->name, strlen(name->name)));
}

static void offer_members(ReplSession *s, Candidates *c, const char *line)
{
        const char *point = c->begin - 1, *name = point;
        while (name > line && is_name_char(name[-1]))
                name--;
        const KeptValue *k = variables_find(&s->variables, intern(&s->names, name, (int32_t)(point - name)));
        if (k && (k->kind == V_TENSOR || k->data)) {
                offer(c, "dim");
                offer(c, "shape");
        }
        if (k && k->kind == V_LIST)
                offer(c, "len");
        if (k)
                offer_members_of_statement(s, c, k->statement);
        else if (name < point)
                offer_members_of(c, find_definition(s, name, (size_t)(point - name)));
}

/* --- values of the current model ----------------------------------------------------------------------------------------- */

/* "layer[i].attn" with the iteration of the word: "layer[3].attn". */
static void offer_tap(Candidates *c, const char *name)
{
        char *text = arena_alloc(c->arena, (int64_t)(strlen(name) + c->length) + 1), *to = text;
        const char *word = c->begin, *end = word + c->length;
        while (*name) {
                const char *close = word < end && *word == '[' && *name == '['
                                            ? memchr(word, ']', (size_t)(end - word))
                                            : NULL;
                if (close) {
                        while (word <= close)
                                *to++ = *word++;
                        name = strchr(name, ']') + 1;
                        continue;
                }
                word += word < end;
                *to++ = *name++;
        }
        *to = 0;
        offer(c, text);
}

static void offer_taps(ReplSession *s, Candidates *c)
{
        const char **name = NULL;
        int n = 0;
        tap_names(s, c->arena, &name, &n);
        for (int i = 0; i < n; i++)
                offer_tap(c, name[i]);
}

/* The paths of values that the word may end: layer[3].attn.q */
static void offer_paths(ReplSession *s, Candidates *c, const char *line)
{
        const char *begin = c->begin, *end = c->begin + c->length;
        while (begin > line && (is_name_char(begin[-1]) || strchr(".[]", begin[-1])))
                begin--;
        if (!s->model || !memchr(begin, '.', (size_t)(end - begin)))
                return;
        c->begin = begin;
        c->length = (size_t)(end - begin);
        offer_taps(s, c);
}

/* Names allowed in an expression. */
static void offer_in_language(ReplSession *s, Candidates *c, const char *line)
{
        if (c->begin > line && c->begin[-1] == '.') {
                offer_members(s, c, line);
                if (!c->n)
                        offer_paths(s, c, line);
                return;
        }
        if (!offer_parameters(s, c, line) || c->length)
                offer_words(s, c);
}

static const ReplCommand *repl_command_row(Arena *a, const char *line)
{
        return command_named(arena_strndup(a, line + 1, (int64_t)strcspn(line + 1, " \t")));
}

/* The arguments of this line's command. */
static void offer_arguments(ReplSession *s, Candidates *c, const char *line)
{
        const char **name = NULL;
        const char *const *part = NULL;
        int n = 0;
        const ReplCommand *row = repl_command_row(c->arena, line);
        if (!row)
                return;
        switch (row->completes) {
        case TAKES_NOTHING: return;
        case TAKES_FILE: offer_files(c); return;
        case TAKES_PART: n = model_parts(&part); break;
        case TAKES_PASS:
                for (int i = 0; i < PASS_COUNT; i++)
                        offer(c, pass_table[i].name);
                return;
        case TAKES_HYPER: hyper_names(s, c->arena, &name, &n); break;
        case TAKES_MODEL: name = session_models(s, c->arena, &n); break;
        case TAKES_TAP: offer_taps(s, c); return;
        case TAKES_EXPRESSION: return;
        case TAKES_COMMAND:
                offer_words(s, c);
                for (int i = 0; i < command_rows; i++)
                        offer(c, command_row[i].name);
                return;
        }
        for (int i = 0; i < n; i++)
                offer(c, part ? part[i] : name[i]);
}

static int compare_words(const void *a, const void *b)
{
        return strcmp(*(const char *const *)a, *(const char *const *)b);
}

Completions complete_word(void *session, Arena *a, const char *line, size_t cursor)
{
        ReplSession *s = session;
        size_t first = strspn(line, " \t"), begin = cursor;
        bool is_command = line[first] == ':';
        const ReplCommand *row = is_command ? repl_command_row(a, line + first) : NULL;
        if (row && row->completes == TAKES_EXPRESSION && cursor > first + 1 + strlen(row->name))
                is_command = false;
        while (begin > first && (is_command ? line[begin - 1] != ' ' && line[begin - 1] != '\t'
                                            : is_name_char(line[begin - 1])))
                begin--;
        Candidates *c = NEW(a, Candidates);
        c->arena = a;
        c->begin = line + begin;
        c->length = cursor - begin;
        if (!is_command)
                offer_in_language(s, c, line);
        else if (begin > first)
                offer_arguments(s, c, line + first);
        else
                for (int i = 0; i < command_rows; i++)
                        offer(c, arena_printf(a, ":%s", command_row[i].name));
        qsort(c->found, (size_t)c->n, sizeof *c->found, compare_words);
        return (Completions){c->found, c->n, c->length, is_command};
}
