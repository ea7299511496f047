/* Mistakes in the statements of a model and its ancestors that have no effect of their own: a value that is
 * given twice, and a block that replaces none and is never called. */
#include "elaborate_private.h"

#include <ctype.h>
#include <string.h>

/* ---- values given twice ---- */

typedef struct {
        const Ast **first; /* trees with the name and the place of each value, by order */
        int n, capacity;
} GivenOnce;

static void given_add(Elaborator *e, GivenOnce *given, const Ast *named, const char *owner)
{
        for (int i = 0; i < given->n; i++) {
                if (given->first[i]->name != named->name)
                        continue;
                poisoned(e, named->name_span, "%s is given twice in %s", named->name, owner);
                diag_note(e->diag, given->first[i]->name_span, "the first one; remove one of the two");
                return;
        }
        GROW(e->keep, given->first, given->n, given->capacity);
        given->first[given->n++] = named;
}

/* Of a loop that is stated in several parts, too. */
static void check_loop_given(Elaborator *e, const Ast *body, const Ast *loop)
{
        GivenOnce given = {0};
        for (int k = 0; k < body->nkid; k++) {
                const Ast *s = body->kid[k];
                if (s->kind != AST_LOOP || s->name != loop->name)
                        continue;
                if (given.n == 0 && s != loop)
                        return; /* reported with its first part */
                for (int i = 0; i < s->nkid; i++)
                        given_add(e, &given, s->kid[i], arena_printf(e->keep, "loop %s", s->name));
        }
}

/* `name: value` of other languages: a value in place of a type. */
static void check_declared_type(Elaborator *e, const Ast *model, const Ast *declaration)
{
        const Ast *type = declaration->kid[1], *name = declaration->kid[0]->kid[0];
        int kind = type->kind;
        if (kind != AST_NUMBER && kind != AST_STRING && kind != AST_LIST && kind != AST_TRUE &&
            kind != AST_FALSE && kind != AST_NONE)
                return;
        poisoned(e, type->span, "expected a type after '%s :', such as int or upto(8), found a value",
                 name->name);
        diag_hint(e->diag, "a value is given by `%s%s ..`, without ':'", name->name,
                  model->kid[0] ? "" : " =");
}

/* `name value` anywhere; `name = value` and `name : type` before the structure, where they declare. */
static void check_given_once(Elaborator *e, const Ast *model)
{
        GivenOnce given = {0};
        const Ast *body = model->kid[1];
        bool structure = false;
        for (int k = 0; k < body->nkid; k++) {
                const Ast *s = body->kid[k];
                structure = structure || is_structural(s);
                if (s->kind == AST_DECL)
                        check_declared_type(e, model, s);
                if (s->kind == AST_LOOP)
                        check_loop_given(e, body, s);
                if (s->kind == AST_SETTING)
                        given_add(e, &given, s, model->name);
                if (!structure && (s->kind == AST_LET || s->kind == AST_DECL))
                        for (int i = 0; i < s->kid[0]->nkid; i++)
                                given_add(e, &given, s->kid[0]->kid[i], model->name);
        }
}

/* ---- blocks that nothing calls ---- */

static bool is_name_letter(char c)
{
        return isalnum((unsigned char)c) || c == '_';
}

/* Whether the name stands between the braces of a checkpoint's entry, or of another text: "{stem}layers.{i}.weight". */
static bool in_braces(const char *entry, const char *name)
{
        const size_t n = strlen(name);
        for (const char *at = entry; (at = strstr(at, name)); at += n) {
                const char *open = at;
                while (open > entry && *open != '{' && *open != '}')
                        open--;
                if (*open == '{' && !is_name_letter(at[-1]) && !is_name_letter(at[n]))
                        return true;
        }
        return false;
}

/* Whether an expression in the tree has the name; assigned variables don't count. */
static bool reads_name(const Ast *tree, const char *name, const Ast *except)
{
        if (!tree || tree == except || tree->kind == AST_NAMES)
                return false;
        if (tree->name == name && (tree->kind == AST_NAME || (tree->kind == AST_ARG && !tree->kid[0])))
                return true;
        if ((tree->kind == AST_MAP || tree->kind == AST_RULE || tree->kind == AST_STRING) &&
            in_braces(tree->name, name))
                return true;
        for (int i = 0; i < tree->nkid; i++)
                if (reads_name(tree->kid[i], name, except))
                        return true;
        return false;
}

/* The same for a file, of which the rest is read first. */
static bool file_reads_name(const File *file, const char *name, const Ast *except)
{
        for (int i = 0; i < file->tree->nkid; i++)
                item_read(file->program, file->tree->kid[i]);
        return reads_name(file->tree, name, except);
}

static int blocks_above(const Ast *const *model, int n, const char **name, int most)
{
        int found = 0;
        for (int i = 0; i < n; i++)
                for (int k = 0; k < model[i]->kid[1]->nkid; k++)
                        if (model[i]->kid[1]->kid[k]->kind == AST_BLOCK && found < most)
                                name[found++] = model[i]->kid[1]->kid[k]->name;
        return found;
}

/* Whether the structure of one of the models assigns or declares the name. */
static bool is_structure_value(const Ast *const *model, int n, const char *name)
{
        for (int i = 0; i < n; i++) {
                bool structure = false;
                for (int k = 0; k < model[i]->kid[1]->nkid; k++) {
                        const Ast *s = model[i]->kid[1]->kid[k];
                        structure = structure || is_structural(s);
                        for (int j = 0;
                             structure && (s->kind == AST_LET || s->kind == AST_DECL) && j < s->kid[0]->nkid;
                             j++)
                                if (s->kid[0]->kid[j]->name == name)
                                        return true;
                }
        }
        return false;
}

