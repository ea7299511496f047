/* Identifiers of C text, passing over comments, strings and characters. */
#include "base.h"

#include <stddef.h>
#include <string.h>

/* By ranges, not by <ctype.h>, which asks the locale at each character. */
static bool is_digit(char c)
{
        return c >= '0' && c <= '9';
}

static bool is_start(char c)
{
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_word(char c)
{
        return is_start(c) || is_digit(c);
}

const char *next_name(CScan *s, int64_t *n)
{
        while (s->at < s->end) {
                char c = *s->at;
                if (c == '/' && s->at[1] == '*') {
                        const char *close = strstr(s->at + 2, "*/");
                        s->at = close && close < s->end ? close + 2 : s->end;
                        continue;
                }
                if (c == '"' || c == '\'') {
                        for (s->at++; s->at < s->end && *s->at != c; s->at++)
                                s->at += *s->at == '\\';
                        s->at++;
                        continue;
                }
                if (is_start(c)) {
                        const char *begin = s->at;
                        while (s->at < s->end && is_word(*s->at))
                                s->at++;
                        *n = s->at - begin;
                        return begin;
                }
                if (is_digit(c)) {
                        while (s->at < s->end && (is_word(*s->at) || *s->at == '.'))
                                s->at++;
                        continue;
                }
                if (c == '#')
                        s->directive = true;
                if (c == '\n' && s->at[-1] != '\\')
                        s->directive = false;
                if (!s->directive) {
                        s->braces += (c == '{') - (c == '}');
                        s->parens += (c == '(') - (c == ')');
                }
                s->at++;
        }
        return NULL;
}
