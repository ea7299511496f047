/* The tests of templates, one table: value is name(arguments). */
#include <math.h>

#include "chat_private.h"

static Value is_defined(const Call *k)
{
        return chat_bool(k->self.kind != V_UNDEFINED);
}

static Value is_undefined(const Call *k)
{
        return chat_bool(k->self.kind == V_UNDEFINED);
}

static Value is_no_value(const Call *k)
{
        return chat_bool(k->self.kind == V_NONE);
}

static Value is_string(const Call *k)
{
        return chat_bool(k->self.kind == V_TEXT);
}

static Value is_mapping(const Call *k)
{
        return chat_bool(k->self.kind == V_DICT);
}

static Value is_sequence(const Call *k)
{
        return chat_bool(k->self.kind == V_TEXT || k->self.kind == V_DICT || k->self.kind == V_UNDEFINED ||
                         chat_is_list(k->self));
}

static Value is_iterable(const Call *k)
{
        return chat_bool((k->self.kind >= V_TEXT && k->self.kind <= V_DICT) || k->self.kind == V_UNDEFINED);
}

static Value is_boolean(const Call *k)
{
        return chat_bool(k->self.kind == V_BOOL);
}

static Value is_true(const Call *k)
{
        return chat_bool(k->self.kind == V_BOOL && k->self.truth);
}

static Value is_false(const Call *k)
{
        return chat_bool(k->self.kind == V_BOOL && !k->self.truth);
}

static Value is_a_number(const Call *k)
{
        return chat_bool(chat_is_number(k->self));
}

static Value is_integer(const Call *k)
{
        return chat_bool(k->self.kind == V_INT);
}

static Value is_float(const Call *k)
{
        return chat_bool(k->self.kind == V_FLOAT);
}

static Value is_callable(const Call *k)
{
        return chat_bool(k->self.kind >= V_LOOP || k->self.kind == V_UNDEFINED);
}

static Value divisible(const Call *k, int64_t by, int64_t rest)
{
        int64_t i = chat_integer(k->chat, k->self, "what is tested");
        if (by == 0)
                FAIL(k->chat, "division by zero");
        return chat_bool(by == -1 ? true : (i % by == 0) == (rest == 0));
}

static Value is_odd(const Call *k)
{
        return divisible(k, 2, 1);
}

static Value is_even(const Call *k)
{
        return divisible(k, 2, 0);
}

static Value is_divisible(const Call *k)
{
        return divisible(k, chat_integer(k->chat, k->arg[0], "divisibleby"), 0);
}

static Value is_equal(const Call *k)
{
        return chat_bool(chat_equal(k->chat, k->self, k->arg[0]));
}

static Value is_unequal(const Call *k)
{
        return chat_bool(!chat_equal(k->chat, k->self, k->arg[0]));
}

static int order(const Call *k)
{
        return chat_order(k->chat, k->self, k->arg[0]);
}

static Value is_less(const Call *k)
{
        return chat_bool(order(k) == -1);
}

static Value is_greater(const Call *k)
{
        return chat_bool(order(k) == 1);
}

static Value is_at_most(const Call *k)
{
        int o = order(k);
        return chat_bool(o == -1 || o == 0);
}

static Value is_at_least(const Call *k)
{
        int o = order(k);
        return chat_bool(o == 0 || o == 1);
}

static Value is_in(const Call *k)
{
        return chat_bool(chat_contains(k->chat, k->arg[0], k->self));
}

/* All letters of a case, and there is one. */
static Value all_of(const Call *k, char from, char to)
{
        Value text = chat_str(k->chat, k->self);
        bool some = false;
        for (int64_t i = 0; i < text.n; i++) {
                char b = text.text[i];
                if ((unsigned char)b >= 0x80)
                        FAIL(k->chat, "upper and lower case are not supported beyond ASCII");
                bool letter = (b >= 'a' && b <= 'z') || (b >= 'A' && b <= 'Z');
                if (letter && (b < from || b > to))
                        return chat_bool(false);
                some = some || letter;
        }
        chat_charge(k->chat, text.n / 64);
        return chat_bool(some);
}

static Value is_lower(const Call *k)
{
        return all_of(k, 'a', 'z');
}

static Value is_upper(const Call *k)
{
        return all_of(k, 'A', 'Z');
}

const Routine chat_test_table[] = {
        {"boolean", "", 0, is_boolean},
        {"callable", "", 0, is_callable},
        {"defined", "", 0, is_defined},
        {"divisibleby", "num", 1, is_divisible},
        {"eq", "b", 1, is_equal},
        {"equalto", "b", 1, is_equal},
        {"==", "b", 1, is_equal},
        {"even", "", 0, is_even},
        {"false", "", 0, is_false},
        {"float", "", 0, is_float},
        {"ge", "b", 1, is_at_least},
        {">=", "b", 1, is_at_least},
        {"greaterthan", "b", 1, is_greater},
        {"gt", "b", 1, is_greater},
        {">", "b", 1, is_greater},
        {"in", "seq", 1, is_in},
        {"integer", "", 0, is_integer},
        {"iterable", "", 0, is_iterable},
        {"le", "b", 1, is_at_most},
        {"<=", "b", 1, is_at_most},
        {"lessthan", "b", 1, is_less},
        {"lower", "", 0, is_lower},
        {"lt", "b", 1, is_less},
        {"<", "b", 1, is_less},
        {"mapping", "", 0, is_mapping},
        {"ne", "b", 1, is_unequal},
        {"!=", "b", 1, is_unequal},
        {"none", "", 0, is_no_value},
        {"number", "", 0, is_a_number},
        {"odd", "", 0, is_odd},
        {"sequence", "", 0, is_sequence},
        {"string", "", 0, is_string},
        {"true", "", 0, is_true},
        {"undefined", "", 0, is_undefined},
        {"upper", "", 0, is_upper},
        {NULL, "", 0, NULL},
};
