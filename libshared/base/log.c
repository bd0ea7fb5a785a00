/* Event log: builds the whole line in memory, then one write(2), so that lines never mix. */
#include "base/log.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/log_pairs.h"
#include "base/str.h"

/* The process-wide logger: the one global of the library (every layer logs to the same stderr). */
static struct {
    const char *service;
    _Atomic int level;
    log_format_t format;
    pthread_mutex_t lock; /* guards context */
    str_t context[2];     /* as logfmt, as JSON */
} the_log = {"pcp", LOG_INFO, LOG_LOGFMT, PTHREAD_MUTEX_INITIALIZER, {{0}, {0}}};

static const char *const level_names[] = {"debug", "info", "warn", "error", "off"};
static const char *const format_names[] = {"logfmt", "json"};

void log_init(const char *service, log_level_t level, log_format_t format)
{
    the_log.service = service;
    the_log.format = format;
    atomic_store(&the_log.level, (int)level);
}

/* Kept in both forms: a line's format is known only when it is written. */
void log_context(const char *format, ...)
{
    str_t text[2] = {{0}, {0}};
    for (int json = 0; json < 2; json++) {
        va_list args;
        va_start(args, format);
        log_pairs_add(&text[json], json, format, args);
        va_end(args);
    }
    pthread_mutex_lock(&the_log.lock);
    for (int json = 0; json < 2; json++) {
        str_fini(&the_log.context[json]);
        the_log.context[json] = text[json];
    }
    pthread_mutex_unlock(&the_log.lock);
}

static void add_time(str_t *line)
{
    struct timespec t;
    struct tm parts;
    char text[32];
    clock_gettime(CLOCK_REALTIME, &t);
    gmtime_r(&t.tv_sec, &parts);
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
    str_addf(line, "%s.%03ldZ", text, t.tv_nsec / 1000000);
}

void log_event(log_level_t level, const char *event, const char *format, ...)
{
    if ((int)level < atomic_load(&the_log.level) || level >= LOG_OFF) return;
    bool json = the_log.format == LOG_JSON;
    str_t line = {0};
    str_add(&line, json ? "{\"time\": \"" : "time=");
    add_time(&line);
    str_addf(&line,
             json ? "\", \"level\": \"%s\", \"service\": \"%s\", \"event\": \"%s\""
                  : " level=%s service=%s event=%s",
             level_names[level], the_log.service, event);
    pthread_mutex_lock(&the_log.lock);
    str_add(&line, str_text(&the_log.context[json]));
    pthread_mutex_unlock(&the_log.lock);
    va_list args;
    va_start(args, format);
    log_pairs_add(&line, json, format, args);
    va_end(args);
    str_add(&line, json ? "}\n" : "\n");
    /* A log that cannot be written (closed stderr) must not stop the service. */
    ssize_t ignored = write(STDERR_FILENO, line.at, line.n);
    (void)ignored;
    str_fini(&line);
}

static int parse_word(const char *text, const char *const *names, int n, const char *what,
                      err_t *err)
{
    for (int i = 0; i < n; i++)
        if (strcmp(text, names[i]) == 0) return i;
    str_t list = {0};
    for (int i = 0; i < n; i++) str_addf(&list, "%s%s", i ? ", " : "", names[i]);
    err_set(err, ERR_ARG, "%s \"%s\" is unknown; known are %s", what, text, str_text(&list));
    str_fini(&list);
    return -1;
}

int log_parse_level(const char *text, log_level_t *level, err_t *err)
{
    int i = parse_word(text, level_names, 5, "log level", err);
    if (i < 0) return -1;
    *level = (log_level_t)i;
    return 0;
}

int log_parse_format(const char *text, log_format_t *format, err_t *err)
{
    int i = parse_word(text, format_names, 2, "log format", err);
    if (i < 0) return -1;
    *format = (log_format_t)i;
    return 0;
}
