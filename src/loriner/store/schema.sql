-- Version 1 of the store. Later versions are the numbered files in migrations/, applied in order on top of it.
-- Trials are narrow and hold integers, so that a run is counted without reading a single text; what the
-- program and the model said lies in payloads. Rows refer to runs, harnesses and questions by number `n`.

CREATE TABLE schema_version (
    version INTEGER PRIMARY KEY,
    applied TEXT NOT NULL
);

CREATE TABLE runs (
    n        INTEGER PRIMARY KEY,
    id       TEXT NOT NULL UNIQUE,
    command  TEXT NOT NULL,
    status   TEXT NOT NULL,             -- running, done, failed, interrupted, budget
    config   TEXT NOT NULL,             -- JSON
    seed     INTEGER NOT NULL,
    parent   TEXT,                      -- the id of the run that this one continues or replays
    started  TEXT NOT NULL,             -- UTC, ISO 8601
    finished TEXT,
    summary  TEXT NOT NULL DEFAULT '{}' -- JSON
);

-- One process working on a run; a resumed run has several. `seen` moves with each commit, so that the time of
-- a killed session is known up to its last acknowledged row.
CREATE TABLE sessions (
    run      INTEGER NOT NULL REFERENCES runs (n),
    started  REAL NOT NULL,             -- seconds since 1970
    seen     REAL NOT NULL,
    finished REAL,
    PRIMARY KEY (run, started)
) WITHOUT ROWID;

CREATE TABLE harnesses (
    n      INTEGER PRIMARY KEY,
    id     TEXT NOT NULL UNIQUE,        -- SHA-256 of the source, in hex
    source BLOB                         -- packed text; NULL while only its trials are known
);

CREATE TABLE questions (
    n  INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE
);

-- `attempt` is 0 for the one trial that counts, else the nanosecond at which an infra_error was recorded.
CREATE TABLE trials (
    id       INTEGER PRIMARY KEY,
    run      INTEGER NOT NULL REFERENCES runs (n),
    harness  INTEGER NOT NULL REFERENCES harnesses (n),
    purpose  TEXT NOT NULL,
    question INTEGER NOT NULL REFERENCES questions (n),
    sample   INTEGER NOT NULL,
    attempt  INTEGER NOT NULL,
    status   TEXT NOT NULL,
    detail   TEXT NOT NULL,
    score    REAL,
    seconds  REAL NOT NULL,
    cpu_s    REAL NOT NULL,
    UNIQUE (run, harness, purpose, question, sample, attempt)
);

CREATE TABLE payloads (
    trial INTEGER PRIMARY KEY REFERENCES trials (id),
    body  BLOB,                         -- packed [answer, stdout, error]
    calls BLOB                          -- packed [[request, reply, error], …], in the order of `calls`
);

CREATE TABLE contexts (
    id   INTEGER PRIMARY KEY,
    run  INTEGER NOT NULL REFERENCES runs (n),
    name TEXT NOT NULL,                 -- Context.id
    harness INTEGER NOT NULL REFERENCES harnesses (n),
    body BLOB NOT NULL,                 -- packed Context, its harness by id
    UNIQUE (run, name)
);

-- A candidate, or why there is none.
CREATE TABLE rollouts (
    id        INTEGER PRIMARY KEY,
    run       INTEGER NOT NULL REFERENCES runs (n),
    context   TEXT NOT NULL,
    place     INTEGER NOT NULL,         -- Rollout.index
    candidate INTEGER REFERENCES harnesses (n),
    code      TEXT,                     -- the edit error; NULL exactly when there is a candidate
    body      BLOB NOT NULL,            -- packed [completion, note, [[old, new], …] or null, message]
    calls     BLOB,
    UNIQUE (run, context, place)
);

-- The figures of each call; its texts lie with its owner, a trial (part 0) or a rollout (part 1).
CREATE TABLE calls (
    run               INTEGER NOT NULL REFERENCES runs (n),
    part              INTEGER NOT NULL,
    owner             INTEGER NOT NULL,
    position          INTEGER NOT NULL,
    kind              TEXT NOT NULL,
    finish_reason     TEXT NOT NULL,
    prompt_tokens     INTEGER NOT NULL,
    completion_tokens INTEGER NOT NULL,
    usd               REAL,
    seconds           REAL NOT NULL,
    cached            INTEGER NOT NULL,
    PRIMARY KEY (run, part, owner, position)
) WITHOUT ROWID;

CREATE TABLE events (
    id   INTEGER PRIMARY KEY,           -- the nanosecond at which it was recorded, or the next free one
    run  INTEGER NOT NULL REFERENCES runs (n),
    kind TEXT NOT NULL,
    data TEXT NOT NULL                  -- JSON
);
CREATE INDEX events_of_run ON events (run, kind);

CREATE TABLE cache (
    key  TEXT PRIMARY KEY,
    body BLOB NOT NULL                  -- packed ModelReply
) WITHOUT ROWID;

-- For people with a sqlite3 prompt, and for exports.
CREATE VIEW trial_rows AS
SELECT t.id, r.id AS run, h.id AS harness, t.purpose, q.id AS question, t.sample, t.attempt, t.status, t.detail,
       t.score, t.seconds, t.cpu_s
FROM trials t JOIN runs r ON r.n = t.run JOIN harnesses h ON h.n = t.harness JOIN questions q ON q.n = t.question;
