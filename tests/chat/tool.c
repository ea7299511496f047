/* The cases that Python's jinja2 was asked, cases.json, asked here.
 *     tool CASES TEMPLATES      prints ok or FAIL for each group
 *     tool --hostile            templates that would never end, or fill the memory: refused in bounded time and memory */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chat/chat.h"

static const ChatDate date = {2024, 7, 26};
static int wrong, right;

static void fail(const char *name, const char *what, const char *found, const char *expected)
{
        wrong++;
        printf("     %s: %s\n       found    %s\n       expected %s\n", name, what, found, expected);
}

static char *read_file(const char *path)
{
        FILE *f = fopen(path, "rb");
        char *text = calloc(1, 1 << 22);
        if (!f || !text || fread(text, 1, (1 << 22) - 1, f) == 0)
                exit(3);
        fclose(f);
        return text;
}

static const char *text_of(const json_t *j, const char *key)
{
        return json_string_value(json_object_get(j, key));
}

/* --- the pieces of a template, put together --- */

static void put(Text *t, const char *piece, const char *hole, const char *what)
{
        const char *at = strstr(piece, hole);
        text_printf(t, "%.*s%s", (int)(at - piece), piece, what);
        if (!strcmp(hole, "{system}"))
                return;
        text_printf(t, "%s", at + 2);
}

static const char *together(Arena *a, const ChatPieces *p, const json_t *messages)
{
        Text *t = text_new(a);
        size_t i = 0;
        const char *system = NULL;
        if (!strcmp(text_of(json_array_get(messages, 0), "role"), "system"))
                system = text_of(json_array_get(messages, i++), "content");
        if (system && p->first_user) {
                put(t, p->first_user, "{system}", system);
                put(t, strstr(p->first_user, "{system}") + 8, "{}",
                    text_of(json_array_get(messages, i++), "content"));
        } else if (system || p->default_system)
                put(t, p->system, "{}", system ? system : p->default_system);
        else
                text_printf(t, "%s", p->head);
        for (; i < json_array_size(messages); i++) {
                const json_t *m = json_array_get(messages, i);
                put(t, strcmp(text_of(m, "role"), "user") ? p->answer : p->user, "{}", text_of(m, "content"));
        }
        text_printf(t, "%s", p->open);
        return t->data;
}

/* What a case gives, with what the program itself has templates see of a model with these tokens. */
static json_t *variables_of(Arena *a, const json_t *one)
{
        ChatSource s = chat_source_of(a, "template", NULL, 0, json_deep_copy(json_object_get(one, "config")));
        json_object_update(s.variables, json_object_get(one, "variables"));
        json_decref(s.config);
        return s.variables;
}

static void check_pieces(Arena *a, const json_t *one, const ChatTemplate *t, const json_t *variables)
{
        const char *expected = text_of(one, "text");
        if (!json_integer_value(json_object_get(one, "turns")) || !expected)
                return;
        const ChatWriter w = chat_writer(a, t, variables, date);
        ChatPieces p = chat_cut(a, &w);
        bool system =
                !strcmp(text_of(json_array_get(json_object_get(variables, "messages"), 0), "role"), "system");
        if (p.reason || (system && !p.system && !p.first_user)) /* tests/chat/pieces.expected has these */
                return;
        const char *found = together(a, &p, json_object_get(variables, "messages"));
        if (strcmp(found, expected) != 0)
                fail(text_of(one, "name"), "pieces", found, expected);
        else
                right++;
}

static void check_case(Arena *a, const json_t *one, const json_t *data, const char *folder)
{
        const char *name = text_of(one, "name"), *text = text_of(one, "template"),
                   *expected = text_of(one, "text");
        json_t *variables = json_object_get(one, "config") ? variables_of(a, one) : NULL;
        char *file = text ? NULL : read_file(arena_printf(a, "%s/%s", folder, text_of(one, "file")));
        ChatFault fault;
        ChatText out = {0};
        ChatTemplate *t =
                chat_parse(a, "template", text ? text : file, (int64_t)strlen(text ? text : file), &fault);
        bool rendered = t && chat_render(a, t, variables ? variables : data, date, &out, &fault);
        if (rendered && !expected)
                fail(name, "not refused", out.text, text_of(one, "error"));
        else if (!rendered && expected)
                fail(name, "refused", fault.message, expected);
        else if (rendered && ((size_t)out.n != json_string_length(json_object_get(one, "text")) ||
                              memcmp(out.text, expected, (size_t)out.n) != 0))
                fail(name, "text", out.text, expected);
        else if (!rendered && (!fault.message || !fault.at.source || span_line(fault.at) < 1))
                fail(name, "refused without a place", fault.message ? fault.message : "",
                     text_of(one, "error"));
        else
                right++;
        if (t && file)
                check_pieces(a, one, t, variables);
        json_decref(variables);
        free(file);
}

static void check_all(const char *path, const char *folder)
{
        json_t *all = json_load_file(path, JSON_ALLOW_NUL, NULL);
        const json_t *cases = json_object_get(all, "cases");
        for (size_t i = 0; i < json_array_size(cases); i++) {
                Arena a = {0};
                check_case(&a, json_array_get(cases, i), json_object_get(all, "data"), folder);
                arena_free(&a);
        }
        printf("%s chat: as %s: %d compared\n", wrong || !right ? "FAIL" : "ok", text_of(all, "versions"),
               right);
        json_decref(all);
}

