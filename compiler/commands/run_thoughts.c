/* lathe run: thoughts in answers of a published model, dimmed on a terminal or left out. */
#include <stdlib.h>
#include <string.h>

#include "generate_private.h"

static bool is_dimmed(const ThoughtView *v)
{
        const char *none = getenv("NO_COLOR");
        return terminal_file(v->to) >= 0 && !(none && *none);
}

static void thoughts_enter(ThoughtView *v)
{
        v->inside = true;
        if (!v->hides && is_dimmed(v))
                terminal_control(v->to, "\033[2m");
}

static void thoughts_leave(ThoughtView *v)
{
        v->inside = false;
        v->begun = true;
        v->skips = v->hides;
        if (!v->hides && is_dimmed(v))
                terminal_control(v->to, "\033[0m");
}

static void put(ThoughtView *v, const char *text, int n)
{
        for (int i = 0; i < n; i++) {
                const bool white = strchr(" \t\r\n", text[i]) && text[i];
                v->begun |= !v->inside && !white;
                v->skips &= white;
                if (!v->skips && !(v->inside && v->hides))
                        putc(text[i], v->to);
        }
}

/* Writes what can't be the beginning of a mark. */
static void thoughts_settle(ThoughtView *v)
{
        while (v->n) {
                const char *mark = v->inside ? v->end : v->begun ? "" : v->begin;
                const size_t length = strlen(mark);
                const bool begins =
                        length && !strncmp(v->held, mark, (size_t)v->n < length ? (size_t)v->n : length);
                if (begins && (size_t)v->n < length)
                        return;
                if (begins && !v->inside)
                        thoughts_enter(v);
                const int taken = begins ? v->n : 1;
                put(v, v->held, taken);
                if (begins && mark == v->end)
                        thoughts_leave(v);
                v->n -= taken;
                memmove(v->held, v->held + taken, (size_t)v->n);
        }
}

void thoughts_begin(ThoughtView *v, const ChatAnswerForm *form, bool hides)
{
        *v = (ThoughtView){.to = stdout, .hides = hides};
        chat_thought_marks(form, &v->begin, &v->end, &v->inside);
        if (!v->end || strlen(v->begin) >= sizeof v->held || strlen(v->end) >= sizeof v->held)
                v->begin = v->end = "";
        if (v->inside && *v->end)
                thoughts_enter(v);
        else
                v->inside = false;
}

bool thoughts_show(void *of, const char *text, int64_t n)
{
        ThoughtView *v = of;
        for (int64_t i = 0; i < n; i++) {
                v->held[v->n++] = text[i];
                thoughts_settle(v);
        }
        return !fflush(v->to) && !ferror(v->to);
}

void thoughts_end(ThoughtView *v)
{
        put(v, v->held, v->n);
        if (v->inside)
                thoughts_leave(v);
}
