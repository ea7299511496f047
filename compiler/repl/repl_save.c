/* A session as text: `:save`.
 *
 * A file whose name ends in .model gets imports and definitions; the rest of the session cannot be part of a
 * model file and is listed.  Other files get a script for `:load`: also variables with their values, the
 * current model, its settings, tokenizer and weights.  Definitions are written as they were typed, with the
 * comments before them. */
#include "repl_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SAVED = 500000 }; /* of a variable: an input of the REPL has at most 16 MB */

typedef struct {
        const ReplSession *s;
        Arena arena;
        Text *text;
        Program *places; /* resolves imports */
        Diag diag;
        const char *path;
        const char **imported; /* paths of modules */
        int nimported;
        const char *too_large; /* name of a variable */
        bool one_line;         /* print values on one line */
} Save;

/* --- as it was written ------------------------------------------------------------------------------------------------ */

static int32_t source_line_begin(const Source *source, int32_t at)
{
        while (at > 0 && source->text[at - 1] != '\n')
                at--;
        return at;
}

static int32_t skip(const Source *source, int32_t at, const char *bytes)
{
        return at + (int32_t)strspn(source->text + at, bytes);
}

static int32_t source_line_end(const Source *source, int32_t at)
{
        return at + (int32_t)strcspn(source->text + at, "\n");
}

/* Start of the comment lines before this byte, with empty lines between them. */
static int32_t comments_before(const Source *source, int32_t at)
{
        int32_t line = source_line_begin(source, at), first = at;
        if (skip(source, line, " \t") < at)
                return at;
        while (line > 0) {
                line = source_line_begin(source, line - 1);
                int32_t begin = skip(source, line, " \t\r");
                if (source->text[begin] == '#')
                        first = line;
                else if (source->text[begin] != '\n')
                        break;
        }
        return first;
}

/* End of a comment in the same line, and of those up to the source's end. */
static int32_t comments_behind(const Source *source, int32_t at)
{
        int32_t next = skip(source, at, " \t"),
                end = source->text[next] == '#' ? source_line_end(source, next) : at, last = end;
        for (next = skip(source, end, " \t\r\n"); source->text[next] == '#';
             next = skip(source, last, " \t\r\n"))
                last = source_line_end(source, next);
        return source->text[next] ? end : last;
}

static bool has_blank_line_before(const Source *source, int32_t at)
{
        int32_t line = source_line_begin(source, at);
        return line > 0 && source->text[skip(source, source_line_begin(source, line - 1), " \t\r")] == '\n';
}

static void add_source(Save *v, const Source *source, int32_t begin, int32_t end)
{
        text_add(v->text, source->text + begin, end - begin);
}

static void save_item(Save *v, const ReplItem *item)
{
        Span span = item->def.ast->span;
        int32_t begin = comments_before(span.source, span.begin),
                end = comments_behind(span.source, span.end);
        if (v->text->n && (item->comment || has_blank_line_before(span.source, begin)))
                text_printf(v->text, "\n");
        if (item->comment)
                text_printf(v->text, "%s", item->comment);
        add_source(v, span.source, begin, end);
        text_printf(v->text, "\n");
}

/* --- imports ------------------------------------------------------------------------------------------------------------ */

static bool is_imported(Save *v, const char *path)
{
        for (int i = 0; i < v->nimported; i++)
                if (!strcmp(v->imported[i], path))
                        return true;
        v->imported[v->nimported++] = path;
        return false;
}

/* Adds a module once; by another path if the written one would find another file, or none. */
static void add_import_line(Save *v, const ReplImport *import)
{
        const Ast *ast = import->ast;
        const Source *source = ast->span.source;
        const char *from = program_import_path(v->places, import->from, ast);
        text_printf(v->text, "%s", import->comment ? import->comment : "");
        add_source(v, source, comments_before(source, ast->span.begin), ast->span.begin);
        if (!from || is_imported(v, from))
                return;
        const char *here = program_import_path(v->places, v->path, ast);
        if (here && !strcmp(path_from(&v->arena, v->path, here), path_from(&v->arena, v->path, from)))
                add_source(v, source, ast->span.begin, ast->span.end);
        else
                text_printf(v->text, "import %s",
                            quoted_text(&v->arena, path_from(&v->arena, v->path, from)));
        add_source(v, source, ast->span.end, comments_behind(source, ast->span.end));
        text_printf(v->text, "\n");
}

/* --- variables ------------------------------------------------------------------------------------------------------------ */

