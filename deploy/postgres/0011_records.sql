-- What dashboards read, once more, with one way to count and one way to tell times:
--   rounds count from 1 in every view, as in `pcp train`, `pcp run` and logs; 0 is before the first round
--   columns _at are points in time (timestamp with time zone; SQLite: text, UTC), columns _ms durations
-- The tables keep what they had: rounds from 0, _ms since 1970. Also: the process that a worker is, so that a
-- connection made anew is no other start; and a key of events, so that who tells one twice adds one row.

ALTER TABLE worker ADD COLUMN incarnation text NOT NULL DEFAULT ''; -- of its process; '': unknown
ALTER TABLE event ADD COLUMN key text;                              -- NULL: it is told once only
CREATE UNIQUE INDEX event_by_key ON event (key);

DROP VIEW pcp_runs;
CREATE VIEW pcp_runs AS
SELECT r.id AS run, r.state, r.reason, r.n_rounds AS rounds_planned,
       (SELECT coalesce(max(o.round) + 1, 0) FROM round o
        WHERE o.run_id = r.id AND o.state = 'committed') AS rounds,
       (SELECT CAST(coalesce(sum(o.n_tokens), 0) AS bigint) FROM round o
        WHERE o.run_id = r.id AND o.state = 'committed') AS tokens,
       (SELECT o.loss FROM round o WHERE o.run_id = r.id AND o.state = 'committed'
        ORDER BY o.round DESC LIMIT 1) AS loss,
       (SELECT o.validation_loss FROM round o WHERE o.run_id = r.id AND o.validation_loss IS NOT NULL
        ORDER BY o.round DESC LIMIT 1) AS validation_loss,
       (SELECT c.path FROM checkpoint c WHERE c.run_id = r.id AND c.state = 'good'
        ORDER BY c.round DESC, c.created_ms DESC LIMIT 1) AS checkpoint,
       l.holder AS leader, l.fence AS leader_fence,
       to_timestamp(r.created_ms / 1000.0) AS created_at,                                   --postgres
       to_timestamp(r.started_ms / 1000.0) AS started_at,                                   --postgres
       to_timestamp(r.finished_ms / 1000.0) AS finished_at                                  --postgres
--sqlite        strftime('%Y-%m-%d %H:%M:%f', r.created_ms / 1000.0, 'unixepoch') AS created_at,
--sqlite        strftime('%Y-%m-%d %H:%M:%f', r.started_ms / 1000.0, 'unixepoch') AS started_at,
--sqlite        strftime('%Y-%m-%d %H:%M:%f', r.finished_ms / 1000.0, 'unixepoch') AS finished_at
FROM run r LEFT JOIN leadership l ON l.run_id = r.id;

DROP VIEW pcp_loss;
CREATE VIEW pcp_loss AS
SELECT run_id AS run, round + 1 AS round, loss, n_tokens AS tokens,
       to_timestamp(committed_ms / 1000.0) AS committed_at                                  --postgres
--sqlite        strftime('%Y-%m-%d %H:%M:%f', committed_ms / 1000.0, 'unixepoch') AS committed_at
FROM round WHERE state = 'committed';

DROP VIEW pcp_validation;
CREATE VIEW pcp_validation AS
SELECT run_id AS run, round + 1 AS round, validation_loss,
       to_timestamp(committed_ms / 1000.0) AS committed_at                                  --postgres
--sqlite        strftime('%Y-%m-%d %H:%M:%f', committed_ms / 1000.0, 'unixepoch') AS committed_at
FROM round WHERE validation_loss IS NOT NULL;

