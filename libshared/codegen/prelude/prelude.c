/* The prelude's own source as bytes of the library: one truth for tests and for generated code. */
#include "codegen/prelude/prelude_text.h"

/* Not used here: included so that this file is built again when the text changes. */
#include "codegen/prelude/prelude.h"
#pragma GCC diagnostic ignored "-Wunknown-pragmas" /* omp simd, which is off here */
#include "base/small_float.h"
#include "codegen/prelude/prelude_attention_matrix.h"
#include "codegen/prelude/prelude_kept.h"
#include "codegen/prelude/prelude_split.h"
#include "codegen/prelude/prelude_stream_panels.h"
#include "codegen/prelude/prelude_weave.h"
#include "ops/complex_math.h"

/* Paths are relative to the top of the repository, where make runs. */
__asm__(".pushsection .rodata\n"
        ".local prelude_bytes\n"
        "prelude_bytes:\n"
        ".incbin \"libshared/codegen/prelude/prelude_math.h\"\n"
        ".incbin \"libshared/codegen/prelude/prelude_int.h\"\n"
        ".byte 0\n"
        ".local prelude_attention_bytes\n"
        "prelude_attention_bytes:\n"
        ".incbin \"libshared/codegen/prelude/prelude_attention.h\"\n"
        ".incbin \"libshared/codegen/prelude/prelude_attention_pairs.h\"\n"
        ".incbin \"libshared/codegen/prelude/prelude_attention_matrix.h\"\n"
        ".byte 0\n"
        ".local prelude_kept_bytes\n"
        "prelude_kept_bytes:\n"
        ".incbin \"libshared/codegen/prelude/prelude_kept.h\"\n"
        ".byte 0\n"
        ".local prelude_stream_bytes\n"
        "prelude_stream_bytes:\n"
        ".incbin \"libshared/codegen/prelude/prelude_stream.h\"\n"
        ".incbin \"libshared/codegen/prelude/prelude_stream_int.h\"\n"
        ".incbin \"libshared/codegen/prelude/prelude_stream_fours.h\"\n"
        ".incbin \"libshared/codegen/prelude/prelude_stream_panels.h\"\n"
        ".byte 0\n"
        ".local prelude_split_bytes\n"
        "prelude_split_bytes:\n"
        ".incbin \"libshared/codegen/prelude/prelude_split.h\"\n"
        ".byte 0\n"
        ".local prelude_weave_bytes\n"
        "prelude_weave_bytes:\n"
        ".incbin \"libshared/codegen/prelude/prelude_weave.h\"\n"
        ".byte 0\n"
        ".local prelude_complex_bytes\n"
        "prelude_complex_bytes:\n"
        ".incbin \"libshared/ops/complex_math.h\"\n"
        ".byte 0\n"
        ".local prelude_small_float_bytes\n"
        "prelude_small_float_bytes:\n"
        ".incbin \"libshared/base/small_float.h\"\n"
        ".byte 0\n"
        ".local prelude_glsl_bytes\n"
        "prelude_glsl_bytes:\n"
        ".incbin \"libshared/codegen/prelude/prelude.glsl\"\n"
        ".byte 0\n"
        ".local prelude_glsl_f64_bytes\n"
        "prelude_glsl_f64_bytes:\n"
        ".incbin \"libshared/codegen/prelude/prelude_f64.glsl\"\n"
        ".byte 0\n"
        ".local prelude_glsl_panels_bytes\n"
        "prelude_glsl_panels_bytes:\n"
        ".incbin \"libshared/codegen/prelude/prelude_panels.glsl\"\n"
        ".byte 0\n"
        ".local prelude_glsl_panels_attention_bytes\n"
        "prelude_glsl_panels_attention_bytes:\n"
        ".incbin \"libshared/codegen/prelude/prelude_panels_attention.glsl\"\n"
        ".byte 0\n"
        ".local prelude_cuda_bytes\n"
        "prelude_cuda_bytes:\n"
        ".incbin \"libshared/codegen/prelude/prelude_cuda.cuh\"\n"
        ".byte 0\n"
        ".local prelude_hip_bytes\n"
        "prelude_hip_bytes:\n"
        ".incbin \"libshared/codegen/prelude/prelude_hip.cuh\"\n"
        ".byte 0\n"
        ".local prelude_threads_bytes\n"
        "prelude_threads_bytes:\n"
        ".incbin \"libshared/codegen/prelude/prelude.cuh\"\n"
        ".byte 0\n"
        ".local prelude_threads_attention_bytes\n"
        "prelude_threads_attention_bytes:\n"
        ".incbin \"libshared/codegen/prelude/prelude_attention.cuh\"\n"
        ".byte 0\n"
        ".local prelude_cuda_attention_bytes\n"
        "prelude_cuda_attention_bytes:\n"
        ".incbin \"libshared/codegen/prelude/prelude_attention_cuda.cuh\"\n"
        ".byte 0\n"
        ".local prelude_cuda_product_bytes\n"
        "prelude_cuda_product_bytes:\n"
        ".incbin \"libshared/codegen/prelude/prelude_product_cuda.cuh\"\n"
        ".byte 0\n"
        ".popsection\n");

