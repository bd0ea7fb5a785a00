/* The C prelude of generated kernels: the scalar functions that op_def_t.expr strings name, as
 * pcp_<name>_<type>; the contract is the comment in ops/common.h. Tests include it; codegen
 * writes its text (prelude_text.h) into every generated source, so it is plain C11 with GNU
 * builtins (gcc, clang) and includes nothing of this project but its own parts.
 *
 * The f32 functions of hot loops have no branch and no call, so that loops over them vectorise
 * (gcc 12, x86-64-v3 and -v4: all of prelude_math.h). Compile with
 *     -O3 -fwrapv -fno-math-errno -fno-trapping-math -ffp-contract=fast ... -lm
 * and never with -ffast-math: NaN, infinities and signed zeros count. Errors are stated in units
 * in the last place (ulp) of the f32 result: the largest over all 2^32 inputs against libm in
 * double (prelude_test --all). NaN gives NaN and special values are those of C11 annex F unless
 * said otherwise. f64 calls libm.
 *
 * The f32 functions of prelude_math.h have the same bits on every target, with and without fused
 * multiply-add (prelude_bits_test): they name each a b + c that is rounded once, and on targets
 * without the instruction it is computed exactly in double. The arithmetic of kernels around them
 * is contracted where the target can: that differs, as sums in vectors of another width do. */
#ifndef CODEGEN_PRELUDE_H
#define CODEGEN_PRELUDE_H

#include "codegen/prelude/prelude_int.h"
#include "codegen/prelude/prelude_math.h"

#endif
