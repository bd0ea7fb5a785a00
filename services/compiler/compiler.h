/* One compile job from module to plan object, with a cache on disk. What compiles is a process of
 * its own, which can be stopped (task.h). */
#ifndef COMPILER_COMPILER_H
#define COMPILER_COMPILER_H

#include "base/err.h"
#include "base/hash.h"
#include "compiler/child.h"
#include "msg/data_client.h"
#include "plan/kernel/tune.h"
#include "proto/control.pb-c.h"

enum { COMPILER_MODULE_BYTES = 1 << 30, COMPILER_VERSION_BYTES = HASH_HEX };

typedef struct {
    const char *cache_dir;
    uint64_t cache_limit; /* bytes that finished plans may take there; 0: any */
    bool tune; /* measure products on this machine (tools/tuning.h); tables in cache_dir */
    const char *tune_table;               /* or take this table as it is; NULL: none */
    child_limits_t limits;                /* of a job's process */
    const char *program;                  /* of that process; NULL: this one's */
    char version[COMPILER_VERSION_BYTES]; /* content hash of this program: another one, other plans
                                           */
} compiler_t;

/* Make the cache directory; cache_dir is borrowed. Without tuning and limits: the caller sets those
 * fields. */
int compiler_init(compiler_t *self, const char *cache_dir, err_t *err);

/* Those used longest ago go (plan_cache_prune), beyond the limit. */
void compiler_prune(const compiler_t *self);

/* Where the plan of (module, spec, target) by this compiler, with this table (NULL: none), is
 * cached. Returns, caller frees. */
char *compiler_cache_path(const compiler_t *self, const Msg__Compile *job, const tune_t *table);

/* Asked while a job runs: is its answer not wanted any more? */
typedef struct {
    bool (*stopped)(void *user);
    void *user;
} compiler_stop_t;

/* The plan's bytes, from the cache or compiled from the module text, by a process of its own within
 * the limits (task.h). Returns, caller frees. */
uint8_t *compiler_plan(const compiler_t *self, const Msg__Compile *job, data_client_t *client,
                       const compiler_stop_t *stop, bool *cached, size_t *n, err_t *err);

/* The part of it that the process does: measure, look into the cache, compile, fill the cache.
 * Returns, caller frees. */
uint8_t *compiler_make(const compiler_t *self, const Msg__Compile *job, const char *text,
                       size_t n_text, bool *cached, size_t *n, err_t *err);

/* Would another compiler fail on it, too? */
bool compiler_model_at_fault(err_code_t code);
/* Does that error pass when there is room on this machine again? */
bool compiler_lacks_room(const char *error);

/* Fill in params and batch from a plan; the reply borrows from an allocation that *memory owns. */
typedef struct compiler_lists compiler_lists_t;
compiler_lists_t *compiler_describe(const uint8_t *plan, size_t n, Msg__PlanReply *reply,
                                    err_t *err);
/* The described plan's seal by our key (msg/vouch.h): the plan says itself what it is of. Returns, caller
 * frees. */
char *compiler_seal(const compiler_lists_t *self, const char *hash);
void compiler_lists_destroy(compiler_lists_t **self_p);

#endif
