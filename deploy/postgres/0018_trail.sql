-- What operators have done, row behind row: each row's hash covers the one before, so that a row that was changed, taken
-- out or put in between shows (pcp audit --verify). Rows are never changed: the triggers refuse it, and who drops the
-- triggers breaks the chain. All is added: older programs may go on, and leave nothing here.

CREATE TABLE trail (
    seq        bigint NOT NULL PRIMARY KEY CHECK (seq > 0), -- without gaps
    time_ms    bigint NOT NULL,
    who        text   NOT NULL,  -- the id that the operator's command had
    key_name   text   NOT NULL,  -- of the operator's key; '': none was needed
    public_key text   NOT NULL,  -- as hex
    action     text   NOT NULL,  -- submit, pause, cancel, scale, trust, revoke, ...
    object     text   NOT NULL,  -- the run, worker or key it was done to
    detail     text   NOT NULL,  -- JSON
    before     text   NOT NULL,  -- hash of the row before; '' in the first
    hash       text   NOT NULL   -- libshared/store/trail.c says of what
);

-- The last row's number and hash: whoever adds one locks it, and what was cut off at the end shows.
CREATE TABLE trail_end (
    number bigint NOT NULL PRIMARY KEY CHECK (number = 1), -- one row, once there is a first in the trail
    seq    bigint NOT NULL,
    hash   text   NOT NULL
);

CREATE FUNCTION trail_stays() RETURNS trigger LANGUAGE plpgsql AS                           --postgres
    'BEGIN RAISE EXCEPTION ''the trail is only added to''; END';                            --postgres
CREATE TRIGGER trail_stays BEFORE UPDATE OR DELETE ON trail                                 --postgres
    FOR EACH ROW EXECUTE FUNCTION trail_stays();                                            --postgres
CREATE TRIGGER trail_not_emptied BEFORE TRUNCATE ON trail                                   --postgres
    FOR EACH STATEMENT EXECUTE FUNCTION trail_stays();                                      --postgres
--sqlite CREATE TRIGGER trail_not_changed BEFORE UPDATE ON trail BEGIN SELECT RAISE(ABORT, 'the trail is only added to'); END;
--sqlite CREATE TRIGGER trail_not_deleted BEFORE DELETE ON trail BEGIN SELECT RAISE(ABORT, 'the trail is only added to'); END;

CREATE VIEW pcp_trail AS
SELECT seq, who, key_name, public_key, action, object, detail,
       to_timestamp(time_ms / 1000.0) AS done_at                                            --postgres
--sqlite        strftime('%Y-%m-%d %H:%M:%f', time_ms / 1000.0, 'unixepoch') AS done_at
FROM trail;

GRANT SELECT ON pcp_trail TO pcp_reader;                                                    --postgres
