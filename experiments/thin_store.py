"""A copy of a store without what grade trials and models said: python experiments/thin_store.py STORE COPY.

Contexts, completions, programs, scores and events stay: trees go on from it and are read from it. A store of
an hour of trees is a few hundred megabytes, its thin copy a tenth.
"""

from __future__ import annotations

import sqlite3
import sys
from pathlib import Path

from loriner.store.packing import pack

SPARED = "SELECT id FROM trials WHERE purpose LIKE 'grade%'"


def thin(store: Path, copy: Path) -> None:
    """Writes the copy. The store may be in use."""
    copy.unlink(missing_ok=True)
    with sqlite3.connect(f"file:{store}?mode=ro", uri=True) as source, sqlite3.connect(copy) as target:
        source.backup(target)
    target.execute(
        f"UPDATE payloads SET body = ?, calls = ? WHERE trial IN ({SPARED})", (pack(["", "", ""]), pack([]))
    )
    target.execute(f"DELETE FROM calls WHERE part = 0 AND owner IN ({SPARED})")
    target.execute("DELETE FROM cache")
    target.commit()
    target.execute("VACUUM")
    target.close()


if __name__ == "__main__":
    thin(Path(sys.argv[1]), Path(sys.argv[2]))
    print(f"{sys.argv[2]}: {Path(sys.argv[2]).stat().st_size / 1e6:.1f} MB")
