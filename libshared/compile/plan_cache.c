/* Files named by the hash of what their plan depends on. */
#include "compile/plan_cache.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "plan/format/plan.h"

char *plan_cache_path(const char *dir, const char *version, const char *const *parts, size_t n)
{
    hash_stream_t *hash = hash_stream_new();
    hash_stream_add(hash, version, strlen(version) + 1);
    for (size_t i = 0; i < n; i++) hash_stream_add(hash, parts[i], strlen(parts[i]) + 1);
    char hex[HASH_HEX];
    hash_stream_finish(&hash, hex);
    return mem_printf("%s/%s.plan", dir, hex);
}

int plan_cache_version(char version[HASH_HEX], err_t *err)
{
    return hash_file("/proc/self/exe", version, err);
}

uint8_t *plan_cache_read(const char *path, size_t *n)
{
    if (!file_exists(path)) return NULL;
    err_t err = {0};
    uint8_t *bytes = (uint8_t *)file_read(path, n, &err);
    plan_t *plan = bytes ? plan_unpack(bytes, *n, &err) : NULL;
    if (plan) {
        plan_destroy(&plan);
        return bytes;
    }
    log_event(LOG_WARN, "cache_damaged", "path=%s error=\"%s\"", path, err.text);
    free(bytes);
    return NULL;
}
