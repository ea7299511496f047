/* Functions from blocks of ternary types, of 4-bit floats with 8-bit scales, and of types by code book to floats, for types.def. */
#ifndef BOOK_TYPES_PRIVATE_H
#define BOOK_TYPES_PRIVATE_H
#include <stdint.h>

void widen_nvfp4(const unsigned char *from, int64_t blocks, float *to);
void widen_tq1_0(const unsigned char *from, int64_t blocks, float *to);
void widen_tq2_0(const unsigned char *from, int64_t blocks, float *to);
void widen_iq3_xxs(const unsigned char *from, int64_t blocks, float *to);
void widen_iq3_s(const unsigned char *from, int64_t blocks, float *to);
void widen_iq2_xxs(const unsigned char *from, int64_t blocks, float *to);
void widen_iq2_xs(const unsigned char *from, int64_t blocks, float *to);
void widen_iq2_s(const unsigned char *from, int64_t blocks, float *to);
void widen_iq1_s(const unsigned char *from, int64_t blocks, float *to);
void widen_iq1_m(const unsigned char *from, int64_t blocks, float *to);

#endif
