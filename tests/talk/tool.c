/* Conversations as ids: those of cases.json, as the package tokenizers makes them of the whole text.
 *
 *      tool CASES TRAINED SCRATCH      TRAINED: a folder of tokenizers; SCRATCH: a file that may be written
 *
 * Prints ok or FAIL for each case; nonzero if one failed. */
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run/run.h"

enum { SETTINGS = 16, CONTEXT = 1 << 20 };

static const char *text_of(const json_t *j, const char *key)
{
        return json_string_value(json_object_get(j, key));
}

static void set_flags(json_t *tokenizer, const json_t *texts, const char *flag)
{
        size_t i, k;
        json_t *added, *text;
        json_array_foreach (json_object_get(tokenizer, "added_tokens"), i, added)
                json_array_foreach (texts, k, text)
                        if (!strcmp(text_of(added, "content"), json_string_value(text)))
                                json_object_set_new(added, flag, json_true());
}

static int read_tokenizer(const json_t *c, const char *folder, const char *scratch, Tokenizer *t)
{
        char path[4096];
        CkError error = {0};
        snprintf(path, sizeof path, "%s/%s.json", folder, text_of(c, "tokenizer"));
        json_t *j = json_load_file(path, 0, NULL);
        set_flags(j, json_object_get(c, "rstrip"), "rstrip");
        set_flags(j, json_object_get(c, "lstrip"), "lstrip");
        json_object_update(j, json_object_get(c, "other"));
        int good = j && !json_dump_file(j, scratch, 0) && tokenizer_read(scratch, NULL, 100000, t, &error);
        json_decref(j);
        if (!good)
                printf("%s: %s\n", path, error.message);
        return good;
}

static Graph graph_of(const json_t *knobs, Loop *loop, Setting *setting)
{
        const char *name;
        json_t *text;
        *loop = (Loop){.name = "generate", .setting = setting};
        json_object_foreach ((json_t *)(uintptr_t)knobs, name, text)
                setting[loop->nsetting++] =
                        (Setting){.name = name, .kind = SETTING_TEXT, .text = json_string_value(text)};
        return (Graph){.loop = loop, .nloop = 1};
}

static void print_ids(const char *what, const int32_t *ids, int64_t n)
{
        printf("  %s:", what);
        for (int64_t i = 0; i < n; i++)
                printf(" %" PRId32, ids[i]);
        printf("\n");
}

static int is_control(const TokenTables *t, int32_t id)
{
        return (t->section[TOKENS_MARKS][id] & TOKEN_CONTROL) != 0;
}

/* After a turn: the ids, and how many of them were there before. */
static int turn_holds(const Talk *k, const json_t *turn)
{
        const json_t *ids = json_object_get(turn, "ids");
        int64_t n = (int64_t)json_array_size(ids), same = json_integer_value(json_object_get(turn, "same"));
        int good = k->n == n && k->same == same;
        for (int64_t i = 0; good && i < n; i++)
                good = k->ids[i] == json_integer_value(json_array_get(ids, (size_t)i));
        if (good)
                return 1;
        printf("  behind %s\n", text_of(turn, "user"));
        print_ids("found", k->ids, k->n);
        printf("  wanted:");
        for (int64_t i = 0; i < n; i++)
                printf(" %" JSON_INTEGER_FORMAT, json_integer_value(json_array_get(ids, (size_t)i)));
        printf("\n  of them as before: found %" PRId64 ", wanted %" PRId64 "\n", k->same, same);
        return 0;
}

/* What a case is about, released in one place. */
typedef struct {
        Arena arena;
        Tokenizer tokenizer;
        Loop loop;
        Setting setting[SETTINGS];
        Graph graph;
        Talk talk;
} Case;

static int case_open(Case *k, const json_t *c, const char *folder, const char *scratch)
{
        const char *strange = NULL;
        k->arena = (Arena){0};
        k->graph = graph_of(json_object_get(c, "knobs"), &k->loop, k->setting);
        if (!read_tokenizer(c, folder, scratch, &k->tokenizer))
                return 0;
        k->talk = (Talk){.form = talk_form(&k->arena, &k->graph, &k->tokenizer, &strange),
                         .tables = &k->tokenizer.tables,
                         .system = text_of(c, "system")};
        return 1;
}

static void case_close(Case *k)
{
        talk_free(&k->talk);
        tokenizer_free(&k->tokenizer);
        arena_free(&k->arena);
}

static int case_holds(const json_t *c, const char *folder, const char *scratch)
{
        Case of;
        Talk *talk = &of.talk;
        if (!case_open(&of, c, folder, scratch))
                return 0;
        size_t i, k;
        json_t *turn, *id;
        int good = 1;
        int64_t controls = 0;
        json_array_foreach (json_object_get(c, "turns"), i, turn) {
                const char *user = text_of(turn, "user");
                good = good && talk_ask(talk, user, (int64_t)strlen(user), CONTEXT) && turn_holds(talk, turn);
                json_array_foreach (json_object_get(turn, "answer"), k, id)
                        talk_token(talk, (int32_t)json_integer_value(id));
        }
        for (int64_t at = 0; at < talk->n; at++)
                controls += is_control(talk->tables, talk->ids[at]);
        /* ChatML: two for each turn and each answer, one where the last begins */
        int64_t turns = (int64_t)json_array_size(json_object_get(c, "turns"));
        if (good && json_is_true(json_object_get(c, "spells")) &&
            controls != 4 * turns - 1 + talk->tables->head->before) {
                printf("  %" PRId64 " special tokens\n", controls);
                good = 0;
        }
        case_close(&of);
        return good;
}

/* Of a conversation that grows beyond the context the oldest turns are left out, and a turn that is too long is taken back. */
static int drops(const json_t *c, const char *folder, const char *scratch)
{
        Case of;
        Talk *talk = &of.talk;
        if (!case_open(&of, c, folder, scratch))
                return 0;
        int64_t most = 0, dropped = 0, context = 100;
        char text[600];
        memset(text, 'z', sizeof text);
        for (int i = 0; i < 40; i++) {
                talk_ask(talk, text, i == 20 ? (int64_t)sizeof text : 1 + i % 7, context);
                dropped += talk->dropped;
                if (i == 20 && talk->n > context)
                        talk_unask(talk);
                else if (talk->n > most)
                        most = talk->n;
                talk_token(talk, 300);
        }
        int good = !talk->failed && most <= context - context / 8 && most > context / 2 && dropped > 20 &&
                   dropped + talk->turns <= 80 && talk->turns < 20;
        if (!good)
                printf("  at most %" PRId64 " ids, %" PRId64 " turns left out\n", most, dropped);
        case_close(&of);
        return good;
}

int main(int argc, char **argv)
{
        json_t *all = argc == 4 ? json_load_file(argv[1], 0, NULL) : NULL,
               *cases = json_object_get(all, "cases"), *c;
        size_t i;
        int failed = !json_array_size(cases);
        json_array_foreach (cases, i, c) {
                int good = case_holds(c, argv[2], argv[3]);
                printf("%s talk: %s, case %zu\n", good ? "ok" : "FAIL", text_of(c, "tokenizer"), i);
                failed |= !good;
        }
        int good = !failed && drops(json_array_get(cases, 0), argv[2], argv[3]);
        printf("%s talk: a full context\n", good ? "ok" : "FAIL");
        json_decref(all);
        return failed || !good;
}
