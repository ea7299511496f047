/* A regex as a table.
 *
 * These regexes match the first alternative, not the longest.  A state is a list of positions in the regex in
 * order of priority; a match removes all positions after it.  Look-ahead is one character long and is decided
 * when that is read.  So an entry, for a state and a class of characters, has the next state and whether a
 * match ends before this character. */
#include "form_private.h"

#include <stdlib.h>

enum {
        MAX_NODES = 8192,
        MAX_SETS = 512,
        MAX_CLASSES = 255,
        MAX_STATES = 4096,
        MAX_ENTRIES = 1 << 18,
        MAX_WORK = 1 << 26
};

typedef enum { NODE_SET, NODE_LOOK, NODE_SPLIT, NODE_MATCH } RegexNodeKind;

typedef struct {
        RegexNodeKind kind;
        int set; /* SET, LOOK */
        bool negative, or_end;
        int next[2], n; /* SPLIT: n, in order of preference; else one */
} RegexNode;

/* A possessive repetition: the following part must not begin with a repeated character. */
typedef struct {
        int next, set, at;
} Possessive;

typedef struct {
        uint64_t of[MAX_SETS / 64]; /* the sets that contain its characters */
} ClassMask;

typedef struct {
        int *node; /* [n] */
        int n;
} State;

typedef struct {
        Arena *arena;
        jmp_buf wrong;
        const char *why;
        RegexNode *node;
        int nnode;
        CharSet set[MAX_SETS];
        int nset;
        Possessive possessive[MAX_SETS];
        int npossessive;
        ClassMask class[MAX_CLASSES];
        int nclass; /* without the end, which is class nclass */
        State *state;
        int nstate;
        int slot[4 * MAX_STATES]; /* hash table of states, -1: free */
        uint32_t *entry;          /* [nstate * (nclass + 1)]: state, and REGEX_MATCHED */
        int64_t work;
        int *seen; /* [nnode]: the last walk that reached it */
        int walk;
} RegexMaker;

static _Noreturn void table_refuse(RegexMaker *m, const char *what)
{
        m->why = what;
        longjmp(m->wrong, 1);
}

/* --- places in the regex --------------------------------------------------------------------------------------------- */

static int add_node(RegexMaker *m, RegexNode node)
{
        if (m->nnode == MAX_NODES)
                table_refuse(m, "the regex is too large: its repetitions make more than 8192 positions");
        m->node[m->nnode] = node;
        return m->nnode++;
}

static int regex_set_number(RegexMaker *m, CharSet set)
{
        for (int i = 0; i < m->nset; i++)
                if (m->set[i].n == set.n &&
                    !memcmp(m->set[i].range, set.range, (size_t)set.n * sizeof *set.range))
                        return i;
        if (m->nset == MAX_SETS)
                table_refuse(m, "the regex is too large: it has more than 128 sets of characters");
        m->set[m->nset] = set;
        return m->nset++;
}

static int lay(RegexMaker *m, const RegexTree *t, int next);

static int regex_split(RegexMaker *m, int first, int second, bool lazy)
{
        RegexNode node = {.kind = NODE_SPLIT, .next = {lazy ? second : first, lazy ? first : second}, .n = 2};
        return add_node(m, node);
}

static void note_possessive(RegexMaker *m, const RegexTree *t, int next)
{
        const RegexTree *one = t->part[0];
        while (one->kind == REGEX_SEQUENCE && one->n == 1)
                one = one->part[0];
        if (one->kind != REGEX_SET || m->npossessive == MAX_SETS)
                table_refuse(m, arena_printf(m->arena,
                                             "byte %d of the regex: a possessive repetition is supported "
                                             "only of one character",
                                             t->at));
        m->possessive[m->npossessive++] = (Possessive){next, regex_set_number(m, one->set), t->at};
}

static int lay_times(RegexMaker *m, const RegexTree *t, int next)
{
        int at = next;
        if (t->possessive)
                note_possessive(m, t, next);
        if (t->most < 0) {
                at = add_node(m, (RegexNode){.kind = NODE_SPLIT, .n = 0});
                int body = lay(m, t->part[0], at);
                m->node[at] = (RegexNode){
                        .kind = NODE_SPLIT, .next = {t->lazy ? next : body, t->lazy ? body : next}, .n = 2};
        }
        for (int i = t->least; i < t->most; i++)
                at = regex_split(m, lay(m, t->part[0], at), next, t->lazy);
        for (int i = 0; i < t->least; i++)
                at = lay(m, t->part[0], at);
        return at;
}

