/* Parses the expressions of a template, with the precedences of Jinja2. */
#include "chat_private.h"

_Noreturn void chat_fail(ChatWork *w, const char *format, ...)
{
        va_list args;
        va_start(args, format);
        *w->fault = (ChatFault){{w->source, w->at, w->end}, arena_vprintf(w->arena, format, args)};
        va_end(args);
        longjmp(w->out, 1);
}

static const char *shown_token(ChatParser *p, const ChatToken *t)
{
        if (t->kind == T_END)
                return "the end";
        if (t->kind == T_DATA || t->kind == T_PRINT_END || t->kind == T_BLOCK_END)
                return t->kind == T_DATA ? "text" : "the end of the tag";
        return arena_strndup(p->work->arena, p->work->source->text + t->at,
                             t->end - t->at > 40 ? 40 : t->end - t->at);
}

_Noreturn void chat_unexpected(ChatParser *p, const char *wanted)
{
        p->work->at = p->token->at;
        p->work->end = p->token->end;
        chat_fail(p->work, "expected %s, not %s", wanted, shown_token(p, p->token));
}

void chat_nest(ChatParser *p)
{
        if (++p->nesting <= CHAT_NESTING)
                return;
        p->work->at = p->token->at;
        p->work->end = p->token->end;
        chat_fail(p->work, "nested too deeply: at most %d", CHAT_NESTING);
}

bool chat_sees(const ChatParser *p, const char *sign)
{
        return p->token->kind == T_SIGN && !strcmp(p->token->name, sign);
}

bool chat_sees_name(const ChatParser *p, const char *name)
{
        return p->token->kind == T_NAME && !strcmp(p->token->name, name);
}

bool chat_skips(ChatParser *p, const char *sign)
{
        bool there = chat_sees(p, sign);
        p->token += there;
        return there;
}

bool chat_skips_name(ChatParser *p, const char *name)
{
        bool there = chat_sees_name(p, name);
        p->token += there;
        return there;
}

void chat_expect(ChatParser *p, const char *sign)
{
        if (!chat_skips(p, sign))
                chat_unexpected(p, sign);
}

const char *chat_expect_name(ChatParser *p, const char *what)
{
        if (p->token->kind != T_NAME)
                chat_unexpected(p, what);
        return p->token++->name;
}

ChatNode *chat_node(ChatParser *p, ChatNodeKind kind)
{
        ChatNode *node = NEW(p->work->arena, ChatNode);
        *node = (ChatNode){.kind = kind, .at = p->token->at, .end = p->token->end, .height = 1};
        return node;
}

ChatNode *chat_child(ChatParser *p, ChatNode *node, ChatNode *child)
{
        if (child && child->height >= node->height)
                node->height = child->height + 1;
        if (node->height <= CHAT_HEIGHT)
                return child;
        p->work->at = node->at;
        p->work->end = node->end;
        chat_fail(p->work, "too long an expression: at most %d of one within another", CHAT_HEIGHT);
}

ChatNode *chat_add_child(ChatParser *p, ChatNode *node, ChatNode *child)
{
        GROW(p->work->arena, node->child, node->n, node->cap);
        node->child[node->n++] = chat_child(p, node, child);
        return child;
}

/* A node at the token where its left side began. */
static ChatNode *node_joined(ChatParser *p, ChatNodeKind kind, ChatNode *left, ChatNode *right)
{
        ChatNode *node = chat_node(p, kind);
        node->at = left->at;
        node->end = p->token[-1].end;
        node->first = chat_child(p, node, left);
        node->second = chat_child(p, node, right);
        return node;
}

/* --- the inmost: names, literals, brackets --- */

static ChatNode *name_or_word(ChatParser *p)
{
        static const struct {
                const char *name;
                ChatKind kind;
                bool truth;
        } word[] = {{"true", V_BOOL, true},   {"True", V_BOOL, true},  {"false", V_BOOL, false},
                    {"False", V_BOOL, false}, {"none", V_NONE, false}, {"None", V_NONE, false}};
        ChatNode *node = chat_node(p, N_NAME);
        node->name = p->token++->name;
        for (size_t i = 0; i < sizeof word / sizeof word[0]; i++)
                if (!strcmp(node->name, word[i].name)) {
                        node->kind = N_CONSTANT;
                        node->value = word[i].kind == V_NONE ? chat_none() : chat_bool(word[i].truth);
                }
        return node;
}

