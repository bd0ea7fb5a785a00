/* Before training programs are built: complex parameters and results become real ones of the same
 * bytes, with a last dimension of two. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "ir/build.h"
#include "passes/passes.h"

static ir_val_t take_part(ir_fn_t *fn, ir_val_t x, int k)
{
    ir_type_t type = *ir_type_of(fn, x);
    int64_t start[IR_MAX_RANK] = {0};
    int last = type.rank - 1;
    start[last] = k;
    ir_type_t cut = type;
    cut.dim[last] = k + 1;
    type.dim[--type.rank] = 0;
    return ir_reshape(fn, ir_slice(fn, x, start, cut.dim, NULL), &type);
}

static int add_last(ir_type_t *type, err_t *err)
{
    char text[IR_TYPE_TEXT];
    if (type->rank == IR_MAX_RANK)
        return err_set(err, ERR_UNSUPPORTED,
                       "a parameter or result of %s has no room for its parts",
                       ir_type_text(type, text));
    type->dtype = dtype_part(type->dtype);
    type->dim[type->rank++] = 2;
    return 0;
}

/* x as real numbers with a last dimension of two. */
static ir_val_t as_real(ir_fn_t *fn, ir_val_t x, err_t *err)
{
    if (x == IR_NONE || !dtype_is_complex(ir_type_of(fn, x)->dtype)) return x;
    ir_type_t type = *ir_type_of(fn, x);
    if (add_last(&type, err) < 0) return IR_NONE;
    type.dim[type.rank - 1] = 1;
    ir_val_t parts[2] = {ir_reshape(fn, ir_op1(fn, OP_real, x), &type),
                         ir_reshape(fn, ir_op1(fn, OP_imag, x), &type)};
    return ir_concatenate(fn, parts, 2, type.rank - 1);
}

static int clone_signature(ir_clone_t *clone, err_t *err)
{
    ir_fn_t *to = clone->to;
    const ir_region_t *body = clone->from->body;
    for (int i = 0; i < body->n_arg; i++) {
        ir_val_t old = body->arg + (ir_val_t)i, p = ir_fn_param(to, i);
        bool is_complex = dtype_is_complex(ir_type_of(clone->from, old)->dtype);
        clone->map[old] = is_complex
                              ? ir_op2(to, OP_complex, take_part(to, p, 0), take_part(to, p, 1))
                              : p;
    }
    if (ir_clone_ops(clone, body, err) < 0) return -1;
    ir_val_t *results = mem_calloc((size_t)body->n_result + 1, sizeof *results);
    for (int i = 0; i < body->n_result; i++)
        results[i] = as_real(to, clone->map[body->result[i]], err);
    int status = ir_fn_finish(to, body->n_result, results, err);
    free(results);
    return status;
}

static bool signature_is_complex(const ir_fn_t *fn)
{
    bool found = false;
    for (int i = 0; i < fn->body->n_arg; i++)
        found = found || dtype_is_complex(ir_type_of(fn, ir_fn_param(fn, i))->dtype);
    for (int i = 0; i < fn->body->n_result; i++)
        found = found || dtype_is_complex(ir_type_of(fn, fn->body->result[i])->dtype);
    return found;
}

static int real_signature(ir_module_t *module, ir_fn_t *fn, err_t *err)
{
    int n = fn->body->n_arg, status = 0;
    ir_type_t *types = mem_calloc((size_t)n + 1, sizeof *types);
    for (int i = 0; status == 0 && i < n; i++) {
        types[i] = *ir_type_of(fn, ir_fn_param(fn, i));
        if (dtype_is_complex(types[i].dtype)) status = add_last(&types[i], err);
    }
    if (status == 0) {
        ir_fn_t *to = ir_fn_new(module, fn->name, n, types);
        ir_clone_t clone = {.from = fn, .to = to};
        clone.map = mem_calloc(fn->n_value + 1u, sizeof *clone.map);
        memset(clone.map, 0xFF, fn->n_value * sizeof *clone.map);
        status = clone_signature(&clone, err);
        free(clone.map);
        if (status == 0) {
            ir_clone_words(to, fn);
            ir_module_replace(module, fn, to);
        } else {
            ir_module_remove(module, to);
        }
    }
    free(types);
    return status;
}

int pass_real_signature(ir_module_t *module, const pass_options_t *options, err_t *err)
{
    (void)options;
    for (int f = 0; f < module->n_fn; f++) {
        ir_fn_t *fn = module->fn[f];
        if (signature_is_complex(fn) && real_signature(module, fn, err) < 0)
            return err_prefix(err, "@%s: ", fn->name);
    }
    return 0;
}
