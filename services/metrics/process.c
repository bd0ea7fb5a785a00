/* /proc/self/stat, whose fields proc(5) numbers from 1; /proc/self/fd; /proc/stat. */
#include "metrics/process.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { USER_TICKS = 14, SYSTEM_TICKS = 15, START_TICKS = 22, RESIDENT_PAGES = 24 };

/* Field 2 is a name that may hold anything: fields are counted from its last parenthesis. */
static double field(int number)
{
    char text[2048];
    FILE *file = fopen("/proc/self/stat", "re");
    size_t n = file ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file) fclose(file);
    text[n] = '\0';
    char *at = strrchr(text, ')');
    for (int i = 2; at && i < number; i++) at = strchr(at + 1, ' ');
    return at ? strtod(at + 1, NULL) : NAN;
}

double process_resident_bytes(void)
{
    return field(RESIDENT_PAGES) * (double)sysconf(_SC_PAGESIZE);
}

double process_cpu_seconds(void)
{
    return (field(USER_TICKS) + field(SYSTEM_TICKS)) / (double)sysconf(_SC_CLK_TCK);
}

double process_open_files(void)
{
    DIR *dir = opendir("/proc/self/fd");
    if (!dir) return NAN;
    double n = -3; /* ".", "..", and the one that reads */
    while (readdir(dir)) n++;
    closedir(dir);
    return n;
}

double process_start_seconds(void)
{
    char line[256];
    double boot = NAN;
    FILE *file = fopen("/proc/stat", "re");
    while (file && isnan(boot) && fgets(line, sizeof line, file))
        if (strncmp(line, "btime ", 6) == 0) boot = strtod(line + 6, NULL);
    if (file) fclose(file);
    return boot + field(START_TICKS) / (double)sysconf(_SC_CLK_TCK);
}
