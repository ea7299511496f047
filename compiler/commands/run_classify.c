/* lathe run, loop classify: the most likely classes of pictures, of texts and pairs of texts, and of the
 * tokens of texts. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands_private.h"

typedef struct {
        LoopRun *r;
        const char *const *label; /* [classes]; NULL: only numbers */
        int64_t classes, top;
        int activation;
        bool of_tokens;   /* each token has classes */
        bool joins;       /* its tokens are joined to spans */
        bool takes_pairs; /* arguments are the first text and then second texts */
        bool wants_pairs; /* the loop has a template, of pairs only */
        bool splits;      /* a line of standard input may be a pair */
        bool noted;       /* the note on special tokens was printed */
        TextPart first;   /* text NULL: not read yet */
        WordList pictures;
        const ListedWord *picture; /* the current one; NULL: texts are classified */
        int worst;                 /* exit code of the pictures that could not be processed */
} Classes;

/* --- output --------------------------------------------------------------------------------------------------------- */

static TextPart whole_text(const char *text)
{
        return (TextPart){text, (int64_t)strlen(text)};
}

/* The members of a line of JSON before the classes: the file or the texts. */
static void classify_print_source(const Classes *c, TextPart text)
{
        const bool of_texts = c->r->parts.input->type.dtype == INT;
        loop_print_member(of_texts ? "text" : "file", text);
        if (c->r->second.text) {
                printf(", ");
                loop_print_member("text_pair", c->r->second);
        }
}

static void print_classes_json(const Classes *c, const Likely *likely)
{
        printf("\"classes\": [");
        for (int64_t i = 0; i < c->top; i++) {
                printf("%s{\"class\": %lld, \"%s\": %.9g", i ? ", " : "", (long long)likely[i].number,
                       c->activation == CLASSES_NONE ? "score" : "probability", likely[i].probability);
                if (c->label) {
                        printf(", ");
                        loop_print_member("label", whole_text(c->label[likely[i].number]));
                }
                printf("}");
        }
        printf("]");
}

/* A line for each class; after: the end of each line. */
static void classify_print_lines(const Classes *c, const Likely *likely, const char *after)
{
        for (int64_t i = 0; i < c->top; i++)
                printf("%8.4f  %lld%s%s%s\n", likely[i].probability, (long long)likely[i].number,
                       c->label ? "  " : "", c->label ? c->label[likely[i].number] : "", after);
}

static bool has_headlines(const Classes *c)
{
        const CommandOptions *o = c->r->e.o;
        if (c->picture)
                return c->pictures.n > 1 || c->picture->where;
        return is_list_word(o->file[o->nfile - 1]) || o->nfile + (o->prompt != NULL) > 2 + c->takes_pairs;
}

static void classify_print_head(const Classes *c, TextPart text)
{
        const CommandOptions *o = c->r->e.o;
        if (o->given[OPT_JSON]) {
                printf("{");
                classify_print_source(c, text);
                printf(", ");
        } else if (has_headlines(c)) {
                printf("%.*s", (int)text.n, text.text);
                if (c->r->second.text)
                        printf("\t%.*s", (int)c->r->second.n, c->r->second.text);
                printf("\n");
        }
}

static const char *no_values(const Classes *c)
{
        return c->activation == CLASSES_SOFTMAX ? "its scores have no softmax: one is NaN or infinite"
                                                : "a score is NaN or infinite";
}

/* Prints the classes of a picture, a text or a pair.  Returns NULL, or an error message. */
static const char *classify_show(const Classes *c, TextPart source)
{
        Arena scratch = {0};
        int64_t n;
        const float *scores = loop_output(c->r, &n);
        const Likely *likely = likeliest_first(&scratch, scores, n, c->activation);
        if (likely) {
                classify_print_head(c, source);
                if (c->r->e.o->given[OPT_JSON]) {
                        print_classes_json(c, likely);
                        printf("}\n");
                } else {
                        classify_print_lines(c, likely, "");
                }
        }
        arena_free(&scratch);
        return likely ? NULL : no_values(c);
}

