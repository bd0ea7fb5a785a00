/* Event log: builds the whole line in memory, then one write(2), so that lines never mix. */
#include "base/log.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"

/* The process-wide logger: the one global of the library (every layer logs to the same stderr). */
static struct {
    const char *service;
    _Atomic int level;
    log_format_t format;
    pthread_mutex_t lock; /* guards context */
    char *context;
} the_log = {"pcp", LOG_INFO, LOG_LOGFMT, PTHREAD_MUTEX_INITIALIZER, NULL};

static const char *const level_names[] = {"debug", "info", "warn", "error", "off"};
static const char *const format_names[] = {"logfmt", "json"};

void log_init(const char *service, log_level_t level, log_format_t format)
{
    the_log.service = service;
    the_log.format = format;
    atomic_store(&the_log.level, (int)level);
}

static char *print_args(const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, format, args);
    char *text = mem_calloc((size_t)(n < 0 ? 0 : n) + 1, 1);
    if (n > 0) vsnprintf(text, (size_t)n + 1, format, again);
    va_end(again);
    return text;
}

void log_context(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *text = print_args(format, args);
    va_end(args);
    pthread_mutex_lock(&the_log.lock);
    free(the_log.context);
    the_log.context = *text ? text : NULL;
    pthread_mutex_unlock(&the_log.lock);
    if (!*text) free(text);
}

/* A JSON string; control characters as \u00XX, so that a line stays a line. */
static void add_json_string(str_t *line, const char *text, size_t n)
{
    str_add(line, "\"");
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c == '"' || c == '\\')
            str_addf(line, "\\%c", c);
        else if (c < 0x20)
            str_addf(line, "\\u%04x", c);
        else
            str_addn(line, &text[i], 1);
    }
    str_add(line, "\"");
}

/* Whether JSON accepts the word unquoted: a number, true, false. (strtod takes inf and hex too.) */
static bool is_json_word(const char *text, size_t n)
{
    if ((n == 4 && !memcmp(text, "true", 4)) || (n == 5 && !memcmp(text, "false", 5))) return true;
    size_t i = n > 0 && text[0] == '-' ? 1 : 0, digits = i;
    while (digits < n && text[digits] >= '0' && text[digits] <= '9') digits++;
    if (digits == i || (text[i] == '0' && digits > i + 1) || n >= 40) return false;
    if (strspn(text, "+-.0123456789eE") < n || text[n - 1] == '.' || text[n - 1] == 'e')
        return false;
    char copy[40], *end;
    memcpy(copy, text, n);
    copy[n] = '\0';
    strtod(copy, &end);
    return *end == '\0' && !strstr(copy, ".e") && !strstr(copy, ".E");
}

/* The next key=value of logfmt text; the value may be quoted with \" and \\ inside.
 * Returns the position after it, NULL when none is left; a word without '=' has key_n == 0. */
static const char *next_pair(const char *at, const char **key, size_t *key_n, str_t *value,
                             bool *quoted)
{
    at += strspn(at, " \t\n\r");
    if (!*at) return NULL;
    size_t n = strcspn(at, "= \t\n\r");
    *key = at;
    *key_n = at[n] == '=' ? n : 0;
    if (at[n] == '=') at += n + 1;
    value->n = 0;
    *quoted = *at == '"';
    if (!*quoted) {
        n = strcspn(at, " \t\n\r");
        str_addn(value, at, n);
        return at + n;
    }
    for (at++; *at && *at != '"'; at++) {
        if (*at == '\\' && at[1]) at++;
        str_addn(value, at, 1);
    }
    return *at ? at + 1 : at;
}

static void add_json_pairs(str_t *line, const char *text)
{
    str_t value = {0};
    const char *key, *at = text;
    size_t key_n;
    bool quoted;
    while ((at = next_pair(at, &key, &key_n, &value, &quoted))) {
        str_add(line, ", ");
        if (key_n)
            add_json_string(line, key, key_n);
        else
            str_add(line, "\"text\"");
        str_add(line, ": ");
        if (!quoted && is_json_word(str_text(&value), value.n))
            str_addn(line, value.at, value.n);
        else
            add_json_string(line, str_text(&value), value.n);
    }
    str_fini(&value);
}

/* Pairs as given, but kept on one line. */
static void add_logfmt_pairs(str_t *line, const char *text)
{
    str_add(line, " ");
    for (const char *p = text; *p; p++) str_addn(line, *p == '\n' || *p == '\r' ? " " : p, 1);
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
    va_list args;
    va_start(args, format);
    char *pairs = print_args(format, args);
    va_end(args);
    bool json = the_log.format == LOG_JSON;
    void (*add_pairs)(str_t *, const char *) = json ? add_json_pairs : add_logfmt_pairs;
    str_t line = {0};
    str_add(&line, json ? "{\"time\": \"" : "time=");
    add_time(&line);
    str_addf(&line,
             json ? "\", \"level\": \"%s\", \"service\": \"%s\", \"event\": \"%s\""
                  : " level=%s service=%s event=%s",
             level_names[level], the_log.service, event);
    pthread_mutex_lock(&the_log.lock);
    if (the_log.context) add_pairs(&line, the_log.context);
    pthread_mutex_unlock(&the_log.lock);
    if (*pairs) add_pairs(&line, pairs);
    str_add(&line, json ? "}\n" : "\n");
    /* A log that cannot be written (closed stderr) must not stop the service. */
    ssize_t ignored = write(STDERR_FILENO, line.at, line.n);
    (void)ignored;
    str_fini(&line);
    free(pairs);
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
