/* GLSL to SPIR-V by the program glslc (Debian: glslc; $PCP_GLSLC names another one), as kernels in C
 * are compiled by the system's compiler. The library behind it, libshaderc, cannot be loaded by
 * itself in Debian 12: it wants symbols that only the program has. */
#ifndef CODEGEN_GLSLC_H
#define CODEGEN_GLSLC_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* n compute shaders to SPIR-V 1.3, as many processes at a time as there are cores. spirv[i]: caller
 * frees, on error too; size[i]: its bytes. ERR_IO: no such program; ERR_UNSUPPORTED: what it said.
 */
int glslc_run(int n, const char *const *source, uint8_t **spirv, size_t *size, err_t *err);

#endif