/* --- tokens --------------------------------------------------------------------------------------------------------- */

/* span: of the token in the source, or NULL. */
static void print_token_json(const Classes *c, const Likely *likely, int64_t at, int32_t token, TextPart text,
                             TextPart source, const TokenSpan *span)
{
        printf("%s{\"position\": %lld, \"token\": %d, ", at ? ", " : "", (long long)at, token);
        if (text.text) {
                loop_print_member("text", text);
                printf(", ");
        }
        if (span)
                loop_print_place(source.text, span->begin, span->end);
        print_classes_json(c, likely);
        printf("}");
}

/* Spans of the tokens of a text without those around it, [*n]; NULL: without a tokenizer. */
static TokenSpan *classify_spans(const Classes *c, Arena *a, TextPart source, int64_t *n)
{
        const Tokenizer *t = &c->r->e.tokenizer;
        *n = 0;
        if (!t->block.block)
                return NULL;
        const int64_t room = tokens_grown(&t->tables, source.n);
        TokenSpan *span = NEW_ARRAY(a, TokenSpan, room + 1);
        *n = tokens_encode_spans(&t->tables, source.text, source.n, t->flags, NEW_ARRAY(a, int32_t, room + 1),
                                 span, room, arena_alloc(a, tokens_spans_scratch(&t->tables, source.n)));
        return span;
}

/* The tokens that the tokenizer puts around a text have no lines. */
static void around_text(const Classes *c, int64_t *before, int64_t *behind)
{
        const Tokenizer *t = &c->r->e.tokenizer;
        *before = t->block.block ? t->tables.head->before : 0;
        *behind = t->block.block ? t->tables.head->behind : 0;
}

static const char *classify_show_tokens(const Classes *c, TextPart source)
{
        const Tokenizer *t = &c->r->e.tokenizer;
        const bool json = c->r->e.o->given[OPT_JSON], named = t->block.block;
        Arena scratch = {0};
        int64_t all, n, before, behind;
        const float *scores = loop_output(c->r, &all);
        const double *token = loop_tokens_given(c->r, &n);
        char *room = arena_alloc(&scratch, t->longest + TOKEN_RESIDUE + 3);
        const Likely **likely = NEW_ARRAY(&scratch, const Likely *, n);
        int64_t spans = 0;
        const TokenSpan *span = json ? classify_spans(c, &scratch, source, &spans) : NULL;
        bool good = true;
        around_text(c, &before, &behind);
        for (int64_t i = 0; i < n; i++)
                good &= (likely[i] = likeliest_first(&scratch, scores + i * c->classes, c->classes,
                                                     c->activation)) != NULL;
        if (good)
                classify_print_head(c, source);
        printf(good && json ? "\"tokens\": [" : "");
        for (int64_t i = before; i < n - behind && good; i++) {
                const int64_t bytes = loop_token_text(c->r, (int64_t)token[i], room + 2);
                memcpy(room, "  ", 2);
                room[2 + bytes] = 0;
                if (json)
                        print_token_json(c, likely[i], i - before, (int32_t)token[i],
                                         (TextPart){named ? room + 2 : NULL, bytes}, source,
                                         i - before < spans ? &span[i - before] : NULL);
                else
                        classify_print_lines(c, likely[i],
                                             named ? room : arena_printf(&scratch, "  %.0f", token[i]));
        }
        printf(good && json ? "]}\n" : "");
        arena_free(&scratch);
        return good ? NULL : no_values(c);
}

/* --- spans of tokens ------------------------------------------------------------------------------------------------ */

