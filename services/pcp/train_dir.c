/* Directories of runs. */
#include "pcp/train_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/random.h"
#include "ckpt/checkpoint.h"

static bool has(const char *dir, const char *name)
{
    char *path = mem_printf("%s/%s", dir, name);
    bool there = file_exists(path);
    free(path);
    return there;
}

bool train_dir_has_run(const char *dir)
{
    static const char *const signs[] = {"pcp.db", "objects", "checkpoint/latest"};
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (has(dir, signs[i])) return true;
    return false;
}

bool train_dir_is_ours(const char *dir)
{
    return has(dir, TRAIN_EXPERIMENT) && has(dir, "run.json");
}

char *train_dir_new(err_t *err)
{
    enum { TRIES = 100 };
    char stamp[32], suffix[8] = "";
    time_t now = time(NULL);
    strftime(stamp, sizeof stamp, "%Y%m%d-%H%M%S", localtime(&now));
    if (file_make_dirs(TRAIN_RUNS, err) < 0) return NULL;
    for (int i = 0; i < TRIES; i++) {
        char *dir = mem_printf(TRAIN_RUNS "/%s%s", stamp, suffix);
        if (mkdir(dir, 0755) == 0) return dir;
        int fault = errno;
        free(dir);
        errno = fault;
        if (fault != EEXIST) break;
        suffix[0] = '-';
        random_hex(suffix + 1, 4);
    }
    err_set_errno(err, TRAIN_RUNS "/%s", stamp);
    return NULL;
}

int train_dir_claim(const char *dir, err_t *err)
{
    if (file_make_dirs(dir, err) < 0) return -1;
    char *path = mem_printf("%s/.lock", dir); /* a lock on the directory itself is scratch.h's */
    int lock = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (lock < 0) err_set_errno(err, "%s", path);
    free(path);
    if (lock < 0) return -1;
    if (flock(lock, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return lock;
    close(lock);
    return err_set(err, ERR_STATE, "%s: another pcp train is at work in it", dir);
}

/* Files that were written whole before the fault stay, and the directory with them. */
void train_dir_give_up(const char *dir)
{
    char *lock = mem_printf("%s/.lock", dir), *logs = mem_printf("%s/logs", dir);
    rmdir(logs);
    unlink(lock);
    rmdir(dir);
    free(lock);
    free(logs);
}

char *train_dir_absolute(const char *path)
{
    char *real = path ? realpath(path, NULL) : NULL;
    if (real || !path || *path == '/') return real || !path ? real : mem_strdup(path);
    char *here = realpath(".", NULL), *whole = mem_printf("%s/%s", here ? here : ".", path);
    free(here);
    return whole;
}

bool train_dir_same(const char *a, const char *b)
{
    file_map_t x, y;
    if (file_map(a, &x, NULL) < 0) return false;
    bool same = file_map(b, &y, NULL) == 0;
    if (same) {
        same = x.n == y.n && memcmp(x.at, y.at, x.n) == 0;
        file_unmap(&y);
    }
    file_unmap(&x);
    return same;
}

/* When it was begun or gone on with; false: no such run. */
static bool begun(const char *dir, const char *model, struct timespec *when)
{
    char *json = mem_printf("%s/run.json", dir), *own = mem_printf("%s/model.mlir", dir);
    struct stat info;
    bool fits = train_dir_is_ours(dir) && stat(json, &info) == 0 &&
                (!model || train_dir_same(model, own));
    if (fits) *when = info.st_mtim;
    free(json);
    free(own);
    return fits;
}

void train_dir_sweep(const char *dir)
{
    char *root = mem_printf("%s/checkpoint", dir);
    if (file_exists(root)) checkpoint_sweep(root, NULL);
    file_sweep_temporaries(dir);
    free(root);
}

static bool is_later(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec != b->tv_sec ? a->tv_sec > b->tv_sec : a->tv_nsec > b->tv_nsec;
}

char *train_dir_newest(const char *model, err_t *err)
{
    DIR *runs = opendir(TRAIN_RUNS);
    char *best = NULL;
    struct timespec latest = {0}, when;
    for (struct dirent *e; runs && (e = readdir(runs));) {
        if (e->d_name[0] == '.') continue;
        char *dir = mem_printf(TRAIN_RUNS "/%s", e->d_name);
        if (begun(dir, model, &when) && (!best || is_later(&when, &latest))) {
            free(best);
            best = dir;
            latest = when;
        } else {
            free(dir);
        }
    }
    if (runs) closedir(runs);
    if (best) return best;
    err_set(err, ERR_ARG,
            "--resume latest: there is no run%s%s in " TRAIN_RUNS
            "/: name its directory (--resume RUN_DIR), or leave --resume out to begin one",
            model ? " of " : "", model ? model : "");
    return NULL;
}
