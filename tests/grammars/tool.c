/* Grammars by themselves, and tokens under them.
 *   tool GRAMMAR                     a line of standard input is a text in hexadecimal; out comes what it is: `dead N`, of which byte N (from 0)
 *                                    makes it so, or `more`, `end` or `both`, by what may come behind it
 *   tool GRAMMAR TOKENIZER VOCAB SEED TOKENS   a text of so many tokens, drawn among those that may come; at each the tokens that are ruled out
 *                                    are compared with those with which the whole text, byte by byte, is dead */
#include <math.h>
#include <stdlib.h>

#include "driver/driver.h"

static const Grammar *read_rules(Arena *a, const char *path)
{
        const char *why = NULL;
        const Source *source = read_source(a, path, &why);
        Diag diag = {.arena = a};
        const Grammar *g = source ? grammar_read(a, &diag, source) : NULL;
        diag_print(&diag, stderr);
        return g;
}

static GrammarStates states_new(const Grammar *g)
{
        const GrammarTables *t = grammar_tables(g);
        GrammarStates s;
        void *room = malloc(grammar_room(t));
        if (!room)
                abort();
        grammar_lay(&s, t, room);
        return s;
}

/* A step; where memory is full all but this state is forgotten. */
static int32_t step(GrammarStates *s, int32_t state, unsigned char byte)
{
        int32_t to = grammar_step(s, state, byte);
        if (to != GRAMMAR_UNKNOWN)
                return to;
        grammar_keep(s, &state, 1);
        return grammar_step(s, state, byte);
}

static void say_what_it_is(GrammarStates *s, const char *hex)
{
        int32_t state = grammar_begin(s);
        for (int i = 0; hex[2 * i] > ' '; i++) {
                const char digits[] = {hex[2 * i], hex[2 * i + 1], 0};
                state = step(s, state, (unsigned char)strtol(digits, NULL, 16));
                if (i < 1000 && i % 3 == 2)
                        grammar_keep(s, &state, 1);
                if (state != GRAMMAR_DEAD)
                        continue;
                printf("dead %d\n", i);
                return;
        }
        printf("%s\n", !grammar_goes_on(s, state) ? "end" : grammar_may_end(s, state) ? "both" : "more");
}

/* Is a text alive whose tokens these are, and has the last one added to it?  The text is what it is said by, and the beginning of a character
 * that has not ended. */
static bool is_alive(GrammarStates *s, const Tokenizer *t, const int32_t *tokens, int n, bool *may_end)
{
        static char piece[1 << 16];
        TokenDecoder decoder = {.begun = false};
        int32_t state = grammar_begin(s);
        int64_t length = 0, before = 0;
        for (int i = 0; i < n; i++) {
                before = length + decoder.n;
                int64_t bytes = tokens_decode(&t->tables, &decoder, tokens[i], 0, piece);
                for (int64_t k = 0; k < bytes; k++)
                        state = step(s, state, (unsigned char)piece[k]);
                length += bytes;
        }
        for (int k = 0; k < decoder.n; k++)
                state = step(s, state, decoder.held[k]);
        *may_end = grammar_may_end(s, state);
        return state != GRAMMAR_DEAD && length + decoder.n > before;
}

static int tokens_agree(const Grammar *g, char **argv)
{
        static const int32_t stop[] = {2, -1};
        const int vocab = atoi(argv[3]), most = atoi(argv[5]);
        uint64_t seed = (uint64_t)atoi(argv[4]);
        Tokenizer t;
        CkError error;
        if (!tokenizer_read(argv[2], NULL, vocab, &t, &error))
                return printf("%s\n", error.message), 3;
        GrammarStates states = states_new(g), *s = &states;
        Constraint *c = constraint_new(g, &t, stop);
        constraint_begin(c, false);
        float *logits = calloc((size_t)vocab, sizeof *logits);
        int32_t *text = calloc((size_t)most + 1, sizeof *text);
        int bad = 0, n = 0;
        for (; n < most && !bad; n++) {
                int chosen = -1, seen = 0;
                bool may_end = false, ends;
                is_alive(s, &t, text, n, &may_end);
                memset(logits, 0, (size_t)vocab * sizeof *logits);
                const char *why = NULL;
                if (constraint_rule(c, false, text, n, logits, vocab, &why) < 0)
                        break;
                for (int i = 0; i < vocab; i++) {
                        text[n] = i;
                        const bool allowed = logits[i] == 0;
                        const bool right = i == stop[0] ? may_end : is_alive(s, &t, text, n + 1, &ends);
                        if (allowed != right)
                                printf("token %d behind %d others: %s\n", i, n,
                                       right ? "ruled out" : "allowed"),
                                        bad = 1;
                        if (allowed && i != stop[0] &&
                            (seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407) >> 33 <
                                    (UINT64_C(1) << 31) / (uint64_t)++seen)
                                chosen = i;
                }
                if (why || chosen < 0) {
                        printf("%s\n", why ? why : "nothing but the end");
                        break;
                }
                text[n] = chosen;
        }
        printf("%d tokens\n", n);
        free(logits);
        free(text);
        constraint_free(c);
        free(s->way);
        tokenizer_free(&t);
        return bad;
}

int main(int argc, char **argv)
{
        Arena arena = {0};
        const Grammar *g = argc > 1 ? read_rules(&arena, argv[1]) : NULL;
        if (!g)
                return 1;
        int code = 0;
        if (argc == 6) {
                code = tokens_agree(g, argv);
        } else {
                GrammarStates states = states_new(g), *s = &states;
                static char line[1 << 20];
                while (fgets(line, sizeof line, stdin))
                        say_what_it_is(s, line);
                if (s->fault)
                        printf("%s\n", s->fault);
                free(s->way);
        }
        arena_free(&arena);
        return code;
}
