"""The command line: a thin face over the engine. Results go to stdout, everything else to stderr."""

from __future__ import annotations

import errno
import signal
import sys
import threading
from collections.abc import Callable

from loriner.cli.globals import hoisted, verb
from loriner.errors import ConfigError, Interrupted, LorinerError, StoreError

_INTERRUPTED = 130
"""What typer makes of Ctrl-C."""
_FULL = (errno.ENOSPC, errno.EDQUOT)


def main(arguments: list[str] | None = None) -> int:
    """Runs one command and returns its exit code (docs/cli.md)."""
    from loriner.cli.app import app_for

    given = hoisted(sys.argv[1:] if arguments is None else arguments)
    if threading.current_thread() is threading.main_thread():  # being told to end is as good as Ctrl-C
        signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
    return exit_code(lambda: app_for(verb(given))(args=given, prog_name="loriner"))


def exit_code(command: Callable[[], object]) -> int:
    """Runs a command, says what stopped it, and returns its exit code."""
    try:
        command()
    except LorinerError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    except BrokenPipeError:
        sys.stderr.close()
    except OSError as error:
        if error.filename is None:
            raise
        print(f"error: {error.filename}: {error.strerror}", file=sys.stderr)
        return StoreError.exit_code if error.errno in _FULL else ConfigError.exit_code
    except KeyboardInterrupt:
        return _interrupted()
    except SystemExit as done:
        if done.code == _INTERRUPTED:
            return _interrupted()
        return done.code if isinstance(done.code, int) else int(bool(done.code))
    except _cancelled():  # an interrupt that asyncio did not turn back into one
        return _interrupted()
    return 0


def _cancelled() -> type[BaseException]:
    """Looked up only when an exception comes by: asyncio takes a while to import."""
    from asyncio import CancelledError

    return CancelledError


def _interrupted() -> int:
    """A run that had begun has said its name and how to go on with it."""
    print("error: interrupted", file=sys.stderr)
    return Interrupted.exit_code
