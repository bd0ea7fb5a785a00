/* Fuzz target: evaluation of any module that verifies ends within its limits, with a verdict or an
 * error in words; the passes keep the verdict. Modules with large tensors are left out: their loops
 * are long, not deep. */
#include "ir/op.h"
#include "ops/check.h"
#include "ops/eval.h"
#include "parse/parse.h"
#include "passes/passes.h"

#include "alloc_bound.h"

enum { CHECK_ELEMENTS = 512, CHECK_OPS = 200, CHECK_DEPTH = 3 };

/* Bytes: what tensors may take, by the limit given to the interpreter; its tables over the values
 * of nested calls; what the passes make of the text, whose longest op expands a thousandfold. */
enum { CHECK_BYTES = 4 << 20, CHECK_TABLES = 1 << 20, CHECK_MULTIPLE = 1024 };

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

static bool check_is_small(const ir_module_t *m)
{
    int n_call = 0;
    for (int f = 0; f < m->n_fn; f++) {
        const ir_fn_t *fn = m->fn[f];
        if (check_size(fn->body, 0) > CHECK_OPS) return false;
        for (uint32_t v = 0; v < fn->n_value; v++) {
            if (ir_type_count(&fn->value[v].type) > CHECK_ELEMENTS) return false;
            const ir_op_t *op = fn->value[v].def;
            n_call += op && (op->code == OP_call || op->code == OP_composite);
        }
    }
    return n_call <= 6; /* each may call twice what the next one calls */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const eval_options_t limits = {.max_depth = 20, .max_bytes = CHECK_BYTES, .max_iterations = 20};
    err_t err = {0};
    ir_module_t *m = parse_stablehlo((const char *)data, n, "fuzz", &err);
    if (m && check_is_small(m)) {
        alloc_bound_begin("evaluate", CHECK_MULTIPLE, n, CHECK_BYTES + CHECK_TABLES);
        int verdict = check_module_within(m, &limits, &err);
        alloc_bound_end();
        if (verdict < -1 || verdict > 1) broken("a verdict is -1, 0 or 1", err.text);
        if ((verdict == 0) != (err.code == ERR_OK)) broken("an error says so", err.text);
        err_clear(&err);
        alloc_bound_begin("passes", CHECK_MULTIPLE, n, CHECK_BYTES);
        int passed = passes_run(m, NULL, NULL, &err);
        alloc_bound_end();
        if (passed < 0) {
            if (verdict >= 0) broken("passes run on what can be evaluated", err.text);
        } else if (verdict >= 0 && check_module_within(m, &limits, &err) != verdict) {
            broken("the passes keep the verdict", err.text);
        }
    }
    ir_module_destroy(&m);
    return 0;
}
