/* Attention over what is kept of texts: sizes and strides are written out as numbers; the work is in prelude_kept.h. */
#include <inttypes.h>

#include "codegen/attention.h"

enum { Q, K, V, O }; /* views */

/* Matrix o of a view, in elements of its argument. */
static void point_at(const attention_t *a, int view, const char *name, str_t *out)
{
    const attention_view_t *v = &a->view[view];
    str_addf(out, "const __auto_type %s = a%d + %" PRId64, name, v->arg, v->offset);
    attention_add_place(v, out);
    str_add(out, ";\n");
}

void kept_render(const kernel_t *kernel, str_t *out)
{
    const attention_t *a = kernel->attention;
    const attention_view_t *v = a->view;
    const int64_t rows = a->t / a->pieces;
    str_addf(out,
             "static const pcp_kept_shape_t shape = {%d, %" PRId64 ", %" PRId64 ", %" PRId64
             ", %" PRId64 ", %af};\n"
             "enum { rows = %" PRId64 ", ldp = PCP_UP(%" PRId64 ") };\n"
             "float wq[rows * PCP_KEPT_UP(%" PRId64 ")] __attribute__((aligned(64)));\n"
             "float wp[rows * ldp] __attribute__((aligned(64)));\n"
             "float wo[rows * PCP_KEPT_UP(%" PRId64 ")] __attribute__((aligned(64)));\n",
             v[K].dtype == DT_BF16, a->d, a->e, v[K].row, v[V].row, (double)(float)a->how.scale,
             rows, a->s, a->d, a->e);
    str_addf(out,
             "for (int64_t piece = begin; piece < end; piece++) {\n"
             "const int64_t o = piece / %" PRId64 ", i = piece %% %" PRId64 " * rows;\n",
             a->pieces, a->pieces);
    point_at(a, Q, "q", out);
    point_at(a, K, "k", out);
    point_at(a, V, "v", out);
    point_at(a, O, "y", out);
    str_addf(out,
             "const int64_t at = a%d[o / %" PRId64 "], n = at >= 0 && at < %" PRId64
             " ? at + 1 : 1;\n"
             "pcp_kept_attend(&shape, rows, n, q + i * %" PRId64 ", %" PRId64
             ", k, v, y + i * %" PRId64 ", %" PRId64 ", wq, wp, ldp, wo);\n}\n",
             a->at, a->heads, a->s, v[Q].row, v[Q].row, v[O].row, v[O].row);
}
