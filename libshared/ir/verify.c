/* Verification: structure (uses see definitions), then each op against its row of the op table. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "ir/ir.h"
#include "ir/op.h"

typedef struct {
    const ir_fn_t *fn;
    uint8_t *visible; /* per value: defined, and in scope here */
} verify_t;

static int verify_region(verify_t *self, const ir_region_t *region, err_t *err);

static int check_count(const ir_op_t *op, const char *what, int got, int want, err_t *err)
{
    if (want < 0 || got == want) return 0;
    return err_set(err, ERR_SHAPE, "%s: %d %s, expected %d", op_def(op->code)->name, got, what,
                   want);
}

static int check_uses(const verify_t *self, int n, const ir_val_t *values, const char *what,
                      err_t *err)
{
    for (int i = 0; i < n; i++)
        if (values[i] >= self->fn->n_value || !self->visible[values[i]])
            return err_set(err, ERR_SHAPE, "%s %d is not defined before its use", what, i);
    return 0;
}

static int check_types(const verify_t *self, const ir_op_t *op, err_t *err)
{
    const op_def_t *def = op_def(op->code);
    ir_type_t few[4], *types = op->n_out <= 4 ? few : mem_calloc((size_t)op->n_out, sizeof *types);
    int status = 0;
    for (int i = 0; i < op->n_out; i++) {
        types[i] = *ir_type_of(self->fn, op->out + (ir_val_t)i);
        if (status == 0) status = ir_type_check(&types[i], err);
    }
    if (status == 0) status = op_infer(self->fn, op, types, err);
    for (int i = 0; status == 0 && i < op->n_out; i++) {
        const ir_type_t *declared = ir_type_of(self->fn, op->out + (ir_val_t)i);
        char want[IR_TYPE_TEXT], got[IR_TYPE_TEXT];
        if (!ir_type_equal(&types[i], declared))
            status = err_set(err, ERR_SHAPE, "%s: result %d is declared %s, but its rule gives %s",
                             def->name, i, ir_type_text(declared, got),
                             ir_type_text(&types[i], want));
    }
    if (types != few) free(types);
    return status;
}

static int verify_op(verify_t *self, const ir_op_t *op, err_t *err)
{
    if (op->code <= OP_invalid || op->code >= OP_COUNT)
        return err_set(err, ERR_UNSUPPORTED, "op code %d is not in the table", op->code);
    const op_def_t *def = op_def(op->code);
    if (check_count(op, "operands", op->n_in, def->n_in, err) < 0 ||
        check_count(op, "results", op->n_out, def->n_out, err) < 0 ||
        check_count(op, "regions", op->n_region, def->n_region, err) < 0)
        return -1;
    if (check_uses(self, op->n_in, op->in, "operand", err) < 0)
        return err_prefix(err, "%s: ", def->name);
    for (int i = 0; i < op->n_region; i++)
        if (verify_region(self, op->region[i], err) < 0) return -1;
    if (check_types(self, op, err) < 0) return -1;
    memset(self->visible + op->out, 1, (size_t)op->n_out);
    return 0;
}

/* Names made inside a region end with it. */
static void hide_region(verify_t *self, const ir_region_t *region)
{
    memset(self->visible + region->arg, 0, (size_t)region->n_arg);
    for (int i = 0; i < region->n_op; i++)
        memset(self->visible + region->op[i]->out, 0, (size_t)region->op[i]->n_out);
}

static int verify_region(verify_t *self, const ir_region_t *region, err_t *err)
{
    memset(self->visible + region->arg, 1, (size_t)region->n_arg);
    for (int i = 0; i < region->n_op; i++) {
        const ir_op_t *op = region->op[i];
        if (verify_op(self, op, err) == 0) continue;
        return op->line && region->parent == NULL ? err_prefix(err, "line %d: ", op->line) : -1;
    }
    if (check_uses(self, region->n_result, region->result, "returned value", err) < 0) return -1;
    hide_region(self, region);
    return 0;
}

static int verify_fn(const ir_fn_t *fn, err_t *err)
{
    verify_t self = {.fn = fn, .visible = mem_calloc(fn->n_value, 1)};
    int status = 0;
    for (int i = 0; status == 0 && i < fn->body->n_arg; i++)
        status = ir_type_check(ir_type_of(fn, ir_fn_param(fn, i)), err);
    if (status == 0) status = verify_region(&self, fn->body, err);
    free(self.visible);
    return status < 0 ? err_prefix(err, "@%s: ", fn->name) : 0;
}

int ir_verify(const ir_module_t *self, err_t *err)
{
    for (int i = 0; i < self->n_fn; i++)
        if (verify_fn(self->fn[i], err) < 0) return -1;
    return 0;
}
