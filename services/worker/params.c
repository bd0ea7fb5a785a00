/* Changes where they are to be had, else the parameters. */
#include "worker/params.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "outer/change.h"

void params_forget(params_t *self)
{
    free(self->base);
    self->base = NULL;
}

static int fetch_change(params_t *self, data_client_t *client, const params_which_t *which,
                        const codec_t *codec, uint32_t round, err_t *err)
{
    if (which->ahead && which->ahead->round == round)
        return data_end_ahead(client, which->ahead, self->base, &self->used, err);
    return data_get_change(client, which->bounds, round, codec, self->base, err);
}

/* The base becomes the parameters of the round: 0; 1: the parameters themselves are needed. */
static int fetch_changes(params_t *self, data_client_t *client, const params_which_t *which,
                         const codec_t *codec, err_t *err)
{
    enum { MOST = 2 }; /* rounds that aggregators have snapshots of */
    err_t why = {0};
    if (!self->base || self->base_round > which->round || which->round - self->base_round > MOST)
        return 1;
    while (self->base_round < which->round) {
        uint32_t next = self->base_round + 1;
        if (fetch_change(self, client, which, codec, next, &why) == 0) {
            self->base_round = next;
            continue;
        }
        params_forget(self);
        if (why.code == ERR_NET || (why.code == ERR_STATE && next == which->round)) {
            *err = why;
            return -1;
        }
        log_event(LOG_INFO, "parameters_whole", "round=%u reason=\"%s\"", which->round, why.text);
        return 1;
    }
    return 0;
}

int params_fetch(params_t *self, data_client_t *client, const params_which_t *which, float *out,
                 err_t *err)
{
    size_t n_bytes = which->n * sizeof *out;
    err_t why = {0};
    const codec_t *codec = change_codec(which->down_codec, &why);
    if (why.code) return err_set(err, why.code, "%s", why.text);
    self->used = 0;
    if (!codec && which->ahead) return data_end_ahead(client, which->ahead, out, &self->used, err);
    if (!codec) return data_get_params(client, which->bounds, which->round, out, err);
    int rc = fetch_changes(self, client, which, codec, err);
    if (rc == 0) memcpy(out, self->base, n_bytes);
    if (rc <= 0) return rc;
    if (data_get_params(client, which->bounds, which->round, out, err) < 0) return -1;
    if (!self->base) self->base = mem_large(n_bytes + 1);
    memcpy(self->base, out, n_bytes);
    self->base_round = which->round;
    return 0;
}
