-- Events and metric samples. Their time_ms is the sender's clock.

CREATE TABLE telemetry_source (             -- who writes, and the last batch of it that is in
    source text PRIMARY KEY,
    batch bigint NOT NULL,
    written_ms bigint NOT NULL
);

CREATE TABLE event (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,                                     --postgres
--sqlite     id integer PRIMARY KEY,
    time_ms bigint NOT NULL,
    level text NOT NULL CHECK (level IN ('debug', 'info', 'warn', 'error')),
    service text NOT NULL,
    member text NOT NULL,
    name text NOT NULL,
    run_id text,
    round bigint,
    detail text NOT NULL DEFAULT '{}'       -- JSON
);
CREATE INDEX event_by_run ON event (run_id, time_ms);
CREATE INDEX event_by_time ON event (time_ms);

CREATE TABLE sample (
    time_ms bigint NOT NULL,
    name text NOT NULL,
    member text NOT NULL,
    run_id text,
    round bigint,
    value double precision                  -- NULL: not a number
);
CREATE INDEX sample_by_name ON sample (name, run_id, time_ms);
CREATE INDEX sample_by_time ON sample (time_ms);
