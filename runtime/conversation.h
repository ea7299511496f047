/*
 * A conversation: the user's turns, each with its answer.
 *
 * Needs talk.h, generation.h.
 */
#include <stdio.h>
#include <unistd.h>

/* Beside those of generation.h; STOPPED: by Ctrl-C, and the conversation continues. */
enum { CONVERSATION_FULL = -3, CONVERSATION_REFUSED = -4, CONVERSATION_STOPPED = -5 };

typedef struct {
        Talk *talk;
        int64_t context;
        void *of; /* the first argument of the functions */
        int64_t (*position)(void *of);
        void (*rewind)(void *of, int64_t n); /* to the first n positions */
        /* Generates the answer after ids [n]; 0, CONVERSATION_STOPPED, or an error above 0. */
        int (*answer)(void *of, const int32_t *ids, int64_t n, Generated *made);
} Conversation;

/* Adds text [n] as the user's next turn: the common beginning of the conversation's ids remains taken, and the new ids are to be taken for an
 * answer.  0; GENERATION_MEMORY; CONVERSATION_FULL: it does not fit, CONVERSATION_REFUSED: k->write() refuses it; then the conversation is
 * unchanged. */
static inline int conversation_ask(const Conversation *c, const char *text, int64_t n)
{
        Talk *k = c->talk;
        if (!talk_ask(k, text, n, c->context))
                return GENERATION_MEMORY;
        if (k->refused)
                return CONVERSATION_REFUSED;
        const int64_t keep = k->same < k->n ? k->same : k->n - 1;
        if (keep < c->position(c->of))
                c->rewind(c->of, keep);
        if (k->n <= c->context)
                return 0;
        talk_unask(k);
        return CONVERSATION_FULL;
}

/* Reports turns that the last one left no room for. */
static inline void conversation_report_dropped(const Conversation *c)
{
        if (c->talk->dropped)
                fprintf(stderr, "the context of %lld tokens is full: the oldest turns are left out, %lld of them\n", (long long)c->context,
                        (long long)c->talk->dropped);
}

/* Answers text [n].  CONVERSATION_FULL, CONVERSATION_REFUSED: after a message. */
static inline int conversation_turn(const Conversation *c, const char *text, int64_t n)
{
        const Talk *k = c->talk;
        int error = conversation_ask(c, text, n);
        if (error != GENERATION_MEMORY)
                conversation_report_dropped(c);
        if (error == CONVERSATION_FULL)
                fprintf(stderr, "with this turn the conversation has %lld tokens, but the context holds %lld\n", (long long)k->n,
                        (long long)c->context);
        if (error == CONVERSATION_REFUSED)
                fprintf(stderr, "this turn is left out, as the chat template refuses it: %s\n", k->refused);
        if (error)
                return error;
        Generated made;
        error = c->answer(c->of, k->ids, k->n, &made);
        if (!error && !made.ended && c->position(c->of) == c->context)
                fprintf(stderr, "the context of %lld tokens is full: the answer ends here\n", (long long)c->context);
        return error;
}

/* Answers all lines of standard input; empty ones are skipped. */
static inline int conversation_lines(const Conversation *c)
{
        char *line = NULL;
        size_t room = 0;
        int error = 0;
        while ((error == 0 || error == CONVERSATION_FULL || error == CONVERSATION_REFUSED) && !ferror(stdout)) {
                ssize_t n = getline(&line, &room, stdin);
                if (n < 0)
                        break;
                n -= n > 0 && line[n - 1] == '\n';
                if (n > 0)
                        error = conversation_turn(c, line, n);
        }
        free(line);
        return error == CONVERSATION_FULL || error == CONVERSATION_REFUSED ? 0 : error;
}
