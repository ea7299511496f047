/* A configuration, as the items of the library read it: what is refused says why, and what is printed can be parsed. */
#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "import/import.h"

static void parse_spec(Arena *arena, const char *text)
{
        Interner names = {.arena = arena};
        Diag diag = {.arena = arena};
        const Source *source = source_new(arena, "spec", text, (int32_t)strlen(text));
        harness_require(parse_source(arena, &names, &diag, source) != NULL,
                        "a printed model can't be parsed");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        Arena arena = {0};
        CommandOptions options = {
                .given = {[OPT_SPEC_ONLY] = 1, [OPT_FORCE] = size && data[size - 1] == ' '}};
        harness_listen();
        Spec spec = import_spec(&arena, &options, harness_file(".json", data, size), NULL, "imported");
        const char *heard = harness_heard();
        harness_require(spec.text || strstr(heard, "error: ") || strstr(heard, "lathe: "),
                        "refused without a message");
        if (spec.text)
                parse_spec(&arena, spec.text);
        arena_free(&arena);
        return 0;
}
