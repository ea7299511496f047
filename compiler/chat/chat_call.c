/* Calls of filters, tests, methods, functions and macros: their arguments, and the functions themselves. */
#include <time.h>

#include "chat_private.h"

Args chat_args(Chat *c, const ChatNode *call)
{
        Args a = {0};
        a.at = NEW_ARRAY(c->arena, ChatValue, call->n);
        a.named = NEW_ARRAY(c->arena, ChatValue, call->n);
        a.name = NEW_ARRAY(c->arena, const char *, call->n);
        for (int i = 0; i < call->n; i++) {
                const ChatNode *node = call->child[i];
                if (node->kind == N_KEYWORD) {
                        a.name[a.nnamed] = node->name;
                        a.named[a.nnamed++] = chat_evaluate(c, node->first);
                } else
                        a.at[a.n++] = chat_evaluate(c, node);
        }
        return a;
}

/* The place of a name among names with a blank between; -1: it is none of them. */
static int parameter_index(const char *names, const char *name)
{
        size_t n = strlen(name);
        for (int i = 0; *names; i++) {
                size_t length = strcspn(names, " ");
                if (length == n && !memcmp(names, name, n))
                        return i;
                names += length + (names[length] == ' ');
        }
        return -1;
}

/* The routine of a name in a table; NULL: there is none for that use. */
static const Routine *find_routine(const Routine *r, RoutineUse as, const char *name)
{
        for (; r->names; r++)
                if (r->uses & as && parameter_index(r->names, name) >= 0)
                        return r;
        return NULL;
}

static const Routine *routine_of(RoutineUse as, const char *name)
{
        const Routine *r = find_routine(chat_text_routines, as, name);
        r = r ? r : find_routine(chat_value_routines, as, name);
        return r ? r : find_routine(chat_test_routines, as, name);
}

static int count_parameters(const char *parameters)
{
        int n = *parameters != 0;
        for (; *parameters; parameters++)
                n += *parameters == ' ';
        return n;
}

static void bind_arguments(ChatCall *k, const char *what, const char *name)
{
        Chat *c = k->chat;
        const Routine *r = k->routine;
        if (k->all->n > count_parameters(r->parameters))
                FAIL(c, "%s %s takes at most %d arguments", what, name, count_parameters(r->parameters));
        for (int i = 0; i < k->all->n; i++)
                k->arg[i] = k->all->at[i];
        for (int i = 0; i < k->all->nnamed; i++) {
                int place = parameter_index(r->parameters, k->all->name[i]);
                if (place < 0 || k->arg[place].kind != V_ABSENT)
                        FAIL(c, "%s %s: %s is %s", what, name, k->all->name[i],
                             place < 0 ? "not one of its arguments" : "given twice");
                k->arg[place] = k->all->named[i];
        }
        for (int i = 0; i < r->required; i++)
                if (k->arg[i].kind == V_ABSENT)
                        FAIL(c, "%s %s needs %d argument%s", what, name, r->required,
                             r->required > 1 ? "s" : "");
}

static ChatValue run_routine(Chat *c, RoutineUse as, const char *name, const Routine *r, ChatValue self,
                             const Args *args)
{
        const char *what = as == A_FILTER     ? "filter"
                           : as == A_TEST     ? "test"
                           : as == A_FUNCTION ? "function"
                                              : "method";
        ChatCall k = {.chat = c, .routine = r, .as = as, .self = self, .all = args};
        if (!r || !r->run)
                FAIL(c, "the %s %s is not supported", what, name);
        if (*r->parameters != '*')
                bind_arguments(&k, what, name);
        return r->run(&k);
}

ChatValue chat_apply(Chat *c, const char *filter, ChatValue v, const Args *args)
{
        return run_routine(c, A_FILTER, filter, routine_of(A_FILTER, filter), v, args);
}

bool chat_test(Chat *c, const char *test, ChatValue v, const Args *args)
{
        return chat_truth(run_routine(c, A_TEST, test, routine_of(A_TEST, test), v, args));
}

ChatValue chat_method(Chat *c, ChatValue self, const char *name)
{
        static const RoutineUse use[] = {
                [V_TEXT] = OF_TEXT, [V_DICT] = OF_DICT, [V_LIST] = OF_LIST, [V_LOOP] = OF_LOOP};
        RoutineUse as = self.kind <= V_LOOP ? use[self.kind] : 0;
        const Routine *r = routine_of(as, name);
        if (!r)
                return (ChatValue){.kind = V_ABSENT};
        BoundRoutine *b = NEW(c->arena, BoundRoutine);
        *b = (BoundRoutine){as, arena_strdup(c->arena, name), r, self};
        return (ChatValue){.kind = V_METHOD, .bound = b};
}

ChatValue chat_call(Chat *c, ChatValue callee, const Args *args)
{
        chat_need(c, callee);
        const BoundRoutine *b = callee.bound;
        if (callee.kind == V_METHOD || callee.kind == V_FUNCTION)
                return run_routine(c, b->as, b->name, b->routine, b->self, args);
        if (callee.kind == V_MACRO)
                return chat_expand(c, callee.macro, args);
        FAIL(c, "a %s can't be called", chat_kind_name(callee));
}

