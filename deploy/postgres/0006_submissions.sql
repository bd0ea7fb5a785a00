-- The runs of a cluster as operators submitted them, and which front leads it (docs/operations.md). The
-- table `run` is written by the shepherd of a run from its first start on; this one by the front alone.

CREATE TABLE cluster (
    name text PRIMARY KEY CHECK (name = 'cluster'),  -- one row
    holder text NOT NULL,
    fence bigint NOT NULL CHECK (fence > 0),         -- grows with every acquisition
    expires_ms bigint NOT NULL,
    guarded_ms bigint NOT NULL                       -- the last write under this fence; its update is a lock
);

CREATE TABLE submission (
    id text PRIMARY KEY,                             -- of the run, and its directory
    number bigint NOT NULL UNIQUE CHECK (number > 0),-- order of submission, from 1
    key text NOT NULL UNIQUE,                        -- submitting twice under one key makes one run
    spec_hash text NOT NULL,                         -- of its files
    state text NOT NULL
        CHECK (state IN ('queued', 'running', 'paused', 'done', 'failed', 'cancelled')),
    reason text NOT NULL DEFAULT '',                 -- of the present state
    n_workers bigint NOT NULL CHECK (n_workers > 0), -- wanted
    n_shards bigint NOT NULL CHECK (n_shards > 0),   -- aggregators needed
    n_rounds bigint NOT NULL,
    created_ms bigint NOT NULL,
    started_ms bigint,                               -- first
    finished_ms bigint                               -- done, failed or cancelled
);

CREATE VIEW pcp_submissions AS
SELECT id AS run, number, key, state, reason, n_workers AS workers_wanted, n_shards AS shards,
       n_rounds AS rounds_planned, created_ms, started_ms, finished_ms
FROM submission;

GRANT SELECT ON pcp_submissions TO pcp_reader;                                              --postgres
