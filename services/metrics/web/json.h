/* JSON text: strings that are safe in it, and reports. */
#ifndef METRICS_WEB_JSON_H
#define METRICS_WEB_JSON_H

#include "base/str.h"
#include "store/report.h"

/* "text" with quotes; NULL: null. Bytes that are no UTF-8 become U+FFFD; "<", ">" and "&" are
 * escaped, so that no reader takes them for markup. */
void json_text(str_t *out, const char *text);
/* A number that JSON can hold, else null. */
void json_number(str_t *out, double value);

/* {"report":NAME,"run":RUN,"columns":[...],"rows":[[...]...],"more":BOOL,"each":N,"of":N} */
void json_report(str_t *out, const char *name, const char *run, const report_t *report);

/* {"error":TEXT} */
void json_error(str_t *out, const char *text);

#endif
