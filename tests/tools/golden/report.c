/* The largest deviation of an entry, and where. */
#include "golden.h"

void report_note(report_t *self, double have, double want, double allowed, const char *what,
                 int arg)
{
    double d = fabs(have - want);
    d = d == 0 ? 0 : d / allowed;
    if (isnan(d)) d = INFINITY;
    if (d < self->worst || (d == self->worst && self->where[0])) return;
    self->worst = d;
    if (arg < 0)
        snprintf(self->where, sizeof self->where, "%s", what);
    else
        snprintf(self->where, sizeof self->where, "%s of argument %d", what, arg);
}

summary_t summary_of(const tensor_t *x)
{
    summary_t s = {0};
    for (int64_t i = 0; i < ir_type_count(&x->type); i++) {
        double v = tensor_get_f64(x, i);
        s.l2 += v * v;
        s.sum += v;
        if (!(fabs(v) <= s.maxabs)) s.maxabs = fabs(v); /* keeps NaN */
    }
    s.l2 = sqrt(s.l2);
    return s;
}

int report_end(const report_t *report, const char *entry, double seconds)
{
    bool ok = report->worst <= 1;
    printf("%s %s: largest deviation %.3g of what is allowed, %s (%.1f s)\n", ok ? "ok  " : "FAIL",
           entry, report->worst, report->where[0] ? report->where : "none", seconds);
    fflush(stdout);
    return ok ? MATCH : MISMATCH;
}

double json_double(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}
