/* Sources to code by a compiler that takes many files at a time: as many processes as there are
 * cores, each with its share of the files. Any thread. */
#ifndef CODEGEN_BATCH_H
#define CODEGEN_BATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

typedef struct {
    const char *program, *language, *package; /* "glslc", "GLSL": for messages; what to install */
    const char *const *flag;                  /* NULL behind the last */
    const char *in, *out; /* file I of the sources is "I.comp", what becomes of it "I.comp.spv" */
    const char *scratch;  /* the kind of its directory (base/scratch.h) */
} batch_t;

/* result[i]: caller frees, on error too (NULL before); size[i]: its bytes. ERR_IO: no such program;
 * ERR_UNSUPPORTED: what it said. */
int batch_run(const batch_t *self, int n, const char *const *source, uint8_t **result, size_t *size,
              err_t *err);

/* Is there such a program in $PATH? */
bool batch_finds(const char *program);

#endif
