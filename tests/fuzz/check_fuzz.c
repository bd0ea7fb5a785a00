/* Fuzz target: evaluation of any module that verifies ends within its limits, with a verdict or an
 * error in words; the passes keep the verdict, and plans of it keep what they read. Modules with
 * large tensors are left out: their loops are long, not deep. */
#include "ir/op.h"
#include "ops/check_expect.h"
#include "ops/eval.h"
#include "parse/parse.h"
#include "passes/passes.h"
#include "plan/build.h"

#include "alloc_bound.h"

enum { CHECK_ELEMENTS = 512, CHECK_OPS = 200, CHECK_DEPTH = 3, CHECK_CALLS = 6 };

/* A chlo op counts as so many ops (zeta becomes some 200, without types of its own), and what is
 * called as often as it may be copied. */
enum { CHECK_CHLO = 80, CHECK_COPIES = 20480 };

/* Bytes: what tensors may take, by the limit given to the interpreter; its tables over the values
 * of nested calls; per byte of text; per op, of which each pass makes its own copy. */
enum {
    CHECK_BYTES = 4 << 20,
    CHECK_TABLES = 1 << 20,
    CHECK_MULTIPLE = 1024,
    CHECK_OP_BYTES = 8 << 10
};

/* Ops of a region with those inside, or more than CHECK_OPS for one that is nested too deep. */
static int check_size(const ir_region_t *region, int depth)
{
    int n = region->n_op;
    if (depth > CHECK_DEPTH) return CHECK_OPS + 1;
    for (int i = 0; i < region->n_op && n <= CHECK_OPS; i++)
        for (int r = 0; r < region->op[i]->n_region; r++)
            n += check_size(region->op[i]->region[r], depth + 1);
    return n;
}

/* Ops that the passes may have to copy; -1: the module is too large. */
static int check_copies(const ir_module_t *m)
{
    int n_call = 0, n_op = 0;
    for (int f = 0; f < m->n_fn; f++) {
        const ir_fn_t *fn = m->fn[f];
        if (check_size(fn->body, 0) > CHECK_OPS) return -1;
        for (uint32_t v = 0; v < fn->n_value; v++) {
            if (ir_type_count(&fn->value[v].type) > CHECK_ELEMENTS) return -1;
            const ir_op_t *op = fn->value[v].def;
            n_call += op && (op->code == OP_call || op->code == OP_composite);
            n_op += op && strncmp(op_def(op->code)->name, "chlo.", 5) == 0 ? CHECK_CHLO : 1;
        }
    }
    /* Each may call twice what the next one calls. */
    if (n_call > CHECK_CALLS || n_op << n_call > CHECK_COPIES) return -1;
    return n_op << n_call;
}

/* What the plan compiler makes of it keeps what it still reads (plan/memory/check_lifetimes.h), or is
 * refused for what it cannot lower. Checks themselves have no kernels: functions without any. */
static void check_plan(ir_module_t *m)
{
    err_t err = {0};
    plan_build_t *build = plan_build_new(m, NULL);
    int status = 0;
    for (int i = 0, n = m->n_fn; i < n && status == 0; i++)
        if (!m->fn[i]->is_private) status = plan_build_program(build, m->fn[i], &err);
    if (status == 0) status = plan_build_lay_out(build, &err);
    if (status == 0) status = plan_build_prove(build, &err);
    if (status < 0 && err.code == ERR_CORRUPT) broken("a plan keeps what it reads", err.text);
    plan_build_destroy(&build);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const eval_options_t limits = {.max_depth = 20, .max_bytes = CHECK_BYTES, .max_iterations = 20};
    err_t err = {0};
    ir_module_t *m = parse_stablehlo((const char *)data, n, "fuzz", &err);
    int64_t n_copy = m ? check_copies(m) : -1;
    if (n_copy >= 0) {
        alloc_bound_begin("evaluate", CHECK_MULTIPLE, n, CHECK_BYTES + CHECK_TABLES);
        int verdict = check_module_within(m, &limits, &err);
        alloc_bound_end();
        if (verdict < -1 || verdict > 1) broken("a verdict is -1, 0 or 1", err.text);
        if ((verdict == 0) != (err.code == ERR_OK)) broken("an error says so", err.text);
        err_clear(&err);
        alloc_bound_begin("passes", CHECK_MULTIPLE, n, CHECK_BYTES + n_copy * CHECK_OP_BYTES);
        int passed = passes_run(m, NULL, NULL, &err);
        alloc_bound_end();
        if (passed < 0) {
            if (verdict >= 0) broken("passes run on what can be evaluated", err.text);
        } else if (verdict >= 0 && check_module_within(m, &limits, &err) != verdict) {
            broken("the passes keep the verdict", err.text);
        }
        if (passed == 0) check_plan(m);
    }
    ir_module_destroy(&m);
    return 0;
}
