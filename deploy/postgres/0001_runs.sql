-- Runs, who leads them, who works, and what they are made of.
--
-- Every file here is written for PostgreSQL and runs on SQLite too: there, lines that end in
-- "--postgres" are left out and lines that begin with "--sqlite " lose that beginning.
-- Columns named _ms are milliseconds since 1970 by the database's own clock unless said otherwise.

CREATE FUNCTION now_ms() RETURNS bigint LANGUAGE sql VOLATILE AS                            --postgres
    'SELECT CAST(floor(extract(epoch FROM clock_timestamp()) * 1000) AS bigint)';           --postgres

CREATE TABLE run_transition (
    before text NOT NULL,
    after text NOT NULL,
    PRIMARY KEY (before, after)
);
INSERT INTO run_transition (before, after) VALUES
    ('pending', 'running'), ('pending', 'failed'), ('pending', 'cancelled'),
    ('running', 'paused'), ('running', 'done'), ('running', 'failed'), ('running', 'cancelled'),
    ('paused', 'running'), ('paused', 'failed'), ('paused', 'cancelled');

CREATE TABLE run (
    id text PRIMARY KEY,
    key text NOT NULL UNIQUE,               -- submitting twice under one key makes one run
    config text NOT NULL,                   -- JSON, as submitted
    config_hash text NOT NULL,
    state text NOT NULL DEFAULT 'pending'
        CHECK (state IN ('pending', 'running', 'paused', 'done', 'failed', 'cancelled')),
    reason text NOT NULL DEFAULT '',        -- of the present state
    n_windows bigint CHECK (n_windows > 0), -- of one epoch; NULL until the data is known
    n_rounds bigint NOT NULL DEFAULT 0,     -- planned; 0: no end
    created_ms bigint NOT NULL,
    started_ms bigint,
    finished_ms bigint
);

CREATE TABLE leadership (
    run_id text PRIMARY KEY REFERENCES run (id),
    holder text NOT NULL,
    fence bigint NOT NULL CHECK (fence > 0), -- grows with every acquisition
    expires_ms bigint NOT NULL,
    guarded_ms bigint NOT NULL               -- the last write under this fence; its update is a lock
);

CREATE TABLE worker (
    id text PRIMARY KEY,
    kind text NOT NULL,
    supervisor text NOT NULL DEFAULT '',
    host text NOT NULL DEFAULT '',
    device text NOT NULL DEFAULT '',
    target text NOT NULL DEFAULT '',
    capabilities text NOT NULL DEFAULT '{}', -- JSON
    state text NOT NULL CHECK (state IN ('joining', 'idle', 'busy', 'draining', 'lost', 'gone')),
    reason text NOT NULL DEFAULT '',
    run_id text,                             -- what it works on; NULL: nothing
    n_starts bigint NOT NULL DEFAULT 1,      -- how often it came (anew)
    first_ms bigint NOT NULL,
    seen_ms bigint NOT NULL
);

CREATE TABLE artifact (
    hash text PRIMARY KEY,                   -- of the content; names the file in the object directory
    kind text NOT NULL CHECK (kind IN ('module', 'plan', 'tokens', 'init', 'checkpoint', 'state')),
    key text,                                -- what it was made from; NULL: nothing looks for it so
    n_bytes bigint NOT NULL CHECK (n_bytes >= 0),
    detail text NOT NULL DEFAULT '{}',       -- JSON
    created_ms bigint NOT NULL,
    UNIQUE (kind, key)
);
