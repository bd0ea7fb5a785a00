/* golden-diloco: the golden DiLoCo trace as a run of the services (format and generator:
 * conformance/README.md of the shared material).
 *   make   writes init.safetensors, records.u16 and run.json for a shepherd into a directory
 *   check  compares the run's checkpoint with the trace: per parameter l2 norm, first and last
 *          element, and the round's mean loss, each within 1e-4 relative */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/vec.h"
#include "ckpt/checkpoint.h"
#include "optim/optim.h"
#include "parse/parse.h"

static const char USAGE[] = "golden-diloco make MODEL.mlir TRAINING.json ROUNDS DIR\n"
                            "golden-diloco check TRAINING.json ROUNDS DIR\n"
                            "  Exit status: 0 all hold, 1 a mismatch, 2 an error.\n";

static double number(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

static int64_t whole(const json_t *object, const char *key)
{
    return (int64_t)json_integer_value(json_object_get(object, key));
}

static uint64_t element_hash(int64_t arg, int64_t i)
{
    return rng_mix(((uint64_t)arg << 32) + (uint64_t)i + 1);
}

/* --- make --- */

static int write_init(const char *dir, const optim_arg_t *args, int n_arg, err_t *err)
{
    safetensor_t *tensors = mem_calloc((size_t)n_arg, sizeof *tensors);
    size_t n = 0;
    for (int a = 0; a < n_arg; a++) {
        if (!args[a].is_param) continue;
        int64_t count = ir_type_count(&args[a].type);
        float *values = mem_calloc((size_t)count, sizeof *values);
        for (int64_t i = 0; i < count; i++) {
            double v = (double)((int64_t)(element_hash(a, i) >> 44) - (1 << 19)) * 0x1p-22;
            values[i] = (float)(args[a].type.rank == 1 ? 1 + v : v);
        }
        safetensor_t *tensor = &tensors[n++];
        *tensor = (safetensor_t){.name = args[a].name,
                                 .dtype = DT_F32,
                                 .rank = args[a].type.rank,
                                 .data = values,
                                 .n_bytes = (size_t)count * sizeof *values};
        for (int d = 0; d < tensor->rank; d++) tensor->dims[d] = args[a].type.dim[d];
    }
    char *path = mem_printf("%s/init.safetensors", dir);
    int rc = safetensors_write(path, tensors, n, NULL, 0, err);
    for (size_t i = 0; i < n; i++) free((void *)tensors[i].data);
    free(path);
    free(tensors);
    return rc;
}

/* Records in the order in which leases read them: round, replica, inner step; b counts each from 1.
 */
static int write_records(const char *dir, const optim_arg_t *args, int n_arg, int64_t vocab,
                         int64_t rounds, int64_t replicas, int64_t steps, err_t *err)
{
    VEC(uint16_t) tokens = {0};
    for (int64_t at = 0; at < rounds * replicas * steps; at++) {
        int64_t r = at / (replicas * steps), w = at / steps % replicas, s = at % steps;
        int64_t b = 100 * (r + 1) + 10 * (w + 1) + s + 1;
        for (int a = 0; a < n_arg; a++)
            for (int64_t i = 0; !args[a].is_param && i < ir_type_count(&args[a].type); i++)
                VEC_PUSH(&tokens, (uint16_t)(element_hash(a + 1000 * b, i) % (uint64_t)vocab));
    }
    char *path = mem_printf("%s/records.u16", dir);
    int rc = file_write_atomic(path, tokens.at, tokens.n * sizeof *tokens.at, err);
    free(path);
    VEC_FREE(&tokens);
    return rc;
}

static int write_config(const char *dir, const char *model, const json_t *golden, int64_t vocab,
                        int64_t rounds, err_t *err)
{
    const json_t *adamw = json_object_get(golden, "adamw_conf");
    const json_t *diloco = json_object_get(golden, "diloco");
    char *init = mem_printf("%s/init.safetensors", dir);
    char *records = mem_printf("%s/records.u16", dir);
    char *checkpoint = mem_printf("%s/checkpoint", dir);
    json_t *run = json_pack(
        "{s:s, s:s, s:s, s:s, s:s, s:b, s:I, s:I, s:I, s:I, s:s, s:f, s:f, s:f, s:f, s:f, s:f,"
        " s:f, s:f, s:s, s:s}",
        "run", "golden-diloco", "model", model, "init", init, "train_tokens", records, "layout",
        "records", "shuffle", 0, "vocab", (json_int_t)vocab, "replicas",
        (json_int_t)whole(diloco, "workers"), "inner_steps", (json_int_t)whole(diloco, "tau"),
        "rounds", (json_int_t)rounds, "optimizer", "adamw", "lr", number(adamw, "lr"), "beta1",
        number(adamw, "b1"), "beta2", number(adamw, "b2"), "eps", number(adamw, "eps"),
        "weight_decay", number(adamw, "wd"), "clip", number(adamw, "clip_global_norm"), "outer_lr",
        number(diloco, "outer_lr"), "outer_momentum", number(diloco, "outer_momentum"), "schedule",
        "constant", "checkpoint", checkpoint);
    char *text = run ? json_dumps(run, JSON_INDENT(2)) : NULL;
    char *path = mem_printf("%s/run.json", dir);
    int rc = text ? file_write_atomic(path, text, strlen(text), err)
                  : err_set(err, ERR_STATE, "run.json could not be made");
    json_decref(run);
    free(text);
    free(path);
    free(init);
    free(records);
    free(checkpoint);
    return rc;
}

static int make(const char *model, const json_t *golden, int64_t rounds, const char *dir,
                err_t *err)
{
    ir_module_t *module = parse_stablehlo_file(model, err);
    if (!module) return -1;
    const ir_fn_t *entry = ir_module_entry(module, err);
    const optim_arg_t *args = entry ? optim_args(module, entry, err) : NULL;
    int rc = -1;
    if (args) {
        const json_t *diloco = json_object_get(golden, "diloco");
        int n_arg = entry->body->n_arg;
        int64_t vocab = args[0].type.dim[0]; /* the first parameter is the token embedding */
        rc = file_make_dirs(dir, err);
        if (rc == 0) rc = write_init(dir, args, n_arg, err);
        if (rc == 0)
            rc = write_records(dir, args, n_arg, vocab, rounds, whole(diloco, "workers"),
                               whole(diloco, "tau"), err);
        if (rc == 0) rc = write_config(dir, model, golden, vocab, rounds, err);
    }
    ir_module_destroy(&module);
    return rc;
}

/* --- check --- */

typedef struct {
    double worst; /* relative */
    char where[64];
} report_t;

static void note(report_t *self, double have, double want, const char *what, int64_t arg)
{
    double d = fabs(have - want) / fabs(want);
    if (!(d > self->worst)) return;
    self->worst = d;
    snprintf(self->where, sizeof self->where, "%s of argument %lld", what, (long long)arg);
}

static int check_param(const safetensors_t *params, const json_t *want, report_t *report,
                       err_t *err)
{
    int64_t arg = whole(want, "arg");
    char name[32];
    snprintf(name, sizeof name, "arg%lld", (long long)arg);
    const safetensor_t *have = safetensors_find(params, name);
    if (!have || have->dtype != DT_F32 || have->n_bytes == 0)
        return err_set(err, ERR_ARG, "the checkpoint has no f32 tensor %s", name);
    const float *x = have->data;
    size_t n = have->n_bytes / sizeof *x;
    double l2 = 0;
    for (size_t i = 0; i < n; i++) l2 += (double)x[i] * x[i];
    note(report, sqrt(l2), number(want, "l2"), "l2", arg);
    note(report, x[0], number(want, "first"), "first element", arg);
    note(report, x[n - 1], number(want, "last"), "last element", arg);
    return 0;
}

static int check(const json_t *golden, int64_t rounds, const char *dir, report_t *report,
                 err_t *err)
{
    const json_t *all = json_object_get(json_object_get(golden, "diloco"), "rounds");
    const json_t *round = json_array_get(all, (size_t)rounds - 1), *want;
    char *path = mem_printf("%s/checkpoint", dir);
    checkpoint_t *checkpoint = checkpoint_open(path, err);
    free(path);
    if (!checkpoint) return -1;
    size_t i;
    int rc = 0;
    json_array_foreach(json_object_get(round, "master"), i, want) if (rc == 0)
        rc = check_param(checkpoint_params(checkpoint), want, report, err);
    double sum = 0;
    const json_t *losses = json_object_get(round, "losses");
    json_array_foreach(losses, i, want) sum += json_number_value(want);
    note(report, checkpoint_info(checkpoint)->loss, sum / (double)json_array_size(losses),
         "mean loss of the round", -1);
    checkpoint_close(&checkpoint);
    return rc;
}

int main(int argc, char **argv)
{
    err_t err = {0};
    bool makes = argc == 6 && strcmp(argv[1], "make") == 0;
    bool checks = argc == 5 && strcmp(argv[1], "check") == 0;
    if (!makes && !checks) {
        fputs(USAGE, stderr);
        return 2;
    }
    const char *file = argv[makes ? 3 : 2];
    int64_t rounds = atoll(argv[makes ? 4 : 3]);
    json_error_t json_err;
    json_t *text = json_load_file(file, 0, &json_err);
    const json_t *golden = json_array_get(text, 0);
    const json_t *all = json_object_get(json_object_get(golden, "diloco"), "rounds");
    int rc = -1;
    report_t report = {0};
    if (rounds < 1 || (size_t)rounds > json_array_size(all))
        err_set(&err, ERR_ARG, "%s: has no trace of %lld rounds", file, (long long)rounds);
    else if (makes)
        rc = make(argv[2], golden, rounds, argv[5], &err);
    else
        rc = check(golden, rounds, argv[4], &report, &err);
    json_decref(text);
    if (rc < 0) {
        fprintf(stderr, "golden-diloco: %s\n", err.text);
        return 2;
    }
    if (checks)
        printf("largest relative deviation %.3g (%s), allowed 1e-4\n", report.worst, report.where);
    return report.worst <= 1e-4 ? 0 : 1;
}
