/* Notes for users of PyTorch and NumPy: their words, and the same in the language. */
#include "elaborate_private.h"

#include <string.h>

typedef struct {
        const char *word, *ours, *remark;
        bool method;
} ForeignWord;

static const ForeignWord foreign_word[] = {
#define FOREIGN(word, ours, remark) {#word, ours, remark, false},
#define METHOD(word, ours, remark) {#word, ours, remark, true},
#define SETTING(word, ours)
#include "foreign_words.def"
#undef FOREIGN
#undef METHOD
#undef SETTING
};

static const char *const foreign_setting[][2] = {
#define FOREIGN(word, ours, remark)
#define METHOD(word, ours, remark)
#define SETTING(word, ours) {#word, #ours},
#include "foreign_words.def"
#undef FOREIGN
#undef METHOD
#undef SETTING
};

bool hint_foreign(Elaborator *e, const char *word, bool method)
{
        for (size_t i = 0; i < sizeof foreign_word / sizeof *foreign_word; i++) {
                const ForeignWord *f = &foreign_word[i];
                if (strcmp(f->word, word) != 0 || (f->method && !method))
                        continue;
                diag_hint(e->diag, "%s is written `%s`%s", word, f->ours, f->remark);
                return true;
        }
        return false;
}

/* n_layer 12, in a model that has `layers`. */
bool hint_foreign_setting(Elaborator *e, const char *word, const char *const *name, int n)
{
        for (size_t i = 0; i < sizeof foreign_setting / sizeof *foreign_setting; i++) {
                if (strcmp(foreign_setting[i][0], word) != 0)
                        continue;
                for (int k = 0; k < n; k++)
                        if (strcmp(foreign_setting[i][1], name[k]) == 0) {
                                diag_hint(e->diag, "%s is called %s here", word, name[k]);
                                return true;
                        }
        }
        return false;
}

/* x.sum(): the block or builtin of that name is called with x. */
bool hint_method(Elaborator *e, Scope *scope, const Ast *field)
{
        Value v;
        if (hint_foreign(e, field->name, true))
                return true;
        if (!scope_find(e, scope, field->name, true, &v))
                return false;
        const char *x = field->kid[0]->kind == AST_NAME ? field->kid[0]->name : "x";
        diag_hint(e->diag, "values have no methods: write %s(%s)", field->name, x);
        return true;
}

/* nn.Linear, torch.nn.functional.gelu: true if the first name is such a package, and none of the file's. */
bool report_package(Elaborator *e, Scope *scope, const Ast *field)
{
        static const char *const package[] = {"torch", "nn", "F", "np", "numpy", "math", "jnp", "tf"};
        const Ast *root = field;
        Value v;
        while (root->kind == AST_FIELD)
                root = root->kid[0];
        if (root->kind != AST_NAME || scope_find(e, scope, root->name, false, &v))
                return false;
        for (size_t i = 0; i < sizeof package / sizeof *package; i++) {
                if (strcmp(package[i], root->name) != 0)
                        continue;
                poisoned(e, field->span,
                         "unknown package %s: blocks and builtins are called without a prefix", root->name);
                if (!hint_foreign(e, field->name, false) && scope_find(e, scope, field->name, false, &v))
                        diag_hint(e->diag, "write %s without %s.", field->name, root->name);
                return true;
        }
        return false;
}

/* `dim`, `keepdim` for a callee whose axis is given by `axis:`, or is always the last. */
void hint_axis(Elaborator *e, const char *callee, const char *option, bool has_axis)
{
        if (strncmp(option, "keepdim", strlen("keepdim")) == 0 && has_axis)
                diag_hint(e->diag, "%s(x) keeps the last axis, with size 1; %s(x, axis: 1) removes the axis",
                          callee, callee);
        else if (has_axis && strcmp(option, "dim") == 0)
                diag_hint(e->diag, "an axis is given by `axis:`, as in %s(x, axis: 1)", callee);
        else if (strcmp(callee, "softmax") == 0 &&
                 (strcmp(option, "dim") == 0 || strcmp(option, "axis") == 0))
                diag_hint(e->diag, "softmax is along the last axis; along the one before: softmax(x')'");
}
