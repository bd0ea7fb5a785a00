/* One machine-readable line per event on stderr: time, level, service, event, then key=value pairs.
 *
 *   log_init("worker", LOG_INFO, LOG_LOGFMT);
 *   log_event(LOG_INFO, "lease_done", "round=%d loss=%.4f", round, loss);
 *
 * The format's words are the pairs (base/log_pairs.h): what a conversion puts into a value stays in
 * it, escaped and, where it needs them, in quotes, so that nobody's text becomes a key or a line of
 * its own. key="..." is for values that may have blanks. In JSON the pairs become members.
 * Thread-safe after log_init; a line is written with one write(2). */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include "base/err.h"

/* czmq.h brings <syslog.h>, whose macros LOG_DEBUG and LOG_INFO would hide the levels below. */
#include <syslog.h>
#undef LOG_DEBUG
#undef LOG_INFO

typedef enum { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR, LOG_OFF } log_level_t;
typedef enum { LOG_LOGFMT, LOG_JSON } log_format_t;

/* `service` is borrowed for the life of the process. */
void log_init(const char *service, log_level_t level, log_format_t format);

/* Fields every later line carries, for instance "run=demo worker=w1". Copied. */
void log_context(const char *format, ...) __attribute__((format(printf, 1, 2)));

void log_event(log_level_t level, const char *event, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* "debug" | "info" | "warn" | "error" | "off", "logfmt" | "json"; -1 with ERR_ARG otherwise. */
int log_parse_level(const char *text, log_level_t *level, err_t *err);
int log_parse_format(const char *text, log_format_t *format, err_t *err);

#endif