-- A round's time runs from its opening to its commit, by the database's clock. compute, transfer (parameters down,
-- updates up) and wait (for the last lease) are means over its leases; recover_ms is what its losses cost: from a
-- lease's first to its last giving (a mean, too), take-overs by another leader, waiting for a lost aggregator. These
-- can overlap with work that goes on meanwhile; other_ms is what nobody accounted for.
DROP VIEW pcp_round_time;
CREATE VIEW pcp_round_time AS
SELECT run, round, total_ms, compute_ms, transfer_ms, wait_ms, recover_ms,
       CASE WHEN rest_ms < 0 THEN 0 ELSE rest_ms END AS other_ms, state, waits_for,
       to_timestamp(opened_ms / 1000.0) AS opened_at,                                       --postgres
       to_timestamp(committed_ms / 1000.0) AS committed_at                                  --postgres
--sqlite        strftime('%Y-%m-%d %H:%M:%f', opened_ms / 1000.0, 'unixepoch') AS opened_at,
--sqlite        strftime('%Y-%m-%d %H:%M:%f', committed_ms / 1000.0, 'unixepoch') AS committed_at
FROM (SELECT run_id AS run, round + 1 AS round, committed_ms - opened_ms AS total_ms,
             compute_ms, transfer_ms, wait_ms, recover_ms,
             committed_ms - opened_ms - coalesce(compute_ms, 0) - coalesce(transfer_ms, 0)
                 - coalesce(wait_ms, 0) - coalesce(recover_ms, 0) AS rest_ms,
             state, waits_for, opened_ms, committed_ms
      FROM round) AS times;

DROP VIEW pcp_speed;
CREATE VIEW pcp_speed AS
SELECT run_id AS run, round + 1 AS round, n_tokens AS tokens,
       n_tokens * 1000.0 / nullif(committed_ms - opened_ms, 0) AS tokens_per_second,
       to_timestamp(committed_ms / 1000.0) AS committed_at                                  --postgres
--sqlite        strftime('%Y-%m-%d %H:%M:%f', committed_ms / 1000.0, 'unixepoch') AS committed_at
FROM round WHERE state = 'committed';

DROP VIEW pcp_wire;
CREATE VIEW pcp_wire AS
SELECT run_id AS run, round + 1 AS round, received_bytes, sent_bytes
FROM round WHERE state = 'committed';

-- A worker that holds a lease of an open round is busy.
DROP VIEW pcp_workers;
CREATE VIEW pcp_workers AS
SELECT w.id AS worker, w.kind,
       CASE WHEN w.state = 'idle' AND EXISTS
           (SELECT 1 FROM lease l JOIN round o ON o.run_id = l.run_id AND o.round = l.round
            WHERE l.run_id = w.run_id AND l.worker_id = w.id AND l.state = 'issued' AND o.state = 'open')
            THEN 'busy' ELSE w.state END AS state,
       w.reason, w.run_id AS run, w.supervisor, w.host, w.device, w.target, w.n_starts,
       to_timestamp(w.first_ms / 1000.0) AS first_at,                                       --postgres
       to_timestamp(w.seen_ms / 1000.0) AS changed_at                                       --postgres
--sqlite        strftime('%Y-%m-%d %H:%M:%f', w.first_ms / 1000.0, 'unixepoch') AS first_at,
--sqlite        strftime('%Y-%m-%d %H:%M:%f', w.seen_ms / 1000.0, 'unixepoch') AS changed_at
FROM worker w;

DROP VIEW pcp_leases;
CREATE VIEW pcp_leases AS
SELECT run_id AS run, round + 1 AS round, replica, fence, state, worker_id AS worker, epoch, first_window,
       n_windows, done_windows, loss, n_steps, norm2,
       CAST(compute_seconds * 1000 AS bigint) AS compute_ms, sent_bytes, received_bytes, late, lag,
       to_timestamp(issued_ms / 1000.0) AS issued_at,                                       --postgres
       to_timestamp(done_ms / 1000.0) AS done_at                                            --postgres
--sqlite        strftime('%Y-%m-%d %H:%M:%f', issued_ms / 1000.0, 'unixepoch') AS issued_at,
--sqlite        strftime('%Y-%m-%d %H:%M:%f', done_ms / 1000.0, 'unixepoch') AS done_at
FROM lease;

