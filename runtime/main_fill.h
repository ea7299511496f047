/*
 * The command line of a model that fills masks: the likeliest tokens for each.
 *
 * Needs likely.h, main_texts.h and model_fill.h.
 */

/* A text whose masks are filled. */
typedef struct {
        Session *s;
        const char *text;
        int64_t masks, at; /* number of masks; number of printed masks */
} Blanks;

static int show_mask(void *of, int64_t place, const double *probabilities)
{
        Blanks *b = of;
        int64_t token = -1;
        (void)place;
        b->at++;
        if (b->s->texts > 1 || !strcmp(b->s->text[0], "-") || b->masks > 1)
                terminal_print(stdout, "%s, mask %lld\n", b->text, (long long)b->at);
        for (int64_t i = 0; i < b->s->top && (token = likely_next(probabilities, FILL_COLUMNS, token)) >= 0; i++) {
                terminal_print(stdout, "%8.4f  %lld", probabilities[token], (long long)token);
                print_token_text(b->s->m, token);
                terminal_print(stdout, "\n");
        }
        b->s->hash = hash_doubles(b->s->hash, probabilities, FILL_COLUMNS);
        return 0;
}

static int loop_text(Session *s, const char *text, const int32_t *tokens, int64_t n, void *scratch)
{
        Blanks b = {s, text, 0, 0};
        for (int64_t i = 0; i < n; i++)
                b.masks += tokens[i] == MASK_TOKEN;
        if (b.masks)
                return $model_fill(s->m, tokens, n, show_mask, &b, scratch);
        terminal_print(stderr, "%s: \"%s\" has no mask: it must contain token %lld\n", s->where, text, (long long)MASK_TOKEN);
        return -1;
}
