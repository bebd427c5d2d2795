"""Connections to the store's SQLite file: how they are opened, upgraded, and how they fail, in words.

Not for network file systems: SQLite's locks do not hold there. Use one store a node and `merge`.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path

from loriner.errors import ConfigError, StoreError

FILE_NAME = "loriner.db"
APPLICATION_ID = 0x6C6F7269
"""`lori`, in SQLite's header: tells our file from any other database."""
CACHE = -32_768
"""32 MB of pages for each connection (SQLite counts KiB as negative)."""
BUSY_S = 30.0
"""How long a process waits for another one's write lock."""


def holds_store(home: Path) -> bool:
    """Whether a folder has a store."""
    return (home / FILE_NAME).exists()


def require_store(home: Path) -> None:
    """Raises `ConfigError` for a folder without a store: who only reads makes none under a mistyped name."""
    if not holds_store(home):
        raise ConfigError(f"no store at {home}: nothing was run there yet, or it is another --home")


def is_writable(home: Path) -> bool:
    """Whether the store of a folder can be written."""
    return os.access(home, os.W_OK) and os.access(home / FILE_NAME, os.W_OK)


def connect(path: Path) -> sqlite3.Connection:
    """A connection that writes durably: WAL, `synchronous=FULL`, transactions by hand.

    Raises:
        StoreError: the file cannot be opened, or is no database.
    """
    try:
        connection = sqlite3.connect(path, timeout=BUSY_S, isolation_level=None, check_same_thread=False)
        try:
            _set_up(connection)
        except sqlite3.Error:
            connection.close()
            raise
    except sqlite3.Error as error:
        raise in_words(error, path, "opening the store") from error
    return connection


def connect_read_only(path: Path) -> sqlite3.Connection:
    """A connection that only reads, also while others write. Raises as `connect`.

    Where nothing can be written beside the file, SQLite cannot make the log that it reads by. With no log
    there, nobody is writing, and the file is read as it stands.
    """
    try:
        alone = not os.access(path.parent, os.W_OK) and not path.with_name(f"{FILE_NAME}-wal").exists()
        uri = f"{path.absolute().as_uri()}?mode=ro{'&immutable=1' if alone else ''}"
        connection = sqlite3.connect(
            uri, uri=True, timeout=BUSY_S, isolation_level=None, check_same_thread=False
        )
        try:
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
            connection.execute(f"PRAGMA cache_size={CACHE}")
        except sqlite3.Error:
            connection.close()
            raise
    except sqlite3.Error as error:
        raise in_words(error, path, "reading the store") from error
    return connection


def _set_up(connection: sqlite3.Connection) -> None:
    deadline = time.monotonic() + BUSY_S
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            break
        except sqlite3.OperationalError as error:
            # The switch to WAL does not wait for other processes by itself.
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("PRAGMA foreign_keys=ON")
    connection.execute(f"PRAGMA cache_size={CACHE}")
    connection.execute("PRAGMA wal_autocheckpoint=4000")


def migrations() -> list[str]:
    """The SQL that leads to each version: `[0]` makes version 1, `[1]` takes 1 to 2, and so on."""
    here = files("loriner.store")
    folder = here.joinpath("migrations")
    entries = folder.iterdir() if folder.is_dir() else ()
    later = sorted((entry for entry in entries if entry.name.endswith(".sql")), key=lambda entry: entry.name)
    return [entry.read_text("utf-8") for entry in (here.joinpath("schema.sql"), *later)]


def schema_version(connection: sqlite3.Connection) -> int:
    """The version of an open store; 0 for a new file."""
    known = "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'schema_version'"
    if not connection.execute(known).fetchone()[0]:
        return 0
    version = connection.execute("SELECT coalesce(max(version), 0) FROM schema_version").fetchone()[0]
    return int(version)


def migrate(connection: sqlite3.Connection, path: Path, steps: Sequence[str]) -> None:
    """Applies every missing step, all in one transaction; a store that lacks none is only looked at.

    Raises:
        StoreError: another program's database, a store of a newer release, or a failing disk.
    """
    try:
        if schema_version(connection) == len(steps):
            return
        connection.execute("BEGIN IMMEDIATE")
        try:
            found = schema_version(connection)  # again, since another process may have been faster
            _refuse_foreign(connection, found, path, len(steps))
            for version in range(found + 1, len(steps) + 1):
                _apply(connection, version, steps[version - 1])
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
    except sqlite3.Error as error:
        raise in_words(error, path, "upgrading the store") from error


def _refuse_foreign(connection: sqlite3.Connection, found: int, path: Path, newest: int) -> None:
    if found > newest:
        raise StoreError(
            f"{path} was written by a newer release (schema {found}; this one knows up to {newest}): "
            "upgrade loriner, or use another --home"
        )
    tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if not found and tables:
        raise StoreError(f"{path} is another program's database ({tables} tables): use another --home")


def _apply(connection: sqlite3.Connection, version: int, script: str) -> None:
    if version == 1:
        connection.execute(f"PRAGMA application_id={APPLICATION_ID}")
    for statement in statements(script):
        connection.execute(statement)
    connection.execute("INSERT INTO schema_version VALUES (?, ?)", (version, now()))


def statements(script: str) -> Iterator[str]:
    """The statements of a script, one by one: `executescript` would commit in the middle of a migration."""
    gathered = ""
    for line in script.splitlines(keepends=True):
        gathered += line
        if sqlite3.complete_statement(gathered):
            yield gathered
            gathered = ""


def now() -> str:
    """This moment in UTC, as ISO 8601 with milliseconds."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


_BEGAN = time.time() - time.monotonic()


def steady() -> float:
    """Seconds since 1970 by the clock as this process found it: they never go back, whatever is set since."""
    return _BEGAN + time.monotonic()


_WORDS = {
    sqlite3.SQLITE_FULL: "the disk is full. Nothing acknowledged is lost: free some space and resume",
    sqlite3.SQLITE_IOERR: (
        "the disk refused a read or write (full, over quota or failing). Nothing acknowledged is lost: "
        "make room, then run `loriner store check`"
    ),
    sqlite3.SQLITE_CORRUPT: (
        "the file is damaged. Move it aside and start with a new --home, or restore a copy; "
        "`sqlite3 FILE .recover` saves what can still be read"
    ),
    sqlite3.SQLITE_NOTADB: "this is no SQLite database. Move it aside, restore a copy, or use another --home",
    sqlite3.SQLITE_READONLY: "it cannot be written: check its owner and mode, or use another --home",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened: check that its folder exists, is writable and has space",
    sqlite3.SQLITE_PERM: "access is denied: check its owner and mode, or use another --home",
    sqlite3.SQLITE_BUSY: f"another process held its write lock for {BUSY_S:.0f} s: see which one is stuck",
}


def in_words(error: sqlite3.Error, path: Path, doing: str) -> StoreError:
    """The error that a person can act on."""
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
    words = _WORDS.get(code & 0xFF, "SQLite refused")
    return StoreError(f"{doing}, {path}: {words} ({getattr(error, 'sqlite_errorname', 'error')}: {error})")


def is_disk(error: BaseException) -> bool:
    """Whether trying a smaller batch is pointless: the file or its disk failed, not a row."""
    code = getattr(error, "sqlite_errorcode", None)
    return code is not None and code & 0xFF in _WORDS
