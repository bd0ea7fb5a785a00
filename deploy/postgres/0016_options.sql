-- pcp_runs: the options of a run that its result depends on, as JSON. A column is added, older programs may go on.

DROP VIEW pcp_runs;
CREATE VIEW pcp_runs AS
SELECT r.id AS run, r.state, r.reason, r.n_rounds AS rounds_planned,
       (SELECT coalesce(max(o.round) + 1, 0) FROM round o
        WHERE o.run_id = r.id AND o.state = 'committed') AS rounds,
       (SELECT CAST(coalesce(sum(o.n_tokens), 0) AS bigint) FROM round o
        WHERE o.run_id = r.id AND o.state = 'committed') AS tokens,
       (SELECT o.loss FROM round o WHERE o.run_id = r.id AND o.state = 'committed'
        ORDER BY o.round DESC LIMIT 1) AS loss,
       (SELECT o.validation_loss FROM round o WHERE o.run_id = r.id AND o.validation_loss IS NOT NULL
        ORDER BY o.round DESC LIMIT 1) AS validation_loss,
       (SELECT c.path FROM checkpoint c WHERE c.run_id = r.id AND c.state = 'good'
        ORDER BY c.round DESC, c.created_ms DESC LIMIT 1) AS checkpoint,
       l.holder AS leader, l.fence AS leader_fence,
       to_timestamp(r.created_ms / 1000.0) AS created_at,                                   --postgres
       to_timestamp(r.started_ms / 1000.0) AS started_at,                                   --postgres
       to_timestamp(r.finished_ms / 1000.0) AS finished_at,                                 --postgres
--sqlite        strftime('%Y-%m-%d %H:%M:%f', r.created_ms / 1000.0, 'unixepoch') AS created_at,
--sqlite        strftime('%Y-%m-%d %H:%M:%f', r.started_ms / 1000.0, 'unixepoch') AS started_at,
--sqlite        strftime('%Y-%m-%d %H:%M:%f', r.finished_ms / 1000.0, 'unixepoch') AS finished_at,
       r.config AS options
FROM run r LEFT JOIN leadership l ON l.run_id = r.id;

GRANT SELECT ON pcp_runs TO pcp_reader;                                                     --postgres
