-- What a leader needs to go on with another's run: the run's objects, decisions, inner states, and the
-- number of the last group of writes that is in. All columns are added: older programs may go on.

ALTER TABLE run ADD COLUMN module_hash text;            -- content hashes; NULL: not published yet
ALTER TABLE run ADD COLUMN train_hash text;
ALTER TABLE run ADD COLUMN validation_hash text;        -- '': the run does not validate
ALTER TABLE run ADD COLUMN train_tokens bigint;
ALTER TABLE run ADD COLUMN validation_tokens bigint;

ALTER TABLE leadership ADD COLUMN written bigint NOT NULL DEFAULT 0; -- groups written under this fence

ALTER TABLE round ADD COLUMN decided_ms bigint;         -- what its commit sums is settled; NULL: not yet
ALTER TABLE round ADD COLUMN decision_hash text;        -- of (replica, windows) of each entry

ALTER TABLE lease ADD COLUMN state_in text NOT NULL DEFAULT '';  -- content hash of the inner state
ALTER TABLE lease ADD COLUMN state_out text NOT NULL DEFAULT ''; -- and of the one it ended with
ALTER TABLE lease ADD COLUMN decided_windows bigint;    -- NULL: not part of the decision

INSERT INTO run_transition (before, after) VALUES ('failed', 'running'); -- started again by hand
