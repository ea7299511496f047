/*
 * Spans of a text whose tokens have the same label: B-PER begins a span of PER, I-PER continues it, and O is none.
 *
 * Needs likely.h and token_spans.h.
 */

/* Bytes begin to end of the text. */
typedef struct {
        double probability; /* mean of its tokens */
        int64_t begin, end;
        int64_t number; /* the class of its first token */
} TokenTag;

/* The label without B- or I-; *begins: it has B-. */
static inline const char *tag_name(const char *label, int *begins)
{
        const int marked = (*label == 'B' || *label == 'I') && label[1] == '-';
        *begins = marked && *label == 'B';
        return marked ? label + 2 : label;
}

/* Joins tokens [n] of text [size], by the probabilities [n][classes] of their labels [classes].  Writes tags [n], and returns their number. */
static inline int64_t tags_join(const char *text, int64_t size, const double *probability, int64_t n, int64_t classes, const char *const *label,
                                const TokenSpan *span, TokenTag *tag)
{
        int64_t tags = 0;
        for (int64_t i = 0, next; i < n; i = next) {
                const int64_t number = likely_next(probability + i * classes, classes, -1);
                int begins;
                const char *name = tag_name(label[number], &begins);
                double sum = probability[i * classes + number];
                for (next = i + 1; next < n; next++) {
                        const int64_t other = likely_next(probability + next * classes, classes, -1);
                        if (strcmp(tag_name(label[other], &begins), name) != 0 || begins)
                                break;
                        sum += probability[next * classes + other];
                }
                int32_t begin = span[i].begin, end = span[next - 1].end;
                if (!strcmp(name, "O") || begin >= end || !token_span_trim((const unsigned char *)text, size, &begin, &end))
                        continue;
                tag[tags].probability = sum / (double)(next - i);
                tag[tags].begin = begin;
                tag[tags].end = end;
                tag[tags++].number = number;
        }
        return tags;
}
