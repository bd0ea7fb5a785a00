#include "codegen/c/stream_panels.h"

#include <inttypes.h>

#include "plan/lower/stream_panels.h"

/* ", PCP_PANELS_<kind>, rows, side". */
static void write_cut(const stream_cut_t *cut, str_t *out)
{
    static const char *const kinds[] = {[PANELS_F32] = "F32",
                                        [PANELS_HALVES] = "HALVES",
                                        [PANELS_PAIRS] = "PAIRS",
                                        [PANELS_DIGITS] = "DIGITS",
                                        [PANELS_BYTES] = "BYTES"};
    str_addf(out, ", PCP_PANELS_%s, %d, %d", kinds[cut->kind], cut->rows, cut->side);
}

static void write_form(const stream_t *s, str_t *out)
{
    const stream_form_t f = stream_panels_form(s);
    str_addf(out, "{%" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64 "}", f.lines,
             f.at, f.next, f.apart, f.terms);
}

void stream_panels_render(const kernel_t *kernel, str_t *out)
{
    const stream_t *s = kernel->stream;
    const plan_gemm_step_t *g = &s->step;
    const stream_cut_t cut = stream_panels_cut(s);
    str_addf(out,
             "    const pcp_panels_t x = {(char *)(a%d + %" PRId64
             "), (const char *)a%d, a%d + %" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64 ", ",
             s->arg_a, stream_panels_direct(s) ? g->a : 0, s->arg_b, s->arg_c, g->c, g->ldc, g->m,
             g->k);
    write_form(s, out);
    str_addf(out,
             "};\n    const int64_t last = end * %" PRId64 ";\n"
             "    pcp_panels_product(&x, begin * %" PRId64 ", last < %" PRId64 " ? last : %" PRId64,
             s->part_cols, s->part_cols, g->n, g->n);
    write_cut(&cut, out);
    str_addf(out, ", %d);\n", cut.panels);
}

void stream_panels_render_lines(const kernel_t *kernel, str_t *out)
{
    const stream_t *s = kernel->stream;
    const plan_gemm_step_t *g = &s->step;
    const stream_cut_t cut = stream_panels_cut(s);
    str_addf(out,
             "    const pcp_stream_t x = {a0 + %" PRId64 ", 0, 0, %" PRId64 ", 0, 0, %" PRId64
             ", %" PRId64 ", 0};\n    const pcp_panels_form_t form = ",
             g->a, g->lda, g->m, g->k);
    write_form(s, out);
    str_add(out, ";\n    pcp_panels_lines(&x, &form, begin, end");
    write_cut(&cut, out);
    str_add(out, ", (char *)a1);\n");
}
