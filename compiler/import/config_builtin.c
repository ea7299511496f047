/* What config items can call beside their own blocks: of the language's builtins those of numbers and lists, and those that are for
 * files.  Of weights beside the file: has("tensor"), shape("tensor"), numbers("tensor"); of the
 * tokenizer: token("text"). */
#include <math.h>
#include <string.h>

#include "import_private.h"

enum { MAX_NUMBERS = 4096 };

typedef struct {
        Import *m;
        int n;
        const char *const *name;
        const Said *value;
        Span span;
} Call;

struct ConfigBuiltin {
        const char *name;
        int least, most;     /* arguments; most -1: any number */
        const char *by_name; /* the last one's name, or NULL: all by position */
        Said (*run)(const Call *c);
};

static Said wanted(const Call *c, const char *what, Said v)
{
        return config_error(c->m, c->span, "%s is wanted here, not %s", what, said_kind_name(v));
}

static Said new_list(Import *m, int n, const Said *item)
{
        SaidList *list = NEW(m->arena, SaidList);
        *list = (SaidList){n, NEW_ARRAY(m->arena, Said, n)};
        if (n)
                memcpy(list->item, item, (size_t)n * sizeof *item);
        return (Said){.kind = SAID_LIST, .list = list};
}

static Said run_given(const Call *c)
{
        for (int i = 0; i < c->n; i++)
                if (c->value[i].kind != SAID_NONE)
                        return c->value[i];
        return (Said){0};
}

static Said run_contains(const Call *c)
{
        if (c->value[0].kind != SAID_LIST)
                return wanted(c, "a list", c->value[0]);
        for (int i = 0; i < c->value[0].list->n; i++)
                if (said_same(c->value[0].list->item[i], c->value[1]))
                        return said_bool(true);
        return said_bool(false);
}

/* An object as it is, of all else none. */
static Said run_fields(const Call *c)
{
        return c->value[0].kind == SAID_OBJECT ? c->value[0] : (Said){0};
}

static Said run_len(const Call *c)
{
        Said v = c->value[0];
        if (v.kind == SAID_LIST || v.kind == SAID_OBJECT)
                return said_number(v.kind == SAID_LIST ? v.list->n : v.object->n, true);
        return wanted(c, "a list or an object", v);
}

static Said run_range(const Call *c)
{
        Said n = c->value[0];
        if (n.kind != SAID_NUMBER || n.number != floor(n.number) || n.number < 0)
                return wanted(c, "a whole number from 0 on", n);
        if (n.number > MAX_ELEMENTS)
                return config_error(c->m, c->span, "a list of %.0f elements is too long: at most %d",
                                    n.number, MAX_ELEMENTS);
        Said *item = NEW_ARRAY(c->m->arena, Said, (int64_t)n.number);
        for (int i = 0; i < (int)n.number; i++)
                item[i] = said_number(i, true);
        return new_list(c->m, (int)n.number, item);
}

/* f of each element: a block of an item is run, one of the library becomes a call. */
static Said run_each(const Call *c)
{
        Said list = c->value[0], f = c->value[1];
        static const char *const by_position[1] = {NULL};
        if (list.kind != SAID_LIST)
                return wanted(c, "a list", list);
        if (f.kind != SAID_BLOCK)
                return wanted(c, "a block of the item", f);
        Said *item = NEW_ARRAY(c->m->arena, Said, list.list->n);
        for (int i = 0; i < list.list->n; i++)
                item[i] = config_call(c->m, f.block, 1, by_position, &list.list->item[i], c->span);
        return new_list(c->m, list.list->n, item);
}

/* The shortest part that, repeated and cut to length, is the list; of one element that element, as of what is no
 * list.  What begins the list and ends it too is as long as the list less that part (Knuth, Morris and Pratt 1977). */
static Said run_period(const Call *c)
{
        if (c->value[0].kind != SAID_LIST)
                return c->value[0];
        const SaidList *l = c->value[0].list;
        int *border = NEW_ARRAY(c->m->arena, int,
                                l->n + 1); /* of the first i + 1 elements: the longest such part */
        for (int i = 1; i < l->n; i++) {
                int k = border[i - 1];
                while (k && !said_same(l->item[i], l->item[k]))
                        k = border[k - 1];
                border[i] = k + said_same(l->item[i], l->item[k]);
        }
        int length = l->n ? l->n - border[l->n - 1] : 0;
        return length == 1 ? l->item[0] : new_list(c->m, length, l->item);
}

