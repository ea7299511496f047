/* Shared by loops whose arguments are a first text and further ones, `lathe run MODEL FIRST TEXT…`: a question and texts, a
 * query and passages. */
#include <stdio.h>
#include <string.h>

#include "commands_private.h"

typedef struct {
        const LoopAsked *loop;
        void *of;
        TextPart first;   /* text NULL: not read yet, or lines have their own */
        bool takes_texts; /* arguments are the first text and then further ones */
} AskedTexts;

/* A line with both texts, and a tab between them. */
static int loop_asked_line(LoopRun *r, const AskedTexts *a, TextPart line)
{
        const char *tab = memchr(line.text, '\t', (size_t)line.n), *end = line.text + line.n;
        if (!tab || memchr(tab + 1, '\t', (size_t)(end - tab - 1)))
                return loop_wrong_text(
                        r, arena_printf(&r->e.m->arena,
                                        "the line has %s; expected a %s and a %s with a tab between them",
                                        tab ? "several tabs" : "no tab", a->loop->first, a->loop->second));
        return a->loop->take(r, a->of, (TextPart){line.text, tab - line.text},
                             (TextPart){tab + 1, end - tab - 1});
}

static int asked_take_text(LoopRun *r, void *of, const char *line, int64_t n)
{
        AskedTexts *a = of;
        const TextPart text = {line, n};
        if (memchr(line, 0, (size_t)n))
                return loop_wrong_text(r, "the line has a byte 0");
        if (!a->takes_texts)
                return loop_asked_line(r, a, text);
        if (a->first.text)
                return a->loop->take(r, a->of, a->first, text);
        a->first = text;
        return DONE;
}

/* False after a message: the words are not a first text and further ones. */
static bool asked_words_fit(const CommandOptions *o, const LoopAsked *l, int words)
{
        const char *word = o->prompt ? NULL : words ? o->file[1] : NULL;
        if (words > 1 && word && is_list_word(word))
                fprintf(stderr,
                        "lathe run: the %s can't be - or @FILE: give it as an argument, `lathe run MODEL %s "
                        "-`, or in each line before its %s, with a tab between them, `lathe run MODEL -`; "
                        "see `lathe help run`\n",
                        l->first, l->usage[0], l->second);
        else if (words == 1 && (o->prompt || !is_list_word(word)))
                fprintf(stderr,
                        "lathe run: loop %s requires a %s and a %s, `lathe run MODEL %s %s`; see `lathe "
                        "help run`\n",
                        l->loop, l->first, l->second, l->usage[0], l->usage[1]);
        else
                return true;
        return false;
}

int loop_asked(LoopRun *r, const LoopAsked *l, void *of)
{
        const CommandOptions *o = r->e.o;
        const int words = o->nfile - 1 + (o->prompt != NULL);
        AskedTexts a = {.loop = l, .of = of, .takes_texts = words > 1};
        int code;
        if (!asked_words_fit(o, l, words))
                return WRONG_USAGE;
        if (loop_has_tokenizer(r, &code))
                return loop_texts(r, asked_take_text, &a);
        return code != DONE ? code
                            : loop_wrong(arena_printf(&r->e.m->arena,
                                                      "a %s and a %s require a tokenizer: --tokenizer FILE",
                                                      l->first, l->second));
}
