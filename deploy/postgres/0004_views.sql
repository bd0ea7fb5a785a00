-- What dashboards read: these views are stable, the tables are not. Their columns are only ever added
-- to. `time` is a timestamp; rounds count from 0.

CREATE VIEW pcp_runs AS
SELECT r.id AS run, r.state, r.reason, r.n_rounds AS rounds_planned,
       (SELECT count(*) FROM round o WHERE o.run_id = r.id AND o.state = 'committed') AS rounds,
       (SELECT CAST(coalesce(sum(o.n_tokens), 0) AS bigint) FROM round o WHERE o.run_id = r.id) AS tokens,
       l.holder AS leader, l.fence AS leader_fence,
       r.created_ms, r.started_ms, r.finished_ms
FROM run r LEFT JOIN leadership l ON l.run_id = r.id;

CREATE VIEW pcp_loss AS
SELECT run_id AS run, round, loss, n_tokens AS tokens,
       to_timestamp(committed_ms / 1000.0) AS time                                          --postgres
--sqlite        datetime(committed_ms / 1000.0, 'unixepoch') AS time
FROM round WHERE state = 'committed';

CREATE VIEW pcp_validation AS
SELECT run_id AS run, round, validation_loss,
       to_timestamp(committed_ms / 1000.0) AS time                                          --postgres
--sqlite        datetime(committed_ms / 1000.0, 'unixepoch') AS time
FROM round WHERE validation_loss IS NOT NULL;

-- A round's time runs from its opening to its commit; other_ms is what nobody accounted for.
CREATE VIEW pcp_round_time AS
SELECT run_id AS run, round, committed_ms - opened_ms AS total_ms,
       compute_ms, transfer_ms, wait_ms, recover_ms,
       committed_ms - opened_ms - coalesce(compute_ms, 0) - coalesce(transfer_ms, 0)
           - coalesce(wait_ms, 0) - coalesce(recover_ms, 0) AS other_ms,
       state, waits_for
FROM round;

CREATE VIEW pcp_speed AS
SELECT run_id AS run, round, n_tokens AS tokens,
       n_tokens * 1000.0 / nullif(committed_ms - opened_ms, 0) AS tokens_per_second,
       to_timestamp(committed_ms / 1000.0) AS time                                          --postgres
--sqlite        datetime(committed_ms / 1000.0, 'unixepoch') AS time
FROM round WHERE state = 'committed';

CREATE VIEW pcp_wire AS
SELECT run_id AS run, round, received_bytes, sent_bytes
FROM round WHERE state = 'committed';

CREATE VIEW pcp_workers AS
SELECT id AS worker, kind, state, reason, run_id AS run, supervisor, host, device, target, n_starts,
       first_ms, seen_ms
FROM worker;

CREATE VIEW pcp_leases AS
SELECT run_id AS run, round, replica, fence, state, worker_id AS worker, epoch, first_window,
       n_windows, done_windows, loss, issued_ms, done_ms
FROM lease;

-- The proof that each window of an epoch was committed exactly once. With the ranges of an epoch in
-- order, `before` is the highest end among the earlier ones: a range that begins below it is committed
-- twice (doubled_windows), one that begins above it leaves a hole (missing_windows). exactly_once: the
-- ranges cover [0, n_windows), no hole, no overlap. In an unfinished epoch whose committed ranges are
-- in order, missing_windows are those below its highest committed end that are leased or returned.
CREATE VIEW pcp_ledger AS
SELECT run, epoch, epoch_windows, committed_windows, doubled_windows, missing_windows,
       CASE WHEN doubled_windows = 0 AND missing_windows = 0 AND last_window = epoch_windows
            THEN 1 ELSE 0 END AS exactly_once
FROM (SELECT run_id AS run, epoch, epoch_windows, CAST(sum(n_windows) AS bigint) AS committed_windows,
             max(first_window + n_windows) AS last_window,
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
      GROUP BY run_id, epoch, epoch_windows) AS epochs;

CREATE VIEW pcp_checkpoints AS
SELECT run_id AS run, round, hash, path, n_bytes, state, reason,
       to_timestamp(created_ms / 1000.0) AS time                                            --postgres
--sqlite        datetime(created_ms / 1000.0, 'unixepoch') AS time
FROM checkpoint;

CREATE VIEW pcp_rejections AS
SELECT run_id AS run, round, replica, fence, worker_id AS worker, reason, detail,
       to_timestamp(created_ms / 1000.0) AS time                                            --postgres
--sqlite        datetime(created_ms / 1000.0, 'unixepoch') AS time
FROM rejection;

CREATE VIEW pcp_events AS
SELECT id, level, service, member, name, run_id AS run, round, detail,
       to_timestamp(time_ms / 1000.0) AS time                                               --postgres
--sqlite        datetime(time_ms / 1000.0, 'unixepoch') AS time
FROM event;

CREATE VIEW pcp_samples AS
SELECT name, member, run_id AS run, round, value,
       to_timestamp(time_ms / 1000.0) AS time                                               --postgres
--sqlite        datetime(time_ms / 1000.0, 'unixepoch') AS time
FROM sample;

-- Who may only look. Grant it to a login: GRANT pcp_reader TO grafana. Roles belong to the whole server,
-- so it may exist already, and another migration may be making it at this moment; where the migrating
-- user may not make it, an administrator makes it first.
DO $$                                                                                       --postgres
BEGIN                                                                                       --postgres
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'pcp_reader') THEN                  --postgres
        BEGIN                                                                               --postgres
            CREATE ROLE pcp_reader NOLOGIN;                                                 --postgres
        EXCEPTION                                                                           --postgres
            WHEN duplicate_object OR unique_violation THEN NULL;                            --postgres
        END;                                                                                --postgres
    END IF;                                                                                 --postgres
    EXECUTE format('GRANT USAGE ON SCHEMA %I TO pcp_reader', current_schema());             --postgres
END $$;                                                                                     --postgres
GRANT SELECT ON pcp_runs, pcp_loss, pcp_validation, pcp_round_time, pcp_speed, pcp_wire,    --postgres
    pcp_workers, pcp_leases, pcp_ledger, pcp_checkpoints, pcp_rejections, pcp_events,       --postgres
    pcp_samples TO pcp_reader;                                                              --postgres
