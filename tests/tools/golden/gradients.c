/* Loss and gradients against golden values. */
#include "base/clock.h"
#include "golden.h"

/* Allowed: samples and maximum 1e-5 of max|g|; l2 1e-5 of itself; sum 1e-5 of the largest it could
 * be, sqrt(n) l2, because sums that cancel have no accuracy of their own. */
static int check_gradient(machine_t *self, const json_t *golden, report_t *report, err_t *err)
{
    int arg = (int)json_integer_value(json_object_get(golden, "arg"));
    char name[256], type[IR_TYPE_TEXT];
    if (machine_need_param(self, arg, err) < 0) return -1;
    snprintf(name, sizeof name, "grad.%s", self->arg[arg].name);
    const tensor_t *g = machine_find(self, "result", name);
    const char *want_type = json_string_value(json_object_get(golden, "type"));
    if (want_type && strcmp(ir_type_text(&g->type, type), want_type) != 0)
        return err_set(err, ERR_TYPE, "argument %d is %s, the golden file says %s", arg, type,
                       want_type);
    summary_t have = summary_of(g);
    int64_t n = ir_type_count(&g->type);
    double l2 = json_double(golden, "l2"), maxabs = json_double(golden, "maxabs");
    report_note(report, have.l2, l2, 1e-5 * l2, "l2", arg);
    report_note(report, have.maxabs, maxabs, 1e-5 * maxabs, "maxabs", arg);
    report_note(report, have.sum, json_double(golden, "sum"), 1e-5 * sqrt((double)n) * l2, "sum",
                arg);
    const char *key;
    json_t *value;
    json_object_foreach(json_object_get(golden, "samples"), key, value)
    {
        int64_t i = strtoll(key, NULL, 10);
        char what[48];
        snprintf(what, sizeof what, "element %lld", (long long)i);
        if (i < 0 || i >= n) return err_set(err, ERR_ARG, "argument %d has no %s", arg, what);
        report_note(report, tensor_get_f64(g, i), json_number_value(value), 1e-5 * maxabs, what,
                    arg);
    }
    return 0;
}

static int check_unused(machine_t *self, const json_t *entry, report_t *report, err_t *err)
{
    const json_t *unused = json_object_get(entry, "unused_args");
    for (size_t i = 0; i < json_array_size(unused); i++) {
        int arg = (int)json_integer_value(json_array_get(unused, i));
        if (machine_need_param(self, arg, err) < 0) return -1;
        char name[256];
        snprintf(name, sizeof name, "grad.%s", self->arg[arg].name);
        summary_t have = summary_of(machine_find(self, "result", name));
        report_note(report, have.maxabs, 0, 0, "zero gradient", arg);
    }
    return 0;
}

int check_gradients(machine_t *self, const json_t *entry, err_t *err)
{
    double start = clock_mono_s();
    int64_t ignore = json_integer_value(json_object_get(entry, "ignore_index"));
    int64_t vocab = json_integer_value(json_object_get(entry, "vocab"));
    bool masked = json_is_true(json_object_get(entry, "masked_targets"));
    if (vocab < 1) return err_set(err, ERR_PARSE, "an entry has no vocab"), FAILED;
    machine_fill_params(self);
    machine_fill_batch(self, vocab, 0, masked ? &ignore : NULL);
    if (machine_run(self, "grad", err) < 0) return FAILED;

    report_t report = {0};
    double loss = tensor_get_f64(machine_find(self, "result", "loss"), 0),
           want = json_double(entry, "loss_f64");
    report_note(&report, loss, want, 1e-5 * fmax(1, fabs(want)), "loss", -1);
    const json_t *grads = json_object_get(entry, "grads");
    for (size_t i = 0; i < json_array_size(grads); i++)
        if (check_gradient(self, json_array_get(grads, i), &report, err) < 0) return FAILED;
    if (check_unused(self, entry, &report, err) < 0) return FAILED;
    char label[160];
    snprintf(label, sizeof label, "%s %s targets, loss %.9g, %zu gradients",
             json_string_value(json_object_get(entry, "file")), masked ? "masked" : "plain", loss,
             json_array_size(grads));
    return report_end(&report, label, clock_mono_s() - start);
}