static Said number_of(const Call *c, double (*f)(double), bool is_int)
{
        Said v = c->value[0];
        if (v.kind != SAID_NUMBER)
                return wanted(c, "a number", v);
        return said_number(f(v.number), is_int);
}

static Said run_log(const Call *c)
{
        return c->value[0].kind == SAID_NUMBER && c->value[0].number <= 0
                       ? wanted(c, "a number above 0", c->value[0])
                       : number_of(c, real_log, false);
}

static Said run_erf(const Call *c)
{
        return number_of(c, real_erf, false);
}
static Said run_exp(const Call *c)
{
        return number_of(c, real_exp, false);
}
static Said run_sqrt(const Call *c)
{
        return number_of(c, sqrt, false);
}
static Said run_whole(const Call *c)
{
        return number_of(c, trunc, true);
}
static Said run_floor(const Call *c)
{
        return number_of(c, floor, true);
}

static Said extreme(const Call *c, double sign)
{
        Said best = c->value[0];
        for (int i = 0; i < c->n; i++) {
                if (c->value[i].kind != SAID_NUMBER)
                        return wanted(c, "a number", c->value[i]);
                if (sign * c->value[i].number > sign * best.number)
                        best = c->value[i];
        }
        return best;
}

static Said run_min(const Call *c)
{
        return extreme(c, -1);
}
static Said run_max(const Call *c)
{
        return extreme(c, 1);
}

/* ---- weights ---- */

static const CkTensor *nth_tensor(const Call *c, int i)
{
        if (c->value[i].kind != SAID_TEXT)
                wanted(c, "a tensor's name", c->value[i]);
        return c->m->failed || !c->m->tensors ? NULL : checkpoint_find(c->m->tensors, c->value[i].text);
}

static const CkTensor *tensor_of(const Call *c)
{
        c->m->asked_tensors = true;
        return nth_tensor(c, 0);
}

static Said run_has(const Call *c)
{
        return said_bool(tensor_of(c) != NULL);
}

static Said run_shape(const Call *c)
{
        const CkTensor *t = tensor_of(c);
        Said size[CK_MAX_RANK];
        for (int i = 0; t && i < t->rank; i++)
                size[i] = said_number((double)t->shape[i], true);
        return t ? new_list(c->m, t->rank, size) : (Said){0};
}

static Said run_numbers(const Call *c)
{
        const CkTensor *t = tensor_of(c);
        if (!t)
                return (Said){0};
        if (t->count > MAX_NUMBERS)
                return config_error(c->m, c->span, "%s has more than %d elements", t->name, MAX_NUMBERS);
        double *x = NEW_ARRAY(c->m->arena, double, t->count);
        Said *item = NEW_ARRAY(c->m->arena, Said, t->count);
        if (!checkpoint_read_f64(t, 0, t->count, x))
                return config_error(c->m, c->span, "%s can't be read as numbers", t->name);
        for (int64_t i = 0; i < t->count; i++)
                item[i] = said_number(x[i], false);
        return new_list(c->m, (int)t->count, item);
}

/* Whether two tensors hold the same numbers, read up to the first block that differs. */
static bool same_numbers(Import *m, const CkTensor *a, const CkTensor *b)
{
        if (a->rank != b->rank || memcmp(a->shape, b->shape, (size_t)a->rank * sizeof *a->shape) != 0)
                return false;
        double *x = NEW_ARRAY(m->arena, double, CK_BLOCK), *y = NEW_ARRAY(m->arena, double, CK_BLOCK);
        for (int64_t at = 0; at < a->count; at += CK_BLOCK) {
                int64_t n = a->count - at < CK_BLOCK ? a->count - at : CK_BLOCK;
                if (!checkpoint_read_f64(a, at, n, x) || !checkpoint_read_f64(b, at, n, y) ||
                    memcmp(x, y, (size_t)n * sizeof *x) != 0)
                        return false;
        }
        return true;
}

/* No answer depends on weights that are not there, so none is said to. */
static Said run_differ(const Call *c)
{
        const CkTensor *a = nth_tensor(c, 0), *b = nth_tensor(c, 1);
        return said_bool(a && b && !same_numbers(c->m, a, b));
}

