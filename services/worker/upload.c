/* One thread for one update: it ends with it. */
#include "worker/upload.h"

#include "base/clock.h"

static int put(trainer_t *trainer, const Msg__Lease *lease, uint64_t steps, err_t *err)
{
    data_delta_t which = {.round = lease->round,
                          .replica = lease->replica,
                          .fence = lease->fence,
                          .weight = steps < lease->inner_steps ? steps : lease->weight,
                          .codec = trainer->codec->id,
                          .exact_from = lease->exact_from,
                          .of = lease->ahead,
                          .sent = &trainer->sent,
                          .late = lease->lag > 0};
    atomic_store(&trainer->sends, true);
    int rc = data_put_delta(trainer->client, lease->bounds, &which, trainer->start, err);
    atomic_store(&trainer->sends, false);
    return rc;
}

static void *thread_main(void *arg)
{
    upload_t *self = arg;
    double begin = clock_mono_s();
    self->rc = put(self->trainer, self->lease, self->steps, &self->err);
    self->seconds = clock_mono_s() - begin;
    return NULL;
}

void upload_begin(upload_t *self, trainer_t *trainer, const Msg__Lease *lease, uint64_t steps)
{
    *self = (upload_t){.trainer = trainer, .lease = lease, .steps = steps};
    self->apart = pthread_create(&self->thread, NULL, thread_main, self) == 0;
    if (!self->apart) thread_main(self);
}

int upload_end(upload_t *self, err_t *err)
{
    if (self->apart) pthread_join(self->thread, NULL);
    if (self->rc < 0 && err) *err = self->err;
    return self->rc;
}
