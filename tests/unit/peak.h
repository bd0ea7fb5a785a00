/* Memory that a test takes. */
#ifndef TESTS_PEAK_H
#define TESTS_PEAK_H

#include <stddef.h>

/* The most bytes that were resident since the last call. */
size_t peak_bytes(void);

#endif
