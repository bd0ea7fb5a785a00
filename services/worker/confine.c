/* What a worker needs once it is started: its directories, libraries, names of hosts, what the kernel
 * tells of the machine. Devices need more, of drivers that we do not know: there paths are free. */
#include "worker/confine.h"

#include <dirent.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"

static char *folder_of(const char *path)
{
    if (!path || !*path) return mem_strdup("");
    char *copy = mem_strdup(path), *folder = mem_strdup(dirname(copy));
    free(copy);
    return folder;
}

/* Where our key lies, in which another one may take its place: readable unless others' keys lie there,
 * too. */
static char *folder_of_key(const char *path)
{
    char *folder = folder_of(path);
    const char *name = path && strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    DIR *dir = *folder ? opendir(folder) : NULL;
    bool alone = dir;
    for (struct dirent *one; alone && (one = readdir(dir));)
        alone = !str_ends(one->d_name, ".key") || strcmp(one->d_name, name) == 0;
    if (dir) closedir(dir);
    if (!alone) *folder = '\0';
    return folder;
}

static int enter(const worker_config_t *config, cage_t *out, err_t *err)
{
    char *health = folder_of(config->common.health), *revoked = folder_of(config->common.revoked);
    char *key = folder_of_key(config->common.key);
    const cage_path_t paths[] = {
        {config->cache_dir, true},
        {config->state_dir, true},
        {health, true}, /* its socket is made there */
        {revoked, false},
        {key, false},
        CAGE_SYSTEM_PATHS,
        {"/etc/nsswitch.conf", false},
        {"/etc/hosts", false},
        {"/etc/host.conf", false},
        {"/etc/resolv.conf", false},
        {"/run/systemd/resolve", false},
        {"/etc/gai.conf", false},
        {"/etc/services", false},
        {"/dev/zero", false},
    };
    cage_options_t options = {.network = true, .paths = paths};
    if (str_starts(config->target, "cpu:")) options.n_path = sizeof paths / sizeof *paths;
    setenv("TMPDIR", config->cache_dir, 1); /* where code goes that may not run from memory */
    int rc = cage_enter(&options, out, err);
    free(health);
    free(revoked);
    free(key);
    return rc;
}

void confine_tell(const worker_config_t *config, const cage_t *cage, const err_t *why)
{
    const char *key = config->common.key;
    log_event(LOG_INFO, "cage", "calls=%d paths=%d runners=%d why=\"%s\"", cage->filter,
              cage->paths, why->code == ERR_OK, why->text);
    int fd = key && *key ? open(key, O_RDONLY | O_CLOEXEC) : -1;
    if (fd >= 0) close(fd);
    if (fd < 0 && key && *key)
        log_event(LOG_WARN, "key_unwatched",
                  "file=%s reason=\"others' keys lie there, too, so the cage hides it\" "
                  "fix=\"a directory of its own, or start again after each renewal\"",
                  key);
}

int confine_code(const worker_config_t *config, const device_ops_t *kind, runners_t **out,
                 err_t *why, err_t *err)
{
    *out = NULL;
    *why = (err_t){0};
    if (strcmp(config->cage, "off") == 0)
        err_set(why, ERR_STATE, "--cage off");
    else if (!kind->in_runner)
        err_set(why, ERR_UNSUPPORTED, "the device's driver needs more than a runner has");
    else
        *out = runners_start(why);
    if (*out || strcmp(config->cage, "require") != 0 || !kind->in_runner) return 0;
    return err_set(err, ERR_STATE, "--cage require: no runner for the code of plans: %.900s",
                   why->text);
}

int confine(const worker_config_t *config, cage_t *out, err_t *err)
{
    *out = (cage_t){0};
    if (strcmp(config->cage, "off") == 0) return 0;
    if (file_make_dirs(config->cache_dir, err) < 0 || file_make_dirs(config->state_dir, err) < 0)
        return -1;
    if (enter(config, out, err) < 0) return -1;
    if (strcmp(config->cage, "require") != 0 || (out->filter && out->paths)) return 0;
    return err_set(err, ERR_STATE, "--cage require: this kernel, or target %s, has %s",
                   config->target,
                   out->filter ? "no guard of paths (Landlock)" : "no filter of system calls");
}
