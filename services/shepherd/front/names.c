/* Names from outside. */
#include "shepherd/front/names.h"

#include <stddef.h>
#include <string.h>

#include "base/utf8.h"
#include "store/store.h"

/* What the front, the shepherds and their stores make under RUNS_DIR and in a run's folder. */
static const char *const reserved[] = {
    "checkpoint", "shepherd.log", "shepherd.log.1", "logs",       "control",
    "events",     "pcp.db",       "pcp.db-wal",     "pcp.db-shm", "pcp.db-journal"};

const char *front_name_fault(const char *name)
{
    static const char good[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    size_t n = strlen(name);
    if (n == 0 || n >= FRONT_FILE_NAME || strspn(name, good) != n || *name == '.' || *name == '-')
        return "1 to 63 letters, digits, '.', '_' or '-' are a name, no '.' or '-' in front";
    for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++)
        if (strcmp(reserved[i], name) == 0)
            return "it is the cluster's own (checkpoint, shepherd.log, logs, control, events, "
                   "pcp.db)";
    return NULL;
}

const char *front_key_fault(const char *key)
{
    size_t n = strlen(key);
    if (n >= STORE_ID) return "the key is longer than 127 bytes";
    unsigned code = 0;
    for (size_t at = 0, step; at < n; at += step) {
        step = utf8_next(key + at, n - at, &code);
        if (step == 0) return "the key is not UTF-8";
        if (utf8_is_control(code)) return "the key has control characters";
    }
    return NULL;
}
