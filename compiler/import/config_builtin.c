/* Functions that config items can call in addition to their own blocks: the language's builtins on numbers
 * and lists, and functions on files.  For weights beside the file: has("tensor"), shape("tensor"),
 * numbers("tensor"); for the tokenizer: token("text"). */
#include <math.h>
#include <string.h>

#include "import_private.h"

enum { MAX_NUMBERS = 4096 };

typedef struct {
        Import *m;
        int n;
        const char *const *name;
        const ConfigValue *value;
        Span span;
} ConfigCall;

struct ConfigBuiltin {
        const char *name;
        int least, most;     /* number of arguments; most -1: any number */
        const char *by_name; /* name of the last argument, or NULL: all are positional */
        ConfigValue (*run)(const ConfigCall *c);
};

static ConfigValue wanted(const ConfigCall *c, const char *what, ConfigValue v)
{
        return config_error(c->m, c->span, "expected %s, not %s", what, config_shown(c->m->arena, v));
}

static ConfigValue new_list(Import *m, int n, const ConfigValue *item)
{
        ConfigList *list = NEW(m->arena, ConfigList);
        *list = (ConfigList){n, NEW_ARRAY(m->arena, ConfigValue, n)};
        if (n)
                memcpy(list->item, item, (size_t)n * sizeof *item);
        return (ConfigValue){.kind = CONFIG_LIST, .list = list};
}

static ConfigValue config_given(const ConfigCall *c)
{
        for (int i = 0; i < c->n; i++)
                if (c->value[i].kind != CONFIG_NONE)
                        return c->value[i];
        return (ConfigValue){0};
}

static ConfigValue config_contains(const ConfigCall *c)
{
        if (c->value[0].kind != CONFIG_LIST)
                return wanted(c, "a list", c->value[0]);
        for (int i = 0; i < c->value[0].list->n; i++)
                if (config_same(c->value[0].list->item[i], c->value[1]))
                        return config_bool(true);
        return config_bool(false);
}

/* Whether a text ends with another. */
static ConfigValue config_ends(const ConfigCall *c)
{
        for (int i = 0; i < 2; i++)
                if (c->value[i].kind != CONFIG_TEXT)
                        return wanted(c, "a text", c->value[i]);
        size_t n = strlen(c->value[0].text), end = strlen(c->value[1].text);
        return config_bool(n >= end && !strcmp(c->value[0].text + n - end, c->value[1].text));
}

/* Whether all elements of the second list are among those of the first. */
static ConfigValue config_covers(const ConfigCall *c)
{
        if (c->value[0].kind != CONFIG_LIST || c->value[1].kind != CONFIG_LIST)
                return wanted(c, "a list", c->value[c->value[0].kind == CONFIG_LIST]);
        const ConfigList *known = c->value[0].list, *list = c->value[1].list;
        for (int i = 0; i < list->n; i++) {
                int k = 0;
                while (k < known->n && !config_same(list->item[i], known->item[k]))
                        k++;
                if (k == known->n)
                        return config_bool(false);
        }
        return config_bool(true);
}

/* A list unchanged; other values become none. */
static ConfigValue config_elements(const ConfigCall *c)
{
        return c->value[0].kind == CONFIG_LIST ? c->value[0] : (ConfigValue){0};
}

/* An object unchanged; other values become none. */
static ConfigValue config_fields(const ConfigCall *c)
{
        return c->value[0].kind == CONFIG_OBJECT ? c->value[0] : (ConfigValue){0};
}

static ConfigValue config_len(const ConfigCall *c)
{
        ConfigValue v = c->value[0];
        if (v.kind == CONFIG_LIST || v.kind == CONFIG_OBJECT)
                return config_number(v.kind == CONFIG_LIST ? v.list->n : v.object->n, true);
        return wanted(c, "a list or an object", v);
}

static bool is_count(ConfigValue v)
{
        return v.kind == CONFIG_NUMBER && v.number == floor(v.number) && v.number >= 0;
}