static void print_spans(const Classes *c, const TokenTag *tag, int64_t n, TextPart source)
{
        int begins;
        for (int64_t i = 0; i < n; i++) {
                const char *name = tag_name(c->label[tag[i].number], &begins);
                if (!c->r->e.o->given[OPT_JSON]) {
                        printf("%8.4f  %s  %.*s\n", tag[i].probability, name,
                               (int)(tag[i].end - tag[i].begin), source.text + tag[i].begin);
                        continue;
                }
                printf("%s{", i ? ", " : "");
                loop_print_member("label", whole_text(name));
                printf(", \"probability\": %.9g, ", tag[i].probability);
                loop_print_span(source.text, tag[i].begin, tag[i].end);
                printf("}");
        }
}

/* The spans of tokens [n] of a text, which follow those that the tokenizer puts before it.  Returns NULL, or an error message. */
static const char *classify_show_spans(const Classes *c, TextPart source)
{
        const bool json = c->r->e.o->given[OPT_JSON];
        Arena scratch = {0};
        int64_t all, n, before, behind;
        const float *scores = loop_output(c->r, &all);
        loop_tokens_given(c->r, &n);
        around_text(c, &before, &behind);
        int64_t found;
        const TokenSpan *span = classify_spans(c, &scratch, source, &found);
        double *values = NEW_ARRAY(&scratch, double, n * c->classes);
        TokenTag *tag = NEW_ARRAY(&scratch, TokenTag, n);
        bool good = true;
        for (int64_t i = 0; i < n; i++)
                good &= likely_classes(scores + i * c->classes, c->classes, c->activation,
                                       values + i * c->classes);
        const int64_t tokens = n - before - behind < found ? n - before - behind : found;
        if (good) {
                classify_print_head(c, source);
                printf(json ? "\"spans\": [" : "");
                print_spans(c, tag,
                            tags_join(source.text, source.n, values + before * c->classes, tokens, c->classes,
                                      c->label, span, tag),
                            source);
                printf(json ? "]}\n" : "");
        }
        arena_free(&scratch);
        return good ? NULL : no_values(c);
}

/* --- pictures ------------------------------------------------------------------------------------------------------- */

/* On a terminal, the lines of the pictures show the progress. */
static void classify_progress(int64_t done, int64_t total)
{
        if (!isatty(STDOUT_FILENO))
                progress("classifying", PROGRESS_STEPS, done, total);
}

/* A picture that can't be processed: then the others are. */
static int classify_wrong(Classes *c, const ListedWord *picture, const char *why, bool env_error)
{
        bool others;
        const int code = loop_wrong_file(c->r, picture, why, env_error, &others);
        if (!others)
                return code;
        c->worst = code > c->worst ? code : c->worst;
        if (!c->r->e.o->given[OPT_JSON])
                return DONE;
        printf("{");
        loop_print_member("file", whole_text(picture->text));
        printf(", ");
        loop_print_member("error", whole_text(why));
        printf("}\n");
        return DONE;
}

static int run_picture(LoopRun *r, const int64_t *dim, double *value)
{
        evaluation_forget(&r->e);
        r->e.given = (Given){.o = r->e.o, .command = "run", .m = r->e.m, .tokenizer = &r->e.tokenizer};
        if (!recorded_add(&r->e.given.values, input_name(r->parts.input), 3, dim, value))
                return loop_wrong(no_memory);
        return loop_run_once(r);
}

static int classify_picture(Classes *c)
{
        Arena *a = &c->r->e.m->arena;
        const Type *t = &c->r->parts.input->type;
        int64_t dim[3];
        double *value;
        bool env_error = false;
        for (int axis = 0; axis < 3; axis++)
                dim[axis] = dim_value(t->dim[axis], NULL);
        const char *why = picture_values(a, c->r->loop, c->picture->text, dim, &value, &env_error);
        if (why)
                return classify_wrong(c, c->picture, why, env_error);
        const int code = run_picture(c->r, dim, value);
        if (code)
                return code;
        why = classify_show(c, whole_text(c->picture->text));
        return why ? classify_wrong(c, c->picture, arena_printf(a, "%s: %s", c->picture->text, why), false)
                   : DONE;
}

