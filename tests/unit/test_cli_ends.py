"""How the command ends when it is cancelled."""

from __future__ import annotations

import subprocess
import sys


def test_a_cancelled_command_ends_as_an_interrupted_one() -> None:
    code = (
        "import asyncio, sys\n"
        "from loriner.cli import app, main\n"
        "async def cancelled():\n"
        "    asyncio.current_task().cancel()\n"
        "    await asyncio.sleep(1)\n"
        "app.app.command('cancelled')(lambda: asyncio.run(cancelled()))\n"
        "sys.exit(main(['cancelled']))\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (run.returncode, run.stderr.strip()) == (5, "error: interrupted")
