/*
 * A conversation as tokens, with the texts around its messages.
 *
 * Each of these texts is a list of special tokens and plain texts.  Messages are encoded without special tokens.  All plain text
 * between two special tokens is encoded at once, so that the ids equal those of the whole text.
 *
 * Needs tokens.h.
 */
#include <stdlib.h>

enum { TALK_END = -1, TALK_TEXT = -2, TALK_SAID = -3, TALK_SYSTEM = -4 }; /* kinds of parts that are not a token */

typedef struct {
        int32_t token; /* a special token, or TALK_END to TALK_SYSTEM */
        const char *text;
} TalkPart;

enum { TALK_OF_SYSTEM = 1, TALK_OF_USER = 2, TALK_OF_ANSWER = 4 };
enum { TALK_WHITE_STAYS, TALK_WHITE_NEWLINES, TALK_WHITE_START, TALK_WHITE_ENDS }; /* where white space is stripped */

/* A chat template.  Each list of parts ends with TALK_END, or is NULL. */
typedef struct {
        const TalkPart *head, *system; /* the beginning without a system message, and with one */
        const TalkPart *first_user;    /* the first turn, if it contains the system message */
        const TalkPart *user, *answer, *open;
        const char *default_system;
        int trim, trim_newlines; /* TALK_OF_ bits: messages stripped of white space, or newlines, at both ends */
        const char *thought_end; /* earlier answers are dropped up to its last occurrence; NULL: kept whole */
        int thought_white;       /* TALK_WHITE_: white space stripped from the rest */
} TalkForm;

typedef struct {
        char *text;
        int64_t n;
} TalkSaid;

/* Initialise as {form, tables, system}. */
typedef struct Talk Talk;
struct Talk {
        const TalkForm *form;
        const TokenTables *tables;
        const char *system; /* the system message; NULL: the form's default */
        TalkSaid *said;     /* [turns]: user, answer, user ... */
        int32_t *ids, *old; /* the conversation; its state before the last turn */
        char *text;         /* plain text after the last special token, not yet encoded */
        void *scratch;
        int64_t turns, n, nold, ntext;
        int64_t asked;   /* number of ids up to the last turn's end; the answer's ids follow */
        int64_t same;    /* length of the common prefix of ids and old */
        int64_t dropped; /* turns dropped to make room for the last one */
        int64_t said_size, ids_size, old_size, text_size, scratch_size; /* bytes */
        int strips;                                                     /* strip white space at the beginning of text */
        int failed;                                                     /* out of memory, or a text is too long */
        const char *(*write)(void *of, Talk *k); /* renders all turns instead of the form, unless NULL; returns an error or NULL */
        void *of;
        const int32_t *kept; /* [nkept]: special tokens that belong to an answer's text */
        int64_t nkept;
        const char *refused; /* write()'s error for the last turn, or NULL */
};

/* Grows a block to at least `wanted` bytes, and returns it; or sets k->failed. */
static inline void *talk_room(Talk *k, void *block, int64_t *size, int64_t wanted)
{
        if (wanted <= *size)
                return block;
        void *more = realloc(block, (size_t)(2 * wanted));
        if (more)
                *size = 2 * wanted;
        else
                k->failed = 1;
        return more ? more : block;
}

static inline void talk_token(Talk *k, int32_t id)
{
        k->ids = (int32_t *)talk_room(k, k->ids, &k->ids_size, (k->n + 1) * (int64_t)sizeof *k->ids);
        if (!k->failed)
                k->ids[k->n++] = id;
}

static inline void talk_text(Talk *k, const char *text, int64_t n)
{
        k->text = (char *)talk_room(k, k->text, &k->text_size, k->ntext + n + 1);
        if (k->failed || !n)
                return;
        memcpy(k->text + k->ntext, text, (size_t)n);
        k->ntext += n;
}

/* TokenAdded.flags of a token, or 0. */
static inline uint32_t talk_flags(const Talk *k, int32_t token)
{
        const TokenAdded *added = (const TokenAdded *)token_section(k->tables, TOKENS_ADDED);
        for (int64_t i = 0; i < k->tables->count[TOKENS_ADDED]; i++)
                if (added[i].token == token)
                        return added[i].flags;
        return 0;
}

/* Bytes of white space, or newlines only, at the beginning of text [n]. */
static inline int64_t talk_leading(const char *text, int64_t n, int newlines)
{
        const unsigned char *begin = (const unsigned char *)text, *p = begin;
        uint32_t code;
        for (int length; p < begin + n; p += length) {
                length = token_character(p, begin + n, &code);
                if (newlines ? code != '\n' : !token_is_space(code) && (code < 0x1c || code > 0x1f))
                        break;
        }
        return p - begin;
}

static inline int64_t talk_trailing(const char *text, int64_t n, int newlines)
{
        int64_t left = n;
        while (left) {
                int64_t at = left - 1;
                while (at && left - at < 4 && ((unsigned char)text[at] & 0xc0) == 0x80)
                        at--;
                if (talk_leading(text + at, left - at, newlines) != left - at)
                        break;
                left = at;
        }
        return n - left;
}