static ConfigValue range_too_long(const ConfigCall *c, double n)
{
        return config_error(c->m, c->span, "a list of %.0f elements is too long: at most %d", n,
                            MAX_ELEMENTS);
}

static ConfigValue config_range(const ConfigCall *c)
{
        ConfigValue n = c->value[0];
        if (!is_count(n))
                return wanted(c, "a whole number of at least 0", n);
        if (n.number > MAX_ELEMENTS)
                return range_too_long(c, n.number);
        ConfigValue *item = NEW_ARRAY(c->m->arena, ConfigValue, (int64_t)n.number);
        for (int i = 0; i < (int)n.number; i++)
                item[i] = config_number(i, true);
        return new_list(c->m, (int)n.number, item);
}

/* f of each element: a block of an item is evaluated, one of the library becomes a call. */
static ConfigValue config_each(const ConfigCall *c)
{
        ConfigValue list = c->value[0], f = c->value[1];
        static const char *const by_position[1] = {NULL};
        if (list.kind != CONFIG_LIST)
                return wanted(c, "a list", list);
        if (f.kind != CONFIG_BLOCK)
                return wanted(c, "a block of the item", f);
        ConfigValue *item = NEW_ARRAY(c->m->arena, ConfigValue, list.list->n);
        for (int i = 0; i < list.list->n; i++)
                item[i] = config_call(c->m, f.block, 1, by_position, &list.list->item[i], c->span);
        return new_list(c->m, list.list->n, item);
}

/* The elements of lists, concatenated. */
static ConfigValue config_joined(const ConfigCall *c)
{
        if (c->value[0].kind != CONFIG_LIST)
                return wanted(c, "a list of lists", c->value[0]);
        const ConfigList *lists = c->value[0].list;
        int64_t n = 0, at = 0;
        for (int i = 0; i < lists->n; i++) {
                if (lists->item[i].kind != CONFIG_LIST)
                        return wanted(c, "a list of lists", lists->item[i]);
                n += lists->item[i].list->n;
        }
        if (n > MAX_ELEMENTS)
                return range_too_long(c, (double)n);
        ConfigValue *item = NEW_ARRAY(c->m->arena, ConfigValue, n);
        for (int i = 0; i < lists->n; at += lists->item[i++].list->n)
                for (int k = 0; k < lists->item[i].list->n; k++)
                        item[at + k] = lists->item[i].list->item[k];
        return new_list(c->m, (int)n, item);
}

/* A list of the text's characters, which are ASCII. */
static ConfigValue config_letters(const ConfigCall *c)
{
        const ConfigValue v = c->value[0];
        if (v.kind != CONFIG_TEXT)
                return wanted(c, "a text", v);
        const int64_t n = (int64_t)strlen(v.text);
        if (n > MAX_ELEMENTS)
                return range_too_long(c, (double)n);
        ConfigValue *item = NEW_ARRAY(c->m->arena, ConfigValue, n);
        for (int64_t i = 0; i < n; i++)
                item[i] =
                        (ConfigValue){.kind = CONFIG_TEXT, .text = arena_strndup(c->m->arena, v.text + i, 1)};
        return new_list(c->m, (int)n, item);
}

/* A list's elements, repeated a number of times. */
static ConfigValue config_repeated(const ConfigCall *c)
{
        ConfigValue list = c->value[0], times = c->value[1];
        if (list.kind != CONFIG_LIST)
                return wanted(c, "a list", list);
        if (!is_count(times))
                return wanted(c, "a whole number of at least 0", times);
        if (times.number * list.list->n > MAX_ELEMENTS)
                return range_too_long(c, times.number * list.list->n);
        int n = list.list->n ? (int)times.number * list.list->n : 0;
        ConfigValue *item = NEW_ARRAY(c->m->arena, ConfigValue, n);
        for (int i = 0; i < n; i++)
                item[i] = list.list->item[i % list.list->n];
        return new_list(c->m, n, item);
}

/* The shortest part that, repeated and truncated to length, is the list; the element, if there is only
 * one.  A value that is not a list is returned unchanged.  The longest proper prefix that is also a suffix
 * gives the part (Knuth, Morris and Pratt 1977). */
