-- Steps back to a checkpoint: from which round to which, and why; and what the run's parameters began as,
-- so that a step back to its beginning is exact or refused; the states of runs that were paused. All is added: older programs may go on.

CREATE TABLE rewind (
    run_id text NOT NULL REFERENCES run (id),
    number bigint NOT NULL CHECK (number > 0),  -- of the run's, from 1
    from_round bigint NOT NULL,                 -- that was open
    to_round bigint NOT NULL,                   -- that opens next
    checkpoint text NOT NULL,                   -- directory; '': the beginning of the run
    reason text NOT NULL,
    leader_fence bigint NOT NULL,               -- of who began it, or began it again
    begun_ms bigint NOT NULL,
    done_ms bigint,                             -- NULL: not all shards have it yet; whoever leads repeats it
    PRIMARY KEY (run_id, number)
);

ALTER TABLE run ADD COLUMN init_hash text;      -- content hash of the file of initial values; NULL: not known yet

-- What the front says of a run is in the table `run` from now on: here for those of before.
INSERT INTO run_transition (before, after) VALUES ('pending', 'paused'), ('failed', 'cancelled');
UPDATE run SET state = (SELECT s.state FROM submission s WHERE s.id = run.id)
WHERE state = 'running' AND EXISTS
    (SELECT 1 FROM submission s WHERE s.id = run.id AND s.state IN ('paused', 'cancelled', 'failed'));

CREATE VIEW pcp_rewinds AS
SELECT run_id AS run, number, from_round, to_round, checkpoint, reason, begun_ms, done_ms
FROM rewind;

GRANT SELECT ON pcp_rewinds TO pcp_reader;                                                  --postgres
