/* What a model drafts behind texts that it is asked about in turn is what it drafts behind each when it is asked nothing else: it goes back
 * as far as it has to.
 * A draft of loop draft reads values of FIRST.model, which depend on all tokens before; of a text that it is asked about again, the values
 * of the new tokens are new.
 *   usage: tool DRAFT.model [FIRST.model] */
#include "driver/driver.h"

enum { LENGTH = 250, DRAFTS = 8 };

static Generator generator;

/* Any token, by all bits of the logits. */
static int draw(Sampler *s, float *logits, int n)
{
        (void)s;
        return (int)(hash_bytes(HASH_START, logits, (size_t)n * sizeof *logits) >> 33) % n;
}

/* The values of the first model at positions `same` to n of a text: any, by all tokens up to each. */
static void give_values(const DraftModel *of, Draft *d, const int32_t *text, int64_t same, int64_t n)
{
        enum { MOST_OUTPUTS = 8 };
        float *output[MOST_OUTPUTS];
        const char *wrong = NULL;
        const DraftRead *read = of->read;
        if (!draft_receive(d, same, n - same, output, &wrong))
                return;
        for (int i = 0; i < of->nread; i++) {
                const int64_t width = row_elements(of->plan, &of->m.graph->input[read[i].input].type);
                for (int64_t k = 0; read[i].from >= 0 && k < (n - same) * width; k++) {
                        const int64_t which = k % width + 1000 * i;
                        uint64_t h =
                                hash_bytes(HASH_START, text, (size_t)(same + k / width + 1) * sizeof *text);
                        h = hash_bytes(h, &which, sizeof which);
                        output[read[i].from][k] = (float)(h >> 40) / (1 << 23) - 1;
                }
        }
}

/* Behind the first n tokens of a text: the drafts, and how many. */
static int64_t ask(Draft *d, const int32_t *text, int64_t n, int32_t drafts[DRAFTS])
{
        int32_t copy[LENGTH + DRAFTS];
        const char *wrong = NULL;
        memcpy(copy, text, (size_t)n * sizeof *text);
        int64_t made = draft_propose(d, generator, (Generated){0}, copy, n, DRAFTS, &wrong);
        if (wrong)
                printf("%lld tokens: %s\n", (long long)n, wrong);
        memcpy(drafts, copy + n, (size_t)made * sizeof *drafts);
        return wrong ? -1 : made;
}

int main(int argc, char **argv)
{
        static const int64_t length[] = {200, 201, 204, 190, 130, 131, 65, 64, 63, 20, 7, 1, 240, 241, 128};
        static int32_t text[2][LENGTH];
        if (argc < 2 || argc > 3)
                return 2;
        CommandOptions options = {.draft = {.model = argv[1]}, .threads = 1, .chunk = 64, .jit = JIT_TCC};
        Arena arena = {0};
        DraftModel all = {.o = draft_options(&arena, &options)}, big = {.o = draft_options(&arena, &options)};
        int code, bad = 0;
        if (argc == 3)
                options_set_model(&arena, &big.o, argv[2]);
        if (!model_load(&big.m, &big.o, &code) || draft_model_load(&all, &big.m) ||
            !model_passes(&big.m, &big.o) ||
            !(big.plan = model_plan(&big.m, &big.o, target_find("native"))) ||
            draft_model_open(&all, &big.m, big.plan, NULL))
                return 3;
        static const int32_t none[] = {-1};
        generator =
                (Generator){.sample = draw, .tokens = {none, none, none, none, none, 0, 0, 0}, .vocab = 512};
        uint64_t seed = 1;
        for (int i = 0; i < 2 * LENGTH; i++)
                text[i / LENGTH][i % LENGTH] =
                        (int32_t)((seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407) >> 40) %
                        512;
        memcpy(text[1], text[0], 120 * sizeof **text); /* they begin alike */
        int64_t had = 0;                               /* tokens of the text before whose values were given */
        for (size_t i = 0; i < 2 * sizeof length / sizeof *length; i++) {
                int32_t found[DRAFTS] = {0}, expected[DRAFTS] = {0};
                const int32_t *t = text[i % 2];
                const int64_t n = length[i / 2];
                int64_t same = 0;
                while (same < had && same < n - 1 && t[same] == text[1 - i % 2][same])
                        same++;
                give_values(&all, all.draft, t, same, n - 1);
                had = n - 1;
                const int64_t k = ask(all.draft, t, n, found);
                Draft *fresh = draft_new(all.engine, all.plan, all.read, all.nread);
                give_values(&all, fresh, t, 0, n - 1);
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
        /* the text goes on with the drafts: rows with values of the draft are replaced by those with values of the first model */
        for (int i = 0; i < 4; i++) {
                int32_t found[DRAFTS] = {0}, expected[DRAFTS] = {0};
                const int64_t n = 30 + 20 * i, more = 4;
                give_values(&all, all.draft, text[0], 0, n - 1);
                if (ask(all.draft, text[0], n, found) < more)
                        continue;
                memcpy(text[0] + n, found, more * sizeof *found);
                give_values(&all, all.draft, text[0], n - 1, n + more - 1);
                memset(found, 0, sizeof found);
                const int64_t k = ask(all.draft, text[0], n + more, found);
                Draft *fresh = draft_new(all.engine, all.plan, all.read, all.nread);
                give_values(&all, fresh, text[0], 0, n + more - 1);
                engine_rewind(all.engine, 0);
                const int64_t want = ask(fresh, text[0], n + more, expected);
                draft_free(fresh);
                if (k != want || memcmp(found, expected, sizeof found)) {
                        printf("behind its own drafts after %lld tokens: %lld drafts, not %lld\n",
                               (long long)n, (long long)k, (long long)want);
                        bad = 1;
                }
        }
        draft_model_close(&all);
        draft_model_close(&big);
        arena_free(&arena);
        return bad;
}
