/* nvcc, on the files of a batch. */
#include "codegen/cuda/nvcc.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "codegen/batch.h"

static const char *find(void)
{
    static const char usual[] = "/usr/local/cuda/bin/nvcc";
    const char *named = getenv("PCP_NVCC");
    if (named && *named) return named;
    return !batch_finds("nvcc") && access(usual, X_OK) == 0 ? usual : "nvcc";
}

int nvcc_run(const char *arch, int n, const char *const *source, uint8_t **cubin, size_t *size,
             err_t *err)
{
    char *wanted = mem_printf("-arch=%s", arch);
    const char *const flags[] = {"-cubin", "-w", "-std=c++17", wanted, NULL};
    const batch_t batch = {.program = find(),
                           .language = "CUDA",
                           .package = "NVIDIA's CUDA toolkit",
                           .flag = flags,
                           .in = ".cu",
                           .out = ".cubin",
                           .scratch = "cuda"};
    int status = batch_run(&batch, n, source, cubin, size, err);
    free(wanted);
    return status;
}
