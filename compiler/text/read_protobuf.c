/* SentencePiece's .model: a message of protocol buffers.
 *
 * A message is a sequence of fields: a number with the field's number and type, then a number, 4 or 8 bytes,
 * or a length and as many bytes.  Unknown fields are skipped.  Fields are those of
 * sentencepiece_model.proto. */
#include "reader_private.h"

typedef struct {
        FormReader *reader;
        const char *where; /* "trainer_spec" */
        const unsigned char *begin, *at, *end;
        const unsigned char *file; /* for messages */
} Wire;

typedef enum { STORED_NUMBER = 0, STORED_EIGHT = 1, STORED_BYTES = 2, STORED_FOUR = 5 } Stored;

typedef struct {
        uint64_t number; /* of the field */
        Stored stored;
        uint64_t value; /* NUMBER, FOUR */
        Bytes bytes;    /* BYTES */
} Field;

static _Noreturn void proto_refuse(const Wire *m, const char *what)
{
        reader_refuse(m->reader, "byte %lld, in %s: %s; expected a SentencePiece model",
                      (long long)(m->at - m->file), m->where, what);
}

static uint64_t take_number(Wire *m)
{
        uint64_t value = 0;
        for (int bits = 0; bits < 64; bits += 7) {
                if (m->at == m->end)
                        proto_refuse(m, "a number continues beyond the end");
                const unsigned char byte = *m->at++;
                value |= (uint64_t)(byte & 0x7f) << bits;
                if (byte < 0x80)
                        return value;
        }
        proto_refuse(m, "a number of more than 64 bits");
}

/* The next field; false at the end. */
static bool next_field(Wire *m, Field *f)
{
        if (m->at == m->end)
                return false;
        uint64_t key = take_number(m), size = 0;
        *f = (Field){.number = key >> 3, .stored = (Stored)(key & 7)};
        switch (key & 7) {
        case STORED_NUMBER: f->value = take_number(m); return true;
        case STORED_EIGHT: size = 8; break;
        case STORED_FOUR: size = 4; break;
        case STORED_BYTES: size = take_number(m); break;
        default: proto_refuse(m, "a field of an unknown kind");
        }
        if (size > (uint64_t)(m->end - m->at))
                proto_refuse(m, "a field continues beyond the end");
        f->bytes = (Bytes){(const char *)m->at, (int64_t)size};
        for (int i = 0; f->stored == STORED_FOUR && i < 4; i++)
                f->value |= (uint64_t)m->at[i] << 8 * i;
        m->at += size;
        return true;
}

static Wire inner(const Wire *m, const Field *f, const char *where)
{
        if (f->stored != STORED_BYTES)
                proto_refuse(m, "expected a message");
        const unsigned char *begin = (const unsigned char *)f->bytes.at;
        return (Wire){m->reader, where, begin, begin, begin + f->bytes.n, m->file};
}

static Bytes proto_text(const Wire *m, const Field *f)
{
        if (f->stored != STORED_BYTES || f->bytes.n > MAX_TOKEN_BYTES)
                proto_refuse(m, "expected a string of at most 65536 bytes");
        return (Bytes){arena_strndup(m->reader->arena, f->bytes.at, f->bytes.n), f->bytes.n};
}

static uint64_t number_field(const Wire *m, const Field *f)
{
        if (f->stored != STORED_NUMBER)
                proto_refuse(m, "expected a number");
        return f->value;
}

/* --- pieces ---------------------------------------------------------------------------------------------------------- */

typedef struct {
        SentencePieceModel pieces;
        int64_t room;
        uint64_t kind; /* of the trainer */
        bool suffix;
} ProtoModel;

static void model_grow(ProtoModel *model, Arena *a)
{
        SentencePieceModel *p = &model->pieces;
        if (p->n < model->room)
                return;
        int64_t room = model->room ? 2 * model->room : 1024;
        p->text = arena_grow(a, p->text, p->n * (int64_t)sizeof *p->text, room * (int64_t)sizeof *p->text);
        p->score =
                arena_grow(a, p->score, p->n * (int64_t)sizeof *p->score, room * (int64_t)sizeof *p->score);
        p->type = arena_grow(a, p->type, p->n, room);
        model->room = room;
}