static int classify_pictures(Classes *c)
{
        static const OptionId of_texts[] = {OPT_EACH,  OPT_TRUNCATE, OPT_TOKENIZER, OPT_P,
                                            OPT_SPANS, OPT_TOKENS,   OPT_SYSTEM,    OPT_PROMPT_NAME};
        const CommandOptions *o = c->r->e.o;
        for (size_t i = 0; i < sizeof of_texts / sizeof *of_texts; i++)
                if (o->given[of_texts[i]]) {
                        fprintf(stderr, "lathe run: %s is for texts, but this model classifies pictures\n",
                                option_info(of_texts[i])->name);
                        return WRONG_USAGE;
                }
        if (o->nfile < 2) {
                fprintf(stderr, "lathe run: loop classify requires pictures after the model: PNG, JPEG, PPM "
                                "or PGM, - for standard input, or @FILE for the paths in a file; see `lathe "
                                "help run`\n");
                return WRONG_USAGE;
        }
        int code = words_listed(&c->r->e.m->arena, o->file + 1, o->nfile - 1, &c->pictures);
        for (int64_t i = 0; i < c->pictures.n && code == DONE; i++) {
                c->picture = &c->pictures.at[i];
                code = classify_picture(c);
                classify_progress(i + 1, c->pictures.n);
        }
        return code == DONE ? c->worst : code;
}

/* --- texts ---------------------------------------------------------------------------------------------------------- */

/* Whether the tokenizer puts the token around texts. */
static bool is_around(const Tokenizer *t, int32_t token)
{
        const int32_t *around = token_section(&t->tables, TOKENS_AROUND);
        const TokenItem *item = token_section(&t->tables, TOKENS_TEMPLATE);
        bool found = false;
        for (int64_t i = 0; i < t->tables.count[TOKENS_AROUND]; i++)
                found |= around[i] == token;
        for (int64_t i = 0; i < t->tables.count[TOKENS_TEMPLATE]; i++)
                found |= item[i].token == token;
        return found;
}

/* The name of such a token in a text; NULL: none. */
static const TokenAdded *special_in(const Tokenizer *t, TextPart text)
{
        const char *end = text.text + text.n;
        for (const char *at = text.text; at < end; at++) {
                const TokenAdded *found = added_token_at(&t->tables, at, end);
                if (found && (found->flags & ADDED_CONTROL) && is_around(t, found->token))
                        return found;
        }
        return NULL;
}

/* A special token that is typed in a text has no effect: notes how pairs are given. */
static void note_special(Classes *c, TextPart text)
{
        const Tokenizer *t = &c->r->e.tokenizer;
        if (!t->block.block || c->noted)
                return;
        const TokenAdded *found = special_in(t, text);
        found = !found && c->r->second.text ? special_in(t, c->r->second) : found;
        if (!found)
                return;
        c->noted = true;
        fprintf(stderr, "lathe run: note: %s: %.*s in a text is plain text, not the special token%s\n",
                c->r->where, (int)found->n,
                (const char *)token_section(&t->tables, TOKENS_ADDED_BYTES) + found->at,
                c->of_tokens ? ""
                             : "; a pair is two arguments, `lathe run MODEL FIRST SECOND`, or a line of "
                               "standard input with a tab between its texts");
}

static int classify_take_text(LoopRun *r, void *of, const char *line, int64_t n)
{
        Classes *c = of;
        TextPart text = {line, n};
        r->second = (TextPart){NULL, 0};
        if (c->takes_pairs && !c->first.text) {
                c->first = text;
                return DONE;
        }
        if (c->takes_pairs) {
                r->second = text;
                text = c->first;
        }
        const char *why = c->splits && r->is_line ? loop_split_line(r, &text) : NULL;
        if (!why && c->wants_pairs && !r->second.text)
                why = "the model scores pairs: two texts, `lathe run MODEL FIRST SECOND`, or a line with a "
                      "tab "
                      "between them";
        const int code = why ? loop_wrong_text(r, why) : loop_run_text(r, text.text, text.n);
        if (code)
                return code;
        note_special(c, text);
        why = c->joins       ? classify_show_spans(c, text)
              : c->of_tokens ? classify_show_tokens(c, text)
                             : classify_show(c, text);
        return why ? loop_wrong_text(r, why) : DONE;
}

