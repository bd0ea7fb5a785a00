/* Between render_glsl_attention.c and render_glsl_attention_panels.c: attention as GLSL, for eight threads of a subgroup and
 * for groups with panels in shared memory. */
#ifndef CODEGEN_RENDER_GLSL_ATTENTION_H
#define CODEGEN_RENDER_GLSL_ATTENTION_H

#include "codegen/vulkan/render_glsl.h"
#include "plan/lower/attention.h"

/* Views of a kernel; forward: o and lse are results. And their names in shaders. */
enum { Q, K, V, O, LSE, CT, DQ, DK, DV };
const char *glsl_attention_name(int view);

/* Rows and columns of a matrix of a view. */
void glsl_attention_shape(const attention_t *a, int view, int64_t *rows, int64_t *cols);

/* const vec4 <name>: the n (1 to 4) numbers from `at` (a text) on, zeros behind them. */
void glsl_attention_load(const attention_view_t *v, const char *name, const char *at, int n,
                         str_t *out);
/* n (1 to 4) numbers of the vec4 `value` to `at` and on. */
void glsl_attention_store(const attention_view_t *v, const char *at, const char *value, int n,
                          str_t *out);

/* As render_glsl.h has it for products. `extent`: of the kernel. */
bool attention_panels_has(const attention_t *a);
void attention_panels_describe(const attention_t *a, int64_t extent, str_t *out);
void attention_panels_write(const attention_t *a, int64_t extent, int n_arg, str_t *out);

#endif
