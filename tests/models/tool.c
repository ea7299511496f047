/* What the tests of the bundled models drive.
 *
 *   tool logits FILE MODEL OUT TOKENS [NAME=VALUE]..
 *        hash weights to OUT under their published names; the interpreter's logits, one position a line
 *   tool cost FILE MODEL N [NAME=VALUE]..
 *        multiply-adds of a call on N positions: with weights, and of computed tensors
 *   tool cache FILE MODEL [NAME=VALUE]..
 *        values that an instance keeps of a whole context
 *
 * TOKENS are as in 3,1,4. Messages go to standard output too. 1: a message was printed.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "language/language.h"
#include "passes/passes.h"
#include "weights/weights.h"

enum { MAX_TOKENS = 64, MAX_OVERRIDES = 16 };

typedef struct {
        Arena arena;
        Interner names;
        Diag diag;
        Graph *g;
} Session;

static bool open_model(Session *s, const char *file, const char *model, int n, char **text)
{
        Override override[MAX_OVERRIDES];
        s->names.arena = s->diag.arena = &s->arena;
        for (int i = 0; i < n; i++) {
                const char *equals = strchr(text[i], '=');
                if (!equals || n > MAX_OVERRIDES)
                        return printf("no override: %s\n", text[i]), false;
                override[i] = (Override){.name = arena_strndup(&s->arena, text[i], equals - text[i]),
                                         .value = equals + 1};
        }
        Program *p = program_load(&s->arena, &s->names, &s->diag, file, NULL);
        s->g = p ? elaborate_model(p, model, override, n, &s->diag) : NULL;
        diag_print(&s->diag, stdout);
        return s->g && s->diag.count == 0;
}

static int read_tokens(const char *text, double token[MAX_TOKENS])
{
        int n = 0;
        for (char *end; *text && n < MAX_TOKENS; text = *end == ',' ? end + 1 : end) {
                token[n++] = (double)strtol(text, &end, 10);
                if (end == text)
                        return 0;
        }
        return n;
}

static bool print_logits(Session *s, const char *out, const char *tokens)
{
        CkError err;
        double token[MAX_TOKENS]; /* [n] */
        int n = read_tokens(tokens, token);
        Weights *weights = weights_hashed(&s->arena, s->g);
        if (!weights_write(s->g, weights, out, CK_F32, &err))
                return printf("%s\n", err.message), false;
        int64_t size[MAX_NAMED] = {n};
        Tensor input = {.rank = 1, .dim = {n}, .data = token}, logits = {0}; /* logits [n, vocab] */
        const WeightSource source = {weights, weights_read, weights_why};
        const char *message = interpret(s->g, size, &input, &source, NULL, &logits);
        if (message)
                return printf("%s\n", message), false;
        for (int64_t i = 0; i < logits.dim[0] * logits.dim[1]; i++)
                printf("%.17g%s", logits.data[i], (i + 1) % logits.dim[1] ? " " : "\n");
        tensor_free(&logits);
        return true;
}

static bool print_cost(const Session *s, int64_t n)
{
        int64_t size[MAX_NAMED] = {n};
        Flops flops = cost_flops(s->g, size, 0);
        printf("%" PRId64 " %" PRId64 "\n", polynomial_at(&flops.product, n) / 2,
               polynomial_at(&flops.pair, n) / 2);
        return true;
}

static bool print_cache(Session *s)
{
        Stuck stuck;
        Graph *g = simplify(s->g),
              *steps = incremental(g, graph_facts(g->arena, g, growing_dimension(g)), &stuck);
        if (!steps)
                return printf("no state form\n"), false;
        int64_t *all = NEW_ARRAY(steps->arena, int64_t, steps->nstate);
        printf("%" PRId64 "\n", cache_count(steps, all));
        return true;
}

int main(int argc, char **argv)
{
        Session s = {.g = NULL};
        bool good = false;
        if (argc >= 6 && strcmp(argv[1], "logits") == 0)
                good = open_model(&s, argv[2], argv[3], argc - 6, argv + 6) &&
                       print_logits(&s, argv[4], argv[5]);
        else if (argc >= 5 && strcmp(argv[1], "cost") == 0)
                good = open_model(&s, argv[2], argv[3], argc - 5, argv + 5) &&
                       print_cost(&s, strtol(argv[4], NULL, 10));
        else if (argc >= 4 && strcmp(argv[1], "cache") == 0)
                good = open_model(&s, argv[2], argv[3], argc - 4, argv + 4) && print_cache(&s);
        arena_free(&s.arena);
        return !good;
}
