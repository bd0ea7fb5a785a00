/* Discrete Fourier transforms, y_k = sum_j x_j e^(-2 pi i j k / n), or with + and divided by n. */
#ifndef OPS_FFT_H
#define OPS_FFT_H

#include "ops/common.h"

/* One transform of n numbers in place, not divided by n, by factors of n (n times their
 * sum products), or by a chirp when one of them is long. backward: with e^(+..). */
void fft_line(complex_t *x, int64_t n, bool backward);

/* An fft op on x, appended to fn: type FFT, IFFT, RFFT or IRFFT over the last n_length dimensions.
 */
ir_val_t fft_emit(ir_fn_t *fn, ir_val_t x, const char *type, const int64_t *length, int n_length);

/* op_def_t.expand of fft: products with small transform matrices. */
void fft_expand(ir_fn_t *fn, const ir_op_t *op, const ir_type_t *types, const ir_val_t *in,
                ir_val_t *out);

#endif
