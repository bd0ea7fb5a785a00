/* The metrics, once: a row here is all that a metric needs. Its value, its text for Prometheus, its
 * samples in the store and its line in docs/metrics.md follow from it.
 *
 * X(id, name, type, scope, stored, source, help)
 *   id      M_id counts it from code (series_add)
 *   type    gauge | counter | histogram (each value of its source is counted in its bucket)
 *   scope   whose value it is, and so its labels: a row of SCOPES
 *   stored  STORED: a sample goes to the store with each event that has a round, of workers once a
 *           second; LIVE: none does
 *   source  an expression of metrics.c, true when there is a new value:
 *             FROM(kind, value)          of an event e of this kind (proto/telemetry.proto)
 *             FROM_IF(kind, is, value)   the same, if `is`
 *             FIRST(value)               of any event, as long as there is no value
 *             SCRAPED_IF(is, value)      when somebody asks for /metrics
 *             COUNTED                    code counts it; it is there from the first count on
 *             COUNTED_FROM_0             the same; it is there from the beginning
 *           A source may join several with ||. It sees e, and h (metrics.c: heard_t)
 *   help    a sentence */
#ifndef METRICS_METRIC_LIST_H
#define METRICS_METRIC_LIST_H

/* X(scope, run, labels): run is "run" where rows are of a run. A label of rows is their text, of two
 * labels the first is its first word. */
#define SCOPES(X)                                                                   \
    X(SELF, NULL, NULL, NULL)                                                       \
    X(BUILD, NULL, "version", NULL)                                                 \
    X(RUN, "run", NULL, NULL)                                                       \
    X(WORKERS, "run", "state", NULL) /* of the last status, as the next two */      \
    X(MEMBERS, "run", "kind", "state")                                              \
    X(PHASE, "run", "phase", NULL)                                                  \
    X(WORKER, "run", "worker", NULL)                                                \
    X(SHARD, "run", "shard", NULL)                                                  \
    X(RESTARTS, "run", "worker", NULL)                                              \
    X(REFUSALS, "run", "service", "reason") /* run "": a front's */                 \
    X(QUEUE, NULL, "state", NULL)           /* of the records, as the next three */ \
    X(LOST, "run", "reason", NULL)                                                  \
    X(REJECTED, "run", "reason", NULL)                                              \
    X(SAVED, "run", NULL, NULL)                                                     \
    X(SOURCE, "run", NULL, NULL) /* has no metrics: the sequence of a sender */

/* Upper bounds of a histogram's buckets, in seconds; one more is without bound. */
#define METRIC_BUCKETS 0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800

