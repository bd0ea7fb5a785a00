/* clang for amdgcn, on the files of a batch. The device library is named file by file: clang's own search knows
 * neither Debian's folder nor architectures that are newer than the library. */
#include "codegen/cuda/hipcc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "codegen/batch.h"

static const char *find_compiler(void)
{
    static const char rocm[] = "/opt/rocm/llvm/bin/clang";
    static const char *const names[] = {"clang-21", "clang-20", "clang-19", "clang-18", "clang-17"};
    const char *named = getenv("PCP_HIPCC");
    if (named && *named) return named;
    if (access(rocm, X_OK) == 0) return rocm;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (batch_finds(names[i])) return names[i];
    return "clang";
}

static bool is_there(const char *folder, const char *name)
{
    char *path = mem_printf("%s/%s.bc", folder, name);
    bool there = access(path, R_OK) == 0;
    free(path);
    return there;
}

/* NULL: nowhere. */
static const char *find_library(void)
{
    static const char *const usual[] = {"/opt/rocm/amdgcn/bitcode",
                                        "/usr/lib/x86_64-linux-gnu/amdgcn/bitcode",
                                        "/usr/lib/amdgcn/bitcode", "/usr/lib64/amdgcn/bitcode"};
    const char *named = getenv("PCP_HIP_LIBS");
    if (named && *named) return named;
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        if (is_there(usual[i], "ocml")) return usual[i];
    return NULL;
}

/* What the library asks about the architecture is alike within a generation: that of an older one
 * stands in where the library does not know it. */
static const char *generation_of(const char *arch, const char *folder)
{
    static const struct {
        const char *arch, *names[3]; /* the best first */
    } rows[] = {
        {"gfx90a", {"oclc_isa_version_90a"}},
        {"gfx942", {"oclc_isa_version_942", "oclc_isa_version_940", "oclc_isa_version_90a"}},
        {"gfx1100", {"oclc_isa_version_1100", "oclc_isa_version_1036", "oclc_isa_version_1030"}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (strcmp(rows[i].arch, arch) != 0) continue;
        int k = 0;
        while (k < 2 && rows[i].names[k + 1] && !is_there(folder, rows[i].names[k])) k++;
        return rows[i].names[k];
    }
    return "oclc_isa_version_900";
}

enum { MAX_FLAGS = 64, N_LIBRARY = 7 };

/* flag[]: behind those at n. path[]: caller frees. Only what kernels call gets into the code. */
static int add_library(const char *arch, const char *folder, const char **flag, int n, char **path)
{
    bool wide = strncmp(arch, "gfx9", 4) == 0; /* wavefronts of 64 threads */
    const char *const names[N_LIBRARY] = {
        "ocml",
        "oclc_finite_only_off",
        "oclc_unsafe_math_off",
        "oclc_daz_opt_off",
        "oclc_correctly_rounded_sqrt_on",
        wide ? "oclc_wavefrontsize64_on" : "oclc_wavefrontsize64_off",
        generation_of(arch, folder),
    };
    for (int i = 0; i < N_LIBRARY; i++) {
        path[i] = NULL;
        if (i > 0 && !is_there(folder, names[i])) continue; /* a switch that it has no more */
        path[i] = mem_printf("%s/%s.bc", folder, names[i]);
        flag[n++] = "-Xclang";
        flag[n++] = "-mlink-builtin-bitcode";
        flag[n++] = "-Xclang";
        flag[n++] = path[i];
    }
    return n;
}

int hipcc_run(const char *arch, int n, const char *const *source, uint8_t **module, size_t *size,
              err_t *err)
{
    const char *folder = find_library();
    if (!folder)
        return err_set(err, ERR_IO,
                       "cannot find ROCm's device library (ocml.bc): install rocm-device-libs, or "
                       "name its folder in PCP_HIP_LIBS");
    char *wanted = mem_printf("--offload-arch=%s", arch);
    char *out = mem_printf("-hip-amdgcn-amd-amdhsa-%s.out", arch), *path[N_LIBRARY];
    /* Version 4 of code objects: what ROCm reads from 4.1 on. */
    const char *flag[MAX_FLAGS] = {"-x",
                                   "hip",
                                   wanted,
                                   "--cuda-device-only",
                                   "-c",
                                   "--no-gpu-bundle-output",
                                   "-O3",
                                   "-w",
                                   "-std=c++17",
                                   "-nostdinc++",
                                   "-nogpuinc",
                                   "-nogpulib",
                                   "-fwrapv",
                                   "-fno-strict-aliasing",
                                   "-fno-exceptions",
                                   "-ffp-contract=fast",
                                   "-mcode-object-version=4"};
    int n_flag = 0;
    while (flag[n_flag]) n_flag++;
    add_library(arch, folder, flag, n_flag, path);
    const batch_t batch = {.program = find_compiler(),
                           .language = "HIP",
                           .package = "ROCm, or Debian's clang-19, lld-19 and rocm-device-libs",
                           .flag = flag,
                           .in = ".hip",
                           .out = out,
                           .scratch = "hip"};
    int status = batch_run(&batch, n, source, module, size, err);
    for (int i = 0; i < N_LIBRARY; i++) free(path[i]);
    free(out);
    free(wanted);
    return status;
}
