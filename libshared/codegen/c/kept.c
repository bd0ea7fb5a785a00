/* Attention over what is kept of texts: sizes and strides are written out as numbers; the work is in prelude_kept.h. */
#include <inttypes.h>
#include <string.h>

#include "codegen/attention.h"

enum { Q, K, V, O }; /* views */

bool kept_is_in(const char *text)
{
    return strstr(text, "pcp_kept_") != NULL;
}

/* Matrix `number` of a view: a pointer into its argument. */
static void point_at(const attention_t *a, int view, const char *name, str_t *out)
{
    const attention_view_t *v = &a->view[view];
    str_addf(out, "const __auto_type %s = a%d + %" PRId64, name, v->arg, v->offset);
    attention_add_place(v, out);
    str_add(out, ";\n");
}

static void declare_room(const attention_t *a, int64_t rows, str_t *out)
{
    str_addf(out,
             "enum { rows = %" PRId64 ", ldp = PCP_UP(%" PRId64 ") };\n"
             "float wq[rows * PCP_KEPT_UP(%" PRId64 ")] __attribute__((aligned(64)));\n"
             "float wp[rows * ldp] __attribute__((aligned(64)));\n"
             "float wo[rows * PCP_KEPT_UP(%" PRId64 ")] __attribute__((aligned(64)));\n",
             rows, a->s, a->d, a->e);
}

void kept_render(const kernel_t *kernel, str_t *out)
{
    const attention_t *a = kernel->attention;
    const attention_view_t *v = a->view;
    declare_room(a, a->t / a->pieces, out);
    str_addf(out,
             "for (int64_t piece = begin; piece < end; piece++) {\n"
             "int64_t o = (piece + 1 < end ? piece + 1 : piece) / %" PRId64 ";\n",
             a->pieces);
    point_at(a, K, "next", out);
    str_addf(out, "o = piece / %" PRId64 ";\nconst int64_t i = piece %% %" PRId64 " * rows;\n",
             a->pieces, a->pieces);
    point_at(a, Q, "q", out);
    point_at(a, K, "k", out);
    point_at(a, V, "v", out);
    point_at(a, O, "y", out);
    str_addf(out,
             "const pcp_kept_head_t head = {{k, %" PRId64 ", %" PRId64 "}, {v, %" PRId64
             ", %" PRId64 "}, {next, %" PRId64 ", %" PRId64 "}, q + i * %" PRId64
             ", y + i * %" PRId64 ", rows, %" PRId64 ", %" PRId64 "};\n",
             v[K].row, a->d, v[V].row, a->e, v[K].row, a->d, v[Q].row, v[O].row, v[Q].row,
             v[O].row);
    str_addf(out,
             "const int64_t at = a%d[o / %" PRId64 "], n = at >= 0 && at < %" PRId64
             " ? at + 1 : 1;\n"
             "pcp_kept_attend(%d, %af, &head, n, wq, wp, ldp, wo);\n}\n",
             a->at, a->heads, a->s, v[K].dtype == DT_BF16, (double)(float)a->how.scale);
}
