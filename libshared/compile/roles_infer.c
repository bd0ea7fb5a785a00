/* Roles of the arguments for which nobody says one: by name, by use, by type. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "compile/roles_in.h"

typedef struct {
    arena_t *arena;
    const ir_fn_t *fn;
    int loss;
    roles_row_t *row;
    const roles_uses_t *uses;
    bool *weak; /* by a name of the text alone, such as %x */
} infer_t;

static bool is_float(const roles_row_t *row)
{
    return dtype_is_inexact(row->type.dtype);
}

static void settle(roles_row_t *row, const char *role, const char *why)
{
    row->role = role;
    row->why = why;
}

/* --- next values of states --- */

/* The result whose path is the argument's: batch_stats['bn']['mean'] and result[1]['bn']['mean']. */
static int result_by_name(const infer_t *in, const roles_row_t *row)
{
    const char *rest = roles_name_rest(row->shown);
    int found = 0;
    for (int r = 0; *rest && r < in->fn->body->n_result; r++) {
        const char *info = in->fn->result_attrs
                               ? attr_text(&in->fn->result_attrs[r], "jax.result_info", "")
                               : "";
        const ir_type_t *type = ir_type_of(in->fn, in->fn->body->result[r]);
        if (r == in->loss || !ir_type_equal(type, &row->type)) continue;
        if (strcmp(roles_name_rest(info), rest) != 0) continue;
        if (found) return 0;
        found = r + 1;
    }
    return found;
}

/* The result that is the argument's next value, as its number + 1; 0: none, or several. */
static int next_of(const infer_t *in, const roles_row_t *row)
{
    int by_name = result_by_name(in, row);
    const roles_use_t *use = &in->uses->arg[row->index];
    return by_name ? by_name : use->n_next == 1 ? use->next : 0;
}

static const char *state_of(const infer_t *in, int next)
{
    return arena_printf(in->arena, "state:%d", next - 1);
}

/* --- by name --- */

static bool scalar_by_name(const infer_t *in, roles_row_t *row, const char *what, const char *why)
{
    if (row->type.rank > 0) return false;
    settle(row, arena_printf(in->arena, "scalar:%s", what), why);
    return true;
}

static bool by_name(const infer_t *in, roles_row_t *row, const char *name)
{
    const char *why = arena_printf(in->arena, "the name \"%.60s\"", name);
    int next = next_of(in, row);
    switch (roles_name_says(name)) {
    case NAME_param:
        if (!is_float(row)) return false;
        settle(row, "param", why);
        return true;
    case NAME_state:
        if (next)
            settle(row, state_of(in, next), why);
        else
            settle(row, "frozen", arena_printf(in->arena, "%s, and no result updates it", why));
        return true;
    case NAME_frozen: settle(row, "frozen", why); return true;
    case NAME_batch:
        if (row->type.rank == 0) return false;
        settle(row, "batch", why);
        return true;
    case NAME_seed:
        if (is_float(row)) return false;
        settle(row, "seed", why);
        return true;
    case NAME_step: return scalar_by_name(in, row, "step", why);
    case NAME_lr: return is_float(row) && scalar_by_name(in, row, "lr", why);
    case NAME_optimizer:
        settle(row, "param", why);
        row->unsure = "it looks like an optimizer's state: export the loss alone, PCP has its own "
                      "optimizers";
        return true;
    case NAME_NONE: break;
    }
    return false;
}

/* --- by use --- */

static bool is_key(const roles_row_t *row, const roles_use_t *use)
{
    bool small = row->type.rank <= 1 && ir_type_count(&row->type) <= 4;
    return use->makes_key && small && !is_float(row) && row->type.dtype != DT_I1;
}

static bool by_use(const infer_t *in, roles_row_t *row)
{
    const roles_use_t *use = &in->uses->arg[row->index];
    if (is_key(row, use)) {
        settle(row, "seed", "its bits are mixed into random ones");
        return true;
    }
    if (use->n_next == 1 && !use->in_loss && !dtype_is_unsigned(row->type.dtype)) {
        settle(row, state_of(in, use->next),
               "a result of its type is computed from it, the loss is not");
        return true;
    }
    if (use->n_next == 1 && !is_float(row) && row->type.rank == 0) {
        settle(row, state_of(in, use->next), "a counter: a result is its next value");
        return true;
    }
    if (!use->in_loss) {
        settle(row, "frozen", "the loss does not depend on it");
        return true;
    }
    return false;
}

/* --- by type --- */

