-- Texts that models write while they train (sample_every): one a round at most, by the parameters after that round;
-- and where the run's tokenizer lies, which who writes them needs. All is added: older programs may go on.

CREATE TABLE text_sample (
    run_id     text   NOT NULL REFERENCES run (id) ON DELETE CASCADE,
    round      bigint NOT NULL CHECK (round >= 0),
    prompt     text   NOT NULL,
    text       text   NOT NULL, -- behind the prompt
    written_ms bigint NOT NULL,
    PRIMARY KEY (run_id, round)
);

ALTER TABLE run ADD COLUMN tokenizer_hash text; -- NULL: begun by a program of before; '': there is none

CREATE VIEW pcp_texts AS
SELECT run_id AS run, round + 1 AS round, prompt, text,
       to_timestamp(written_ms / 1000.0) AS written_at                                      --postgres
--sqlite        strftime('%Y-%m-%d %H:%M:%f', written_ms / 1000.0, 'unixepoch') AS written_at
FROM text_sample;

GRANT SELECT ON pcp_texts TO pcp_reader;                                                    --postgres
