/* Access to weights and tokenizer tables: in a mapped file, or in the program, as text or by the
 * assembler. */
#include <inttypes.h>
#include <string.h>

#include "emit_private.h"

/* Name of the weights or tables: with the model's prefix if the C file and the data file share it. */
static const char *data_name(const Emit *e, const char *name)
{
        return e->o->data ? arena_printf(e->arena, "%s_%s", e->name, name) : name;
}

/* Declarations that the C file and the data file share. */
static void declare_data(const Emit *e, Text *c)
{
        const int64_t n = FLOATS(e->plan->bytes.weights);
        text_printf(c,
                    "/* Weights%s: in %s.data.c. */\nunion %s_weights {\n        uint32_t bits[%" PRId64
                    "];\n        float value[%" PRId64 "];\n};\nextern const union %s_weights %s;\n",
                    e->o->tables ? " and tokenizer" : "", e->o->name, e->name, n, n, e->name,
                    data_name(e, "weight_data"));
        if (e->o->tables)
                text_printf(c, "extern const uint64_t %s[%" PRId64 "];\n", data_name(e, "token_block"),
                            e->o->tables_size / 8);
        text_put(c, "\n");
}

static void emit_tables(const Emit *e, Text *c)
{
        const unsigned char *byte = e->o->tables;
        text_printf(c,
                    "#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__\n"
                    "#error \"the tokenizer's tables are little-endian: for this machine build without "
                    "--tokenizer, and give token ids\"\n"
                    "#endif\n"
                    "/* The tokenizer, as tokens_open() reads it; little-endian. */\n%sconst uint64_t "
                    "%s[%s] = {",
                    e->o->data ? "" : "static ", data_name(e, "token_block"),
                    e->o->data ? arena_printf(e->arena, "%" PRId64, e->o->tables_size / 8) : "");
        for (int64_t i = 0; i < e->o->tables_size; i += 8) {
                uint64_t word;
                memcpy(&word, byte + i, sizeof word);
                text_printf(c, "%s0x%" PRIx64 ",", i % 48 ? " " : "\n        ", word);
        }
        text_printf(c, "\n};\n\n");
}

/* Content of a 4-byte word of the weights; the value is the number of elements. */
typedef enum { ONE_FLOAT = 1, TWO_HALVES = 2, FOUR_BYTES = 4 } Word;

static Word word_at(Storage s, int64_t byte)
{
        const StorageInfo *info = &storage_info[s];
        const int64_t at = byte % info->bytes;
        return at < info->floats ? ONE_FLOAT : at < info->floats + info->halves ? TWO_HALVES : FOUR_BYTES;
}

/* Content of each word.  *narrow: whether some are not floats. */
static unsigned char *weight_words(const Emit *e, bool *narrow)
{
        const Plan *p = e->plan;
        unsigned char *word = NEW_ARRAY(e->arena, unsigned char, FLOATS(p->bytes.weights));
        memset(word, ONE_FLOAT, (size_t)FLOATS(p->bytes.weights));
        for (int i = 0; i < p->nbuffer; i++) {
                const Buffer *b = p->buffer[i], *whole = b;
                if (b->home != IN_WEIGHTS || !b->weight || b->storage == STORAGE_F32)
                        continue;
                *narrow = true;
                while (whole->part_of)
                        whole = whole->part_of;
                for (int64_t slot = 0; slot < b->weight->slots; slot++)
                        for (int64_t byte = 0; byte < whole->size; byte += 4)
                                word[FLOATS(whole->offset + slot * b->slot_stride + byte)] =
                                        (unsigned char)word_at(b->storage, byte);
        }
        return word;
}

/* The first byte or half of a word is in its lowest bits. */
static const char word_macros[] =
        "#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__\n"
        "#define HALVES(w) (w##u >> 16 | w##u << 16)\n"
        "#define BYTES(w) (w##u >> 24 | (w##u >> 8 & 0xff00u) | (w##u & 0xff00u) << 8 | w##u << 24)\n"
        "#else\n#define HALVES(w) w\n#define BYTES(w) w\n#endif\n";

