/* Static C functions that generated kernels call: register tiles, packing. Equal ones are written
 * once. One thread at a time per set. */
#ifndef CODEGEN_HELPER_H
#define CODEGEN_HELPER_H

#include "base/str.h"
#include "base/vec.h"

typedef struct {
    char *name, *text; /* text: from the parameter list to the closing brace */
} helper_t;

typedef struct {
    VEC(helper_t) helper;
} helpers_t;

void helpers_fini(helpers_t *self);

/* The name of the function of type void with this text, added when new: "<stem>_<hash>". Borrowed
 * until helpers_fini. */
const char *helpers_add(helpers_t *self, const char *stem, const char *text);

/* All of them, in the order of their addition: the head of a C file. */
void helpers_print(const helpers_t *self, str_t *out);

#endif
