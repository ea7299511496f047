/* Evaluates the expressions of a template. */
#include <math.h>

#include "chat_private.h"

/* --- arithmetic --- */

static _Noreturn void fail_operator(Chat *c, const char *sign, ChatValue a, ChatValue b)
{
        chat_need(c, a);
        chat_need(c, b);
        FAIL(c, "%s can't be done with a %s and a %s", sign, chat_kind_name(a), chat_kind_name(b));
}

static ChatValue joined_texts(Chat *c, ChatValue a, ChatValue b)
{
        if (a.safe != b.safe) {
                ChatValue *plain = a.safe ? &b : &a;
                *plain = chat_escape(c, *plain);
        }
        chat_charge_bytes(c, a.n + b.n);
        char *text = arena_alloc(c->arena, a.n + b.n + 1);
        memcpy(text, a.text, (size_t)a.n);
        memcpy(text + a.n, b.text, (size_t)b.n);
        ChatValue v = chat_text(text, a.n + b.n);
        v.safe = a.safe;
        return v;
}

static ChatValue joined_lists(Chat *c, ChatValue a, ChatValue b)
{
        Items *items = chat_items_new(c);
        for (int64_t i = 0; i < a.items->n; i++)
                chat_items_add(c, items, a.items->at[i]);
        for (int64_t i = 0; i < b.items->n; i++)
                chat_items_add(c, items, b.items->at[i]);
        return chat_list(a.kind, items);
}

static ChatValue value_repeated(Chat *c, ChatValue v, int64_t times)
{
        if (times <= 0 || (v.kind == V_TEXT && v.n == 0))
                times = 0;
        if (v.kind == V_TEXT) {
                Text *t = text_new(c->arena);
                for (int64_t i = 0; i < times; i++) {
                        chat_charge(c, 1);
                        chat_add(c, t, v.text, v.n);
                }
                ChatValue all = chat_copy(c, t);
                all.safe = v.safe;
                return all;
        }
        Items *items = chat_items_new(c);
        for (int64_t i = 0; v.items->n && i < times; i++)
                for (int64_t k = 0; k < v.items->n; k++)
                        chat_items_add(c, items, v.items->at[k]);
        return chat_list(v.kind, items);
}

static bool both_whole(ChatValue a, ChatValue b)
{
        return a.kind != V_FLOAT && b.kind != V_FLOAT;
}

static int64_t evaluate_whole(ChatValue v)
{
        return v.kind == V_BOOL ? v.truth : v.integer;
}

static ChatValue add_subtract_multiply(Chat *c, Operator op, ChatValue a, ChatValue b)
{
        int64_t x = 0, y = 0, z = 0;
        if (!both_whole(a, b)) {
                double p = chat_real(a), q = chat_real(b);
                return chat_float(op == OP_ADD ? p + q : op == OP_SUBTRACT ? p - q : p * q);
        }
        x = evaluate_whole(a);
        y = evaluate_whole(b);
        bool over = op == OP_ADD        ? __builtin_add_overflow(x, y, &z)
                    : op == OP_SUBTRACT ? __builtin_sub_overflow(x, y, &z)
                                        : __builtin_mul_overflow(x, y, &z);
        if (over)
                FAIL(c, "whole numbers beyond 64 bits are not supported");
        return chat_int(z);
}

/* towards minus infinity, with the matching remainder */
static ChatValue floor_modulo(Chat *c, Operator op, ChatValue a, ChatValue b)
{
        if (chat_real(b) == 0)
                FAIL(c, "division by zero");
        if (!both_whole(a, b)) {
                double x = chat_real(a), y = chat_real(b), rest = fmod(x, y);
                if (rest != 0 && (rest < 0) != (y < 0))
                        rest += y;
                if (op == OP_MODULO)
                        return chat_float(rest != 0 ? rest : copysign(0.0, y));
                double quotient = (x - rest) / y, whole = floor(quotient);
                return chat_float(quotient - whole > 0.5 ? whole + 1 : whole);
        }
        int64_t x = evaluate_whole(a), y = evaluate_whole(b);
        if (y == -1)
                return op == OP_MODULO ? chat_int(0) : add_subtract_multiply(c, OP_SUBTRACT, chat_int(0), a);
        int64_t quotient = x / y, rest = x % y;
        bool lower = rest != 0 && (rest < 0) != (y < 0);
        return chat_int(op == OP_MODULO ? rest + (lower ? y : 0) : quotient - lower);
}

static ChatValue divide(Chat *c, ChatValue a, ChatValue b)
{
        if (chat_real(b) == 0)
                FAIL(c, "division by zero");
        return chat_float(chat_real(a) / chat_real(b));
}

