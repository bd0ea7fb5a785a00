-- Workers whose updates were not what the same training gives others (audit): the evidence, and who gets no more work.
-- Rows outlive their runs: a liar in one run is none to trust in the next. All is added: older programs may go on.

CREATE TABLE quarantine (
    name       text   NOT NULL,                       -- of the worker's key; without keys its id
    since_ms   bigint NOT NULL,
    member     text   NOT NULL,                       -- its id then
    run_id     text   NOT NULL,
    round      bigint NOT NULL CHECK (round >= 0),
    replica    bigint NOT NULL CHECK (replica >= 0),
    fence      bigint NOT NULL,
    digest     text   NOT NULL,                       -- of what it said
    agreed     text   NOT NULL,                       -- of what the others did
    witnesses  text   NOT NULL,                       -- their ids, by commas
    trusted_ms bigint,                                -- NULL: it gets no work
    trusted_by text   NOT NULL DEFAULT '',
    PRIMARY KEY (name, since_ms)
);

-- What draws the leases that are audited. Workers do not see it, so that none knows when it is looked at.
CREATE TABLE audit_seed (
    run_id text NOT NULL PRIMARY KEY REFERENCES run (id) ON DELETE CASCADE,
    seed   text NOT NULL
);

CREATE VIEW pcp_quarantine AS
SELECT name, member, run_id AS run, round + 1 AS round, replica, digest, agreed, witnesses, trusted_by,
       to_timestamp(since_ms / 1000.0) AS since,                                            --postgres
       to_timestamp(trusted_ms / 1000.0) AS trusted_at                                      --postgres
--sqlite        strftime('%Y-%m-%d %H:%M:%f', since_ms / 1000.0, 'unixepoch') AS since,
--sqlite        strftime('%Y-%m-%d %H:%M:%f', trusted_ms / 1000.0, 'unixepoch') AS trusted_at
FROM quarantine;

GRANT SELECT ON pcp_quarantine TO pcp_reader;                                               --postgres
