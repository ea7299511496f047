/* A text of 60 tokens by the model's grammar, through its API: ruled WEIGHTS PROMPT TEMPERATURE SEED.  Twice, the second time with drafts, by the
 * same grammar begun anew, and in memory that is full of something else. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ruled.h"

typedef struct {
        tale *m;
        tale_text text;
} Shown;

static int show(void *of, int32_t token)
{
        Shown *s = of;
        char *piece = malloc((size_t)tale_decode_room(s->m));
        const int64_t n = tale_decode(s->m, &s->text, token, 0, piece);
        fwrite(piece, 1, (size_t)n, stdout);
        free(piece);
        return 0;
}

static void *loud(size_t bytes)
{
        return memset(malloc(bytes), 0xa5, bytes);
}

int main(int argc, char **argv)
{
        int error = argc == 5 ? 0 : 1;
        tale *m = error ? NULL : tale_new(argv[1], 1, &error);
        if (!m)
                return puts(tale_error(error)), 1;
        const int64_t length = (int64_t)strlen(argv[2]), room = tale_encode_room(m, length);
        int32_t *tokens = malloc((size_t)(room + 1) * sizeof *tokens);
        void *scratch = loud((size_t)tale_encode_scratch(m, length)), *rules = loud(tale_grammar_scratch(m));
        const int64_t n = tale_encode(m, argv[2], length, 0, tokens, room, scratch);
        tale_grammar *g = tale_grammar_new(m, rules);
        for (int drafts = 0; drafts < 10 && !error; drafts += 5) {
                const tale_generation how = {.temperature = strtof(argv[3], NULL),
                                             .seed = strtoull(argv[4], NULL, 10),
                                             .steps = 60,
                                             .drafts = drafts,
                                             .rule = tale_grammar_rule,
                                             .ruler = g};
                Shown shown = {.m = m, .text.begun = n > 1};
                char rest[3];
                int64_t made;
                void *room_of = loud(tale_generate_scratch(&how));
                tale_reset(m);
                tale_grammar_begin(g, n > 1);
                error = tale_generate(m, tokens, n, &how, show, &shown, room_of, &made);
                fwrite(rest, 1, (size_t)tale_decode_end(&shown.text, rest), stdout);
                putchar('\n');
                free(room_of);
        }
        free(tokens);
        free(scratch);
        free(rules);
        tale_free(m);
        return error;
}
