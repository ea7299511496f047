/*
 * The command line of a model that makes vectors of texts: each is printed, a line of JSON.
 *
 * Needs main_texts.h and model_embed.h.
 */

static int loop_text(Session *s, const char *text, const int32_t *tokens, int64_t n, void *scratch)
{
        static float vector[WIDTH];
        (void)text;
        const int error = $model_embed(s->m, tokens, n, vector, scratch);
        for (int64_t i = 0; i < WIDTH && !error; i++) {
                const double x = (double)vector[i];
                s->hash = hash_doubles(s->hash, &x, 1);
                terminal_print(stdout, i ? ", " : "[");
                terminal_print(stdout, x - x == 0 ? "%.9g" : "null", x);
        }
        if (!error)
                terminal_print(stdout, "]\n");
        return error;
}
