/* Collectives of a program that is one process (one replica, one partition): a group holds that
 * process or nobody, so that each op is its operand, or zeros where no process sends. Groups of
 * more are refused by name: PCP spreads training itself, over whole plans, not inside of a program.
 */
#include <string.h>

#include "ops/expand.h"
#include "ops/rule.h"

#define COLLECTIVE(id, N_IN, N_REGION, INFER, EXPAND)   \
    const op_def_t op_##id = {.name = "stablehlo." #id, \
                              .kind = K_OTHER,          \
                              .n_in = N_IN,             \
                              .n_out = N_IN,            \
                              .n_region = N_REGION,     \
                              .infer = INFER,           \
                              .expand = EXPAND,         \
                              .eval = eval_expanded,    \
                              .vjp = vjp_expanded};

/* The processes an attribute names: 0 at most once, and -1, which pads groups of unequal size where
 * `padded`. Sets *found: process 0 is there. */
static int only_process(const ir_op_t *op, const char *name, const int64_t *ids, int n, bool padded,
                        bool *found, err_t *err)
{
    *found = false;
    for (int i = 0; i < n; i++) {
        if (ids[i] == -1 && padded) continue;
        if (ids[i] > 0)
            return err_set(err, ERR_UNSUPPORTED,
                           "%s: %s names process %lld, but a program here is one process (one "
                           "replica, one partition): export it for one device",
                           op_name(op), name, (long long)ids[i]);
        if (ids[i] < 0 || *found)
            return err_set(err, ERR_ARG, "%s: %s names process %lld %s", op_name(op), name,
                           (long long)ids[i], ids[i] < 0 ? "" : "twice");
        *found = true;
    }
    return 0;
}

/* replica_groups; without any group *found is false. */
static int groups(const ir_op_t *op, int *n, bool *found, err_t *err)
{
    const ir_attr_t *attr = attr_find(&op->attrs, "replica_groups");
    *n = 0;
    *found = false;
    if (!attr) return err_set(err, ERR_ARG, "%s: attribute replica_groups is missing", op_name(op));
    if (attr->kind != ATTR_INTS)
        return err_set(err, ERR_UNSUPPORTED, "%s: replica_groups is not a list of process numbers",
                       op_name(op));
    *n = attr->n;
    return only_process(op, "replica_groups", attr->ints, attr->n, true, found, err);
}

/* Every process is in a group; no groups at all are one group of all. */
static int all_in_groups(const ir_op_t *op, err_t *err)
{
    int n;
    bool found;
    if (groups(op, &n, &found, err) < 0) return -1;
    if (found || n == 0) return 0;
    return err_set(err, ERR_ARG, "%s: replica_groups lacks process 0", op_name(op));
}

static int infer_dim(const ir_fn_t *fn, const ir_op_t *op, const char *name, err_t *err)
{
    int64_t dim = attr_int(&op->attrs, name, -1);
    for (int i = 0; i < op->n_in; i++)
        if (dim < 0 || dim >= op_in_type(fn, op, i)->rank)
            return err_set(err, ERR_SHAPE, "%s: %s is %lld, operand %d has rank %d", op_name(op),
                           name, (long long)dim, i, op_in_type(fn, op, i)->rank);
    return 0;
}

static int infer_like_operands(const ir_fn_t *fn, const ir_op_t *op, ir_type_t *out, err_t *err)
{
    if (op->n_in == 0 || op->n_in != op->n_out)
        return err_set(err, ERR_SHAPE, "%s: %d operands and %d results", op_name(op), op->n_in,
                       op->n_out);
    for (int i = 0; i < op->n_out; i++)
        if (infer_result(op, i, out, op_in_type(fn, op, i), err) < 0) return -1;
    return 0;
}

static void expand_same(ir_fn_t *fn, const ir_op_t *op, const ir_type_t *types, const ir_val_t *in,
                        ir_val_t *out)
{
    (void)types, (void)fn;
    for (int i = 0; i < op->n_out; i++) out[i] = in[i];
}

/* --- all_reduce, reduce_scatter: the sum of one term; the computation's type is the result's ---
 */
static int infer_computed(const ir_fn_t *fn, const ir_op_t *op, ir_type_t *out, err_t *err)
{
    const ir_region_t *region = op->region[0];
    if (op->n_in == 0 || op->n_in != op->n_out)
        return err_set(err, ERR_SHAPE, "%s: %d operands and %d results", op_name(op), op->n_in,
                       op->n_out);
    if (region->n_arg != 2 || region->n_result != 1)
        return err_set(err, ERR_SHAPE, "%s: region 0 has %d arguments and %d results, not 2 and 1",
                       op_name(op), region->n_arg, region->n_result);
    ir_type_t scalar = ir_type_scalar(ir_type_of(fn, region->result[0])->dtype);
    ir_type_t args[2] = {scalar, scalar};
    if (infer_region(fn, op, 0, 2, args, 1, &scalar, err) < 0) return -1;
    for (int i = 0; i < op->n_in; i++) {
        dtype_t from = op_in_type(fn, op, i)->dtype;
        ir_type_t type = ir_type_with(*op_in_type(fn, op, i), scalar.dtype);
        if (dtype_class(from) != dtype_class(scalar.dtype) ||
            dtype_bits(from) > dtype_bits(scalar.dtype))
            return err_set(err, ERR_TYPE, "%s: operand %d is of %s, its computation of %s",
                           op_name(op), i, dtype_name(from), dtype_name(scalar.dtype));
        if (infer_result(op, i, out, &type, err) < 0) return -1;
    }
    return all_in_groups(op, err);
}

