"""The skips that are allowed. A test that is skipped for any other reason fails.

`MACHINE` is what any machine may lack. `OPTIONAL` are libraries that even CI leaves out. `EXTRA` is what CI
installs, so a skip for one of them fails there.
"""

from __future__ import annotations

import os
import re

MACHINE = (
    "needs a CUDA device",
    "needs vllm",
    "mounting a small disk needs root",
    "a read-only mount needs root",
    "a network namespace needs unshare",
    "orphans are found with a subreaper",
    "user namespaces cannot be switched off",
    "the whole suite runs as an ordinary user already",
    "no Python >= 3.11 on this machine can be run by an ordinary user",
    "not root",
    "the change of user closes what this guard closes",
    r".* is not installed$",  # a kernel header, or bubblewrap
    r"isolation '\w+' does not work here",
    "no git binary on this machine",
    "no pip",
    "the real questions are not here: set LORINER_MULTIHOP",
)
OPTIONAL = (
    r"could not import '(mlflow|sqlalchemy|alembic|tensorboardX|wandb|trackio)'",
    r"could not import '(pyarrow\.parquet|genai_prices)'",
    r"could not import '(dspy|gepa|agents|langchain_openai|inspect_ai|lm_eval)[.\w]*'",
    r"could not import '(opentelemetry\.sdk|mcp|verifiers)[.\w]*'",
    "all trackers are installed",
    "pyarrow is installed",
)
EXTRA = (
    r"could not import '(bm25s|reasoning_gym|datasets|yaml)'",
    r"needs the extra \[local\]",
    r"training needs the extra \[train\]",
    "no Chromium",
    r"this machine reaches sandbox level \d",
    "this machine has no Landlock or no seccomp",
)


def allowed(reason: str) -> bool:
    """Whether a test may be skipped for this reason here."""
    found = reason.removeprefix("Skipped: ")
    patterns = (*MACHINE, *OPTIONAL) if os.environ.get("CI") else (*MACHINE, *OPTIONAL, *EXTRA)
    return any(re.match(pattern, found) for pattern in patterns)
