/* The interpreter. A frame holds one tensor slot per value of the running function; regions of the
 * function share it, because their values are numbered with the function's. Each value is released
 * after the op of its own region that uses it last, itself or in a nested region. */
#include "ops/eval.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/vec.h"
#include "ops/common.h"

typedef enum { SLOT_EMPTY = 0, SLOT_OWNED, SLOT_BORROWED } slot_state_t;

/* When a value dies: after op `last` of its region; at the region's end when it is a result. */
typedef struct {
    const ir_op_t *last; /* NULL: never used */
    bool is_result;
} lifetime_t;

typedef struct {
    const ir_fn_t *fn;
    lifetime_t *value; /* fn->n_value */
} liveness_t;

typedef struct frame {
    const ir_fn_t *fn;
    const lifetime_t *lifetime;
    tensor_t *slot; /* fn->n_value */
    uint8_t *state; /* slot_state_t of each slot */
} frame_t;

struct eval {
    const ir_module_t *module;
    eval_options_t options;
    frame_t *frame;     /* innermost */
    int depth;          /* nested calls */
    int64_t live_bytes; /* in owned slots of all frames */
    uint64_t n_draw;    /* rng ops that ran */
    bool located;       /* the error already says where it happened */
    VEC(liveness_t) liveness;
};

const ir_module_t *eval_module(const eval_t *ev)
{
    return ev->module;
}

const eval_options_t *eval_options(const eval_t *ev)
{
    return &ev->options;
}

uint64_t eval_next_draw(eval_t *ev)
{
    return ev->n_draw++;
}

/* --- Lifetimes ------------------------------------------------------------------------------- */

static const ir_region_t *home_of(const ir_fn_t *fn, ir_val_t v)
{
    const ir_value_t *value = &fn->value[v];
    return value->def ? value->def->parent : value->owner;
}

/* v is used by op (NULL: by the end of `region`), somewhere at or below v's own region. */
static void note_use(const ir_fn_t *fn, lifetime_t *life, ir_val_t v, const ir_op_t *op,
                     const ir_region_t *region)
{
    const ir_region_t *home = home_of(fn, v);
    while (region && region != home) {
        op = region->parent;
        region = op ? op->parent : NULL;
    }
    if (op)
        life[v].last = op;
    else
        life[v].is_result = true;
}

static void note_region(const ir_fn_t *fn, lifetime_t *life, const ir_region_t *region)
{
    for (int k = 0; k < region->n_op; k++) {
        const ir_op_t *op = region->op[k];
        for (int i = 0; i < op->n_in; i++) note_use(fn, life, op->in[i], op, region);
        for (int r = 0; r < op->n_region; r++) note_region(fn, life, op->region[r]);
    }
    for (int i = 0; i < region->n_result; i++) note_use(fn, life, region->result[i], NULL, region);
}

static const lifetime_t *lifetimes(eval_t *ev, const ir_fn_t *fn)
{
    for (size_t i = 0; i < ev->liveness.n; i++)
        if (ev->liveness.at[i].fn == fn) return ev->liveness.at[i].value;
    liveness_t fresh = {fn, mem_calloc(fn->n_value + 1u, sizeof(lifetime_t))};
    note_region(fn, fresh.value, fn->body);
    VEC_PUSH(&ev->liveness, fresh);
    return fresh.value;
}

/* --- Slots ----------------------------------------------------------------------------------- */

static void slot_release(eval_t *ev, ir_val_t v)
{
    frame_t *frame = ev->frame;
    if (frame->state[v] == SLOT_OWNED) {
        ev->live_bytes -= ir_type_bytes(&frame->slot[v].type);
        tensor_fini(&frame->slot[v]);
    }
    frame->state[v] = SLOT_EMPTY;
}

static void slot_own(eval_t *ev, ir_val_t v, tensor_t tensor)
{
    slot_release(ev, v);
    ev->frame->slot[v] = tensor;
    ev->frame->state[v] = SLOT_OWNED;
    ev->live_bytes += ir_type_bytes(&tensor.type);
}

/* Hand the value out: moved when this region made it, copied when it is borrowed or still needed.
 */
static tensor_t slot_take(eval_t *ev, const ir_region_t *region, ir_val_t v)
{
    frame_t *frame = ev->frame;
    tensor_t taken = frame->slot[v];
    if (frame->state[v] == SLOT_OWNED && home_of(frame->fn, v) == region) {
        ev->live_bytes -= ir_type_bytes(&taken.type);
        frame->state[v] = SLOT_BORROWED; /* a second result of the same value copies it */
        return taken;
    }
    tensor_t copy = tensor_new(&taken.type);
    tensor_assign(&copy, &taken);
    return copy;
}

