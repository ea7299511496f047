/* Where the weights and the tokenizer's tables are: in a file that is mapped, or in the program, as text or by the assembler. */
#include <inttypes.h>
#include <string.h>

#include "emit_private.h"

static void emit_tables(const Emit *e, Text *c)
{
        const unsigned char *byte = e->o->tables;
        text_printf(c,
                    "/* The tokenizer, as tokens_open() reads it; little-endian. */\nstatic const uint64_t "
                    "token_block[] = {");
        for (int64_t i = 0; i < e->o->tables_size; i += 8) {
                uint64_t word;
                memcpy(&word, byte + i, sizeof word);
                text_printf(c, "%s0x%" PRIx64 ",", i % 48 ? " " : "\n        ", word);
        }
        text_printf(c, "\n};\n\n");
}

static void emit_values(const Emit *e, Text *c)
{
        text_printf(c, "/* The weights, as the bits of floats. */\nstatic const union {\n        uint32_t "
                       "bits[WEIGHT_FLOATS];\n        float value[WEIGHT_FLOATS];\n} "
                       "weight_data = {{\n");
        for (int64_t i = 0; i < FLOATS(e->plan->weights_size); i++) {
                uint32_t bits;
                memcpy(&bits, &e->o->weights[i], sizeof bits);
                text_printf(c, "%s0x%" PRIx32 ",%s", i % 10 ? "" : "        ", bits,
                            i % 10 == 9 || i + 1 == FLOATS(e->plan->weights_size) ? "\n" : " ");
        }
        text_printf(c, "}};\n\n%s",
                    model_text(e, "static int weights_inside($model *m)\n{\n"
                                  "        m->weights = weight_data.value;\n"
                                  "        return $MODEL_OK;\n}\n\n"));
}

/* weights_open(): the weights, then the tables. */
static void emit_opening(const Emit *e, Text *c)
{
        const char *weights = e->o->home == WEIGHTS_MAPPED
                                      ? "        int error = weights_reach(m, from);\n"
                                      : "        (void)from;\n        int error = weights_inside(m);\n";
        const char *where = e->o->tables_apart ? "m->weights + WEIGHT_FLOATS, TAIL_BYTES"
                                               : "token_block, sizeof token_block";
        const char *tables =
                e->o->tables ? arena_printf(e->arena,
                                            "        if (!error && !tokens_open(&m->tokens, %s)) {\n"
                                            "                $model_close(m);\n"
                                            "                error = $MODEL_ERROR_WEIGHTS;\n        }\n",
                                            where)
                             : "";
        text_put(c,
                 model_text(e, arena_printf(e->arena,
                                            "static int weights_open($model *m, const WeightImage *from)\n{\n"
                                            "%s%s        return error;\n}\n\n",
                                            weights, tables)));
}

void emit_weights(const Emit *e, Text *c)
{
        if (e->o->tables && !e->o->tables_apart)
                emit_tables(e, c);
        if (e->o->home == WEIGHTS_AS_TEXT)
                emit_values(e, c);
        if (e->o->home == WEIGHTS_BY_ASSEMBLER)
                text_printf(c, "%s\n", model_text(e, strstr(embedded_text("incbin.h"), "#if")));
        emit_opening(e, c);
}
