/* Parses the statements of a template. */
#include "chat_private.h"

static ChatNode *block(ChatParser *p, const char *const *ends);

static void end_of_tag(ChatParser *p)
{
        if (p->token->kind != T_BLOCK_END)
                chat_unexpected(p, "the end of the tag");
        p->token++;
}

/* The statements up to {% END, whose name is left to be read. */
static ChatNode *body(ChatParser *p, const char *const *ends)
{
        chat_skips(p, ":");
        end_of_tag(p);
        return block(p, ends);
}

/* The statements up to {% END; also skips the name.  break can't leave them. */
static ChatNode *closed_body(ChatParser *p, const char *end)
{
        bool in_loop = p->in_loop;
        p->in_loop = false;
        ChatNode *node = body(p, (const char *const[]){end, NULL});
        p->in_loop = in_loop;
        p->token++;
        return node;
}

/* --- targets: names, tuples of them, members of a namespace --- */

static ChatNode *target(ChatParser *p, bool with_member);

static ChatNode *one_target(ChatParser *p, bool with_member)
{
        if (chat_skips(p, "(")) {
                chat_nest(p);
                ChatNode *inner = target(p, with_member);
                p->nesting--;
                chat_expect(p, ")");
                return inner;
        }
        ChatNode *node = chat_node(p, N_NAME);
        node->name = chat_expect_name(p, "a name to set");
        static const char *const constant[] = {"true", "True", "false", "False", "none", "None"};
        for (size_t i = 0; i < sizeof constant / sizeof constant[0]; i++)
                if (!strcmp(node->name, constant[i])) {
                        p->token--;
                        chat_unexpected(p, "a name that can be set");
                }
        if (!with_member || !chat_skips(p, "."))
                return node;
        ChatNode *member = chat_node(p, N_MEMBER);
        member->at = node->at;
        member->name = chat_expect_name(p, "a name behind the dot");
        member->first = chat_child(p, member, node);
        return member;
}

static ChatNode *target(ChatParser *p, bool with_member)
{
        ChatNode *tuple = chat_node(p, N_TUPLE), *first = one_target(p, with_member);
        if (!chat_sees(p, ","))
                return first;
        chat_add_child(p, tuple, first);
        while (chat_skips(p, ",") && p->token->kind == T_NAME && !chat_sees_name(p, "in"))
                chat_add_child(p, tuple, one_target(p, with_member));
        return tuple;
}

/* --- statements; the token is after their name --- */

static ChatNode *if_statement(ChatParser *p)
{
        static const char *const ends[] = {"elif", "else", "endif", NULL};
        ChatNode *node = chat_node(p, N_IF);
        do {
                chat_add_child(p, node, chat_tuple(p, false));
                chat_add_child(p, node, body(p, ends));
        } while (chat_skips_name(p, "elif"));
        if (chat_skips_name(p, "else"))
                chat_add_child(p, node, body(p, (const char *const[]){"endif", NULL}));
        p->token++;
        return node;
}

static ChatNode *for_statement(ChatParser *p)
{
        static const char *const ends[] = {"else", "endfor", NULL};
        ChatNode *node = chat_node(p, N_FOR);
        node->first = chat_child(p, node, target(p, false));
        if (!chat_skips_name(p, "in"))
                chat_unexpected(p, "in");
        node->second = chat_child(p, node, chat_tuple(p, false));
        if (chat_skips_name(p, "if"))
                node->third = chat_child(p, node, chat_expression(p));
        if (chat_sees_name(p, "recursive"))
                chat_unexpected(p, "the end of the tag: recursive loops are not supported");
        bool outer = p->in_loop;
        p->in_loop = true;
        chat_add_child(p, node, body(p, ends));
        p->in_loop = outer;
        if (chat_skips_name(p, "else"))
                chat_add_child(p, node, body(p, (const char *const[]){"endfor", NULL}));
        p->token++;
        return node;
}

