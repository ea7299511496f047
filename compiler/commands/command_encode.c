/* lathe encode and decode: text to token ids and back, a line each. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands_private.h"
#include "run/run.h"

/* A tokenizer, and buffers for the current line. */
typedef struct {
        const char *command;
        Arena arena;
        TokenTables tables;
        int flags;
        bool json;  /* texts are strings of JSON */
        char *line; /* [room], n of it, of getline() */
        size_t room;
        void *scratch; /* [scratch_size] */
        int64_t scratch_size;
        int32_t *ids; /* [ids_room] */
        int64_t ids_room;
        int64_t number; /* number of the line */
} EncodeLines;

static int encode_fail(const EncodeLines *l, const char *wrong, int code)
{
        fprintf(stderr, "lathe %s: %s\n", l->command, wrong);
        return code;
}

static int encode_open(EncodeLines *l, const char *path)
{
        TokenBlock block;
        bool env_error;
        const char *wrong = tokenizer_open(&l->arena, path, &block, &env_error);
        if (wrong)
                return encode_fail(l, wrong,
                                   env_error || lacks_memory(wrong) ? WRONG_ENVIRONMENT : WRONG_INPUT);
        return tokens_open(&l->tables, block.block, (uint64_t)block.size)
                       ? DONE
                       : encode_fail(l, no_memory, WRONG_ENVIRONMENT);
}

/* Grows *block to at least `size` bytes. */
static bool encode_room(void **block, int64_t *has, int64_t size)
{
        if (size <= *has)
                return true;
        free(*block);
        *block = malloc((size_t)size);
        *has = *block ? size : 0;
        return *block != NULL;
}

static int encode_one(EncodeLines *l, const char *text, int64_t n)
{
        void *ids = l->ids;
        int64_t ids_size = l->ids_room * (int64_t)sizeof *l->ids;
        if (n > tokens_most(&l->tables))
                return encode_fail(l,
                                   arena_printf(&l->arena, "line %" PRId64 ": more than %" PRId64 " bytes",
                                                l->number, tokens_most(&l->tables)),
                                   WRONG_INPUT);
        bool good = encode_room(&l->scratch, &l->scratch_size, tokens_scratch(&l->tables, n)) &&
                    encode_room(&ids, &ids_size, tokens_room(&l->tables, n) * (int64_t)sizeof *l->ids);
        l->ids = ids;
        l->ids_room = ids_size / (int64_t)sizeof *l->ids;
        if (!good)
                return encode_fail(l, no_memory, WRONG_ENVIRONMENT);
        int64_t count = tokens_encode(&l->tables, text, n, l->flags, l->ids, l->ids_room, l->scratch);
        for (int64_t i = 0; i < count; i++)
                printf("%s%" PRId32, i ? " " : "", l->ids[i]);
        putchar('\n');
        return DONE;
}

static int encode_line(EncodeLines *l, int64_t n)
{
        if (!l->json)
                return encode_one(l, l->line, n);
        json_error_t error;
        json_begin();
        json_t *text = json_parse(l->line, (size_t)n, JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);
        int code = WRONG_INPUT;
        if (json_is_string(text))
                code = encode_one(l, json_string_value(text), (int64_t)json_string_length(text));
        else if (json_out_of_memory())
                code = encode_fail(l, no_memory, WRONG_ENVIRONMENT);
        else
                encode_fail(l, arena_printf(&l->arena, "line %" PRId64 ": expected a JSON string", l->number),
                            code);
        json_decref(text);
        return code;
}

/* Prints the decoded text of a line. */
static void encode_show(const EncodeLines *l, const char *text, int64_t n)
{
        if (l->json)
                json_print(stdout, text, n);
        else
                fwrite(text, 1, (size_t)n, stdout);
}

static int decode_line(EncodeLines *l, int64_t n)
{
        TokenDecoder decoder = {.n = 0};
        char *at = l->line, *end, rest[TOKEN_RESIDUE];
        void *text = l->scratch;
        if (!encode_room(&text, &l->scratch_size, tokens_decode_room(&l->tables)))
                return encode_fail(l, no_memory, WRONG_ENVIRONMENT);
        l->scratch = text;
        if (l->json)
                putchar('"');
        for (long long id; id = strtoll(at, &end, 10), end != at; at = end) {
                if (id < 0 || id >= (long long)l->tables.head->vocab) {
                        at += strspn(at, " \t");
                        fprintf(stderr,
                                "lathe decode: line %" PRId64 ": %.*s is not an id: ids are 0 to %" PRIu32
                                "\n",
                                l->number, (int)(end - at), at, l->tables.head->vocab - 1);
                        return WRONG_INPUT;
                }
                encode_show(l, text, tokens_decode(&l->tables, &decoder, (int32_t)id, l->flags, text));
        }
        at += strspn(at, " \t\r");
        if (at < l->line + n) {
                fprintf(stderr,
                        "lathe decode: line %" PRId64
                        ": expected ids, whole numbers separated by spaces, not \"%.20s\"\n",
                        l->number, at);
                return WRONG_INPUT;
        }
        encode_show(l, rest, tokens_decode_end(&decoder, rest));
        printf(l->json ? "\"\n" : "\n");
        return DONE;
}

static int lines(const CommandOptions *o, const char *command, int (*line)(EncodeLines *l, int64_t n))
{
        EncodeLines l = {.command = command,
                         .json = o->given[OPT_JSON],
                         .flags = (o->given[OPT_SPECIAL] ? TOKENS_CONTROL : 0) |
                                  (o->given[OPT_BARE] ? TOKENS_BARE : 0)};
        int code = encode_open(&l, o->file[0]);
        for (ssize_t n; code == DONE && (n = getline(&l.line, &l.room, stdin)) >= 0;) {
                if (n && l.line[n - 1] == '\n')
                        l.line[--n] = 0;
                l.number++;
                code = line(&l, n);
        }
        if (code == DONE && ferror(stdin))
                code = encode_fail(&l, arena_printf(&l.arena, "standard input: %s", strerror(errno)),
                                   WRONG_ENVIRONMENT);
        free(l.line);
        free(l.scratch);
        free(l.ids);
        arena_free(&l.arena);
        return code;
}

int encode_command(const CommandOptions *o)
{
        return lines(o, "encode", encode_line);
}

int decode_command(const CommandOptions *o)
{
        return lines(o, "decode", decode_line);
}
