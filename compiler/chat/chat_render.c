/* Renders the statements of a template. */
#include "chat_private.h"

typedef enum { GOES_ON, BREAKS, CONTINUES } ControlFlow;

static ControlFlow render_statement(Chat *c, const ChatNode *node);

static ChatScope *scope_within(Chat *c, ChatScope *outer)
{
        ChatScope *s = NEW(c->arena, ChatScope);
        s->outer = outer;
        return s;
}

/* Sets a variable in the innermost scope. */
static void set_name(Chat *c, const char *name, ChatValue v)
{
        chat_charge(c, 1);
        for (ChatBinding *b = c->scope->first; b; b = b->next)
                if (b->name == name) {
                        b->value = v;
                        return;
                }
        ChatBinding *b = NEW(c->arena, ChatBinding);
        *b = (ChatBinding){name, v, c->scope->first};
        c->scope->first = b;
}

static void render_set_member(Chat *c, const ChatNode *target, ChatValue v)
{
        ChatValue space = chat_evaluate(c, target->first);
        if (space.kind != V_NAMESPACE)
                FAIL(c, "only members of a namespace can be set; %s is a %s", target->first->name,
                     chat_kind_name(space));
        chat_dict_set(c, space.dict, chat_word(target->name), v);
}

static void assign(Chat *c, const ChatNode *target, ChatValue v)
{
        c->work.at = target->at;
        c->work.end = target->end;
        if (target->kind == N_NAME) {
                set_name(c, target->name, v);
                return;
        }
        if (target->kind == N_MEMBER) {
                render_set_member(c, target, v);
                return;
        }
        chat_need(c, v);
        const Items *items = chat_iterate(c, v);
        if (items->n != target->n)
                FAIL(c, "%lld values can't be set to %d names", (long long)items->n, target->n);
        for (int i = 0; i < target->n; i++)
                assign(c, target->child[i], items->at[i]);
}

/* The output of a block, in its own scope. */
static ChatValue printed(Chat *c, const ChatNode *block)
{
        Text *out = c->out;
        ChatScope *scope = c->scope;
        c->out = text_new(c->arena);
        c->scope = scope_within(c, scope);
        render_statement(c, block);
        ChatValue v = chat_copy(c, c->out);
        c->out = out;
        c->scope = scope;
        return v;
}

/* The output of a block, after filters. */
static ChatValue printed_through(Chat *c, const ChatNode *filters, const ChatNode *block)
{
        ChatValue text = printed(c, block), outer = c->block;
        if (!filters)
                return text;
        c->block = text;
        text = chat_evaluate(c, filters);
        c->block = outer;
        return text;
}

static void render_print(Chat *c, ChatValue v)
{
        ChatValue text = chat_str(c, v);
        chat_add(c, c->out, text.text, text.n);
}

/* --- loops --- */

/* The items that meet the condition of the loop. */
static Items *chosen(Chat *c, const ChatNode *node, Items *all)
{
        Items *items = chat_items_new(c);
        ChatScope *scope = c->scope;
        for (int64_t i = 0; i < all->n; i++) {
                c->scope = scope_within(c, scope);
                assign(c, node->first, all->at[i]);
                if (chat_truth(chat_evaluate(c, node->third)))
                        chat_items_add(c, items, all->at[i]);
        }
        c->scope = scope;
        return items;
}

static void render_loop(Chat *c, const ChatNode *node, const Items *items, const char *loop_name)
{
        ChatScope *scope = c->scope;
        ChatLoop *loop = NEW(c->arena, ChatLoop);
        loop->items = items;
        for (ControlFlow flow = GOES_ON; loop->index < items->n && flow != BREAKS; loop->index++) {
                chat_charge(c, 1);
                c->scope = scope_within(c, scope);
                assign(c, node->first, items->at[loop->index]);
                set_name(c, loop_name, (ChatValue){.kind = V_LOOP, .loop = loop});
                flow = render_statement(c, node->child[0]);
        }
        c->scope = scope;
}

static ControlFlow run_for(Chat *c, const ChatNode *node)
{
        ChatValue v = chat_evaluate(c, node->second);
        Items *items = chat_iterate(c, v);
        if (node->third)
                items = chosen(c, node, items);
        if (items->n) {
                render_loop(c, node, items, intern(c->work.names, "loop", -1));
                return GOES_ON;
        }
        if (node->n < 2)
                return GOES_ON;
        ChatScope *scope = c->scope;
        c->scope = scope_within(c, scope);
        ControlFlow flow = render_statement(c, node->child[1]);
        c->scope = scope;
        return flow;
}

/* --- macros --- */

static const ChatValue *macro_argument(Chat *c, const ChatNode *macro, const Args *args, int i)
{
        const ChatValue *given = i < args->n ? &args->at[i] : NULL;
        for (int k = 0; k < args->nnamed; k++)
                if (args->name[k] == macro->child[i]->name) {
                        if (given)
                                FAIL(c, "macro %s: %s is given twice", macro->name, args->name[k]);
                        given = &args->named[k];
                }
        return given;
}

