/* Sweeps: random networks over rows, most of whose steps join strips and some of which must not,
 * give the same bits with sweeps and without, for any number of threads, and what the interpreter
 * has. PCP_PROGRAMS=FIRST:COUNT chooses the seeds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ad/ad.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/vec.h"
#include "codegen/target.h"
#include "compile/compile.h"
#include "ir/build.h"
#include "plan/format/check.h"
#include "plan_help.h"
#include "random_program.h"
#include "runtime/exec.h"

enum { N_WEIGHT = 4, N_PARAM = 1 + N_WEIGHT, N_LAYER = 7, MAX_THREADS = 4 };

typedef struct {
    ir_fn_t *fn;
    uint64_t seed, counter;
    int64_t sequences, rows, width;
    ir_val_t x[N_LAYER + 1]; /* [rows, width] each */
    int n;
} net_t;

static int draw(net_t *net, int n)
{
    return (int)(rng_bits(net->seed, net->counter++) % (uint64_t)n);
}

static ir_val_t squash(net_t *net, ir_val_t x)
{
    return ir_op1(net->fn, OP_tanh, x);
}

static ir_val_t linear(net_t *net, ir_val_t x)
{
    ir_val_t w = ir_fn_param(net->fn, 1 + draw(net, N_WEIGHT));
    if (draw(net, 2)) w = ir_transpose(net->fn, w, (int64_t[]){1, 0});
    ir_val_t y = ir_matmul(net->fn, x, w);
    ir_type_t type = *ir_type_of(net->fn, y);
    int64_t first[] = {0, 0}, end[] = {1, net->width};
    ir_val_t row = ir_slice(net->fn, w, first, end, NULL);
    ir_type_t flat = ir_type(DT_F32, 1, &net->width);
    row = ir_reshape(net->fn, row, &flat);
    return squash(net,
                  ir_op2(net->fn, OP_add, y, ir_broadcast(net->fn, row, &type, (int64_t[]){1})));
}

/* x - mean over `dim`, back over x. */
static ir_val_t centre(net_t *net, ir_val_t x, int dim)
{
    ir_type_t type = *ir_type_of(net->fn, x);
    int64_t dims[] = {dim}, kept[] = {1 - dim};
    ir_val_t sum = ir_reduce(net->fn, OP_add, x, dims, 1);
    ir_val_t mean = ir_op2(net->fn, OP_multiply, sum,
                           ir_scalar_like(net->fn, sum, 1.0 / (double)type.dim[dim]));
    return ir_op2(net->fn, OP_subtract, x, ir_broadcast(net->fn, mean, &type, kept));
}

/* Row r takes over what row r - 1 has, of its sequence or of all rows. */
static ir_val_t shift(net_t *net, ir_val_t x, bool within)
{
    ir_type_t flat = *ir_type_of(net->fn, x);
    ir_type_t type = flat;
    if (within)
        type = ir_type(DT_F32, 3,
                       (int64_t[]){net->sequences, net->rows / net->sequences, net->width});
    int dim = within ? 1 : 0;
    int64_t low[3] = {0}, high[3] = {0};
    low[dim] = 1;
    high[dim] = -1;
    ir_val_t y = ir_reshape(net->fn, x, &type);
    y = ir_pad(net->fn, y, ir_scalar(net->fn, DT_F32, 0), low, high, NULL);
    return ir_op2(net->fn, OP_subtract, x, ir_reshape(net->fn, y, &flat));
}

/* tanh(x x^T) x for each sequence. */
static ir_val_t attend(net_t *net, ir_val_t x)
{
    ir_type_t flat = *ir_type_of(net->fn, x);
    ir_type_t type = ir_type(DT_F32, 3,
                             (int64_t[]){net->sequences, net->rows / net->sequences, net->width});
    ir_dot_t scores = {.n_batch = 1, .n_contract = 1, .lhs_contract = {2}, .rhs_contract = {2}};
    ir_dot_t values = {.n_batch = 1, .n_contract = 1, .lhs_contract = {2}, .rhs_contract = {1}};
    ir_val_t y = ir_reshape(net->fn, x, &type);
    ir_val_t p = squash(net, ir_dot(net->fn, y, y, &scores, DT_F32));
    y = squash(net, ir_dot(net->fn, p, y, &values, DT_F32));
    return ir_reshape(net->fn, y, &flat);
}

