/* Whether a checkpoint and a run belong together. */
#include "ckpt/fits.h"

#include <string.h>

#include "base/hash.h"

static int check(const checkpoint_t *self, const checkpoint_run_t *run, const ledger_t *ledger,
                 err_t *err)
{
    char module[HASH_HEX];
    const checkpoint_info_t *info = checkpoint_info(self);
    if (run->text)
        hash_content(run->text, run->n_text, module);
    else if (hash_file(run->model, module, err) < 0)
        return -1;
    if (strcmp(module, info->module_hash) != 0)
        return err_set(err, ERR_ARG, "it is of another model than %s", run->model);
    if (ledger->seed != run->seed)
        return err_set(err, ERR_ARG, "its seed is %llu, the run's %llu",
                       (unsigned long long)ledger->seed, (unsigned long long)run->seed);
    if (ledger->n_state < run->least || ledger->n_state > run->most)
        return err_set(err, ERR_ARG, "it has %zu replicas, the run %zu", ledger->n_state,
                       run->most);
    if (ledger->round != (uint64_t)info->round || ledger->round > run->rounds)
        return err_set(err, ERR_ARG, "it is of round %llu of %llu",
                       (unsigned long long)ledger->round, (unsigned long long)run->rounds);
    return checkpoint_state(self) ? 0 : err_set(err, ERR_ARG, "it has no outer state");
}

int checkpoint_fits(const checkpoint_t *self, const checkpoint_run_t *run, ledger_t *out,
                    err_t *err)
{
    size_t n = 0;
    ledger_t ledger = {0};
    const char *text = checkpoint_file(self, LEDGER_FILE, &n);
    int rc = text ? ledger_parse(text, n, &ledger, err)
                  : err_set(err, ERR_STATE, "it does not say where its run stood");
    if (rc == 0) rc = check(self, run, &ledger, err);
    if (rc == 0)
        *out = ledger;
    else
        ledger_fini(&ledger);
    return rc;
}