/* Whether tokens are joined: by the loop or --spans, unless --tokens.  Returns an exit code, after a message if it is not 0. */
static int choose_spans(Classes *c)
{
        const CommandOptions *o = c->r->e.o;
        const char *why = NULL;
        int code;
        c->joins = o->given[OPT_SPANS] ||
                   (loop_joins(c->r->loop) && !o->given[OPT_TOKENS] && !o->given[OPT_TOP]);
        if (!c->joins && !o->given[OPT_TOKENS])
                return DONE;
        if (!c->of_tokens)
                why = "the model classifies texts, not their tokens";
        else if (c->joins && !c->label)
                why = "the loop has no labels";
        if (why) {
                fprintf(stderr, "lathe run: %s: %s\n", o->given[OPT_SPANS] ? "--spans" : "--tokens", why);
                return WRONG_USAGE;
        }
        if (!c->joins || loop_has_tokenizer(c->r, &code) || code != DONE)
                return c->joins ? code : DONE;
        c->joins = false; /* the positions of tokens are unknown */
        fprintf(stderr, "lathe run: note: spans of text require a tokenizer, --tokenizer FILE; these are the "
                        "classes of each token\n");
        return DONE;
}

/* A prompt is a part of the loop's template. */
static int check_prompt(const Classes *c)
{
        const char *template = loop_text_setting(c->r->loop, "template");
        const OptionId given = c->r->e.o->given[OPT_SYSTEM] ? OPT_SYSTEM : OPT_PROMPT_NAME;
        if (!c->r->e.o->given[given] || (template && strstr(template, "{prompt}")))
                return DONE;
        fprintf(stderr,
                "lathe run: %s: the model's loop classify has no place for a prompt: its template is %s\n",
                option_info(given)->name, template ? "without {prompt}" : "that of the tokenizer");
        return WRONG_USAGE;
}

static int classify_texts(Classes *c)
{
        int code = choose_spans(c);
        code = code == DONE ? check_prompt(c) : code;
        if (code != DONE)
                return code;
        const CommandOptions *o = c->r->e.o;
        c->wants_pairs = loop_text_setting(c->r->loop, "template") != NULL;
        const bool each = o->given[OPT_EACH] || c->of_tokens;
        c->takes_pairs = !each && o->nfile + (o->prompt != NULL) > 2;
        c->splits = !each && !c->takes_pairs;
        if (c->takes_pairs && !o->prompt && is_list_word(o->file[1])) {
                fprintf(stderr,
                        "lathe run: the first text of pairs can't be - or @FILE: give it as an argument, "
                        "`lathe run MODEL FIRST -`, or both texts in each line, with a tab between "
                        "them, `lathe run MODEL -`; see `lathe help run`\n");
                return WRONG_USAGE;
        }
        return loop_texts(c->r, classify_take_text, c);
}

int run_classify(LoopRun *r)
{
        const CommandOptions *o = r->e.o;
        const Type *t = &r->e.m->graph->output[r->parts.output].node->type;
        Classes c = {.r = r,
                     .classes = dim_value(t->dim[t->rank - 1], NULL),
                     .activation = loop_activation(r->loop),
                     .of_tokens = t->rank == 2};
        if (!loop_reads_once(r))
                return WRONG_USAGE;
        c.top = o->given[OPT_TOP] ? o->top : c.of_tokens ? 1 : 5;
        c.top = c.top < c.classes ? c.top : c.classes;
        int code = loop_labels(r->e.m, r->loop, c.classes, "run", &c.label);
        if (code != DONE)
                return code;
        return loop_input(LOOP_classify, &r->parts) == LOOP_IN_TOKENS ? classify_texts(&c)
                                                                      : classify_pictures(&c);
}
