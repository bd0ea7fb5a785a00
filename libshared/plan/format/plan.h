/* A plan: everything a worker needs to execute a training rule, and nothing else.
 *
 * A plan holds tensors at fixed offsets of one arena, programs (lists of steps over that arena),
 * code for one target and constant data. Programs of one plan share tensors by (role, name): the
 * program "train" updates the parameters that "loss" reads. plan_t is the open in-memory form of
 * proto/plan.proto; plan_pack and plan_unpack convert. Not shared between threads while built;
 * read-only after. */
#ifndef PLAN_PLAN_H
#define PLAN_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/hash.h"
#include "ir/type.h"

typedef enum {
    ROLE_PARAM = 1,   /* a model parameter: f32 master (f64 for f64 modules); updated in place */
    ROLE_STATE,       /* optimizer state: updated in place, starts at zero */
    ROLE_ACCUMULATOR, /* gradient sums over micro-batches: in place, starts at zero */
    ROLE_BATCH,       /* integer (or declared) inputs, in the order of the module's arguments */
    ROLE_SCALAR,      /* per-step inputs: "lr" f32, "step" i64 (first: 1), "seed" ui64 */
    ROLE_RESULT,      /* "loss", "grad_norm", "logits", "grad.<param>" */
    ROLE_CONSTANT,    /* loaded once from the plan's constant bytes */
    ROLE_TEMPORARY,   /* anything else; listed are what loops carry; the others overlap */
} plan_role_t;

const char *plan_role_name(plan_role_t role); /* "param", "state", ... as in pcp.role */
int plan_role_parse(const char *text, plan_role_t *role, err_t *err);

typedef struct {
    char *name;
    plan_role_t role;
    ir_type_t type;
    uint64_t offset, n_bytes; /* in the arena */
} plan_tensor_t;

typedef enum { STEP_KERNEL = 1, STEP_GEMM, STEP_COPY, STEP_LOOP } plan_step_kind_t;

/* Run kernel `kernel` of the code blob over [begin, begin + extent), cut into ranges of `grain` by
 * the thread pool. The result does not depend on the cut. `arg` says where element 0 of each
 * operand would lie. An operand may hold the elements of this range alone: then they lie in the
 * arena, behind `arg`, and element 0, which the kernel does not touch, may lie outside of the
 * arena. */
typedef struct {
    uint32_t kernel; /* index into plan->kernel_names */
    int64_t begin, extent, grain;
    int n_arg;
    int64_t *arg; /* arena byte offsets of the operands, in the kernel's order */
} plan_kernel_step_t;

/* For o in [0, batch), i in [0, inner): C_oi = A_oi x B_oi (+ C_oi when accumulate), row-major, op
 * by transposition. C is [m, n]; A is [m, k] or, transposed, [k, m]; B is [k, n] or, transposed,
 * [n, k]. Entry (o, i) of an operand lies at its byte offset plus (o * stride + i * inner_stride)
 * elements (0 repeats), so that heads of a [batch, time, head, depth] buffer need no copy. ld in
 * elements. A matrix never overlaps another one of C. dtype f32 or f64.
 * bf16: A and B are bf16, C is f32 (dtype), k is even; then parts > 0.
 * woven (bf16, inner 1): B lies in the order in which a matrix unit takes it: panels of PLAN_WOVEN columns; in a panel pairs
 * of rows one after another; of a pair its columns, two numbers each. Zeros fill up columns and rows to multiples of
 * PLAN_WOVEN. ldb, trans_b and stride_b are those of the matrix that it was woven of; entries follow each other in the
 * panels, or are the same (stride_b 0).
 * parts > 0: kernel `kernel` of the code blob does it, made for these sizes and strides, run over
 * [0, parts) with the arguments a, b, c; else the BLAS library. */
typedef struct {
    dtype_t dtype;
    int64_t batch, inner, m, n, k; /* batch, inner >= 1 */
    int64_t a, b, c;
    int64_t lda, ldb, ldc, stride_a, stride_b, stride_c, inner_a, inner_b, inner_c;
    bool trans_a, trans_b, accumulate, bf16, woven;
    int64_t parts;
    uint32_t kernel; /* index into plan->kernel_names */
} plan_gemm_step_t;

typedef struct {
    int64_t from, to, n_bytes;
} plan_copy_step_t;

/* Run program `condition`; while it leaves anything but 0 in the byte at `more`, run program `body`
 * and then `condition` again. Both come behind the program that holds the step, so that no program
 * runs itself. */
