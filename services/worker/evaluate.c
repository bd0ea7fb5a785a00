/* An evaluation: batches in order, each counted once. */
#include "base/rng.h"
#include "worker/ready.h"
#include "worker/trainer.h"

static int run_eval(trainer_t *self, const Msg__Eval *eval, feed_t *feed, Msg__EvalDone *done,
                    err_t *err)
{
    double sum = 0;
    const Msg__TokenSource *tokens = ready_source(eval->tokens, eval->wide_tokens);
    uint64_t draws = rng_bits(rng_derive(tokens->seed, "validation"), eval->part);
    if (tokens_fetch_feed(self->validation, feed, self->client, err) < 0 ||
        engine_load(self->engine, self->start, err) < 0)
        return -1;
    for (uint64_t i = 0; i < eval->n_batch; i++) {
        float loss = 0;
        if (ready_stopped(self)) return err_set(err, ERR_STATE, "stopped");
        engine_seed(self->engine, rng_bits(draws, i)); /* the same in every round */
        if (feed_step(feed, tokens_at(self->validation), i, err) < 0 ||
            engine_loss(self->engine, (const void *const *)feed->args, &loss, err) < 0)
            return -1;
        sum += loss;
    }
    done->round = eval->round;
    done->part = eval->part;
    done->fence = eval->fence;
    done->loss = sum / (double)eval->n_batch;
    done->tokens = eval->n_batch * feed->layout->tokens;
    return 0;
}

int trainer_eval(trainer_t *self, const Msg__Eval *eval, Msg__EvalDone *done, err_t *err)
{
    const Msg__TokenSource *tokens = ready_source(eval->tokens, eval->wide_tokens);
    work_t work = {.data = eval->data,
                   .n_data = eval->n_data,
                   .bounds = eval->bounds,
                   .n_bounds = eval->n_bounds,
                   .run = eval->run_hash,
                   .round = eval->round,
                   .down_codec = eval->down_codec,
                   .down_exact_from = eval->down_exact_from,
                   .plan = eval->plan,
                   .seal = eval->seal,
                   .tokens = tokens};
    self->plan_refused = false;
    if (eval->n_batch == 0) return err_set(err, ERR_NET, "an evaluation without batches");
    if (ready(self, &work, err) < 0) return -1;
    batch_layout_t layout;
    if (ready_layout(self, tokens, &layout, err) < 0) return -1;
    data_order_t order = ready_order(tokens, &layout);
    uint64_t n_batch = order.n_units / layout.units;
    if (eval->first_batch > n_batch || eval->n_batch > n_batch - eval->first_batch)
        return err_set(err, ERR_NET, "batches %llu + %llu of %llu",
                       (unsigned long long)eval->first_batch, (unsigned long long)eval->n_batch,
                       (unsigned long long)n_batch);
    data_range_t range = {0, eval->first_batch * layout.units, eval->n_batch * layout.units};
    feed_t feed;
    if (feed_init(&feed, &layout, &order, &range, tokens->vocab, 1, err) < 0) return -1;
    int rc = run_eval(self, eval, &feed, done, err);
    feed_fini(&feed);
    return rc;
}