/* --- functions --- */

static Dict *named_arguments(const ChatCall *k)
{
        Chat *c = k->chat;
        Dict *d = chat_dict_new(c);
        if (k->all->n > 1 || (k->all->n == 1 && k->all->at[0].kind != V_DICT))
                FAIL(c, "needs names with values, or a dict");
        if (k->all->n == 1)
                for (int64_t i = 0; i < k->all->at[0].dict->n; i++)
                        chat_dict_set(c, d, k->all->at[0].dict->key[i], k->all->at[0].dict->value[i]);
        for (int i = 0; i < k->all->nnamed; i++)
                chat_dict_set(c, d, chat_word(k->all->name[i]), k->all->named[i]);
        return d;
}

static ChatValue make_namespace(const ChatCall *k)
{
        return (ChatValue){.kind = V_NAMESPACE, .dict = named_arguments(k)};
}

static ChatValue make_dict(const ChatCall *k)
{
        return (ChatValue){.kind = V_DICT, .dict = named_arguments(k)};
}

static ChatValue make_range(const ChatCall *k)
{
        Chat *c = k->chat;
        int64_t from = 0, to = chat_integer(c, k->arg[0], "range"), step = 1;
        if (k->arg[1].kind != V_ABSENT) {
                from = to;
                to = chat_integer(c, k->arg[1], "range");
        }
        if (k->arg[2].kind != V_ABSENT)
                step = chat_integer(c, k->arg[2], "range");
        if (step == 0)
                FAIL(c, "range: the step is not 0");
        int64_t far = (int64_t)1 << 40;
        if (from > far || from < -far || to > far || to < -far || step > far || step < -far)
                FAIL(c, "range: a number is too large");
        Items *items = chat_items_new(c);
        for (int64_t i = from; step > 0 ? i < to : i > to; i += step) {
                if (items->n == 100000)
                        FAIL(c, "range: the sandbox allows at most 100000 numbers");
                chat_items_add(c, items, chat_int(i));
        }
        return chat_list(V_RANGE, items);
}

static ChatValue raise_exception(const ChatCall *k)
{
        ChatValue message = chat_str(k->chat, k->arg[0]);
        FAIL(k->chat, "the template says: %.*s", (int)(message.n > 1000 ? 1000 : message.n), message.text);
}

static int day_of_year(ChatDate d)
{
        static const int before[] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334};
        bool leap = d.year % 4 == 0 && (d.year % 100 != 0 || d.year % 400 == 0);
        return before[d.month - 1] + d.day - 1 + (leap && d.month > 2);
}

static int day_of_week(ChatDate d)
{
        int64_t y = d.year - 1;
        return (int)((y * 365 + y / 4 - y / 100 + y / 400 + day_of_year(d) + 1) % 7);
}

/* Whether strftime() accepts it with the same result as Python's. */
static void check_format(Chat *c, ChatValue format)
{
        for (int64_t i = 0; i < format.n; i++) {
                if (format.text[i] != '%')
                        continue;
                bool bare = i + 2 < format.n && format.text[i + 1] == '-'; /* %-d: without a zero before it */
                i += 1 + bare;
                if (i >= format.n || !strchr(bare ? "dmHIMSjy" : "aAbBdeHIjmMpSuwyYDFT%", format.text[i]))
                        FAIL(c, "strftime_now: this format is not supported");
        }
}

static ChatValue strftime_now(const ChatCall *k)
{
        Chat *c = k->chat;
        ChatValue format = k->arg[0];
        char text[4096];
        if (format.kind != V_TEXT || format.n > 256 || memchr(format.text, 0, (size_t)format.n))
                FAIL(c, "strftime_now needs a format of at most 256 bytes");
        check_format(c, format);
        struct tm tm = {.tm_year = c->date.year - 1900, .tm_mon = c->date.month - 1, .tm_mday = c->date.day};
        tm.tm_wday = day_of_week(c->date);
        tm.tm_yday = day_of_year(c->date);
        c->dated = true;
        size_t n = strftime(text, sizeof text, arena_strndup(c->arena, format.text, format.n), &tm);
        return chat_text(arena_strndup(c->arena, text, (int64_t)n), (int64_t)n);
}

ChatValue chat_function(Chat *c, const char *name)
{
        static const Routine table[] = {
                {A_FUNCTION, "namespace", "*", 0, make_namespace, 0},
                {A_FUNCTION, "dict", "*", 0, make_dict, 0},
                {A_FUNCTION, "range", "start stop step", 1, make_range, 0},
                {A_FUNCTION, "raise_exception", "message", 1, raise_exception, 0},
                {A_FUNCTION, "strftime_now", "format", 1, strftime_now, 0},
                {A_FUNCTION, "cycler joiner lipsum", "*", 0, NULL, 0},
                {0, NULL, "", 0, NULL, 0},
        };
        const Routine *r = find_routine(table, A_FUNCTION, name);
        if (!r)
                return (ChatValue){.kind = V_ABSENT};
        BoundRoutine *b = NEW(c->arena, BoundRoutine);
        *b = (BoundRoutine){A_FUNCTION, name, r, chat_none()};
        return (ChatValue){.kind = V_FUNCTION, .bound = b};
}
