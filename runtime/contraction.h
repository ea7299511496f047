/*
 * Products of two tensors that are both computed, such as scores that nothing fuses:
 *
 *      y[i][j] = sum over p < k of a[i][p] b[p][j]
 *
 * by the chains of matmul(): from +0, an fma for each p, ascending.  A unit of 32 rows is multiplied by 64 columns of b at a time, 128
 * steps of k at a time; the sums are kept in scratch:
 *
 *      b in f32, columns contiguous        its panels of 16 columns are read in place
 *      b in f32, steps contiguous          packed into panels in scratch, transposed 4 by 16: the layout of keys in rows
 *      others                              packed element by element
 *
 * A term with a = 0 (`zeros` 1), b = 0 (2), or either (3) is skipped, whatever the other factor is: masks make them 0.  The terms that a
 * mask leaves in a row are mostly contiguous: those that all rows of a tile share are computed by the tile, the others row by row.
 *
 * Needs team.h, a v16 header, narrow.h, kept.h, tile.h, matmul.h, and the storages of b: STATES(S) is S(storage) for each.
 */

#if !defined(EMITTED)
#include "contraction_call.h"
#endif

/* A block: steps from `first` on, columns from `column` on, and the rows of a unit. */
typedef struct {
        int64_t row, first, column;
        int rows, steps, columns, panels;
        RowsByPanels by;
        float *b_panels; /* [panel][CONTRACT_STEPS][16] */
        float *copied; /* [row][CONTRACT_STEPS]: copy of a, if its steps are not contiguous */
        float *acc;    /* [row][CONTRACT_COLUMNS] */
} ContractBlock;

/* `lanes` columns of b from element `at` on. */
KERNEL v16 contract_columns(const Contraction *c, int64_t at, int lanes, int storage)
{
#if HAS_CODES
        if (is_kept(storage))
                return v_load_kept_strided(storage, c->b, at, c->b_lane, lanes);
#endif
#if HAS_F16_STATES
        if (storage == STORAGE_F16)
                return v_load_f16_strided((const uint16_t *)c->b + at, (ptrdiff_t)c->b_lane, lanes);
#endif
#if HAS_BF16_STATES
        if (storage == STORAGE_BF16)
                return v_load_bf16_strided((const uint16_t *)c->b + at, (ptrdiff_t)c->b_lane, lanes);
#endif
#if !HAS_NARROW_STATES
        (void)storage;
#endif
        return v_load_strided((const float *)c->b + at, (ptrdiff_t)c->b_lane, lanes);
}

KERNEL void contract_pack_of(const Contraction *c, const ContractBlock *t, int storage)
{
        for (int j = 0; j < t->columns; j += 16) {
                const int lanes = t->columns - j < 16 ? t->columns - j : 16;
                const int64_t at = c->b_at + t->first * c->b_step + (t->column + j) * c->b_lane;
                float *to = t->b_panels + j * CONTRACT_STEPS;
                int p = 0;
                for (; storage == STORAGE_F32 && c->b_step == 1 && lanes == 16 && p + 4 <= t->steps; p += 4) {
                        v16 x[4];
                        UNROLL
                        for (int i = 0; i < 4; i++)
                                x[i] = v_load_quarters((const float *)c->b + at + p + i * c->b_lane,
                                                       (ptrdiff_t)(4 * c->b_lane));
                        v_turn_quarters(x);
                        UNROLL
                        for (int i = 0; i < 4; i++)
                                v_store(to + (p + i) * 16, x[i]);
                }
                for (; p < t->steps; p++)
                        v_store(to + p * 16, contract_columns(c, at + p * c->b_step, lanes, storage));
        }
}

/* A case for one of STATES. */
#define OF_CONTRACTION(of) else if (storage == (of)) contract_pack_of(c, t, of);

/* Packs the block's panels of b. */
SHARED void contract_pack(const Contraction *c, ContractBlock *t)
{
        t->by.w = t->b_panels;
        t->by.w_panel = 16 * CONTRACT_STEPS;
        t->by.w_step = 16;
        t->by.ahead = 0;
#if HAS_NARROW_STATES
        const int storage = c->storage;
        if (0)
                ;
        STATES(OF_CONTRACTION)
#else
        contract_pack_of(c, t, STORAGE_F32);
#endif
}

/* Copies the block's rows of a. */
KERNEL void contract_rows(const Contraction *c, ContractBlock *t)
{
        const float *a = c->a + t->row * c->a_row + t->first * c->a_step;
        t->by.x = a;
        t->by.x_row = c->a_row;
        if (c->a_step == 1)
                return;
        for (int i = 0; i < t->rows; i++)
                for (int p = 0; p < t->steps; p++)
                        t->copied[i * CONTRACT_STEPS + p] = a[i * c->a_row + p * c->a_step];
        t->by.x = t->copied;
        t->by.x_row = CONTRACT_STEPS;
}

/* Adds steps from <= p < to of `rows` rows from row i on. */
KERNEL void contract_steps(const ContractBlock *t, int i, int rows, int from, int to)
{
        RowsByPanels by = t->by;
        by.x += i * by.x_row + from;
        by.w += from * by.w_step;
        if (from < to)
                product_of_rows(t->acc + i * CONTRACT_COLUMNS, CONTRACT_COLUMNS, &by, to - from, 0, rows, t->panels);
}

/* The same for row i, without the terms with a factor of 0. */
KERNEL void contract_runs(const ContractBlock *t, int i, int from, int to)
{
        const float *x = t->by.x + i * t->by.x_row;
        for (int end; from < to; from = end) {
                while (from < to && x[from] == 0)
                        from++;
                for (end = from; end < to && x[end] != 0; end++)
                        ;
                contract_steps(t, i, 1, from, end);
        }
}

