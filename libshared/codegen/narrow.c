/* Conversions of narrow floats: one generic function (base/small_float.h) with the constants of
 * each type's row, inlined by the C compiler. f16 and bf16 have functions of their own in the
 * prelude. */
#include "codegen/narrow.h"

#include <stdio.h>
#include <string.h>

#include "base/small_float.h"
#include "codegen/prelude/prelude_text.h"
#include "ir/dtype.h"

static bool has(int n, char *const *text, const char *word)
{
    for (int i = 0; i < n; i++)
        if (strstr(text[i], word)) return true;
    return false;
}

static void write_conversions(str_t *out, const char *name, const dtype_format_t *f)
{
    str_addf(out,
             "PCP_FN float pcp_f32_from_%s(uint8_t x)\n"
             "{ return (float)pcp_small_float_value(x, %d, %d, %d, %d); }\n"
             "PCP_FN uint8_t pcp_%s_from_f32(float x)\n"
             "{ return (uint8_t)pcp_small_float_code(x, %d, %d, %d, %d); }\n"
             "PCP_FN float kc_round_%s(float x) { return pcp_f32_from_%s(pcp_%s_from_f32(x)); }\n",
             name, f->exp_bits, f->man_bits, f->bias, f->kind, name, f->exp_bits, f->man_bits,
             f->bias, f->kind, name, name, name);
}

void narrow_head(str_t *out, int n, char *const *text)
{
    bool begun = false;
    for (dtype_t dtype = DT_NONE + 1; dtype < DT_COUNT; dtype++) {
        const char *name = dtype_name(dtype);
        const dtype_format_t *f = dtype_format(dtype);
        char next[32];
        snprintf(next, sizeof next, "kc_next_%s(", name);
        bool converts = dtype_is_small(dtype) && has(n, text, name);
        bool steps = dtype_is_narrow(dtype) && has(n, text, next);
        if ((converts || steps) && !begun) str_add(out, prelude_small_float_text());
        begun = begun || converts || steps;
        if (converts) write_conversions(out, name, f);
        if (steps)
            str_addf(out,
                     "PCP_FN float %sfloat a, float b)\n"
                     "{ return (float)pcp_small_float_next(a, b, %d, %d, %d, %d); }\n",
                     next, f->exp_bits, f->man_bits, f->bias, f->kind);
    }
}
