/* Command lines of pcp-worker. */
#include "supervisor/processes.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/vec.h"
#include "runtime/pool.h"

static char *beside_us(const char *name, err_t *err)
{
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n < 0) {
        err_set_errno(err, "/proc/self/exe");
        return NULL;
    }
    self[n] = '\0';
    *strrchr(self, '/') = '\0';
    char *path = mem_printf("%s/%s", self, name);
    if (access(path, X_OK) == 0) return path;
    err_set_errno(err, "%s", path);
    free(path);
    return NULL;
}

static int find_devices(processes_t *self, err_t *err)
{
    const supervisor_config_t *config = self->config;
    if (config->devices) {
        self->device = mem_calloc(FLEET_MAX, sizeof *self->device);
        self->n_device = device_names(config->devices, self->device, FLEET_MAX, err);
        if (self->n_device < 0) return err_prefix(err, "--devices: ");
        if (self->n_device == 0)
            return err_set(err, ERR_ARG, "--devices all: there is none here (pcp devices)");
    }
    self->scale = config->scale != CONFIG_WORD ? (int)config->scale
                  : self->n_device > 0         ? self->n_device
                                               : 1;
    return 0;
}

int processes_init(processes_t *self, const supervisor_config_t *config, err_t *err)
{
    *self = (processes_t){.config = config};
    if (find_devices(self, err) < 0) return -1;
    long cores = pool_cores(), share = self->scale > 0 ? cores / self->scale : cores;
    self->threads = config->threads ? (long)config->threads : share > 0 ? share : 1;
    self->program = beside_us("pcp-worker", err);
    if (!self->program || file_make_dirs(config->log_dir, err) < 0) return -1;
    /* Not SIGTERM: a worker that hangs would outlive us. */
    self->children = children_new(config->log_dir, SIGKILL);
    children_limit_logs(self->children, config->log_mib << 20);
    return 0;
}

void processes_fini(processes_t *self)
{
    children_destroy(&self->children);
    free(self->program);
    free(self->device);
}

const char *processes_id(const processes_t *self, int worker, char id[PROCESSES_ID_BYTES])
{
    snprintf(id, PROCESSES_ID_BYTES, "%s-w%d", self->config->id, worker);
    return id;
}

int processes_worker(const processes_t *self, const char *id)
{
    size_t n = strlen(self->config->id);
    if (!str_starts(id, self->config->id) || strncmp(id + n, "-w", 2) != 0) return -1;
    const char *digits = id + n + 2;
    size_t n_digit = strspn(digits, "0123456789");
    if (n_digit == 0 || n_digit > 4 || digits[n_digit]) return -1;
    return atoi(digits);
}

typedef struct {
    VEC(char *) words; /* heap-owned */
} command_t;

static void add(command_t *c, const char *flag, char *value)
{
    char *copy = mem_strdup(flag);
    VEC_PUSH(&c->words, copy);
    if (value) VEC_PUSH(&c->words, value);
}

static command_t command_of(const processes_t *self, int worker, const char *id)
{
    const supervisor_config_t *config = self->config;
    command_t c = {0};
    add(&c, self->program, NULL);
    add(&c, "--shepherd", mem_strdup(config->shepherd));
    add(&c, "--id", mem_strdup(id));
    add(&c, "--supervisor", mem_strdup(config->id));
    add(&c, "--cache-dir", mem_printf("%s/%s", config->cache_dir, id));
    add(&c, "--state-dir", mem_printf("%s/state", config->cache_dir));
    /* A worker that uses up its time shall still leave by itself. */
    add(&c, "--grace-ms", mem_printf("%lld", (long long)config->grace_s * 900));
    add(&c, "--threads", mem_printf("%ld", self->threads));
    add(&c, "--alive-fd", mem_printf("%d", CHILDREN_KEPT_FD));
    add(&c, "--log-level", mem_strdup(config->common.log_level));
    add(&c, "--log-format", mem_strdup(config->common.log_format));
    if (config->target) add(&c, "--target", mem_strdup(config->target));
    if (self->n_device > 0)
        add(&c, "--device", mem_strdup(self->device[worker % self->n_device].text));
    if (config->once) add(&c, "--once", NULL);
    VEC_PUSH(&c.words, NULL);
    return c;
}

int processes_start(processes_t *self, int worker, err_t *err)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0) return err_set_errno(err, "pipe");
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    char id[PROCESSES_ID_BYTES];
    processes_id(self, worker, id);
    command_t c = command_of(self, worker, id);
    int rc = children_spawn_with(self->children, id, c.words.at, ends[1], err);
    for (size_t i = 0; i < c.words.n; i++) free(c.words.at[i]);
    VEC_FREE(&c.words);
    close(ends[1]);
    if (rc == 0) return ends[0];
    close(ends[0]);
    return -1;
}
