/* A grammar between its file and its places. */
#ifndef GRAMMARS_PRIVATE_H
#define GRAMMARS_PRIVATE_H
#include "grammars.h"

enum {
        MAX_RULES = 1 << 12,
        MAX_NESTING = 100, /* nested groups */
        MAX_TIMES = 1000,  /* in { } */
        MAX_PLACES = 1 << 20,
        MAX_SETS = 1 << 15 /* of bytes */
};

typedef enum {
        ITEM_SET,      /* one character of a set */
        ITEM_RULE,     /* texts of a rule */
        ITEM_SEQUENCE, /* kids in order; no kids: the empty text */
        ITEM_EITHER,   /* one of the kids */
        ITEM_TIMES     /* the kid, repeated */
} GrammarItemKind;

typedef struct GrammarItem {
        GrammarItemKind kind;
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
} GrammarRuleText;

enum { END_OF_RULE = 0 }; /* the place */

struct Grammar {
        GrammarRuleText *rule;
        int nrule, cap_rules, root;
        GrammarPlace *place;
        int nplace, cap_places;
        uint64_t (*set)[4];
        int nset, cap_sets;
        uint8_t group[256];
        GrammarTables tables; /* of places, sets and groups */
};

/* grammar_parse.c: parses rules without checking their bodies; false after errors. */
bool grammar_parse(Arena *a, Diag *diag, const Source *source, Grammar *g);
/* grammar_check.c: resolves names of rules; false after errors. */
bool grammar_check(Arena *a, Diag *diag, const Source *source, Grammar *g);
#endif
