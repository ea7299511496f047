/* What completes a word: names of commands, what a command takes (files, parts, passes, models, hyperparameters), and
 * elsewhere the names in sight. */
#include "repl_edit_private.h"
#include "repl_private.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_CANDIDATES = 4096 };

typedef struct {
        Arena *arena;
        const char *begin; /* of the word that is completed */
        size_t length;
        const char *found[MOST_CANDIDATES];
        int n;
} Candidates;

static void offer(Candidates *c, const char *name)
{
        if (c->n == MOST_CANDIDATES || strncmp(name, c->begin, c->length) != 0)
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

static void offer_words(Session *s, Candidates *c)
{
        static const char *const word[] = {"block",  "scheme", "model",  "checkpoint", "import", "test",
                                           "repeat", "over",   "shared", "require",    "within", "return",
                                           "weight", "none",   "true",   "false",      "then",   "else"};
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
        for (int k = 0; k < p->nfile; k++)
                for (int64_t i = 0; i < p->file[k]->table.slots; i++)
                        if (p->file[k]->table.slot[i] && (p->file[k] == p->main || p->file[k]->library))
                                offer(c, p->file[k]->table.slot[i]->name);
}

/* What the command on this line takes. */
static void offer_arguments(Session *s, Candidates *c, const char *line)
{
        const char **name = NULL;
        const char *const *part = NULL;
        int n = 0;
        size_t length = strcspn(line + 1, " \t");
        const ReplCommand *row = NULL;
        for (int i = 0; i < command_rows; i++)
                if (strlen(command_row[i].name) == length && !strncmp(command_row[i].name, line + 1, length))
                        row = &command_row[i];
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
        case TAKES_TAP: tap_names(s, c->arena, &name, &n); break;
        case TAKES_COMMAND:
                for (int i = 0; i < command_rows; i++)
                        offer(c, command_row[i].name);
                return;
        }
        for (int i = 0; i < n; i++)
                offer(c, part ? part[i] : name[i]);
}

static bool is_word(char c)
{
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static int by_name(const void *a, const void *b)
{
        return strcmp(*(const char *const *)a, *(const char *const *)b);
}

Completions complete_word(Session *s, Arena *a, const char *line, size_t cursor)
{
        size_t first = strspn(line, " \t"), begin = cursor;
        bool is_command = line[first] == ':';
        while (begin > first &&
               (is_command ? line[begin - 1] != ' ' && line[begin - 1] != '\t' : is_word(line[begin - 1])))
                begin--;
        Candidates *c = NEW(a, Candidates);
        c->arena = a;
        c->begin = line + begin;
        c->length = cursor - begin;
        if (!is_command)
                offer_words(s, c);
        else if (begin > first)
                offer_arguments(s, c, line + first);
        else
                for (int i = 0; i < command_rows; i++)
                        offer(c, arena_printf(a, ":%s", command_row[i].name));
        qsort(c->found, (size_t)c->n, sizeof *c->found, by_name);
        return (Completions){c->found, c->n, c->length, is_command};
}
