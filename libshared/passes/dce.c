/* Dead code elimination: one backward walk marks what results and effects need (operands come
 * before their users, so one walk is enough), and drops the rest in place. Regions of live ops keep
 * what their results need; then carries of loops go that only other such carries read. */
#include <stdlib.h>

#include "base/mem.h"
#include "passes/carries.h"
#include "passes/effects.h"
#include "passes/passes.h"

static bool is_live(const ir_op_t *op, const bool *used)
{
    for (int i = 0; i < op->n_out; i++)
        if (used[op->out + (ir_val_t)i]) return true;
    return effects_any(op);
}

static void sweep(ir_region_t *region, bool *used)
{
    for (int i = 0; i < region->n_result; i++) used[region->result[i]] = true;
    int first = region->n_op; /* live ops gather at the end, in order */
    for (int i = region->n_op - 1; i >= 0; i--) {
        ir_op_t *op = region->op[i];
        if (!is_live(op, used)) continue;
        for (int j = 0; j < op->n_in; j++) used[op->in[j]] = true;
        for (int r = 0; r < op->n_region; r++) sweep(op->region[r], used);
        region->op[--first] = op;
    }
    for (int i = first; i < region->n_op; i++) region->op[i - first] = region->op[i];
    region->n_op -= first;
}

int pass_dce(ir_module_t *module, const pass_options_t *options, err_t *err)
{
    (void)options;
    for (int f = 0; f < module->n_fn; f++) {
        ir_fn_t *fn = module->fn[f];
        bool *used = mem_calloc(fn->n_value + 1, sizeof *used);
        sweep(fn->body, used);
        free(used);
        if (carries_drop(module, fn, err) < 0) return -1;
    }
    return 0;
}