/* The first position of a tree that continues at `next`. */
static int lay(RegexMaker *m, const RegexTree *t, int next)
{
        int at = next;
        switch (t->kind) {
        case REGEX_SET:
                return add_node(m, (RegexNode){.kind = NODE_SET,
                                               .set = regex_set_number(m, t->set),
                                               .next = {next},
                                               .n = 1});
        case REGEX_LOOK:
                return add_node(m, (RegexNode){.kind = NODE_LOOK,
                                               .set = regex_set_number(m, t->set),
                                               .negative = t->negative,
                                               .or_end = t->or_end,
                                               .next = {next},
                                               .n = 1});
        case REGEX_SEQUENCE:
                for (int i = t->n - 1; i >= 0; i--)
                        at = lay(m, t->part[i], at);
                return at;
        case REGEX_CHOICE:
                at = lay(m, t->part[t->n - 1], next);
                for (int i = t->n - 2; i >= 0; i--)
                        at = regex_split(m, lay(m, t->part[i], next), at, false);
                return at;
        case REGEX_REPEAT: return lay_times(m, t, next);
        }
        return next;
}

/* --- possessive is greedy where shortening the repetition could not help -------------------------------------------- */

static void check_followers(RegexMaker *m, const Possessive *p, int at)
{
        const RegexNode *n = &m->node[at];
        if (m->seen[at] == m->walk)
                return;
        m->seen[at] = m->walk;
        if (n->kind == NODE_LOOK || (n->kind == NODE_SET && charset_meets(m->set[n->set], m->set[p->set])))
                table_refuse(m,
                             arena_printf(m->arena,
                                          "byte %d of the regex: a possessive repetition is supported only "
                                          "if the following part can't begin with a repeated character",
                                          p->at));
        for (int i = 0; n->kind == NODE_SPLIT && i < n->n; i++)
                check_followers(m, p, n->next[i]);
}

/* --- classes of characters ------------------------------------------------------------------------------------------- */

static int by_code(const void *a, const void *b)
{
        const uint32_t *x = a, *y = b;
        return (*x > *y) - (*x < *y);
}

static int class_number(RegexMaker *m, const ClassMask *mask)
{
        for (int i = 0; i < m->nclass; i++)
                if (!memcmp(&m->class[i], mask, sizeof *mask))
                        return i;
        if (m->nclass == MAX_CLASSES)
                table_refuse(m, "the regex is too large: it distinguishes more than 255 kinds of characters");
        m->class[m->nclass] = *mask;
        return m->nclass++;
}

/* The class of every character: those between two borders of sets. */
static unsigned char *regex_classes(RegexMaker *m)
{
        int64_t n = 1;
        for (int i = 0; i < m->nset; i++)
                n += INT64_C(2) * m->set[i].n;
        uint32_t *border = NEW_ARRAY(m->arena, uint32_t, n + 1);
        unsigned char *class = NEW_ARRAY(m->arena, unsigned char, LAST_CHARACTER + 1);
        int at[MAX_SETS] = {0};
        n = 1; /* the first class is 0 */
        for (int i = 0; i < m->nset; i++)
                for (int k = 0; k < m->set[i].n; k++) {
                        border[n++] = m->set[i].range[k].first;
                        border[n++] = m->set[i].range[k].last + 1;
                }
        qsort(border, (size_t)n, sizeof *border, by_code);
        border[n] = LAST_CHARACTER + 1;
        for (int64_t i = 0; i < n && border[i] <= LAST_CHARACTER; i++) {
                ClassMask mask = {{0}};
                if (border[i] == border[i + 1])
                        continue;
                for (int s = 0; s < m->nset; s++) {
                        while (at[s] < m->set[s].n && m->set[s].range[at[s]].last < border[i])
                                at[s]++;
                        if (at[s] < m->set[s].n && m->set[s].range[at[s]].first <= border[i])
                                mask.of[s / 64] |= UINT64_C(1) << s % 64;
                }
                memset(class + border[i], class_number(m, &mask), border[i + 1] - border[i]);
        }
        return class;
}

static bool class_has(const RegexMaker *m, int class, int set)
{
        return class < m->nclass && (m->class[class].of[set / 64] >> set % 64 & 1);
}

/* --- states ---------------------------------------------------------------------------------------------------------- */

