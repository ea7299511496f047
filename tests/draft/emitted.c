/* Emitted models: `writer` generates, and `eagle` drafts for it from the rows of a value (VALUES: INPUT(value, input) for each).
 *      ./emitted LENGTH TEMPERATURE     STEPS tokens after a prompt: the text is that without drafts; prints how many tokens were drafted, and how many of them are in it */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "writer.h"
#include "eagle.h"

enum { MOST = 400 + STEPS };

typedef struct {
        int32_t text[MOST];
        int64_t n;
} Text;

static eagle_drafter drafter;
static struct {
        int64_t at, n;
        int32_t token[32];
} drafted[MOST];
static int calls;

static int keep(void *of, int32_t token)
{
        Text *t = of;
        t->text[t->n++] = token;
        return 0;
}

static int64_t propose(void *of, const int32_t *tokens, int64_t n, int32_t *to, int64_t room)
{
        const int64_t made = eagle_propose(of, tokens, n, to, room);
        drafted[calls].at = n;
        drafted[calls].n = made;
        memcpy(drafted[calls++].token, to, (size_t)made * sizeof *to);
        return made;
}

int main(int argc, char **argv)
{
        static Text text[2];
        static float value[3][MOST * 64];
        const int64_t n = atoi(argv[1]);
        int error = argc < 3, other, all = 0, right = 0;
        writer *w = writer_new("writer.weights", 1, &error);
        drafter.m = eagle_new("eagle.weights", 2, &other);
        drafter.scratch = malloc(eagle_draft_scratch());
        if (error || other || (error = eagle_draft_begin(&drafter)))
                return 3;
        writer_rows rows = {0};
        int values = 0;
#define INPUT(of, in) rows.of = rows.of ? rows.of : value[values++], drafter.in = rows.of;
        VALUES
        for (int with = 0; with < 2; with++) {
                writer_generation how = {.temperature = (float)atof(argv[2]), .seed = 5, .steps = STEPS};
                for (int64_t i = 0; i < n; i++)
                        text[with].text[i] = (int32_t)(1 + i % 40);
                text[with].n = n;
                if (with) {
                        how.drafts = 5;
                        how.propose = propose;
                        how.proposer = &drafter;
                        how.rows = &rows;
                        drafter.temperature = how.temperature;
                        drafter.seed = how.seed;
                        drafter.prompt = n;
                }
                void *scratch = malloc(writer_generate_scratch(&how));
                writer_reset(w);
                error = error ? error
                              : writer_generate(w, text[with].text, n, &how, keep, &text[with], scratch,
                                                NULL);
        }
        for (int i = 0; i < calls; i++)
                for (int64_t k = 0; k < drafted[i].n; k++, all++) {
                        const int64_t at = drafted[i].at + k;
                        if (at >= text[0].n || text[0].text[at] != drafted[i].token[k])
                                break;
                        right++;
                }
        const int same = text[0].n == text[1].n && !memcmp(text[0].text, text[1].text, sizeof text[0].text);
        for (int i = all = 0; i < calls; i++)
                all += (int)drafted[i].n;
        printf("%s %d %d %d\n", same && text[0].n > n ? "same" : "different", error, all, right);
        return error || !same;
}