static ChatValue value_power(Chat *c, ChatValue a, ChatValue b)
{
        if (!both_whole(a, b) || evaluate_whole(b) < 0)
                FAIL(c, "powers are of whole numbers here");
        ChatValue v = chat_int(1);
        for (int64_t i = 0; i < evaluate_whole(b); i++) {
                chat_charge(c, 1);
                v = add_subtract_multiply(c, OP_MULTIPLY, v, a);
        }
        return v;
}

static ChatValue value_add(Chat *c, ChatValue a, ChatValue b)
{
        if (a.kind == V_TEXT && b.kind == V_TEXT)
                return joined_texts(c, a, b);
        if (a.kind == b.kind && (a.kind == V_LIST || a.kind == V_TUPLE))
                return joined_lists(c, a, b);
        if (!chat_is_number(a) || !chat_is_number(b))
                fail_operator(c, "+", a, b);
        return add_subtract_multiply(c, OP_ADD, a, b);
}

static bool can_repeat(ChatValue v)
{
        return v.kind == V_TEXT || v.kind == V_LIST || v.kind == V_TUPLE;
}

static ChatValue value_multiply(Chat *c, ChatValue a, ChatValue b)
{
        if (can_repeat(a) && (b.kind == V_INT || b.kind == V_BOOL))
                return value_repeated(c, a, evaluate_whole(b));
        if (can_repeat(b) && (a.kind == V_INT || a.kind == V_BOOL))
                return value_repeated(c, b, evaluate_whole(a));
        if (!chat_is_number(a) || !chat_is_number(b))
                fail_operator(c, "*", a, b);
        return add_subtract_multiply(c, OP_MULTIPLY, a, b);
}

static ChatValue evaluate_binary(Chat *c, Operator op, ChatValue a, ChatValue b)
{
        static const char *const sign[] = {"+", "-", "*", "/", "//", "%", "**"};
        if (op == OP_ADD)
                return value_add(c, a, b);
        if (op == OP_MULTIPLY)
                return value_multiply(c, a, b);
        if (op == OP_MODULO && a.kind == V_TEXT)
                FAIL(c, "formats of texts with %% are not supported");
        if (!chat_is_number(a) || !chat_is_number(b))
                fail_operator(c, sign[op], a, b);
        switch (op) {
        case OP_SUBTRACT: return add_subtract_multiply(c, op, a, b);
        case OP_DIVIDE: return divide(c, a, b);
        case OP_POWER: return value_power(c, a, b);
        default: return floor_modulo(c, op, a, b);
        }
}

bool chat_compare(Chat *c, Operator op, ChatValue a, ChatValue b)
{
        if (op == OP_EQUAL || op == OP_UNEQUAL)
                return chat_equal(c, a, b) == (op == OP_EQUAL);
        if (op == OP_IN || op == OP_NOT_IN)
                return chat_contains(c, b, a) == (op == OP_IN);
        int order = chat_order(c, a, b);
        return op == OP_LESS         ? order == -1
               : op == OP_GREATER    ? order == 1
               : op == OP_LESS_EQUAL ? order == -1 || order == 0
                                     : order == 1 || order == 0;
}

/* --- contents of a value --- */

static ChatValue item_at(Chat *c, ChatValue v, int64_t i)
{
        int64_t n = chat_length(c, v);
        int64_t at = i < 0 ? i + n : i;
        if (at < 0 || at >= n)
                return chat_undefined(c, "a %s of %lld has nothing at %lld", chat_kind_name(v), (long long)n,
                                      (long long)i);
        if (v.kind != V_TEXT)
                return v.items->at[at];
        chat_charge(c, v.n / 64);
        int64_t from = chat_offset(v, at);
        return chat_part(c, v, from, from + chat_offset(chat_text(v.text + from, v.n - from), 1));
}

static ChatValue loop_attribute(Chat *c, const ChatLoop *l, const char *name)
{
        int64_t n = l->items->n, i = l->index;
        if (!strcmp(name, "index"))
                return chat_int(i + 1);
        if (!strcmp(name, "index0"))
                return chat_int(i);
        if (!strcmp(name, "revindex"))
                return chat_int(n - i);
        if (!strcmp(name, "revindex0"))
                return chat_int(n - i - 1);
        if (!strcmp(name, "first"))
                return chat_bool(i == 0);
        if (!strcmp(name, "last"))
                return chat_bool(i == n - 1);
        if (!strcmp(name, "length"))
                return chat_int(n);
        /* only recursive loops are deeper */
        if (!strcmp(name, "depth") || !strcmp(name, "depth0"))
                return chat_int(name[5] == 0);
        if (!strcmp(name, "previtem") && i > 0)
                return l->items->at[i - 1];
        if (!strcmp(name, "nextitem") && i + 1 < n)
                return l->items->at[i + 1];
        return chat_undefined(c, "loop has no %s here", name);
}