/* ---- tokens and labels ---- */

static const TokenTables *tables_beside(Import *m)
{
        TokenBlock block;
        bool lacking;
        if (m->tokenizer && !m->tokens && !tokenizer_load(m->arena, m->tokenizer, &block, &lacking)) {
                m->tokens = NEW(m->arena, TokenTables);
                tokens_open(m->tokens, block.block, (uint64_t)block.size);
        }
        return m->tokens;
}

/* The id of a control token by its text; none, where the tokenizer beside the file has no such token or can't be read. */
static Said run_token(const Call *c)
{
        if (c->value[0].kind != SAID_TEXT)
                return wanted(c, "a token's text", c->value[0]);
        const TokenTables *t = tables_beside(c->m);
        const char *text = c->value[0].text;
        int64_t n = (int64_t)strlen(text);
        if (!t || n > tokens_most(t))
                return (Said){0};
        int64_t room = tokens_room(t, n) + 1;
        int32_t *id = NEW_ARRAY(c->m->arena, int32_t, room);
        void *scratch = arena_alloc(c->m->arena, tokens_scratch(t, n));
        int64_t count = tokens_encode(t, text, n, TOKENS_CONTROL | TOKENS_BARE, id, room, scratch);
        bool is_it = count == 1 && (t->section[TOKENS_MARKS][id[0]] & TOKEN_CONTROL);
        return is_it ? said_number(id[0], true) : (Said){0};
}

/* The texts of an object {"0": .., "1": ..}, a line each; none, if those numbers are not all of its keys. */
static Said run_lines(const Call *c)
{
        const SaidObject *o = c->value[0].kind == SAID_OBJECT ? c->value[0].object : NULL;
        Text *t = text_new(c->m->arena);
        for (int i = 0; o && i < o->n; i++) {
                char key[16];
                snprintf(key, sizeof key, "%d", i);
                const SaidField *f = object_find(o, intern(c->m->program->names, key, -1));
                if (!f || f->value.kind != SAID_TEXT)
                        return (Said){0};
                text_printf(t, "%s", i ? "\n" : "");
                for (const char *at = f->value.text; *at; at++)
                        text_add(t, *at == '\n' ? " " : at, 1);
        }
        return o && o->n > 1 ? said_text(t->data) : (Said){0};
}

static const ConfigBuiltin builtin[] = {
        {"contains", 2, 2, NULL, run_contains}, {"each", 2, 2, "f", run_each},
        {"erf", 1, 1, NULL, run_erf},           {"exp", 1, 1, NULL, run_exp},
        {"floor", 1, 1, NULL, run_floor},       {"given", 1, -1, NULL, run_given},
        {"has", 1, 1, NULL, run_has},           {"len", 1, 1, NULL, run_len},
        {"log", 1, 1, NULL, run_log},           {"max", 1, -1, NULL, run_max},
        {"min", 1, -1, NULL, run_min},          {"numbers", 1, 1, NULL, run_numbers},
        {"period", 1, 1, NULL, run_period},     {"range", 1, 1, NULL, run_range},
        {"differ", 2, 2, NULL, run_differ},     {"shape", 1, 1, NULL, run_shape},
        {"sqrt", 1, 1, NULL, run_sqrt},         {"whole", 1, 1, NULL, run_whole},
        {"token", 1, 1, NULL, run_token},       {"lines", 1, 1, NULL, run_lines},
        {"fields", 1, 1, NULL, run_fields},
};

const ConfigBuiltin *config_builtin(const char *name)
{
        for (size_t i = 0; i < sizeof builtin / sizeof *builtin; i++)
                if (!strcmp(builtin[i].name, name))
                        return &builtin[i];
        return NULL;
}

Said config_builtin_call(Import *m, const ConfigBuiltin *b, int n, const char *const *name, const Said *value,
                         Span span)
{
        Call call = {m, n, name, value, span};
        if (n < b->least || (b->most >= 0 && n > b->most))
                return config_error(m, span, "%s takes %d argument%s, not %d", b->name, b->least,
                                    b->least == 1 ? "" : "s", n);
        for (int i = 0; i < n; i++)
                if (name[i] && (!b->by_name || i < n - 1 || strcmp(name[i], b->by_name) != 0))
                        return config_error(m, span, "%s has no parameter %s", b->name, name[i]);
        return b->run(&call);
}