static int state_number(RegexMaker *m, const int *node, int n)
{
        uint64_t h = hash_bytes(HASH_START, node, (size_t)n * sizeof *node);
        for (;; h++) {
                int *slot = &m->slot[h % (UINT64_C(4) * MAX_STATES)];
                if (*slot >= 0) {
                        const State *s = &m->state[*slot];
                        if (s->n == n && !memcmp(s->node, node, (size_t)n * sizeof *node))
                                return *slot;
                        continue;
                }
                if (m->nstate == MAX_STATES || (m->nstate + 1) * (m->nclass + 1) > MAX_ENTRIES)
                        table_refuse(m, "the regex is too large: it needs more than 4096 states");
                State *s = &m->state[m->nstate];
                s->node = NEW_ARRAY(m->arena, int, n + 1);
                memcpy(s->node, node, (size_t)n * sizeof *node);
                s->n = n;
                return *slot = m->nstate++;
        }
}

/* Adds the positions that a character of a class leads to, in order of preference, after *n others; true:
 * a match ends first, and less preferred ones are dropped. */
static bool regex_walk(RegexMaker *m, int at, int class, int *to, int *n)
{
        const RegexNode *node = &m->node[at];
        if (m->seen[at] == m->walk)
                return false;
        m->seen[at] = m->walk;
        if (++m->work > MAX_WORK)
                table_refuse(m, "the regex is too large: its table would take too long to make");
        if (node->kind == NODE_MATCH)
                return true;
        if (node->kind == NODE_SET) {
                if (class_has(m, class, node->set))
                        to[(*n)++] = node->next[0];
                return false;
        }
        if (node->kind == NODE_LOOK) {
                bool holds = class_has(m, class, node->set) != node->negative ||
                             (node->or_end && class == m->nclass);
                return holds && regex_walk(m, node->next[0], class, to, n);
        }
        for (int i = 0; i < node->n; i++)
                if (regex_walk(m, node->next[i], class, to, n))
                        return true;
        return false;
}

/* Removes repeated positions; the first one counts. */
static int without_repeats(RegexMaker *m, int *node, int n)
{
        int left = 0;
        m->walk++;
        for (int i = 0; i < n; i++)
                if (m->seen[node[i]] != m->walk) {
                        m->seen[node[i]] = m->walk;
                        node[left++] = node[i];
                }
        return left;
}

static uint32_t entry_of(RegexMaker *m, int state, int class, int *to)
{
        bool matched = false;
        int n = 0;
        m->walk++;
        for (int i = 0; i < m->state[state].n && !matched; i++)
                matched = regex_walk(m, m->state[state].node[i], class, to, &n);
        n = class == m->nclass ? 0 : without_repeats(m, to, n);
        return (uint32_t)state_number(m, to, n) | (matched ? REGEX_MATCHED : 0);
}

static void make_states(RegexMaker *m, int start)
{
        int *to = NEW_ARRAY(m->arena, int, m->nnode + 1), classes = m->nclass + 1;
        memset(m->slot, -1, sizeof m->slot);
        m->state = NEW_ARRAY(m->arena, State, MAX_STATES);
        m->entry = NEW_ARRAY(m->arena, uint32_t, MAX_ENTRIES);
        state_number(m, &start, 0); /* end of the search */
        state_number(m, &start, 1);
        for (int s = 0; s < m->nstate; s++)
                for (int c = 0; c < classes; c++) {
                        uint32_t entry = entry_of(m, s, c, to);
                        if (s == 1 && (entry & REGEX_MATCHED))
                                table_refuse(m, "the regex matches the empty text, which splits nothing");
                        m->entry[s * classes + c] =
                                (entry & REGEX_MATCHED) | (entry & REGEX_PLACE) * (uint32_t)classes;
                }
}

/* Whether all letters from first to last lead back to the same row, with the same entry. */
static bool stays(const RegexMaker *m, const unsigned char *class, int state, int first, int last)
{
        const uint32_t *row = m->entry + (int64_t)state * (m->nclass + 1);
        uint32_t entry = row[class[first]];
        for (int c = first; c <= last; c++)
                if (row[class[c]] != entry)
                        return false;
        return (int)(entry & REGEX_PLACE) == state * (m->nclass + 1);
}

