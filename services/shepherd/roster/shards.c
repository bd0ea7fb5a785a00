/* Shards given to aggregators. */
#include "shepherd/roster/shards.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "shepherd/shepherd.h"

/* A pseudo-gradient element beyond this is no training but a fault; it bounds the fixed-point sum.
 */
static const double DELTA_RANGE = 64;

/* States may count, or be sums of squares. */
static const double STATE_RANGE = 65536;

void shards_init(shards_t *self, size_t n_shard)
{
    self->endpoint = mem_calloc(n_shard, sizeof *self->endpoint);
}

void shards_fini(shards_t *self, size_t n_shard)
{
    for (size_t i = 0; self->endpoint && i < n_shard; i++) free(self->endpoint[i]);
    free(self->endpoint);
    free(self->reason);
}

void shards_assign(shepherd_t *self, member_row_t *row)
{
    row->answered = row->assigned = false;
    row->asked_ms = self->now_ms;
    Msg__Assign assign = MSG__ASSIGN__INIT;
    assign.shard = (uint32_t)row->shard;
    assign.shards = (uint32_t)self->config->aggregators;
    assign.begin = self->bulk.layout.bounds[row->shard];
    assign.end = self->bulk.layout.bounds[row->shard + 1];
    assign.total = self->bulk.layout.total;
    assign.replicas = (uint32_t)shepherd_most(self->config);
    assign.outer_rule =
        outer_rule_find(self->config->outer_rule, NULL)->id; /* a word of the table */
    assign.down_codec = self->down_codec;
    assign.down_exact = true;
    assign.fragments = 1;
    assign.outer_lr = self->config->outer_lr;
    assign.outer_momentum = self->config->outer_momentum;
    assign.round = self->shards.keeping ? row->held.round : self->round.number;
    assign.run_hash = self->run_hash;
    assign.averaged_from = (uint64_t)self->config->averaged_from;
    assign.delta_range = assign.averaged_from ? STATE_RANGE : DELTA_RANGE;
    assign.weight_max = (uint64_t)assign.replicas * (uint64_t)self->config->inner_steps;
    assign.keep = self->shards.keeping;
    assign.attempt = self->shards.attempt;
    assign.holders = true;
    MSG_SEND(self->ports.out, &row->peer, 0, ASSIGN, assign, &assign);
}

bool members_shards_here(const shepherd_t *self)
{
    return members_with_shard(&self->roster) == (size_t)self->config->aggregators;
}

void shards_busy(member_row_t *row, const char *reason)
{
    if (!*row->busy) log_event(LOG_WARN, "waiting", "for=\"aggregator %s: %s\"", row->id, reason);
    snprintf(row->busy, sizeof row->busy, "%s", reason);
}