static ChatNode *set_statement(ChatParser *p)
{
        ChatNode *node = chat_node(p, N_SET);
        node->first = chat_child(p, node, target(p, true));
        if (chat_skips(p, "=")) {
                node->second = chat_child(p, node, chat_tuple(p, true));
                return node;
        }
        node->kind = N_SET_BLOCK;
        node->second = chat_child(p, node, chat_filters_of(p, NULL));
        node->third = chat_child(p, node, closed_body(p, "endset"));
        return node;
}

static ChatNode *parse_parameter(ChatParser *p, const ChatNode *before)
{
        ChatNode *node = chat_node(p, N_KEYWORD);
        node->name = chat_expect_name(p, "the name of a parameter");
        if (chat_skips(p, "="))
                node->first = chat_child(p, node, chat_expression(p));
        else if (before && before->first)
                chat_unexpected(p, "a default, as the parameter before has one");
        return node;
}

static ChatNode *macro_statement(ChatParser *p)
{
        ChatNode *node = chat_node(p, N_MACRO);
        node->name = chat_expect_name(p, "the name of the macro");
        chat_expect(p, "(");
        while (!chat_sees(p, ")")) {
                if (node->n)
                        chat_expect(p, ",");
                chat_add_child(p, node, parse_parameter(p, node->n ? node->child[node->n - 1] : NULL));
        }
        chat_expect(p, ")");
        node->first = chat_child(p, node, closed_body(p, "endmacro"));
        return node;
}

static ChatNode *generation_statement(ChatParser *p)
{
        ChatNode *node = chat_node(p, N_SCOPE);
        node->first = chat_child(p, node, closed_body(p, "endgeneration"));
        return node;
}

static ChatNode *with_statement(ChatParser *p)
{
        ChatNode *node = chat_node(p, N_SCOPE);
        while (p->token->kind != T_BLOCK_END) {
                if (node->n)
                        chat_expect(p, ",");
                ChatNode *set = chat_node(p, N_SET);
                set->first = chat_child(p, set, one_target(p, false));
                chat_expect(p, "=");
                set->second = chat_child(p, set, chat_expression(p));
                chat_add_child(p, node, set);
        }
        node->first = chat_child(p, node, closed_body(p, "endwith"));
        return node;
}

static ChatNode *filter_statement(ChatParser *p)
{
        ChatNode *node = chat_node(p, N_FILTERED);
        node->first = chat_child(p, node, chat_filters_of(p, chat_filter(p, NULL)));
        node->second = chat_child(p, node, closed_body(p, "endfilter"));
        return node;
}

static ChatNode *leave(ChatParser *p, ChatNodeKind kind)
{
        ChatNode *node = chat_node(p, kind);
        if (p->in_loop)
                return node;
        p->token--;
        chat_unexpected(p, "break and continue only within a loop");
}

static ChatNode *break_statement(ChatParser *p)
{
        return leave(p, N_BREAK);
}

static ChatNode *continue_statement(ChatParser *p)
{
        return leave(p, N_CONTINUE);
}

static const struct {
        const char *name;
        ChatNode *(*parse)(ChatParser *p);
} statement_table[] = {
        {"if", if_statement},
        {"for", for_statement},
        {"set", set_statement},
        {"macro", macro_statement},
        {"generation", generation_statement},
        {"with", with_statement},
        {"filter", filter_statement},
        {"break", break_statement},
        {"continue", continue_statement},
};

/* {% NAME …: all of the tag, and of those that end it */
static ChatNode *parse_statement(ChatParser *p)
{
        const char *name = chat_expect_name(p, "the name of a statement");
        for (size_t i = 0; i < sizeof statement_table / sizeof statement_table[0]; i++)
                if (!strcmp(name, statement_table[i].name)) {
                        ChatNode *node = statement_table[i].parse(p);
                        end_of_tag(p);
                        return node;
                }
        p->work->at = p->token[-1].at;
        p->work->end = p->token[-1].end;
        if (!strncmp(name, "end", 3) || !strcmp(name, "else") || !strcmp(name, "elif"))
                chat_fail(p->work, "%s ends nothing here", name);
        chat_fail(p->work, "the statement %s is not supported", name);
}