static void proto_read_piece(Wire m, ProtoModel *model)
{
        SentencePieceModel *p = &model->pieces;
        float score = 0;
        uint64_t type = PIECE_NORMAL;
        Bytes text = {NULL, 0};
        for (Field f; next_field(&m, &f);) {
                const uint32_t bits = (uint32_t)f.value;
                if (f.number == 1)
                        text = proto_text(&m, &f);
                else if (f.number == 2 && f.stored == STORED_FOUR)
                        memcpy(&score, &bits, 4);
                else if (f.number == 3)
                        type = number_field(&m, &f);
        }
        if (!text.n || type < PIECE_NORMAL || type > PIECE_BYTE || score - score != 0)
                proto_refuse(&m, "a piece has a text, a score and a type from 1 to 6");
        if (p->n == MAX_TOKENS)
                proto_refuse(&m, "more than 4194304 pieces");
        model_grow(model, m.reader->arena);
        p->text[p->n] = text;
        p->score[p->n] = score;
        p->type[p->n++] = (uint8_t)type;
}

/* --- settings -------------------------------------------------------------------------------------------------------- */

static void read_trainer(Wire m, ProtoModel *model)
{
        SentencePieceModel *p = &model->pieces;
        for (Field f; next_field(&m, &f);) {
                if (f.number == 3)
                        model->kind = number_field(&m, &f);
                else if (f.number == 24)
                        model->suffix = number_field(&m, &f) != 0;
                else if (f.number == 35)
                        p->has_bytes = number_field(&m, &f) != 0;
                else if (f.number == 41)
                        p->begin = (int32_t)number_field(&m, &f);
                else if (f.number == 42)
                        p->end = (int32_t)number_field(&m, &f);
                else if (f.number == 44)
                        p->unknown_shown = proto_text(&m, &f);
        }
}

static void set_flag(const Wire *m, const Field *f, uint32_t *flags, uint32_t flag)
{
        *flags = number_field(m, f) ? *flags | flag : *flags & ~flag;
}

static void read_normalizer(Wire m, ProtoModel *model)
{
        SentencePieceModel *p = &model->pieces;
        for (Field f; next_field(&m, &f);) {
                if (f.number == 2 && f.stored == STORED_BYTES)
                        p->charsmap = f.bytes;
                else if (f.number == 3)
                        set_flag(&m, &f, &p->flags, SENTENCEPIECE_PREFIX);
                else if (f.number == 4)
                        set_flag(&m, &f, &p->flags, SENTENCEPIECE_FEW_SPACES);
                else if (f.number == 5)
                        set_flag(&m, &f, &p->flags, SENTENCEPIECE_MARKED);
        }
}

static void refuse_denormalizer(Wire m)
{
        for (Field f; next_field(&m, &f);)
                if (f.number == 2 && f.bytes.n)
                        proto_refuse(&m, "a map that changes decoded text is not supported");
}

/* --- the whole ------------------------------------------------------------------------------------------------------- */

void read_protobuf(FormReader *r, Bytes file, SentencePieceModel *out)
{
        enum { UNIGRAM = 1, MERGES = 2, CHARACTERS = 4 };
        const unsigned char *begin = (const unsigned char *)file.at;
        Wire m = {r, "the model", begin, begin, begin + file.n, begin};
        ProtoModel model = {
                .kind = UNIGRAM,
                .pieces = {.flags = SENTENCEPIECE_PREFIX | SENTENCEPIECE_FEW_SPACES | SENTENCEPIECE_MARKED,
                           .unknown_shown = {" \xe2\x81\x87 ", 5},
                           .begin = 1,
                           .end = 2}};
        for (Field f; next_field(&m, &f);) {
                if (f.number == 1)
                        proto_read_piece(inner(&m, &f, "a piece"), &model);
                else if (f.number == 2)
                        read_trainer(inner(&m, &f, "trainer_spec"), &model);
                else if (f.number == 3)
                        read_normalizer(inner(&m, &f, "normalizer_spec"), &model);
                else if (f.number == 5)
                        refuse_denormalizer(inner(&m, &f, "denormalizer_spec"));
        }
        if (model.kind != UNIGRAM && model.kind != MERGES && model.kind != CHARACTERS)
                reader_refuse(
                        r, "trainer_spec.model_type: lathe supports 1 (Unigram), 2 (BPE) and 4 (characters)");
        if (model.suffix && (model.pieces.flags & SENTENCEPIECE_PREFIX))
                model.pieces.flags =
                        (model.pieces.flags & ~(uint32_t)SENTENCEPIECE_PREFIX) | SENTENCEPIECE_SUFFIX;
        model.pieces.unigram = model.kind == UNIGRAM;
        *out = model.pieces;
}
