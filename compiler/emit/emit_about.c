/* The header's description of sizes and tensors, with the comments of the model file. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "emit_private.h"

/* --- comments of the model file ----------------------------------------------------------------------------------- */

/* Start of the comment in the rest of a line, outside of strings.  NULL: no comment. */
static const char *comment_in(const char *at, const char *end)
{
        bool quoted = false;
        for (; at < end; at++) {
                if (*at == '\\' && quoted)
                        at++;
                else if (*at == '"')
                        quoted = !quoted;
                else if (*at == '#' && !quoted)
                        return at;
        }
        return NULL;
}

/* The line, if it contains only a comment.  *indent: its column. */
static const char *comment_line(const Source *source, int line, int32_t *indent, int32_t *n)
{
        const char *text = line >= 1 ? source_line_text(source, line, n) : "";
        *indent = (int32_t)strspn(text, " \t");
        return line >= 1 && *indent < *n && text[*indent] == '#' ? text : NULL;
}

static void about_line(const Emit *e, Text *t, const char *at, const char *end)
{
        while (at < end && (*at == '#' || *at == ' ' || *at == '\t'))
                at++;
        if (at < end)
                text_printf(t, "\n *     %s", comment_text(e->arena, at, end - at));
}

/* The text after a shape, as in "# [time, vocab]: logits".  The header prints the shape in numbers. */
static const char *behind_shape(const char *at, const char *end)
{
        const char *shape = at + strspn(at, "# \t");
        const char *close = shape < end && *shape == '[' ? memchr(shape, ']', (size_t)(end - shape)) : NULL;
        if (!close)
                return at;
        close += 1 + strspn(close + 1, " \t\r");
        if (close < end && (*close == ':' || *close == ','))
                return close + 1;
        return close < end ? at : end;
}

/* Comment of a declaration: after it, with continuation lines in the same column; else in the lines
 * directly above. */
static void about_comment(const Emit *e, Text *t, Span span)
{
        const Source *source = span.source;
        if (!source)
                return;
        int32_t n, indent;
        const Span last = {source, span.end - 1, span.end};
        int line = span_line(last) - source->before;
        const char *text = source_line_text(source, line, &n), *end = text + n,
                   *behind = comment_in(source->text + span.end, end);
        if (behind) {
                const int32_t column = (int32_t)(behind - text);
                about_line(e, t, behind_shape(behind, end), end);
                while ((text = comment_line(source, ++line, &indent, &n)) && indent == column)
                        about_line(e, t, text + indent, text + n);
                return;
        }
        const int declared = span_line(span) - source->before;
        line = declared;
        while (comment_line(source, line - 1, &indent, &n))
                line--;
        for (; line < declared; line++) {
                text = comment_line(source, line, &indent, &n);
                about_line(e, t, text + indent, text + n);
        }
}

static bool is_same_line(Span a, Span b)
{
        return a.source == b.source && span_line(a) == span_line(b);
}

/* --- sizes and tensors -------------------------------------------------------------------------------------------- */

/* " [3, time]", or ", one number" for a scalar */
static const char *shape_said(const Emit *e, const Type *t)
{
        return t->rank ? arena_printf(e->arena, " %s", type_text(e->arena, e->g, t)) : ", one number";
}

/* " [3, time, past + time], a tap: layer[0].attn.scores .." */
static const char *output_text(const Emit *e, const Output *o)
{
        const char *text = shape_said(e, &o->node->type);
        int growing = 0;
        int64_t before = 0;
        for (int a = 0; a < o->node->type.rank && e->causal; a++) {
                Dim d = o->node->type.dim[a];
                growing += d.per[e->g->time] != 0;
                if (d.per[e->g->time] == 1 && d.per[e->g->past] == 0)
                        before = d.fixed;
        }
        if (o->tap)
                text = arena_printf(e->arena, "%s, a tap: %s", text, o->tap);
        if (growing > 1)
                text = arena_printf(e->arena,
                                    "%s; a row for each position of the call, a column for each so far,\n"
                                    " *     %s in columns after the row's position",
                                    text,
                                    isnan(o->later) ? "NaN"
                                    : o->later == 0 ? "0"
                                                    : "-inf");
        if (before > 0)
                text = arena_printf(e->arena,
                                    "%s; the first row is that of %" PRId64 " positions before the call's",
                                    text, before);
        return text;
}

/* Whether an input or output has a column for each past position. */
static bool has_past(const Emit *e)
{
        for (int i = 0; i < e->g->noutput; i++) {
                const Type *t = &e->g->output[i].node->type;
                for (int a = 0; a < t->rank; a++)
                        if (t->dim[a].per[e->g->past])
                                return true;
        }
        return false;
}

static void about_sizes(const Emit *e, Text *t)
{
        for (int i = 0; i < e->g->nnamed; i++) {
                const Named *size = &e->g->named[i];
                const bool past = i == e->g->past, time = e->causal && i == e->g->time;
                if (past && has_past(e))
                        text_printf(t, " *   %s: the positions taken before a call\n", size->name);
                else if (time)
                        text_printf(t,
                                    " *   %s: the n of a call; with the positions taken before at most "
                                    "%" PRId64 "\n",
                                    size->name, size->bound);
                else if (!past)
                        text_printf(t, " *   %s: 1 to %" PRId64 "\n", size->name, size->bound);
        }
}

static void about_input(const Emit *e, int i, Text *t)
{
        const Input *in = &e->g->input[i];
        text_printf(t, " *   %s: %s%s", in->name, in->bound ? "int32_t" : "float", shape_said(e, &in->type));
        if (in->bound)
                text_printf(t, ", each 0 to %" PRId64, in->bound - 1);
        if (i + 1 == e->g->ninput || !is_same_line(in->span, e->g->input[i + 1].span))
                about_comment(e, t, in->span);
        text_put(t, "\n");
}

void emit_about(const Emit *e, Text *h)
{
        if (e->g->nnamed)
                text_printf(h, " * Sizes:\n");
        about_sizes(e, h);
        if (e->g->ninput)
                text_printf(h, " * Inputs; NULL for one is %s_ERROR_RANGE, as is an id out of range:\n",
                            e->upper);
        for (int i = 0; i < e->g->ninput; i++)
                about_input(e, i, h);
        text_printf(h, " * Outputs; NULL for one that is not requested, which is then not computed:\n");
        for (int i = 0; i < e->g->noutput; i++) {
                text_printf(h, " *   %s: float%s", e->g->output[i].name, output_text(e, &e->g->output[i]));
                if (!e->g->output[i].tap)
                        about_comment(e, h, e->g->output[i].span);
                text_put(h, "\n");
        }
}
