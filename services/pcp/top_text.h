/* Values of reports as `pcp top` writes them: as the page does (services/metrics/page/format.js). */
#ifndef PCP_TOP_TEXT_H
#define PCP_TOP_TEXT_H

#include <stdint.h>

#include "base/str.h"

#define TOP_NONE "-"

/* "3.3265"; a NaN: TOP_NONE, here and below. */
void top_loss(double value, char text[32]);
/* Four digits: 426667 is "426.7 k". */
void top_count(double value, char text[32]);
/* Milliseconds as "1m05s", "3h02m", "4d". */
void top_age(double ms, char text[32]);

/* Milliseconds since 1970 of a report's time; -1: it is none. */
int64_t top_time_ms(const char *iso);
/* The local time of day, "21:33:58". */
void top_clock(int64_t ms, char text[32]);

/* An event's details, JSON: its reason, or else each of them. */
void top_detail(str_t *out, const char *json);

#endif
