/* Growable array of any plain type:  VEC(int) v = {0}; VEC_PUSH(&v, 3); v.at[0]; VEC_FREE(&v);
 * Growth aborts when memory is out (base/mem.h). */
#ifndef BASE_VEC_H
#define BASE_VEC_H

#include <stdlib.h>

#include "base/mem.h"

#define VEC(type)        \
    struct {             \
        type *at;        \
        size_t n, space; \
    }

#define VEC_RESERVE(v, count)                                                                 \
    do {                                                                                      \
        if ((v)->space < (size_t)(count)) {                                                   \
            (v)->space = (size_t)(count) > 2 * (v)->space ? (size_t)(count) : 2 * (v)->space; \
            (v)->at = mem_realloc((v)->at, (v)->space * sizeof *(v)->at);                     \
        }                                                                                     \
    } while (0)

#define VEC_PUSH(v, item)           \
    do {                            \
        VEC_RESERVE(v, (v)->n + 1); \
        (v)->at[(v)->n++] = (item); \
    } while (0)

#define VEC_FREE(v)              \
    do {                         \
        free((v)->at);           \
        (v)->at = NULL;          \
        (v)->n = (v)->space = 0; \
    } while (0)

#endif
