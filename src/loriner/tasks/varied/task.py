"""The format-varied setting: the same questions and scorers, but a frame around each and an answer contract.

10 frames x 8 contracts x 2 places make 160 variants, chosen by a hash of family, index and split. It rewards
a harness that reads what is asked for over one that is tuned to a single layout.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from loriner.errors import TaskError
from loriner.records import Question, Score
from loriner.tasks.base import Digested, Split, Task, Tool
from loriner.tasks.varied.contracts import FORMS, Contract, extract, write
from loriner.tasks.varied.frames import FRAMES, carries

__all__ = [
    "Contract",
    "Varied",
    "VariedTask",
    "canonical_name",
    "extract",
    "is_varied",
    "varied_name",
    "vary",
    "write",
]

VARIED = "+varied"
"""What the setting adds to the name of a family; other marks may follow it."""

PLACES = ("before", "after")

FORMAT_MISS = "format_miss"


def is_varied(task: str) -> bool:
    """Whether the task of this name is in the format-varied setting."""
    return VARIED in task


def canonical_name(task: str) -> str:
    """The name of the same task in the canonical setting."""
    return task.replace(VARIED, "")


def varied_name(task: str) -> str:
    """The name of the same task in the format-varied setting.

    Raises:
        TaskError: it is no Reasoning Gym family; no other task has the setting.
    """
    prefix, family, *marks = [*task.split(":"), ""]
    if prefix != "rg":
        raise TaskError(f"{task}: only Reasoning Gym families (rg:...) have a format-varied setting")
    return ":".join([prefix, f"{canonical_name(family)}{VARIED}", *filter(None, marks)])


@dataclass(frozen=True, slots=True)
class Varied:
    """A question in its variant."""

    text: str
    contract: Contract
    frame: str
    place: str
    """Where the contract stands: before or after the frame."""

    @property
    def question(self) -> str:
        """The original question again, read out of the text."""
        stated = self.contract.instruction
        framed = self.text[len(stated) + 2 :] if self.place == "before" else self.text[: -len(stated) - 2]
        return FRAMES[self.frame].unwrap(framed)


def vary(question: str, *, family: str, index: int, salt: str) -> Varied:
    """The question in the variant that (family, index, salt) chooses; the salt is the split's name."""
    seed = hashlib.sha256(f"fv1|{salt}|{family}|{index}".encode()).digest()[:8]
    draw = random.Random(int.from_bytes(seed, "big"))
    key = _key(draw)
    frame = draw.choice(sorted(FRAMES))
    kind = draw.choice(sorted(kind for kind in FORMS if (family, kind) not in _UNFIT))
    place = draw.choice(PLACES)
    while key in question:
        key = _key(draw)
    return render(question, frame if carries(frame, question) else "json", Contract(kind, key), place)


def render(question: str, frame: str, contract: Contract, place: str) -> Varied:
    """The question in a given variant."""
    framed = FRAMES[frame].wrap(question, contract.key)
    parts = [contract.instruction, framed] if place == "before" else [framed, contract.instruction]
    return Varied("\n\n".join(parts), contract, frame, place)


_UNFIT = {("codeio", "boxed")}
"""Right answers of codeio hold unbalanced braces."""


def _key(draw: random.Random) -> str:
    return f"{draw.randrange(16**4):04x}"


class VariedTask:
    """A Reasoning Gym task in the format-varied setting. Satisfies `loriner.tasks.base.Task`.

    A reply that breaks its contract scores 0 with the detail `format_miss`; of any other the answer that it
    holds is scored.
    """

    def __init__(self, task: Task) -> None:
        self._task = task
        self._inner: dict[str, tuple[Question, Varied]] = {}

    @property
    def name(self) -> str:
        return varied_name(self._task.name)

    @property
    def description(self) -> str:
        return (
            f"{self._task.description} Each question comes in one of several layouts and names the output "
            "format it wants, which replaces any other; a reply in another format scores 0."
        )

    @property
    def seed_harness(self) -> str:
        return self._task.seed_harness

    @property
    def tools(self) -> Mapping[str, Tool]:
        return self._task.tools

    @property
    def digests(self) -> Mapping[str, str]:
        return self._task.digests if isinstance(self._task, Digested) else {}

    def questions(self, split: Split) -> Sequence[Question]:
        return [self._vary(question) for question in self._task.questions(split)]

    async def score(self, question: Question, answer: str) -> Score:
        inner, varied = self._inner[question.id]
        extracted = extract(varied.contract, answer)
        if extracted is None:
            return Score(0.0, FORMAT_MISS, {"contract": varied.contract.kind, "frame": varied.frame})
        return await self._task.score(inner, extracted)

    def right_reply(self, question: Question) -> str:
        """The right answer in the form that the question asks for."""
        return write(self._inner[question.id][1].contract, question.target)

    async def close(self) -> None:
        await self._task.close()

    def _vary(self, question: Question) -> Question:
        family, split, index = question.id.split("/")
        varied = vary(question.text, family=family, index=int(index), salt=split)
        self._inner[question.id] = (question, varied)
        return Question(task=self.name, id=question.id, text=varied.text, target=question.target)
