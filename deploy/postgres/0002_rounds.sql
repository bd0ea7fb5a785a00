-- Rounds, their leases, and the ledger of what was trained.
-- A range is n_windows positions from first_window of an epoch's order. A lease may run over the end
-- of an epoch; ledger and returned ranges are cut there.

CREATE TABLE round (
    run_id text NOT NULL REFERENCES run (id),
    round bigint NOT NULL CHECK (round >= 0),
    state text NOT NULL CHECK (state IN ('open', 'committed')),
    leader_fence bigint NOT NULL,           -- of who opened it, then of who committed it
    cursor_epoch bigint NOT NULL,           -- the first position that no round so far has leased
    cursor_window bigint NOT NULL,
    waits_for text NOT NULL DEFAULT '',     -- what the round is waiting for, in words
    opened_ms bigint NOT NULL,
    committed_ms bigint,
    commit_hash text,                       -- of what was committed, so that a repeat is recognised
    parameters_hash text,                   -- of the parameters the round ended with
    loss double precision,                  -- mean over the round
    validation_loss double precision,
    n_tokens bigint,
    compute_ms bigint,                      -- where the time went
    transfer_ms bigint,
    wait_ms bigint,
    recover_ms bigint,
    received_bytes bigint,                  -- by the cluster's services from workers, and back
    sent_bytes bigint,
    PRIMARY KEY (run_id, round)
);

CREATE TABLE lease (
    run_id text NOT NULL,
    round bigint NOT NULL,
    replica bigint NOT NULL CHECK (replica >= 0),
    fence bigint NOT NULL,                  -- raised each time the lease is given
    epoch bigint NOT NULL,
    first_window bigint NOT NULL CHECK (first_window >= 0),
    n_windows bigint NOT NULL CHECK (n_windows > 0),
    state text NOT NULL CHECK (state IN ('open', 'issued', 'done', 'committed', 'dropped')),
    worker_id text NOT NULL DEFAULT '',
    done_windows bigint NOT NULL DEFAULT 0 CHECK (done_windows BETWEEN 0 AND n_windows),
    loss double precision,
    n_tokens bigint,
    issued_ms bigint,
    done_ms bigint,
    PRIMARY KEY (run_id, round, replica),
    FOREIGN KEY (run_id, round) REFERENCES round (run_id, round)
);

CREATE TABLE ledger (
    run_id text NOT NULL,
    epoch bigint NOT NULL,
    first_window bigint NOT NULL CHECK (first_window >= 0),
    n_windows bigint NOT NULL CHECK (n_windows > 0),
    round bigint NOT NULL,
    replica bigint NOT NULL,
    fence bigint NOT NULL,
    worker_id text NOT NULL,
    PRIMARY KEY (run_id, epoch, first_window),
    FOREIGN KEY (run_id, round) REFERENCES round (run_id, round)
);

CREATE TABLE returned (                     -- leased, not trained, waiting for a later round
    run_id text NOT NULL,
    epoch bigint NOT NULL,
    first_window bigint NOT NULL CHECK (first_window >= 0),
    n_windows bigint NOT NULL CHECK (n_windows > 0),
    round bigint NOT NULL,                  -- that gave it back
    PRIMARY KEY (run_id, epoch, first_window)
);

CREATE TABLE rejection (
    run_id text NOT NULL REFERENCES run (id),
    round bigint NOT NULL,
    replica bigint NOT NULL,
    fence bigint NOT NULL,
    worker_id text NOT NULL,
    reason text NOT NULL,                   -- a word: shape, hash, fence, finite, outlier, late ...
    detail text NOT NULL DEFAULT '',
    created_ms bigint NOT NULL,
    PRIMARY KEY (run_id, round, replica, fence, worker_id, reason)
);

CREATE TABLE checkpoint (
    run_id text NOT NULL,
    round bigint NOT NULL,                  -- whose commit made these parameters
    hash text NOT NULL,                     -- of the manifest
    path text NOT NULL,
    n_bytes bigint NOT NULL CHECK (n_bytes >= 0),
    state text NOT NULL CHECK (state IN ('good', 'bad', 'pruned')),
    reason text NOT NULL DEFAULT '',
    created_ms bigint NOT NULL,
    PRIMARY KEY (run_id, round, hash),
    FOREIGN KEY (run_id, round) REFERENCES round (run_id, round)
);