static ConfigValue config_period(const ConfigCall *c)
{
        if (c->value[0].kind != CONFIG_LIST)
                return c->value[0];
        const ConfigList *l = c->value[0].list;
        /* length of that prefix for the first i + 1 elements */
        int *border = NEW_ARRAY(c->m->arena, int, l->n + 1);
        for (int i = 1; i < l->n; i++) {
                int k = border[i - 1];
                while (k && !config_same(l->item[i], l->item[k]))
                        k = border[k - 1];
                border[i] = k + config_same(l->item[i], l->item[k]);
        }
        int length = l->n ? l->n - border[l->n - 1] : 0;
        return length == 1 ? l->item[0] : new_list(c->m, length, l->item);
}

static ConfigValue builtin_number(const ConfigCall *c, double (*f)(double), bool is_int)
{
        ConfigValue v = c->value[0];
        if (v.kind != CONFIG_NUMBER)
                return wanted(c, "a number", v);
        return config_number(f(v.number), is_int);
}

static ConfigValue config_log(const ConfigCall *c)
{
        return c->value[0].kind == CONFIG_NUMBER && c->value[0].number <= 0
                       ? wanted(c, "a number above 0", c->value[0])
                       : builtin_number(c, real_log, false);
}

static ConfigValue config_erf(const ConfigCall *c)
{
        return builtin_number(c, real_erf, false);
}
static ConfigValue config_exp(const ConfigCall *c)
{
        return builtin_number(c, real_exp, false);
}
static ConfigValue config_sqrt(const ConfigCall *c)
{
        return builtin_number(c, sqrt, false);
}
static ConfigValue config_whole(const ConfigCall *c)
{
        return builtin_number(c, trunc, true);
}
static ConfigValue config_floor(const ConfigCall *c)
{
        return builtin_number(c, floor, true);
}

static ConfigValue config_extreme(const ConfigCall *c, double sign)
{
        ConfigValue best = c->value[0];
        for (int i = 0; i < c->n; i++) {
                if (c->value[i].kind != CONFIG_NUMBER)
                        return wanted(c, "a number", c->value[i]);
                if (sign * c->value[i].number > sign * best.number)
                        best = c->value[i];
        }
        return best;
}

static ConfigValue config_min(const ConfigCall *c)
{
        return config_extreme(c, -1);
}
static ConfigValue config_max(const ConfigCall *c)
{
        return config_extreme(c, 1);
}

/* ---- weights ---- */

static const CkTensor *find_tensor(const ConfigCall *c, const char *name)
{
        if (strchr(name, '{'))
                config_error(c->m, c->span,
                             "the tensor's name \"%s\" has {..}, which nothing replaces; "
                             "has, shape and numbers replace {i} by a second argument",
                             name);
        return c->m->failed || !c->m->tensors ? NULL : checkpoint_find(c->m->tensors, name);
}

static const CkTensor *nth_tensor(const ConfigCall *c, int i)
{
        if (c->value[i].kind == CONFIG_TEXT)
                return find_tensor(c, c->value[i].text);
        wanted(c, "a tensor's name", c->value[i]);
        return NULL;
}

/* The tensor of a name, in which a second argument replaces {i}. */
static const CkTensor *tensor_of(const ConfigCall *c)
{
        c->m->asked_tensors = true;
        if (c->n < 2 || c->value[0].kind != CONFIG_TEXT)
                return nth_tensor(c, 0);
        const char *name = c->value[0].text, *at = strstr(name, "{i}");
        if (!is_count(c->value[1]) || !at) {
                wanted(c, at ? "a whole number of at least 0" : "a tensor's name with {i}",
                       c->value[at != NULL]);
                return NULL;
        }
        name = arena_printf(c->m->arena, "%.*s%.0f%s", (int)(at - name), name, c->value[1].number, at + 3);
        return find_tensor(c, name);
}

static ConfigValue config_has(const ConfigCall *c)
{
        return config_bool(tensor_of(c) != NULL);
}