static void macro_check_names(Chat *c, const ChatNode *macro, const Args *args)
{
        if (args->n > macro->n)
                FAIL(c, "macro %s takes at most %d arguments", macro->name, macro->n);
        for (int k = 0; k < args->nnamed; k++) {
                int i = 0;
                while (i < macro->n && macro->child[i]->name != args->name[k])
                        i++;
                if (i == macro->n)
                        FAIL(c, "macro %s has no parameter %s", macro->name, args->name[k]);
        }
}

/* A default may use all given arguments; a parameter's name never refers to a variable outside the macro. */
static void macro_bind(Chat *c, const ChatNode *macro, const Args *args)
{
        for (int i = 0; i < macro->n; i++) {
                const char *name = macro->child[i]->name;
                const ChatValue *given = macro_argument(c, macro, args, i);
                set_name(c, name, given ? *given : chat_undefined(c, "parameter %s was not given", name));
        }
        for (int i = 0; i < macro->n; i++) {
                const ChatNode *parameter = macro->child[i];
                if (parameter->first && !macro_argument(c, macro, args, i))
                        set_name(c, parameter->name, chat_evaluate(c, parameter->first));
        }
}

ChatValue chat_expand(Chat *c, const Macro *m, const Args *args)
{
        macro_check_names(c, m->node, args);
        if (++c->macros > CHAT_NESTING)
                FAIL(c, "macros call each other too deeply: at most %d", CHAT_NESTING);
        ChatScope *scope = c->scope;
        c->scope = scope_within(c, m->scope);
        macro_bind(c, m->node, args);
        ChatValue v = printed(c, m->node->first);
        c->scope = scope;
        c->macros--;
        return v;
}

static void define_macro(Chat *c, const ChatNode *node)
{
        Macro *m = NEW(c->arena, Macro);
        *m = (Macro){node, c->scope};
        set_name(c, node->name, (ChatValue){.kind = V_MACRO, .macro = m});
}

/* --- statements --- */

static ControlFlow render_if(Chat *c, const ChatNode *node)
{
        int i = 0;
        for (; i + 1 < node->n; i += 2)
                if (chat_truth(chat_evaluate(c, node->child[i])))
                        return render_statement(c, node->child[i + 1]);
        return i < node->n ? render_statement(c, node->child[i]) : GOES_ON;
}

static ControlFlow render_block(Chat *c, const ChatNode *node)
{
        ControlFlow flow = GOES_ON;
        for (int i = 0; i < node->n && flow == GOES_ON; i++)
                flow = render_statement(c, node->child[i]);
        return flow;
}

/* {% with %}: values are evaluated in the outer scope */
static void run_scope(Chat *c, const ChatNode *node)
{
        ChatScope *outer = c->scope, *inner = scope_within(c, outer);
        for (int i = 0; i < node->n; i++) {
                ChatValue v = chat_evaluate(c, node->child[i]->second);
                c->scope = inner;
                assign(c, node->child[i]->first, v);
                c->scope = outer;
        }
        c->scope = inner;
        render_print(c, printed(c, node->first));
        c->scope = outer;
}

static ControlFlow render_node(Chat *c, const ChatNode *node)
{
        switch (node->kind) {
        case N_BLOCK: return render_block(c, node);
        case N_DATA: chat_add(c, c->out, node->value.text, node->value.n); break;
        case N_PRINT: render_print(c, chat_evaluate(c, node->first)); break;
        case N_IF: return render_if(c, node);
        case N_FOR: return run_for(c, node);
        case N_SET: assign(c, node->first, chat_evaluate(c, node->second)); break;
        case N_SET_BLOCK: assign(c, node->first, printed_through(c, node->second, node->third)); break;
        case N_MACRO: define_macro(c, node); break;
        case N_SCOPE: run_scope(c, node); break;
        case N_FILTERED: render_print(c, printed_through(c, node->first, node->second)); break;
        case N_BREAK: return BREAKS;
        case N_CONTINUE: return CONTINUES;
        default: break;
        }
        return GOES_ON;
}

static ControlFlow render_statement(Chat *c, const ChatNode *node)
{
        c->work.at = node->at;
        c->work.end = node->end;
        chat_charge(c, 1);
        if (++c->height > 1000)
                FAIL(c, "statements are nested too deeply");
        ControlFlow flow = render_node(c, node);
        c->height--;
        return flow;
}

bool chat_render(Arena *a, const ChatTemplate *t, const json_t *variables, ChatDate date, ChatText *out,
                 ChatFault *fault)
{
        Chat *c = NEW(a, Chat);
        *fault = (ChatFault){0};
        *c = (Chat){.arena = a, .date = date};
        c->work = (ChatWork){.arena = a, .source = t->source, .names = t->names, .fault = fault};
        if (setjmp(c->work.out))
                return false;
        c->scope = scope_within(c, NULL);
        c->out = text_new(a);
        ChatValue given = variables ? chat_from_json(c, variables, 0) : chat_none();
        c->variables = given.kind == V_DICT ? given.dict : chat_dict_new(c);
        render_statement(c, t->body);
        *out = (ChatText){c->out->data, c->out->n, c->dated};
        return true;
}
