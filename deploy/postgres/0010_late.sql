-- Leases that a round closed without and the next one counts ("late": "next"). All columns are added: older
-- programs may go on.

ALTER TABLE lease ADD COLUMN late bigint NOT NULL DEFAULT 0;    -- 1: decided: it goes on, as the replica's lease of the next round
ALTER TABLE lease ADD COLUMN lag bigint NOT NULL DEFAULT 0;     -- rounds between the parameters it begins with and the round that counts it

--sqlite DROP VIEW pcp_leases;
--sqlite CREATE VIEW pcp_leases AS
CREATE OR REPLACE VIEW pcp_leases AS                                                        --postgres
SELECT run_id AS run, round, replica, fence, state, worker_id AS worker, epoch, first_window,
       n_windows, done_windows, loss, issued_ms, done_ms,
       n_steps, norm2, compute_seconds, sent_bytes, received_bytes, late, lag
FROM lease;
