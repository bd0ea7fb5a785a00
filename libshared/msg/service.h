/* What every service does the same way: common flags, logs, signals, dying with its parent. */
#ifndef MSG_SERVICE_H
#define MSG_SERVICE_H

#include <czmq.h>

#include "base/config.h"
#include "base/err.h"
#include "msg/health.h"

typedef struct {
    char *log_level, *log_format;
    bool parent_death; /* leave when the starting process dies */
    char *health;      /* socket for health probes; NULL: none */
    bool probe;        /* do nothing but ask the process that answers there */
    char *key, *revoked;
    bool insecure;
} service_options_t;

/* Rows of a service's configuration table for its member `common` of type service_options_t. */
#define SERVICE_FIELDS(type)                                                                     \
    {.name = "log_level",                                                                        \
     .kind = CONFIG_ENUM,                                                                        \
     .offset = offsetof(type, common.log_level),                                                 \
     .fallback = "info",                                                                         \
     .help = "least level that is logged",                                                       \
     .words = "debug|info|warn|error|off"},                                                      \
        {.name = "log_format",                                                                   \
         .kind = CONFIG_ENUM,                                                                    \
         .offset = offsetof(type, common.log_format),                                            \
         .fallback = "logfmt",                                                                   \
         .help = "form of log lines",                                                            \
         .words = "logfmt|json"},                                                                \
        {.name = "health",                                                                       \
         .kind = CONFIG_STRING,                                                                  \
         .offset = offsetof(type, common.health),                                                \
         .help = "unix socket that answers health probes [none]"},                               \
        {.name = "probe",                                                                        \
         .kind = CONFIG_BOOL,                                                                    \
         .offset = offsetof(type, common.probe),                                                 \
         .fallback = "false",                                                                    \
         .help = "ask the process of that --health how it is; then leave, with status 0: well"}, \
        {.name = "key",                                                                          \
         .kind = CONFIG_STRING,                                                                  \
         .offset = offsetof(type, common.key),                                                   \
         .help = "file of this member's key (pcp keys issue), mode 0600 [none]"},                \
        {.name = "revoked",                                                                      \
         .kind = CONFIG_STRING,                                                                  \
         .offset = offsetof(type, common.revoked),                                               \
         .help = "file of the keys that are let in no more (pcp keys revoke) [none]"},           \
        {.name = "insecure",                                                                     \
         .kind = CONFIG_BOOL,                                                                    \
         .offset = offsetof(type, common.insecure),                                              \
         .fallback = "false",                                                                    \
         .help = "without a key, other machines may connect all the same"},                      \
    {                                                                                            \
        .name = "parent_death", .kind = CONFIG_BOOL,                                             \
        .offset = offsetof(type, common.parent_death), .fallback = "false",                      \
        .help = "leave when the starting process dies"                                           \
    }

enum { SERVICE_GO = 1, SERVICE_HELP = 0, SERVICE_BAD = -1 };

/* Read the configuration (flag over environment over --config file). SERVICE_HELP: help was asked
 * for and printed, or --probe found a process that is well; SERVICE_BAD: the error is on stderr.
 * Call config_fini(table, options) in any case. */
int service_configure(const config_table_t *table, void *options, int argc, char **argv);

/* After service_configure, before any socket or thread: logs, signals to a descriptor, parent-death
 * signal. Prints the effective configuration as an event. Returns the descriptor, or -1. Once per
 * process. */
int service_start(const char *name, const service_options_t *common, const config_table_t *table,
                  const void *options, err_t *err);

/* The C library keeps the memory of messages for the next ones instead of giving it to the kernel, and taking it back
 * page by page, at each: transfers are a quarter faster. At most 32 MiB a heap; what is larger than a message by far
 * goes back at once. Part of service_start; for programs that measure. */
void service_keep_buffers(void);

typedef struct {
    void (*on_signal)(void *user);
    void *user;
} service_signals_t;

/* Call on_signal(user) from the loop at the first SIGTERM or SIGINT; a second one ends the process
 * at once with status 128 + signal. `watch` is borrowed until the loop ends. */
int service_on_signal(zloop_t *loop, int signal_fd, service_signals_t *watch, err_t *err);

/* Answer health probes (msg/health.h) at common->health, if that names a socket; else *health stays
 * NULL. health_destroy before the loop goes. */
int service_health(zloop_t *loop, const service_options_t *common, health_fn *fn, void *user,
                   health_t **health, err_t *err);

/* Run the loop until a handler ends it by returning -1; signals do not. */
void service_loop(zloop_t *loop);

/* The last thing that main does: what was said is sent, ZeroMQ's threads end. Half a second at
 * most (control.h, linger), in which SIGTERM and SIGINT wait. */
void service_end(void);

/* A host's name as it may stand in ids, file names and logs: at most 24 letters, digits, ".", "_"
 * and
 * "-", which replaces every other byte; "host" for an empty one. */
enum { SERVICE_HOST_BYTES = 25 };
void service_host(const char *name, char host[SERVICE_HOST_BYTES]);

/* The default id of a process: "<kind>-<host>-<12 random hex digits>", or with a key "<its name>-..."
 * (a key speaks for such ids alone); another one at each call; at
 * most 50 bytes for the kinds that there are. Containers have equal host names and process numbers,
 * so neither tells them apart. Returns, caller frees. */
char *service_id(const char *kind);

#endif
