"""From a completion to a candidate: parse, apply, validate; all of it or an `EditError`.

The three stages earn different rewards: a completion that parses (its error is of stage `apply` or
`validate`) is worth more than one that does not, a candidate more than both. See docs/edits.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

from loriner.errors import EditError
from loriner.harness.blocks import format_revision, has_marker, parse_blocks, without_reasoning
from loriner.harness.contract import canonical
from loriner.harness.json_edits import parse_json
from loriner.harness.placing import apply_edits
from loriner.harness.validity import require_candidate
from loriner.records import Harness, Revision

__all__ = [
    "MAX_COMPLETION_CHARS",
    "STAGE_OF",
    "Stage",
    "apply_completion",
    "format_revision",
    "parse",
    "revise",
]

MAX_COMPLETION_CHARS = 64 * 1024

Stage = Literal["parse", "apply", "validate"]

_CODES: dict[Stage, tuple[str, ...]] = {
    "parse": (
        "no_edit_block",
        "truncated_reasoning",
        "truncated_block",
        "marker_sequence",
        "empty_search",
        "too_many_edits",
        "completion_too_large",
        "json_invalid",
        "json_schema",
        "multiple_payloads",
    ),
    "apply": ("span_not_found", "span_ambiguous", "overlap", "no_change"),
    "validate": (
        "too_large",
        "omission_placeholder",
        "syntax_error",
        "missing_solve",
        "duplicate_solve",
        "no_effect",
        "signature_changed",
    ),
}
STAGE_OF: Mapping[str, Stage] = MappingProxyType({code: stage for stage in _CODES for code in _CODES[stage]})
"""The stage at which each error code stops a completion. A code never changes its meaning."""


def parse(completion: str, *, json_adapter: bool = False, in_reasoning: bool = False) -> Revision:
    """The edits that the completion asks for, not yet held against a program.

    `json_adapter` also reads `{"edits": [{"find", "replace"}]}` where there is no block. `in_reasoning` says
    that the prompt has opened the reasoning.

    Raises:
        EditError: a code of stage `parse`.
    """
    if len(completion) > MAX_COMPLETION_CHARS:
        raise EditError(
            "completion_too_large",
            f"completion_too_large: the reply has {len(completion)} characters; "
            f"at most {MAX_COMPLETION_CHARS} are read. Give only the lines that change.",
        )
    text = without_reasoning(completion, in_reasoning=in_reasoning)
    if json_adapter and not has_marker(text):
        return parse_json(text)
    return parse_blocks(text)


def apply_completion(source: str, completion: str, *, json_adapter: bool = False) -> str:
    """The revised program text; line ends and end of file stay as `source` has them.

    Raises:
        EditError: any code of `STAGE_OF`; the message is fit for a proposer, the program is unharmed.
    """
    return _applied(source, parse(completion, json_adapter=json_adapter))


def revise(
    harness: Harness, completion: str, *, json_adapter: bool = False, in_reasoning: bool = False
) -> tuple[Revision, Harness]:
    """What the completion asks for, and the candidate that it makes.

    Raises:
        EditError: as `apply_completion`; `STAGE_OF[error.code]` says how far it came.
    """
    revision = parse(completion, json_adapter=json_adapter, in_reasoning=in_reasoning)
    return revision, Harness(canonical(_applied(harness.source, revision)))


def _applied(source: str, revision: Revision) -> str:
    result = apply_edits(source, revision.edits)
    require_candidate(source, result)
    return result