extern const char prelude_bytes[] __attribute__((visibility("hidden")));
extern const char prelude_attention_bytes[] __attribute__((visibility("hidden")));
extern const char prelude_kept_bytes[] __attribute__((visibility("hidden")));
extern const char prelude_stream_bytes[] __attribute__((visibility("hidden")));
extern const char prelude_split_bytes[] __attribute__((visibility("hidden")));
extern const char prelude_weave_bytes[] __attribute__((visibility("hidden")));
extern const char prelude_complex_bytes[] __attribute__((visibility("hidden")));
extern const char prelude_small_float_bytes[] __attribute__((visibility("hidden")));

extern const char prelude_glsl_bytes[] __attribute__((visibility("hidden")));
extern const char prelude_glsl_f64_bytes[] __attribute__((visibility("hidden")));
extern const char prelude_glsl_panels_bytes[] __attribute__((visibility("hidden")));
extern const char prelude_glsl_panels_attention_bytes[] __attribute__((visibility("hidden")));
extern const char prelude_cuda_bytes[] __attribute__((visibility("hidden")));
extern const char prelude_hip_bytes[] __attribute__((visibility("hidden")));
extern const char prelude_threads_bytes[] __attribute__((visibility("hidden")));
extern const char prelude_threads_attention_bytes[] __attribute__((visibility("hidden")));
extern const char prelude_cuda_attention_bytes[] __attribute__((visibility("hidden")));
extern const char prelude_cuda_product_bytes[] __attribute__((visibility("hidden")));

const char *prelude_text(void)
{
    return prelude_bytes;
}

const char *prelude_attention_text(void)
{
    return prelude_attention_bytes;
}

const char *prelude_kept_text(void)
{
    return prelude_kept_bytes;
}

const char *prelude_stream_text(void)
{
    return prelude_stream_bytes;
}

const char *prelude_split_text(void)
{
    return prelude_split_bytes;
}

const char *prelude_weave_text(void)
{
    return prelude_weave_bytes;
}

const char *prelude_complex_text(void)
{
    return prelude_complex_bytes;
}

const char *prelude_small_float_text(void)
{
    return prelude_small_float_bytes;
}

const char *prelude_glsl_text(void)
{
    return prelude_glsl_bytes;
}

const char *prelude_glsl_f64_text(void)
{
    return prelude_glsl_f64_bytes;
}

const char *prelude_glsl_panels_text(void)
{
    return prelude_glsl_panels_bytes;
}

const char *prelude_glsl_panels_attention_text(void)
{
    return prelude_glsl_panels_attention_bytes;
}

const char *prelude_cuda_text(void)
{
    return prelude_cuda_bytes;
}

const char *prelude_hip_text(void)
{
    return prelude_hip_bytes;
}

const char *prelude_threads_text(void)
{
    return prelude_threads_bytes;
}

const char *prelude_threads_attention_text(void)
{
    return prelude_threads_attention_bytes;
}

const char *prelude_cuda_attention_text(void)
{
    return prelude_cuda_attention_bytes;
}

const char *prelude_cuda_product_text(void)
{
    return prelude_cuda_product_bytes;
}
