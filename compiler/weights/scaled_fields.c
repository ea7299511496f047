/* Codes, zero points and scales of a quantised matrix, from the tensors that scaled_find.c has gathered. */
#include <stdlib.h>
#include <string.h>

#include "scaled_find_private.h"

static const uint8_t in_order[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
/* of 8 rows: lanes of rows 0 .. 7, where lanes have rows 0 2 4 6 1 3 5 7 */
static const uint8_t alternating[8] = {0, 4, 1, 5, 2, 6, 3, 7};

const ScaledRow scaled_rows[SCALED_FORMATS] = {
#define SCALED(name, codes, type, tensor, scales, global, zeros, layout, bits, floats, value, zero)          \
        {codes,           CK_##type, tensor, scales,        global,      zeros,                              \
         SCALED_##layout, bits,      floats, VALUE_##value, VALUE_##zero},
#include "scaled.def"
#undef SCALED
};

int64_t ceil_div(int64_t a, int64_t b)
{
        return a / b + (a % b != 0);
}

bool is_by_columns(const Matrix *m)
{
        return scaled_rows[m->format].layout == SCALED_ACROSS || scaled_rows[m->format].layout == SCALED_DOWN;
}

int64_t rows_of_zeros(const Matrix *m, int bits)
{
        return m->part[PART_ZEROS]->dtype == CK_I32 ? ceil_div(m->grid_rows, 32 / bits) : m->grid_rows;
}

bool is_float_type(CkType type)
{
        return type == CK_F32 || type == CK_F16 || type == CK_BF16;
}

static CodeField field_of_codes(const Matrix *m)
{
        const CkTensor *t = m->part[PART_CODES];
        const ScaledLayout layout = scaled_rows[m->format].layout;
        CodeField c = {
                .data = t->data, .width = t->dtype == CK_I32 ? 4 : 1, .value = scaled_rows[m->format].value};
        c.bits = scaled_rows[m->format].bits ? scaled_rows[m->format].bits : m->scheme->bits;
        const int per = 8 * c.width / c.bits;
        c.order = in_order;
        c.row_lanes = layout == SCALED_ACROSS ? per : 1;
        c.column_lanes =
                layout == SCALED_BYTES || layout == SCALED_QUARTERS || layout == SCALED_ACROSS ? 1 : per;
        c.row_step =
                layout == SCALED_DOWN || layout == SCALED_ACROSS ? 1 : ceil_div(m->columns, c.column_lanes);
        c.column_step = layout == SCALED_ACROSS ? m->rows / per : layout == SCALED_DOWN ? m->rows : 1;
        c.split = layout == SCALED_QUARTERS ? m->rows / 4 : 0;
        c.batch_step = m->rows * c.row_step;
        if (layout == SCALED_ACROSS && per == 8)
                c.order = alternating;
        return c;
}

static CodeField field_of_zeros(const Matrix *m)
{
        const CkTensor *t = m->part[PART_ZEROS];
        CodeField z = {.data = NULL};
        if (!t)
                return z;
        z = (CodeField){.data = t->data, .width = 1, .bits = 8, .value = VALUE_SIGNED, .row_lanes = 1};
        z.column_lanes = 1;
        z.order = in_order;
        if (t->dtype == CK_I32) {
                z.width = 4;
                z.bits = m->scheme->bits;
                z.value = scaled_rows[m->format].zero;
                z.row_lanes = 32 / z.bits;
                if (scaled_rows[m->format].layout == SCALED_ACROSS && z.row_lanes == 8)
                        z.order = alternating;
        }
        z.row_step = is_by_columns(m) ? 1 : m->groups;
        z.column_step = is_by_columns(m) ? rows_of_zeros(m, z.bits) : 1;
        z.batch_step = rows_of_zeros(m, z.bits) * m->groups;
        return z;
}

static ScaleField field_of_scales(const Finder *f, const Matrix *m)
{
        const CkTensor *t = m->part[PART_SCALES];
        ScaleField s = {.data = t->data, .type = t->dtype, .inverse = f->config->inverse};
        s.row_block = m->scheme->row_block ? m->scheme->row_block : m->rows;
        s.column_block = m->scheme->column_block ? m->scheme->column_block : m->columns;
        s.row_step = is_by_columns(m) ? 1 : m->groups;
        s.group_step = is_by_columns(m) ? m->grid_rows : 1;
        s.batch_step = m->grid_rows * m->groups;
        if (m->part[PART_GLOBAL])
                memcpy(m->format == FORMAT_PAIRS_2 ? &s.factor : &s.divisor, m->part[PART_GLOBAL]->data,
                       sizeof(float));
        return s;
}

/* Types to which numbers are rounded: that of the scales, then that of the model. */
static void set_types(const Finder *f, const Matrix *m, CkScaled *s)
{
        const ScaledConfig *c = f->config;
        const CkType scale = m->part[PART_SCALES]->dtype;
        const bool plain = is_float_type(scale) && !m->part[PART_GLOBAL];
        s->computed = c->rounding == ROUNDED_ONCE || c->inverse ? CK_F32 : plain ? scale : CK_BF16;
        s->result = s->computed;
        if (c->rounding == ROUNDED_ONCE)
                s->result = c->has_dtype ? c->dtype : plain ? scale : CK_BF16;
        else if (c->rounding == ROUNDED_TO_MODEL && c->has_dtype && c->dtype != CK_F32)
                s->result = c->dtype;
}

void scaled_free(const CkScaled *s)
{
        if (s)
                free((void *)s->part);
        free((void *)s);
}

/* Whether column c is in group c / size of a group, as without a list. */
static bool are_consecutive(const Matrix *m)
{
        const CkTensor *list = m->part[PART_GROUPS];
        const int64_t size = m->scheme->column_block ? m->scheme->column_block : m->columns;
        for (int64_t i = 0; list && i < list->count; i++) {
                int32_t group;
                memcpy(&group, (const char *)list->data + i * (int64_t)sizeof group, sizeof group);
                if (group != i / size)
                        return false;
        }
        return true;
}

CkScaled *scaled_new(const Finder *f, const Matrix *m)
{
        CkScaled *s = calloc(1, sizeof *s);
        CkTensor *part = s ? calloc(PARTS, sizeof *part) : NULL;
        if (!part) {
                free(s);
                ck_lack(f->err, "%s: out of memory", f->config->path);
                return NULL;
        }
        for (int i = 0; i < PARTS; i++)
                if (m->part[i])
                        part[s->nparts++] = *m->part[i];
        s->part = part;
        s->rows = m->rows;
        s->columns = m->columns;
        s->groups = m->groups;
        s->turned = scaled_rows[m->format].layout == SCALED_BLOCKS_32;
        s->code = field_of_codes(m);
        s->zero = field_of_zeros(m);
        s->scale = field_of_scales(f, m);
        s->group = are_consecutive(m) ? NULL : m->part[PART_GROUPS]->data;
        set_types(f, m, s);
        s->blocks = scaled_block_type(s);
        return s;
}

const char *scaled_note(Arena *arena, const Checkpoint *checkpoint)
{
        int64_t before = 0, after = 0;
        int count[CK_TYPE_COUNT] = {0};
        const char *blocks = NULL, *numbers = NULL;
        for (int i = 0; i < checkpoint_count(checkpoint); i++) {
                const CkTensor *t = checkpoint_at(checkpoint, i);
                if (!t->scaled)
                        continue;
                const CkType type = t->scaled->blocks != CK_TYPE_COUNT ? t->scaled->blocks : t->dtype;
                count[type]++;
                before += t->bytes;
                after += t->count / ck_type_values(type) * (ck_type_bits(type) / 8);
        }
        for (int type = 0; type < CK_TYPE_COUNT; type++) {
                const char **to = ck_type_values((CkType)type) > 1 ? &blocks : &numbers;
                if (count[type])
                        *to = arena_printf(arena, "%s%s%d in %s", *to ? *to : "", *to ? ", " : "",
                                           count[type], ck_type_name((CkType)type));
        }
        return blocks || numbers ? arena_printf(arena,
                                                "matrices of codes with scales%s%s%s%s; %s become %s; "
                                                "--quant changes their types",
                                                blocks ? ", kept as blocks: " : "", blocks ? blocks : "",
                                                numbers ? ", whose numbers are kept: " : "",
                                                numbers ? numbers : "", in_units(arena, (double)before, "B"),
                                                in_units(arena, (double)after, "B"))
                                 : NULL;
}