/* x (x^T x), which needs all rows. */
static ir_val_t mix(net_t *net, ir_val_t x)
{
    ir_dot_t over_rows = {.n_contract = 1, .lhs_contract = {0}, .rhs_contract = {0}};
    ir_val_t g = squash(net, ir_dot(net->fn, x, x, &over_rows, DT_F32));
    return squash(net, ir_matmul(net->fn, x, g));
}

static ir_val_t layer(net_t *net, ir_val_t x)
{
    ir_val_t other = net->x[draw(net, net->n)];
    switch (draw(net, 12)) {
    case 0: return ir_op2(net->fn, OP_add, x, other);
    case 1: return ir_op2(net->fn, OP_multiply, x, ir_op1(net->fn, OP_logistic, other));
    case 2:
    case 3: return centre(net, x, 1);
    case 4: return centre(net, x, 0);
    case 5: return shift(net, x, true);
    case 6: return shift(net, x, false);
    case 7: return attend(net, x);
    case 8: return mix(net, x);
    case 9: return ir_op2(net->fn, OP_add, x, ir_reverse(net->fn, other, (int64_t[]){0}, 1));
    default: return linear(net, x);
    }
}

/* The gradient of the mean square of a random network, as @main. */
static ir_module_t *network(uint64_t seed)
{
    static const int64_t sequences[] = {8, 12, 16, 24}, widths[] = {16, 20, 33, 48};
    err_t err = {0};
    ir_module_t *module = ir_module_new();
    net_t net = {.seed = seed, .n = 1};
    net.sequences = sequences[draw(&net, 4)];
    net.rows = net.sequences * 32;
    net.width = widths[draw(&net, 4)];
    ir_type_t types[N_PARAM] = {ir_type(DT_F32, 2, (int64_t[]){net.rows, net.width})};
    for (int i = 1; i < N_PARAM; i++)
        types[i] = ir_type(DT_F32, 2, (int64_t[]){net.width, net.width});
    net.fn = ir_fn_new(module, "forward", N_PARAM, types);
    net.x[0] = ir_fn_param(net.fn, 0);
    for (int i = 0; i < N_LAYER; i++) {
        net.x[net.n] = layer(&net, net.x[net.n - 1]);
        net.n++;
    }
    ir_val_t y = squash(&net, net.x[net.n - 1]);
    ir_val_t loss = ir_reduce_all(net.fn, OP_add, ir_op2(net.fn, OP_multiply, y, y));
    net.fn->is_private = true;
    if (ir_fn_finish(net.fn, 1, &loss, &err) < 0) fail_msg("%s", err.text);
    bool wanted[N_PARAM];
    for (int i = 0; i < N_PARAM; i++) wanted[i] = true;
    if (!ad_gradient(module, net.fn, "main", wanted, &err)) fail_msg("%s", err.text);
    return module;
}

/* All results of @main, one after another: returns, caller frees. */
static uint8_t *run(const plan_t *plan, int threads, size_t *n)
{
    err_t err = {0};
    const exec_options_t options = {.threads = threads};
    exec_t *exec = exec_new(plan, &options, &err);
    if (!exec) fail_msg("%s", err.text);
    *n = 0;
    for (int i = 0; i < plan->n_tensor; i++) {
        const plan_tensor_t *t = &plan->tensor[i];
        if (t->role == ROLE_RESULT) *n += t->n_bytes;
        if (t->role != ROLE_BATCH) continue;
        float *x = mem_calloc(1, t->n_bytes);
        for (size_t e = 0; e < t->n_bytes / 4; e++)
            x[e] = (float)(rng_uniform((uint64_t)i, e) * 2 - 1);
        assert_int_equal(exec_write(exec, i, x, t->n_bytes, &err), 0);
        free(x);
    }
    uint8_t *bytes = mem_calloc(1, *n + 1);
    size_t at = 0;
    if (exec_run(exec, "main", &err) < 0) fail_msg("%s", err.text);
    for (int i = 0; i < plan->n_tensor; i++) {
        if (plan->tensor[i].role != ROLE_RESULT) continue;
        assert_int_equal(exec_read(exec, i, bytes + at, plan->tensor[i].n_bytes, &err), 0);
        at += plan->tensor[i].n_bytes;
    }
    exec_destroy(&exec);
    return bytes;
}

