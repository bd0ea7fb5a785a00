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
    return strncmp(target_host(), "vulkan:", 7) == 0 && err->code == ERR_UNSUPPORTED &&
           (strstr(err->text, " has no ") || strstr(err->text, " rounds of loops "));
}

#endif