/* Encodes the pending plain text; begins: it is at the beginning of the conversation. */
static inline void talk_encode(Talk *k, int begins)
{
        int64_t n = k->ntext, skipped = k->strips && n && !k->failed ? talk_leading(k->text, n, 0) : 0;
        n -= skipped;
        k->ntext = k->strips = 0;
        if (k->failed || !n)
                return;
        const char *text = k->text + skipped;
        if (n > tokens_most(k->tables)) {
                k->failed = 1;
                return;
        }
        int64_t room = tokens_room(k->tables, n);
        k->scratch = talk_room(k, k->scratch, &k->scratch_size, tokens_scratch(k->tables, n));
        k->ids = (int32_t *)talk_room(k, k->ids, &k->ids_size, (k->n + room) * (int64_t)sizeof *k->ids);
        if (!k->failed)
                k->n += tokens_encode(k->tables, text, n, TOKENS_BARE | (begins ? 0 : TOKENS_GOES_ON), k->ids + k->n, room, k->scratch);
}

static inline void talk_special(Talk *k, int32_t token, int begins)
{
        uint32_t flags = talk_flags(k, token);
        if ((flags & ADDED_STRIPS_LEFT) && k->ntext && !k->failed)
                k->ntext -= talk_trailing(k->text, k->ntext, 0);
        talk_encode(k, begins);
        talk_token(k, token);
        k->strips = (flags & ADDED_STRIPS_RIGHT) != 0;
}

/* An answer [*n] without its reasoning part. */
static inline const char *talk_without_thought(const TalkForm *f, const char *text, int64_t *n)
{
        const int64_t length = (int64_t)strlen(f->thought_end);
        int64_t at = *n - length;
        while (at >= 0 && memcmp(text + at, f->thought_end, (size_t)length) != 0)
                at--;
        if (at < 0 || !length)
                return text;
        text += at + length;
        *n -= at + length;
        if (f->thought_white != TALK_WHITE_STAYS) {
                const int64_t skipped = talk_leading(text, *n, f->thought_white == TALK_WHITE_NEWLINES);
                text += skipped;
                *n -= skipped;
        }
        if (f->thought_white == TALK_WHITE_ENDS)
                *n -= talk_trailing(text, *n, 0);
        return text;
}

/* Appends a message, without the white space that the form strips; who: one of TALK_OF_. */
static inline void talk_said(Talk *k, const TalkSaid *said, int who)
{
        const char *text = said->text;
        int64_t n = said->n;
        if (who == TALK_OF_ANSWER && k->form->thought_end)
                text = talk_without_thought(k->form, text, &n);
        for (int newlines = 0; newlines < 2; newlines++) {
                if (!((newlines ? k->form->trim_newlines : k->form->trim) & who))
                        continue;
                int64_t skipped = talk_leading(text, n, newlines);
                text += skipped;
                n -= skipped;
                n -= talk_trailing(text, n, newlines);
        }
        talk_text(k, text, n);
}

/* Appends a list of parts; first: number of ids before the text. */
static inline void talk_parts(Talk *k, const TalkPart *p, const TalkSaid *said, int who, const TalkSaid *system, int64_t first)
{
        for (; p && p->token != TALK_END; p++) {
                if (p->token == TALK_SYSTEM)
                        talk_said(k, system, TALK_OF_SYSTEM);
                else if (p->token == TALK_SAID)
                        talk_said(k, said, who);
                else if (p->token == TALK_TEXT)
                        talk_text(k, p->text, (int64_t)strlen(p->text));
                else
                        talk_special(k, p->token, k->n == first);
        }
}

/* Renders all turns by the form; before: number of ids before the text. */
static inline void talk_by_form(Talk *k, int64_t before)
{
        const TalkForm *f = k->form;
        const char *given = k->system ? k->system : f->default_system;
        const TalkSaid system = {(char *)given, given ? (int64_t)strlen(given) : 0};
        const int merged = given && !f->system;
        if (!merged)
                talk_parts(k, given ? f->system : f->head, &system, TALK_OF_SYSTEM, NULL, before);
        for (int64_t i = 0; i < k->turns; i++) {
                const TalkPart *turn = i % 2 ? f->answer : i == 0 && merged ? f->first_user : f->user;
                talk_parts(k, turn, &k->said[i], i % 2 ? TALK_OF_ANSWER : TALK_OF_USER, &system, before);
        }
        talk_parts(k, f->open, NULL, 0, NULL, before);
}

/* Writes the whole conversation as ids.  Tokens that the tokenizer puts before a text occur once, even if the form contains them. */
static inline void talk_render(Talk *k)
{
        const int32_t *around = (const int32_t *)token_section(k->tables, TOKENS_AROUND);
        const int64_t before = k->tables->head->before;
        k->n = k->ntext = k->strips = 0;
        for (int64_t i = 0; i < before; i++)
                talk_token(k, around[i]);
        if (k->write)
                k->refused = k->write(k->of, k);
        else
                talk_by_form(k, before);
        talk_encode(k, k->n == before);
        if (!k->failed && before && k->n > before && k->ids[before] == around[0]) {
                k->n -= before;
                memmove(k->ids, k->ids + before, (size_t)k->n * sizeof *k->ids);
        }
}