/* adjacent texts are concatenated */
static ChatNode *text_constant(ChatParser *p)
{
        ChatNode *node = chat_node(p, N_CONSTANT);
        Text *t = text_new(p->work->arena);
        for (; p->token->kind == T_TEXT; p->token++)
                text_add(t, p->token->value.text, p->token->value.n);
        node->value = chat_text(t->data, t->n);
        return node;
}

static ChatNode *parse_list(ChatParser *p)
{
        ChatNode *node = chat_node(p, N_LIST);
        chat_expect(p, "[");
        while (!chat_sees(p, "]")) {
                if (node->n)
                        chat_expect(p, ",");
                if (chat_sees(p, "]"))
                        break;
                chat_add_child(p, node, chat_expression(p));
        }
        chat_expect(p, "]");
        return node;
}

static ChatNode *dict(ChatParser *p)
{
        ChatNode *node = chat_node(p, N_DICT);
        chat_expect(p, "{");
        while (!chat_sees(p, "}")) {
                if (node->n)
                        chat_expect(p, ",");
                if (chat_sees(p, "}"))
                        break;
                chat_add_child(p, node, chat_expression(p));
                chat_expect(p, ":");
                chat_add_child(p, node, chat_expression(p));
        }
        chat_expect(p, "}");
        return node;
}

static ChatNode *in_parentheses(ChatParser *p)
{
        ChatNode *empty = chat_node(p, N_TUPLE);
        chat_expect(p, "(");
        ChatNode *node = chat_sees(p, ")") ? empty : chat_tuple(p, true);
        chat_expect(p, ")");
        return node;
}

static ChatNode *primary(ChatParser *p)
{
        ChatNode *node = NULL;
        chat_nest(p);
        if (p->token->kind == T_NAME)
                node = name_or_word(p);
        else if (p->token->kind == T_TEXT)
                node = text_constant(p);
        else if (p->token->kind == T_INTEGER || p->token->kind == T_FLOAT) {
                node = chat_node(p, N_CONSTANT);
                node->value = p->token++->value;
        } else if (chat_sees(p, "("))
                node = in_parentheses(p);
        else if (chat_sees(p, "["))
                node = parse_list(p);
        else if (chat_sees(p, "{"))
                node = dict(p);
        else
                chat_unexpected(p, "an expression");
        p->nesting--;
        return node;
}

/* --- postfixes: .name [index] (arguments) |filter is test --- */

static ChatNode *slice_part(ChatParser *p)
{
        return chat_sees(p, ":") || chat_sees(p, "]") || chat_sees(p, ",") ? NULL : chat_expression(p);
}

static ChatNode *parse_slice(ChatParser *p, ChatNode *subject, ChatNode *from)
{
        ChatNode *node = node_joined(p, N_SLICE, subject, from);
        chat_expect(p, ":");
        node->third = chat_child(p, node, slice_part(p));
        chat_add_child(p, node, chat_skips(p, ":") ? slice_part(p) : NULL);
        return node;
}

static ChatNode *index(ChatParser *p, ChatNode *subject)
{
        chat_expect(p, "[");
        ChatNode *at = slice_part(p), *node;
        if (chat_sees(p, ":"))
                node = parse_slice(p, subject, at);
        else
                node = node_joined(p, N_INDEX, subject, at ? at : chat_expression(p));
        if (chat_sees(p, ","))
                chat_fail(p->work, "an index of several parts is not supported");
        chat_expect(p, "]");
        node->end = p->token[-1].end;
        return node;
}

static ChatNode *attribute(ChatParser *p, ChatNode *subject)
{
        chat_expect(p, ".");
        if (p->token->kind == T_INTEGER) {
                ChatNode *at = chat_node(p, N_CONSTANT);
                at->value = p->token++->value;
                return node_joined(p, N_INDEX, subject, at);
        }
        const char *name = chat_expect_name(p, "a name behind the dot");
        ChatNode *node = node_joined(p, N_ATTRIBUTE, subject, NULL);
        node->name = name;
        return node;
}

static ChatNode *parse_argument(ChatParser *p)
{
        if (chat_sees(p, "*") || chat_sees(p, "**"))
                chat_unexpected(p, "an argument (lists of arguments are not supported)");
        if (p->token->kind != T_NAME || p->token[1].kind != T_SIGN || strcmp(p->token[1].name, "=") != 0)
                return chat_expression(p);
        ChatNode *node = chat_node(p, N_KEYWORD);
        node->name = p->token->name;
        p->token += 2;
        node->first = chat_child(p, node, chat_expression(p));
        return node;
}