static ChatNode *data(ChatParser *p)
{
        ChatNode *node = chat_node(p, N_DATA);
        node->value = p->token++->value;
        return node;
}

static ChatNode *parse_print(ChatParser *p)
{
        p->token++;
        ChatNode *node = chat_node(p, N_PRINT);
        node->first = chat_child(p, node, chat_tuple(p, true));
        if (p->token->kind != T_PRINT_END)
                chat_unexpected(p, "the end of the tag");
        p->token++;
        return node;
}

static bool ends_here(const ChatParser *p, const char *const *ends)
{
        for (; *ends; ends++)
                if (chat_sees_name(p, *ends))
                        return true;
        return false;
}

static _Noreturn void fail_open(ChatParser *p, const ChatToken *tag_end, const char *const *ends)
{
        p->work->at = tag_end->at;
        p->work->end = tag_end->at + 2;
        while (ends[1])
                ends++;
        chat_fail(p->work, "the statement of this tag has no end: expected {%% %s %%}", *ends);
}

/* Statements up to {% with one of the names, or to the end without names. */
static ChatNode *block(ChatParser *p, const char *const *ends)
{
        ChatNode *node = chat_node(p, N_BLOCK);
        const ChatToken *begin = p->token;
        chat_nest(p);
        for (;;) {
                if (p->token->kind == T_END) {
                        if (*ends)
                                fail_open(p, begin - 1, ends);
                        break;
                }
                if (p->token->kind == T_DATA)
                        chat_add_child(p, node, data(p));
                else if (p->token->kind == T_PRINT_BEGIN)
                        chat_add_child(p, node, parse_print(p));
                else {
                        p->token++;
                        if (ends_here(p, ends))
                                break;
                        chat_add_child(p, node, parse_statement(p));
                }
        }
        p->nesting--;
        return node;
}

/* The text with \n as line ends, without the last one. */
static char *with_newlines(Arena *a, const char *text, int64_t *n)
{
        char *copy = arena_alloc(a, *n + 1);
        int64_t m = 0;
        for (int64_t i = 0; i < *n; i++) {
                bool pair = text[i] == '\r' && i + 1 < *n && text[i + 1] == '\n';
                if (!pair)
                        copy[m++] = text[i] == '\r' ? '\n' : text[i];
        }
        if (m > 0 && copy[m - 1] == '\n')
                m--;
        copy[m] = 0;
        *n = m;
        return copy;
}

static int64_t not_utf8(const char *text, int64_t n)
{
        uint32_t code;
        for (int64_t at = 0; at < n;) {
                int length = decode_utf8(text + at, (int32_t)(n - at), &code);
                if (!length)
                        return at;
                at += length;
        }
        return -1;
}

/* NULL with the fault of *work */
static ChatNode *parse_template(ChatWork *work)
{
        if (setjmp(work->out))
                return NULL;
        int64_t wrong = not_utf8(work->source->text, work->source->length);
        if (wrong >= 0) {
                work->at = work->end = (int32_t)wrong;
                chat_fail(work, "this is not UTF-8");
        }
        ChatParser p = {.work = work, .token = chat_scan(work)};
        return block(&p, (const char *const[]){NULL});
}

ChatTemplate *chat_parse(Arena *a, const char *path, const char *text, int64_t n, ChatFault *fault)
{
        *fault = (ChatFault){0};
        if (n > CHAT_BYTES) {
                fault->message = arena_printf(a, "a template has at most %d bytes", CHAT_BYTES);
                return NULL;
        }
        ChatTemplate *t = NEW(a, ChatTemplate);
        text = with_newlines(a, text, &n);
        t->source = source_new(a, arena_strdup(a, path), text, (int32_t)n);
        t->names = NEW(a, Interner);
        t->names->arena = a;
        ChatWork work = {.arena = a, .source = t->source, .names = t->names, .fault = fault};
        t->body = parse_template(&work);
        return t->body ? t : NULL;
}
