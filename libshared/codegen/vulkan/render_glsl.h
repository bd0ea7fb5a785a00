/* Kernels of the loop-IR as GLSL compute shaders (version 450, for Vulkan). Each kernel is a shader
 * of its own; what lies around it (bindings, how threads share the work) is in codegen/vulkan/shaders.h. */
#ifndef CODEGEN_RENDER_GLSL_H
#define CODEGEN_RENDER_GLSL_H

#include "codegen/helper.h"
#include "codegen/render/render_expr.h"

/* The shader without its head. It begins with comments that say what a device must know
 * (codegen/vulkan/shaders.h). */
void render_glsl(const kernel_t *kernel, helpers_t *helpers, str_t *out);

/* The same for a product of f32 or bf16, in tiles of product->tiles.rows x cols for TILES_LANES
 * threads, and what it needs in its head besides. */
void render_glsl_product(const product_t *product, str_t *out);
const char *render_glsl_product_head(void);

/* Where a GPU computes it in another way (render_glsl_panels.c): is there one; the line that says how many threads and groups
 * that takes; its main and what that needs, from #ifdef PANELS to #else. #endif is due. */
bool panels_has(const plan_gemm_step_t *step);
void panels_describe(const plan_gemm_step_t *step, str_t *out);
void panels_write(const plan_gemm_step_t *step, str_t *out);

/* The same for attention or its gradient: LANES rows for as many threads. */
void render_glsl_attention(const kernel_t *kernel, str_t *out);

/* What a shader starts with: extensions, bindings, the prelude, and the prelude's part for doubles
 * where one of the n kernels (one, as shaders are) needs it. */
void render_glsl_head(str_t *out, int n, char *const *text);

/* What the shader cannot do: a sentence (static or in room[n]) that names the op or type; NULL:
 * nothing. f64: may it compute in doubles? */
const char *render_glsl_refuses(const kernel_t *kernel, bool f64, char *room, size_t n);

/* Between render_glsl.c and render_glsl_expr.c. */
const char *glsl_type(dtype_t dtype); /* of a value in a register */
const char *glsl_node_type(const render_t *self,
                           const kx_node_t *n);   /* of a temporary: `int` for small indices */
void glsl_number(const kx_node_t *n, str_t *out); /* a KX_NUMBER as a value */
void glsl_sum(render_t *self, const kx_node_t *n, str_t *out);
void glsl_node(render_t *self, kx_t x, str_t *out);
void glsl_index(render_t *self, kx_t x, str_t *out); /* as `int` */
void glsl_value(render_t *self, kx_t x, str_t *out); /* as glsl_type of its element type */
void glsl_define(str_t *out, const char *name, int64_t value);
void glsl_define_bool(str_t *out, const char *name, bool value);
/* a / b, rounded up. */
static inline int64_t glsl_above(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

/* const int a<i>: where argument i of n begins in its segment of the arena; const uint g<i>: which that is. */
void glsl_argument(int i, int n, str_t *out);
/* Where elements of a type lie: the arena's name as such ("m_f32", which is m_f32(segment)[element]) and the type in memory. */
const char *glsl_memory(dtype_t dtype, const char **type);
/* The text of a value of type `from`, as it is stored in memory as `to`. */
void glsl_stored(str_t *out, dtype_t to, dtype_t from, bool rounded, const char *text);
void glsl_op(str_t *out, op_code_t op, dtype_t result, dtype_t operand, int n_in,
             const char *const *in);

#endif
