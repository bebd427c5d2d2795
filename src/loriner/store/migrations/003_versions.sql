-- A version is a row: seeds, accepted candidates, and what led and was not accepted. The git repository beside
-- the store shows these rows. Versions of an older home stand in its repository alone, and are read from there
-- when the registry is opened.

CREATE TABLE versions (
    id          INTEGER PRIMARY KEY,    -- in the order in which they were recorded
    sha         TEXT NOT NULL UNIQUE,   -- the commit that shows it
    parents     TEXT NOT NULL,          -- JSON: commits; first what it was made from, last the task's previous
    harness     INTEGER NOT NULL REFERENCES harnesses (n),
    subject     TEXT NOT NULL,          -- what changed, in a line
    at          TEXT NOT NULL,          -- UTC, ISO 8601, in whole seconds
    run         TEXT NOT NULL,          -- empty for a commit by hand
    round       INTEGER NOT NULL,
    parent      TEXT,                   -- the harness it was made from; NULL for a seed
    reverts_to  TEXT,                   -- the commit whose program it brings back
    score       REAL,
    evidence    TEXT NOT NULL,          -- JSON: how it fared when it was accepted
    commit_text BLOB                    -- a commit that was not written from its row, as git has it
);

-- Git's references: branches `refs/heads/tasks/TASK`, `refs/heads/runs/RUN`, and tags.
CREATE TABLE version_names (
    name    TEXT PRIMARY KEY,
    version INTEGER NOT NULL REFERENCES versions (id)
) WITHOUT ROWID;

-- How the repository stood when it showed every row, so that what another git wrote is noticed. Empty while rows
-- are there that it may not show.
CREATE TABLE projection (
    state TEXT NOT NULL
);
INSERT INTO projection VALUES ('');
