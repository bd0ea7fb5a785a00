/* glslc, on the files of a batch. */
#include "codegen/vulkan/glslc.h"

#include <stdlib.h>

#include "codegen/batch.h"

int glslc_run(int n, const char *const *source, uint8_t **spirv, size_t *size, err_t *err)
{
    static const char *const flags[] = {"--target-env=vulkan1.1", "-c", NULL};
    const char *named = getenv("PCP_GLSLC");
    const batch_t batch = {.program = named && *named ? named : "glslc",
                           .language = "GLSL",
                           .package = "glslc",
                           .flag = flags,
                           .in = ".comp",
                           .out = ".comp.spv",
                           .scratch = "glsl"};
    return batch_run(&batch, n, source, spirv, size, err);
}
