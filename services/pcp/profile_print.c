/* Tables of a profile. Equal steps are those of one kernel, or products of one shape. */
#include "pcp/profile_print.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

typedef struct {
    char name[96];
    int n; /* plan steps */
    double seconds, flops, bytes;
    double busy; /* share times seconds */
    double cpu;
} line_t;

typedef void name_fn(const plan_t *plan, const profile_row_t *row, char *out, size_t n_out);

static const char *kind_name(plan_step_kind_t kind)
{
    static const char *const names[] = {[STEP_KERNEL] = "kernels",
                                        [STEP_GEMM] = "products",
                                        [STEP_COPY] = "copies",
                                        [STEP_LOOP] = "loops"};
    return names[kind];
}

static void name_by_kind(const plan_t *plan, const profile_row_t *row, char *out, size_t n_out)
{
    (void)plan;
    snprintf(out, n_out, "%s", kind_name(row->program->step[row->step].kind));
}

static void name_by_work(const plan_t *plan, const profile_row_t *row, char *out, size_t n_out)
{
    const plan_step_t *step = &row->program->step[row->step];
    if (step->kind == STEP_KERNEL)
        snprintf(out, n_out, "%s  %s", step->label, plan->kernel_name[step->kernel.kernel]);
    else
        snprintf(out, n_out, "%s", step->label);
}

static void name_by_step(const plan_t *plan, const profile_row_t *row, char *out, size_t n_out)
{
    char work[80];
    name_by_work(plan, row, work, sizeof work);
    snprintf(out, n_out, "%s %d  %s", row->program->name, row->step, work);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const line_t *)a)->name, ((const line_t *)b)->name);
}

static int by_seconds(const void *a, const void *b)
{
    double x = ((const line_t *)a)->seconds, y = ((const line_t *)b)->seconds;
    return x < y ? 1 : x > y ? -1 : by_name(a, b);
}

static void add_line(line_t *to, const line_t *from)
{
    to->n += from->n;
    to->seconds += from->seconds;
    to->busy += from->busy;
    to->cpu += from->cpu;
    to->flops += from->flops;
    to->bytes += from->bytes;
}

/* Rows of one name together; returns how many lines are left, the longest first. */
static int group(const plan_t *plan, const profile_row_t *rows, int n, name_fn *name, line_t *line)
{
    int kept = 0;
    for (int i = 0; i < n; i++) {
        const profile_row_t *r = &rows[i];
        line[i] = (line_t){"", 1, r->seconds, r->flops, r->bytes, r->busy * r->seconds, r->cpu};
        name(plan, r, line[i].name, sizeof line[i].name);
    }
    qsort(line, (size_t)n, sizeof *line, by_name);
    for (int i = 0; i < n; i++) {
        if (kept > 0 && by_name(&line[kept - 1], &line[i]) == 0)
            add_line(&line[kept - 1], &line[i]);
        else
            line[kept++] = line[i];
    }
    qsort(line, (size_t)kept, sizeof *line, by_seconds);
    return kept;
}

/* What is not known is a dash: the time of cores of a device that has none of ours. */
static void number(char out[16], const char *format, double value, bool known)
{
    if (known)
        snprintf(out, 16, format, value);
    else
        snprintf(out, 16, "-");
}

static void print_line(const line_t *l, double total, FILE *out)
{
    char cpu[16], a_core[16], busy[16];
    double s = l->seconds > 0 ? l->seconds : 1e-12;
    bool known = l->cpu > 0;
    number(cpu, "%.3f", l->cpu * 1e3, known);
    number(a_core, "%.1f", l->flops / l->cpu / 1e9, known);
    number(busy, "%.0f%%", 100 * l->busy / s, known);
    fprintf(out, "%10.3f %6.1f%% %10s %9.3f %9.1f %8s %9.2f %8.1f %6s %5d  %s\n", l->seconds * 1e3,
            100 * l->seconds / total, cpu, l->flops / 1e9, l->flops / s / 1e9, a_core,
            l->bytes / 1e6, l->bytes / s / 1e9, busy, l->n, l->name);
}

