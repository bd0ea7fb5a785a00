/* Kernels to code for a target. */
#ifndef CODEGEN_CODEGEN_H
#define CODEGEN_CODEGEN_H

#include "base/err.h"
#include "base/str.h"
#include "codegen/helper.h"
#include "codegen/target.h"
#include "plan/kernel/kernel.h"

/* The distinct kernels of a list, rendered for a target: equal texts are one symbol. */
typedef struct {
    const target_t *target;
    int n_symbol;
    char **name;       /* by symbol: "k0_<hash>" */
    char **text;       /* by symbol: the function without its name */
    int *symbol;       /* by kernel of the list */
    helpers_t helpers; /* functions that they call */
} codegen_t;

/* Render by the target's backend. ERR_UNSUPPORTED names a kernel that the backend has no code for;
 * self is then empty. codegen_fini is due in any case. */
int codegen_init(codegen_t *self, const target_t *target, int n_kernel,
                 const kernel_t *const *kernels, err_t *err);
void codegen_fini(codegen_t *self);

/* One complete C source with all symbols, for people. */
void codegen_print(const codegen_t *self, str_t *out);

/* Compile. Returns the code, caller frees; errors as compiler_run. Without kernels the code is
 * empty: *n_bytes 0 and a byte of memory. */
uint8_t *codegen_compile(const codegen_t *self, size_t *n_bytes, err_t *err);

#endif
