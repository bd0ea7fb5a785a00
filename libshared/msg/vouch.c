/* Statements, and the roles that may make them. */
#include "msg/vouch.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "msg/keyring.h"
#include "msg/refusals.h"
#include "msg/seal.h"

static _Atomic uint64_t n_refused;

uint64_t vouch_refused(void)
{
    return atomic_load(&n_refused);
}

/* Lines, the later ones only when they are known. */
static char *plan_statement(const vouch_plan_t *plan)
{
    char spec[HASH_HEX];
    if (!plan->target) return mem_printf("pcp plan 1\nplan %s\n", plan->plan);
    hash_content(plan->spec, strlen(plan->spec), spec);
    return mem_printf("pcp plan 1\nplan %s\ntarget %s\nmodule %s\nspec %s\n", plan->plan,
                      plan->target, plan->module, spec);
}

static char *checkpoint_statement(const char *hash)
{
    return mem_printf("pcp checkpoint 1\nmanifest %s\n", hash);
}

static char *make(char *statement)
{
    char *seal = seal_make(keyring_own(), statement, clock_wall_ms() / 1000);
    free(statement);
    return seal;
}

static bool have_role(unsigned roles)
{
    const keys_t *own = keyring_own();
    return own && (1u << own->card.role & roles);
}

enum {
    PLANS = 1u << KEYS_COMPILER,
    CHECKPOINTS = 1u << KEYS_SHEPHERD | 1u << KEYS_OPERATOR,
};

char *vouch_plan(const vouch_plan_t *plan)
{
    return have_role(PLANS) ? make(plan_statement(plan)) : mem_strdup("");
}

char *vouch_checkpoint(const char *hash)
{
    return have_role(CHECKPOINTS) ? make(checkpoint_statement(hash)) : NULL;
}

/* --- Judging --- */

static int judge(const char *seal, const char *statement, unsigned roles, err_t *err)
{
    seal_t made;
    if (seal_check(seal, statement, &keyring_own()->trust, &made, err) < 0) return -1;
    if (!(1u << made.by.role & roles))
        return err_set(err, ERR_STATE, "it is signed by \"%s\", whose role is %s, not %s",
                       made.by.name, keys_role_name(made.by.role),
                       roles == PLANS ? "compiler" : "shepherd or operator");
    if (keyring_is_revoked(made.by.public_key))
        return err_set(err, ERR_STATE, "it is signed by \"%s\", whose key is revoked",
                       made.by.name);
    return 0;
}

static int check(const char *what, const char *name, const char *seal, char *statement,
                 unsigned roles, err_t *err)
{
    err_t fault = {0};
    int rc = judge(seal, statement, roles, &fault);
    free(statement);
    if (rc == 0) return 0;
    atomic_fetch_add(&n_refused, 1);
    refusals_count(REFUSAL_SIGNATURE);
    log_event(LOG_WARN, "unsigned", "what=%s name=%.12s reason=\"%s\"", what, name, fault.text);
    return err_set(err, ERR_STATE, "%s %.12s is refused: %s", what, name, fault.text);
}

int vouch_check_plan(const char *seal, const vouch_plan_t *plan, err_t *err)
{
    if (!keyring_own()) return 0;
    return check("plan", plan->plan, seal, plan_statement(plan), PLANS, err);
}

int vouch_check_checkpoint(const char *seal, const char *hash, err_t *err)
{
    if (!keyring_own()) return 0;
    return check("checkpoint", hash, seal, checkpoint_statement(hash), CHECKPOINTS, err);
}

char *vouch_tell(const char *seal, const char *hash)
{
    seal_t made;
    err_t err = {0};
    char when[32] = "", *statement = checkpoint_statement(hash);
    const keys_t *own = keyring_own();
    int rc = own ? judge(seal, statement, CHECKPOINTS, &err) : 0;
    bool read = seal && seal_read(seal, &made) == 0;
    free(statement);
    if (rc < 0) return mem_strdup(err.text);
    if (!read) return mem_strdup(seal ? "its signature cannot be read" : "it is not signed");
    time_t time = (time_t)made.when_s;
    struct tm parts;
    if (gmtime_r(&time, &parts)) strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", &parts);
    return mem_printf("signed by %s (%s) at %s%s", made.by.name, keys_role_name(made.by.role), when,
                      own ? "" : "; not judged: no key was given");
}
