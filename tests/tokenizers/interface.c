/* The interface of an emitted tokenizer: lines that are strings of JSON to ids with control tokens, as lathe encode --json --special
 * writes them; and each text back from its ids without the tokens around it, where the ids say all of it. */
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "t.h"

static int comes_back(const tale *m, const char *text, int64_t n, const int32_t *ids, int64_t count)
{
        char *back = malloc((size_t)(n + tale_decode_room(m) + 8));
        tale_text state = {{0}, 0, 0};
        int64_t made = 0;
        for (int64_t i = 0; i < count && made <= n; i++)
                made += tale_decode(m, &state, ids[i], TALE_CONTROL, back + made);
        made += tale_decode_end(&state, back + made);
        int same = made == n && !memcmp(back, text, (size_t)n);
        free(back);
        return same;
}

static int line(const tale *m, const char *text, int64_t n)
{
        int64_t room = tale_encode_room(m, n);
        int32_t *ids = malloc((size_t)room * sizeof *ids);
        void *scratch = malloc((size_t)tale_encode_scratch(m, n));
        int64_t count = tale_encode(m, text, n, TALE_CONTROL, ids, room, scratch);
        for (int64_t i = 0; i < count; i++)
                printf("%s%" PRId32, i ? " " : "", ids[i]);
        putchar('\n');
        count = tale_encode(m, text, n, TALE_CONTROL | TALE_BARE, ids, room, scratch);
        int strips = strstr(text, "strip") != NULL; /* that token takes the spaces around it */
        int good = strips || comes_back(m, text, n, ids, count);
        free(scratch);
        free(ids);
        return good;
}

int main(int argc, char **argv)
{
        char *row = NULL;
        size_t room = 0;
        int error, good = 1;
        tale *m = tale_new(argc > 1 ? argv[1] : NULL, 1, &error);
        if (!m)
                return fprintf(stderr, "%s\n", tale_error(error)), 1;
        while (getline(&row, &room, stdin) >= 0) {
                json_t *text = json_loads(row, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
                if (!line(m, json_string_value(text), (int64_t)json_string_length(text)))
                        good = printf("not decoded to the same text: %s", row) < 0;
                json_decref(text);
        }
        free(row);
        tale_free(m);
        return !good;
}
