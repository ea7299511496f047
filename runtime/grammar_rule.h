/*
 * The tokens that a grammar allows, by their texts.
 *
 * Texts of tokens are sorted, so that common prefixes are adjacent, as in the depth-first walk of a trie: the state after each
 * byte of the last text is kept, the next text starts at its first difference, and if a prefix is not allowed, all texts with it
 * are skipped.  (The tries of a tokenizer keep one token per text and don't list the successors of a node; both are needed
 * here.)
 *
 * Needs grammar_states.h and tokens.h.
 */

typedef struct {
        const unsigned char *at; /* [n] */
        int32_t token, n, same;  /* same: length of the common prefix with the previous text */
} TokenText;

/* The texts of all tokens, sorted: within a text, or at its beginning. */
typedef struct {
        TokenText *text;  /* [n] */
        int64_t n, bytes; /* n -1: not made yet; bytes: upper bound of all texts together */
} TokenTexts;

/* A text under the rule.  The second one is for drafts: it branches from the first. */
typedef struct {
        int64_t taken; /* number of tokens that the state includes; -1: no call yet */
        int begun;     /* the text is not empty; at its beginning some tokens have other texts */
} RuledText;

enum { RULED_TEXTS = 2 };

typedef struct {
        const TokenTables *tokens;
        const int32_t *stop; /* tokens that end a text; ends with -1 */
        GrammarStates states;
        TokenTexts texts[2]; /* at the beginning of a text, and within it */
        RuledText ruled[RULED_TEXTS];
        int32_t *state; /* [RULED_TEXTS + longest + 1]: of each RuledText; then after each byte of a token */
        char *piece;    /* [longest] */
        uint8_t *allowed; /* [vocab]: tokens that are allowed next, cached */
        int32_t allowed_in; /* the state that `allowed` is for, or GRAMMAR_UNKNOWN */
        int allowed_begun;  /* the value of `begun` that `allowed` is for */
} GrammarRule;

/* Results of grammar_rule(). */
typedef enum {
        RULE_ENDS = -1,   /* the text is complete: nothing may follow */
        RULE_GOES_ON = 0, /* logits of forbidden tokens are -inf */
        RULE_NO_TOKEN,    /* no token begins with the bytes that must follow */
        RULE_NONE_LEFT,   /* all allowed tokens have logits of -inf */
        RULE_TOO_MUCH     /* too many parses at once: see states.fault */
} GrammarVerdict;

static inline int64_t grammar_longest(const TokenTables *t)
{
        return tokens_decode_room(t) + TOKEN_RESIDUE;
}

/* Writes the text that a token adds, including an incomplete character, to piece [grammar_longest(t)].  Returns its bytes. */
static inline int32_t grammar_added(const TokenTables *t, int32_t token, int begun, char *piece)
{
        TokenDecoder decoder = {.begun = begun};
        int64_t n = tokens_decode(t, &decoder, token, 0, piece);
        memcpy(piece + n, decoder.held, (size_t)decoder.n);
        return (int32_t)(n + decoder.n);
}

/* Total bytes of the texts of all tokens; piece [grammar_longest(t)] is scratch. */
static inline int64_t grammar_all_added(const TokenTables *t, int begun, char *piece)
{
        int64_t all = 0;
        for (uint32_t i = 0; i < t->head->vocab; i++)
                all += grammar_added(t, (int32_t)i, begun, piece);
        return all;
}

static inline size_t grammar_whole(int64_t bytes)
{
        return ((size_t)bytes + 7) / 8 * 8;
}

/* Bytes that grammar_rule_lay() needs; piece [grammar_longest(tokens)] is scratch. */
static inline size_t grammar_rule_room(const GrammarTables *g, const TokenTables *tokens, char *piece)
{
        const int64_t vocab = tokens->head->vocab;
        size_t room = grammar_room(g) + grammar_whole((RULED_TEXTS + grammar_longest(tokens) + 1) * (int64_t)sizeof(int32_t)) +
                      grammar_whole(grammar_longest(tokens)) + grammar_whole(vocab);
        for (int begun = 0; begun < 2; begun++)
                room += (size_t)vocab * sizeof(TokenText) + grammar_whole(grammar_all_added(tokens, begun, piece));
        return room;
}

