/* Load a plan's ELF shared object from memory and look up its kernels. The code runs with this
 * process's rights, and nothing here checks what it does: whoever calls has judged who signed the plan
 * (msg/vouch.h), and given up what it does not need (base/cage.h). */
#ifndef RUNTIME_CODE_H
#define RUNTIME_CODE_H

#include <stddef.h>
#include <stdint.h>

#include "plan/format/plan.h"

typedef struct code code_t;

/* Put a copy of the bytes where the system's loader finds it; nothing of it runs yet. ERR_CORRUPT: not an ELF
 * shared object of this machine; ERR_IO: no place to put it. Any thread. */
code_t *code_put(const uint8_t *bytes, size_t n_bytes, err_t *err);

/* Load it: its constructors run. Opens "/proc/self/fd/N" alone (base/cage_code.h), and maps it. ERR_CORRUPT: the
 * loader refuses it. */
int code_open(code_t *self, err_t *err);

code_t *code_load(const uint8_t *bytes, size_t n_bytes, err_t *err); /* both */

/* Unmaps the code: no kernel may run. */
void code_destroy(code_t **self_p);

/* The address of a symbol; NULL with ERR_CORRUPT naming it. */
void *code_symbol(code_t *self, const char *name, err_t *err);

/* All kernels of a plan, by their index. Returns, caller frees; NULL as code_symbol. */
plan_kernel_fn **code_kernels(code_t *self, const plan_t *plan, err_t *err);

#endif
