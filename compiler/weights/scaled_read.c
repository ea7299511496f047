/* Numbers of tensors that are codes with scales, computed when they are read.
 *
 * A run is a part of a row or of a column of the matrix.  Its codes are widened to floats, and those of one
 * group are scaled together.  Operations are those of the reference implementations: zero points are
 * subtracted exactly, and each product is rounded to the type of the scales. */
#include "scaled_private.h"

#include <math.h>
#include <string.h>
#include <sys/stat.h>

enum { MAX_CODES = 256 };

/* ---- one row ---- */

CodeRow code_row(const CodeField *f, int64_t batch, int64_t row)
{
        const int64_t at = f->split ? row % f->split : row / f->row_lanes;
        const int lane = f->split ? (int)(row / f->split) : f->order[row % f->row_lanes];
        const int64_t word = batch * f->batch_step + at * f->row_step;
        return (CodeRow){f->data + word * f->width, lane * f->bits};
}

unsigned scaled_code(const CodeField *f, CodeRow row, int64_t column)
{
        const unsigned char *at = row.word + column / f->column_lanes * f->column_step * f->width;
        uint32_t word = *at;
        if (f->width == 4)
                memcpy(&word, at, sizeof word);
        return word >> (row.shift + (int)(column % f->column_lanes) * f->bits) & ((1u << f->bits) - 1);
}

/* Of a byte: a power of two; 255 gives infinity, as in the reference. */
static float scale_of_byte(unsigned byte)
{
        return f32_of_bits(byte ? (uint32_t)byte << 23 : 0x00400000u);
}

const unsigned char *scale_at_group(const ScaleField *f, int64_t batch, int64_t row, int64_t group)
{
        const int64_t of_row = f->row_block == 1 ? row : row / f->row_block; /* a division takes time */
        const int64_t i = batch * f->batch_step + of_row * f->row_step + group * f->group_step;
        return f->data + i * ck_type_bits(f->type) / 8;
}

float scale_of_group(const ScaleField *f, int64_t batch, int64_t row, int64_t group)
{
        const unsigned char *at = scale_at_group(f, batch, row, group);
        float scale;
        if (f->type == CK_U8)
                scale = scale_of_byte(*at);
        else
                ck_type_widen(f->type, at, 1, &scale);
        return f->divisor != 0 ? scale / f->divisor : f->factor != 0 ? scale * f->factor : scale;
}

static float rounded_as(CkType type, float x)
{
        return type == CK_BF16 ? bf16_to_f32(f32_to_bf16(x)) : type == CK_F16 ? f16_to_f32(f32_to_f16(x)) : x;
}

/* Tables of a call: a number for each code. */
typedef struct {
        const CkScaled *scaled;
        float value[MAX_CODES], zero[MAX_CODES];
        float scale[MAX_CODES]; /* of each byte, of a tensor that is turned */
} ScaledReader;

static void fill_values(const CodeField *f, float *value)
{
        for (unsigned code = 0; f->data && code < 1u << f->bits; code++)
                value[code] = code_value(f->value, f->bits, code);
}

/* Replaces n numbers of codes by those of the weights, all of one group. */
static void scale_group(const ScaledReader *r, int64_t batch, int64_t row, int64_t group, int64_t n,
                        float *number)
{
        const CkScaled *s = r->scaled;
        const float scale = scale_of_group(&s->scale, batch, row, group);
        const float zero =
                s->zero.data ? r->zero[scaled_code(&s->zero, code_row(&s->zero, batch, row), group)] : 0;
        for (int64_t i = 0; i < n; i++) {
                const float x = s->zero.data ? number[i] - zero : number[i];
                number[i] = rounded_as(s->computed, s->scale.inverse ? x / scale : x * scale);
        }
        for (int64_t i = 0; s->result != s->computed && i < n; i++)
                number[i] = rounded_as(s->result, number[i]);
}

static int64_t group_of(const CkScaled *s, int64_t column)
{
        int32_t group;
        if (!s->group)
                return column / s->scale.column_block;
        memcpy(&group, s->group + column * (int64_t)sizeof group, sizeof group);
        return group >= 0 && group < s->groups ? group : 0; /* other values were rejected on opening */
}

/* Columns from this one on that have its group, at most n. */
static int64_t columns_of_group(const CkScaled *s, int64_t column, int64_t n)
{
        const int64_t group = group_of(s, column);
        int64_t same = 1;
        if (!s->group)
                same = s->scale.column_block - column % s->scale.column_block;
        else
                while (same < n && group_of(s, column + same) == group)
                        same++;
        return same < n ? same : n;
}

