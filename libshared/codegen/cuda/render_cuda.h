/* Kernels of the loop-IR as CUDA C++, or as HIP, which differs by a table (cuda_dialect_t): expressions
 * are those of C (render_expr.c), with indices of 32 bits where their range allows; threads share loops
 * as in every language of many threads (render_turns.c). What lies around a kernel is in
 * codegen/cuda/cubins.h. */
#ifndef CODEGEN_RENDER_CUDA_H
#define CODEGEN_RENDER_CUDA_H

#include "codegen/render/render_expr.h"
#include "codegen/target.h"

enum { CUDA_BLOCK = 256 };  /* threads, where a kernel does not ask for others */
enum { CUDA_MOST = 1024 };  /* threads of a block */
enum { CUDA_TURNS = 4096 }; /* tiles of a product whose parts take turns */

/* What one language of the family does otherwise than others. */
typedef struct {
    int warp;                   /* threads of a group at least, whole warps (PCP_WARP) */
    const char *(*words)(void); /* what a source starts with (prelude_cuda.cuh, prelude_hip.cuh) */
    const char *(*attention)(void); /* its own way (prelude_attention_cuda.cuh); NULL: none */
    const char *(*product)(void);   /* of bf16, likewise (prelude_product_cuda.cuh) */
} cuda_dialect_t;

/* A line that says how the kernel is launched (codegen/cuda/cubins.h), then the function without its
 * name. */
void render_cuda(const cuda_dialect_t *dialect, const kernel_t *kernel, str_t *out);
/* The same for a product of f32 or bf16: render_cuda_product.c. */
void render_cuda_product(const cuda_dialect_t *dialect, const product_t *product, str_t *out);
/* Is it a product in the dialect's own way? */
bool render_cuda_product_is_staged(const char *text);
/* The same for attention or its gradient: render_cuda_attention.c. */
void render_cuda_attention(const cuda_dialect_t *dialect, const kernel_t *kernel, str_t *out);

/* With its name, behind a line that names it. */
void render_cuda_symbol(const char *name, const char *body, str_t *out);

/* What a source starts with: the dialect's words, the prelude, and conversions that the n kernels in text[] need. */
void render_cuda_head(const cuda_dialect_t *dialect, str_t *out, int n, char *const *text);

/* Is there code for kernels of this kind? */
bool render_cuda_supports(kernel_kind_t kind);

/* What the kernel asks for that there is no code for on any target: a sentence (static or in room[n]); NULL:
 * nothing. */
const char *render_cuda_refuses(const target_t *target, const kernel_t *kernel, char *room,
                                size_t n);

#endif