static void by_type(const infer_t *in, roles_row_t *row)
{
    const roles_use_t *use = &in->uses->arg[row->index];
    bool one = row->type.rank == 0;
    settle(row, is_float(row) ? "param" : "batch", is_float(row) ? "a float" : "an integer");
    if (one && is_float(row))
        row->unsure = "a float scalar may be trained, or a number of each step: param, scalar:lr, "
                      "scalar:NUMBER or frozen";
    else if (one)
        row->unsure = "an integer scalar may be the step's number: scalar:step or scalar:NUMBER";
    else if (is_float(row) && use->n_next == 1)
        row->unsure = arena_printf(in->arena,
                                   "result %d is computed from it and has its type: state:%d, or "
                                   "param",
                                   use->next - 1, use->next - 1);
}

/* --- floats that are data: their rows are the data's --- */

static bool is_data(const roles_row_t *row)
{
    return row->role && strcmp(row->role, "batch") == 0;
}

/* The data whose first dimension is one of the row's. */
static const roles_row_t *same_rows(const infer_t *in, const roles_row_t *row)
{
    const roles_use_t *use = &in->uses->arg[row->index];
    for (int i = 0; i < in->fn->body->n_arg; i++) {
        const roles_row_t *other = &in->row[i];
        int rows = in->uses->arg[i].row[0];
        bool sure = !other->unsure && !(in->weak[i] && is_float(other));
        if (other == row || !is_data(other) || !sure || rows < 0) continue;
        if (use->row[0] == rows || use->row[1] == rows) return other;
    }
    return NULL;
}

static bool by_rows(const infer_t *in, roles_row_t *row)
{
    const roles_row_t *other = row->type.rank > 0 ? same_rows(in, row) : NULL;
    if (!other) return false;
    int64_t n = other->type.dim[0];
    settle(row, "batch",
           arena_printf(in->arena, "its rows are those of the data %.60s (%lld)", other->shown,
                        (long long)n));
    row->unsure = NULL;
    return true;
}

/* Without any data to compare with: floats that share a first dimension which nothing else has. */
static void suspect_rows(const infer_t *in)
{
    int n = in->fn->body->n_arg;
    for (int i = 0; i < n; i++) {
        int rows = in->uses->arg[i].row[0], n_same = 0, n_other = 0;
        for (int k = 0; rows >= 0 && k < n; k++) {
            n_same += in->uses->arg[k].row[0] == rows;
            n_other += in->uses->arg[k].row[1] == rows;
        }
        if (n_same < 2 || n_other > 0 || in->row[i].unsure || !is_float(&in->row[i])) continue;
        if (strcmp(in->row[i].role, "param") != 0) continue;
        in->row[i].unsure = arena_printf(
            in->arena,
            "%d arguments share their first dimension (%lld): batch if they are data, or param",
            n_same, (long long)in->row[i].type.dim[0]);
    }
}

static int count(const infer_t *in, const char *role)
{
    int n = 0;
    for (int i = 0; i < in->fn->body->n_arg; i++)
        n += in->row[i].role && strcmp(in->row[i].role, role) == 0;
    return n;
}

/* A name of the text alone, such as %x, does not leave a model without parameters. */
static void keep_parameters(const infer_t *in)
{
    if (count(in, "param") > 0) return;
    for (int i = 0; i < in->fn->body->n_arg; i++)
        if (in->weak[i] && is_float(&in->row[i]) && is_data(&in->row[i]))
            settle(&in->row[i], "param", "a float, and nothing else would be trained");
}

void roles_infer(const infer_input_t *input)
{
    infer_t in = {.arena = input->arena,
                  .fn = input->fn,
                  .loss = input->loss,
                  .row = input->row,
                  .uses = input->uses};
    int n = in.fn->body->n_arg;
    bool *open = mem_calloc((size_t)n + 1, sizeof *open);
    in.weak = mem_calloc((size_t)n + 1, sizeof *in.weak);
    for (int i = 0; i < n; i++) {
        roles_row_t *row = &in.row[i];
        const ir_value_t *value = &in.fn->value[ir_fn_param(in.fn, i)];
        if (row->role && strcmp(row->role, "state") == 0) { /* the caller's: find the result */
            int next = next_of(&in, row);
            if (next) row->role = state_of(&in, next);
            continue;
        }
        if (row->role || (input->exported[i] && by_name(&in, row, input->exported[i]))) continue;
        in.weak[i] = !input->exported[i] && value->name && by_name(&in, row, value->name);
        if (in.weak[i] || by_use(&in, row)) continue;
        open[i] = true;
    }
    for (int i = 0; i < n; i++)
        if (open[i] && !is_float(&in.row[i])) by_type(&in, &in.row[i]);
    for (int i = 0; i < n; i++)
        if (open[i] && is_float(&in.row[i]) && !by_rows(&in, &in.row[i])) by_type(&in, &in.row[i]);
    keep_parameters(&in);
    if (count(&in, "batch") == 0) suspect_rows(&in);
    free(open);
    free(in.weak);
}