/* --- hostile templates --- */

static char *repeated(const char *before, const char *part, int times, const char *behind)
{
        size_t n = strlen(part);
        char *text = calloc(1, strlen(before) + n * (size_t)times + strlen(behind) + 1);
        if (!text)
                exit(3);
        strcpy(text, before);
        char *at = text + strlen(before);
        for (int i = 0; i < times; i++, at += n)
                memcpy(at, part, n);
        strcpy(at, behind);
        return text;
}

static void refused(const char *name, char *text, const char *why)
{
        Arena a = {0};
        ChatFault fault;
        ChatText out;
        double begun = seconds();
        ChatTemplate *t = chat_parse(&a, "template", text, (int64_t)strlen(text), &fault);
        bool rendered = t && chat_render(&a, t, NULL, date, &out, &fault);
        double took = seconds() - begun;
        bool good = !rendered && strstr(fault.message, why) && took < 20 && a.total < (int64_t)400 << 20;
        printf("%s chat, hostile: %s\n", good ? "ok" : "FAIL", name);
        if (!good)
                printf("     %s, %.1f s, %lld bytes\n", rendered ? "rendered" : fault.message, took,
                       (long long)a.total);
        wrong += !good;
        arena_free(&a);
        free(text);
}

#define COPY(text) repeated("", text, 1, "")

static void hostile(void)
{
        refused("loops in loops",
                COPY("{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"),
                "steps");
        refused("a macro that calls itself", COPY("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}"),
                "deeply");
        refused("two macros that call each other",
                COPY("{% macro f() %}{{ g() }}{{ g() }}{% endmacro %}{% macro g() %}{{ f() }}{{ f() }}{% "
                     "endmacro %}{{ f() }}"),
                "deeply");
        refused("a text that doubles",
                COPY("{% set n = namespace(x='ab') %}{% for i in range(99) %}{% set n.x = n.x + n.x %}{% "
                     "endfor %}"),
                "bytes");
        refused("a text times a number", COPY("{{ 'abcdefgh' * 1000000000 }}"), "bytes");
        refused("nothing times a number, in a list", COPY("{{ [''] * 1000000000000 }}"), "steps");
        refused("a list that doubles",
                COPY("{% set n = namespace(x=[1]) %}{% for i in range(99) %}{% set n.x = n.x + n.x %}{% "
                     "endfor %}"),
                "steps");
        refused("a list in a list in a list",
                COPY("{% set n = namespace(x=[]) %}{% for i in range(9999) %}{% set n.x = [n.x] %}{% endfor "
                     "%}"),
                "deeply");
        refused("a list that is there twice in a list that is",
                COPY("{% set n = namespace(x=[1]) %}{% for i in range(60) %}{% set n.x = [n.x, n.x] %}{% "
                     "endfor %}{{ n.x }}"),
                "s");
        refused("lists compared that are there twice",
                COPY("{% set n = namespace(x=[1], y=[1]) %}{% for i in range(60) %}{% set n.x = [n.x, n.x] "
                     "%}{% set n.y = [n.y, n.y] %}"
                     "{% endfor %}{{ n.x == n.y }}"),
                "steps");
        refused("much output", COPY("{% for a in range(99999) %}abcdefghijklmnopqrstuvwxyz{% endfor %}"),
                "bytes");
        refused("replaced by more", COPY("{% set a = 'a' * 1000 %}{{ (a * 1000) | replace('a', a) }}"),
                "bytes");
        refused("a wide indent", COPY("{{ 'a\\nb' | indent(100000000000) }}"), "bytes");
        refused("a power", COPY("{{ 2 ** 100000000 }}"), "64 bits");
        refused("one to a power", COPY("{{ 1 ** 100000000 }}"), "steps");
        refused("deep brackets", repeated("{{ ", "(", 100000, "1"), "deeply");
        refused("deep lists", repeated("{{ ", "[", 60, "1"), "");
        refused("deep blocks", repeated("", "{% if 1 %}", 30000, ""), "deeply");
        refused("many nots", repeated("{{ ", "not ", 100000, "1 }}"), "deeply");
        refused("many signs", repeated("{{ ", "- ", 100000, "1 }}"), "deeply");
        refused("a long sum", repeated("{{ 1", " + 1", 100000, " }}"), "long");
        refused("a long chain of attributes", repeated("{{ x", ".x", 100000, " }}"), "long");
        refused("a long chain of filters", repeated("{{ 'x'", "|e", 100000, " }}"), "long");
        refused("a long chain of conditions", repeated("{{ 1", " if 1 else 1", 50000, " }}"), "deeply");
        refused("calls of calls", repeated("{{ x", "()", 100000, " }}"), "long");
        refused("more than a template may have", repeated("", "x", (1 << 20) + 1, ""), "at most");
        refused("many unterminated tags", repeated("", "{{ ", 100000, ""), "");
        refused("an unterminated comment", repeated("{#", "x", 100000, ""), "no end");
        refused("an unterminated raw", repeated("{% raw %}", "{% ", 100000, ""), "no end");
}

int main(int argc, char **argv)
{
        if (argc == 2 && !strcmp(argv[1], "--hostile"))
                hostile();
        else if (argc == 3)
                check_all(argv[1], argv[2]);
        else
                return 2;
        return wrong != 0;
}