static void add_number(Save *v, double x, DType dtype)
{
        if (dtype == BOOL)
                text_printf(v->text, x != 0 ? "true" : "false");
        else if (isnan(x))
                text_printf(v->text, "(inf - inf)");
        else if (isinf(x))
                text_printf(v->text, x < 0 ? "-inf" : "inf");
        else if (dtype == INT)
                text_printf(v->text, "%.0f", x);
        else
                text_printf(v->text, x == floor(x) && fabs(x) < 1e17 ? "%.1f" : "%.17g", x);
}

static const double *save_axis(Save *v, const KeptValue *k, DType dtype, int axis, const double *at)
{
        text_printf(v->text, "[");
        for (int64_t i = 0; i < k->dim[axis]; i++) {
                if (i > 0)
                        text_printf(v->text, axis + 1 < k->rank && !v->one_line ? ",\n" : ", ");
                if (axis + 1 < k->rank)
                        at = save_axis(v, k, dtype, axis + 1, at);
                else
                        add_number(v, *at++, dtype);
        }
        text_printf(v->text, "]");
        return at;
}

/* Writes an expression whose value is a tensor, not a list: of reals, integers or bools. */
static void add_tensor(Save *v, const KeptValue *k)
{
        static const struct {
                const char *before, *behind;
        } around[] = {[REAL] = {"real(", ")"}, [INT] = {"floor(real(", "))"}, [BOOL] = {"(real(", ") == 1)"}};
        KeptValue row = *k;
        if (k->rank == 0)
                row.dim[row.rank++] = 1;
        text_printf(v->text, "%s", around[k->dtype].before);
        save_axis(v, &row, REAL, 0, k->data);
        text_printf(v->text, "%s%s", around[k->dtype].behind, k->rank ? "" : "[0]");
}

static int64_t kept_elements(const KeptValue *k)
{
        int64_t n = 1;
        for (int i = 0; i < k->rank; i++)
                n *= k->dim[i];
        for (int i = 0; i < k->n; i++)
                n += kept_elements(k->item[i]);
        return n;
}

static void save_value(Save *v, const KeptValue *k)
{
        switch ((int)k->kind) {
        case V_BOOL: add_number(v, k->number, BOOL); break;
        case V_INT: add_number(v, k->number, INT); break;
        case V_REAL: add_number(v, k->number, REAL); break;
        case V_TEXT: text_printf(v->text, "%s", quoted_text(&v->arena, k->text)); break;
        case V_TENSOR: add_tensor(v, k); break;
        case V_LIST:
                if (k->data) {
                        save_axis(v, k, k->dtype, 0, k->data);
                        break;
                }
                text_printf(v->text, "[");
                for (int i = 0; i < k->n; i++) {
                        text_printf(v->text, i ? ", " : "");
                        save_value(v, k->item[i]);
                }
                text_printf(v->text, "]");
                break;
        default: text_printf(v->text, "none");
        }
}

static bool is_statement(const KeptValue *k)
{
        return k->statement != NULL;
}

/* A value that is kept as its statement is written as that, after the variables that it uses. */
static void add_variable(Save *v, const char *name, const KeptValue *k)
{
        if (!is_statement(k)) {
                if (kept_elements(k) > MAX_SAVED)
                        v->too_large = name;
                else {
                        text_printf(v->text, "%s = ", name);
                        save_value(v, k);
                        text_printf(v->text, "\n");
                }
                return;
        }
        for (int i = 0; i < k->read.n; i++)
                add_variable(v, k->read.at[i].name, k->read.at[i].value);
        add_source(v, k->statement->span.source, k->statement->span.begin, k->statement->span.end);
        text_printf(v->text, "\n");
}

static int by_evaluation(const void *a, const void *b)
{
        const Variable *p = a, *q = b;
        return p->value->evaluation < q->value->evaluation ? -1 : p->value->evaluation > q->value->evaluation;
}

/* Writes statements in the order of input, since each may set several variables; then current values. */
static void add_variables(Save *v)
{
        const Variables *all = &v->s->variables;
        Variable *sorted = NEW_ARRAY(&v->arena, Variable, all->n);
        if (all->n)
                memcpy(sorted, all->at, (size_t)all->n * sizeof *sorted);
        qsort(sorted, (size_t)all->n, sizeof *sorted, by_evaluation);
        for (int values = 0; values < 2; values++)
                for (int i = 0; i < all->n; i++)
                        if (is_statement(sorted[i].value) == !values &&
                            strcmp(sorted[i].name, last_result) != 0)
                                add_variable(v, sorted[i].name, sorted[i].value);
}

/* --- main function ---------------------------------------------------------------------------------------------------------------- */

/* Definitions that may use variables follow them in a script. */
static bool uses_variables(const Ast *ast)
{
        return ast->kind == AST_MODEL || ast->kind == AST_TEST;
}

