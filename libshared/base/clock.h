/* Monotonic and wall time. Thread-safe. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>

int64_t clock_mono_ms(void);
double clock_mono_s(void);
double clock_thread_s(void); /* CPU time that the calling thread has had */
int64_t clock_wall_ms(void); /* since the Unix epoch */

#endif
