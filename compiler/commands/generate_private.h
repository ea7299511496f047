/* Runs of loop generate: run_generate.c, and their conversations, run_chat.c. */
#ifndef GENERATE_PRIVATE_H
#define GENERATE_PRIVATE_H
#include "commands_private.h"

enum { INTERRUPTED = 130 }; /* exit code after Ctrl-C */

/* The resources of a run, freed in one function. */
typedef struct {
        const CommandOptions *o;
        Generation how;
        Model *m;
        Plan *plan;
        Tokenizer tokenizer;
        PackedWeights packed;
        RunMode mode;
        bool unmasks; /* the loop is unmask */
        UnmaskLoop unmask;
        Engine *engine;
        DraftModel *draft;             /* of --draft */
        const WordList *sounds;        /* files to be fed, one after the other; NULL: none */
        const ListedWord *sound;       /* the current one; NULL: none is left */
        int sounds_code;               /* exit code of the sounds that could not be fed */
        ChatSource chat;               /* chat template of a published model */
        ChatWriter writer;             /* writes conversations with the template; its template NULL: none */
        ChatGiven given_chat;          /* --messages and --tools */
        const ChatAnswerForm *answers; /* of the template; NULL: none */
        Given given;                   /* inputs that are fed separately */
        const TalkForm *form;          /* of a conversation; NULL: none */
        SettledSampling sampling;
        int32_t languages[2]; /* tokens of --languages: of the text and of the answer; -1: not given */
        LineEditor *editor;   /* of a conversation on a terminal; NULL: none */
        double begin, planned, loaded; /* seconds */
} GenerateSession;

/* run_generate.c */
int generate_error(const char *message); /* prints it; returns an exit code */
void generate_note_sampling(const GenerateSession *s);
/* The prompt after the model's name, or after -p; NULL: none. */
const char *generate_prompt_given(const CommandOptions *o);
/* That prompt, or the one of -f, "" if there is none; NULL after a message. */
const char *generate_prompt_text(GenerateSession *s, int64_t *n);
/* Generates from tokens and prints; returns an exit code. */
int generate_show_text(GenerateSession *s, const int32_t *tokens, int64_t n, Generated *made);

/* run_unmask.c: loop unmask with its options; an exit code, after a message if it is not 0 */
int unmask_prepare(GenerateSession *s, const Loop *loop);
bool unmask_seed_fits(const GenerateSession *s); /* false after a message */
/* Without -n, a prompt with masks gets no further ones. */
void unmask_settle_length(GenerateSession *s, const int32_t *tokens, int64_t n);

/* run_thoughts.c: the answer's text on standard output, with its thoughts dimmed on a terminal, or without them */
typedef struct {
        FILE *to;
        const char *begin, *end; /* texts around a thought */
        bool hides, inside;
        bool begun;    /* other text has begun: no thought follows */
        bool skips;    /* white space after a thought that was left out */
        char held[64]; /* the beginning of a mark, perhaps */
        int n;
} ThoughtView;
void thoughts_begin(ThoughtView *v, const ChatAnswerForm *form, bool hides);
bool thoughts_show(void *of, const char *text, int64_t n); /* false: writing failed */
void thoughts_end(ThoughtView *v);

/* run_chat.c */
void chat_choose(GenerateSession *s); /* finds the form of a conversation, if the model holds one */
/* --messages or --tools without a chat template: prints the reason; returns an exit code. */
int chat_refuse(const GenerateSession *s);
int chat_converse(GenerateSession *s); /* returns an exit code */
#endif
