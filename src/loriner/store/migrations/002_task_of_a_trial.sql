-- A trial knows its task. Runs over several tasks had it behind the purpose ("grade rg:gcd"); of the others it
-- stands in what the run noted of itself.

CREATE TABLE tasks (
    n  INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE             -- Task.name; empty where an old run did not tell it
);

CREATE TEMP TABLE task_of_run AS
SELECT r.n AS run, coalesce(
    (SELECT json_extract(e.data, '$.task') FROM events e WHERE e.run = r.n AND e.kind IN ('task', 'start')
     ORDER BY e.kind DESC, e.id LIMIT 1),
    json_extract(r.summary, '$.task'), '') AS task
FROM runs r;

CREATE TEMP TABLE task_of_trial AS
SELECT t.id AS trial,
       CASE instr(t.purpose, ' ') WHEN 0 THEN t.purpose
       ELSE substr(t.purpose, 1, instr(t.purpose, ' ') - 1) END AS purpose,
       CASE instr(t.purpose, ' ') WHEN 0 THEN r.task
       ELSE substr(t.purpose, instr(t.purpose, ' ') + 1) END AS task
FROM trials t JOIN task_of_run r ON r.run = t.run;

INSERT INTO tasks (id) SELECT DISTINCT task FROM task_of_trial ORDER BY task;

DROP VIEW trial_rows;

CREATE TABLE trials_2 (
    id       INTEGER PRIMARY KEY,
    run      INTEGER NOT NULL REFERENCES runs (n),
    harness  INTEGER NOT NULL REFERENCES harnesses (n),
    task     INTEGER NOT NULL REFERENCES tasks (n),
    purpose  TEXT NOT NULL,
    question INTEGER NOT NULL REFERENCES questions (n),
    sample   INTEGER NOT NULL,
    attempt  INTEGER NOT NULL,
    status   TEXT NOT NULL,
    detail   TEXT NOT NULL,
    score    REAL,
    seconds  REAL NOT NULL,
    cpu_s    REAL NOT NULL,
    UNIQUE (run, harness, task, purpose, question, sample, attempt)
);

INSERT INTO trials_2
SELECT t.id, t.run, t.harness, k.n, o.purpose, t.question, t.sample, t.attempt, t.status, t.detail, t.score,
       t.seconds, t.cpu_s
FROM trials t JOIN task_of_trial o ON o.trial = t.id JOIN tasks k ON k.id = o.task ORDER BY t.id;

CREATE TABLE payloads_2 (
    trial INTEGER PRIMARY KEY REFERENCES trials_2 (id),
    body  BLOB,                         -- packed [answer, stdout, error]
    calls BLOB                          -- packed [[request, reply, error], …], in the order of `calls`
);

INSERT INTO payloads_2 SELECT trial, body, calls FROM payloads;
DROP TABLE payloads;
DROP TABLE trials;
ALTER TABLE trials_2 RENAME TO trials;
ALTER TABLE payloads_2 RENAME TO payloads;
DROP TABLE task_of_trial;
DROP TABLE task_of_run;

CREATE VIEW trial_rows AS
SELECT t.id, r.id AS run, h.id AS harness, k.id AS task, t.purpose, q.id AS question, t.sample, t.attempt,
       t.status, t.detail, t.score, t.seconds, t.cpu_s
FROM trials t JOIN runs r ON r.n = t.run JOIN harnesses h ON h.n = t.harness JOIN tasks k ON k.n = t.task
JOIN questions q ON q.n = t.question;
