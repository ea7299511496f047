/*
 * The spans of a text that answer a question, from logits of their starts and ends.
 *
 * A text that is too long for one call is read in windows that overlap, each with the question.  The probability of a span is
 * the product of softmax(start) at its first token and softmax(end) at its last one; only tokens of the text count, and mostly the
 * first token of the pair, whose probability is that of no answer.
 *
 * Needs real_tables.h, reals.h, token_pairs.h and token_spans.h.
 */

/* As the loop says. */
typedef struct {
        int64_t window;    /* maximum number of tokens of a call */
        int64_t overlap;   /* number of tokens of the text that are also in the window before */
        int64_t longest;   /* maximum number of tokens of an answer */
        int may_be_absent; /* no answer is one of the answers */
        int text_first;    /* in the pair, the text precedes the question */
        int skips_first;   /* the first token of the pair does not count */
} AnswerForm;

/* Bytes begin to end of the text; both 0: the text has no answer. */
typedef struct {
        double probability;
        int64_t begin, end;
} Answer;

/* Runs the model: logits [n][2] of tokens [n].  Returns 0, or an error, which ends the search. */
typedef int AnswerCall(void *of, const int32_t *tokens, const int32_t *types, int64_t n, float *logits);

/* Faults of answers_find(). */
enum {
        ANSWERS_CALL = -1,          /* the call of the model failed */
        ANSWERS_NO_TEMPLATE = -2,   /* the tokenizer has no template for pairs */
        ANSWERS_TOO_LONG = -3,      /* a text has too many bytes for the tokenizer */
        ANSWERS_NO_QUESTION = -4,   /* the question has no tokens */
        ANSWERS_NO_TEXT = -5,       /* the text has none */
        ANSWERS_LONG_QUESTION = -6, /* the question leaves too few tokens of a window for the text */
        ANSWERS_NOT_FINITE = -7     /* a logit is NaN or infinite */
};

enum { ANSWERS_MOST = 100, ANSWERS_KEPT = 4096 }; /* maximum of requested answers; number of answers that are compared */

typedef struct {
        const AnswerForm *form;
        const TokenItem *item; /* [items]: the template of the pair */
        int64_t items;
        const char *text;
        int64_t size, top;
        int32_t *question, *ids;         /* [nquestion], [n]: tokens of the question and of the text */
        TokenSpan *span;                 /* [n] */
        int64_t nquestion, n;
        int32_t *tokens, *types;         /* [window] */
        float *logits;                   /* [window][2] */
        double *start, *end;             /* [window]: probabilities */
        Answer *kept;                    /* [ANSWERS_KEPT], of all windows */
        int64_t nkept;
        double absent;                   /* the least probability of no answer in a window */
} AnswerSearch;

/* Number of spans of a window that are considered: several of them may be the same words. */
static inline int64_t answers_tried(int64_t top)
{
        return 2 * top + 10;
}

/* --- a window ------------------------------------------------------------------------------------------------------------ */

/* The template of a pair.  Without one, and without tokens around a text, a pair is one text after the other.  NULL: there is none. */
static inline const TokenItem *answers_template(const TokenTables *t, int64_t *items)
{
        static const TokenItem both_items[2] = {{ITEM_FIRST, 0}, {ITEM_SECOND, 1}};
        *items = t->count[TOKENS_TEMPLATE];
        if (*items)
                return (const TokenItem *)token_section(t, TOKENS_TEMPLATE);
        *items = 2;
        return t->head->before + t->head->behind ? NULL : both_items;
}

/* Number of tokens of the text in a window. */
static inline int64_t answers_most(const AnswerSearch *s)
{
        return s->form->window - (s->items - 2) - s->nquestion;
}

/* Puts the question and tokens from to `to` of the text into s->tokens by the template.  Returns their number; *at: where the text begins. */
static inline int64_t answers_window(const AnswerSearch *s, int64_t from, int64_t to, int64_t *at)
{
        int64_t n = 0;
        for (int64_t i = 0; i < s->items; i++) {
                const TokenItem *item = &s->item[i];
                const int is_text = item->token == (s->form->text_first ? ITEM_FIRST : ITEM_SECOND);
                const int64_t count = item->token >= 0 ? 1 : is_text ? to - from : s->nquestion;
                const int32_t *ids = item->token >= 0 ? &item->token : is_text ? s->ids + from : s->question;
                *at = is_text ? n : *at;
                for (int64_t k = 0; k < count; k++, n++) {
                        s->tokens[n] = ids[k];
                        s->types[n] = item->type;
                }
        }
        return n;
}

