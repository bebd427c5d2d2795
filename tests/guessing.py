"""A task whose answers are words, a solver that guesses, and proposers whose edits do what a test says."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from in_process import InProcessRuntime
from loriner.config import Settings, changed
from loriner.models.base import ModelRequest
from loriner.models.meter import Meter
from loriner.models.scripted import ScriptedModel
from loriner.records import Harness, Question, Score
from loriner.store.database import Store
from loriner.store.registry import Registry
from loriner.tasks.base import SPLITS, Split, Tool
from loriner.verbs.workspace import Lent, Workspace

SEED = Harness(
    "def solve(model, question):\n"
    '    prompt = "v0.0: " + question\n'
    "    return model(prompt, temperature=1.0)\n"
)


class Words:
    """Questions `split N` with the target `yes`."""

    description = "Answer yes."
    seed_harness = "minimal"
    tools: Mapping[str, Tool] = {}

    def __init__(self, n: int, name: str = "words") -> None:
        self.name = name
        self._n = n

    def questions(self, split: Split) -> Sequence[Question]:
        number = SPLITS.index(split)
        return [
            Question(task=self.name, id=f"{split}{i}", text=f"{self.name} {number} {i}", target="yes")
            for i in range(self._n)
        ]

    async def score(self, question: Question, answer: str) -> Score:
        return Score(float(answer == question.target))

    async def close(self) -> None:
        """Holds nothing."""


def chance(*parts: object) -> float:
    """A number in [0, 1) that depends on its arguments alone."""
    return int(hashlib.sha256(repr(parts).encode()).hexdigest()[:12], 16) / 16**12


def guesser(share: float) -> Callable[[ModelRequest], str]:
    """Answers `yes` to this share of prompts; every prompt and every seed is a new throw."""

    def reply(request: ModelRequest) -> str:
        prompt = request.messages[-1].content
        return "yes" if chance(prompt, request.seed) < share else "no"

    return reply


def improving(request: ModelRequest) -> str:
    """Answers more `yes` the higher the version in the prompt: 0.3 at v0, 0.1 more for each."""
    prompt = request.messages[-1].content
    version = int(prompt.split(".")[0].removeprefix("v"))
    return "yes" if chance(prompt.split(": ")[1], request.seed) < 0.3 + 0.1 * version else "no"


def lifted(share: float, gain: float) -> Callable[[ModelRequest], str]:
    """As `guesser`, with so much more for programs that a `lifting` proposer made better."""

    def reply(request: ModelRequest) -> str:
        prompt = request.messages[-1].content
        better = gain if "better" in prompt.split(": ")[0] else 0.0
        return "yes" if chance(prompt, request.seed) < share + better else "no"

    return reply


def lifting(request: ModelRequest) -> str:
    """A proposer of which one revision in four makes the program better; the others are other wordings."""
    if chance("lifting", request.seed) >= 0.25:
        return renaming(request)
    return renaming(request).replace('"v1.', '"v1.better ')


def renaming(request: ModelRequest) -> str:
    """A proposer that raises the version in the program's prompt by one, in words of its own each time."""
    program = request.messages[-1].content
    old = next(line for line in program.splitlines() if 'prompt = "v' in line)
    version = old.split('"')[1].split(":")[0]
    number = int(version.split(".")[0].removeprefix("v"))
    new = old.replace(version, f"v{number + 1}.{request.seed}")
    return f"Another wording.\n\n<<<<<<< SEARCH\n{old}\n=======\n{new}\n>>>>>>> REPLACE\n"


def opened(
    home: Path,
    solver: Callable[[ModelRequest], str],
    seed: int = 0,
    *,
    writer: Callable[[ModelRequest], str] = renaming,
    **more: object,
) -> Workspace:
    """A workspace on `home` whose models `solver` and `writer` are functions, metered and cached."""
    home.mkdir(parents=True, exist_ok=True)
    settings = changed(Settings(), home=home, seed=seed, adapt={"proposer": "writer"}, **more)
    lent = Lent(models={"solver": ScriptedModel("solver", solver), "writer": ScriptedModel("writer", writer)})
    meter = Meter(settings.budget)
    return Workspace(settings, Store.open(home), Registry.open(home), InProcessRuntime(), meter, lent)
