/* Grammars: a text, the end of a line, and a grammar that it is taken under. */
#include <stdlib.h>
#include <string.h>

#include "grammars/grammars.h"
#include "harness.h"

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
        GrammarStates *s = g ? grammar_states_new(g) : NULL;
        int32_t state = s ? grammar_begin(s) : GRAMMAR_DEAD;
        harness_require(!s || state != GRAMMAR_DEAD || grammar_fault(s), "nothing is allowed");
        for (const uint8_t *byte = data; byte < end && state != GRAMMAR_DEAD; byte++) {
                state = grammar_step(s, state, *byte);
                harness_require(state == GRAMMAR_DEAD || grammar_goes_on(s, state) || grammar_may_end(s, state),
                                "a text that can neither go on nor end");
        }
        grammar_states_free(s);
        free(rules);
        arena_free(&arena);
        return 0;
}
