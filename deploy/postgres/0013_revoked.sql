-- Whose keys are let in no more: the list that pcp keys revoke signs, as it stands in its file.

CREATE TABLE revoked (
    number     bigint PRIMARY KEY CHECK (number = 1), -- one row
    list       text   NOT NULL,
    written_ms bigint NOT NULL
);
