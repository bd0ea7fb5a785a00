/* What this process takes of its machine, by /proc. */
#ifndef METRICS_PROCESS_H
#define METRICS_PROCESS_H

/* Each NaN where /proc does not tell. */
double process_resident_bytes(void);
double process_cpu_seconds(void); /* user and system, since it began */
double process_open_files(void);
double process_start_seconds(void); /* since 1970 */

#endif