typedef struct {
    int steps, strips, apart; /* all, in sweeps of strips, in others */
} tally_t;

static void count(const plan_program_t *program, tally_t *tally)
{
    tally->steps += program->n_step;
    for (int i = 0; i < program->n_sweep; i++)
        *(program->sweep[i].strips > 0 ? &tally->strips : &tally->apart) += program->sweep[i].n;
}

static void check_seed(uint64_t seed, tally_t *tally)
{
    err_t err = {0};
    ir_module_t *module = network(seed);
    plan_t *plan = compile_module(module, "", NULL, target_host(), &err);
    if (!plan) fail_msg("seed %llu: %s", (unsigned long long)seed, err.text);
    plan_program_t *program = &plan->program[0];
    count(program, tally);
    int n_sweep = program->n_sweep;
    size_t n;
    program->n_sweep = 0;
    uint8_t *want = run(plan, 1, &n);
    program->n_sweep = n_sweep;
    for (int threads = 1; threads <= MAX_THREADS; threads++) {
        uint8_t *got = run(plan, threads, &n);
        if (memcmp(want, got, n) != 0)
            fail_msg("seed %llu, %d threads: sweeps change the results", (unsigned long long)seed,
                     threads);
        free(got);
    }
    free(want);
    plan_destroy(&plan);
    ir_module_destroy(&module);
    /* Both in f32, sums in another order, through seven squashed layers whose differences of rows
     * cancel: 1.2e-4 of the largest element has been seen. Bits are checked
     * above. */
    plan_check_module(network(seed), &(plan_check_t){seed, 9, 1, 1e-3, 0});
}

static void test_random_networks(void **state)
{
    uint64_t first = 0, n = 8;
    tally_t tally = {0};
    (void)state;
    random_range(&first, &n);
    for (uint64_t seed = first; seed < first + n; seed++) check_seed(seed, &tally);
    print_message("%d steps, %d in strips, %d apart\n", tally.steps, tally.strips, tally.apart);
    assert_true(tally.strips * 4 > tally.steps);
    assert_true(tally.apart * 20 > tally.steps);
}

/* --- What nobody vouches for ------------------------------------------------------------------ */

static void test_check(void **state)
{
    (void)state;
    err_t err = {0};
    ir_module_t *module = network(1);
    plan_t *plan = compile_module(module, "", NULL, target_host(), &err);
    if (!plan) fail_msg("%s", err.text);
    plan_program_t *program = &plan->program[0];
    assert_true(program->n_sweep >= 1);
    assert_int_equal(plan_check(plan, &err), 0);
    const plan_sweep_t good = program->sweep[0];
    const plan_sweep_t bad[] = {{-1, 2, 0},
                                {good.first, 1, good.strips},
                                {good.first, program->n_step - good.first + 1, 0},
                                {program->n_step, 2, 0},
                                {good.first, INT32_MAX, 0},
                                {good.first, good.n, -1},
                                {good.first, good.n, INT64_MAX}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        program->sweep[0] = bad[i];
        assert_int_equal(plan_check(plan, &err), -1);
        assert_int_equal(err.code, ERR_CORRUPT);
    }
    program->sweep[0] = good;
    size_t n;
    uint8_t *bytes = plan_pack(plan, &n, NULL);
    plan_t *copy = plan_unpack(bytes, n, &err);
    assert_non_null(copy);
    assert_int_equal(copy->program[0].n_sweep, program->n_sweep);
    assert_memory_equal(copy->program[0].sweep, program->sweep,
                        (size_t)program->n_sweep * sizeof *program->sweep);
    free(bytes);
    plan_destroy(&copy);
    plan_destroy(&plan);
    ir_module_destroy(&module);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_networks),
        cmocka_unit_test(test_check),
    };
    return cmocka_run_group_tests_name("sweep", tests, NULL, NULL);
}
