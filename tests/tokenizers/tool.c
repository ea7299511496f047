/* What the commands can't show.
 *
 *   tool regexes FILE     pieces of regexes, recorded: lines of [name, regex or null, text, pieces]
 *   tool bytes FILE…      byte-level tokenizers: random bytes become ids in range, and these the same bytes again, token by token
 *   tool room FILE…       ids that have no room are counted and not written; scratch has what it must */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text/text.h"

static int failed;

static void verdict(const char *kind, const char *name, int64_t n, int64_t wrong)
{
        printf("%s tokenizers: %s %s: %lld cases, %lld wrong\n", wrong ? "FAIL" : "ok", kind, name,
               (long long)n, (long long)wrong);
        failed |= wrong > 0;
}

/* --- regexes ----------------------------------------------------------------------------------------------------------- */

/* One line: 1 if the pieces are others. */
static int differs(const RegexProbe *probe, const char *regex, const json_t *text, const json_t *pieces)
{
        enum { MOST = 256 };
        int64_t end[MOST], begin = 0;
        const char *bytes = json_string_value(text);
        int64_t n =
                probe->regex ? regex_pieces(probe, bytes, (int64_t)json_string_length(text), end, MOST) : -1;
        if (n != (int64_t)json_array_size(pieces)) {
                printf("     %s: %lld pieces of %s\n", regex, (long long)n, bytes);
                return 1;
        }
        for (int64_t i = 0; i < n; begin = end[i++]) {
                const json_t *piece = json_array_get(pieces, (size_t)i);
                int64_t length = (int64_t)json_string_length(piece);
                if (length != end[i] - begin ||
                    memcmp(bytes + begin, json_string_value(piece), (size_t)length)) {
                        printf("     %s: piece %lld of %s\n", regex, (long long)i, bytes);
                        return 1;
                }
        }
        return 0;
}

static void regexes(const char *path)
{
        FILE *f = fopen(path, "r");
        char *line = NULL, name[64] = "", *regex = NULL;
        size_t room = 0;
        int64_t n = 0, wrong = 0;
        Arena arena = {0};
        RegexProbe probe = {.regex = NULL};
        while (f && getline(&line, &room, f) >= 0) {
                json_t *row = json_loads(line, JSON_ALLOW_NUL, NULL);
                if (json_is_string(json_array_get(row, 1))) {
                        if (n)
                                verdict("regex", name, n, wrong);
                        snprintf(name, sizeof name, "%s", json_string_value(json_array_get(row, 0)));
                        free(regex);
                        regex = strdup(json_string_value(json_array_get(row, 1)));
                        n = wrong = 0;
                        arena_free(&arena);
                        const char *why;
                        if (!regex_load(&arena, regex, &probe, &why))
                                printf("     %s\n", why);
                }
                wrong += differs(&probe, regex, json_array_get(row, 2), json_array_get(row, 3));
                n++;
                json_decref(row);
        }
        verdict("regex", name, n, wrong + !n);
        arena_free(&arena);
        free(regex);
        free(line);
        if (f)
                fclose(f);
}

/* --- texts ------------------------------------------------------------------------------------------------------------- */

static uint64_t state = 88172645463325252u;

static uint64_t random_bits(void)
{
        state ^= state << 13;
        state ^= state >> 7;
        return state ^= state << 17;
}

/* Bytes that are not UTF-8, with pieces that are. */
static int64_t random_text(char *text, int64_t most)
{
        static const char *const piece[] = {" the",     "\xe4\xb8\xad", "\xf0\x9f\x98\x80",
                                            "12345",    "\r\n",         "   ",
                                            "\xc3\xa9", "'s",           "<|im_start|>"};
        int64_t n = 0, want = (int64_t)(random_bits() % (uint64_t)most);
        while (n < want) {
                const char *p = piece[random_bits() % (sizeof piece / sizeof piece[0])];
                int64_t length = (int64_t)strlen(p);
                if (random_bits() % 2 || n + length > want)
                        text[n++] = (char)random_bits();
                else {
                        memcpy(text + n, p, (size_t)length);
                        n += length;
                }
        }
        return n;
}

static bool load(Arena *a, const char *path, TokenBlock *block, TokenTables *t)
{
        bool env_error;
        const char *wrong = tokenizer_load(a, path, block, &env_error);
        if (wrong)
                printf("     %s\n", wrong);
        return !wrong && tokens_open(t, block->block, (uint64_t)block->size);
}

static bool comes_back(const TokenTables *t, const char *text, int64_t n, int flags)
{
        int64_t room = tokens_room(t, n), made = 0;
        int32_t *ids = malloc((size_t)room * sizeof *ids);
        char *back = malloc((size_t)(n + tokens_decode_room(t) + 8));
        void *scratch = malloc((size_t)tokens_scratch(t, n));
        int64_t count = tokens_encode(t, text, n, flags | TOKENS_BARE, ids, room, scratch);
        TokenDecoder d = {.n = 0};
        bool good = count >= 0 && count <= room;
        for (int64_t i = 0; good && i < count; i++) {
                good = ids[i] >= 0 && (uint32_t)ids[i] < t->head->vocab && made <= n;
                if (good)
                        made += tokens_decode(t, &d, ids[i], TOKENS_CONTROL, back + made);
        }
        if (good)
                made += tokens_decode_end(&d, back + made);
        good = good && made == n && !memcmp(back, text, (size_t)n);
        free(scratch);
        free(back);
        free(ids);
        return good;
}

static void bytes(const char *path)
{
        enum { TRIES = 2000, MOST = 400 };
        Arena arena = {0};
        TokenBlock block;
        TokenTables t;
        char *text = malloc(MOST);
        int64_t wrong = 0;
        if (!load(&arena, path, &block, &t))
                wrong = TRIES;
        for (int i = 0; i < TRIES && wrong < TRIES; i++)
                wrong += !comes_back(&t, text, random_text(text, i % 50 ? 40 : MOST),
                                     i % 2 ? TOKENS_CONTROL : 0);
        verdict("bytes there and back", path, TRIES, wrong);
        free(text);
        arena_free(&arena);
}

static void room(const char *path)
{
        static const char text[] = "The quick brown fox <|im_start|> jumps over 12 lazy dogs.   \xe4\xb8\xad";
        enum { N = sizeof text - 1 };
        Arena arena = {0};
        TokenBlock block;
        TokenTables t;
        int64_t wrong = 1;
        if (load(&arena, path, &block, &t)) {
                int32_t all[8 * N + 8], few[4] = {-7, -7, -7, -7};
                void *scratch = malloc((size_t)tokens_scratch(&t, N));
                int64_t n = tokens_encode(&t, text, N, 0, all, 8 * N + 8, scratch),
                        m = tokens_encode(&t, text, N, 0, few, 3, scratch);
                wrong = n != m || n < 4 || memcmp(all, few, sizeof *few * 3) || few[3] != -7;
                wrong += tokens_encode(&t, text, (int64_t)1 << 40, 0, few, 3, scratch) != -1;
                free(scratch);
        }
        verdict("room", path, 1, wrong);
        arena_free(&arena);
}

int main(int argc, char **argv)
{
        for (int i = 2; i < argc; i++)
                if (!strcmp(argv[1], "regexes"))
                        regexes(argv[i]);
                else if (!strcmp(argv[1], "bytes"))
                        bytes(argv[i]);
                else
                        room(argv[i]);
        return failed;
}