/* Softmax of column `column` of the logits of tokens at [count], and of the first token if it counts.  Returns the probability of the
 * first token; below 0: a logit is NaN or infinite. */
static inline double answers_softmax(const AnswerSearch *s, int column, int64_t at, int64_t count, double *probability)
{
        const int has_first = s->item->token >= 0 && !s->form->skips_first;
        double largest = has_first ? (double)s->logits[column] : (double)s->logits[2 * at + column], total = 0, first = 0;
        for (int64_t i = at; i < at + count; i++)
                largest = (double)s->logits[2 * i + column] > largest ? (double)s->logits[2 * i + column] : largest;
        if (has_first)
                total = first = reals_exp((double)s->logits[column] - largest);
        for (int64_t i = 0; i < count; i++)
                total += probability[i] = reals_exp((double)s->logits[2 * (at + i) + column] - largest);
        if (!(total > 0 && total - total == 0))
                return -1;
        for (int64_t i = 0; i < count; i++)
                probability[i] /= total;
        return first / total;
}

/* The first (step -1) or last (1) token of the word of token i, among those from to `to`. */
static inline int64_t answers_word(const AnswerSearch *s, int64_t i, int64_t step, int64_t from, int64_t to)
{
        while (i + step >= from && i + step < to && s->span[i + step].word == s->span[i].word)
                i += step;
        return i;
}

/* Whether two ranges of the text are equal but for the case of ASCII letters. */
static inline int answers_same(const AnswerSearch *s, const Answer *a, int64_t begin, int64_t end)
{
        int64_t i = 0;
        if (a->end - a->begin != end - begin)
                return 0;
        for (; i < end - begin; i++) {
                const unsigned char p = (unsigned char)s->text[a->begin + i], q = (unsigned char)s->text[begin + i], lower = p | 0x20;
                if (p != q && (lower != (q | 0x20) || lower < 'a' || lower > 'z'))
                        return 0;
        }
        return 1;
}

/* Sorts by probability, the larger first; equal ones stay in their order. */
static inline void answers_sort(Answer *a, int64_t n)
{
        for (int64_t i = 1; i < n; i++) {
                const Answer moved = a[i];
                int64_t at = i;
                for (; at > 0 && a[at - 1].probability < moved.probability; at--)
                        a[at] = a[at - 1];
                a[at] = moved;
        }
}

/* Adds a span of tokens first to last; it extends to whole words among tokens from to `to`.  Spans with the same text are one answer, with the sum
 * of their probabilities. */
static inline void answers_keep(AnswerSearch *s, int64_t first, int64_t last, int64_t from, int64_t to, double probability)
{
        int32_t begin = s->span[answers_word(s, first, -1, from, to)].begin, end = s->span[answers_word(s, last, 1, from, to)].end;
        if (begin >= end || !token_span_trim((const unsigned char *)s->text, s->size, &begin, &end))
                return;
        for (int64_t i = 0; i < s->nkept; i++)
                if (answers_same(s, &s->kept[i], begin, end)) {
                        s->kept[i].probability += probability;
                        return;
                }
        if (s->nkept == ANSWERS_KEPT) { /* of a very long text: the less probable half is dropped */
                answers_sort(s->kept, s->nkept);
                s->nkept /= 2;
        }
        s->kept[s->nkept].probability = probability;
        s->kept[s->nkept].begin = begin;
        s->kept[s->nkept++].end = end;
}

/* Keeps the most probable spans of a window, tokens from to `to` of the text. */
static inline void answers_take(AnswerSearch *s, int64_t from, int64_t to)
{
        const int64_t count = to - from, tried = answers_tried(s->top);
        Answer best[2 * ANSWERS_MOST + 10]; /* of tokens, relative to `from` */
        int64_t n = 0;
        for (int64_t i = 0; i < count; i++)
                for (int64_t k = i; k < count && k - i < s->form->longest; k++) {
                        const double p = s->start[i] * s->end[k];
                        int64_t at = n < tried ? n : tried - 1;
                        if (!(p > 0) || (n == tried && p <= best[at].probability))
                                continue;
                        n += n < tried;
                        for (; at > 0 && best[at - 1].probability < p; at--)
                                best[at] = best[at - 1];
                        best[at].probability = p;
                        best[at].begin = i;
                        best[at].end = k;
                }
        for (int64_t i = 0; i < n; i++)
                answers_keep(s, from + best[i].begin, from + best[i].end, from, to, best[i].probability);
}

/* --- all windows --------------------------------------------------------------------------------------------------------- */

