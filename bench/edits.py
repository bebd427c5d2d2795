"""Parse and apply edit blocks on a 5 kB program, beside the appliers of OpenEvolve and aider.

    python bench/edits.py [--rounds 25]

One interleaved run on the same input; only the ratios within a run mean something. A peer's functions are
taken from its installed file without its own imports, so `pip install --no-deps` is enough.
Ends with 1 when parse + apply is slower than a peer for any number of edits.
"""

from __future__ import annotations

import argparse
import ast
import importlib.util
import itertools
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from loriner.errors import EditError
from loriner.harness.edits import apply_completion, format_revision, parse
from loriner.harness.placing import apply_edits
from loriner.records import Edit

Applier = Callable[[str, str], str]

HELPER = '''
def step_{i}(model, notes, question):
    """Asks for part {i} and keeps what came back."""
    reply = model("Part {i} of the task: " + question)
    notes.append(("part {i}", reply.strip()))
    return notes

'''
PROGRAM = (
    "import re\n\n"
    + "".join(HELPER.format(i=i) for i in range(21))
    + "\ndef solve(model, question):\n    notes = []\n"
    + "".join(f"    notes = step_{i}(model, notes, question)\n" for i in range(21))
    + "    return notes[-1][1]\n"
)


def completion(n_edits: int) -> str:
    """A reply with so many two-line edits, in prose and a fence, with the file name that aider wants."""
    edits = []
    for i in (10, 17, 3)[:n_edits]:
        old = f'    reply = model("Part {i} of the task: " + question)\n'
        old += f'    notes.append(("part {i}", reply.strip()))\n'
        edits.append(Edit(old, old.replace("reply.strip()", "reply.strip().lower()")))
    return f"The notes should be in lower case.\n\nharness.py\n```python\n{format_revision(edits)}```\n"


def functions_of(package: str, file: str) -> dict[str, Any] | None:
    """The functions and constants of one installed file, without its classes and third-party imports."""
    spec = importlib.util.find_spec(package)
    if spec is None or spec.submodule_search_locations is None:
        return None
    path = Path(spec.submodule_search_locations[0], file)
    kept = [node for node in ast.parse(path.read_text("utf-8")).body if _is_plain(node)]
    namespace: dict[str, Any] = {"__name__": path.stem}
    exec(compile(ast.Module(kept, []), str(path), "exec"), namespace)
    return namespace


def _is_plain(node: ast.stmt) -> bool:
    if isinstance(node, ast.Import):
        return all(alias.name.split(".")[0] in sys.stdlib_module_names for alias in node.names)
    if isinstance(node, ast.ImportFrom):
        return node.level == 0 and (node.module or "").split(".")[0] in sys.stdlib_module_names
    return isinstance(node, ast.FunctionDef | ast.Assign | ast.AnnAssign)


def ours(program: str, reply: str) -> str:
    return apply_edits(program, parse(reply).edits)


def openevolve() -> Applier | None:
    found = functions_of("openevolve", "utils/code_utils.py")
    return found["apply_diff"] if found else None


def aider() -> Applier | None:
    found = functions_of("aider", "coders/editblock_coder.py")
    if found is None:
        return None
    blocks, replace = found["find_original_update_blocks"], found["replace_most_similar_chunk"]

    def apply(program: str, reply: str) -> str:
        for _, old, new in blocks(reply, valid_fnames=["harness.py"]):
            program = replace(program, old, new)
        return program

    return apply


def peers() -> Iterator[tuple[str, Applier]]:
    for name, package, applier in (
        ("OpenEvolve", "openevolve", openevolve()),
        ("aider", "aider-chat", aider()),
    ):
        if applier is None:
            print(f"{name}: not installed: pip install --no-deps {package}")
        else:
            yield name, applier


def interleaved(
    calls: Mapping[str, Callable[[], object]], rounds: int, repeat: int
) -> dict[str, list[float]]:
    """Microseconds a call, one figure a round, the calls taking turns."""
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            start = time.perf_counter()
            for _ in range(repeat):
                call()
            seconds[name].append((time.perf_counter() - start) / repeat * 1e6)
    return seconds


def compared(appliers: dict[str, Applier], n_edits: int, rounds: int) -> bool:
    """Prints one table; returns whether ours is no slower than any peer, by the medians."""
    reply = completion(n_edits)
    wanted = ours(PROGRAM, reply)
    for name, applier in appliers.items():
        assert applier(PROGRAM, reply) == wanted, f"{name} gives another text"
    calls = {name: lambda applier=applier: applier(PROGRAM, reply) for name, applier in appliers.items()}
    times = interleaved(calls, rounds, repeat=200)
    base = statistics.median(times["loriner"])
    print(f"\n{n_edits} edit(s), {len(PROGRAM):,} characters        best us   median us   times ours")
    for name, each in times.items():
        median = statistics.median(each)
        print(f"  {name:30} {min(each):11.1f} {median:11.1f} {median / base:12.2f}")
    others = [statistics.median(each) for name, each in times.items() if name != "loriner"]
    return not others or base <= min(others)


def whole_path(rounds: int) -> None:
    """Prints what the other outcomes cost: a candidate with validation, a span that is not there."""

    number = itertools.count()

    def fresh() -> None:
        """A new candidate of a program that is known, as within a group of rollouts."""
        edit = Edit("    return notes[-1][1]\n", f"    return notes[-1][1] + '{next(number)}'\n")
        apply_completion(PROGRAM, format_revision([edit]))

    def missing() -> None:
        try:
            ours(PROGRAM, format_revision([Edit("    reply = model(question)\n", "")]))
        except EditError:
            return
        raise AssertionError("a missing span was applied")

    calls = {
        "a new candidate": fresh,
        "the same candidate again": lambda: apply_completion(PROGRAM, completion(1)),
        "span_not_found, with hint": missing,
    }
    print("\nthe whole step                            best us   median us")
    for name, each in interleaved(calls, rounds, repeat=5).items():
        print(f"  {name:30} {min(each):11.1f} {statistics.median(each):11.1f}")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=25)
    rounds = parser.parse_args().rounds
    appliers: dict[str, Applier] = {"loriner": ours, **dict(peers())}
    held = [compared(appliers, n_edits, rounds) for n_edits in (1, 3)]
    whole_path(rounds)
    print(f"\nno slower than the peers: {'yes' if all(held) else 'NO'}")
    return 0 if all(held) else 1


if __name__ == "__main__":
    sys.exit(main())