static void parse_arguments(ChatParser *p, ChatNode *call)
{
        bool named = false;
        chat_expect(p, "(");
        while (!chat_sees(p, ")")) {
                if (call->n)
                        chat_expect(p, ",");
                if (chat_sees(p, ")"))
                        break;
                ChatNode *a = parse_argument(p);
                if (named && a->kind != N_KEYWORD)
                        chat_unexpected(p, "arguments with names behind the others");
                named = a->kind == N_KEYWORD;
                chat_add_child(p, call, a);
        }
        chat_expect(p, ")");
        call->end = p->token[-1].end;
}

static ChatNode *parse_call(ChatParser *p, ChatNode *callee)
{
        ChatNode *node = node_joined(p, N_CALL, callee, NULL);
        parse_arguments(p, node);
        return node;
}

static ChatNode *postfix(ChatParser *p, ChatNode *node)
{
        for (;;) {
                if (chat_sees(p, "."))
                        node = attribute(p, node);
                else if (chat_sees(p, "["))
                        node = index(p, node);
                else if (chat_sees(p, "("))
                        node = parse_call(p, node);
                else
                        return node;
        }
}

ChatNode *chat_filter(ChatParser *p, ChatNode *subject)
{
        ChatNode *node = chat_node(p, N_FILTER);
        node->name = chat_expect_name(p, "the name of a filter");
        node->first = chat_child(p, node, subject);
        if (chat_sees(p, "."))
                chat_unexpected(p, "a filter's name without dots");
        if (chat_sees(p, "("))
                parse_arguments(p, node);
        return node;
}

ChatNode *chat_filters_of(ChatParser *p, ChatNode *subject)
{
        while (chat_skips(p, "|"))
                subject = chat_filter(p, subject);
        return subject;
}

/* Whether the token after `is name` starts an argument without parentheses. */
static bool argument_of_test(const ChatParser *p)
{
        TokenKind kind = p->token->kind;
        if (kind == T_NAME)
                return !chat_sees_name(p, "else") && !chat_sees_name(p, "or") && !chat_sees_name(p, "and");
        return kind == T_TEXT || kind == T_INTEGER || kind == T_FLOAT || chat_sees(p, "[") ||
               chat_sees(p, "{");
}

static ChatNode *test(ChatParser *p, ChatNode *subject)
{
        p->token++; /* is */
        bool negated = chat_skips_name(p, "not");
        ChatNode *node = chat_node(p, N_TEST);
        node->name = chat_expect_name(p, "the name of a test");
        node->first = chat_child(p, node, subject);
        if (chat_sees(p, "("))
                parse_arguments(p, node);
        else if (argument_of_test(p)) {
                if (chat_sees_name(p, "is"))
                        chat_unexpected(p, "one test: they can't be chained");
                chat_add_child(p, node, postfix(p, primary(p)));
        }
        return negated ? node_joined(p, N_NOT, node, NULL) : node;
}

static ChatNode *filters_and_tests(ChatParser *p, ChatNode *node)
{
        for (;;) {
                if (chat_sees(p, "|"))
                        node = chat_filters_of(p, node);
                else if (chat_sees_name(p, "is"))
                        node = test(p, node);
                else if (chat_sees(p, "("))
                        node = parse_call(p, node);
                else
                        return node;
        }
}

/* --- operators, the closest first --- */

static ChatNode *sign(ChatParser *p, bool with_filter)
{
        ChatNode *node;
        if (chat_sees(p, "-") || chat_sees(p, "+")) {
                node = chat_node(p, chat_sees(p, "-") ? N_NEGATIVE : N_POSITIVE);
                p->token++;
                chat_nest(p);
                node->first = chat_child(p, node, sign(p, false));
                p->nesting--;
        } else
                node = primary(p);
        node = postfix(p, node);
        return with_filter ? filters_and_tests(p, node) : node;
}

typedef struct {
        const char *sign;
        Operator op;
} ComparisonRow;

/* Skips an operator, and returns its row; a NULL sign: none. */
static const ComparisonRow *operator_of(ChatParser *p, const ComparisonRow *row)
{
        while (row->sign && !chat_skips(p, row->sign))
                row++;
        return row;
}

static ChatNode *node_binary(ChatParser *p, ChatNode *left, Operator op, ChatNode *right)
{
        ChatNode *node = node_joined(p, N_BINARY, left, right);
        node->op = op;
        return node;
}

static ChatNode *parse_power(ChatParser *p)
{
        ChatNode *node = sign(p, true);
        while (chat_skips(p, "**"))
                node = node_binary(p, node, OP_POWER, sign(p, true));
        return node;
}