/* Initialises *r in `room` [grammar_rule_room()], aligned to 8.  The arguments must outlive it. */
static inline void grammar_rule_lay(GrammarRule *r, const GrammarTables *g, const TokenTables *tokens, const int32_t *stop, void *room)
{
        const int64_t vocab = tokens->head->vocab, longest = grammar_longest(tokens);
        char *at = room;
        *r = (GrammarRule){.tokens = tokens, .stop = stop, .allowed_in = GRAMMAR_UNKNOWN};
        grammar_lay(&r->states, g, at);
        at += grammar_room(g);
        r->state = (int32_t *)(void *)at;
        at += grammar_whole((RULED_TEXTS + longest + 1) * (int64_t)sizeof(int32_t));
        r->piece = at;
        at += grammar_whole(longest);
        r->allowed = (uint8_t *)at;
        at += grammar_whole(vocab);
        for (int begun = 0; begun < 2; begun++) {
                r->texts[begun] = (TokenTexts){(TokenText *)(void *)at, -1, grammar_all_added(tokens, begun, r->piece)};
                at += (size_t)vocab * sizeof(TokenText) + grammar_whole(r->texts[begun].bytes);
        }
        for (int i = 0; i < RULED_TEXTS; i++)
                r->state[i] = GRAMMAR_DEAD;
}

/* Begins a text after the tokens of the next call of grammar_rule(). */
static inline void grammar_rule_begin(GrammarRule *r, int begun)
{
        r->ruled[0] = (RuledText){-1, begun};
        r->state[0] = grammar_begin(&r->states);
        if (r->state[0] != GRAMMAR_UNKNOWN)
                return;
        grammar_forget(&r->states);
        r->allowed_in = GRAMMAR_UNKNOWN;
        r->state[0] = grammar_begin(&r->states);
        if (r->state[0] == GRAMMAR_UNKNOWN) /* does not happen in an empty half */
                r->state[0] = GRAMMAR_DEAD;
}

/* Sets the second text to the position of the first one. */
static inline void grammar_rule_branch(GrammarRule *r)
{
        r->ruled[1] = r->ruled[0];
        r->state[1] = r->state[0];
}

/* --- texts of tokens --- */

static inline int grammar_is_stop(const GrammarRule *r, int32_t token)
{
        for (const int32_t *stop = r->stop; *stop >= 0; stop++)
                if (*stop == token)
                        return 1;
        return 0;
}

static int grammar_by_bytes(const void *a, const void *b)
{
        const TokenText *x = a, *y = b;
        int order = memcmp(x->at, y->at, (size_t)(x->n < y->n ? x->n : y->n));
        return order ? order : x->n != y->n ? (x->n > y->n) - (x->n < y->n) : (x->token > y->token) - (x->token < y->token);
}

static inline int32_t grammar_alike(const TokenText *x, const TokenText *y)
{
        int32_t same = 0;
        while (same < x->n && same < y->n && x->at[same] == y->at[same])
                same++;
        return same;
}

/* The sorted texts, made on the first call.  Omits tokens without a text, such as control tokens, and stop tokens. */
static inline const TokenTexts *grammar_texts(GrammarRule *r, int begun)
{
        TokenTexts *v = &r->texts[begun];
        const int64_t vocab = r->tokens->head->vocab;
        unsigned char *to = (unsigned char *)(v->text + vocab);
        if (v->n >= 0)
                return v;
        v->n = 0;
        for (int64_t i = 0; i < vocab; i++) {
                const int32_t token = (int32_t)i, n = grammar_is_stop(r, token) ? 0 : grammar_added(r->tokens, token, begun, r->piece);
                memcpy(to, r->piece, (size_t)n);
                if (n)
                        v->text[v->n++] = (TokenText){to, token, n, 0};
                to += n;
        }
        qsort(v->text, (size_t)v->n, sizeof *v->text, grammar_by_bytes);
        for (int64_t i = 1; i < v->n; i++)
                v->text[i].same = grammar_alike(&v->text[i - 1], &v->text[i]);
        return v;
}

/* --- allowed tokens --- */

