/* What this process signs, and whose signatures it takes, by its key (msg/keyring.h): plans are
 * signed by compilers, checkpoints by shepherds or operators. Without a key nothing is signed and
 * everything is taken. Any thread. */
#ifndef MSG_VOUCH_H
#define MSG_VOUCH_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/hash.h"

typedef struct {
    const char *plan;   /* content hash of its bytes, as they are at the aggregators */
    const char *target; /* "cpu:x86-64-v4"; NULL: not known, nor the rest: any will do */
    const char *module; /* content hash of its text */
    const char *spec;   /* as the plan has it */
} vouch_plan_t;

/* The seals. Return, caller frees; "" without a key, or one that is no compiler's. */
char *vouch_plan(const vouch_plan_t *plan);
char *vouch_checkpoint(const char *hash); /* of the manifest; NULL without a key that may */

/* -1 with ERR_STATE naming what and why; counted (vouch_refused). */
int vouch_check_plan(const char *seal, const vouch_plan_t *plan, err_t *err);
int vouch_check_checkpoint(const char *seal, const char *hash, err_t *err);

/* Who made a checkpoint's seal, when, and whether we take it: a line for people. Without a key of
 * ours, what the seal says, and that nobody has judged it. Returns, caller frees. */
char *vouch_tell(const char *seal, const char *hash);

/* Plans and checkpoints that were refused since the start. */
uint64_t vouch_refused(void);

#endif
