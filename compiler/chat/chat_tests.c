/* Table of the tests of templates: value is name(arguments). */
#include "chat_private.h"

enum { /* sets of kinds */
       TEXT = 1 << V_TEXT,
       DICT = 1 << V_DICT,
       UNDEFINED = 1 << V_UNDEFINED,
       IN_A_ROW = 1 << V_LIST | 1 << V_TUPLE | 1 << V_RANGE,
       CALLED = 1 << V_LOOP | 1 << V_MACRO | 1 << V_METHOD | 1 << V_FUNCTION
};

static ChatValue is_of_kind(const ChatCall *k)
{
        return chat_bool(k->routine->variant >> k->self.kind & 1);
}

static ChatValue is_truth(const ChatCall *k)
{
        return chat_bool(k->self.kind == V_BOOL && k->self.truth == (k->routine->variant != 0));
}

static ChatValue divisible(const ChatCall *k, int64_t by, int64_t rest)
{
        int64_t i = chat_integer(k->chat, k->self, "the tested value");
        if (by == 0)
                FAIL(k->chat, "division by zero");
        return chat_bool(by == -1 ? true : (i % by == 0) == (rest == 0));
}

static ChatValue is_odd_or_even(const ChatCall *k)
{
        return divisible(k, 2, k->routine->variant);
}

static ChatValue is_divisible(const ChatCall *k)
{
        return divisible(k, chat_integer(k->chat, k->arg[0], "divisibleby"), 0);
}

static ChatValue is_compared(const ChatCall *k)
{
        return chat_bool(chat_compare(k->chat, (Operator)k->routine->variant, k->self, k->arg[0]));
}

/* All letters of a case, and there is one. */
static ChatValue is_cased(const ChatCall *k)
{
        char first = k->routine->variant == CASE_LOWER ? 'a' : 'A';
        ChatValue text = chat_str(k->chat, k->self);
        bool some = false;
        for (int64_t i = 0; i < text.n; i++) {
                char b = text.text[i];
                if ((unsigned char)b >= 0x80)
                        FAIL(k->chat, "upper and lower case are not supported beyond ASCII");
                bool letter = (b >= 'a' && b <= 'z') || (b >= 'A' && b <= 'Z');
                if (letter && (b < first || b > first + 25))
                        return chat_bool(false);
                some = some || letter;
        }
        chat_charge(k->chat, text.n / 64);
        return chat_bool(some);
}

const Routine chat_test_routines[] = {
        {A_TEST, "boolean", "", 0, is_of_kind, 1 << V_BOOL},
        {A_TEST, "callable", "", 0, is_of_kind, CALLED | UNDEFINED},
        {A_TEST, "defined", "", 0, is_of_kind, ~UNDEFINED},
        {A_TEST, "divisibleby", "num", 1, is_divisible, 0},
        {A_TEST, "== eq equalto", "b", 1, is_compared, OP_EQUAL},
        {A_TEST, "even", "", 0, is_odd_or_even, 0},
        {A_TEST, "false", "", 0, is_truth, false},
        {A_TEST, "float", "", 0, is_of_kind, 1 << V_FLOAT},
        {A_TEST, ">= ge", "b", 1, is_compared, OP_GREATER_EQUAL},
        {A_TEST, "> greaterthan gt", "b", 1, is_compared, OP_GREATER},
        {A_TEST, "in", "seq", 1, is_compared, OP_IN},
        {A_TEST, "integer", "", 0, is_of_kind, 1 << V_INT},
        {A_TEST, "iterable", "", 0, is_of_kind,
         TEXT | IN_A_ROW | 1 << V_VIEW | 1 << V_GENERATOR | DICT | UNDEFINED},
        {A_TEST, "<= le", "b", 1, is_compared, OP_LESS_EQUAL},
        {A_TEST, "< lessthan lt", "b", 1, is_compared, OP_LESS},
        {A_TEST, "lower", "", 0, is_cased, CASE_LOWER},
        {A_TEST, "mapping", "", 0, is_of_kind, DICT},
        {A_TEST, "!= ne", "b", 1, is_compared, OP_UNEQUAL},
        {A_TEST, "none", "", 0, is_of_kind, 1 << V_NONE},
        {A_TEST, "number", "", 0, is_of_kind, 1 << V_BOOL | 1 << V_INT | 1 << V_FLOAT},
        {A_TEST, "odd", "", 0, is_odd_or_even, 1},
        {A_TEST, "sequence", "", 0, is_of_kind, TEXT | DICT | UNDEFINED | IN_A_ROW},
        {A_TEST, "string", "", 0, is_of_kind, TEXT},
        {A_TEST, "true", "", 0, is_truth, true},
        {A_TEST, "undefined", "", 0, is_of_kind, UNDEFINED},
        {A_TEST, "upper", "", 0, is_cased, CASE_UPPER},
        {0, NULL, "", 0, NULL, 0},
};
