/* Shared by the loops other than generate: the model runs once for each argument. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands_private.h"

int loop_wrong(const char *message)
{
        return command_error("run", message);
}

bool loop_reads_once(const LoopRun *r)
{
        const CommandOptions *o = r->e.o;
        int times = 0;
        for (int i = 0; i < o->nfile; i++)
                times += !strcmp(o->file[i], "-") || !strcmp(o->file[i], "@-");
        if (times > 1)
                fprintf(stderr,
                        "lathe run: standard input, - or @-, is named %d times; it can be read once\n",
                        times);
        return times <= 1;
}

int loop_wrong_file(LoopRun *r, const ListedWord *file, const char *message, bool env_error, bool *others)
{
        progress_clear();
        fflush(stdout); /* the lines of earlier files come first, also where both streams are one file */
        const int code = loop_wrong(file->where ? arena_printf(&r->e.m->arena, "%s: %s", file->where, message)
                                                : message);
        *others = !lacks_memory(message);
        return env_error ? WRONG_ENVIRONMENT : code;
}

/* --- a run ---------------------------------------------------------------------------------------------------------- */

static bool is_given_by_name(const CommandOptions *o, const char *name)
{
        size_t n = strlen(name);
        for (int i = 0; i < o->input.n; i++)
                if (!strncmp(o->input.at[i], name, n) && o->input.at[i][n] == '=')
                        return true;
        return false;
}

bool loop_fill_inputs(LoopRun *r)
{
        const Graph *g = r->e.m->graph;
        for (int i = 0; i < g->ninput; i++)
                if (!is_given_by_name(r->e.o, input_name(&g->input[i])) &&
                    !(r->second.text && &g->input[i] == r->parts.types) && &g->input[i] != r->parts.padding &&
                    !loop_fill(r->loop, &g->input[i], &r->e.given.values))
                        return false;
        return true;
}

int loop_run_once(LoopRun *r)
{
        int code = loop_fill_inputs(r) ? DONE : loop_wrong(no_memory);
        if (code == DONE)
                code = given_gather(&r->e.given, IN_BATCHES);
        if (code == DONE && r->e.given.values.batch)
                code = loop_wrong("an input of a batch is for `lathe eval`");
        if (code == DONE && !r->e.engine)
                code = evaluation_engine(&r->e);
        return code == DONE ? evaluation_run(&r->e) : code;
}

const float *loop_output(const LoopRun *r, int64_t *n)
{
        *n = evaluation_count(&r->e, r->parts.output);
        return r->e.output[r->parts.output];
}

/* --- texts ---------------------------------------------------------------------------------------------------------- */

int loop_wrong_text(LoopRun *r, const char *message)
{
        r->text_fault = !lacks_memory(message);
        return loop_wrong(arena_printf(&r->e.m->arena, "%s: %s", r->where, message));
}

/* Length to which a text is truncated: by the loop, or with --truncate by the model's limit; 0: never. */
static int64_t cut_length(const LoopRun *r)
{
        const Setting *s = loop_setting(r->loop, "max_tokens");
        const int64_t longest = longest_text(r->e.m->graph, r->parts.input),
                      stated = s ? (int64_t)s->number : 0;
        if (stated && (!longest || stated <= longest))
                return stated;
        return stated || r->e.o->given[OPT_TRUNCATE] ? longest : 0;
}

int loop_run_text(LoopRun *r, const char *text, int64_t n)
{
        if (memchr(text, 0, (size_t)n) || (r->second.text && memchr(r->second.text, 0, (size_t)r->second.n)))
                return loop_wrong_text(r, "the line has a byte 0");
        Arena *a = &r->e.m->arena;
        evaluation_forget(&r->e);
        r->max_tokens = cut_length(r);
        r->e.given = (Given){.o = r->e.o,
                             .command = "run",
                             .m = r->e.m,
                             .tokenizer = &r->e.tokenizer,
                             .text = r->prompt ? arena_printf(a, "%s%s", r->prompt, text) : text,
                             .ntext = n + (r->prompt ? (int64_t)strlen(r->prompt) : 0),
                             .second = r->second,
                             .types = r->parts.types,
                             .where = r->where,
                             .longest = longest_text(r->e.m->graph, r->parts.input),
                             .max_tokens = r->max_tokens};
        const int code = loop_run_once(r);
        r->text_fault = r->e.given.text_fault;
        r->texts++;
        r->cut += r->e.given.was_cut;
        return code;
}

const double *loop_tokens_given(const LoopRun *r, int64_t *n)
{
        const Recorded *v = &r->e.given.values;
        for (int i = 0; i < v->nmade; i++)
                if (!strcmp(v->made[i].name, input_name(r->parts.input))) {
                        *n = v->made[i].count;
                        return v->made[i].data;
                }
        *n = 0;
        return NULL;
}

int64_t loop_token_text(const LoopRun *r, int64_t token, char *out)
{
        const Tokenizer *t = &r->e.tokenizer;
        TokenDecoder decoder = {.n = 0};
        if (!t->block.block)
                return 0;
        int64_t n = tokens_decode(&t->tables, &decoder, (int32_t)token, TOKENS_CONTROL, out);
        return n + tokens_decode_end(&decoder, out + n);
}

