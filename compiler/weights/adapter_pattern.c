/* Patterns of modules in adapter_config.json: regular expressions of Python, of which names use a few forms.
 *
 * Characters, . \d \w [a-z] [^a-z], escaped punctuation, and * + ? after these; groups with | and ? after them; ^ and $.
 * Each pair of a place in the pattern and one in the name is tried once, so time is the product of their lengths. */
#include <string.h>

#include "adapter_private.h"

enum { LONGEST_PATTERN = 500 };

/* ---- forms ---- */

/* Length of the character or class at p, without what repeats it; 0: none that is known. */
static size_t pattern_atom(const char *p)
{
        static const char punctuation[] = ".-_/*+?()[]{}|^$\\";
        if (*p == '\\')
                return p[1] && (p[1] == 'd' || p[1] == 'w' || strchr(punctuation, p[1])) ? 2 : 0;
        if (*p == '[') {
                const size_t n = strcspn(p + 1, "]\\[");
                return p[1 + n] == ']' && n > (p[1] == '^') ? n + 2 : 0;
        }
        return *p && !strchr("*+?()]{}|^$", *p) ? 1 : 0;
}

/* Length of what repeats an atom, or a group: * + or ?, and ? after it, which changes no result. */
static size_t pattern_repeat(const char *p)
{
        const size_t n = *p == '*' || *p == '+' || *p == '?';
        return n + (n && p[1] == '?');
}

bool pattern_is_known(const char *p)
{
        int depth = 0;
        if (strlen(p) > LONGEST_PATTERN)
                return false;
        while (*p) {
                const size_t atom = pattern_atom(p);
                if (!atom && !strchr("()|^$", *p))
                        return false;
                if (*p == '(' && p[1] == '?' && p[2] != ':')
                        return false;
                if (!atom && (*p == '(' || *p == ')'))
                        depth += *p == '(' ? 1 : -1;
                if (depth < 0)
                        return false;
                if (!atom && *p == '(') {
                        p += p[1] == '?' ? 3 : 1;
                        continue;
                }
                p += atom ? atom : 1;
                if (!atom && p[-1] == ')' && *p != '?')
                        continue;
                p += atom || p[-1] == ')' ? pattern_repeat(p) : 0;
        }
        return depth == 0;
}

/* ---- matching ---- */

typedef struct {
        const char *pattern, *name;
        size_t length;                                                    /* of the name */
        uint8_t tried[(LONGEST_PATTERN + 3) * (LONGEST_PATTERN + 1) / 8]; /* bits: these places do not fit */
} PatternMatch;

/* The next element after that at p. */
static const char *pattern_next(const char *p)
{
        const size_t atom = pattern_atom(p);
        return p + (atom ? atom : 1);
}

/* The ) that ends the alternatives in which p is. */
static const char *pattern_close(const char *p)
{
        for (int depth = 0; *p && (*p != ')' || depth); p = pattern_next(p))
                depth += pattern_atom(p) ? 0 : *p == '(' ? 1 : *p == ')' ? -1 : 0;
        return p;
}

static bool atom_fits(const char *p, char c)
{
        const bool is_digit = c >= '0' && c <= '9';
        if (*p == '\\' && p[1] == 'd')
                return is_digit;
        if (*p == '\\' && p[1] == 'w')
                return is_digit || c == '_' || ((c | 32) >= 'a' && (c | 32) <= 'z');
        if (*p == '\\')
                return c == p[1];
        if (*p != '[')
                return *p == '.' || *p == c;
        const bool negated = p[1] == '^';
        bool found = false;
        for (p += 1 + negated; *p != ']'; p++) {
                const bool range = p[1] == '-' && p[2] != ']';
                found |= range ? c >= p[0] && c <= p[2] : c == *p;
                p += range ? 2 : 0;
        }
        return found != negated;
}

static bool pattern_fits_from(PatternMatch *m, const char *p, size_t at);

/* The group at p: one of its alternatives, and the rest after it. */
static bool group_fits(PatternMatch *m, const char *p, size_t at)
{
        const char *end = pattern_close(p + 1);
        for (const char *a = p + (p[1] == '?' ? 3 : 1);; a++) {
                if (pattern_fits_from(m, a, at))
                        return true;
                while (a < end && *a != '|')
                        a = *a == '(' ? pattern_close(a + 1) + 1 : pattern_next(a);
                if (a >= end)
                        break;
        }
        return end[1] == '?' && pattern_fits_from(m, end + 1 + pattern_repeat(end + 1), at);
}

/* Whether the name from `at` on fits the pattern from p on. */
static bool pattern_fits_from(PatternMatch *m, const char *p, size_t at)
{
        const size_t place = (size_t)(p - m->pattern) * (LONGEST_PATTERN + 1) + at, atom = pattern_atom(p);
        if (!*p)
                return at == m->length;
        if (m->tried[place / 8] >> place % 8 & 1)
                return false;
        m->tried[place / 8] |= (uint8_t)(1u << place % 8);
        if (!atom && *p == '(')
                return group_fits(m, p, at);
        if (!atom && (*p == '|' || *p == ')')) {
                const char *end = pattern_close(p);
                return pattern_fits_from(m, end + 1 + pattern_repeat(end + 1), at);
        }
        if (!atom)
                return at == (*p == '^' ? 0 : m->length) && pattern_fits_from(m, p + 1, at);
        const char repeat = p[atom], *rest = p + atom + pattern_repeat(p + atom);
        if ((repeat == '*' || repeat == '?') && pattern_fits_from(m, rest, at))
                return true;
        if (at == m->length || !atom_fits(p, m->name[at]))
                return false;
        return ((repeat == '*' || repeat == '+') && pattern_fits_from(m, p, at + 1)) ||
               (repeat != '*' && pattern_fits_from(m, rest, at + 1));
}

bool pattern_fits(const char *pattern, const char *name)
{
        char whole[LONGEST_PATTERN + 3];
        PatternMatch m = {.pattern = whole, .name = name, .length = strlen(name)};
        if (m.length > LONGEST_PATTERN)
                return false;
        snprintf(whole, sizeof whole, "(%s)", pattern);
        for (size_t at = 0; at <= m.length; at++)
                if ((at == 0 || name[at - 1] == '.') && pattern_fits_from(&m, whole, at))
                        return true;
        return false;
}
