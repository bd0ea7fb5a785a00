-- What trained each lease: a repeat of a lease by the same target gives the same bits, one by another target does not.
-- All columns are added: older programs may go on; what they write has no target.

ALTER TABLE worker ADD COLUMN memory_bytes bigint;                      -- of its device; NULL: unknown
ALTER TABLE lease ADD COLUMN target text NOT NULL DEFAULT '';           -- of the worker that has it, or had it last; '': unknown
ALTER TABLE lease ADD COLUMN first_target text NOT NULL DEFAULT '';     -- of the worker that it was given to first
ALTER TABLE ledger ADD COLUMN target text NOT NULL DEFAULT '';          -- that made the contribution which counts

-- steps_per_second: of the worker's last lease within the run's last eight rounds, computing alone.
DROP VIEW pcp_workers;
CREATE VIEW pcp_workers AS
SELECT w.id AS worker, w.kind,
       CASE WHEN w.state = 'idle' AND EXISTS
           (SELECT 1 FROM lease l JOIN round o ON o.run_id = l.run_id AND o.round = l.round
            WHERE l.run_id = w.run_id AND l.worker_id = w.id AND l.state = 'issued' AND o.state = 'open')
            THEN 'busy' ELSE w.state END AS state,
       w.reason, w.run_id AS run, w.supervisor, w.host, w.device, w.target, w.n_starts,
       to_timestamp(w.first_ms / 1000.0) AS first_at,                                       --postgres
       to_timestamp(w.seen_ms / 1000.0) AS changed_at,                                      --postgres
--sqlite        strftime('%Y-%m-%d %H:%M:%f', w.first_ms / 1000.0, 'unixepoch') AS first_at,
--sqlite        strftime('%Y-%m-%d %H:%M:%f', w.seen_ms / 1000.0, 'unixepoch') AS changed_at,
       w.memory_bytes,
       (SELECT l.n_steps / l.compute_seconds FROM lease l
        WHERE l.run_id = w.run_id AND l.worker_id = w.id AND l.n_steps > 0 AND l.compute_seconds > 0
          AND l.round > (SELECT max(o.round) FROM round o WHERE o.run_id = w.run_id) - 8
        ORDER BY l.round DESC, l.replica DESC LIMIT 1) AS steps_per_second
FROM worker w;

DROP VIEW pcp_leases;
CREATE VIEW pcp_leases AS
SELECT run_id AS run, round + 1 AS round, replica, fence, state, worker_id AS worker, epoch, first_window,
       n_windows, done_windows, loss, n_steps, norm2,
       CAST(compute_seconds * 1000 AS bigint) AS compute_ms, download_ms, upload_ms, sent_bytes, received_bytes,
       late, lag,
       to_timestamp(issued_ms / 1000.0) AS issued_at,                                       --postgres
       to_timestamp(done_ms / 1000.0) AS done_at,                                           --postgres
--sqlite        strftime('%Y-%m-%d %H:%M:%f', issued_ms / 1000.0, 'unixepoch') AS issued_at,
--sqlite        strftime('%Y-%m-%d %H:%M:%f', done_ms / 1000.0, 'unixepoch') AS done_at,
       target, first_target
FROM lease;

-- Which target made each contribution that counts. given_to: the target that had the lease first; before: the
-- target that made the replica's contribution to the round before ('': there is none, or nobody knows).
-- other_target 1: the lease was given again and trained by another target than the first, so that a repeat of
-- the run by its first targets would end with other bits. moved 1: the replica came to another target.
CREATE VIEW pcp_targets AS
SELECT run, round, replica, worker, target, given_to, before,
       CASE WHEN target <> '' AND given_to <> '' AND target <> given_to THEN 1 ELSE 0 END AS other_target,
       CASE WHEN target <> '' AND before <> '' AND target <> before THEN 1 ELSE 0 END AS moved
FROM (SELECT g.run_id AS run, g.round + 1 AS round, g.replica, max(g.worker_id) AS worker,
             max(g.target) AS target,
             coalesce((SELECT l.first_target FROM lease l WHERE l.run_id = g.run_id AND l.round = g.round
                       AND l.replica = g.replica), '') AS given_to,
             coalesce((SELECT b.target FROM lease b WHERE b.run_id = g.run_id AND b.round = g.round - 1
                       AND b.replica = g.replica AND b.state = 'committed'), '') AS before
      FROM ledger g GROUP BY g.run_id, g.round, g.replica) AS contributions;

GRANT SELECT ON pcp_workers, pcp_leases, pcp_targets TO pcp_reader;                         --postgres
