-- What pcp_ledger says of an epoch is kept as the ledger grows: the view read all rows of a run before, which takes seconds where
-- there are a million. Triggers keep it, so that older programs may go on.

CREATE TABLE ledger_epoch (
    run_id    text   NOT NULL REFERENCES run (id) ON DELETE CASCADE,
    epoch     bigint NOT NULL,
    n_windows bigint NOT NULL,           -- of its rows together
    n_doubled bigint NOT NULL DEFAULT 0, -- of these, what rows before have; 0, or all rows were looked at
    n_missing bigint NOT NULL DEFAULT 0, -- holes before its last row; known where n_doubled is not 0
    PRIMARY KEY (run_id, epoch)
);

-- Rows overlap only if two do that are next to each other. Programs add none that does; where one does, all of the epoch is
-- looked at each time that something changes.
CREATE FUNCTION ledger_count(text, bigint) RETURNS void LANGUAGE sql AS $$                  --postgres
    UPDATE ledger_epoch SET (n_doubled, n_missing) = (                                      --postgres
        SELECT coalesce(sum(CASE WHEN before <= first_window THEN 0                         --postgres
                                 WHEN before >= first_window + n_windows THEN n_windows     --postgres
                                 ELSE before - first_window END), 0),                       --postgres
               coalesce(sum(CASE WHEN first_window > before THEN first_window - before ELSE 0 END), 0) --postgres
        FROM (SELECT g.first_window, g.n_windows, coalesce(max(g.first_window + g.n_windows) OVER ( --postgres
                  ORDER BY g.first_window ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS before --postgres
              FROM ledger g WHERE g.run_id = $1 AND g.epoch = $2) AS ranges)                --postgres
    WHERE run_id = $1 AND epoch = $2;                                                       --postgres
$$;                                                                                         --postgres
CREATE FUNCTION ledger_grows() RETURNS trigger LANGUAGE plpgsql AS $$                       --postgres
BEGIN                                                                                       --postgres
    INSERT INTO ledger_epoch AS kept (run_id, epoch, n_windows)                             --postgres
    SELECT run_id, epoch, sum(n_windows) FROM added GROUP BY run_id, epoch                  --postgres
    ON CONFLICT (run_id, epoch) DO UPDATE SET n_windows = kept.n_windows + excluded.n_windows; --postgres
    PERFORM ledger_count(found.run_id, found.epoch) FROM (                                  --postgres
        SELECT k.run_id, k.epoch FROM added a                                               --postgres
        JOIN ledger_epoch k ON k.run_id = a.run_id AND k.epoch = a.epoch                    --postgres
        WHERE k.n_doubled > 0                                                               --postgres
            OR a.first_window < (SELECT g.first_window + g.n_windows FROM ledger g          --postgres
                WHERE g.run_id = a.run_id AND g.epoch = a.epoch AND g.first_window < a.first_window --postgres
                ORDER BY g.first_window DESC LIMIT 1)                                       --postgres
            OR a.first_window + a.n_windows > (SELECT g.first_window FROM ledger g          --postgres
                WHERE g.run_id = a.run_id AND g.epoch = a.epoch AND g.first_window > a.first_window --postgres
                ORDER BY g.first_window LIMIT 1)                                            --postgres
        GROUP BY k.run_id, k.epoch) found;                                                  --postgres
    RETURN NULL;                                                                            --postgres
END $$;                                                                                     --postgres
CREATE FUNCTION ledger_shrinks() RETURNS trigger LANGUAGE plpgsql AS $$                     --postgres
BEGIN                                                                                       --postgres
    UPDATE ledger_epoch kept SET n_windows = kept.n_windows - less.n_windows                --postgres
    FROM (SELECT run_id, epoch, sum(n_windows) AS n_windows FROM gone GROUP BY run_id, epoch) less --postgres
    WHERE kept.run_id = less.run_id AND kept.epoch = less.epoch;                            --postgres
    DELETE FROM ledger_epoch kept USING gone                                                --postgres
    WHERE kept.run_id = gone.run_id AND kept.epoch = gone.epoch AND kept.n_windows = 0;     --postgres
    PERFORM ledger_count(k.run_id, k.epoch) FROM ledger_epoch k WHERE k.n_doubled > 0       --postgres
        AND EXISTS (SELECT 1 FROM gone WHERE gone.run_id = k.run_id AND gone.epoch = k.epoch); --postgres
    RETURN NULL;                                                                            --postgres
END $$;                                                                                     --postgres
CREATE FUNCTION ledger_stays() RETURNS trigger LANGUAGE plpgsql AS                          --postgres
    'BEGIN RAISE EXCEPTION ''rows of the ledger are never changed''; END';                  --postgres
CREATE TRIGGER ledger_grows AFTER INSERT ON ledger REFERENCING NEW TABLE AS added           --postgres
    FOR EACH STATEMENT EXECUTE FUNCTION ledger_grows();                                     --postgres
CREATE TRIGGER ledger_shrinks AFTER DELETE ON ledger REFERENCING OLD TABLE AS gone          --postgres
    FOR EACH STATEMENT EXECUTE FUNCTION ledger_shrinks();                                   --postgres
CREATE TRIGGER ledger_stays BEFORE UPDATE OR TRUNCATE ON ledger                             --postgres
    FOR EACH STATEMENT EXECUTE FUNCTION ledger_stays();                                     --postgres
--sqlite CREATE TRIGGER ledger_grows AFTER INSERT ON ledger BEGIN
--sqlite     INSERT INTO ledger_epoch (run_id, epoch, n_windows) VALUES (NEW.run_id, NEW.epoch, NEW.n_windows)
--sqlite     ON CONFLICT (run_id, epoch) DO UPDATE SET n_windows = n_windows + excluded.n_windows;
--sqlite     UPDATE ledger_epoch SET (n_doubled, n_missing) = (
--sqlite         SELECT coalesce(sum(CASE WHEN before <= first_window THEN 0
--sqlite                                  WHEN before >= first_window + n_windows THEN n_windows
--sqlite                                  ELSE before - first_window END), 0),
--sqlite                coalesce(sum(CASE WHEN first_window > before THEN first_window - before ELSE 0 END), 0)
--sqlite         FROM (SELECT g.first_window, g.n_windows, coalesce(max(g.first_window + g.n_windows) OVER (
--sqlite                   ORDER BY g.first_window ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS before
--sqlite               FROM ledger g WHERE g.run_id = NEW.run_id AND g.epoch = NEW.epoch) AS ranges)
--sqlite     WHERE run_id = NEW.run_id AND epoch = NEW.epoch AND (n_doubled > 0
--sqlite         OR NEW.first_window < (SELECT g.first_window + g.n_windows FROM ledger g
--sqlite             WHERE g.run_id = NEW.run_id AND g.epoch = NEW.epoch AND g.first_window < NEW.first_window
--sqlite             ORDER BY g.first_window DESC LIMIT 1)
--sqlite         OR NEW.first_window + NEW.n_windows > (SELECT g.first_window FROM ledger g
--sqlite             WHERE g.run_id = NEW.run_id AND g.epoch = NEW.epoch AND g.first_window > NEW.first_window
--sqlite             ORDER BY g.first_window LIMIT 1));
--sqlite END;
--sqlite CREATE TRIGGER ledger_shrinks AFTER DELETE ON ledger BEGIN
--sqlite     UPDATE ledger_epoch SET n_windows = n_windows - OLD.n_windows WHERE run_id = OLD.run_id AND epoch = OLD.epoch;
--sqlite     DELETE FROM ledger_epoch WHERE run_id = OLD.run_id AND epoch = OLD.epoch AND n_windows = 0;
--sqlite     UPDATE ledger_epoch SET (n_doubled, n_missing) = (
--sqlite         SELECT coalesce(sum(CASE WHEN before <= first_window THEN 0
--sqlite                                  WHEN before >= first_window + n_windows THEN n_windows
--sqlite                                  ELSE before - first_window END), 0),
--sqlite                coalesce(sum(CASE WHEN first_window > before THEN first_window - before ELSE 0 END), 0)
--sqlite         FROM (SELECT g.first_window, g.n_windows, coalesce(max(g.first_window + g.n_windows) OVER (
--sqlite                   ORDER BY g.first_window ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS before
--sqlite               FROM ledger g WHERE g.run_id = OLD.run_id AND g.epoch = OLD.epoch) AS ranges)
--sqlite     WHERE run_id = OLD.run_id AND epoch = OLD.epoch AND n_doubled > 0;
--sqlite END;
--sqlite CREATE TRIGGER ledger_stays BEFORE UPDATE ON ledger BEGIN SELECT RAISE(ABORT, 'rows of the ledger are never changed'); END;

INSERT INTO ledger_epoch (run_id, epoch, n_windows, n_doubled, n_missing)
SELECT run_id, epoch, sum(n_windows),
       sum(CASE WHEN before <= first_window THEN 0
                WHEN before >= first_window + n_windows THEN n_windows
                ELSE before - first_window END),
       sum(CASE WHEN first_window > before THEN first_window - before ELSE 0 END)
FROM (SELECT run_id, epoch, first_window, n_windows,
             coalesce(max(first_window + n_windows) OVER (PARTITION BY run_id, epoch ORDER BY first_window
                      ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS before
      FROM ledger) AS ranges
GROUP BY run_id, epoch;

DROP VIEW pcp_ledger;
CREATE VIEW pcp_ledger AS
SELECT run, epoch, epoch_windows, committed_windows, doubled_windows, missing_windows,
       CASE WHEN doubled_windows = 0 AND skipped_windows = 0 THEN 1 ELSE 0 END AS exactly_once,
       skipped_windows,
       CASE WHEN committed_windows - doubled_windows = epoch_windows THEN 1 ELSE 0 END AS complete
FROM (SELECT run, epoch, epoch_windows, committed_windows, doubled_windows, missing_windows,
             CAST((SELECT CASE WHEN o.cursor_epoch > epoch THEN epoch_windows
                               WHEN o.cursor_epoch = epoch THEN o.cursor_window ELSE 0 END
                   FROM round o WHERE o.run_id = run ORDER BY o.round DESC LIMIT 1)
                 - (committed_windows - doubled_windows)
                 - coalesce((SELECT sum(t.n_windows) FROM returned t
                             WHERE t.run_id = run AND t.epoch = epochs.epoch), 0)
                 - coalesce((SELECT sum(
                       CASE WHEN l.epoch = epochs.epoch
                            THEN CASE WHEN l.first_window + l.n_windows > epoch_windows
                                      THEN epoch_windows - l.first_window ELSE l.n_windows END
                            WHEN l.first_window + l.n_windows >= (epochs.epoch + 1 - l.epoch) * epoch_windows
                            THEN epoch_windows
                            WHEN l.first_window + l.n_windows > (epochs.epoch - l.epoch) * epoch_windows
                            THEN l.first_window + l.n_windows - (epochs.epoch - l.epoch) * epoch_windows
                            ELSE 0 END)
                     FROM lease l JOIN round o ON o.run_id = l.run_id AND o.round = l.round
                     WHERE l.run_id = run AND o.state = 'open' AND l.epoch <= epochs.epoch), 0)
                 AS bigint) AS skipped_windows
      FROM (SELECT k.run_id AS run, k.epoch, r.n_windows AS epoch_windows, k.n_windows AS committed_windows,
                   k.n_doubled AS doubled_windows,
                   CASE WHEN k.n_doubled > 0 THEN k.n_missing
                        ELSE (SELECT g.first_window + g.n_windows FROM ledger g WHERE g.run_id = k.run_id
                              AND g.epoch = k.epoch ORDER BY g.first_window DESC LIMIT 1) - k.n_windows
                        END AS missing_windows
            FROM ledger_epoch k JOIN run r ON r.id = k.run_id) AS epochs) AS proof;

GRANT SELECT ON pcp_ledger TO pcp_reader;                                                    --postgres