static ConfigValue config_shape(const ConfigCall *c)
{
        const CkTensor *t = tensor_of(c);
        ConfigValue size[CK_MAX_RANK];
        for (int i = 0; t && i < t->rank; i++)
                size[i] = config_number((double)t->shape[i], true);
        return t ? new_list(c->m, t->rank, size) : (ConfigValue){0};
}

static ConfigValue config_numbers(const ConfigCall *c)
{
        const CkTensor *t = tensor_of(c);
        if (!t)
                return (ConfigValue){0};
        if (t->count > MAX_NUMBERS)
                return config_error(c->m, c->span, "%s has more than %d elements", t->name, MAX_NUMBERS);
        double *x = NEW_ARRAY(c->m->arena, double, t->count);
        ConfigValue *item = NEW_ARRAY(c->m->arena, ConfigValue, t->count);
        if (!checkpoint_read_f64(t, 0, t->count, x))
                return config_error(c->m, c->span, "%s can't be read as numbers", t->name);
        for (int64_t i = 0; i < t->count; i++)
                item[i] = config_number(x[i], false);
        return new_list(c->m, (int)t->count, item);
}

/* Missing weights do not affect the result, so none is marked as used. */
static ConfigValue config_differ(const ConfigCall *c)
{
        const CkTensor *a = nth_tensor(c, 0), *b = nth_tensor(c, 1);
        return config_bool(a && b && !checkpoint_same_numbers(a, b));
}

/* ---- tokens and labels ---- */

static const TokenTables *tables_beside(Import *m)
{
        TokenBlock block;
        bool env_error;
        if (m->tokenizer && !m->tokens && !tokenizer_load(m->arena, m->tokenizer, &block, &env_error)) {
                m->tokens = NEW(m->arena, TokenTables);
                tokens_open(m->tokens, block.block, (uint64_t)block.size);
        }
        return m->tokens;
}

bool pads_left(Import *m)
{
        static const char *const left[] = {"LlamaTokenizer", "CodeLlamaTokenizer", "GemmaTokenizer",
                                           "CohereTokenizer", "XLNetTokenizer"};
        const char *why = NULL;
        const Source *source = NULL;
        if (m->tokenizer)
                source = read_source(m->arena,
                                     arena_printf(m->arena, "%s/tokenizer_config.json", m->tokenizer), &why);
        json_error_t error;
        json_t *config = source ? json_loadb(source->text, (size_t)source->length, 0, &error) : NULL;
        const char *side = json_string_value(json_object_get(config, "padding_side")),
                   *class = json_string_value(json_object_get(config, "tokenizer_class"));
        bool found = side && !strcmp(side, "left");
        for (size_t i = 0; class && !side && i < sizeof left / sizeof *left; i++)
                found |= !strncmp(class, left[i], strlen(left[i])) &&
                         (!class[strlen(left[i])] || !strcmp(class + strlen(left[i]), "Fast"));
        json_decref(config);
        return found;
}

/* The id of a control token by its text; none if the tokenizer lacks it or can't be read. */
static ConfigValue config_token(const ConfigCall *c)
{
        if (c->value[0].kind != CONFIG_TEXT)
                return wanted(c, "a token's text", c->value[0]);
        const TokenTables *t = tables_beside(c->m);
        const char *text = c->value[0].text;
        int64_t n = (int64_t)strlen(text);
        if (!t || n > tokens_most(t))
                return (ConfigValue){0};
        int64_t room = tokens_room(t, n) + 1;
        int32_t *id = NEW_ARRAY(c->m->arena, int32_t, room);
        void *scratch = arena_alloc(c->m->arena, tokens_scratch(t, n));
        int64_t count = tokens_encode(t, text, n, TOKENS_CONTROL | TOKENS_BARE, id, room, scratch);
        bool is_it = count == 1 && (t->section[TOKENS_MARKS][id[0]] & TOKEN_CONTROL);
        return is_it ? config_number(id[0], true) : (ConfigValue){0};
}

