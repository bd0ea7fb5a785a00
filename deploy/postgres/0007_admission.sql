-- What each lease's update was and what it cost, so that whoever leads next judges updates and deals out
-- steps as the leader before did, and operators see bytes by lease. All columns are added: older
-- programs may go on.

ALTER TABLE lease ADD COLUMN n_steps bigint;                    -- optimizer steps trained; NULL: unknown
ALTER TABLE lease ADD COLUMN norm2 double precision;            -- squared L2 norm of the pseudo-gradient, as the shards received it
ALTER TABLE lease ADD COLUMN compute_seconds double precision;  -- of the worker, for those steps
ALTER TABLE lease ADD COLUMN sent_bytes bigint;                 -- by the worker: payload of the data conversation
ALTER TABLE lease ADD COLUMN received_bytes bigint;             -- and received for this lease

--sqlite DROP VIEW pcp_leases;
--sqlite CREATE VIEW pcp_leases AS
CREATE OR REPLACE VIEW pcp_leases AS                                                        --postgres
SELECT run_id AS run, round, replica, fence, state, worker_id AS worker, epoch, first_window,
       n_windows, done_windows, loss, issued_ms, done_ms,
       n_steps, norm2, compute_seconds, sent_bytes, received_bytes
FROM lease;