static inline void talk_say(Talk *k, const char *text, int64_t n)
{
        char *copy = (char *)malloc((size_t)n + 1);
        k->said = (TalkSaid *)talk_room(k, k->said, &k->said_size, (k->turns + 1) * (int64_t)sizeof *k->said);
        if (!copy || k->failed) {
                k->failed = 1;
                free(copy);
                return;
        }
        if (n)
                memcpy(copy, text, (size_t)n);
        k->said[k->turns++] = (TalkSaid){copy, n};
}

/* Whether a special token belongs to an answer's text: the end of its reasoning does. */
static inline int talk_keeps(const Talk *k, int32_t token)
{
        for (int64_t i = 0; i < k->nkept; i++)
                if (k->kept[i] == token)
                        return 1;
        uint32_t n = 0;
        const unsigned char *shown = token_bytes_of(k->tables, TOKENS_SHOWN_OFFSET, (uint32_t)token, &n);
        const char *end = k->form->thought_end;
        return end && n == strlen(end) && !memcmp(shown, end, n);
}

/* Adds the tokens after the last turn as its answer. */
static inline void talk_answer(Talk *k)
{
        TokenDecoder decoder = {.n = 0};
        int64_t n = 0, room = tokens_decode_room(k->tables);
        for (int64_t i = k->asked; i < k->n && !k->failed; i++) {
                k->text = (char *)talk_room(k, k->text, &k->text_size, n + room + TOKEN_RESIDUE);
                if (!k->failed)
                        n += tokens_decode(k->tables, &decoder, k->ids[i], talk_keeps(k, k->ids[i]) ? TOKENS_CONTROL : 0, k->text + n);
        }
        k->text = (char *)talk_room(k, k->text, &k->text_size, n + TOKEN_RESIDUE);
        if (!k->failed)
                talk_say(k, k->text, n + tokens_decode_end(&decoder, k->text + n));
}

static inline void talk_drop(Talk *k)
{
        free(k->said[0].text);
        free(k->said[1].text);
        k->turns -= 2;
        memmove(k->said, k->said + 2, (size_t)k->turns * sizeof *k->said);
        k->dropped++;
}

/* Whether the last turn fits without the earlier ones.  Renders all turns again. */
static inline int talk_fits_alone(Talk *k, int64_t context)
{
        const int64_t before = k->turns - 1;
        k->said += before;
        k->turns = 1;
        talk_render(k);
        const int fits = k->n <= context;
        k->said -= before;
        k->turns += before;
        talk_render(k);
        return fits;
}

/* Restores the ids from before the last turn, which was rejected. */
static inline void talk_refuse(Talk *k)
{
        int32_t *ids = k->ids;
        int64_t size = k->ids_size;
        k->ids = k->old;
        k->ids_size = k->old_size;
        k->old = ids;
        k->old_size = size;
        k->n = k->same = k->asked = k->nold;
        free(k->said[--k->turns].text);
}

/* Adds the user's next turn, text [n].  The conversation is then ids [k->n], with room for context + 1; the first k->same of them
 * are unchanged.  Drops the oldest turns if there is no room for an answer, unless the turn does not fit even without them.
 * Returns 0 if k->failed. */
static inline int talk_ask(Talk *k, const char *text, int64_t n, int64_t context)
{
        if (k->turns % 2)
                talk_answer(k);
        talk_say(k, text, n);
        int32_t *ids = k->old;
        int64_t size = k->old_size;
        k->old = k->ids;
        k->old_size = k->ids_size;
        k->nold = k->n;
        k->ids = ids;
        k->ids_size = size;
        k->dropped = 0;
        talk_render(k);
        while (!k->failed && !k->refused && k->n > context - context / 8 && k->turns > 2 && (k->dropped || talk_fits_alone(k, context))) {
                talk_drop(k);
                talk_render(k);
        }
        if (k->refused) {
                talk_refuse(k);
                return !k->failed;
        }
        k->ids = (int32_t *)talk_room(k, k->ids, &k->ids_size, (context + 1) * (int64_t)sizeof *k->ids);
        for (k->same = 0; k->same < k->n && k->same < k->nold && k->ids[k->same] == k->old[k->same];)
                k->same++;
        k->asked = k->n;
        return !k->failed;
}

/* Removes the last turn, which has no answer. */
static inline void talk_unask(Talk *k)
{
        free(k->said[--k->turns].text);
        k->n = k->asked;
}

static inline void talk_free(Talk *k)
{
        for (int64_t i = 0; i < k->turns; i++)
                free(k->said[i].text);
        free(k->said);
        free(k->ids);
        free(k->old);
        free(k->text);
        free(k->scratch);
}