typedef struct {
    uint32_t condition, body; /* indices into plan->program */
    int64_t more;             /* arena byte offset of an i1 */
} plan_loop_step_t;

typedef struct {
    plan_step_kind_t kind;
    char *label;         /* what it computes, for profiles: "gemm %50 2048x192x64", "layer_norm" */
    double flops, bytes; /* estimates, for profiles */
    union {
        plan_kernel_step_t kernel;
        plan_gemm_step_t gemm;
        plan_copy_step_t copy;
        plan_loop_step_t loop;
    };
} plan_step_t;

#define PLAN_AGAIN "again: " /* in front of the label of a step that was made before */

/* Steps [first, first + n) of a program that a device may run in one go, kernels and products with
 * kernels of their own (their *work* is [0, extent) or [0, parts)). strips > 0: it divides the work
 * of each step, and the i-th part of a step touches nothing that another part of another step
 * writes: parts i of all steps in order, for each i by any thread at any time. strips 0: no step
 * touches what another one writes. Running step after step does the same, bit for bit. */
typedef struct {
    int first, n;
    int64_t strips;
} plan_sweep_t;

typedef struct {
    char *name; /* "train", "loss", "logits", "grad"; "accumulate" and "update" when n > 1 */
    int n_step;
    plan_step_t *step;
    int n_tensor;             /* the tensors this program reads or writes, by index */
    uint32_t *tensor;         /* ascending */
    uint64_t temporary_bytes; /* behind plan->fixed_bytes, shared with other programs */
    uint32_t peak;            /* the step at which most of these are in use */
    int n_sweep;              /* in the order of their steps, of which none is in two */
    plan_sweep_t *sweep;
} plan_program_t;

typedef struct {
    char *target;      /* "cpu:x86-64-v4" (codegen/target.h) */
    char *module_hash; /* content hash of the StableHLO text */
    char *spec;        /* the training spec as JSON (optim/optim.h) */
    int accumulate;    /* micro-batches per step; 1: program "train" does everything */
    uint64_t arena_bytes, alignment;
    /* What lies behind the first fixed_bytes of the arena is lost when another program runs:
     * temporaries, and large results that one program alone has, which are read right after it. */
    uint64_t fixed_bytes;
    int n_tensor, n_program, n_kernel, n_constant;
    plan_tensor_t *tensor;
    plan_program_t *program;
    char **kernel_name; /* symbols in the code blob */
    struct plan_constant {
        uint64_t offset, n_bytes;
        uint8_t *bytes;
    } * constant;
    uint8_t *code; /* cpu: an ELF shared object */
    size_t n_code;
} plan_t;

/* The kernel ABI of cpu targets: `arg` are the step's arena offsets; [begin, end) is part of the
 * step's extent. Thread-safe for disjoint ranges. */
typedef void plan_kernel_fn(char *arena, const int64_t *arg, int64_t begin, int64_t end);

void plan_destroy(plan_t **self_p);
const plan_program_t *plan_find_program(const plan_t *self, const char *name); /* NULL: absent */
/* Of a woven B: rows of a panel, all entries'; elements of all panels. */
enum { PLAN_WOVEN = 32 };
int64_t plan_woven_fill(int64_t n); /* the next multiple */
int64_t plan_woven_rows(const plan_gemm_step_t *step);
int64_t plan_woven_count(const plan_gemm_step_t *step);
/* What the work of a kernel, or of a product with a kernel of its own, is cut into. */
int64_t plan_step_work(const plan_step_t *step);
int plan_find_tensor(const plan_t *self, plan_role_t role, const char *name); /* -1: absent */

/* Is this a batch tensor that a training step reads ("train" or "accumulate")? The program "logits"
 * may have batch tensors of its own. In a plan without training programs: is it a batch tensor? */
bool plan_trains_on(const plan_t *self, int tensor);

/* To bytes that carry their own content hash; also written to hash when not NULL. Returns, caller
 * frees. The bytes depend on the plan alone. */
uint8_t *plan_pack(const plan_t *self, size_t *n_bytes, char hash[HASH_HEX]);
/* From bytes that nobody vouches for: every offset, size, index and count is checked against the
 * arena and the tables. NULL with ERR_CORRUPT (hash, bounds) or ERR_UNSUPPORTED (version). */
plan_t *plan_unpack(const uint8_t *bytes, size_t n_bytes, err_t *err);

#endif
