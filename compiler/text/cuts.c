/* Finds the positions at which a text whose symbols are characters may be split before merges.
 *
 * A merge can span the position between two characters only if some merge has these two at its border.  Text
 * is split at all other positions, and a word that is a token is looked up as a whole. */
#include "form_private.h"

enum { MARK = 0x2581, LATER_LETTERS = 0x2e80, CHARACTERS = LAST_CHARACTER + 1 };

/* Kinds of characters: each ASCII character other than a letter is a kind. */
enum { KIND_LOOSE /* at no border */, KIND_ASCII_LETTER, KIND_MARK, KIND_OTHER, KIND_LATER, KINDS };

bool merges_texts_alone(const TokenizerForm *f)
{
        uint8_t *is_byte = NEW_ARRAY(f->arena, uint8_t, f->vocab + 1);
        for (int b = 0; b < 256 && !(f->flags & TOKENS_ARE_BYTES); b++)
                if (f->of_byte[b] >= 0 && f->of_byte[b] < f->vocab)
                        is_byte[f->of_byte[b]] = 1;
        for (int64_t i = 0; i < f->nmerge; i++)
                if (is_byte[f->merge[i].left] || is_byte[f->merge[i].right])
                        return false;
        return f->nmerge > 0;
}

/* Whether every character has symbols, so that none is unknown, and all merges are of texts. */
static bool is_spelled(const TokenizerForm *f)
{
        bool all = f->model == MODEL_BPE && f->flags & TOKENS_HAVE_BYTES && !(f->flags & TOKENS_ARE_BYTES);
        for (int b = 0; b < 256; b++)
                all = all && f->of_byte[b] >= 0 && f->of_byte[b] < f->vocab;
        return all && !f->within.n && !f->ending.n && !f->ignores_merges && merges_texts_alone(f);
}

/* The characters at a merge's border; false: the merge does not concatenate its texts. */
static bool border(const TokenizerForm *f, const FormMerge *m, uint32_t *before, uint32_t *after)
{
        const Bytes left = f->token[m->left], right = f->token[m->right];
        if (left.n < 1 || right.n < 1 || f->token[m->made].n != left.n + right.n)
                return false;
        const unsigned char *p = (const unsigned char *)left.at, *q = (const unsigned char *)right.at;
        token_step_back(p, p + left.n, before);
        token_character(q, q + right.n, after);
        return true;
}

static unsigned char character_kind(uint32_t c)
{
        if (c >= 0x80)
                return c == MARK ? KIND_MARK : c < LATER_LETTERS ? KIND_OTHER : KIND_LATER;
        return (c | 0x20) - 'a' < 26 ? KIND_ASCII_LETTER : (unsigned char)(KINDS + c);
}

RegexTable *form_cuts(const TokenizerForm *f)
{
        static const unsigned char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
        unsigned char *class = NEW_ARRAY(f->arena, unsigned char, CHARACTERS), number[KINDS + 0x80] = {0};
        uint32_t at[2];
        int classes = 1;
        if (!is_spelled(f))
                return NULL;
        for (const unsigned char *p = letters; *p; p++)
                class[*p] = 1;
        number[KIND_ASCII_LETTER] = (unsigned char)classes++;
        for (int64_t i = 0; i < f->nmerge; i++) {
                if (!border(f, &f->merge[i], &at[0], &at[1]))
                        return NULL;
                for (int k = 0; k < 2; k++) {
                        unsigned char *of = &number[character_kind(at[k])];
                        *of = *of ? *of : (unsigned char)classes++;
                        class[at[k]] = *of;
                }
        }
        uint8_t *together = NEW_ARRAY(f->arena, uint8_t, (int64_t)classes * classes);
        for (int64_t i = 0; i < f->nmerge; i++) {
                border(f, &f->merge[i], &at[0], &at[1]);
                together[class[at[0]] * classes + class[at[1]]] = 1;
        }
        return regex_of_runs(f->arena, class, classes, together);
}
