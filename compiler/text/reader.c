/* Shared functions of the readers of tokenizers: error messages, values of JSON, and the vocabulary. */
#include <stdlib.h>

#include "reader_private.h"

_Noreturn void reader_refuse(FormReader *r, const char *format, ...)
{
        va_list args;
        va_start(args, format);
        r->why = arena_printf(r->arena, "%s: %s", r->form->path, arena_vprintf(r->arena, format, args));
        va_end(args);
        longjmp(r->wrong, 1);
}

/* --- values ---------------------------------------------------------------------------------------------------------- */

bool is_none(const json_t *value)
{
        return !value || json_is_null(value);
}

Bytes text_of(FormReader *r, const json_t *value, const char *where)
{
        if (!json_is_string(value))
                reader_refuse(r, "%s: expected a string", where);
        int64_t n = (int64_t)json_string_length(value);
        if (n > MAX_TOKEN_BYTES)
                reader_refuse(r, "%s: a text of %lld bytes; lathe reads up to %d", where, (long long)n,
                              MAX_TOKEN_BYTES);
        return (Bytes){arena_strndup(r->arena, json_string_value(value), n), n};
}

bool truth_of(FormReader *r, const json_t *object, const char *key, bool otherwise, const char *where)
{
        const json_t *value = json_object_get(object, key);
        if (is_none(value))
                return otherwise;
        if (!json_is_boolean(value))
                reader_refuse(r, "%s.%s: expected true or false", where, key);
        return json_is_true(value);
}

int32_t token_number(FormReader *r, const json_t *value, const char *where)
{
        if (!json_is_integer(value) || json_integer_value(value) < 0 ||
            json_integer_value(value) >= MAX_TOKENS)
                reader_refuse(r, "%s: expected a token id from 0 to %d", where, MAX_TOKENS - 1);
        return (int32_t)json_integer_value(value);
}

const char *type_of(FormReader *r, const json_t *part, const char *where)
{
        const char *type = json_string_value(json_object_get(part, "type"));
        if (!type)
                reader_refuse(r, "%s: expected an object with a type", where);
        return type;
}

const char *reader_element(FormReader *r, const char *where, size_t i)
{
        return arena_printf(r->arena, "%s[%zu]", where, i);
}

/* --- the vocabulary -------------------------------------------------------------------------------------------------- */

/* Makes room for ids up to `token`. */
void reader_room(FormReader *r, int32_t token)
{
        TokenizerForm *f = r->form;
        if (token < r->room)
                return;
        int32_t room = r->room ? r->room : 1024;
        while (room <= token)
                room *= 2;
        int64_t had = r->room * (int64_t)sizeof(Bytes), size = room * (int64_t)sizeof(Bytes);
        f->token = arena_grow(r->arena, f->token, had, size);
        f->shown = arena_grow(r->arena, f->shown, had, size);
        r->name = arena_grow(r->arena, r->name, had, size);
        f->mark = arena_grow(r->arena, f->mark, r->room, room);
        r->room = room;
}

/* The bytes of a text in the byte-level alphabet; false: it has other characters. */
static bool bytes_of_letters(FormReader *r, Bytes letters, Bytes *out)
{
        char *to = arena_alloc(r->arena, letters.n + 1);
        int64_t n = 0;
        for (int64_t i = 0, length; i < letters.n; i += length) {
                uint32_t code;
                length = decode_utf8(letters.at + i, (int32_t)(letters.n - i), &code);
                if (!length || code >= 512 || r->byte_of_letter[code] < 0)
                        return false;
                to[n++] = (char)r->byte_of_letter[code];
        }
        *out = (Bytes){to, n};
        return true;
}

static uint32_t hash_of(Bytes text)
{
        const unsigned char *p = (const unsigned char *)text.at;
        uint64_t second = text.n > 8 ? token_word(p + 8, text.n - 8, p + text.n) : 0;
        return (uint32_t)token_hash(token_word(p, text.n, p + text.n), second, p, text.n);
}

static void reader_add_slot(FormReader *r, struct NameSlot slot)
{
        uint64_t mask = (uint64_t)r->slots - 1, h = slot.hash & mask;
        while (r->slot[h].token)
                h = (h + 1) & mask;
        r->slot[h] = slot;
}

/* Doubles the slots; of equal names the first remains the first to be found. */
static void more_slots(FormReader *r)
{
        const struct NameSlot *old = r->slot;
        int64_t n = r->slots, start = 0;
        r->slots = n ? 2 * n : 1 << 12;
        r->slot = NEW_ARRAY(r->arena, struct NameSlot, r->slots);
        while (start < n && old[start].token)
                start++;
        for (int64_t i = 0; i < n; i++) /* from a free slot, so that displaced entries keep their order */
                if (old[(start + i) & (n - 1)].token)
                        reader_add_slot(r, old[(start + i) & (n - 1)]);
}

