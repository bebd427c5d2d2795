"""One store taken into another: the shards of a cluster run, one a node, become one.

Trials are known by (run, harness, task, purpose, question, sample), so taking a store in twice changes
nothing. Two different runs that happen to have one id stay two: the one that comes in gets a longer id, the
same one each time. The registry is not touched: it is an ordinary git repository, and `git fetch` does that.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from loriner.errors import ConfigError
from loriner.store.connection import FILE_NAME, connect, in_words
from loriner.store.database import Store


@dataclass(frozen=True, slots=True)
class Merged:
    """What a merge did."""

    n_rows: int
    """Rows that the store gained."""
    renamed: Mapping[str, str]
    """The new id of each run whose own id belongs to a different run here."""


def merge(into: Path, from_: Path) -> Merged:
    """What the store of `into` gained from that of `from_`, which stays as it is.

    Raises:
        ConfigError: `from_` holds no store, or both are the same.
        StoreError: either is damaged, or the disk is full: then nothing was taken.
    """
    source, target = from_ / FILE_NAME, into / FILE_NAME
    if not source.exists():
        raise ConfigError(f"{from_} holds no store ({FILE_NAME}) to merge from")
    if target.exists() and target.samefile(source):
        raise ConfigError(f"{from_} is the store to merge into")
    for home in (from_, into):
        Store.open(home).close()  # upgraded, so that their columns agree
    connection = connect(target)
    try:
        connection.execute("ATTACH ? AS other", (str(source),))
        connection.execute("BEGIN IMMEDIATE")
        renamed = _name_runs(connection)
        before = connection.total_changes
        for sql in _steps(connection):
            connection.execute(sql)
        connection.execute("COMMIT")
        return Merged(connection.total_changes - before, renamed)
    except sqlite3.Error as error:
        raise in_words(error, target, f"merging {source} into the store") from error
    finally:
        connection.close()


_RUN = "JOIN temp.taken r ON r.n = o.run JOIN main.runs m ON m.id = r.id"


def _name_runs(connection: sqlite3.Connection) -> dict[str, str]:
    """The runs that get another id, by the old one; `taken` then says what each run is called here.

    One id is one run where its command, seed and start (in milliseconds) agree: none of them changes later.
    """
    clash = """SELECT o.id, o.command, o.seed, o.started FROM other.runs o JOIN main.runs m ON m.id = o.id
    WHERE (o.command, o.seed, o.started) IS NOT (m.command, m.seed, m.started)"""
    renamed = {run_id: _longer(run_id, *facts) for run_id, *facts in connection.execute(clash)}
    connection.execute("CREATE TEMP TABLE taken (n INTEGER PRIMARY KEY, own TEXT UNIQUE, id TEXT)")
    connection.execute("INSERT INTO taken SELECT n, id, id FROM other.runs")
    connection.executemany(
        "UPDATE taken SET id = ? WHERE own = ?", [(new, own) for own, new in renamed.items()]
    )
    return renamed


def _longer(run_id: str, *facts: object) -> str:
    """The id with eight more digits, which follow from what the run is."""
    return run_id + hashlib.sha256(repr(facts).encode()).hexdigest()[:8]


def _harness(column: str, alias: str, join: str = "JOIN") -> str:
    return (
        f"{join} other.harnesses o{alias} ON o{alias}.n = o.{column} "
        f"{join} main.harnesses {alias} ON {alias}.id = o{alias}.id"
    )


def _steps(connection: sqlite3.Connection) -> list[str]:
    """What to run, in order. Rows with a plain id move up by the highest id that the target has."""
    trials, rollouts = (
        connection.execute(f"SELECT coalesce(max(id), 0) FROM main.{table}").fetchone()[0]
        for table in ("trials", "rollouts")
    )
    return [
        """INSERT INTO main.runs (id, command, status, config, seed, parent, started, finished, summary)
        SELECT r.id, command, status, config, seed, coalesce(p.id, parent), started, finished, summary
        FROM other.runs o JOIN temp.taken r ON r.n = o.n LEFT JOIN temp.taken p ON p.own = o.parent
        WHERE true ORDER BY o.n ON CONFLICT (id) DO UPDATE SET status = excluded.status,
        finished = excluded.finished, summary = excluded.summary
        WHERE excluded.finished > coalesce(runs.finished, '')""",
        f"""INSERT INTO main.sessions SELECT m.n, o.started, o.seen, o.finished FROM other.sessions o {_RUN}
        WHERE true ON CONFLICT DO UPDATE SET seen = excluded.seen, finished = excluded.finished
        WHERE excluded.seen > sessions.seen OR excluded.finished > coalesce(sessions.finished, 0)""",
        """INSERT INTO main.harnesses (id, source)
        SELECT id, source FROM other.harnesses WHERE true ORDER BY n
        ON CONFLICT (id) DO UPDATE SET source = excluded.source
        WHERE harnesses.source IS NULL AND excluded.source IS NOT NULL""",
        """INSERT INTO main.questions (id) SELECT id FROM other.questions WHERE true ORDER BY n
        ON CONFLICT DO NOTHING""",
        """INSERT INTO main.tasks (id) SELECT id FROM other.tasks WHERE true ORDER BY n
        ON CONFLICT DO NOTHING""",
        f"""INSERT INTO main.trials SELECT o.id + {trials}, m.n, h.n, k.n, o.purpose, q.n, o.sample,
        o.attempt, o.status, o.detail, o.score, o.seconds, o.cpu_s, o.started
        FROM other.trials o {_RUN} {_harness("harness", "h")}
        JOIN other.tasks ok ON ok.n = o.task JOIN main.tasks k ON k.id = ok.id
        JOIN other.questions oq ON oq.n = o.question JOIN main.questions q ON q.id = oq.id
        WHERE true ORDER BY o.id ON CONFLICT DO NOTHING""",
        f"""INSERT INTO main.payloads SELECT t.id, o.body, o.calls FROM other.payloads o
        JOIN main.trials t ON t.id = o.trial + {trials} WHERE t.id > {trials}""",
        f"""INSERT INTO main.contexts (run, name, harness, body) SELECT m.n, o.name, h.n, o.body
        FROM other.contexts o {_RUN} {_harness("harness", "h")}
        WHERE true ORDER BY o.id ON CONFLICT DO NOTHING""",
        f"""INSERT INTO main.rollouts SELECT o.id + {rollouts}, m.n, o.context, o.place, c.n, o.code, o.body,
        o.calls FROM other.rollouts o {_RUN} {_harness("candidate", "c", "LEFT JOIN")}
        WHERE true ORDER BY o.id ON CONFLICT DO NOTHING""",
        _calls(0, "trials", trials),
        _calls(1, "rollouts", rollouts),
        f"""INSERT INTO main.events SELECT o.id, m.n, o.kind, o.data FROM other.events o {_RUN}
        WHERE NOT EXISTS (SELECT 1 FROM main.events e
        WHERE e.id = o.id AND e.run = m.n AND e.kind = o.kind AND e.data = o.data)""",
        "INSERT INTO main.cache SELECT key, body FROM other.cache WHERE true ON CONFLICT DO NOTHING",
    ]


def _calls(part: int, owners: str, offset: int) -> str:
    """The calls of the owners that were taken just now."""
    return f"""INSERT INTO main.calls SELECT t.run, o.part, t.id, o.position, o.kind, o.finish_reason,
    o.prompt_tokens, o.completion_tokens, o.usd, o.seconds, o.cached, o.started
    FROM other.calls o
    JOIN main.{owners} t ON t.id = o.owner + {offset} WHERE o.part = {part} AND t.id > {offset}"""
