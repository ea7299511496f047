/* Grammars: a text, the end of a line, and a grammar that it is taken under. */
#include <stdlib.h>
#include <string.h>

#include "grammars/grammars.h"
#include "harness.h"

static void take_text(const GrammarTables *tables, const uint8_t *byte, const uint8_t *end)
{
        GrammarStates s;
        void *room = malloc(grammar_room(tables));
        if (!room)
                return;
        grammar_lay(&s, tables, room);
        int32_t state = grammar_begin(&s);
        harness_require(state != GRAMMAR_DEAD || s.fault, "nothing is allowed");
        for (; byte < end && state > GRAMMAR_DEAD; byte++) {
                if (*byte % 8 == 0)
                        grammar_keep(&s, &state, 1);
                state = grammar_step(&s, state, *byte);
                harness_require(state <= GRAMMAR_DEAD || grammar_goes_on(&s, state) ||
                                        grammar_may_end(&s, state),
                                "a text that can neither go on nor end");
        }
        free(room);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        const uint8_t *end = memchr(data, '\n', size);
        if (!end || end - data > 100)
                return 0;
        Arena arena = {0};
        const size_t n = (size_t)(data + size - end - 1);
        char *rules = harness_text(end + 1, n);
        Diag diag = {.arena = &arena};
        const Grammar *g = grammar_read(&arena, &diag, source_new(&arena, "rules", rules, (int32_t)n));
        harness_require(!g == (diag.count > 0), "refused without a word");
        if (g)
                take_text(grammar_tables(g), data, end);
        free(rules);
        arena_free(&arena);
        return 0;
}