static void print_table(const profile_summary_t *s, const profile_row_t *rows, int n,
                        const char *title, name_fn *name, int top, FILE *out)
{
    line_t *line = mem_calloc((size_t)n + 1, sizeof *line), total = {.name = "together"};
    int kept = group(s->trial->plan, rows, n, name, line);
    for (int i = 0; i < kept; i++) add_line(&total, &line[i]);
    fprintf(out, "\n%10s %7s %10s %9s %9s %8s %9s %8s %6s %5s  %s\n", "ms", "share", "CPU ms",
            "GFLOP", "GFLOP/s", "a core", "MB", "GB/s", "busy", "steps", title);
    int shown = top == 0 || kept < top ? kept : top;
    for (int i = 0; i < shown; i++) print_line(&line[i], total.seconds, out);
    if (shown < kept) {
        line_t rest = {0};
        snprintf(rest.name, sizeof rest.name, "%d more (--top)", kept - shown);
        for (int i = shown; i < kept; i++) add_line(&rest, &line[i]);
        print_line(&rest, total.seconds, out);
    }
    print_line(&total, total.seconds, out);
    free(line);
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* MiB of VmHWM; 0 when the system does not tell. */
static double peak_mib(void)
{
    char text[256];
    long kib = 0;
    FILE *file = fopen("/proc/self/status", "re");
    if (!file) return 0;
    while (fgets(text, sizeof text, file))
        if (sscanf(text, "VmHWM: %ld", &kib) == 1) break;
    fclose(file);
    return (double)kib / 1024;
}

static void print_summary(const profile_summary_t *s, const profile_row_t *rows, int n, FILE *out)
{
    const trial_t *t = s->trial;
    double watched = profile_turn_seconds(s->profile), steps = 0, flops = 0, bytes = 0;
    qsort(s->plain, (size_t)s->n_plain, sizeof *s->plain, compare);
    double plain = s->plain[s->n_plain / 2];
    for (int i = 0; i < n; i++) {
        steps += rows[i].seconds;
        flops += rows[i].flops;
        bytes += rows[i].bytes;
    }
    const char *library = exec_library(t->exec);
    fprintf(out, "%s: %s, %d threads, %d steps of the plan%s%s%s, compiled in %.1f s\n", s->name,
            t->plan->target, exec_threads(t->exec), n, t->widens ? ", products in f32" : "",
            library ? ", products by " : "", library ? library : "", s->compile_seconds);
    fprintf(out,
            "step        %.3f ms, median of %d (fastest %.3f; watched %.3f, of which %.3f "
            "in steps of the plan)\n",
            plain * 1e3, s->n_plain, s->plain[0] * 1e3, watched * 1e3, steps * 1e3);
    if (t->tokens > 0)
        fprintf(out, "tokens      %" PRId64 " a step, %.0f a second\n", t->tokens,
                (double)t->tokens / plain);
    fprintf(out, "work        %.3f GFLOP, %.1f GFLOP/s; %.1f MB, %.2f GB/s\n", flops / 1e9,
            flops / plain / 1e9, bytes / 1e6, bytes / plain / 1e9);
    if (s->peak.flops > 0)
        fprintf(out,
                "of peak     %.0f%% of a product's %.1f GFLOP/s (%d x %d x %d), %.0f%% of the %.1f "
                "GB/s of "
                "an addition\n",
                100 * flops / plain / s->peak.flops, s->peak.flops / 1e9, s->peak.n, s->peak.n,
                s->peak.n, 100 * bytes / plain / s->peak.bytes, s->peak.bytes / 1e9);
    fprintf(out, "memory      arena %.1f MiB, peak of the process while stepping %.1f MiB\n",
            (double)t->plan->arena_bytes / (1 << 20), peak_mib());
}

void profile_print(const profile_summary_t *summary, int top, FILE *out)
{
    int n;
    profile_row_t *rows = profile_rows(summary->profile, &n);
    print_summary(summary, rows, n, out);
    print_table(summary, rows, n, "kind of step", name_by_kind, 0, out);
    print_table(summary, rows, n, "equal steps", name_by_work, top, out);
    print_table(summary, rows, n, "step", name_by_step, top, out);
    free(rows);
}