-- The proof that each window of an epoch is trained exactly once. With the committed ranges of an epoch in
-- order, `before` is the highest end among the earlier ones: a range that begins below it is committed
-- twice (doubled_windows), one that begins above it leaves a hole (missing_windows), which is good as long as
-- the hole is in hand: leased in the open round, or returned and waiting to be leased again. skipped_windows: up to
-- the cursor, behind which nothing was leased yet, neither committed nor in hand; negative: in hand, but committed
-- already. exactly_once: no window twice and none skipped up to the cursor; complete: that of the whole epoch.
DROP VIEW pcp_ledger;
CREATE VIEW pcp_ledger AS
SELECT run, epoch, epoch_windows, committed_windows, doubled_windows, missing_windows,
       CASE WHEN doubled_windows = 0 AND skipped_windows = 0 THEN 1 ELSE 0 END AS exactly_once,
       skipped_windows,
       CASE WHEN committed_windows - doubled_windows = epoch_windows THEN 1 ELSE 0 END AS complete
FROM (SELECT run, epoch, epoch_windows, committed_windows, doubled_windows, missing_windows,
             CAST((SELECT CASE WHEN o.cursor_epoch > epoch THEN epoch_windows
                               WHEN o.cursor_epoch = epoch THEN o.cursor_window ELSE 0 END
                   FROM round o WHERE o.run_id = run ORDER BY o.round DESC LIMIT 1)
                 - (committed_windows - doubled_windows)
                 - coalesce((SELECT sum(t.n_windows) FROM returned t
                             WHERE t.run_id = run AND t.epoch = epochs.epoch), 0)
                 - coalesce((SELECT sum(
                       CASE WHEN l.epoch = epochs.epoch
                            THEN CASE WHEN l.first_window + l.n_windows > epoch_windows
                                      THEN epoch_windows - l.first_window ELSE l.n_windows END
                            WHEN l.first_window + l.n_windows >= (epochs.epoch + 1 - l.epoch) * epoch_windows
                            THEN epoch_windows
                            WHEN l.first_window + l.n_windows > (epochs.epoch - l.epoch) * epoch_windows
                            THEN l.first_window + l.n_windows - (epochs.epoch - l.epoch) * epoch_windows
                            ELSE 0 END)
                     FROM lease l JOIN round o ON o.run_id = l.run_id AND o.round = l.round
                     WHERE l.run_id = run AND o.state = 'open' AND l.epoch <= epochs.epoch), 0)
                 AS bigint) AS skipped_windows
      FROM (SELECT run_id AS run, epoch, epoch_windows,
                   CAST(sum(n_windows) AS bigint) AS committed_windows,
                   CAST(sum(CASE WHEN before <= first_window THEN 0
                                 WHEN before >= first_window + n_windows THEN n_windows
                                 ELSE before - first_window END) AS bigint) AS doubled_windows,
                   CAST(sum(CASE WHEN first_window > before THEN first_window - before
                                 ELSE 0 END) AS bigint) AS missing_windows
            FROM (SELECT g.run_id, g.epoch, g.first_window, g.n_windows, r.n_windows AS epoch_windows,
                         coalesce(max(g.first_window + g.n_windows) OVER (
                             PARTITION BY g.run_id, g.epoch ORDER BY g.first_window
                             ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS before
                  FROM ledger g JOIN run r ON r.id = g.run_id) AS ranges
            GROUP BY run_id, epoch, epoch_windows) AS epochs) AS proof;

DROP VIEW pcp_checkpoints;
CREATE VIEW pcp_checkpoints AS
SELECT run_id AS run, round + 1 AS round, hash, path, n_bytes, state, reason,
       to_timestamp(created_ms / 1000.0) AS created_at                                      --postgres
--sqlite        strftime('%Y-%m-%d %H:%M:%f', created_ms / 1000.0, 'unixepoch') AS created_at
FROM checkpoint;

DROP VIEW pcp_rejections;
CREATE VIEW pcp_rejections AS
SELECT run_id AS run, round + 1 AS round, replica, fence, worker_id AS worker, reason, detail,
       to_timestamp(created_ms / 1000.0) AS created_at                                      --postgres
--sqlite        strftime('%Y-%m-%d %H:%M:%f', created_ms / 1000.0, 'unixepoch') AS created_at
FROM rejection;

-- Written by the run's leader, and by pcp-metrics where that has a database of its own. In the table events and
-- samples have the round as those who tell them count, from 1.
DROP VIEW pcp_events;
CREATE VIEW pcp_events AS
SELECT id, level, service, member, name, run_id AS run, round, detail,
       to_timestamp(time_ms / 1000.0) AS told_at                                            --postgres
--sqlite        strftime('%Y-%m-%d %H:%M:%f', time_ms / 1000.0, 'unixepoch') AS told_at
FROM event;

DROP VIEW pcp_samples;
CREATE VIEW pcp_samples AS
SELECT name, member, run_id AS run, round, value,
       to_timestamp(time_ms / 1000.0) AS told_at                                            --postgres
--sqlite        strftime('%Y-%m-%d %H:%M:%f', time_ms / 1000.0, 'unixepoch') AS told_at
FROM sample;

DROP VIEW pcp_submissions;
CREATE VIEW pcp_submissions AS
SELECT id AS run, number, key, state, reason, n_workers AS workers_wanted, n_shards AS shards,
       n_rounds AS rounds_planned,
       to_timestamp(created_ms / 1000.0) AS created_at,                                     --postgres
       to_timestamp(started_ms / 1000.0) AS started_at,                                     --postgres
       to_timestamp(finished_ms / 1000.0) AS finished_at                                    --postgres
--sqlite        strftime('%Y-%m-%d %H:%M:%f', created_ms / 1000.0, 'unixepoch') AS created_at,
--sqlite        strftime('%Y-%m-%d %H:%M:%f', started_ms / 1000.0, 'unixepoch') AS started_at,
--sqlite        strftime('%Y-%m-%d %H:%M:%f', finished_ms / 1000.0, 'unixepoch') AS finished_at
FROM submission;

-- from_round was open, to_round opens next.
DROP VIEW pcp_rewinds;
CREATE VIEW pcp_rewinds AS
SELECT run_id AS run, number, from_round + 1 AS from_round, to_round + 1 AS to_round, checkpoint, reason,
       to_timestamp(begun_ms / 1000.0) AS begun_at,                                         --postgres
       to_timestamp(done_ms / 1000.0) AS done_at                                            --postgres
--sqlite        strftime('%Y-%m-%d %H:%M:%f', begun_ms / 1000.0, 'unixepoch') AS begun_at,
--sqlite        strftime('%Y-%m-%d %H:%M:%f', done_ms / 1000.0, 'unixepoch') AS done_at
FROM rewind;

DROP VIEW pcp_replicas;
CREATE VIEW pcp_replicas AS
SELECT run_id AS run, round + 1 AS round, n AS replicas, reason,
       to_timestamp(decided_ms / 1000.0) AS decided_at                                      --postgres
--sqlite        strftime('%Y-%m-%d %H:%M:%f', decided_ms / 1000.0, 'unixepoch') AS decided_at
FROM replicas;

GRANT SELECT ON pcp_runs, pcp_loss, pcp_validation, pcp_round_time, pcp_speed, pcp_wire,    --postgres
    pcp_workers, pcp_leases, pcp_ledger, pcp_checkpoints, pcp_rejections, pcp_events,       --postgres
    pcp_samples, pcp_submissions, pcp_rewinds, pcp_replicas TO pcp_reader;                  --postgres