/* Sets r->state[to] to the state after a byte in r->state[from].  Preserves states up to `from`. */
static inline void grammar_rule_step(GrammarRule *r, int64_t from, unsigned char byte, int64_t to)
{
        int32_t state = grammar_step(&r->states, r->state[from], byte);
        if (state == GRAMMAR_UNKNOWN) {
                grammar_keep(&r->states, r->state, from < RULED_TEXTS ? RULED_TEXTS : from + 1);
                r->allowed_in = GRAMMAR_UNKNOWN;
                state = grammar_step(&r->states, r->state[from], byte);
        }
        if (state == GRAMMAR_UNKNOWN) {
                r->states.fault = "the grammar reads a text in too many ways at once, each behind long stacks of rules";
                state = GRAMMAR_DEAD;
        }
        r->state[to] = state;
}

/* Sets `allowed` for a text's state: tokens that may follow, and stop tokens if it may end. */
static inline void grammar_mark(GrammarRule *r, int which)
{
        const TokenTexts *v = grammar_texts(r, r->ruled[which].begun);
        int32_t dead = INT32_MAX; /* texts that share this many bytes with the previous one are not allowed */
        memset(r->allowed, 0, r->tokens->head->vocab);
        r->state[RULED_TEXTS] = r->state[which];
        for (const TokenText *t = v->text; t < v->text + v->n; t++) {
                if (t->same >= dead)
                        continue;
                int32_t at = t->same;
                for (; at < t->n; at++) {
                        grammar_rule_step(r, RULED_TEXTS + at, t->at[at], RULED_TEXTS + at + 1);
                        if (r->state[RULED_TEXTS + at + 1] == GRAMMAR_DEAD)
                                break;
                }
                r->allowed[t->token] = at == t->n;
                dead = at == t->n ? INT32_MAX : at + 1;
        }
        for (const int32_t *stop = r->stop; *stop >= 0 && grammar_may_end(&r->states, r->state[which]); stop++)
                if ((uint32_t)*stop < r->tokens->head->vocab)
                        r->allowed[*stop] = 1;
        r->allowed_in = r->state[which];
        r->allowed_begun = r->ruled[which].begun;
}

/* Advances a text's state by the tokens of text [n] that it does not include yet. */
static inline void grammar_take(GrammarRule *r, int which, const int32_t *text, int64_t n)
{
        RuledText *ruled = &r->ruled[which];
        for (int64_t i = ruled->taken < 0 ? n : ruled->taken; i < n; i++) {
                const int32_t bytes = grammar_is_stop(r, text[i]) ? 0 : grammar_added(r->tokens, text[i], ruled->begun, r->piece);
                for (int32_t k = 0; k < bytes; k++)
                        grammar_rule_step(r, which, (unsigned char)r->piece[k], which);
                ruled->begun |= bytes > 0;
        }
        ruled->taken = n;
}

/* Sets the logits [vocab] of tokens that may not follow text [n] to -inf. */
static inline GrammarVerdict grammar_rule(GrammarRule *r, int which, const int32_t *text, int64_t n, float *logits, int64_t vocab)
{
        int some = 0, left = 0;
        grammar_take(r, which, text, n);
        if (!r->states.fault && !grammar_goes_on(&r->states, r->state[which]))
                return RULE_ENDS;
        if (r->allowed_in != r->state[which] || r->allowed_begun != r->ruled[which].begun)
                grammar_mark(r, which);
        for (int64_t i = 0; i < vocab; i++) {
                const int allowed = i < r->tokens->head->vocab && r->allowed[i];
                some |= allowed;
                left |= allowed && logits[i] > -1.0f / 0.0f;
                if (!allowed)
                        logits[i] = -1.0f / 0.0f;
        }
        return r->states.fault ? RULE_TOO_MUCH : !some ? RULE_NO_TOKEN : !left ? RULE_NONE_LEFT : RULE_GOES_ON;
}

/* The message for a verdict, or NULL if it is not an error. */
static inline const char *grammar_rule_error(const GrammarRule *r, GrammarVerdict verdict)
{
        return verdict == RULE_NO_TOKEN    ? "the grammar requires bytes here that no token begins with"
               : verdict == RULE_NONE_LEFT ? "every token that the grammar allows here is ruled out otherwise: as suppressed, or by the model"
               : verdict == RULE_TOO_MUCH  ? r->states.fault
                                           : NULL;
}
