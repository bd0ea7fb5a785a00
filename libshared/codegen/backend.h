/* Backends: how kernels become the code of a plan. A backend is one file and one row in backend.c;
 * the device that runs its code is a row in runtime/device.c under the same prefix. */
#ifndef CODEGEN_BACKEND_H
#define CODEGEN_BACKEND_H

#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "codegen/helper.h"
#include "codegen/target.h"
#include "plan/kernel/kernel.h"

typedef struct backend {
    const char *prefix; /* "cpu": of its targets' names, before the colon */
    const target_t *targets;
    int n_target; /* the best of a machine comes last */

    /* Is there code for kernels of this kind? What is not supported is refused by name. */
    bool (*supports)(kernel_kind_t kind);
    /* The body of the kernel as a function without its name: everything from the parameter list on,
     * so that equal kernels are equal text. Functions that it calls are added to helpers. */
    void (*render)(const kernel_t *kernel, helpers_t *helpers, str_t *out);
    /* NULL, or: what the target cannot do of a kernel whose kind it has code for, in words, perhaps
     * written into room[n]; NULL: nothing. */
    const char *(*refuses)(const target_t *target, const kernel_t *kernel, char *room, size_t n);
    /* NULL: "void NAME" and the body, which is C. Else this writes the kernel behind the head. */
    void (*symbol)(const char *name, const char *body, str_t *out);
    int per_source;       /* kernels of a source; 0: a dozen, and more where there are many */
    const char *compiler; /* the variable that names another one: "PCP_CC" */
    /* What a source starts with that holds the n kernels in text[]. */
    void (*head)(str_t *out, int n, char *const *text);
    /* Sources to the code that a plan carries. Returns, caller frees; NULL with err. */
    uint8_t *(*compile)(const target_t *target, int n_unit, const char *const *unit,
                        size_t *n_bytes, err_t *err);

    /* The best for this machine's processor; NULL: it runs none. No such function: the targets are of devices, which
     * somebody names. */
    const target_t *(*best)(void);
    /* Can this machine's processor run it? No such function: it can, or a device says so when it is opened, as a
     * driver is not this folder's to ask. */
    int (*runs_here)(const target_t *target, err_t *err);
} backend_t;

extern const backend_t backend_cpu, backend_c, backend_vulkan, backend_cuda, backend_hip;

#endif