/* Runs the model on each window.  0, or a fault; *error: of the call. */
static inline int answers_read(AnswerSearch *s, AnswerCall *call, void *of, int *error)
{
        const int64_t most = answers_most(s);
        for (int64_t from = 0, to = 0, at = 0; to < s->n; from += most - s->form->overlap) {
                to = from + most < s->n ? from + most : s->n;
                const int64_t n = answers_window(s, from, to, &at);
                if ((*error = call(of, s->tokens, s->types, n, s->logits)) != 0)
                        return ANSWERS_CALL;
                const double start = answers_softmax(s, 0, at, to - from, s->start), end = answers_softmax(s, 1, at, to - from, s->end);
                if (start < 0 || end < 0)
                        return ANSWERS_NOT_FINITE;
                s->absent = start * end < s->absent ? start * end : s->absent;
                answers_take(s, from, to);
        }
        return 0;
}

/* 0, or the fault of a question or a text with these tokens. */
static inline int answers_fault(const AnswerSearch *s)
{
        const int64_t most = answers_most(s);
        if (s->nquestion < 0 || s->n < 0)
                return ANSWERS_TOO_LONG;
        return !s->nquestion ? ANSWERS_NO_QUESTION : !s->n ? ANSWERS_NO_TEXT : most < 1 || (most < s->n && most <= s->form->overlap) ? ANSWERS_LONG_QUESTION : 0;
}

/* Bytes of scratch for answers_find(). */
static inline int64_t answers_scratch(const TokenTables *t, const AnswerForm *form, int64_t nquestion, int64_t ntext)
{
        const int64_t longer = nquestion > ntext ? nquestion : ntext;
        return (int64_t)sizeof(Answer) * ANSWERS_KEPT + form->window * 2 * (int64_t)(sizeof(double) + sizeof(float) + sizeof(int32_t)) +
               tokens_grown(t, nquestion) * (int64_t)sizeof(int32_t) + tokens_grown(t, ntext) * (int64_t)(sizeof(TokenSpan) + sizeof(int32_t)) +
               tokens_spans_scratch(t, longer);
}

/* Finds the `top` (at most ANSWERS_MOST) most probable answers to a question in text [ntext], UTF-8 or not, found [top].  Returns their number, or
 * a fault, with the call's error or the number of tokens of the question in *about.  scratch [answers_scratch()], aligned to 8. */
static inline int64_t answers_find(const TokenTables *t, const AnswerForm *form, const char *question, int64_t nquestion, const char *text,
                                   int64_t ntext, int64_t top, AnswerCall *call, void *of, Answer *found, int *about, void *scratch)
{
        AnswerSearch s = {.form = form, .text = text, .size = ntext, .top = top < 1 ? 1 : top < ANSWERS_MOST ? top : ANSWERS_MOST, .absent = 1};
        *about = 0;
        if (!(s.item = answers_template(t, &s.items)))
                return ANSWERS_NO_TEMPLATE;
        if (nquestion < 0 || ntext < 0 || nquestion > tokens_most(t) || ntext > tokens_most(t))
                return ANSWERS_TOO_LONG;
        s.kept = (Answer *)scratch;
        s.start = (double *)(void *)(s.kept + ANSWERS_KEPT);
        s.end = s.start + form->window;
        s.logits = (float *)(void *)(s.end + form->window);
        s.tokens = (int32_t *)(void *)(s.logits + 2 * form->window);
        s.types = s.tokens + form->window;
        s.question = s.types + form->window;
        s.ids = s.question + tokens_grown(t, nquestion);
        s.span = (TokenSpan *)(void *)(s.ids + tokens_grown(t, ntext));
        void *rest = s.span + tokens_grown(t, ntext);
        s.nquestion = tokens_encode(t, question, nquestion, TOKENS_BARE, s.question, tokens_grown(t, nquestion), rest);
        s.n = tokens_encode_spans(t, text, ntext, 0, s.ids, s.span, tokens_grown(t, ntext), rest);
        int fault = answers_fault(&s);
        *about = (int)s.nquestion;
        if (!fault)
                fault = answers_read(&s, call, of, about);
        if (fault)
                return fault;
        if (form->may_be_absent && s.nkept == ANSWERS_KEPT)
                s.nkept--;
        answers_sort(s.kept, s.nkept);
        if (form->may_be_absent) {
                s.kept[s.nkept].probability = s.absent;
                s.kept[s.nkept].begin = s.kept[s.nkept].end = 0;
                answers_sort(s.kept, ++s.nkept);
        }
        const int64_t n = s.nkept < s.top ? s.nkept : s.top;
        memcpy(found, s.kept, (size_t)n * sizeof *found);
        return n;
}
