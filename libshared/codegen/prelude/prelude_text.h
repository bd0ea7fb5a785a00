/* The text of the prelude, to be written at the head of a generated source. */
#ifndef CODEGEN_PRELUDE_TEXT_H
#define CODEGEN_PRELUDE_TEXT_H

/* prelude_math.h and prelude_int.h one after the other, without their includes of each other: needs
 * no include path. NUL-terminated, static storage; any thread. */
const char *prelude_text(void);

/* prelude_attention.h, for the sources that use it; behind the first part. */
const char *prelude_attention_text(void);
/* prelude_kept.h, behind that. */
const char *prelude_kept_text(void);

/* prelude_stream.h and, behind it, prelude_stream_int.h, prelude_stream_fours.h and prelude_stream_panels.h, in the same way, behind the heads of
 * tiles and packing for a matrix unit. */
const char *prelude_stream_text(void);

/* prelude_split.h, behind the head of packing for a matrix unit. */
const char *prelude_split_text(void);

/* prelude_weave.h, likewise. */
const char *prelude_weave_text(void);

/* ops/complex_math.h, in the same way. */
const char *prelude_complex_text(void);

/* base/small_float.h, in the same way. */
const char *prelude_small_float_text(void);

/* prelude.glsl, and prelude_f64.glsl, which comes behind it. */
const char *prelude_glsl_text(void);
const char *prelude_glsl_f64_text(void);
/* prelude_panels.glsl, behind the head of a product and its words (render_glsl_panels.c). */
const char *prelude_glsl_panels_text(void);
/* prelude_panels_attention.glsl, likewise (render_glsl_attention_panels.c). */
const char *prelude_glsl_panels_attention_text(void);

/* prelude_cuda.cuh or prelude_hip.cuh, before prelude_text; and prelude.cuh, which comes behind it. */
const char *prelude_cuda_text(void);
const char *prelude_hip_text(void);
const char *prelude_threads_text(void);
/* prelude_attention.cuh, behind these, for the sources that use it. */
const char *prelude_threads_attention_text(void);
/* prelude_attention_cuda.cuh, behind that. */
const char *prelude_cuda_attention_text(void);
/* prelude_product_cuda.cuh, behind prelude.cuh, for the sources that use it. */
const char *prelude_cuda_product_text(void);

#endif
