"""The command line: a thin face over the engine. Results go to stdout, everything else to stderr."""

from __future__ import annotations

import sys

from loriner.cli.globals import hoisted
from loriner.errors import Interrupted, LorinerError

_INTERRUPTED = 130
"""What typer makes of Ctrl-C."""


def main(arguments: list[str] | None = None) -> int:
    """Runs one command and returns its exit code (docs/cli.md)."""
    from loriner.cli.app import app

    try:
        app(args=hoisted(sys.argv[1:] if arguments is None else arguments), prog_name="loriner")
    except LorinerError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    except BrokenPipeError:
        sys.stderr.close()
    except SystemExit as done:
        if done.code == _INTERRUPTED:
            print("error: interrupted; what was acknowledged is in the store", file=sys.stderr)
            return Interrupted.exit_code
        return done.code if isinstance(done.code, int) else int(bool(done.code))
    return 0