#define METRICS(X)                                                                                \
    X(RUNNING, "pcp_run_running", gauge, RUN, LIVE,                                               \
      FROM(STATUS, 1) || FROM(RUN_DONE, 0) || FROM(RUN_FAILED, 0) || FIRST(1),                    \
      "1 while the run is neither done nor failed.")                                              \
    X(SILENT, "pcp_shepherd_silent_seconds", gauge, RUN, LIVE,                                    \
      SCRAPED_IF(true, (double)(h->now_ms - h->row->heard_ms) / 1000),                            \
      "Time since the shepherd was last heard.")                                                  \
    X(LOSS, "pcp_loss", gauge, RUN, STORED, FROM(ROUND, e->round->loss),                          \
      "Mean training loss of the last finished round.")                                           \
    X(VALIDATION_LOSS, "pcp_validation_loss", gauge, RUN, STORED,                                 \
      FROM_IF(ROUND, e->round->has_val_loss, e->round->val_loss) ||                               \
          FROM_IF(RUN_DONE, e->run_done->has_val_loss, e->run_done->val_loss),                    \
      "Last validation loss.")                                                                    \
    X(ROUND, "pcp_round", gauge, RUN, LIVE,                                                       \
      FROM(ROUND, e->round->round) || FROM(STATUS, e->status->round), "Finished rounds.")         \
    X(ROUNDS, "pcp_rounds", gauge, RUN, LIVE,                                                     \
      FROM(ROUND, e->round->rounds) || FROM(STATUS, e->status->rounds),                           \
      "Rounds of the whole run.")                                                                 \
    X(TOKENS, "pcp_tokens_total", counter, RUN, STORED, FROM(ROUND, (double)e->round->tokens),    \
      "Tokens trained in finished rounds.")                                                       \
    X(TOKENS_PER_S, "pcp_tokens_per_second", gauge, RUN, STORED,                                  \
      FROM(ROUND, e->round->tokens_per_s), "Speed of the last finished round.")                   \
    X(ROUND_SECONDS, "pcp_round_seconds", gauge, RUN, STORED, FROM(ROUND, e->round->seconds),     \
      "Duration of the last finished round.")                                                     \
    X(ROUND_DURATION, "pcp_round_duration_seconds", histogram, RUN, LIVE,                         \
      FROM(ROUND, e->round->seconds), "Durations of finished rounds.")                            \
    X(ETA, "pcp_eta_seconds", gauge, RUN, LIVE, FROM(ROUND, e->round->eta_s),                     \
      "Time left at the speed so far.")                                                           \
    X(WORKERS, "pcp_workers", gauge, WORKERS, LIVE, FROM(STATUS, h->member->count),               \
      "Workers by state: preparing, idle, busy.")                                                 \
    X(MEMBERS, "pcp_members", gauge, MEMBERS, LIVE, FROM(STATUS, h->member->count),               \
      "Members other than workers, by kind and state.")                                           \
    X(PHASE, "pcp_phase", gauge, PHASE, LIVE, FROM(STATUS, 1),                                    \
      "1 for what the run does, or waits for: gather aggregators, compile plans, train leases, "  \
      "commit outer steps, ...")                                                                  \
    X(WORKER_LOSS, "pcp_worker_loss", gauge, WORKER, STORED, FROM(STEP, e->step->loss),           \
      "Training loss of the worker's last step.")                                                 \
    X(WORKER_TOKENS_PER_S, "pcp_worker_tokens_per_second", gauge, WORKER, STORED,                 \
      FROM(STEP, e->step->tokens_per_s), "Speed of the worker's last step.")                      \
    X(WORKER_STEP, "pcp_worker_step", gauge, WORKER, LIVE, FROM(STEP, (double)e->step->step),     \
      "Last step of the worker, counted over the run.")                                           \
    X(CAGE_REFUSALS, "pcp_cage_refusals_total", counter, WORKER, LIVE,                            \
      FROM(STEP, (double)e->step->cage_refusals),                                                 \
      "System calls of plans' code that the worker's cage refused.")                              \
    X(RECEIVED, "pcp_received_bytes_total", counter, SHARD, STORED,                               \
      FROM(COMMIT, (double)e->commit->bytes_in), "Bytes an aggregator received.")                 \
    X(SENT, "pcp_sent_bytes_total", counter, SHARD, STORED,                                       \
      FROM(COMMIT, (double)e->commit->bytes_out), "Bytes an aggregator sent.")                    \
    X(REFUSED, "pcp_refused_chunks_total", counter, SHARD, STORED,                                \
      FROM(COMMIT, (double)e->commit->refused),                                                   \
      "Chunks refused: old fence, wrong round, damaged.")                                         \
    X(COMMIT_SECONDS, "pcp_commit_seconds", gauge, SHARD, STORED,                                 \
      FROM(COMMIT, e->commit->seconds), "Duration of the shard's last outer step.")               \
    X(COMMIT_DURATION, "pcp_commit_duration_seconds", histogram, SHARD, LIVE,                     \
      FROM(COMMIT, e->commit->seconds), "Durations of the shard's outer steps.")                  \
    X(UNSIGNED, "pcp_refused_signatures_total", counter, RUN, LIVE,                               \
      FROM(STATUS, (double)e->status->refused),                                                   \
      "Plans and checkpoints refused: unsigned, changed, by a foreign or revoked key.")           \
    X(REFUSALS, "pcp_refusals_total", counter, REFUSALS, LIVE,                                    \
      FROM(REFUSALS, (double)h->refusal->count),                                                  \
      "What a shepherd, front or aggregator has refused, by reason (docs/security.md).")          \
    X(AUDITS, "pcp_audited_leases_total", counter, RUN, LIVE,                                     \
      FROM(STATUS, (double)e->status->audits),                                                    \
      "Leases that another worker trained again, to compare (audit).")                            \
    X(AUDITED_PARTS, "pcp_audited_parts_total", counter, RUN, LIVE,                               \
      FROM(STATUS, (double)e->status->audited_parts),                                             \
      "Parts of validations that another worker validated, too, to compare (audit).")             \
    X(AUDITS_SKIPPED, "pcp_audits_skipped_total", counter, RUN, LIVE,                             \
      FROM(STATUS, (double)e->status->audits_skipped),                                            \
      "Audits, of either, that were given up: no other worker answered, or a shard could not "    \
      "tell.")                                                                                    \
    X(QUARANTINED, "pcp_quarantined_workers", gauge, RUN, LIVE,                                   \
      FROM(STATUS, e->status->quarantined),                                                       \
      "Workers that get no work, for audits found that they lie (pcp worker trust).")             \
    X(RESTARTS, "pcp_worker_restarts_total", counter, RESTARTS, LIVE,                             \
      FROM(WORKER, e->worker->restarts), "Restarts of the worker's process by its supervisor.")   \
    X(QUEUED_RUNS, "pcp_queued_runs", gauge, QUEUE, LIVE, COUNTED,                                \
      "Runs that wait for a place (queued) or for their operator (paused). Of the records.")      \
    X(LOST_SECONDS, "pcp_lost_seconds_total", counter, LOST, LIVE, COUNTED,                       \
      "Time of committed rounds of a running run in which nothing was computed: transfer, wait "  \
      "(for the last lease), recover, other. Of the records.")                                    \
    X(REJECTIONS, "pcp_rejections_total", counter, REJECTED, LIVE, COUNTED,                       \
      "Updates of a running run that were not admitted, by reason. Of the records.")              \
    X(CHECKPOINT_TIME, "pcp_checkpoint_time_seconds", gauge, SAVED, LIVE, COUNTED,                \
      "When the newest checkpoint of a running run was recorded, since 1970; its age is time() "  \
      "minus this. Of the records.")                                                              \
    X(BUILD_INFO, "pcp_build_info", gauge, BUILD, LIVE, SCRAPED_IF(true, 1),                      \
      "1; its label tells the program's version.")                                                \
    X(RESIDENT, "process_resident_memory_bytes", gauge, SELF, LIVE,                               \
      SCRAPED_IF(true, process_resident_bytes()), "Memory that pcp-metrics has in use.")          \
    X(CPU, "process_cpu_seconds_total", counter, SELF, LIVE,                                      \
      SCRAPED_IF(true, process_cpu_seconds()), "Processor time that pcp-metrics has used.")       \
    X(OPEN_FILES, "process_open_fds", gauge, SELF, LIVE, SCRAPED_IF(true, process_open_files()),  \
      "Descriptors that pcp-metrics has open.")                                                   \
    X(STARTED, "process_start_time_seconds", gauge, SELF, LIVE,                                   \
      SCRAPED_IF(true, process_start_seconds()), "When pcp-metrics began, since 1970.")           \
    X(EVENTS, "pcp_telemetry_events_total", counter, SELF, LIVE, COUNTED_FROM_0, "Events heard.") \
    X(LOST, "pcp_telemetry_dropped_total", counter, SELF, LIVE, COUNTED_FROM_0,                   \
      "Events that were sent and did not arrive.")                                                \
    X(MALFORMED, "pcp_telemetry_malformed_total", counter, SELF, LIVE, COUNTED_FROM_0,            \
      "Messages that were no events.")                                                            \
    X(SERIES_REFUSED, "pcp_series_refused_total", counter, SELF, LIVE, COUNTED_FROM_0,            \
      "Values without a place: there are more than 16,384 series.")                               \
    X(STORE_UP, "pcp_store_up", gauge, SELF, LIVE, COUNTED,                                       \
      "1 when the store answered last time.")                                                     \
    X(STORE_QUEUE, "pcp_store_queue", gauge, SELF, LIVE,                                          \
      SCRAPED_IF(h->self->queue, (double)h->self->queue->n), "Records that wait for the store.")  \
    X(STORE_WRITTEN, "pcp_store_written_total", counter, SELF, LIVE, COUNTED,                     \
      "Records the store has taken: samples and events.")                                         \
    X(STORE_DROPPED, "pcp_store_dropped_total", counter, SELF, LIVE, COUNTED,                     \
      "Records dropped: the queue was full or the store refused them.")

#endif
