/* Start-up of a service process. */
#include "msg/service.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"

int service_configure(const config_table_t *table, void *options, int argc, char **argv)
{
    err_t err = {0};
    config_args_t args = {0};
    int result = SERVICE_GO;
    if (config_load(table, options, NULL, argc, argv, &args, &err) < 0) {
        fprintf(stderr, "%s: %s\n", argv[0], err.text);
        result = SERVICE_BAD;
    } else if (args.help) {
        config_help(table, stdout);
        result = SERVICE_HELP;
    } else if (args.n_operands > 0) {
        fprintf(stderr, "%s: unexpected word \"%s\" (see --help)\n", argv[0], args.operands[0]);
        result = SERVICE_BAD;
    }
    config_args_fini(&args);
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

int service_start(const char *name, const service_options_t *common, const config_table_t *table,
                  const void *options, err_t *err)
{
    log_level_t level;
    log_format_t format;
    if (log_parse_level(common->log_level, &level, err) < 0) return -1;
    if (log_parse_format(common->log_format, &format, err) < 0) return -1;
    log_init(name, level, format);
    if (common->parent_death && die_with_parent(err) < 0) return -1;
    /* Blocked before any thread exists, so that every thread inherits the mask and the signals
     * arrive at the descriptor alone. */
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    if (sigprocmask(SIG_BLOCK, &set, NULL) < 0) return err_set_errno(err, "sigprocmask");
    signal(SIGPIPE, SIG_IGN);
    int fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    if (fd < 0) return err_set_errno(err, "signalfd");
    zsys_init();
    zsys_handler_set(NULL);
    char *text = config_print(table, options, true);
    log_event(LOG_INFO, "start", "version=%s pid=%d config='%s'", SERVICE_VERSION, (int)getpid(),
              text);
    free(text);
    return fd;
}

static int signal_ready(zloop_t *loop, zmq_pollitem_t *item, void *arg)
{
    (void)loop;
    service_signals_t *watch = arg;
    struct signalfd_siginfo info;
    while (read(item->fd, &info, sizeof info) == (ssize_t)sizeof info) {
        if (watch->seen++) _exit(128 + (int)info.ssi_signo);
        log_event(LOG_INFO, "signal", "number=%u from=%u", info.ssi_signo, info.ssi_pid);
        watch->on_signal(watch->user);
    }
    return 0;
}

int service_on_signal(zloop_t *loop, int signal_fd, service_signals_t *watch, err_t *err)
{
    zmq_pollitem_t item = {.fd = signal_fd, .events = ZMQ_POLLIN};
    if (zloop_poller(loop, &item, signal_ready, watch) < 0)
        return err_set(err, ERR_STATE, "no poller for signals");
    return 0;
}

char *service_id(const char *kind)
{
    char host[256] = "host";
    gethostname(host, sizeof host - 1);
    return mem_printf("%s-%.32s-%d", kind, host, (int)getpid());
}