static ChatValue attribute_of(Chat *c, ChatValue v, const char *name)
{
        chat_need(c, v);
        ChatValue method = chat_method(c, v, name);
        if (method.kind != V_ABSENT)
                return method;
        if (v.kind == V_DICT || v.kind == V_NAMESPACE) {
                const ChatValue *found = chat_dict_get(c, v.dict, chat_word(name));
                if (found)
                        return *found;
        }
        if (!strncmp(name, "__", 2))
                FAIL(c, "the sandbox refuses %s", name);
        if (v.kind == V_LOOP)
                return loop_attribute(c, v.loop, name);
        return chat_undefined(c, "a %s has no %s", chat_kind_name(v), name);
}

ChatValue chat_item(Chat *c, ChatValue v, ChatValue key)
{
        chat_need(c, v);
        if (v.kind == V_DICT && chat_hashable(key)) {
                const ChatValue *found = chat_dict_get(c, v.dict, key);
                if (found)
                        return *found;
        }
        if ((v.kind == V_TEXT || chat_is_list(v)) && (key.kind == V_INT || key.kind == V_BOOL))
                return item_at(c, v, evaluate_whole(key));
        if (key.kind == V_TEXT)
                return attribute_of(c, v, arena_strndup(c->arena, key.text, key.n));
        return chat_undefined(c, "a %s has no such item", chat_kind_name(v));
}

/* A bound of a slice, clamped to [low, high]. */
static int64_t slice_bound(Chat *c, const ChatNode *node, int64_t n, int64_t low, int64_t high,
                           int64_t absent)
{
        ChatValue v = node ? chat_evaluate(c, node) : chat_none();
        if (v.kind == V_NONE)
                return absent;
        int64_t i = chat_integer(c, v, "a bound of a slice");
        i = i < 0 ? i + n : i;
        return i < low ? low : i > high ? high : i;
}

static ChatValue evaluate_slice(Chat *c, const ChatNode *node)
{
        ChatValue v = chat_evaluate(c, node->first);
        chat_need(c, v);
        if (v.kind != V_TEXT && !chat_is_list(v))
                FAIL(c, "a %s can't be sliced", chat_kind_name(v));
        ChatValue by = node->child[0] ? chat_evaluate(c, node->child[0]) : chat_none();
        int64_t step = by.kind == V_NONE ? 1 : chat_integer(c, by, "the step of a slice"),
                n = chat_length(c, v);
        if (step == 0)
                FAIL(c, "the step of a slice is not 0");
        int64_t low = step < 0 ? -1 : 0, high = step < 0 ? n - 1 : n;
        int64_t from = slice_bound(c, node->second, n, low, high, step < 0 ? high : low);
        int64_t to = slice_bound(c, node->third, n, low, high, step < 0 ? low : high);
        if (v.kind == V_TEXT && step == 1) {
                chat_charge(c, v.n / 64);
                return chat_part(c, v, chat_offset(v, from), from < to ? chat_offset(v, to) : 0);
        }
        const Items *all = chat_iterate(c, v);
        Items *items = chat_items_new(c);
        for (int64_t i = from; step > 0 ? i < to : i > to; i += step) {
                chat_items_add(c, items, all->at[i]);
                if (step > n || step < -n)
                        break;
        }
        if (v.kind != V_TEXT)
                return chat_list(v.kind, items);
        Text *t = text_new(c->arena);
        for (int64_t i = 0; i < items->n; i++)
                chat_add(c, t, items->at[i].text, items->at[i].n);
        return chat_copy(c, t);
}

/* --- nodes --- */

static ChatValue evaluate_name(Chat *c, const ChatNode *node)
{
        for (const ChatScope *s = c->scope; s; s = s->outer)
                for (const ChatBinding *b = s->first; b; b = b->next) {
                        if (b->name == node->name)
                                return b->value;
                }
        const ChatValue *given = chat_dict_get(c, c->variables, chat_word(node->name));
        if (given)
                return *given;
        ChatValue function = chat_function(c, node->name);
        if (function.kind != V_ABSENT)
                return function;
        if (!strcmp(node->name, "varargs") || !strcmp(node->name, "kwargs") || !strcmp(node->name, "caller"))
                FAIL(c, "%s is not supported", node->name);
        return chat_undefined(c, "%s is undefined", node->name);
}

static ChatValue evaluate_list(Chat *c, const ChatNode *node, ChatKind kind)
{
        Items *items = chat_items_new(c);
        for (int i = 0; i < node->n; i++)
                chat_items_add(c, items, chat_evaluate(c, node->child[i]));
        return chat_list(kind, items);
}

static ChatValue dict_of(Chat *c, const ChatNode *node)
{
        Dict *d = chat_dict_new(c);
        for (int i = 0; i + 1 < node->n; i += 2) {
                ChatValue key = chat_evaluate(c, node->child[i]);
                chat_dict_set(c, d, key, chat_evaluate(c, node->child[i + 1]));
        }
        return (ChatValue){.kind = V_DICT, .dict = d};
}