void scaled_codes(const CodeField *f, CodeRow row, int64_t column, int64_t n, uint8_t *out)
{
        const uint32_t mask = (1u << f->bits) - 1;
        int lane = (int)(column % f->column_lanes);
        const int64_t step = f->column_step * f->width;
        const unsigned char *at = row.word + column / f->column_lanes * step;
        for (int64_t i = 0; i < n; at += step, lane = 0) {
                uint32_t word = *at;
                if (f->width == 4)
                        memcpy(&word, at, sizeof word);
                word >>= row.shift + lane * f->bits;
                const int64_t end = n - i < f->column_lanes - lane ? n : i + f->column_lanes - lane;
                for (; i < end; i++, word >>= f->bits)
                        out[i] = (uint8_t)(word & mask);
        }
}

/* Numbers of n codes of a row by a table. */
static void look_up(const CodeField *f, CodeRow row, int64_t column, int64_t n, const float *table,
                    float *out)
{
        uint8_t code[MAX_CODES];
        for (int64_t first = 0, part; first < n; first += part) {
                part = n - first < MAX_CODES ? n - first : MAX_CODES;
                scaled_codes(f, row, column + first, part, code);
                for (int64_t i = 0; i < part; i++)
                        out[first + i] = table[code[i]];
        }
}

/* A part of a row.  A group of many columns has a table of the numbers of its codes. */
static void read_along(const ScaledReader *r, int64_t batch, int64_t row, int64_t column, int64_t n,
                       float *out)
{
        const CodeField *f = &r->scaled->code;
        const CodeRow codes = code_row(f, batch, row);
        const int ncode = 1 << f->bits;
        float table[MAX_CODES];
        for (int64_t i = 0, same; i < n; i += same) {
                const int64_t group = group_of(r->scaled, column + i);
                same = columns_of_group(r->scaled, column + i, n - i);
                if (same < ncode) {
                        look_up(f, codes, column + i, same, r->value, out + i);
                        scale_group(r, batch, row, group, same, out + i);
                        continue;
                }
                memcpy(table, r->value, (size_t)ncode * sizeof *table);
                scale_group(r, batch, row, group, ncode, table);
                look_up(f, codes, column + i, same, table, out + i);
        }
}

/* A part of a column, of a tensor that is turned: each row has its byte of a scale, and no row is packed. */
static void read_down(const ScaledReader *r, int64_t batch, int64_t row, int64_t column, int64_t n,
                      float *out)
{
        const CkScaled *s = r->scaled;
        const CodeField *f = &s->code;
        const int64_t step = f->row_step * f->width;
        const unsigned char *scale = s->scale.data + batch * s->scale.batch_step + row * s->scale.row_step +
                                     group_of(s, column) * s->scale.group_step;
        CodeRow codes = code_row(f, batch, row);
        codes.word += column / f->column_lanes * f->column_step * f->width;
        codes.shift += (int)(column % f->column_lanes) * f->bits;
        for (int64_t i = 0; i < n; i++, codes.word += step, scale += s->scale.row_step) {
                const float x = r->value[*codes.word >> codes.shift & ((1u << f->bits) - 1)];
                out[i] = rounded_as(s->result, x * r->scale[*scale]);
        }
}

/* ---- a tensor ---- */

bool scaled_is_whole(const CkTensor *tensor)
{
        const CkScaled *s = tensor->scaled;
        struct stat status;
        for (int i = 0; i < s->nparts; i++) {
                const CkFile *file = s->part[i].file;
                bool checked = i && file == s->part[i - 1].file;
                if (!checked && (fstat(file->descriptor, &status) || status.st_size < file->size))
                        return false;
        }
        return true;
}

void scaled_read(const CkTensor *tensor, int64_t first, int64_t count, float *out)
{
        const CkScaled *s = tensor->scaled;
        const int64_t inner = s->turned ? s->rows : s->columns, outer = s->turned ? s->columns : s->rows;
        ScaledReader reader = {.scaled = s};
        fill_values(&s->code, reader.value);
        fill_values(&s->zero, reader.zero);
        for (unsigned byte = 0; s->turned && byte < MAX_CODES; byte++)
                reader.scale[byte] = scale_of_byte(byte);
        for (int64_t at = first, n; at < first + count; at += n) {
                const int64_t i = at % inner, line = at / inner;
                float *to = out + (at - first);
                n = inner - i < first + count - at ? inner - i : first + count - at;
                if (s->turned)
                        read_down(&reader, line / outer, i, line % outer, n, to);
                else
                        read_along(&reader, line / outer, line % outer, i, n, to);
        }
}

/* Codes in the order of the tensor are released with its elements, others whenever some are. */
void scaled_let_go(const CkTensor *tensor, int64_t first, int64_t count)
{
        const CkScaled *s = tensor->scaled;
        const CkTensor *codes = &s->part[0];
        const char *data = codes->data;
        const bool in_order = !s->turned && s->code.row_step > s->code.column_step && !s->code.split;
        const double share = in_order && tensor->count ? (double)codes->bytes / (double)tensor->count : 0;
        const int64_t from = (int64_t)((double)first * share);
        const int64_t to = in_order ? (int64_t)((double)(first + count) * share) : codes->bytes;
        pages_let_go(data + from, data + (to < codes->bytes ? to : codes->bytes));
}