const char *loop_split_line(LoopRun *r, TextPart *text)
{
        const char *tab = memchr(text->text, '\t', (size_t)text->n), *end = text->text + text->n;
        if (!tab)
                return NULL;
        if (memchr(tab + 1, '\t', (size_t)(end - tab - 1)))
                return "the line has several tabs; expected a text, or a pair of texts with a tab between "
                       "them (--each: tabs are part of a text)";
        r->second = (TextPart){tab + 1, end - tab - 1};
        text->n = tab - text->text;
        return NULL;
}

void loop_print_member(const char *name, TextPart value)
{
        printf("\"%s\": \"", name);
        json_print(stdout, value.text, value.n);
        printf("\"");
}

void loop_print_place(const char *text, int64_t begin, int64_t end)
{
        const int64_t start = token_characters(text, begin);
        printf("\"start\": %lld, \"end\": %lld, ", (long long)start,
               (long long)(start + token_characters(text + begin, end - begin)));
}

void loop_print_span(const char *text, int64_t begin, int64_t end)
{
        loop_print_place(text, begin, end);
        loop_print_member("text", (TextPart){text + begin, end - begin});
}

bool loop_has_tokenizer(LoopRun *r, int *code)
{
        *code = DONE;
        if (r->e.o->tokenizer && !r->e.tokenizer.block.block &&
            !load_tokenizer(r->e.m, r->e.o, &r->e.tokenizer))
                *code = failure_code(r->e.m);
        return r->e.tokenizer.block.block != NULL;
}

typedef int TakeText(LoopRun *r, void *of, const char *text, int64_t n);

/* Processes a text; *faults counts the rejected ones. */
static int take_one(LoopRun *r, TakeText *take, void *of, const char *text, int64_t n, int64_t *faults)
{
        r->text_fault = false;
        const int code = take(r, of, text, n);
        if (code != WRONG_INPUT || !r->text_fault)
                return code;
        ++*faults;
        return DONE;
}

static int take_lines(LoopRun *r, FILE *file, const char *name, TakeText *take, void *of, int64_t *faults)
{
        char *line = NULL;
        size_t room = 0;
        int64_t number = 0;
        int code = DONE;
        for (ssize_t n; code == DONE && (n = getline(&line, &room, file)) >= 0;) {
                n -= n > 0 && line[n - 1] == '\n';
                line[n] = 0;
                snprintf(r->where, sizeof r->where, "%.400s, line %lld", name, (long long)++number);
                r->is_line = true;
                code = take_one(r, take, of, line, n, faults);
        }
        if (code == DONE && ferror(file))
                code = loop_wrong(arena_printf(&r->e.m->arena, "%s: %s", name, strerror(errno)));
        free(line);
        return code;
}

/* The lines of standard input, for - and @-, or of the file of @FILE. */
static int take_list(LoopRun *r, const char *word, TakeText *take, void *of, int64_t *faults)
{
        const char *why = NULL;
        if (!strcmp(word, "-") || !strcmp(word, "@-"))
                return take_lines(r, stdin, "standard input", take, of, faults);
        FILE *file = input_open(word + 1, &why);
        if (!file) {
                loop_wrong(arena_printf(&r->e.m->arena,
                                        "%s: %s; @FILE stands for the lines of a file; a text that begins "
                                        "with @ is passed by -p or as a line of standard input",
                                        word, why));
                return WRONG_ENVIRONMENT;
        }
        const int code = take_lines(r, file, word + 1, take, of, faults);
        fclose(file);
        return code;
}

static void tell_of_cuts(const LoopRun *r)
{
        if (r->cut)
                fprintf(stderr, "lathe run: note: %lld of %lld texts %s cut to %lld tokens\n",
                        (long long)r->cut, (long long)r->texts, r->cut == 1 ? "was" : "were",
                        (long long)r->max_tokens);
}

static int loop_take_texts(LoopRun *r, TakeText *take, void *of, int64_t *faults)
{
        const CommandOptions *o = r->e.o;
        int code = DONE;
        snprintf(r->where, sizeof r->where, "-p");
        if (o->prompt)
                code = take_one(r, take, of, o->prompt, (int64_t)strlen(o->prompt), faults);
        for (int i = 1; i < o->nfile && code == DONE; i++) {
                const char *word = o->file[i];
                snprintf(r->where, sizeof r->where, "text %d", i);
                r->is_line = false;
                code = is_list_word(word) ? take_list(r, word, take, of, faults)
                                          : take_one(r, take, of, word, (int64_t)strlen(word), faults);
        }
        return code;
}

int loop_texts(LoopRun *r, int (*take)(LoopRun *r, void *of, const char *text, int64_t n), void *of)
{
        const CommandOptions *o = r->e.o;
        if (!loop_reads_once(r))
                return WRONG_USAGE;
        if (o->nfile < 2 && !o->prompt) {
                fprintf(stderr,
                        "lathe run: loop %s requires texts after the model, @FILE for the lines of a file, "
                        "or - "
                        "for those of standard input; see `lathe help run`\n",
                        r->loop->name);
                return WRONG_USAGE;
        }
        int64_t faults = 0;
        const int code = loop_take_texts(r, take, of, &faults);
        tell_of_cuts(r);
        r->finished = code == DONE;
        return code == DONE && faults ? WRONG_INPUT : code;
}
