"""How the command ends when it is cancelled."""

from __future__ import annotations

import subprocess
import sys


def test_a_cancelled_command_ends_as_an_interrupted_one() -> None:
    code = (
        "import asyncio, sys\n"
        "from loriner.cli import exit_code\n"
        "async def cancelled():\n"
        "    asyncio.current_task().cancel()\n"
        "    await asyncio.sleep(1)\n"
        "sys.exit(exit_code(lambda: asyncio.run(cancelled())))\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (run.returncode, run.stderr.strip()) == (5, "error: interrupted")
