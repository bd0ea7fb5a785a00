/* Medians with the lowest and the highest of a ratio beside them. */
#include "table.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "../bench.h"

/* "2026-01-31" */
static void print_day(void)
{
    char day[32];
    time_t now = time(NULL);
    struct tm utc;
    strftime(day, sizeof day, "%Y-%m-%d", gmtime_r(&now, &utc));
    printf("# %s, ", day);
}

/* "AMD EPYC, load 0.1" */
static void print_machine(void)
{
    char model[128] = "unknown processor", line[256];
    double load = 0;
    FILE *file = fopen("/proc/cpuinfo", "re");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "model name : %127[^\n]", model) == 1) break;
    if (file) fclose(file);
    getloadavg(&load, 1);
    printf("%s, %d cores, load average %.1f\n", model, pool_cores(), load);
}

void table_head(void)
{
    print_day();
    print_machine();
    printf("| | precision | threads | ours ms | PyTorch ms | ratio (lowest - highest) | CPU ms | "
           "PyTorch CPU ms | ratio (lowest - highest) | MiB | PyTorch MiB | of multiply-adds | "
           "of sgemm | GB/s of triad | loss off by |\n"
           "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n");
}

/* "12.30 | 40.10 | 3.26 (3.01 - 3.40) | " */
static void print_times(double *ours, double *theirs, double *ratio, int n)
{
    double middle = bench_median(ratio, n); /* sorts */
    printf("%.2f | %.2f | %.2f (%.2f - %.2f) | ", bench_median(ours, n) * 1e3,
           bench_median(theirs, n) * 1e3, middle, ratio[0], ratio[n - 1]);
}

/* FLOPs of products against what one core can do, by CPU time; bytes against memory by the clock.
 */
void table_row(char letter, const char *precision, int threads, result_t *r)
{
    int n = r->n;
    double rate = r->flops / bench_median(r->ours_cpu, n) / 1e9, ours = bench_median(r->ours, n);
    double fma = bench_median(r->fma, n), sgemm = bench_median(r->sgemm, n);
    printf("| %c | %s | %d | ", letter, precision, threads);
    print_times(r->ours, r->theirs, r->ratio, n);
    print_times(r->ours_cpu, r->theirs_cpu, r->cpu_ratio, n);
    printf("%.0f | %.0f | ", r->peak_ours, r->peak_theirs);
    if (fma > 0)
        printf("%.0f %% of %.0f | ", 100 * rate / fma, fma);
    else
        printf("- | ");
    printf("%.0f %% of %.0f | %.1f of %.1f | %.1e |\n", 100 * rate / sgemm, sgemm,
           r->bytes / ours / 1e9, bench_median(r->memory, n), r->deviation);
}

void table_device_head(const char *device, const char *peer)
{
    print_day();
    printf("%s; PyTorch on %s; ", device, peer);
    print_machine();
    printf("| | precision | ours ms | PyTorch ms | ratio (lowest - highest) | tokens/s | PyTorch "
           "tokens/s | MiB | "
           "PyTorch MiB | TFLOP/s of products | of PyTorch's largest product | loss off by |\n"
           "|---|---|---|---|---|---|---|---|---|---|---|---|\n");
}

void table_device_row(char letter, const char *precision, result_t *r)
{
    int n = r->n;
    double ours = bench_median(r->ours, n), theirs = bench_median(r->theirs, n);
    double rate = r->flops / ours, peak = bench_median(r->peak, n);
    printf("| %c | %s | ", letter, precision);
    print_times(r->ours, r->theirs, r->ratio, n);
    printf("%.0f | %.0f | %.0f | %.0f | %.3g | %.0f %% of %.3g | %.1e |\n", r->tokens / ours,
           r->tokens / theirs, r->peak_ours, r->peak_theirs, rate / 1e12, 100 * rate / peak,
           peak / 1e12, r->deviation);
}
