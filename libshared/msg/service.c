/* Start-up of a service process. */
#include "msg/service.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/notify.h"
#include "base/random.h"
#include "base/secret.h"
#include "base/version.h"
#include "msg/door.h"
#include "msg/keyring.h"
#include "msg/limits.h"

static const void *value_of(const config_table_t *table, const void *options, const char *name)
{
    for (size_t i = 0; i < table->n_fields; i++)
        if (strcmp(table->fields[i].name, name) == 0)
            return (const char *)options + table->fields[i].offset;
    return NULL;
}

/* Ask how another process of this service is. */
static int probe(const char *program, const char *path)
{
    char text[600] = "";
    err_t err = {0};
    if (!path || !*path)
        err_set(&err, ERR_ARG, "--probe: name the socket by --health or PCP_HEALTH");
    else if (health_ask(path, text, sizeof text, &err) == 0)
        return puts(text) < 0 ? SERVICE_BAD : SERVICE_HELP;
    fprintf(stderr, "%s: %s\n", program, err.text);
    return SERVICE_BAD;
}

/* Before ids are made, which a key may name. */
static int take_key(const config_table_t *table, const void *options, err_t *err)
{
    char *const *key = value_of(table, options, "key");
    char *const *revoked = value_of(table, options, "revoked");
    const bool *insecure = value_of(table, options, "insecure");
    if (!key || !revoked || !insecure) return 0; /* a table of somebody else's */
    return keyring_load(&(keyring_options_t){*key, *revoked, *insecure}, err);
}

int service_configure(const config_table_t *table, void *options, int argc, char **argv)
{
    err_t err = {0};
    config_args_t args = {0};
    int result = SERVICE_GO;
    file_hold_standard();
    if (secret_umask(&err) < 0 || config_load(table, options, NULL, argc, argv, &args, &err) < 0) {
        fprintf(stderr, "%s: %s\n", argv[0], err.text);
        result = SERVICE_BAD;
    } else if (args.asks) {
        config_answer(table, &args, argv[0], stdout);
        result = SERVICE_HELP;
    } else if (args.n_operands > 0) {
        fprintf(stderr, "%s: unexpected word \"%s\" (see --help)\n", argv[0], args.operands[0]);
        result = SERVICE_BAD;
    }
    config_args_fini(&args);
    const char *shown = config_hide(table, argc, argv);
    if (shown && result == SERVICE_GO)
        fprintf(stderr,
                "%s: the password in --%s could be seen by every user of this machine until now: "
                "use the environment, @FILE, or PGPASSFILE (see docs/operations.md)\n",
                argv[0], shown);
    const bool *asks = value_of(table, options, "probe");
    char *const *path = value_of(table, options, "health");
    if (result == SERVICE_GO && asks && *asks && path) return probe(argv[0], *path);
    if (result == SERVICE_GO && take_key(table, options, &err) < 0) {
        fprintf(stderr, "%s: --key: %s\n", argv[0], err.text);
        result = SERVICE_BAD;
    }
    return result;
}

static int die_with_parent(err_t *err)
{
    pid_t parent = getppid();
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0) return err_set_errno(err, "--parent-death: prctl");
    /* The parent may have gone before prctl: then the signal will never come. */
    if (parent == 1 || getppid() != parent)
        return err_set(err, ERR_STATE, "--parent-death: the parent is gone already");
    return 0;
}

/* The pipe from the handler to the loop; a handler has no other way to find it. A mask with a
 * signalfd would not do: libraries may have made threads before main that do not block the signals.
 */
static int signal_pipe[2] = {-1, -1};
static volatile sig_atomic_t signals_seen;

static void on_signal(int number)
{
    int kept = errno;
    if (signals_seen++) _exit(128 + number);
    uint8_t byte = (uint8_t)number;
    if (write(signal_pipe[1], &byte, 1) < 0) _exit(128 + number);
    errno = kept;
}

static int catch_signals(err_t *err)
{
    if (pipe2(signal_pipe, O_CLOEXEC | O_NONBLOCK) < 0) return err_set_errno(err, "pipe");
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    sigaddset(&action.sa_mask, SIGTERM);
    sigaddset(&action.sa_mask, SIGINT);
    if (sigaction(SIGTERM, &action, NULL) < 0 || sigaction(SIGINT, &action, NULL) < 0)
        return err_set_errno(err, "sigaction");
    sigprocmask(SIG_UNBLOCK, &action.sa_mask, NULL); /* whatever the starting process had */
    signal(SIGPIPE, SIG_IGN);
    return signal_pipe[0];
}

/* A shepherd or front has a connection to each member: to read and write thousands of them takes three times what
 * it takes to handle what they say. */
enum { CROWD_THREADS = 4 };

