/* Identifiers of C text, outside of comments, strings and characters. */
#include "base.h"

#include <stddef.h>
#include <string.h>

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
                if (is_name_start(c)) {
                        const char *begin = s->at;
                        while (s->at < s->end && is_name_char(*s->at))
                                s->at++;
                        *n = s->at - begin;
                        return begin;
                }
                if (is_digit(c)) {
                        while (s->at < s->end && (is_name_char(*s->at) || *s->at == '.'))
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
