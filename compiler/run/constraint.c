/* Tokens whose texts a grammar allows.
 *
 * Texts of tokens are sorted, so that those which begin alike lie together, as in a trie that is walked depth first: the state behind each
 * byte of the last text is kept, a text goes on from where it differs from the one before, and where a beginning is dead, all that share it
 * are passed over.  (The tries of trie.c keep one token for a text and don't list what follows a node; here both are needed.) */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "run.h"

typedef struct {
        const unsigned char *at; /* [n], in Vocabulary.bytes */
        int32_t token, n, same;  /* same: so many bytes the text before begins with too */
} TokenText;

/* What tokens add to a text, or what they begin one with. */
typedef struct {
        TokenText *text; /* [n], in order; NULL: not made yet */
        int32_t n;
        unsigned char *bytes;
} Vocabulary;

struct Constraint {
        const Tokenizer *tokenizer;
        GrammarStates *states;
        Vocabulary vocabulary[2]; /* to begin with, and to go on with; made when it is asked for */
        const int32_t *stop;
        char *piece;     /* [longest + TOKEN_RESIDUE] */
        int32_t *behind; /* [longest + 1]: states behind each byte of a text */
        bool *allowed;   /* [vocab]: tokens that may come .. */
        int32_t state;   /* .. in this state, .. */
        bool begun;      /* .. if the text has begun or has not; GRAMMAR_DEAD: not known */
};

Constraint *constraint_new(const Grammar *g, const Tokenizer *t, const int32_t *stop)
{
        const size_t longest = (size_t)t->longest + TOKEN_RESIDUE + 1;
        Constraint *c = calloc(1, sizeof *c);
        if (!c)
                return NULL;
        *c = (Constraint){.tokenizer = t, .states = grammar_states_new(g), .stop = stop};
        c->piece = malloc(longest);
        c->behind = malloc(longest * sizeof *c->behind);
        c->allowed = malloc((size_t)t->vocab * sizeof *c->allowed);
        if (c->states && c->piece && c->behind && c->allowed)
                return c;
        constraint_free(c);
        return NULL;
}

void constraint_free(Constraint *c)
{
        if (!c)
                return;
        grammar_states_free(c->states);
        for (int i = 0; i < 2; i++) {
                free(c->vocabulary[i].text);
                free(c->vocabulary[i].bytes);
        }
        free(c->piece);
        free(c->behind);
        free(c->allowed);
        free(c);
}

/* --- texts of tokens --------------------------------------------------------------------------------------------------- */

/* What a token adds, the beginning of a character too, into c->piece; returns its bytes. */
static int32_t bytes_added(const Constraint *c, int32_t token, bool begun)
{
        TokenDecoder decoder = {.begun = begun};
        int64_t n = tokens_decode(&c->tokenizer->tables, &decoder, token, 0, c->piece);
        memcpy(c->piece + n, decoder.held, (size_t)decoder.n);
        return (int32_t)(n + decoder.n);
}

static bool is_stop(const Constraint *c, int32_t token)
{
        for (const int32_t *stop = c->stop; *stop >= 0; stop++)
                if (*stop == token)
                        return true;
        return false;
}

static int by_bytes(const void *a, const void *b)
{
        const TokenText *x = a, *y = b;
        int order = memcmp(x->at, y->at, (size_t)(x->n < y->n ? x->n : y->n));
        return order          ? order
               : x->n != y->n ? (x->n > y->n) - (x->n < y->n)
                              : (x->token > y->token) - (x->token < y->token);
}

static int32_t begins_alike(const TokenText *x, const TokenText *y)
{
        int32_t same = 0;
        while (same < x->n && same < y->n && x->at[same] == y->at[same])
                same++;
        return same;
}

