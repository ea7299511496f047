/*
 * The command line of a model that makes vectors of texts: each is printed, a line of JSON, or of a sparse one the largest entries.
 *
 * Needs main_texts.h, pooling.h and model_embed.h.
 */

#if HAS_SPARSE
/* Prints the tokens of the largest weights.  Returns 0, or -1 after a message. */
static int print_embedding(const Session *s, const char *text, const float *weight)
{
        static int32_t order[WIDTH];
        const int64_t all = sparse_order(weight, WIDTH, order), top = s->top < all ? s->top : all;
        if (all < 0)
                return terminal_print(stderr, "%s: a weight is NaN or infinite\n", s->where), -1;
        if (s->texts > 1 || !strcmp(s->text[0], "-"))
                terminal_print(stdout, "%s\n", text);
        for (int64_t i = 0; i < top; i++) {
                terminal_print(stdout, "%8.4f  %d", (double)weight[order[i]], (int)order[i]);
                print_token_text(s->m, order[i]);
                terminal_print(stdout, "\n");
        }
        if (top < all)
                terminal_print(stdout, "          and %lld more (--top N prints N tokens)\n", (long long)(all - top));
        return 0;
}
#else
static int print_embedding(const Session *s, const char *text, const float *vector)
{
        (void)s;
        (void)text;
        for (int64_t i = 0; i < WIDTH; i++) {
                const double x = (double)vector[i];
                terminal_print(stdout, i ? ", " : "[");
                terminal_print(stdout, x - x == 0 ? "%.9g" : "null", x);
        }
        terminal_print(stdout, "]\n");
        return 0;
}
#endif

static int loop_text(Session *s, const char *text, const int32_t *tokens, int64_t n, void *scratch)
{
        static float vector[WIDTH];
        const int error = $model_embed(s->m, tokens, n, vector, scratch);
        for (int64_t i = 0; i < WIDTH && !error; i++) {
                const double x = (double)vector[i];
                s->hash = hash_doubles(s->hash, &x, 1);
        }
        return error ? error : print_embedding(s, text, vector);
}