/* Sets *from and *to to the range of row i's nonzero factors.  Returns whether there are no zeros in it. */
KERNEL int contract_bounds(const ContractBlock *t, int i, int *from, int *to)
{
        const float *x = t->by.x + i * t->by.x_row;
        v16 zeros = v_set1(0);
        *from = 0;
        *to = t->steps;
        for (int p = 0; p < t->steps; p += 16) /* lanes beyond the end count as zeros; the same number is added below */
                zeros = v_add(zeros, v_eq(v_load_n(x + p, t->steps - p < 16 ? t->steps - p : 16), v_set1(0)));
        const int count = (t->steps + 15) / 16 * 16 - (int)v_sum(zeros);
        if (count == 0)
                *to = 0;
        while (*from < *to && x[*from] == 0)
                ++*from;
        while (*from < *to && x[*to - 1] == 0)
                --*to;
        return *to - *from == count;
}

/* A tile, without the zeros of a. */
KERNEL void contract_past_left(const ContractBlock *t, int i, int rows)
{
        int from[12], to[12], begin = 0, end = t->steps, whole = 1;
        for (int r = 0; r < rows; r++) {
                whole &= contract_bounds(t, i + r, &from[r], &to[r]);
                begin = from[r] > begin ? from[r] : begin;
                end = to[r] < end ? to[r] : end;
        }
        if (!whole || begin > end)
                begin = end = t->steps;
        for (int r = 0; r < rows; r++)
                contract_runs(t, i + r, from[r], to[r] < begin ? to[r] : begin);
        contract_steps(t, i, rows, begin, end);
        for (int r = 0; r < rows; r++)
                contract_runs(t, i + r, from[r] > end ? from[r] : end, to[r]);
}

/* A row, without the zeros of b, and of a if `left`. */
KERNEL void contract_past_right(const ContractBlock *t, int i, int left)
{
        const float *x = t->by.x + i * t->by.x_row;
        for (int j = 0; j < t->panels; j++) {
                float *acc = t->acc + i * CONTRACT_COLUMNS + 16 * j;
                v16 sum = v_load(acc);
                for (int p = 0; p < t->steps; p++) {
                        const v16 w = v_load(t->by.w + j * t->by.w_panel + p * t->by.w_step);
                        const v16 more = v_fma(v_set1(x[p]), w, sum);
                        if (!left || x[p] != 0)
                                sum = v_where(v_eq(w, v_set1(0)), sum, more);
                }
                v_store(acc, sum);
        }
}

/* All rows of a block. */
SHARED void contract_block(const Contraction *c, ContractBlock *t)
{
        for (int i = 0, rows; i < t->rows; i += rows) {
                rows = tile_rows_at_once(t->rows - i);
                if (c->zeros == 0)
                        contract_steps(t, i, rows, 0, t->steps);
                else if (c->zeros == 1)
                        contract_past_left(t, i, rows);
                else
                        for (int r = 0; r < rows; r++)
                                contract_past_right(t, i + r, c->zeros & 1);
        }
}

/* Address of the next columns if they can be read in place; NULL: they must be packed. */
KERNEL int contract_in_place(const Contraction *c, ContractBlock *t)
{
        const int64_t left = c->n - t->column;
        t->columns = left < CONTRACT_COLUMNS ? (int)left : CONTRACT_COLUMNS;
#if HAS_NARROW_STATES
        if (c->storage != STORAGE_F32)
                return 0;
#endif
        if (c->b_lane != 1 || t->columns < 16)
                return 0;
        t->columns = t->columns / 16 * 16;
        t->by.w_panel = 16;
        t->by.w_step = c->b_step;
        t->by.ahead = 16;
        return 1;
}

/* Unit number `unit`, of `rows` rows.  scratch is [CONTRACT_SCRATCH].  Reads nothing past the operands. */
SHARED void contract(const Contraction *c, int64_t unit, int64_t rows, float *scratch)
{
        ContractBlock t = {.row = unit * CONTRACT_ROWS, .b_panels = scratch};
        t.rows = rows - t.row < CONTRACT_ROWS ? (int)(rows - t.row) : CONTRACT_ROWS;
        t.copied = scratch + CONTRACT_COLUMNS * CONTRACT_STEPS;
        t.acc = t.copied + (CONTRACT_ROWS + 12) * CONTRACT_STEPS;
        for (; t.column < c->n; t.column += t.columns) {
                const int in_place = contract_in_place(c, &t);
                t.panels = (t.columns + 15) / 16;
                for (int i = 0; i < t.rows * CONTRACT_COLUMNS; i += 16)
                        v_store(t.acc + i, v_set1(0));
                for (t.first = 0; t.first < c->k; t.first += t.steps) {
                        t.steps = c->k - t.first < CONTRACT_STEPS ? (int)(c->k - t.first) : CONTRACT_STEPS;
                        if (in_place)
                                t.by.w = (const float *)c->b + c->b_at + t.first * c->b_step + t.column;
                        else
                                contract_pack(c, &t);
                        contract_rows(c, &t);
                        contract_block(c, &t);
                }
                for (int i = 0; i < t.rows; i++)
                        for (int j = 0; j < t.columns; j += 16)
                                v_store_n(c->y + (t.row + i) * c->y_row + t.column + j,
                                          v_load(t.acc + i * CONTRACT_COLUMNS + j),
                                          t.columns - j < 16 ? t.columns - j : 16);
        }
}