static void save_definitions(Save *v, bool blocks, bool others)
{
        for (int i = 0; i < v->s->nitem; i++)
                if (uses_variables(v->s->item[i]->def.ast) ? others : blocks)
                        save_item(v, v->s->item[i]);
}

/* Commands of the REPL that set an option, and whether its value is quoted. */
static const struct {
        OptionId id;
        bool is_quoted;
} saved_option[] = {{OPT_TOKENIZER, true}, {OPT_WEIGHTS, true}, {OPT_QUANT, false}, {OPT_KV, false}};
enum { SAVED_OPTIONS = sizeof saved_option / sizeof *saved_option };

/* NULL: not set. */
static const char *saved_value(const ReplSession *s, int i)
{
        CommandOptions o = s->options;
        if (saved_option[i].id == OPT_KV)
                return o.kv ? storage_info[o.kv].text : NULL;
        return *option_value(&o, saved_option[i].id);
}

static const char *command_of_option(int i)
{
        return option_info(saved_option[i].id)->name + 2;
}

static void save_adapters(Save *v)
{
        const CommandOptions *o = &v->s->options;
        for (int i = 0; i < o->nadapter; i++) {
                const char *word =
                        arena_printf(&v->arena, "%s=%.17g", o->adapter[i].path, o->adapter[i].scale);
                text_printf(v->text, "%s%s%s", i ? "" : ":lora", " ", quoted_text(&v->arena, word));
        }
        if (o->nadapter)
                text_printf(v->text, "\n");
}

static void save_settings(Save *v)
{
        const ReplSession *s = v->s;
        if (s->model)
                text_printf(v->text, ":model %s\n", s->model);
        for (int i = 0; i < s->options.noverride; i++)
                text_printf(v->text, ":set %s %s\n", s->options.override[i].name,
                            s->options.override[i].value);
        for (int i = 0; i < SAVED_OPTIONS; i++) {
                const char *value = saved_value(s, i);
                if (value)
                        text_printf(v->text, ":%s %s\n", command_of_option(i),
                                    saved_option[i].is_quoted ? quoted_text(&v->arena, value) : value);
        }
        save_adapters(v);
        v->one_line = true; /* a command is one line */
        for (int i = 0; i < s->input.n; i++) {
                text_printf(v->text, ":input ");
                add_variable(v, s->input.at[i].name, s->input.at[i].value);
        }
}

static void note_left_out(Save *v)
{
        const ReplSession *s = v->s;
        Text *names = text_new(&v->arena);
        for (int i = 0; i < s->variables.n; i++)
                if (strcmp(s->variables.at[i].name, last_result) != 0)
                        text_printf(names, ", %s", s->variables.at[i].name);
        for (int i = 0; i < s->options.noverride; i++)
                text_printf(names, ", :set %s", s->options.override[i].name);
        for (int i = 0; i < SAVED_OPTIONS; i++)
                if (saved_value(s, i))
                        text_printf(names, ", :%s", command_of_option(i));
        if (s->options.nadapter)
                text_printf(names, ", :lora");
        for (int i = 0; i < s->input.n; i++)
                text_printf(names, ", :input %s", s->input.at[i].name);
        if (names->n)
                printf("not saved, since a model file holds only definitions: %s\nto save the whole session "
                       "as a script, choose a name that does not end in .model\n",
                       names->data + 2);
}

static bool write_session(Save *v)
{
        const ReplSession *s = v->s;
        bool is_model = is_model_file(v->path);
        v->diag.arena = &v->arena;
        v->text = text_new(&v->arena);
        v->places = program_empty(&v->arena, &(Interner){.arena = &v->arena}, &v->diag);
        v->imported = NEW_ARRAY(&v->arena, const char *, s->nimport);
        for (int i = 0; i < s->nimport; i++)
                add_import_line(v, &s->import[i]);
        save_definitions(v, true, is_model);
        if (!is_model) {
                add_variables(v);
                save_definitions(v, false, true);
                save_settings(v);
        }
        if (s->comment)
                text_printf(v->text, "\n%s", s->comment);
        if (v->too_large)
                return repl_error("%s has more than %d elements, and can't be saved as text: assign none "
                                  "to it to save the "
                                  "others",
                                  v->too_large, MAX_SAVED);
        input_to_replace(v->path);
        if (!write_file(v->path, v->text->data, v->text->n))
                return false;
        if (is_model)
                note_left_out(v);
        return true;
}

bool session_save(const ReplSession *s, const char *path)
{
        Save v = {.s = s, .path = path};
        jmp_buf out_of_memory;
        volatile bool good = false;
        v.arena.out_of_memory = &out_of_memory;
        if (!setjmp(out_of_memory))
                good = write_session(&v);
        else
                repl_error("%s", no_memory);
        arena_free(&v.arena);
        return good;
}