static int infer_reduce_scatter(const ir_fn_t *fn, const ir_op_t *op, ir_type_t *out, err_t *err)
{
    return infer_computed(fn, op, out, err) < 0 ? -1 : infer_dim(fn, op, "scatter_dimension", err);
}

static void expand_converted(ir_fn_t *fn, const ir_op_t *op, const ir_type_t *types,
                             const ir_val_t *in, ir_val_t *out)
{
    for (int i = 0; i < op->n_out; i++) out[i] = ir_convert(fn, in[i], types[i].dtype);
}
COLLECTIVE(all_reduce, -1, 1, infer_computed, expand_converted)
COLLECTIVE(reduce_scatter, 1, 1, infer_reduce_scatter, expand_converted)

/* --- all_gather: the concatenation of one part --- */
static int infer_all_gather(const ir_fn_t *fn, const ir_op_t *op, ir_type_t *out, err_t *err)
{
    if (all_in_groups(op, err) < 0 || infer_dim(fn, op, "all_gather_dim", err) < 0) return -1;
    return infer_like_operands(fn, op, out, err);
}
COLLECTIVE(all_gather, -1, 0, infer_all_gather, expand_same)

/* --- all_to_all: one part, sent to oneself --- */
static int infer_all_to_all(const ir_fn_t *fn, const ir_op_t *op, ir_type_t *out, err_t *err)
{
    int64_t count = attr_int(&op->attrs, "split_count", 0);
    if (all_in_groups(op, err) < 0 || infer_dim(fn, op, "split_dimension", err) < 0 ||
        infer_dim(fn, op, "concat_dimension", err) < 0)
        return -1;
    if (count > 1)
        return err_set(err, ERR_UNSUPPORTED,
                       "%s: split_count is %lld, but a program here is one process", op_name(op),
                       (long long)count);
    if (count < 1)
        return err_set(err, ERR_ARG, "%s: split_count is %lld", op_name(op), (long long)count);
    return infer_like_operands(fn, op, out, err);
}
COLLECTIVE(all_to_all, -1, 0, infer_all_to_all, expand_same)

/* --- collective_permute, collective_broadcast: zeros where nobody sends --- */
static int pairs(const ir_op_t *op, bool *found, err_t *err)
{
    const ir_attr_t *attr = attr_find(&op->attrs, "source_target_pairs");
    *found = false;
    if (!attr || attr->kind != ATTR_INTS || attr->n % 2)
        return err_set(err, ERR_ARG, "%s: source_target_pairs is no list of pairs", op_name(op));
    for (int i = 0; i < attr->n; i += 2)
        if (only_process(op, "source_target_pairs", attr->ints + i, 1, false, found, err) < 0 ||
            only_process(op, "source_target_pairs", attr->ints + i + 1, 1, false, found, err) < 0)
            return -1;
    if (attr->n <= 2) return 0;
    return err_set(err, ERR_ARG, "%s: source_target_pairs names process 0 twice", op_name(op));
}

static int infer_permute(const ir_fn_t *fn, const ir_op_t *op, ir_type_t *out, err_t *err)
{
    bool found;
    return pairs(op, &found, err) < 0 ? -1 : infer_like_operands(fn, op, out, err);
}

static void expand_permute(ir_fn_t *fn, const ir_op_t *op, const ir_type_t *types,
                           const ir_val_t *in, ir_val_t *out)
{
    bool found;
    pairs(op, &found, NULL);
    out[0] = found ? in[0] : ir_splat(fn, &types[0], 0);
}

static int infer_spread(const ir_fn_t *fn, const ir_op_t *op, ir_type_t *out, err_t *err)
{
    int n;
    bool found;
    return groups(op, &n, &found, err) < 0 ? -1 : infer_like_operands(fn, op, out, err);
}

static void expand_spread(ir_fn_t *fn, const ir_op_t *op, const ir_type_t *types,
                          const ir_val_t *in, ir_val_t *out)
{
    int n;
    bool found;
    groups(op, &n, &found, NULL);
    out[0] = found ? in[0] : ir_splat(fn, &types[0], 0);
}
COLLECTIVE(collective_permute, 1, 0, infer_permute, expand_permute)
COLLECTIVE(collective_broadcast, 1, 0, infer_spread, expand_spread)