static void emit_values(const Emit *e, Text *c)
{
        bool narrow = false;
        const unsigned char *word = weight_words(e, &narrow);
        text_printf(c, "/* The weights, as bit patterns of floats. */\n%s%s%s = {{\n",
                    narrow ? word_macros : "",
                    e->o->data ? arena_printf(e->arena, "const union %s_weights ", e->name)
                               : "static const union {\n        uint32_t bits[WEIGHT_FLOATS];\n        float "
                                 "value[WEIGHT_FLOATS];\n} ",
                    data_name(e, "weight_data"));
        for (int64_t i = 0; i < FLOATS(e->plan->bytes.weights); i++) {
                uint32_t bits;
                memcpy(&bits, &e->o->weights[i], sizeof bits);
                text_printf(c,
                            word[i] == ONE_FLOAT    ? "%s0x%" PRIx32 ",%s"
                            : word[i] == TWO_HALVES ? "%sHALVES(0x%" PRIx32 "),%s"
                                                    : "%sBYTES(0x%" PRIx32 "),%s",
                            i % 10 ? "" : "        ", bits,
                            i % 10 == 9 || i + 1 == FLOATS(e->plan->bytes.weights) ? "\n" : " ");
        }
        text_printf(c, "}};\n%s\n", narrow ? "#undef HALVES\n#undef BYTES\n" : "");
}

/* Weights and tables as C, and weights_inside(). */
static void emit_data(const Emit *e, Text *c)
{
        Text *data = e->o->data ? e->o->data : c;
        if (e->o->data) {
                text_printf(data, "/* Data of %s.c, written by lathe %s. */\n#include <stdint.h>\n\n",
                            e->o->name, LATHE_VERSION);
                declare_data(e, data);
                declare_data(e, c);
        }
        if (e->o->tables)
                emit_tables(e, data);
        emit_values(e, data);
        text_put(c, model_text(e, arena_printf(e->arena,
                                               "static int weights_inside($model *m)\n{\n"
                                               "        m->weights = %s.value;\n"
                                               "        return $MODEL_OK;\n}\n\n",
                                               data_name(e, "weight_data"))));
}

/* weights_open(): opens the weights, then the tables. */
static void emit_opening(const Emit *e, Text *c)
{
        const bool mapped = e->o->home == WEIGHTS_MAPPED;
        const char *weights = mapped ? "from->image ? weights_from_memory(m, from->image, from->bytes) : "
                                       "weights_map(m, from->path)"
                                     : "weights_inside(m)";
        const char *where = e->o->tables_apart
                                    ? "m->weights + WEIGHT_FLOATS, TAIL_BYTES"
                                    : arena_printf(e->arena, "%s, sizeof %s", data_name(e, "token_block"),
                                                   data_name(e, "token_block"));
        const char *body =
                e->o->tables
                        ? arena_printf(e->arena,
                                       "        int error = %s;\n        if (!error && "
                                       "!tokens_open(&m->tokens, %s)) {\n%s"
                                       "                error = $MODEL_ERROR_WEIGHTS;\n        }\n"
                                       "%s        return error;\n",
                                       weights, where,
                                       is_freestanding(e) ? "" : "                $model_close(m);\n",
                                       e->o->pair_form ? "        m->tokens.pair_form = &pair_form;\n" : "")
                        : arena_printf(e->arena, "        return %s;\n", weights);
        text_put(c, model_text(e, arena_printf(
                                          e->arena,
                                          "static int weights_open($model *m, const WeightImage *from%s)\n{\n"
                                          "%s}\n\n",
                                          mapped ? "" : " UNUSED", body)));
}

void emit_weights(const Emit *e, Text *c)
{
        if (e->o->tables && !e->o->tables_apart && e->o->home != WEIGHTS_AS_TEXT)
                emit_tables(e, c);
        if (e->o->home == WEIGHTS_AS_TEXT)
                emit_data(e, c);
        if (e->o->home == WEIGHTS_BY_ASSEMBLER)
                text_printf(c, "%s\n", host_text(e, "incbin.h"));
        if (e->o->pair_form)
                text_put(c, e->o->pair_form);
        emit_opening(e, c);
}
