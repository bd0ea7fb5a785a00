/* Files named by the version of the programs that made them and by the hash of what their plan depends on. Who uses one holds a shared
 * lock on it; who removes one asks for the only lock first. */
#include "compile/plan_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "base/entries.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/version.h"
#include "plan/format/plan.h"

#define SUFFIX ".plan"

char *plan_cache_path(const char *dir, const char *version, const char *const *parts, size_t n)
{
    hash_stream_t *hash = hash_stream_new();
    hash_stream_add(hash, version, strlen(version) + 1);
    for (size_t i = 0; i < n; i++) hash_stream_add(hash, parts[i], strlen(parts[i]) + 1);
    char hex[HASH_HEX];
    hash_stream_finish(&hash, hex);
    return mem_printf("%s/%s-%s" SUFFIX, dir, pcp_version, hex);
}

int plan_cache_version(char version[HASH_HEX], err_t *err)
{
    return hash_file("/proc/self/exe", version, err);
}

int plan_cache_use(const char *path)
{
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0) flock(fd, LOCK_SH | LOCK_NB); /* it fails where somebody is removing it */
    return fd;
}

uint8_t *plan_cache_read(const char *path, size_t *n)
{
    if (!file_exists(path)) return NULL;
    err_t err = {0};
    uint8_t *bytes = (uint8_t *)file_read(path, n, &err);
    plan_t *plan = bytes ? plan_unpack(bytes, *n, &err) : NULL;
    if (plan) {
        plan_destroy(&plan);
        entries_touch(path);
        return bytes;
    }
    log_event(LOG_WARN, "cache_damaged", "path=%s error=\"%s\"", path, err.text);
    free(bytes);
    return NULL;
}

/* --- pruning --- */

/* true: it is gone. A link is none of ours, and not followed. */
static bool remove_unused(const entry_t *entry)
{
    enum { WITHOUT_LOCKS_S = 24 * 3600 };
    int fd = open(entry->path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) return false;
    int held = flock(fd, LOCK_EX | LOCK_NB) < 0 ? errno : 0;
    bool used = held == EWOULDBLOCK ||
                (held != 0 && time(NULL) - entry->used.tv_sec < WITHOUT_LOCKS_S);
    bool gone = !used && unlink(entry->path) == 0;
    close(fd);
    return gone;
}

/* Those of this version, or of all others (also of names without one); *bytes is what all have together. */
static void remove_some(const entries_t *newest_first, const char *own, bool others, uint64_t limit,
                        uint64_t *bytes, size_t *n_gone)
{
    for (size_t i = newest_first->n; i-- > 0 && *bytes > limit;) {
        const entry_t *entry = &newest_first->at[i];
        if (str_starts(strrchr(entry->path, '/') + 1, own) == others) continue;
        if (!remove_unused(entry)) continue;
        *bytes -= entry->bytes;
        ++*n_gone;
    }
}

void plan_cache_prune(const char *dir, uint64_t limit)
{
    entries_t list = entries_list(dir, "", SUFFIX);
    uint64_t bytes = 0;
    size_t n_gone = 0;
    for (size_t i = 0; i < list.n; i++) bytes += list.at[i].bytes;
    uint64_t before = bytes;
    if (bytes > limit) {
        char *own = mem_printf("%s-", pcp_version);
        qsort(list.at, list.n, sizeof *list.at, entries_newest_first);
        remove_some(&list, own, true, limit, &bytes, &n_gone);
        remove_some(&list, own, false, limit, &bytes, &n_gone);
        free(own);
    }
    if (n_gone > 0)
        log_event(LOG_INFO, "plans_pruned", "path=%s files=%zu bytes=%llu to=%llu", dir, n_gone,
                  (unsigned long long)before, (unsigned long long)bytes);
    entries_fini(&list);
    file_sweep_temporaries(dir);
}