/* Stores in each entry the effect of a run of letters in its target row. */
static void note_letters(RegexMaker *m, const unsigned char *class)
{
        int classes = m->nclass + 1;
        uint32_t *flags = NEW_ARRAY(m->arena, uint32_t, m->nstate);
        for (int s = 1; s < m->nstate; s++) {
                bool small = stays(m, class, s, 'a', 'z');
                bool all = small && stays(m, class, s, 'A', 'Z') &&
                           m->entry[s * classes + class['A']] == m->entry[s * classes + class['a']];
                flags[s] = all ? REGEX_LETTERS : small ? REGEX_SMALL : 0;
        }
        for (int i = 0; i < m->nstate * classes; i++)
                m->entry[i] |= flags[(int)(m->entry[i] & REGEX_PLACE) / classes];
}

/* --- the table ------------------------------------------------------------------------------------------------------- */

uint32_t letter_of_byte(int byte)
{
        uint32_t others = 256;
        for (int b = 0; b < 256; b++) {
                bool printed = (b >= '!' && b <= '~') || (b >= 0xa1 && b <= 0xac) || b >= 0xae;
                if (b == byte)
                        return printed ? (uint32_t)b : others;
                others += !printed;
        }
        return 0;
}

static void make_pages(RegexTable *t, Arena *a, const unsigned char *class)
{
        t->page = NEW_ARRAY(a, unsigned char, LAST_CHARACTER + 1);
        for (int p = 0; p < TOKENS_PAGES; p++) {
                const unsigned char *page = class + (int64_t)p * TOKENS_PAGE;
                uint32_t k = p ? t->stage[p - 1] : 0; /* most equal the previous one */
                if (!p || memcmp(t->page + (size_t)k * TOKENS_PAGE, page, TOKENS_PAGE) != 0)
                        k = 0;
                while (k < t->head.pages && memcmp(t->page + (size_t)k * TOKENS_PAGE, page, TOKENS_PAGE) != 0)
                        k++;
                if (k == t->head.pages)
                        memcpy(t->page + (size_t)TOKENS_PAGE * t->head.pages++, page, TOKENS_PAGE);
                t->stage[p] = (uint16_t)k;
        }
}

static RegexTable *regex_table_of(RegexMaker *m, const unsigned char *class)
{
        RegexTable *t = NEW(m->arena, RegexTable);
        t->head.classes = (uint32_t)m->nclass + 1;
        make_pages(t, m->arena, class);
        memcpy(t->head.ascii, class, sizeof t->head.ascii);
        for (int b = 0; b < 256; b++)
                t->head.byte[b] = class[letter_of_byte(b)];
        return t;
}

RegexTable *regex_table(Arena *a, const RegexTree *tree, const char **why)
{
        RegexMaker *m = NEW(a, RegexMaker);
        m->arena = a;
        if (setjmp(m->wrong)) {
                *why = m->why;
                return NULL;
        }
        m->node = NEW_ARRAY(a, RegexNode, MAX_NODES);
        m->seen = NEW_ARRAY(a, int, MAX_NODES);
        int start = lay(m, tree, add_node(m, (RegexNode){.kind = NODE_MATCH}));
        for (int i = 0; i < m->npossessive; i++) {
                m->walk++;
                check_followers(m, &m->possessive[i], m->possessive[i].next);
        }
        const unsigned char *class = regex_classes(m);
        RegexTable *t = regex_table_of(m, class);
        make_states(m, start);
        note_letters(m, class);
        t->row = m->entry;
        t->head.entries = (uint32_t)(m->nstate * (m->nclass + 1));
        return t;
}

RegexTable *regex_of_runs(Arena *a, const unsigned char *class, int classes, const uint8_t *together)
{
        RegexMaker *m = NEW(a, RegexMaker);
        m->arena = a;
        m->nclass = classes;
        /* after the end and the beginning, one for each class of the last character */
        m->nstate = classes + 2;
        m->entry = NEW_ARRAY(a, uint32_t, (int64_t)m->nstate * (classes + 1));
        for (int s = 1; s < m->nstate; s++)
                for (int c = 0; c <= classes; c++) {
                        bool goes_on = c < classes && (s == 1 || together[(s - 2) * classes + c]);
                        m->entry[s * (classes + 1) + c] = goes_on  ? (uint32_t)((c + 2) * (classes + 1))
                                                          : s == 1 ? 0
                                                                   : REGEX_MATCHED;
                }
        note_letters(m, class);
        RegexTable *t = regex_table_of(m, class);
        t->row = m->entry;
        t->head.entries = (uint32_t)(m->nstate * (classes + 1));
        return t;
}
