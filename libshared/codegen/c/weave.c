#include "codegen/c/weave.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "plan/lower/weave.h"

void weave_render(const kernel_t *kernel, str_t *out)
{
    const weave_t *w = kernel->weave;
    int64_t across = (w->cols + PLAN_WOVEN - 1) / PLAN_WOVEN;
    char to[WEAVE_WAYS][16];
    for (int way = 0; way < WEAVE_WAYS; way++)
        snprintf(to[way], sizeof to[way], w->arg[way] < 0 ? "0" : "a%d", w->arg[way]);
    str_addf(out,
             "    for (int64_t i = begin; i < end; i++)\n"
             "        pcp_weave_square(a0, %" PRId64 ", %" PRId64 ", i / %" PRId64 ", i %% %" PRId64
             ", %s, %s);\n"
             "    __builtin_ia32_sfence();\n", /* what is past the caches, before the step ends */
             w->rows, w->cols, across, across, to[WEAVE_BY_ROWS], to[WEAVE_BY_COLS]);
}

bool weave_is_in(const char *text)
{
    return strstr(text, "pcp_weave_square(") != NULL;
}
