/* Any op of the table: operands, attributes, regions and types, checked by the table's own rules. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "base/mem.h"
#include "ir/struct_attr.h"
#include "parse/attribute_text.h"

const char *pcp_op_name(int i)
{
    return i >= 0 && i + 1 < OP_COUNT ? op_def((op_code_t)(i + 1))->name : NULL;
}

op_code_t api_op_code(pcp_graph_t *self, const char *name)
{
    char full[128];
    op_code_t code = op_by_name(name, strlen(name));
    int n = snprintf(full, sizeof full, "stablehlo.%s", name);
    if (code == OP_invalid && n < (int)sizeof full) code = op_by_name(full, (size_t)n);
    if (code == OP_invalid) api_fail(self, ERR_UNSUPPORTED, "no op is called \"%.64s\"", name);
    return code;
}

/* --- checks that the parser makes of texts --- */

static bool counts_fit(pcp_graph_t *self, const op_def_t *def, int n_in, int n_region, int n_out)
{
    const struct {
        const char *what;
        int given, want;
    } row[] = {{"operands", n_in, def->n_in},
               {"regions", n_region, def->n_region},
               {"results", n_out, def->n_out}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        if (row[i].given < 0 || (row[i].want >= 0 && row[i].given != row[i].want)) {
            api_fail(self, ERR_ARG, "%s has %d %s, got %d", def->name, row[i].want, row[i].what,
                     row[i].given);
            return false;
        }
    return true;
}

/* Members of a struct attribute that are absent are empty, as the parser has it. */
static void add_absent(arena_t *arena, op_code_t code, ir_attrs_t *attrs)
{
    static const int64_t none;
    const struct_attr_t *s = struct_attr_of_op(code);
    for (const char *const *m = s ? s->member : NULL; m && *m; m++) {
        if (attr_find(attrs, *m)) continue;
        if (struct_attr_is_scalar(*m))
            attr_set_int(arena, attrs, *m, 0);
        else
            attr_set_ints(arena, attrs, *m, &none, 0);
    }
}

static bool take_regions(pcp_graph_t *self, const op_def_t *def, int n, pcp_region_t *const *region,
                         ir_region_t **out)
{
    for (int i = 0; i < n; i++) {
        bool mine = region && region[i] && region[i]->serial == self->serial;
        if (!mine || region[i]->state != REGION_ENDED) {
            api_fail(self, ERR_STATE, "%s: region %d is %s", def->name, i,
                     !mine                             ? "none of this function"
                     : region[i]->state == REGION_OPEN ? "not ended"
                                                       : "used already");
            return false;
        }
        region[i]->state = REGION_USED;
        out[i] = region[i]->region;
    }
    return true;
}

static bool take_types(pcp_graph_t *self, const op_def_t *def, int n, const pcp_type_t *types,
                       ir_type_t *out)
{
    err_t why = {0};
    for (int i = 0; types && i < n; i++)
        if (types[i].dtype != PCP_NONE && api_type_in(&types[i], &out[i], &why) < 0) {
            api_fail(self, why.code, "%s: result %d: %s", def->name, i, why.text);
            return false;
        }
    return true;
}

/* --- emission --- */

ir_val_t api_emit(pcp_graph_t *self, op_code_t code, int n_in, const pcp_value_t *in,
                  const ir_attrs_t *attrs, int n_region, pcp_region_t *const *region, int n_out,
                  const pcp_type_t *types)
{
    if (code == OP_invalid || !api_building(self)) return IR_NONE;
    const op_def_t *def = op_def(code);
    if (!counts_fit(self, def, n_in, n_region, n_out)) return IR_NONE;
    ir_val_t *operand = mem_calloc((size_t)n_in + 1, sizeof *operand);
    ir_region_t **inner = mem_calloc((size_t)n_region + 1, sizeof *inner);
    ir_type_t *declared = mem_calloc((size_t)n_out + 1, sizeof *declared);
    ir_attrs_t all = attrs ? *attrs : (ir_attrs_t){0};
    ir_op_t *op = NULL;
    for (int i = 0; i < n_in; i++) operand[i] = api_value(self, in[i], def->name);
    add_absent(self->module->arena, code, &all);
    if (!self->fn->err.code && take_types(self, def, n_out, types, declared) &&
        take_regions(self, def, n_region, region, inner))
        op = ir_emit(self->fn, code, n_in, operand, &all, n_out, declared, n_region, inner);
    free(operand);
    free(inner);
    free(declared);
    api_graph_count(self);
    return op ? op->out : IR_NONE;
}

int pcp_op(pcp_graph_t *self, const char *name, int n_in, const pcp_value_t *in,
           const char *attributes, int n_region, pcp_region_t *const *region, int n_out,
           const pcp_type_t *types, pcp_value_t *out)
{
    ir_attrs_t attrs = {0};
    err_t why = {0};
    for (int i = 0; i < n_out; i++) out[i] = (pcp_value_t){0};
    if (!api_building(self)) return -1;
    op_code_t code = api_op_code(self, name);
    if (attributes && parse_attribute_text(attributes, name, self->module, &attrs, &why) < 0)
        api_fail(self, why.code, "%s", why.text);
    ir_val_t first = api_emit(self, code, n_in, in, &attrs, n_region, region, n_out, types);
    for (int i = 0; first != IR_NONE && i < n_out; i++)
        out[i] = api_handle(self, first + (ir_val_t)i);
    return self->fn->err.code ? -1 : 0;
}

pcp_value_t pcp_op1(pcp_graph_t *self, const char *name, int n_in, const pcp_value_t *in,
                    const char *attributes, const pcp_type_t *type)
{
    pcp_value_t out;
    pcp_op(self, name, n_in, in, attributes, 0, NULL, 1, type, &out);
    return out;
}

/* --- regions --- */

pcp_region_t *pcp_region_begin(pcp_graph_t *self, int n_arg, const pcp_type_t *types,
                               pcp_value_t *args)
{
    err_t why = {0};
    for (int i = 0; i < n_arg; i++) args[i] = (pcp_value_t){0};
    if (!api_building(self)) return NULL;
    ir_type_t *in = mem_calloc((size_t)n_arg + 1, sizeof *in);
    for (int i = 0; i < n_arg; i++)
        if (api_type_in(&types[i], &in[i], &why) < 0)
            api_fail(self, why.code, "argument %d of a region: %s", i, why.text);
    pcp_region_t *region = NULL;
    if (!self->fn->err.code) {
        region = ARENA_NEW(self->module->arena, pcp_region_t);
        region->serial = self->serial;
        region->region = ir_region_begin(self->fn, n_arg, in, &region->saved);
        self->n_open++;
        for (int i = 0; i < n_arg; i++)
            args[i] = api_handle(self, region->region->arg + (ir_val_t)i);
    }
    free(in);
    return region;
}

int pcp_region_end(pcp_graph_t *self, pcp_region_t *region, int n_result,
                   const pcp_value_t *results)
{
    if (!api_building(self)) return -1;
    if (!region || region->serial != self->serial || region->region != self->fn->cursor) {
        api_fail(self, ERR_STATE, "pcp_region_end: the region that was begun last ends first");
        return -1;
    }
    ir_val_t *inner = mem_calloc((size_t)n_result + 1, sizeof *inner);
    for (int i = 0; i < n_result; i++) inner[i] = api_value(self, results[i], "pcp_region_end");
    if (!self->fn->err.code) {
        ir_region_end(self->fn, region->region, n_result, inner, region->saved);
        region->state = REGION_ENDED;
        self->n_open--;
    }
    free(inner);
    return self->fn->err.code ? -1 : 0;
}
