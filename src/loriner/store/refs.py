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
    **dict.fromkeys(("accepted", "best", "candidate", "runs", "seed", "tasks"), "the registry"),
}
"""First parts of names that no person may give, and who gives them."""
DIGITS = re.compile(r"[0-9a-f]{4,64}")
"""A commit or a harness id, also shortened."""
RUN_ID = re.compile(r"\d{8}-\d{6}-[a-z0-9]{4}")


def encoded(name: str) -> str:
    """One part of a reference name that stands for `name`.

    Raises:
        ConfigError: the name is empty.
    """
    if not name:
        raise ConfigError("a task, run or tag needs a name of at least one character")
    quoted = quote(name, safe=":").replace("~", "%7E").replace(".", "%2E")
    short = quoted.replace(":", ".")
    return short if check_ref_format(Ref(f"refs/heads/{short}".encode())) else quoted.replace(":", "%3A")


def decoded(part: str) -> str:
    """The name that a part of a reference stands for."""
    return unquote(part.replace(".", ":"))


def branch_ref(name: str) -> Ref:
    return Ref(f"refs/heads/{name}".encode())


def task_ref(task: str) -> Ref:
    return Ref(f"refs/heads/tasks/{encoded(task)}".encode())


def run_ref(run_id: str) -> Ref:
    return Ref(f"refs/heads/runs/{encoded(run_id)}".encode())


def best_ref(task: str) -> Ref:
    return Ref(f"refs/tags/best/{encoded(task)}".encode())


def candidate_ref(task: str) -> Ref:
    return Ref(f"refs/tags/candidate/{encoded(task)}".encode())


def accepted_ref(task: str, number: int) -> Ref:
    return Ref(f"refs/tags/accepted/{encoded(task)}/{number:04d}".encode())


def tag_ref(name: str) -> Ref:
    """The reference of a tag that a person chose.

    Raises:
        ConfigError: git does not allow the name, git or the registry keeps it for itself, or it reads as the
            id of a commit, a harness or a run.
    """
    ref = Ref(f"refs/tags/{name}".encode("utf-8", "surrogateescape"))
    if not check_ref_format(ref) or name.startswith("-"):
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


def candidates(name: str) -> list[Ref]:
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
    refs = [Ref(f"refs/{each}".encode("utf-8", "surrogateescape")) for each in names]
    return [ref for ref in refs if check_ref_format(ref)]