/* Release what `op` used for the last time, in itself or in its regions. */
static void release_uses(eval_t *ev, const ir_op_t *op, const ir_op_t *user)
{
    const lifetime_t *life = ev->frame->lifetime;
    for (int i = 0; i < user->n_in; i++) {
        ir_val_t v = user->in[i];
        if (life[v].last == op && !life[v].is_result) slot_release(ev, v);
    }
    for (int r = 0; r < user->n_region; r++) {
        const ir_region_t *region = user->region[r];
        for (int k = 0; k < region->n_op; k++) release_uses(ev, op, region->op[k]);
        for (int i = 0; i < region->n_result; i++) {
            ir_val_t v = region->result[i];
            if (life[v].last == op && !life[v].is_result) slot_release(ev, v);
        }
    }
}

/* --- Ops ------------------------------------------------------------------------------------- */

static int fail_at(eval_t *ev, const ir_op_t *op, err_t *err)
{
    if (!ev->located && op->line > 0) err_prefix(err, "line %d: ", op->line);
    ev->located = true;
    return -1;
}

static int check_memory(const eval_t *ev, const ir_fn_t *fn, const ir_op_t *op, err_t *err)
{
    int64_t want = ev->live_bytes;
    for (int i = 0; i < op->n_out; i++) {
        int64_t bytes = ir_type_bytes(ir_type_of(fn, op->out + (ir_val_t)i));
        if (bytes > ev->options.max_bytes - want)
            return err_set(err, ERR_MEMORY,
                           "%s: result of %lld bytes with %lld in use is over the limit of %lld",
                           op_name(op), (long long)bytes, (long long)want,
                           (long long)ev->options.max_bytes);
        want += bytes;
    }
    return 0;
}

int eval_reserve(eval_t *ev, const ir_op_t *op, int64_t n, size_t bytes, err_t *err)
{
    int64_t want;
    if (!i64_mul(n, (int64_t)bytes, &want)) want = INT64_MAX;
    if (want > ev->options.max_bytes - ev->live_bytes)
        return err_set(err, ERR_MEMORY,
                       "%s: %lld bytes to work in with %lld in use are over the limit of %lld",
                       op_name(op), (long long)want, (long long)ev->live_bytes,
                       (long long)ev->options.max_bytes);
    ev->live_bytes += want;
    return 0;
}

int64_t eval_bytes_left(const eval_t *ev)
{
    int64_t left = ev->options.max_bytes - ev->live_bytes;
    return left > 0 ? left : 1;
}

/* Make the results and call the evaluator; on failure no result is left. */
static int run_op(eval_t *ev, const ir_fn_t *fn, const ir_op_t *op, const tensor_t *in,
                  tensor_t *out, err_t *err)
{
    const op_def_t *def = op_def(op->code);
    if (!def || !def->eval)
        return err_set(err, ERR_UNSUPPORTED, "%s cannot be evaluated",
                       def ? def->name : "unknown op");
    if (check_memory(ev, fn, op, err) < 0) return -1;
    int64_t live_bytes = ev->live_bytes;
    bool writes = def->kind != K_CONTROL && !def->expand; /* into results of its own making */
    for (int i = 0; i < op->n_out; i++) {
        const ir_type_t *type = ir_type_of(fn, op->out + (ir_val_t)i);
        out[i] = tensor_new(type);
        if (writes) ev->live_bytes += ir_type_bytes(type);
    }
    int status = def->eval(ev, op, in, out, err);
    ev->live_bytes = live_bytes;
    if (status == 0) return 0;
    for (int i = 0; i < op->n_out; i++) tensor_fini(&out[i]);
    return -1;
}

static int step(eval_t *ev, const ir_op_t *op, err_t *err)
{
    enum { SMALL = 8 };
    frame_t *frame = ev->frame;
    int n = op->n_in + op->n_out, rc = -1;
    tensor_t small[SMALL], *all = n <= SMALL ? small : mem_calloc((size_t)n, sizeof *all);
    tensor_t *out = all + op->n_in;
    for (int i = 0; i < op->n_in; i++) all[i] = frame->slot[op->in[i]];
    if (run_op(ev, frame->fn, op, all, out, err) < 0) {
        fail_at(ev, op, err);
        goto done;
    }
    for (int i = 0; i < op->n_out; i++) {
        ir_val_t v = op->out + (ir_val_t)i;
        slot_own(ev, v, out[i]);
        if (!frame->lifetime[v].last && !frame->lifetime[v].is_result) slot_release(ev, v);
    }
    release_uses(ev, op, op);
    rc = 0;
done:
    if (all != small) free(all);
    return rc;
}

