"""The reading side of the store: one connection that never writes, shared by the threads of a process."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from loriner.store.connection import connect_read_only, in_words


class Reader:
    """Rows as last committed by anyone, this process or another."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._connection = connect_read_only(path)

    def rows(self, sql: str, values: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        """All rows of a query.

        Raises:
            StoreError: the file is damaged, gone or unreadable.
        """
        try:
            with self._lock:
                return self._connection.execute(sql, values).fetchall()
        except sqlite3.Error as error:
            raise in_words(error, self._path, "reading the store") from error

    def row(self, sql: str, values: tuple[Any, ...] = ()) -> tuple[Any, ...] | None:
        """The first row of a query, or None. Raises as `rows`."""
        found = self.rows(sql, values)
        return found[0] if found else None

    def stream(self, sql: str, n_at_once: int = 1_000) -> Iterator[tuple[Any, ...]]:
        """The rows of a query that is too large to hold, on a connection of its own. Raises as `rows`."""
        connection = connect_read_only(self._path)
        try:
            cursor = connection.execute(sql)
            while rows := cursor.fetchmany(n_at_once):
                yield from rows
        except sqlite3.Error as error:
            raise in_words(error, self._path, "reading the store") from error
        finally:
            connection.close()

    def close(self) -> None:
        with self._lock:
            self._connection.close()
