"""`runs watch` on a terminal: it draws the run as it goes and ends with it."""

from __future__ import annotations

import asyncio
import os
import pty
import subprocess
import sys
import threading
import time
from pathlib import Path

from loriner.store.database import Store
from recorded import record


def test_it_follows_a_run_of_another_process_and_ends_with_it(tmp_path: Path) -> None:
    home = tmp_path / "home"
    store = Store.open(home)
    run_id = asyncio.run(record(store, finished=False))
    shown, terminal = pty.openpty()
    watcher = subprocess.Popen(
        [sys.executable, "-m", "loriner", "runs", "watch", run_id, "--home", str(home)],
        stdin=subprocess.DEVNULL,
        stdout=terminal,
        stderr=terminal,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "140", "LINES": "50"},
    )
    os.close(terminal)
    drawn = bytearray()
    reader = threading.Thread(target=_read, args=(shown, drawn), daemon=True)
    reader.start()
    deadline = time.monotonic() + 60
    while b"running" not in drawn and time.monotonic() < deadline:
        time.sleep(0.05)
    assert b"running" in drawn and watcher.poll() is None
    store.finish_run(run_id, "interrupted", {})
    store.close()
    assert watcher.wait(60) == 0
    reader.join(10)
    os.close(shown)
    text = drawn.decode("utf-8", "replace")
    assert "accepted: +0.450 on 20 questions" in text
    assert "interrupted" in text


def _read(descriptor: int, drawn: bytearray) -> None:
    while True:
        try:
            piece = os.read(descriptor, 65_536)
        except OSError:  # the other end is closed
            return
        if not piece:
            return
        drawn += piece
