/* The comparison as tables, or as JSON. */
#include "pcp/compare_print.h"

#include <inttypes.h>
#include <math.h>

/* --- tables --- */

static void print_steps(const compare_report_t *r, int64_t every, FILE *out)
{
    fprintf(out, "%6s  %-22s %12s %12s %10s %10s\n", "step", "target", "loss", "update",
            "deviation", "drift");
    for (int64_t k = 0; k < r->n_step; k++) {
        if (k % every != 0 && k + 1 < r->n_step) continue;
        for (int s = 0; s < r->n; s++) {
            const compare_step_t *step = &r->side[s].step[k];
            fprintf(out, "%6" PRId64 "  %-22s %12.7g %12.6g", k + 1, r->trial[s].plan->target,
                    step->loss, step->update);
            if (s > 0) fprintf(out, " %10.3g %10.3g", step->deviation, step->drift);
            fputc('\n', out);
        }
    }
}

static void print_side(const compare_report_t *r, int s, FILE *out)
{
    const compare_side_t *side = &r->side[s];
    const char *target = r->trial[s].plan->target;
    fprintf(out, "%-22s %10.3f", target, side->seconds * 1e3);
    if (s > 0)
        fprintf(out, " %10.3g %6" PRId64 " %10.3g %10.3g  %s (%.3g)", side->largest,
                side->largest_step + 1, side->median, side->drift, side->apart, side->apart_drift);
    fputc('\n', out);
}

void compare_print(const compare_report_t *report, int64_t every, FILE *out)
{
    print_steps(report, every, out);
    fprintf(out, "\n%s: %" PRId64 " steps, compared with %s\n", report->model, report->n_step,
            report->trial[0].plan->target);
    fprintf(out, "%-22s %10s %10s %6s %10s %10s  %s\n", "target", "ms a step", "deviation", "at",
            "median", "drift", "furthest apart");
    for (int s = 0; s < report->n; s++) print_side(report, s, out);
}

/* --- JSON --- */

static json_t *number(double x)
{
    return isfinite(x) ? json_real(x) : json_null();
}

static json_t *column(const compare_side_t *side, int64_t n, size_t offset)
{
    json_t *list = json_array();
    for (int64_t k = 0; k < n; k++) {
        const char *step = (const char *)&side->step[k];
        json_array_append_new(list, number(*(const double *)(const void *)(step + offset)));
    }
    return list;
}

static json_t *side_json(const compare_report_t *r, int s)
{
    static const struct {
        const char *name;
        size_t offset;
    } columns[] = {{"loss", offsetof(compare_step_t, loss)},
                   {"update_norm", offsetof(compare_step_t, update)},
                   {"deviation", offsetof(compare_step_t, deviation)},
                   {"drift", offsetof(compare_step_t, drift)}};
    const compare_side_t *side = &r->side[s];
    json_t *json = json_pack(
        "{s:s, s:o, s:o, s:I, s:o, s:o, s:s, s:o}", "target", r->trial[s].plan->target,
        "step_seconds", number(side->seconds), "largest_deviation", number(side->largest),
        "largest_at_step", (json_int_t)side->largest_step + 1, "median_deviation",
        number(side->median), "final_drift", number(side->drift), "furthest_parameter", side->apart,
        "furthest_drift", number(side->apart_drift));
    for (size_t c = 0; c < sizeof columns / sizeof *columns; c++)
        json_object_set_new(json, columns[c].name, column(side, r->n_step, columns[c].offset));
    return json;
}

json_t *compare_json(const compare_report_t *report)
{
    json_t *sides = json_array();
    for (int s = 0; s < report->n; s++) json_array_append_new(sides, side_json(report, s));
    return json_pack("{s:s, s:I, s:s, s:o}", "model", report->model, "steps",
                     (json_int_t)report->n_step, "reference", report->trial[0].plan->target,
                     "sides", sides);
}
