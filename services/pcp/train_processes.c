/* Command lines of the services of one run. */
#include "pcp/train_processes.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/vec.h"

typedef struct {
    VEC(char *) words; /* heap-owned */
} command_t;

static void add(command_t *c, char *word)
{
    VEC_PUSH(&c->words, word);
}

static void add_flag(command_t *c, const char *flag, char *value)
{
    add(c, mem_strdup(flag));
    add(c, value);
}

char *train_processes_beside(const char *service)
{
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    self[n < 0 ? 0 : n] = '\0';
    char *slash = strrchr(self, '/');
    if (slash) *slash = '\0';
    return mem_printf("%s/pcp-%s", self, service);
}

int train_processes_there(bool page, err_t *err)
{
    static const char *const services[] = {"shepherd",   "aggregator", "compiler",
                                           "supervisor", "worker",     "metrics"};
    int rc = 0;
    size_t n = sizeof services / sizeof *services - (page ? 0 : 1);
    for (size_t i = 0; rc == 0 && i < n; i++) {
        char *program = train_processes_beside(services[i]);
        if (access(program, X_OK) < 0)
            rc = err_set(err, ERR_STATE,
                         "%s: no such program; pcp train starts the services that lie beside it "
                         "(make builds all of them; a cluster trains what pcp run submit gives it)",
                         program);
        free(program);
    }
    return rc;
}

/* `pcp-<service> --parent-death --log-level L`. */
static int begin(command_t *c, const train_config_t *config, const char *service, err_t *err)
{
    *c = (command_t){0};
    char *program = train_processes_beside(service);
    int status = access(program, X_OK) < 0 ? err_set_errno(err, "%s", program) : 0;
    add(c, program);
    add(c, mem_strdup("--parent-death"));
    add_flag(c, "--log-level", mem_strdup(config->log_level));
    return status;
}

static int start(command_t *c, children_t *children, const char *name, int status, err_t *err)
{
    add(c, NULL);
    if (status == 0) status = children_spawn(children, name, c->words.at, err);
    for (size_t i = 0; i < c->words.n; i++) free(c->words.at[i]);
    VEC_FREE(&c->words);
    return status;
}

static void add_control(command_t *c, const train_prepared_t *p, const char *id)
{
    add_flag(c, "--shepherd", mem_printf("ipc://%s/control", p->sockets));
    add_flag(c, "--id", mem_strdup(id));
    add(c, mem_strdup("--once"));
    add(c, mem_strdup("--once")); /* leave when the shepherd dismisses its members */
}

int train_processes_shepherd(const train_config_t *config, const train_prepared_t *p,
                             children_t *children, err_t *err)
{
    command_t c;
    int status = begin(&c, config, "shepherd", err);
    add_flag(&c, "--config", mem_printf("%s/run.json", config->run_dir));
    add_flag(&c, "--run-dir", mem_strdup(p->sockets));
    /* To go on with when a process dies, not when the power does: that is for checkpoints. */
    add_flag(&c, "--store", mem_printf("sqlite://%s/pcp.db", config->run_dir));
    add(&c, mem_strdup("--no-store-sync"));
    add_flag(&c, "--id", mem_strdup("shepherd"));
    add_flag(&c, "--keep-state", mem_strdup("local"));
    add_flag(&c, "--state-dir", mem_printf("%s/cache/state", config->run_dir));
    if (config->resume) add(&c, mem_strdup("--lengthen"));
    return start(&c, children, "shepherd", status, err);
}

static int start_aggregator(const train_config_t *config, const train_prepared_t *p,
                            children_t *children, int i, err_t *err)
{
    command_t c;
    char name[32];
    snprintf(name, sizeof name, "aggregator-%d", i);
    int status = begin(&c, config, "aggregator", err);
    add_control(&c, p, name);
    add_flag(&c, "--bind", mem_printf("ipc://%s/data-%d", p->sockets, i));
    add_flag(&c, "--object-dir", mem_printf("%s/objects/%s", config->run_dir, name));
    return start(&c, children, name, status, err);
}

/* Plans are named by content, so runs may share them: the user's cache directory if there is one.
 */
static char *plan_cache(const train_config_t *config)
{
    const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (xdg && *xdg == '/') return mem_printf("%s/pcp/plans", xdg);
    if (home && *home == '/') return mem_printf("%s/.cache/pcp/plans", home);
    return mem_printf("%s/plans", config->run_dir);
}

static int start_compiler(const train_config_t *config, const train_prepared_t *p,
                          children_t *children, err_t *err)
{
    command_t c;
    int status = begin(&c, config, "compiler", err);
    add_control(&c, p, "compiler-0");
    add_flag(&c, "--cache-dir", plan_cache(config));
    if (config->tune) add(&c, mem_strdup("--tune"));
    return start(&c, children, "compiler-0", status, err);
}

/* One supervisor keeps the workers running; they are TRAIN_SUPERVISOR-w0, -w1, ... */
static int start_supervisor(const train_config_t *config, const train_prepared_t *p,
                            children_t *children, err_t *err)
{
    command_t c;
    int status = begin(&c, config, "supervisor", err);
    add_control(&c, p, TRAIN_SUPERVISOR);
    add_flag(&c, "--cache-dir", mem_printf("%s/cache", config->run_dir));
    add_flag(&c, "--log-dir", mem_printf("%s/logs", config->run_dir));
    add_flag(&c, "--scale", mem_printf("%lld", (long long)config->workers));
    add_flag(&c, "--threads", mem_printf("%lld", (long long)config->threads));
    add_flag(&c, "--grace-s", mem_printf("%d", TRAIN_GRACE_S));
    return start(&c, children, "supervisor", status, err);
}

int train_processes_members(const train_config_t *config, const train_prepared_t *p,
                            children_t *children, err_t *err)
{
    int status = 0;
    for (int i = 0; status == 0 && i < config->aggregators; i++)
        status = start_aggregator(config, p, children, i, err);
    if (status == 0) status = start_compiler(config, p, children, err);
    if (status == 0) status = start_supervisor(config, p, children, err);
    return status;
}

int train_processes_again(const train_config_t *config, const train_prepared_t *p,
                          children_t *children, const char *name, err_t *err)
{
    int shard;
    if (strcmp(name, "shepherd") == 0) return train_processes_shepherd(config, p, children, err);
    if (strcmp(name, "compiler-0") == 0) return start_compiler(config, p, children, err);
    if (strcmp(name, "supervisor") == 0) return start_supervisor(config, p, children, err);
    if (sscanf(name, "aggregator-%d", &shard) == 1)
        return start_aggregator(config, p, children, shard, err);
    return err_set(err, ERR_ARG, "no service is called \"%s\"", name);
}
