/* Targets that have less than the others refuse what they lack by name; that is no wrong result. For
 * those of processors, which have everything, nothing counts as refused. */
#ifndef TESTS_REFUSED_H
#define TESTS_REFUSED_H

#include <stdbool.h>
#include <string.h>

#include "base/err.h"
#include "codegen/target.h"

static inline bool refused_by_name(const err_t *err)
{
    const char *target = target_host();
    bool has_less = strncmp(target, "vulkan:", 7) == 0 || strncmp(target, "cuda:", 5) == 0 ||
                    strncmp(target, "hip:", 4) == 0;
    return has_less && err->code == ERR_UNSUPPORTED &&
           (strstr(err->text, " has no ") || strstr(err->text, " rounds of loops "));
}

#endif
