/* :help: describes a command, a builtin, a definition or a variable.
 *
 * A name is looked up as in an input line: in the session, its imports, the prelude and the module of that
 * name.  Definitions in other modules of the library are found, too; the help then names the import that they
 * need. */
#include <stdlib.h>
#include <string.h>

#include "repl_private.h"

enum { MAX_NAMES = 4096 };

/* --- commands -------------------------------------------------------------------------------------------------------- */

const ReplCommand *command_named(const char *name)
{
        for (int i = 0; i < command_rows; i++)
                if (!strcmp(command_row[i].name, name))
                        return &command_row[i];
        return NULL;
}

/* ":load FILE", in columns */
static int usage_width(const ReplCommand *c)
{
        int n = (int)strlen(c->name) + 2;
        for (const char *p = c->arguments; *p; p++)
                n += ((unsigned char)*p & 0xc0) != 0x80;
        return n;
}

enum { USAGE_WIDE = 34 }; /* longer ones have a separate line */

static void print_command(const ReplCommand *c, int width)
{
        const int used = usage_width(c);
        printf("  :%s %s", c->name, c->arguments);
        if (used + 2 > width)
                printf("\n%*s%s\n", width + 2, "", c->about);
        else
                printf("%*s%s\n", width - used, "", c->about);
}

static bool list_commands(void)
{
        printf("a line is a definition, a statement or an expression of the language, or a command:\n");
        for (int i = 0; i < command_rows; i++)
                print_command(&command_row[i], USAGE_WIDE);
        return true;
}

/* --- definitions ------------------------------------------------------------------------------------------------------ */

/* Prints a part of the source as one line. */
static void print_joined(FILE *f, Span span)
{
        bool blank = true;
        for (int32_t i = span.begin; i < span.end; i++) {
                char c = span.source->text[i];
                bool is_blank = c == ' ' || c == '\t' || c == '\n';
                if (!is_blank)
                        fputc(c, f);
                else if (!blank)
                        fputc(' ', f);
                blank = is_blank;
        }
}

void print_signature(FILE *f, const Ast *def, const char *name)
{
        const bool is_member = def->kind == AST_MEMBER;
        fprintf(f, "%s %s", ast_kind_name(is_member ? AST_BLOCK : def->kind), name);
        if (!is_member && def->kind != AST_BLOCK && def->kind != AST_SCHEME)
                return;
        fputc('(', f);
        print_joined(f, def->kid[0]->span);
        fputc(')', f);
}

static bool is_one_line(Span span)
{
        return !memchr(span.source->text + span.begin, '\n', (size_t)(span.end - span.begin));
}

/* The comment lines directly above it. */
static void print_comment_above(Span span)
{
        int last = span_line(span) - 1 - span.source->before, first = last;
        int32_t n;
        for (const char *line; first >= 1; first--) {
                line = source_line_text(span.source, first, &n);
                if (n == 0 || *line != '#')
                        break;
        }
        for (int i = first + 1; i <= last; i++) {
                const char *line = source_line_text(span.source, i, &n);
                printf("%.*s\n", (int)n, line);
        }
}

/* A comment after it, on the same line. */
static void print_comment_behind(Span span)
{
        const char *at = span.source->text + span.end;
        at += strspn(at, " \t");
        if (*at == '#')
                printf("  %.*s", (int)strcspn(at, "\n"), at);
}

static void print_definition(const Definition *d, const char *comment)
{
        const Ast *def = d->ast;
        if (comment)
                printf("%s", comment);
        else
                print_comment_above(def->span);
        if (is_one_line(def->span))
                print_joined(stdout, def->span);
        else
                print_signature(stdout, def, d->name);
        print_comment_behind(def->span);
        printf("\n%s:%d\n", def->span.source->path, span_line(def->name_span));
}