/* Tokens without a text, as control tokens, and those that end a text are left out; NULL: no memory is left. */
static const Vocabulary *vocabulary_of(Constraint *c, bool begun)
{
        Vocabulary *v = &c->vocabulary[begun];
        const int32_t vocab = c->tokenizer->vocab;
        int64_t all = 0;
        if (v->text)
                return v;
        for (int32_t i = 0; i < vocab; i++)
                all += bytes_added(c, i, begun);
        v->bytes = malloc((size_t)all + 1);
        v->text = v->bytes ? malloc((size_t)vocab * sizeof *v->text) : NULL;
        unsigned char *to = v->bytes;
        for (int32_t i = 0; v->text && i < vocab; i++) {
                const int32_t n = is_stop(c, i) ? 0 : bytes_added(c, i, begun);
                memcpy(to, c->piece, (size_t)n);
                if (n)
                        v->text[v->n++] = (TokenText){to, i, n, 0};
                to += n;
        }
        if (!v->text) {
                free(v->bytes);
                return v->bytes = NULL, NULL;
        }
        qsort(v->text, (size_t)v->n, sizeof *v->text, by_bytes);
        for (int32_t i = 1; i < v->n; i++)
                v->text[i].same = begins_alike(&v->text[i - 1], &v->text[i]);
        return v;
}

/* --- what may come ------------------------------------------------------------------------------------------------------- */

/* Marks the tokens that may come in a state, and those that end a text if it may end. */
static void mark_allowed(Constraint *c, const Vocabulary *v, int32_t state)
{
        int32_t dead = INT32_MAX; /* texts that have so many bytes in common with the last one go nowhere */
        memset(c->allowed, 0, (size_t)c->tokenizer->vocab * sizeof *c->allowed);
        c->behind[0] = state;
        for (const TokenText *t = v->text; t < v->text + v->n; t++) {
                if (t->same >= dead)
                        continue;
                int32_t at = t->same;
                while (at < t->n && (c->behind[at + 1] = grammar_step(c->states, c->behind[at], t->at[at])) !=
                                            GRAMMAR_DEAD)
                        at++;
                c->allowed[t->token] = at == t->n;
                dead = at == t->n ? INT32_MAX : at + 1;
        }
        for (const int32_t *stop = c->stop; *stop >= 0 && grammar_may_end(c->states, state); stop++)
                if (*stop < c->tokenizer->vocab)
                        c->allowed[*stop] = true;
}

Constrained constraint_begin(Constraint *c, bool begun)
{
        return (Constrained){c, grammar_begin(c->states), begun};
}

bool constraint_ends(const Constrained *at)
{
        return !grammar_goes_on(at->of->states, at->state);
}

const char *constraint_mask(Constrained *at, float *logits, int64_t vocab)
{
        Constraint *c = at->of;
        const Vocabulary *v = vocabulary_of(c, at->begun);
        bool some = false, left = false;
        if (!v)
                return no_memory;
        if (c->state != at->state || c->begun != at->begun)
                mark_allowed(c, v, at->state);
        c->state = at->state;
        c->begun = at->begun;
        for (int64_t i = 0; i < vocab; i++) {
                const bool allowed = i < c->tokenizer->vocab && c->allowed[i];
                some |= allowed;
                left |= allowed && logits[i] > -HUGE_VALF;
                if (!allowed)
                        logits[i] = -HUGE_VALF;
        }
        const char *fault = grammar_fault(c->states);
        return fault   ? fault
               : !some ? "the grammar asks for bytes here that no token begins with"
               : !left ? "every token that the grammar allows here is ruled out otherwise (--suppress, or "
                         "forbid of loop "
                         "generate)"
                       : NULL;
}

void constraint_take(Constrained *at, int32_t token)
{
        Constraint *c = at->of;
        if (is_stop(c, token))
                return;
        const int32_t n = bytes_added(c, token, at->begun);
        for (int32_t i = 0; i < n; i++)
                at->state = grammar_step(c->states, at->state, (unsigned char)c->piece[i]);
        at->begun |= n > 0;
}

void constraint_forget(Constrained *at)
{
        const int32_t before = at->state;
        at->state = grammar_forget(at->of->states, at->state);
        if (at->state != before)
                at->of->state = GRAMMAR_DEAD;
}
