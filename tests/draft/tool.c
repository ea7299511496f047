/* What a model drafts behind texts that it is asked about in turn is what it drafts behind each when it is asked nothing else: it goes back
 * as far as it has to.
 *   usage: tool DRAFT.model */
#include "driver/driver.h"

enum { LENGTH = 250, DRAFTS = 8 };

static Generator generator;

/* Any token, by all bits of the logits. */
static int draw(Sampler *s, float *logits, int n)
{
        (void)s;
        return (int)(hash_bytes(HASH_START, logits, (size_t)n * sizeof *logits) >> 33) % n;
}

/* Behind the first n tokens of a text: the drafts, and how many. */
static int64_t ask(Draft *d, const int32_t *text, int64_t n, int32_t drafts[DRAFTS])
{
        int32_t copy[LENGTH + DRAFTS];
        const char *wrong = NULL;
        memcpy(copy, text, (size_t)n * sizeof *text);
        int64_t made = draft_propose(d, generator, (Generated){0}, copy, n, copy + n, DRAFTS, &wrong);
        if (wrong)
                printf("%lld tokens: %s\n", (long long)n, wrong);
        memcpy(drafts, copy + n, (size_t)made * sizeof *drafts);
        return wrong ? -1 : made;
}

int main(int argc, char **argv)
{
        static const int64_t length[] = {200, 201, 204, 190, 130, 131, 65, 64, 63, 20, 7, 1, 240, 241, 128};
        static int32_t text[2][LENGTH];
        if (argc != 2)
                return 2;
        CommandOptions options = {.draft = {.model = argv[1]}, .threads = 1, .chunk = 64, .jit = JIT_TCC};
        Arena arena = {0};
        DraftModel all = {.o = draft_options(&arena, &options)}, big = {.o = draft_options(&arena, &options)};
        int code, bad = 0;
        if (!model_load(&big.m, &big.o, &code) || !model_passes(&big.m, &big.o) ||
            !(big.plan = model_plan(&big.m, &big.o, target_find("native"))) ||
            draft_model_open(&all, &big.m, big.plan, NULL))
                return 3;
        static const int32_t none[] = {-1};
        generator = (Generator){.sample = draw, .tokens = {none, none, none, none, none, 0, 0, 0}, .vocab = 512};
        uint64_t seed = 1;
        for (int i = 0; i < 2 * LENGTH; i++)
                text[i / LENGTH][i % LENGTH] =
                        (int32_t)((seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407) >> 40) %
                        512;
        memcpy(text[1], text[0], 120 * sizeof **text); /* they begin alike */
        for (size_t i = 0; i < 2 * sizeof length / sizeof *length; i++) {
                int32_t found[DRAFTS] = {0}, expected[DRAFTS] = {0};
                const int32_t *t = text[i % 2];
                int64_t n = length[i / 2], k = ask(all.draft, t, n, found);
                Draft *fresh = draft_new(all.engine, all.plan);
                const int64_t position = engine_position(all.engine);
                engine_rewind(all.engine, 0);
                int64_t want = ask(fresh, t, n, expected);
                draft_free(fresh);
                if (k != want || memcmp(found, expected, sizeof found)) {
                        printf("behind %lld tokens of text %d, position %lld: %lld drafts, not %lld\n",
                               (long long)n, (int)(i % 2), (long long)position, (long long)k,
                               (long long)want);
                        bad = 1;
                }
        }
        draft_model_close(&all);
        draft_model_close(&big);
        arena_free(&arena);
        return bad;
}