static ChatNode *parse_product(ChatParser *p)
{
        static const ComparisonRow rows[] = {
                {"*", OP_MULTIPLY}, {"/", OP_DIVIDE}, {"//", OP_FLOOR}, {"%", OP_MODULO}, {NULL, 0}};
        ChatNode *node = parse_power(p);
        for (const ComparisonRow *row; (row = operator_of(p, rows))->sign;)
                node = node_binary(p, node, row->op, parse_power(p));
        return node;
}

static ChatNode *concat(ChatParser *p)
{
        ChatNode *first = parse_product(p);
        if (!chat_sees(p, "~"))
                return first;
        ChatNode *node = node_joined(p, N_CONCAT, first, NULL);
        chat_add_child(p, node, first);
        while (chat_skips(p, "~"))
                chat_add_child(p, node, parse_product(p));
        return node;
}

static ChatNode *parse_sum(ChatParser *p)
{
        static const ComparisonRow rows[] = {{"+", OP_ADD}, {"-", OP_SUBTRACT}, {NULL, 0}};
        ChatNode *node = concat(p);
        for (const ComparisonRow *row; (row = operator_of(p, rows))->sign;)
                node = node_binary(p, node, row->op, concat(p));
        return node;
}

static bool comparison(ChatParser *p, Operator *op)
{
        static const ComparisonRow rows[] = {
                {"==", OP_EQUAL}, {"!=", OP_UNEQUAL},       {"<=", OP_LESS_EQUAL},
                {"<", OP_LESS},   {">=", OP_GREATER_EQUAL}, {">", OP_GREATER},
                {NULL, 0}};
        const ComparisonRow *row = operator_of(p, rows);
        *op = row->op;
        if (row->sign)
                return true;
        *op = OP_IN;
        if (chat_skips_name(p, "in"))
                return true;
        *op = OP_NOT_IN;
        if (!chat_sees_name(p, "not") || p->token[1].kind != T_NAME || strcmp(p->token[1].name, "in") != 0)
                return false;
        p->token += 2;
        return true;
}

static ChatNode *parse_compare(ChatParser *p)
{
        ChatNode *first = parse_sum(p), *node = NULL;
        for (Operator op; comparison(p, &op);) {
                node = node ? node : node_joined(p, N_COMPARE, first, NULL);
                ChatNode *operand = chat_node(p, N_BINARY);
                operand->op = op;
                operand->first = chat_child(p, operand, parse_sum(p));
                chat_add_child(p, node, operand);
                node->end = p->token[-1].end;
        }
        return node ? node : first;
}

static ChatNode *negation(ChatParser *p)
{
        if (!chat_sees_name(p, "not"))
                return parse_compare(p);
        ChatNode *node = chat_node(p, N_NOT);
        p->token++;
        chat_nest(p);
        node->first = chat_child(p, node, negation(p));
        p->nesting--;
        return node;
}

static ChatNode *conjunction(ChatParser *p)
{
        ChatNode *node = negation(p);
        while (chat_skips_name(p, "and"))
                node = node_joined(p, N_AND, node, negation(p));
        return node;
}

static ChatNode *disjunction(ChatParser *p)
{
        ChatNode *node = conjunction(p);
        while (chat_skips_name(p, "or"))
                node = node_joined(p, N_OR, node, conjunction(p));
        return node;
}

/* a if b else c */
ChatNode *chat_expression(ChatParser *p)
{
        chat_nest(p);
        ChatNode *node = disjunction(p);
        while (chat_skips_name(p, "if")) {
                ChatNode *condition = disjunction(p), *then = node;
                node = node_joined(p, N_CHOICE, condition, then);
                node->at = then->at;
                if (chat_skips_name(p, "else"))
                        node->third = chat_child(p, node, chat_expression(p));
        }
        p->nesting--;
        return node;
}

static bool tuple_ends(const ChatParser *p)
{
        return p->token->kind == T_PRINT_END || p->token->kind == T_BLOCK_END || chat_sees(p, ")");
}

/* An expression, or several separated by commas. */
ChatNode *chat_tuple(ChatParser *p, bool with_choice)
{
        ChatNode *tuple = chat_node(p, N_TUPLE);
        ChatNode *first = with_choice ? chat_expression(p) : disjunction(p);
        if (!chat_sees(p, ","))
                return first;
        chat_add_child(p, tuple, first);
        while (chat_skips(p, ",") && !tuple_ends(p))
                chat_add_child(p, tuple, with_choice ? chat_expression(p) : disjunction(p));
        return tuple;
}
