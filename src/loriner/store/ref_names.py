"""Names of tasks, runs and tags as git reference names, and back.

`:` becomes `.`, so `rg:count_primes` is the branch `tasks/rg.count_primes`; whatever else git would refuse,
and `.` itself, is percent-encoded. Different names never share a reference.
"""

from __future__ import annotations

import re
from urllib.parse import quote, unquote

from dulwich.refs import Ref, check_ref_format

from loriner.errors import ConfigError

KEEPERS = {
    "HEAD": "git",
    "refs": "git",
    **dict.fromkeys(("accepted", "best", "best-for", "candidate", "runs", "seed", "tasks"), "the registry"),
}
"""First parts of names that no person may give, and who gives them."""
DIGITS = re.compile(r"[0-9a-f]{4,64}")
"""A commit or a harness id, also shortened."""
RUN_ID = re.compile(r"\d{8}-\d{6}-[a-z0-9]{4,}")


def encoded(name: str) -> str:
    """One part of a reference name that stands for `name`.

    Raises:
        ConfigError: the name is empty.
    """
    if not name:
        raise ConfigError("a task, run or tag needs a name of at least one character")
    quoted = quote(name, safe=":").replace("~", "%7E").replace(".", "%2E")
    short = quoted.replace(":", ".")
    return short if _is_legal(f"refs/heads/{short}") else quoted.replace(":", "%3A")


def decoded(part: str) -> str:
    """The name that a part of a reference stands for."""
    return unquote(part.replace(".", ":"))


def branch_ref(name: str) -> str:
    return f"refs/heads/{name}"


def task_ref(task: str) -> str:
    return f"refs/heads/tasks/{encoded(task)}"


def run_ref(run_id: str) -> str:
    return f"refs/heads/runs/{encoded(run_id)}"


def best_ref(task: str) -> str:
    return f"refs/tags/best/{encoded(task)}"


def best_for_ref(task: str, solver: str) -> str:
    return f"refs/tags/best-for/{encoded(task)}/{encoded(solver)}"


def is_best(name: str) -> bool:
    """Whether a name means a best version: `best`, `best@TASK` or `best/TASK`."""
    return name == "best" or task_of_best(name) is not None


def task_of_best(name: str) -> str | None:
    """The task in `best@TASK` and `best/TASK`; None for any other name."""
    found = re.fullmatch(r"best[@/](.+)", name)
    return found and found[1]


def candidate_ref(task: str) -> str:
    return f"refs/tags/candidate/{encoded(task)}"


def accepted_ref(task: str, number: int) -> str:
    return f"refs/tags/accepted/{encoded(task)}/{number:04d}"


def tag_ref(name: str) -> str:
    """The reference of a tag that a person chose.

    Raises:
        ConfigError: git does not allow the name, git or the registry keeps it for itself, or it reads as the
            id of a commit, a harness or a run.
    """
    ref = f"refs/tags/{name}"
    if not _is_legal(ref) or name.startswith("-"):
        raise ConfigError(
            f"{name!r} cannot be a tag: git forbids blanks, any of ~ ^ : ? * [ \\, two dots, "
            "a dot or .lock at an end"
        )
    head = name.partition("/")[0]
    if head in KEEPERS:
        raise ConfigError(
            f"{name!r} cannot be a tag: {KEEPERS[head]} keeps {head} for itself: choose another name"
        )
    if DIGITS.fullmatch(name):
        raise ConfigError(
            f"{name!r} cannot be a tag: it reads as the id of a commit or a harness: choose another name"
        )
    if RUN_ID.fullmatch(name):
        raise ConfigError(f"{name!r} cannot be a tag: it reads as the id of a run: choose another name")
    return ref


def candidates(name: str) -> list[str]:
    """The references that a person may mean by `name`, the likeliest first."""
    head, slash, rest = name.partition("/")
    names = [f"tags/{name}", f"heads/{name}"]
    if slash and head in ("best", "candidate", "tasks", "runs", "accepted") and rest:
        number = ""
        if head == "accepted" and "/" in rest:
            rest, _, number = rest.rpartition("/")
        part = f"{head}/{encoded(rest)}" + (f"/{number}" if number else "")
        names += [f"tags/{part}", f"heads/{part}"]
    if name:
        names += [f"heads/tasks/{encoded(name)}", f"heads/runs/{encoded(name)}"]
    return [ref for ref in (f"refs/{each}" for each in names) if _is_legal(ref)]


def _is_legal(ref: str) -> bool:
    """Whether git takes the name, and it is text that can be stored."""
    try:
        return check_ref_format(Ref(ref.encode()))
    except UnicodeEncodeError:
        return False
