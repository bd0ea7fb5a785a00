/* The high-water mark that Linux keeps of each process, and sets back when asked. */
#include "peak.h"

#include <stdio.h>

size_t peak_bytes(void)
{
    FILE *f = fopen("/proc/self/status", "r");
    char line[256];
    size_t kb = 0;
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "VmHWM: %zu", &kb) == 1) break;
    if (f) fclose(f);
    f = fopen("/proc/self/clear_refs", "w");
    if (f) fputs("5", f);
    if (f) fclose(f);
    return kb * 1024;
}