static void report_unused_block(Elaborator *e, const Ast *block, const char *parent, bool is_value,
                                const char *const *name, int n)
{
        if (is_value)
                poisoned(e, block->name_span,
                         "%s is a value of %s, which a block of the same name does not replace", block->name,
                         parent);
        else
                poisoned(e, block->name_span, "block %s replaces no block of %s, and nothing calls it",
                         block->name, parent);
        if (!is_value && nearest_name(block->name, name, n)) {
                hint_nearest(e, block->name, name, n);
                return;
        }
        const char *all = NULL;
        for (int i = 0; i < n; i++) {
                bool again = false;
                for (int k = 0; k < i; k++)
                        again = again || name[k] == name[i];
                if (!again)
                        all = all ? arena_printf(e->diag->arena, "%s %s", all, name[i]) : name[i];
        }
        if (all)
                diag_hint(e->diag, "the blocks that it can replace: %s", all);
}

/* Whether the model gives the name a value, or declares it (with `declared`). */
static bool gives(const Ast *model, const char *name, bool declared)
{
        bool structure = false;
        for (int k = 0; k < model->kid[1]->nkid; k++) {
                const Ast *s = model->kid[1]->kid[k];
                if (s->kind == AST_SETTING && s->name == name && !declared)
                        return true;
                structure = structure || is_structural(s);
                if (structure || (s->kind != AST_LET && (s->kind != AST_DECL || !declared)))
                        continue;
                for (int i = 0; i < s->kid[0]->nkid; i++)
                        if (s->kid[0]->kid[i]->name == name)
                                return true;
        }
        return false;
}

/* The value of an ancestor's hyperparameter is used instead of the block. */
static void check_block_of_setting(Elaborator *e, const Ast *const *model, int n, int child, const Ast *block)
{
        const Ast *parent = NULL;
        for (int i = 0; i < child && !parent; i++)
                if (gives(model[i], block->name, true))
                        parent = model[i];
        for (int i = child; i < n && parent; i++)
                if (gives(model[i], block->name, false))
                        parent = NULL;
        if (!parent)
                return;
        poisoned(e, block->name_span,
                 "%s is a hyperparameter of %s: a block of that name does not replace its value", block->name,
                 parent->name);
        diag_hint(e->diag, "give the block another name, as in `block my_%s(..)`, and set `%s my_%s`",
                  block->name, block->name, block->name);
}

/* A block may also be for descendants, which are in the same file. */
static void check_blocks_used(Elaborator *e, const Ast *const *model, int n, int child, const File *file)
{
        const char *above[128];
        int nabove = blocks_above(model, child, above, 128);
        const Ast *body = model[child]->kid[1];
        for (int k = 0; k < body->nkid; k++) {
                const Ast *block = body->kid[k];
                if (block->kind == AST_BLOCK)
                        check_block_of_setting(e, model, n, child, block);
                bool used = block->kind != AST_BLOCK;
                for (int i = 0; i < nabove && !used; i++)
                        used = above[i] == block->name;
                bool is_value = !used && is_structure_value(model, child, block->name);
                for (int i = 0; i < n && !used && !is_value; i++)
                        used = reads_name(model[i]->kid[1], block->name, block);
                if (!used && !file_reads_name(file, block->name, block))
                        report_unused_block(e, block, model[child - 1]->name, is_value, above, nabove);
        }
}

/* ---- hyperparameters that nothing reads ---- */

/* The names that models declare before their structure. */
static int names_declared(const Ast *const *model, int n, const char **name, int most)
{
        int found = 0;
        for (int i = 0; i < n; i++)
                for (int k = 0; k < model[i]->kid[1]->nkid && !is_structural(model[i]->kid[1]->kid[k]); k++) {
                        const Ast *s = model[i]->kid[1]->kid[k];
                        for (int j = 0; (s->kind == AST_LET || s->kind == AST_DECL) && j < s->kid[0]->nkid;
                             j++)
                                if (found < most)
                                        name[found++] = s->kid[0]->kid[j]->name;
                }
        return found;
}

/* `kv_head = 2`: a new name, close to one of an ancestor, that no expression of the model or its file reads. */
static void check_values_read(Elaborator *e, const Ast *const *model, int n, int child, const File *file)
{
        const char *above[256];
        const int nabove = names_declared(model, child, above, 256);
        const Ast *body = model[child]->kid[1];
        for (int k = 0; k < body->nkid && !is_structural(body->kid[k]); k++) {
                const Ast *let = body->kid[k];
                for (int j = 0; let->kind == AST_LET && j < let->kid[0]->nkid; j++) {
                        const Ast *given = let->kid[0]->kid[j];
                        bool is_known = false;
                        for (int i = 0; i < nabove && !is_known; i++)
                                is_known = above[i] == given->name;
                        for (int i = 0; i < n && !is_known; i++)
                                is_known = reads_name(model[i]->kid[1], given->name, NULL);
                        if (is_known || !nearest_name(given->name, above, nabove) ||
                            file_reads_name(file, given->name, NULL))
                                continue;
                        poisoned(e, given->name_span, "%s is a new hyperparameter, and nothing reads it",
                                 given->name);
                        hint_nearest(e, given->name, above, nabove);
                }
        }
}

void check_model_mistakes(Elaborator *e, const Ast *const *model, File *const *file, int n)
{
        for (int i = 0; i < n; i++)
                check_given_once(e, model[i]);
        for (int i = 1; i < n; i++)
                check_blocks_used(e, model, n, i, file[i]);
        for (int i = 1; i < n; i++)
                check_values_read(e, model, n, i, file[i]);
}