static bool has_crowd(const char *name)
{
    return strcmp(name, "shepherd") == 0;
}

/* What one of these threads gives back another one needs: with an arena of memory each, as the library would have
 * it, all grow. Two cost nothing that `bench control` shows. */
static void share_arenas(void)
{
    mallopt(M_ARENA_MAX, 2);
}

void service_keep_buffers(void)
{
    mallopt(M_MMAP_THRESHOLD, 8 * MSG_CHUNK_BYTES);
    mallopt(M_TRIM_THRESHOLD, 32 * MSG_CHUNK_BYTES);
}

int service_start(const char *name, const service_options_t *common, const config_table_t *table,
                  const void *options, err_t *err)
{
    log_level_t level;
    log_format_t format;
    if (log_parse_level(common->log_level, &level, err) < 0) return -1;
    if (log_parse_format(common->log_format, &format, err) < 0) return -1;
    service_keep_buffers();
    if (has_crowd(name)) share_arenas();
    log_init(name, level, format);
    if (common->parent_death && die_with_parent(err) < 0) return -1;
    int fd = catch_signals(err);
    if (fd < 0) return -1;
    notify_init();
    unsetenv("PCP_HEALTH"); /* it is ours, not of the services that we start */
    door_raise_limit();     /* a connection costs a descriptor */
    zsys_init();
    zsys_handler_set(NULL);
    zsys_set_max_sockets(0); /* as many as the library can */
    zsys_set_io_threads(has_crowd(name) ? CROWD_THREADS : 1);
    /* An actor and its owner that both wait for room in the other's pipe would wait for ever. */
    zsys_set_pipehwm(0);
    char *text = config_print(table, options, true);
    for (char *p = text; *p; p++)
        if (*p == '\n') *p = ' ';
    log_event(LOG_INFO, "start", "version=%s pid=%d config=\"%s\"", pcp_version, (int)getpid(),
              text);
    free(text);
    return keyring_start(err) < 0 ? -1 : fd;
}

static int signal_ready(zloop_t *loop, zmq_pollitem_t *item, void *arg)
{
    (void)loop;
    service_signals_t *watch = arg;
    uint8_t number;
    while (read(item->fd, &number, 1) == 1) {
        log_event(LOG_INFO, "signal", "number=%u", number);
        watch->on_signal(watch->user);
    }
    return 0;
}

/* A signal would break the end of ZeroMQ's context off, and with it what waits to be sent. */
void service_end(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    notify("STOPPING=1");
    keyring_end();
    zsys_shutdown();
}

int service_on_signal(zloop_t *loop, int signal_fd, service_signals_t *watch, err_t *err)
{
    zmq_pollitem_t item = {.fd = signal_fd, .events = ZMQ_POLLIN};
    if (zloop_poller(loop, &item, signal_ready, watch) < 0)
        return err_set(err, ERR_STATE, "no poller for signals");
    return 0;
}

int service_health(zloop_t *loop, const service_options_t *common, health_fn *fn, void *user,
                   health_t **health, err_t *err)
{
    if (!common->health || !*common->health) return 0;
    *health = health_new(loop, common->health, fn, user, err);
    return *health ? 0 : -1;
}

static int watchdog_due(zloop_t *loop, int timer, void *arg)
{
    (void)loop, (void)timer, (void)arg;
    notify("WATCHDOG=1");
    return 0;
}

void service_loop(zloop_t *loop)
{
    int64_t watchdog_ms = notify_watchdog_ms();
    if (watchdog_ms > 0) zloop_timer(loop, (size_t)watchdog_ms, 0, watchdog_due, NULL);
    notify("READY=1");
    /* zloop_start returns 0 when a signal interrupts its poll, -1 when a handler wants an end. */
    while (zloop_start(loop) == 0) continue;
}

void service_host(const char *name, char host[SERVICE_HOST_BYTES])
{
    size_t n = 0;
    for (; name[n] && n + 1 < SERVICE_HOST_BYTES; n++) {
        char c = name[n];
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                     c == '.' || c == '_';
        host[n] = plain ? c : '-';
    }
    host[n] = '\0';
    if (n == 0) memcpy(host, "host", sizeof "host");
}

char *service_id(const char *kind)
{
    enum { RANDOM_DIGITS = 12 };
    char name[256] = "", host[SERVICE_HOST_BYTES], digits[RANDOM_DIGITS + 1];
    const keys_t *own = keyring_own();
    gethostname(name, sizeof name - 1);
    service_host(name, host);
    random_hex(digits, RANDOM_DIGITS);
    if (own) return mem_printf("%s-%s", own->card.name, digits);
    return mem_printf("%s-%s-%s", kind, host, digits);
}