/* All of the library's modules, in a program of their own. */
static Program *whole_library(ReplSession *s, Arena *a)
{
        Diag *diag = NEW(a, Diag);
        *diag = (Diag){.arena = a};
        Program *p = program_empty(a, &s->names, diag);
        for (const EmbeddedFile *f = embedded_file; f->name; f++) {
                size_t n = strlen(f->name);
                if (n > 6 && !strcmp(f->name + n - 6, ".model"))
                        library_find(p, intern(&s->names, f->name, (int)n - 6));
        }
        return p;
}

static const Definition *find_anywhere(const Program *p, const char *name)
{
        for (int i = 0; i < p->nfile; i++) {
                const Definition *d = file_find(p->file[i], name);
                if (d)
                        return d;
        }
        return NULL;
}

static void print_import(const Definition *d)
{
        printf("after `import %s`\n", d->file->name);
}

/* --- unknown names ------------------------------------------------------------------------------------------------------- */

static int help_names(const Program *p, const char **name, int n)
{
        for (int k = 0; k < p->nfile; k++)
                for (int64_t i = 0; i < p->file[k]->table.slots && n < MAX_NAMES; i++)
                        if (p->file[k]->table.slot[i])
                                name[n++] = p->file[k]->table.slot[i]->name;
        return n;
}

static bool say_unknown(ReplSession *s, const Program *library, Arena *a, const char *wanted)
{
        const char **name = NEW_ARRAY(a, const char *, MAX_NAMES + 512);
        int n = help_names(s->program, name, 0);
        n = help_names(library, name, n);
        n += builtin_names(name + n, 128);
        n += variable_names(s, name + n, 256);
        for (int i = 0; i < command_rows; i++)
                name[n++] = command_row[i].name;
        const char *near = nearest_name(wanted, name, n);
        fprintf(stderr, "lathe: error: unknown command, builtin, definition or variable %s", wanted);
        if (near)
                fprintf(stderr, "; did you mean %s?\n", near);
        else
                fprintf(stderr, "; :help lists the commands\n");
        return false;
}

/* --- the command ----------------------------------------------------------------------------------------------------------- */

static bool help_builtin(const char *name)
{
        const char *about, *takes = builtin_takes(name, &about);
        if (takes)
                printf("builtin %s(%s)\n%s\n", name, takes, about);
        return takes != NULL;
}

static bool help_number(const char *name)
{
        const bool is_number = !strcmp(name, "pi") || !strcmp(name, "inf");
        if (is_number)
                printf("a number of the language; `%s` prints it\n", name);
        return is_number;
}

static bool help_definition(ReplSession *s, const char *name)
{
        const Definition *d = file_find(s->program->main, name);
        if (!d)
                d = library_find(s->program, name);
        if (d)
                print_definition(d, d->file == s->program->main ? ((const ReplItem *)(const void *)d)->comment
                                                                : NULL);
        return d != NULL;
}

static bool help_variable(ReplSession *s, const char *name)
{
        const KeptValue *k = variables_find(&s->variables, name);
        if (k)
                printf("a variable; `%s` prints it\n", name);
        return k != NULL;
}

static bool help_library(ReplSession *s, const char *wanted)
{
        Arena a = {0};
        const Program *p = whole_library(s, &a);
        const Definition *d = find_anywhere(p, wanted);
        if (d) {
                print_definition(d, NULL);
                print_import(d);
        } else {
                say_unknown(s, p, &a, wanted);
        }
        arena_free(&a);
        return d != NULL;
}

/* A name may be both that of a command and that of a definition. */
bool show_help(ReplSession *s, const Words *w)
{
        if (w->n == 1)
                return list_commands();
        bool only_command = *w->word[1] == ':';
        const char *name = w->word[1] + only_command;
        const ReplCommand *c = command_named(name);
        if (c)
                print_command(c, usage_width(c) + 2);
        if (only_command)
                return c || find_command(name);
        name = intern(&s->names, name, -1);
        bool found = help_variable(s, name);
        found |= help_definition(s, name) || help_builtin(name) || help_number(name);
        return found || c || help_library(s, name);
}
