/* Blocks of codes with scales, made of a published matrix without changing a number.
 *
 * A block has the codes of some columns of a row, all of one group.  Its values are those of the matrix before they are rounded to
 * the type of its scales. */
#include "scaled_private.h"

#include <math.h>
#include <string.h>

enum { MXFP4_STEPS = 32, MAX_STEPS = 128, NO_SCALE = 255 };

static bool is_half(CkType type)
{
        return type == CK_F16 || type == CK_BF16;
}

/* Whether codes of four bits, and zero points of four bits, are from 0 to 15 after one number is subtracted from both. */
static bool is_int4(const CkScaled *s)
{
        const bool integers = s->code.value == VALUE_PLAIN || s->code.value == VALUE_CENTRED;
        return integers && s->code.bits == 4 && is_half(s->scale.type) &&
               (!s->zero.data || s->zero.bits == 4);
}

static bool is_mxfp4(const CkScaled *s)
{
        return s->code.value == VALUE_E2M1 && (s->scale.type == CK_U8 || s->scale.type == CK_F8_E8M0);
}

/* Whether codes are signed bytes with scales in f16. */
static bool is_q8_0(const CkScaled *s)
{
        const bool bytes = s->code.value == VALUE_SIGNED || s->code.value == VALUE_CENTRED;
        return bytes && s->code.bits == 8 && s->scale.type == CK_F16 && !s->zero.data;
}

/* Whether codes are floats of 8 bits. */
static bool is_of_floats(const CkScaled *s, CodeValue value)
{
        return s->code.value == value && !s->zero.data;
}

CkType scaled_block_type(const CkScaled *s)
{
        const CkType types[] = {CK_INT4_128, CK_INT4_64, CK_INT4_32, CK_MXFP4, CK_Q8_0, CK_E4M3, CK_E5M2};
        const bool holds[] = {is_int4(s),
                              is_int4(s),
                              is_int4(s),
                              is_mxfp4(s),
                              is_q8_0(s),
                              is_of_floats(s, VALUE_E4M3),
                              is_of_floats(s, VALUE_E5M2)};
        if (s->group || s->scale.inverse || s->scale.divisor != 0 || s->scale.factor != 0)
                return CK_TYPE_COUNT;
        for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
                const int steps = ck_type_values(types[i]);
                if (holds[i] && s->columns % steps == 0 && s->scale.column_block % steps == 0)
                        return types[i];
        }
        return CK_TYPE_COUNT;
}

/* Codes of 32 numbers, the first 16 in low halves. */
static void put_halves(const uint8_t *code, uint8_t *to)
{
        for (int i = 0; i < 16; i++)
                to[i] = (uint8_t)(code[i] | code[i + 16] << 4);
}

/* Number of codes that a group's zero point is above code 0. */
static int zero_of_group(const CkScaled *s, int64_t batch, int64_t row, int64_t group)
{
        const float least = code_value(s->code.value, s->code.bits, 0);
        if (!s->zero.data)
                return (int)-least;
        const unsigned code = scaled_code(&s->zero, code_row(&s->zero, batch, row), group);
        return (int)(code_value(s->zero.value, s->zero.bits, code) - least);
}

/* The block whose first number is element `first` of the tensor; false: one of its numbers is infinite. */
static bool scaled_block(const CkTensor *tensor, int64_t first, uint8_t *to)
{
        const CkScaled *s = tensor->scaled;
        const int64_t inner = s->turned ? s->rows : s->columns, outer = s->turned ? s->columns : s->rows;
        const int64_t line = first / inner, i = first % inner, batch = line / outer;
        const int64_t row = s->turned ? i : line % outer, column = s->turned ? line % outer : i;
        const int64_t group = column / s->scale.column_block;
        const unsigned char *scale = scale_at_group(&s->scale, batch, row, group);
        const int steps = ck_type_values(s->blocks);
        uint8_t code[MAX_STEPS];
        scaled_codes(&s->code, code_row(&s->code, batch, row), column, steps, code);
        if (s->blocks == CK_MXFP4) {
                to[0] = *scale;
                put_halves(code, to + 1);
                return *scale != NO_SCALE;
        }
        if (s->blocks == CK_E4M3 || s->blocks == CK_E5M2) {
                const float d = scale_of_group(&s->scale, batch, row, group);
                memcpy(to, &d, sizeof d);
                memcpy(to + sizeof d, code, (size_t)steps);
                return isfinite(d * 256);
        }
        memcpy(to, scale, 2);
        if (s->blocks == CK_Q8_0) {
                for (int k = 0; k < steps; k++)
                        to[2 + k] = (uint8_t)(int)code_value(s->code.value, s->code.bits, code[k]);
                return true;
        }
        to[2] = (uint8_t)(zero_of_group(s, batch, row, group) | (s->scale.type == CK_BF16 ? 128 : 0));
        for (int k = 0; k < steps; k += 32)
                put_halves(code + k, to + 3 + k / 2);
        return true;
}

CkType checkpoint_block_type(const CkTensor *tensor)
{
        return tensor->scaled ? tensor->scaled->blocks : tensor->dtype;
}

int64_t checkpoint_block_step(const CkTensor *tensor)
{
        return tensor->scaled && tensor->scaled->turned ? tensor->scaled->rows : 1;
}

bool checkpoint_block(const CkTensor *tensor, int64_t first, void *to)
{
        const int values = ck_type_values(tensor->dtype), bytes = ck_type_bits(tensor->dtype) / 8;
        if (tensor->scaled)
                return scaled_block(tensor, first, to);
        memcpy(to, (const char *)tensor->data + first / values * bytes, (size_t)bytes);
        return true;
}
