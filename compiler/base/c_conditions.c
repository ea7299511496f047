/* Resolves conditions of the preprocessor by facts: keeps only the taken branches, without the lines of
 * decided conditions.  A partly decided condition is reduced: `#if defined(__GNUC__) && HAS_PAGES` becomes
 * `#if defined(__GNUC__)` or nothing. */
#include "base.h"

#include <stdlib.h>

/* A part of a condition. */
typedef struct {
        bool known;
        int64_t value;
        const char *text; /* if unknown */
        bool joined;      /* the text contains && or || at its outermost level */
} CCondition;

typedef struct {
        const char *at, *end;
        const CFact *facts;
        Arena *arena;
} CConditionScan;

static CCondition condition_known(int64_t value)
{
        return (CCondition){.known = true, .value = value};
}

static bool condition_skip(CConditionScan *s, const char *mark)
{
        while (s->at < s->end && (*s->at == ' ' || *s->at == '\\' || *s->at == '\n'))
                s->at++;
        const size_t n = strlen(mark);
        if (s->at + n > s->end || strncmp(s->at, mark, n) != 0)
                return false;
        s->at += n;
        return true;
}

static const CFact *fact_find(const CFact *facts, const char *name, int64_t n)
{
        for (; facts->name; facts++)
                if (!strncmp(facts->name, name, (size_t)n) && !facts->name[n])
                        return facts;
        return NULL;
}

static CCondition condition_any(CConditionScan *s);

/* A name or a number. */
static CCondition condition_word(CConditionScan *s)
{
        const char *begin = s->at;
        while (s->at < s->end && is_name_char(*s->at))
                s->at++;
        if (is_digit(*begin))
                return condition_known(strtoll(begin, NULL, 0));
        const CFact *fact = fact_find(s->facts, begin, s->at - begin);
        return fact ? condition_known(fact->value)
                    : (CCondition){.text = arena_strndup(s->arena, begin, s->at - begin)};
}

static CCondition condition_one(CConditionScan *s)
{
        CCondition c;
        if (condition_skip(s, "!")) {
                c = condition_one(s);
                return c.known ? condition_known(!c.value)
                               : (CCondition){.text = arena_printf(s->arena, "!%s", c.text)};
        }
        if (condition_skip(s, "(")) {
                c = condition_any(s);
                condition_skip(s, ")");
                if (c.joined)
                        c.text = arena_printf(s->arena, "(%s)", c.text);
                c.joined = false;
                return c;
        }
        if (condition_skip(s, "defined")) {
                c = condition_one(s);
                return c.known ? c : (CCondition){.text = arena_printf(s->arena, "defined(%s)", c.text)};
        }
        condition_skip(s, "");
        return condition_word(s);
}

static CCondition condition_compared(CConditionScan *s)
{
        static const char *const mark[] = {"==", "!=", ">=", "<=", ">", "<"};
        CCondition a = condition_one(s);
        for (int i = 0; i < 6; i++)
                if (condition_skip(s, mark[i])) {
                        CCondition b = condition_one(s);
                        const int64_t x = a.value, y = b.value;
                        const bool is[] = {x == y, x != y, x >= y, x <= y, x > y, x < y};
                        if (a.known && b.known)
                                return condition_known(is[i]);
                        const char *left = a.known ? arena_printf(s->arena, "%lld", (long long)x) : a.text,
                                   *right = b.known ? arena_printf(s->arena, "%lld", (long long)y) : b.text;
                        return (CCondition){.text = arena_printf(s->arena, "%s %s %s", left, mark[i], right)};
                }
        return a;
}

/* Conditions joined by && or by ||, where one with value `decides` (0 or 1) decides. */
static CCondition condition_join(CConditionScan *s, const char *mark, bool decides,
                                 CCondition (*next)(CConditionScan *s))
{
        CCondition all = next(s);
        while (condition_skip(s, mark)) {
                CCondition c = next(s);
                if (all.known)
                        all = !!all.value == decides ? condition_known(decides) : c;
                else if (c.known)
                        all = !!c.value == decides ? condition_known(decides) : all;
                else
                        all = (CCondition){.text = arena_printf(s->arena, "%s %s %s", all.text, mark, c.text),
                                           .joined = true};
        }
        return all;
}

