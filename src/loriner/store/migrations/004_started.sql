-- When trials and calls began, in seconds since 1970; NULL for those of an older store.

ALTER TABLE trials ADD COLUMN started REAL;
ALTER TABLE calls ADD COLUMN started REAL;

DROP VIEW trial_rows;

CREATE VIEW trial_rows AS
SELECT t.id, r.id AS run, h.id AS harness, k.id AS task, t.purpose, q.id AS question, t.sample, t.attempt,
       t.status, t.detail, t.score, t.seconds, t.cpu_s, t.started
FROM trials t JOIN runs r ON r.n = t.run JOIN harnesses h ON h.n = t.harness JOIN tasks k ON k.n = t.task
JOIN questions q ON q.n = t.question;
