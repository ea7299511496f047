/* lathe run, loop fill: the most likely tokens for each mask of a text. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands_private.h"

typedef struct {
        const char *text;
        int64_t mask, masks, at; /* index and number of masks; position */
} Blank;

static int64_t count_masks(const LoopRun *r, int32_t mask)
{
        int64_t n, found = 0;
        const double *token = loop_tokens_given(r, &n);
        for (int64_t i = 0; i < n; i++)
                found += token[i] == mask;
        return found;
}

static void fill_print_json(const LoopRun *r, const Blank *b, const Likely *likely, int64_t n, char *room)
{
        printf("{\"text\": \"");
        json_print(stdout, b->text, (int64_t)strlen(b->text));
        printf("\", \"mask\": %lld, \"position\": %lld, \"tokens\": [", (long long)b->mask, (long long)b->at);
        for (int64_t i = 0; i < n; i++) {
                printf("%s{\"token\": %lld, \"probability\": %.9g", i ? ", " : "",
                       (long long)likely[i].number, likely[i].probability);
                if (r->e.tokenizer.block.block) {
                        printf(", \"text\": \"");
                        json_print(stdout, room, loop_token_text(r, likely[i].number, room));
                        printf("\"");
                }
                printf("}");
        }
        printf("]}\n");
}

static void fill_print_tokens(const LoopRun *r, const Blank *b, const Likely *likely, int64_t n, char *room)
{
        const CommandOptions *o = r->e.o;
        if (o->nfile + (o->prompt != NULL) > 2 || !strcmp(o->file[o->nfile - 1], "-") || b->masks > 1)
                printf("%s, mask %lld\n", b->text, (long long)b->mask);
        for (int64_t i = 0; i < n; i++) {
                printf("%8.4f  %lld", likely[i].probability, (long long)likely[i].number);
                int64_t bytes = loop_token_text(r, likely[i].number, room);
                printf("%s%.*s\n", bytes ? "  " : "", (int)bytes, room);
        }
}

static int show_blank(LoopRun *r, const Blank *b, char *room)
{
        const CommandOptions *o = r->e.o;
        int64_t all, columns = r->parts.input->bound, top = o->given[OPT_TOP] ? o->top : 5;
        const float *logits = loop_output(r, &all);
        Arena scratch = {0};
        const Likely *likely = likeliest_first(&scratch, logits + b->at * columns, columns, CLASSES_SOFTMAX);
        top = top < columns ? top : columns;
        if (likely)
                (o->given[OPT_JSON] ? fill_print_json : fill_print_tokens)(r, b, likely, top, room);
        arena_free(&scratch);
        return likely ? DONE
                      : loop_wrong_text(
                                r,
                                arena_printf(&r->e.m->arena,
                                             "\"%.40s\": its logits have no softmax: one is NaN or infinite",
                                             b->text));
}

static int fill_take_text(LoopRun *r, void *of, const char *text, int64_t n)
{
        int32_t mask = (int32_t)loop_setting(r->loop, "mask")->number;
        (void)of;
        int code = loop_run_text(r, text, n);
        if (code)
                return code;
        Blank b = {.text = text, .masks = count_masks(r, mask)};
        char *room = malloc((size_t)r->e.tokenizer.longest + TOKEN_RESIDUE);
        const double *token = loop_tokens_given(r, &n);
        if (!room)
                return loop_wrong(no_memory);
        for (b.at = 0; b.at < n && code == DONE; b.at++)
                if (token[b.at] == mask) {
                        b.mask++;
                        code = show_blank(r, &b, room);
                }
        if (!b.masks)
                code = loop_wrong_text(r,
                                       arena_printf(&r->e.m->arena,
                                                    "\"%.40s\" has no mask: it must contain token %d%s%.*s",
                                                    text, mask, r->e.tokenizer.block.block ? ", " : "",
                                                    (int)loop_token_text(r, mask, room), room));
        free(room);
        return code;
}

int run_fill(LoopRun *r)
{
        const CommandOptions *o = r->e.o;
        const Setting *mask = loop_setting(r->loop, "mask");
        if (mask->number >= (double)r->parts.input->bound)
                return loop_wrong(arena_printf(
                        &r->e.m->arena, "the mask of loop fill is token %.0f, and %s has tokens 0 to %lld",
                        mask->number, r->e.m->graph->name, (long long)r->parts.input->bound - 1));
        if (o->tokenizer && !load_tokenizer(r->e.m, o, &r->e.tokenizer))
                return failure_code(r->e.m);
        r->e.tokenizer.flags = TOKENS_CONTROL; /* the mask is a control token */
        return loop_texts(r, fill_take_text, NULL);
}