static ChatValue concatenated(Chat *c, const ChatNode *node)
{
        Text *t = text_new(c->arena);
        for (int i = 0; i < node->n; i++) {
                ChatValue v = chat_str(c, chat_evaluate(c, node->child[i]));
                chat_add(c, t, v.text, v.n);
        }
        return chat_copy(c, t);
}

static ChatValue chain(Chat *c, const ChatNode *node)
{
        ChatValue left = chat_evaluate(c, node->first);
        for (int i = 0; i < node->n; i++) {
                ChatValue right = chat_evaluate(c, node->child[i]->first);
                c->work.at = node->at;
                c->work.end = node->end;
                if (!chat_compare(c, node->child[i]->op, left, right))
                        return chat_bool(false);
                left = right;
        }
        return chat_bool(true);
}

static ChatValue evaluate_choice(Chat *c, const ChatNode *node)
{
        if (chat_truth(chat_evaluate(c, node->first)))
                return chat_evaluate(c, node->second);
        if (node->third)
                return chat_evaluate(c, node->third);
        return chat_undefined(c, "the condition is false and there is no else");
}

static ChatValue signed_value(Chat *c, const ChatNode *node, ChatValue v)
{
        chat_need(c, v);
        if (!chat_is_number(v))
                FAIL(c, "a %s has no sign", chat_kind_name(v));
        if (v.kind == V_FLOAT)
                return chat_float(node->kind == N_NEGATIVE ? -v.real : v.real);
        return node->kind == N_NEGATIVE ? add_subtract_multiply(c, OP_SUBTRACT, chat_int(0), v)
                                        : chat_int(evaluate_whole(v));
}

static ChatValue evaluate_call(Chat *c, const ChatNode *node)
{
        ChatValue callee = chat_evaluate(c, node->first);
        Args args = chat_args(c, node);
        c->work.at = node->at;
        c->work.end = node->end;
        return chat_call(c, callee, &args);
}

static ChatValue filtered(Chat *c, const ChatNode *node)
{
        ChatValue v = node->first ? chat_evaluate(c, node->first) : c->block;
        Args args = chat_args(c, node);
        c->work.at = node->at;
        c->work.end = node->end;
        return chat_apply(c, node->name, v, &args);
}

static ChatValue tested(Chat *c, const ChatNode *node)
{
        ChatValue v = chat_evaluate(c, node->first);
        Args args = chat_args(c, node);
        c->work.at = node->at;
        c->work.end = node->end;
        return chat_bool(chat_test(c, node->name, v, &args));
}

/* and, or: one of the two */
static ChatValue evaluate_either(Chat *c, const ChatNode *node)
{
        ChatValue left = chat_evaluate(c, node->first);
        return chat_truth(left) == (node->kind == N_OR) ? left : chat_evaluate(c, node->second);
}

static ChatValue evaluated(Chat *c, const ChatNode *node)
{
        switch (node->kind) {
        case N_CONSTANT: return node->value;
        case N_NAME: return evaluate_name(c, node);
        case N_TUPLE: return evaluate_list(c, node, V_TUPLE);
        case N_LIST: return evaluate_list(c, node, V_LIST);
        case N_DICT: return dict_of(c, node);
        case N_SLICE: return evaluate_slice(c, node);
        case N_CALL: return evaluate_call(c, node);
        case N_FILTER: return filtered(c, node);
        case N_TEST: return tested(c, node);
        case N_NOT: return chat_bool(!chat_truth(chat_evaluate(c, node->first)));
        case N_AND:
        case N_OR: return evaluate_either(c, node);
        case N_CONCAT: return concatenated(c, node);
        case N_COMPARE: return chain(c, node);
        case N_CHOICE: return evaluate_choice(c, node);
        default: break;
        }
        ChatValue a = chat_evaluate(c, node->first),
                  b = node->second ? chat_evaluate(c, node->second) : chat_none();
        c->work.at = node->at;
        c->work.end = node->end;
        if (node->kind == N_ATTRIBUTE)
                return attribute_of(c, a, node->name);
        if (node->kind == N_INDEX)
                return chat_item(c, a, b);
        if (node->kind == N_BINARY)
                return evaluate_binary(c, node->op, a, b);
        return signed_value(c, node, a);
}

ChatValue chat_evaluate(Chat *c, const ChatNode *node)
{
        int32_t at = c->work.at, end = c->work.end;
        c->work.at = node->at;
        c->work.end = node->end;
        chat_charge(c, 1);
        if (++c->height > 1000)
                FAIL(c, "evaluation is nested too deeply");
        ChatValue v = evaluated(c, node);
        c->height--;
        c->work.at = at;
        c->work.end = end;
        return v;
}