void set_token(FormReader *r, int32_t token, Bytes text)
{
        TokenizerForm *f = r->form;
        reader_room(r, token);
        if (r->name[token].at)
                reader_refuse(r, "model.vocab: \"%s\" and \"%s\" have the same number %d", r->name[token].at,
                              text.at, token);
        if (2 * (int64_t)r->nname >= r->slots)
                more_slots(r);
        r->name[token] = f->shown[token] = text;
        r->nname++;
        reader_add_slot(r, (struct NameSlot){hash_of(text), token + 1});
        if (token >= f->vocab)
                f->vocab = token + 1;
        if (!(f->flags & TOKENS_ARE_BYTES))
                f->token[token] = text;
        else if (bytes_of_letters(r, text, &f->token[token]))
                f->shown[token] = f->token[token];
}

int32_t find_token(const FormReader *r, Bytes text)
{
        uint64_t mask = (uint64_t)r->slots - 1;
        const uint32_t hash = hash_of(text);
        for (uint64_t h = hash; r->slots; h++) {
                const struct NameSlot slot = r->slot[h & mask];
                if (!slot.token)
                        break;
                if (slot.hash != hash)
                        continue;
                Bytes name = r->name[slot.token - 1];
                if (name.n == text.n && !memcmp(name.at, text.at, (size_t)text.n))
                        return slot.token - 1;
        }
        return -1;
}

int32_t wanted_token(FormReader *r, Bytes text, const char *where)
{
        int32_t token = find_token(r, text);
        if (token < 0)
                reader_refuse(r, "%s: \"%.*s\" is not in the vocabulary", where, (int)text.n, text.at);
        return token;
}

void find_bytes(FormReader *r)
{
        TokenizerForm *f = r->form;
        for (int b = 0; b < 256; b++) {
                char name[16];
                uint32_t letter = letter_of_byte(b);
                if (!(f->flags & TOKENS_ARE_BYTES))
                        snprintf(name, sizeof name, "<0x%02X>", (unsigned)b);
                else if (letter < 0x80)
                        snprintf(name, sizeof name, "%c", (char)letter);
                else
                        snprintf(name, sizeof name, "%c%c", (char)(0xc0 | letter >> 6),
                                 (char)(0x80 | (letter & 0x3f)));
                f->of_byte[b] = find_token(r, (Bytes){name, (int64_t)strlen(name)});
        }
}

void set_merge(FormReader *r, int64_t i, Bytes left, Bytes right, const char *list)
{
        const int64_t within = r->form->within.n; /* only in the second text */
        if (right.n < within)
                reader_refuse(r, "%s[%lld]: \"%s\" lacks the prefix of tokens within words", list,
                              (long long)i, right.at);
        if (left.n > MAX_TOKEN_BYTES - right.n)
                reader_refuse(r, "%s[%lld]: a token of more than %d bytes", list, (long long)i,
                              MAX_TOKEN_BYTES);
        memcpy(r->joined, left.at, (size_t)left.n);
        memcpy(r->joined + left.n, right.at + within, (size_t)(right.n - within));
        Bytes part[3] = {left, right, {r->joined, left.n + right.n - within}};
        int32_t token[3];
        for (int k = 0; k < 3; k++) {
                token[k] = find_token(r, part[k]);
                if (token[k] < 0)
                        wanted_token(r, part[k], reader_element(r, list, (size_t)i));
        }
        r->form->merge[i] = (FormMerge){token[0], token[1], token[2], (uint32_t)i};
}

void set_merge_line(FormReader *r, int64_t i, Bytes line, const char *list)
{
        const char *space = memchr(line.at, ' ', (size_t)line.n), *end = line.at + line.n;
        if (!space || space == line.at || space + 1 == end ||
            memchr(space + 1, ' ', (size_t)(end - space - 1)))
                reader_refuse(r, "%s[%lld]: expected two tokens separated by a space, not \"%.*s\"", list,
                              (long long)i, (int)line.n, line.at);
        set_merge(r, i, (Bytes){line.at, space - line.at}, (Bytes){space + 1, end - space - 1}, list);
}

/* The index of a new token around texts, of which there are *n. */
static int next_around(FormReader *r, int *n, int32_t token, const char *where)
{
        if (*n == MAX_AROUND)
                reader_refuse(r, "%s: more than %d tokens around a text", where, MAX_AROUND);
        if (token >= r->form->vocab)
                reader_refuse(r, "%s: there is no token %d", where, token);
        return (*n)++;
}

void add_around(FormReader *r, bool before, int32_t token, const char *where)
{
        TokenizerForm *f = r->form;
        const int at = next_around(r, before ? &f->nbefore : &f->nbehind, token, where);
        (before ? f->before : f->behind)[at] = token;
}

void add_item(FormReader *r, int32_t token, int32_t type, const char *where)
{
        TokenizerForm *f = r->form;
        f->item[next_around(r, &f->nitem, token, where)] = (TokenItem){token, type};
}

TokenizerForm *form_new(Arena *a, const char *path)
{
        TokenizerForm *f = NEW(a, TokenizerForm);
        f->arena = a;
        f->path = path;
        return f;
}

FormReader *reader_new(TokenizerForm *f)
{
        FormReader *r = NEW(f->arena, FormReader);
        r->arena = f->arena;
        r->form = f;
        for (int c = 0; c < 512; c++)
                r->byte_of_letter[c] = -1;
        for (int b = 0; b < 256; b++)
                r->byte_of_letter[letter_of_byte(b)] = b;
        return r;
}