/* Whether a line of a text begins with B- or I-, as labels of tokens do. */
static ConfigValue config_tagged(const ConfigCall *c)
{
        const char *line = c->value[0].kind == CONFIG_TEXT ? c->value[0].text : NULL;
        for (; line; line = strchr(line, '\n')) {
                line += *line == '\n';
                if ((*line == 'B' || *line == 'I') && line[1] == '-')
                        return config_bool(true);
        }
        return config_bool(false);
}

/* The texts of an object {"0": .., "1": ..}, one per line; none if its keys are not these numbers, or if all
 * texts are the defaults LABEL_0, LABEL_1 .. */
static ConfigValue config_lines(const ConfigCall *c)
{
        const ConfigObject *o = c->value[0].kind == CONFIG_OBJECT ? c->value[0].object : NULL;
        Text *t = text_new(c->m->arena);
        bool named = false;
        for (int i = 0; o && i < o->n; i++) {
                char key[16], otherwise[24];
                snprintf(key, sizeof key, "%d", i);
                snprintf(otherwise, sizeof otherwise, "LABEL_%d", i);
                const ConfigField *f = object_find(o, intern(c->m->program->names, key, -1));
                if (!f || f->value.kind != CONFIG_TEXT)
                        return (ConfigValue){0};
                named |= strcmp(f->value.text, otherwise) != 0;
                text_printf(t, "%s", i ? "\n" : "");
                for (const char *at = f->value.text; *at; at++)
                        text_add(t, *at == '\n' ? " " : at, 1);
        }
        /* one line ends, since a text without a line end is the name of a file */
        text_printf(t, "%s", o && o->n == 1 ? "\n" : "");
        return named ? config_text(t->data) : (ConfigValue){0};
}

static const ConfigBuiltin builtin[] = {
        {"contains", 2, 2, NULL, config_contains}, {"each", 2, 2, "f", config_each},
        {"erf", 1, 1, NULL, config_erf},           {"exp", 1, 1, NULL, config_exp},
        {"floor", 1, 1, NULL, config_floor},       {"given", 1, -1, NULL, config_given},
        {"has", 1, 2, NULL, config_has},           {"len", 1, 1, NULL, config_len},
        {"log", 1, 1, NULL, config_log},           {"max", 1, -1, NULL, config_max},
        {"min", 1, -1, NULL, config_min},          {"numbers", 1, 2, NULL, config_numbers},
        {"period", 1, 1, NULL, config_period},     {"range", 1, 1, NULL, config_range},
        {"differ", 2, 2, NULL, config_differ},     {"shape", 1, 2, NULL, config_shape},
        {"sqrt", 1, 1, NULL, config_sqrt},         {"whole", 1, 1, NULL, config_whole},
        {"token", 1, 1, NULL, config_token},       {"lines", 1, 1, NULL, config_lines},
        {"fields", 1, 1, NULL, config_fields},     {"elements", 1, 1, NULL, config_elements},
        {"joined", 1, 1, NULL, config_joined},     {"repeated", 2, 2, NULL, config_repeated},
        {"covers", 2, 2, NULL, config_covers},     {"letters", 1, 1, NULL, config_letters},
        {"ends", 2, 2, NULL, config_ends},         {"tagged", 1, 1, NULL, config_tagged},
};

const ConfigBuiltin *config_builtin(const char *name)
{
        for (size_t i = 0; i < sizeof builtin / sizeof *builtin; i++)
                if (!strcmp(builtin[i].name, name))
                        return &builtin[i];
        return NULL;
}

ConfigValue config_builtin_call(Import *m, const ConfigBuiltin *b, int n, const char *const *name,
                                const ConfigValue *value, Span span)
{
        ConfigCall call = {m, n, name, value, span};
        if (n < b->least || (b->most >= 0 && n > b->most))
                return config_error(m, span, "%s takes %d argument%s, not %d", b->name, b->least,
                                    b->least == 1 ? "" : "s", n);
        for (int i = 0; i < n; i++)
                if (name[i] && (!b->by_name || i < n - 1 || strcmp(name[i], b->by_name) != 0))
                        return config_error(m, span, "%s has no parameter %s", b->name, name[i]);
        return b->run(&call);
}
