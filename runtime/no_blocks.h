/* In place of blocks.h where no weight of the model is in blocks. */
KERNEL void tile_blocks(float *acc, int64_t acc_row, const Factors *f, const int8_t *codes, int64_t row,
                        int64_t steps, int fresh, int rows, int panels)
{
        (void)acc, (void)acc_row, (void)f, (void)codes, (void)row, (void)steps, (void)fresh, (void)rows, (void)panels;
}