static CCondition condition_all(CConditionScan *s)
{
        return condition_join(s, "&&", false, condition_compared);
}

static CCondition condition_any(CConditionScan *s)
{
        return condition_join(s, "||", true, condition_all);
}

/* --- lines -------------------------------------------------------------------------------------------------------- */

enum { MAX_CONDITIONS = 16 };

/* An #if, up to its #endif. */
typedef struct {
        bool outside; /* the surrounding branch is taken */
        bool taken;   /* this branch may be taken */
        bool decided; /* this branch or an earlier one is certainly taken */
        bool open;    /* the result has an #if for it */
} CBranch;

/* The end of a line, which continues after a backslash. */
static const char *line_end(const char *at, const char *end)
{
        for (bool continued = false; at < end && (*at != '\n' || continued); at++)
                continued = *at == '\\';
        return at < end ? at + 1 : end;
}

/* Begins a branch, and adds its directive. */
static void branch_begin(CBranch *b, const CCondition *c, bool otherwise, Text *out)
{
        const bool certain = c->known && c->value;
        b->taken = b->outside && !b->decided && !(c->known && !c->value);
        b->decided = b->decided || certain;
        if (!b->taken || (certain && !b->open))
                return;
        if (certain)
                text_printf(out, "#else\n");
        else
                text_printf(out, "#%s %s\n", otherwise && b->open ? "elif" : "if", c->text);
        b->open = true;
}

/* The directive of a line, "" if it is not a condition. */
static const char *condition_word_of(const char *line)
{
        static const char *const word[] = {"ifdef ", "ifndef ", "if ", "elif ", "else", "endif"};
        if (*line++ != '#')
                return "";
        while (*line == ' ')
                line++;
        for (int i = 0; i < 6; i++)
                if (!strncmp(line, word[i], strlen(word[i])))
                        return word[i];
        return "";
}

static CCondition condition_read(CConditionScan s, const char *word)
{
        s.at = strstr(s.at, word) + strlen(word);
        const char *comment = strstr(s.at, "/*");
        if (comment && comment < s.end)
                s.end = comment;
        if (word[0] == 'e' && word[1] == 'l' && word[2] == 's')
                return condition_known(1);
        CCondition c = condition_any(&s);
        if (word[2] == ' ' || word[0] == 'e')
                return c;
        const char *text = arena_printf(s.arena, "%sdefined(%s)", word[2] == 'n' ? "!" : "", c.text);
        return c.known ? condition_known(word[2] == 'n' ? !c.value : c.value) : (CCondition){.text = text};
}

void resolve_conditions(Text *out, const char *text, int64_t n, const CFact *facts)
{
        CBranch branch[MAX_CONDITIONS] = {{.taken = true}};
        int depth = 0;
        for (const char *at = text, *end = text + n, *next; at < end; at = next) {
                next = line_end(at, end);
                const char *word = condition_word_of(at);
                if (!*word) {
                        if (branch[depth].taken)
                                text_add(out, at, next - at);
                        continue;
                }
                if (*word == 'i') {
                        if (depth + 1 == MAX_CONDITIONS)
                                abort();
                        depth++;
                        branch[depth] = (CBranch){.outside = branch[depth - 1].taken};
                }
                CBranch *b = &branch[depth];
                if (!strcmp(word, "endif")) {
                        if (b->open)
                                text_printf(out, "#endif\n");
                        depth--;
                } else {
                        const CConditionScan s = {.at = at, .end = next, .facts = facts, .arena = out->arena};
                        const CCondition c = condition_read(s, word);
                        branch_begin(b, &c, *word == 'e', out);
                }
        }
        if (depth)
                abort(); /* a condition does not end in this text */
}
