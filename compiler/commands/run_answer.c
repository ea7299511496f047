/* lathe run, loop answer: the most likely answers to a question, which are spans of a text. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands_private.h"

typedef struct {
        LoopRun *r;
        AnswerForm form;
        int64_t top;
        int code; /* exit code of a run of the model */
} Answers;

/* AnswerCall of a window. */
static int answer_window(void *of, const int32_t *tokens, const int32_t *types, int64_t n, float *logits)
{
        Answers *c = of;
        LoopRun *r = c->r;
        int64_t count;
        evaluation_forget(&r->e);
        r->e.given = (Given){.o = r->e.o, .command = "run", .m = r->e.m, .tokenizer = &r->e.tokenizer};
        c->code = given_add_integers(&r->e.given, r->parts.input, tokens, n);
        if (c->code == DONE && r->parts.types)
                c->code = given_add_integers(&r->e.given, r->parts.types, types, n);
        if (c->code == DONE)
                c->code = loop_run_once(r);
        if (c->code == DONE)
                memcpy(logits, loop_output(r, &count), (size_t)n * 2 * sizeof *logits);
        return c->code != DONE;
}

static const char *answer_message(const Answers *c, int64_t fault, int about)
{
        int64_t items;
        answers_template(&c->r->e.tokenizer.tables, &items);
        switch (fault) {
        case ANSWERS_NO_TEMPLATE:
                return "the question and the text are a pair, and this tokenizer has no template for pairs "
                       "(`pair` of the post-processor in tokenizer.json)";
        case ANSWERS_TOO_LONG: return "the text has too many bytes for the tokenizer";
        case ANSWERS_NO_QUESTION: return "the question has no tokens";
        case ANSWERS_NO_TEXT: return "the text has no tokens";
        case ANSWERS_LONG_QUESTION:
                return arena_printf(&c->r->e.m->arena,
                                    "the question has %d tokens; with windows of %lld tokens that share %lld "
                                    "it can have %lld",
                                    about, (long long)c->form.window, (long long)c->form.overlap,
                                    (long long)(c->form.window - c->form.overlap - (items - 2) - 1));
        }
        return "a logit is NaN or infinite";
}

/* --- output --------------------------------------------------------------------------------------------------------- */

static void answer_print_json(const Answer *a, int64_t n, TextPart question, TextPart text)
{
        printf("{");
        loop_print_member("question", question);
        printf(", ");
        loop_print_member("text", text);
        printf(", \"answers\": [");
        for (int64_t i = 0; i < n; i++) {
                printf("%s{\"probability\": %.9g, ", i ? ", " : "", a[i].probability);
                loop_print_span(text.text, a[i].begin, a[i].end);
                printf("}");
        }
        printf("]}\n");
}

static bool answer_has_headlines(const Answers *c)
{
        const CommandOptions *o = c->r->e.o;
        return is_list_word(o->file[o->nfile - 1]) || o->nfile + (o->prompt != NULL) > 3;
}

static void answer_print_lines(const Answers *c, const Answer *a, int64_t n, TextPart question, TextPart text)
{
        if (answer_has_headlines(c))
                printf("%.*s\t%.*s\n", (int)question.n, question.text, (int)text.n, text.text);
        for (int64_t i = 0; i < n; i++)
                if (a[i].begin == a[i].end)
                        printf("%8.4f  (no answer)\n", a[i].probability);
                else
                        printf("%8.4f  %.*s\n", a[i].probability, (int)(a[i].end - a[i].begin),
                               text.text + a[i].begin);
}

/* --- texts ---------------------------------------------------------------------------------------------------------- */

static int answer_question(LoopRun *r, void *of, TextPart question, TextPart text)
{
        Answers *c = of;
        const TokenTables *t = &c->r->e.tokenizer.tables;
        Answer found[ANSWERS_MOST];
        int about;
        r->second = text;
        c->code = DONE;
        void *scratch = malloc((size_t)answers_scratch(t, &c->form, question.n, text.n));
        const int64_t n = scratch ? answers_find(t, &c->form, question.text, question.n, text.text, text.n,
                                                 c->top, answer_window, c, found, &about, scratch)
                                  : 0;
        free(scratch);
        if (!scratch)
                return loop_wrong(no_memory);
        if (n == ANSWERS_CALL)
                return c->code;
        if (n < 0)
                return loop_wrong_text(c->r, answer_message(c, n, about));
        if (c->r->e.o->given[OPT_JSON])
                answer_print_json(found, n, question, text);
        else
                answer_print_lines(c, found, n, question, text);
        return DONE;
}

int run_answer(LoopRun *r)
{
        const CommandOptions *o = r->e.o;
        Answers c = {.r = r,
                     .form = answer_form(r->e.m->graph, r->loop, &r->parts),
                     .top = o->given[OPT_TOP] ? o->top : 1};
        c.form.may_be_absent |= o->given[OPT_ABSENT];
        if (c.top < 1 || c.top > ANSWERS_MOST) {
                fprintf(stderr, "lathe run: --top must be from 1 to %d for loop answer, not %lld\n",
                        ANSWERS_MOST, (long long)c.top);
                return WRONG_USAGE;
        }
        return loop_asked(
                r, &(LoopAsked){"answer", "question", "text", {"QUESTION", "TEXT"}, answer_question}, &c);
}
