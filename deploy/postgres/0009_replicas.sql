-- How many replicas a run has, where that is decided anew for each round ("replicas": "auto"): a row for the first
-- round and for each change, written before the round's leases. Rows outlive a step back to a checkpoint: the rounds
-- that are trained again have the replicas they had. All is added: older programs may go on.

CREATE TABLE replicas (
    run_id text NOT NULL REFERENCES run (id),
    round bigint NOT NULL CHECK (round >= 0),   -- from that one on
    n bigint NOT NULL CHECK (n > 0),
    reason text NOT NULL,
    leader_fence bigint NOT NULL,               -- of who decided
    decided_ms bigint NOT NULL,
    PRIMARY KEY (run_id, round)
);

CREATE VIEW pcp_replicas AS
SELECT run_id AS run, round, n AS replicas, reason, decided_ms
FROM replicas;

GRANT SELECT ON pcp_replicas TO pcp_reader;                                                 --postgres
