/* Two modules as text, through the whole compiler: what a device's peak is for us is what our kernels and its driver
 * make of the simplest work. */
#include "tools/peak.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "compile/compile.h"
#include "parse/parse.h"
#include "runtime/profile.h"

/* A product that takes less is over before a device is at full speed. */
static const double long_enough = 2e-3;

static const char *const product =
    "func.func public @main(%%x: tensor<%dx%dx%s>, %%y: tensor<%dx%dx%s>) -> "
    "tensor<%dx%dxf32> {\n"
    "  %%z = stablehlo.dot_general %%x, %%y, contracting_dims = [1] x [0] : "
    "(tensor<%dx%dx%s>, tensor<%dx%dx%s>) -> tensor<%dx%dxf32>\n"
    "  return %%z : tensor<%dx%dxf32>\n}\n";
static const char *const pass =
    "func.func public @main(%x: tensor<8388608xf32>, %y: tensor<8388608xf32>) -> "
    "tensor<8388608xf32> {\n"
    "  %z = stablehlo.add %x, %y : tensor<8388608xf32>\n"
    "  return %z : tensor<8388608xf32>\n}\n";
static const double pass_bytes = 3.0 * 8388608 * 4;

static plan_t *compile(const char *text, const char *target, err_t *err)
{
    ir_module_t *module = parse_stablehlo(text, strlen(text), "peak.mlir", err);
    plan_t *plan = module ? compile_module(module, NULL, NULL, target, err) : NULL;
    ir_module_destroy(&module);
    return plan;
}

/* The steps of one run, together; each on the device's clock where it has one. */
static double seconds_of(const profile_t *profile)
{
    int n;
    double sum = 0;
    profile_row_t *rows = profile_rows(profile, &n);
    for (int i = 0; i < n; i++) sum += rows[i].seconds;
    free(rows);
    return sum;
}

/* The fastest of several runs, but for the first. */
static int run(exec_t *exec, double *seconds, err_t *err)
{
    enum { RUNS = 5 };
    int status = exec_run(exec, "main", err);
    *seconds = 0;
    for (int i = 0; status == 0 && i < RUNS; i++) {
        profile_t *profile = profile_new(exec);
        profile_begin(profile);
        status = exec_run(exec, "main", err);
        profile_end(profile);
        double now = seconds_of(profile);
        if (*seconds == 0 || now < *seconds) *seconds = now;
        profile_destroy(&profile);
    }
    return status;
}

static int time_module(const peak_options_t *o, const char *text, double *seconds, err_t *err)
{
    plan_t *plan = compile(text, o->target, err);
    exec_t *exec = plan ? exec_new(plan, &o->exec, err) : NULL;
    int status = exec ? run(exec, seconds, err) : -1;
    exec_destroy(&exec);
    plan_destroy(&plan);
    return status;
}

static int time_product(const peak_options_t *o, peak_t *out, err_t *err)
{
    const char *type = o->bf16 ? "bf16" : "f32";
    int n = out->n;
    double seconds;
    char *text = mem_printf(product, n, n, type, n, n, type, n, n, n, n, type, n, n, type, n, n, n,
                            n);
    int status = time_module(o, text, &seconds, err);
    if (status == 0 && seconds > 0) out->flops = 2.0 * n * n * n / seconds;
    free(text);
    return status;
}

int peak_measure(const peak_options_t *options, peak_t *out, err_t *err)
{
    double seconds;
    *out = (peak_t){.n = 1024};
    if (time_product(options, out, err) < 0) return -1;
    if (2.0 * out->n * out->n * out->n / (out->flops + 1) < long_enough) {
        out->n = 4096;
        if (time_product(options, out, err) < 0) return -1;
    }
    if (time_module(options, pass, &seconds, err) < 0) return -1;
    if (seconds > 0) out->bytes = pass_bytes / seconds;
    return 0;
}