int eval_region(eval_t *ev, const ir_region_t *region, const tensor_t *args, tensor_t *results,
                err_t *err)
{
    frame_t *frame = ev->frame;
    for (int i = 0; i < region->n_arg; i++) {
        ir_val_t v = region->arg + (ir_val_t)i;
        slot_release(ev, v);
        frame->slot[v] = args[i];
        frame->state[v] = SLOT_BORROWED;
    }
    for (int k = 0; k < region->n_op; k++)
        if (step(ev, region->op[k], err) < 0) return -1;
    for (int i = 0; i < region->n_result; i++)
        results[i] = slot_take(ev, region, region->result[i]);
    for (int i = 0; i < region->n_arg; i++) slot_release(ev, region->arg + (ir_val_t)i);
    for (int k = 0; k < region->n_op; k++)
        for (int i = 0; i < region->op[k]->n_out; i++)
            slot_release(ev, region->op[k]->out + (ir_val_t)i);
    return 0;
}

/* --- Functions ------------------------------------------------------------------------------- */

static int check_inputs(const ir_fn_t *fn, const tensor_t *in, err_t *err)
{
    char have[IR_TYPE_TEXT], want[IR_TYPE_TEXT];
    for (int i = 0; i < fn->body->n_arg; i++) {
        const ir_type_t *type = ir_type_of(fn, ir_fn_param(fn, i));
        if (!ir_type_equal(type, &in[i].type))
            return err_set(err, ERR_TYPE, "@%s: argument %d is %s, expected %s", fn->name, i,
                           ir_type_text(&in[i].type, have), ir_type_text(type, want));
    }
    return 0;
}

int eval_call(eval_t *ev, const ir_fn_t *fn, const tensor_t *in, tensor_t *out, err_t *err)
{
    if (ev->depth >= ev->options.max_depth)
        return err_set(err, ERR_STATE, "@%s: calls are nested deeper than %d", fn->name,
                       ev->options.max_depth);
    if (check_inputs(fn, in, err) < 0) return -1;
    frame_t frame = {
        .fn = fn,
        .lifetime = lifetimes(ev, fn),
        .slot = mem_calloc(fn->n_value + 1u, sizeof(tensor_t)),
        .state = mem_calloc(fn->n_value + 1u, 1),
    };
    frame_t *caller = ev->frame;
    ev->frame = &frame;
    ev->depth++;
    int rc = eval_region(ev, fn->body, in, out, err);
    for (ir_val_t v = 0; v < fn->n_value; v++) slot_release(ev, v);
    ev->depth--;
    ev->frame = caller;
    free(frame.slot);
    free(frame.state);
    return rc;
}

int64_t eval_max_bytes(const eval_options_t *opt)
{
    if (opt && opt->max_bytes > 0) return opt->max_bytes;
    int64_t page = sysconf(_SC_PAGESIZE), pages = sysconf(_SC_PHYS_PAGES);
    return page > 0 && pages > 0 ? pages / 4 * 3 * page : (int64_t)4 << 30;
}

static void eval_init(eval_t *ev, const ir_module_t *module, const eval_options_t *opt)
{
    *ev = (eval_t){.module = module};
    if (opt) ev->options = *opt;
    if (ev->options.max_depth <= 0) ev->options.max_depth = 200;
    ev->options.max_bytes = eval_max_bytes(opt);
}

static void eval_fini(eval_t *ev)
{
    for (size_t i = 0; i < ev->liveness.n; i++) free(ev->liveness.at[i].value);
    VEC_FREE(&ev->liveness);
}

int eval_fn(const ir_module_t *module, const ir_fn_t *fn, const tensor_t *in, tensor_t *out,
            const eval_options_t *opt, err_t *err)
{
    eval_t ev;
    eval_init(&ev, module, opt);
    int rc = eval_call(&ev, fn, in, out, err);
    eval_fini(&ev);
    return rc;
}

int eval_op(const ir_module_t *module, const ir_fn_t *fn, const ir_op_t *op, const tensor_t *in,
            tensor_t *out, err_t *err)
{
    eval_t ev;
    eval_init(&ev, module, NULL);
    int rc = op->n_region > 0
                 ? err_set(err, ERR_UNSUPPORTED, "%s: ops with regions are evaluated in functions",
                           op_name(op))
                 : run_op(&ev, fn, op, in, out, err);
    eval_fini(&ev);
    return rc;
}
