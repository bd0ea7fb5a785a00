-- How long a lease's bytes took, each way, by the worker that trained it.

ALTER TABLE lease ADD COLUMN download_ms bigint; -- parameters, tokens and inner state; NULL: unknown
ALTER TABLE lease ADD COLUMN upload_ms bigint;   -- pseudo-gradient and inner state; NULL: unknown

DROP VIEW pcp_leases;
CREATE VIEW pcp_leases AS
SELECT run_id AS run, round + 1 AS round, replica, fence, state, worker_id AS worker, epoch, first_window,
       n_windows, done_windows, loss, n_steps, norm2,
       CAST(compute_seconds * 1000 AS bigint) AS compute_ms, download_ms, upload_ms, sent_bytes, received_bytes,
       late, lag,
       to_timestamp(issued_ms / 1000.0) AS issued_at,                                       --postgres
       to_timestamp(done_ms / 1000.0) AS done_at                                            --postgres
--sqlite        strftime('%Y-%m-%d %H:%M:%f', issued_ms / 1000.0, 'unixepoch') AS issued_at,
--sqlite        strftime('%Y-%m-%d %H:%M:%f', done_ms / 1000.0, 'unixepoch') AS done_at
FROM lease;

GRANT SELECT ON pcp_leases TO pcp_reader;                                                   --postgres
