/* A grammar on its way from its file to places. */
#ifndef GRAMMARS_PRIVATE_H
#define GRAMMARS_PRIVATE_H
#include "grammars.h"

enum {
        MAX_RULES = 1 << 12,
        MAX_NESTING = 100, /* groups in groups */
        MAX_TIMES = 1000,  /* in { } */
        MAX_PLACES = 1 << 20
};

typedef enum {
        ITEM_SET,      /* one character of a set */
        ITEM_RULE,     /* what a rule allows */
        ITEM_SEQUENCE, /* kids one after another; without any: nothing, the empty text */
        ITEM_EITHER,   /* one of the kids */
        ITEM_TIMES     /* the kid, so many times */
} ItemKind;

typedef struct GrammarItem {
        ItemKind kind;
        Span span;
        CharSet set;      /* of SET */
        const char *name; /* of RULE, */
        int rule;         /* and its number */
        int least, most;  /* of TIMES; most -1: no limit */
        struct GrammarItem **kid;
        int nkid, cap;
} GrammarItem;

typedef struct {
        const char *name;
        Span span; /* of the name */
        GrammarItem *body;
        bool may_be_empty;
        int begin; /* its first place */
} GrammarRule;

/* Where a text may be: what may come there. */
typedef enum { PLACE_END, PLACE_BYTE, PLACE_RULE, PLACE_EITHER } PlaceKind;
typedef struct {
        PlaceKind kind;
        int next;         /* BYTE, RULE: behind it.  EITHER: here, */
        int other;        /* or there.  RULE: which one */
        uint64_t byte[4]; /* BYTE: a bit for each that may come */
} GrammarPlace;

enum { END_OF_RULE = 0 }; /* the place */

struct Grammar {
        GrammarRule *rule;
        int nrule, cap_rules, root;
        GrammarPlace *place;
        int nplace, cap_places;
        uint8_t group[256]; /* of a byte: bytes of one group stand in the same places */
        int groups;
};

static inline bool place_takes(const GrammarPlace *p, unsigned byte)
{
        return p->byte[byte / 64] >> byte % 64 & 1;
}

/* grammar_parse.c: rules, their bodies not checked; false after errors. */
bool grammar_parse(Arena *a, Diag *diag, const Source *source, Grammar *g);
/* grammar_check.c: numbers of rules that are named; false after errors. */
bool grammar_check(Arena *a, Diag *diag, const Source *source, Grammar *g);
#endif
