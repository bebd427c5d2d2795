"""The tool `examples` through the command: while a program is scored, and beside it once it is exported."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import closing
from pathlib import Path

from command import Command
from loriner.store.database import Store
from loriner.tasks.by_name import open_task
from stub_server import Stub

SHOTS = (
    "import json\nfrom tools import examples\n\n\n"
    "def solve(model, question):\n"
    "    return json.dumps([examples(question, k=3), examples(k=2), examples('plus 700', 2)])\n"
)
ALONE = """
import json, sys
sys.path.insert(0, sys.argv[1])
from harness import solve
print(json.dumps([solve(None, question) for question in json.load(sys.stdin)]))
print("loriner" in sys.modules)
"""


def answers_alone(folder: Path, questions: list[str]) -> list[str]:
    """What the exported program says with plain Python, the folder and the standard library alone."""
    command = [sys.executable, "-I", "-S", "-c", ALONE, str(folder)]
    done = subprocess.run(command, input=json.dumps(questions), capture_output=True, text=True, timeout=60)
    answers, imported = done.stdout.splitlines()
    assert imported == "False", done.stderr
    return list(json.loads(answers))


def test_an_exported_program_gets_the_examples_that_it_was_scored_with(
    loriner: Command, folder: Path, stub: Stub, tmp_path: Path
) -> None:
    (tmp_path / "shots.py").write_text(SHOTS)
    done = loriner("evaluate", str(folder), "--solver", stub.url, "--harness", "shots.py", "--json")
    assert done.returncode == 0, done.stderr
    with closing(Store.open(tmp_path / "home")) as store:
        run = json.loads(done.stdout)["run"]
        trials = {each.question_id: each.answer for each in store.trials(run, with_calls=True)}
    assert stub.calls == []
    done = loriner("export", "shots.py", "-o", "out", "--task", str(folder))
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    asked = {each.id: each.text for each in open_task(str(folder), home=tmp_path).questions("grade")}
    assert len(trials) > 10
    found = answers_alone(tmp_path / "out", [asked[each] for each in trials])
    assert found == list(trials.values())


def test_only_feedback_items_are_exported(loriner: Command, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "shots.py").write_text(SHOTS)
    assert loriner("export", "shots.py", "-o", "out", "--task", str(folder)).returncode == 0
    task = open_task(str(folder), home=tmp_path)
    lines = (tmp_path / "out" / "examples.jsonl").read_text(encoding="utf-8").splitlines()
    wanted = [{"question": each.text, "answer": each.target} for each in task.questions("feedback")]
    assert [json.loads(line) for line in lines] == wanted
    written = "".join(each.read_text() for each in (tmp_path / "out").iterdir())
    assert not any(each.text in written for split in ("grade", "test") for each in task.questions(split))


def test_the_task_of_a_version_is_that_of_its_run(
    loriner: Command, folder: Path, stub: Stub, tmp_path: Path
) -> None:
    (tmp_path / "shots.py").write_text(SHOTS)
    options = ["--solver", stub.url, "--rounds", "1", "--harness", "shots.py", "--json"]
    done = loriner("adapt", str(folder), *options)
    assert done.returncode == 0, done.stderr
    seed = json.loads(done.stdout)["seed"]["harness"]
    done = loriner("export", seed[:12], "-o", "out", "--json")
    assert done.returncode == 0 and done.stderr == "", done.stderr
    document = json.loads(done.stdout)
    assert document["missing"] == []
    assert {Path(each).name for each in document["files"]} == {
        "harness.py",
        "tools.py",
        "run_me.py",
        "README.md",
        "nearest.py",
        "examples.jsonl",
    }


def test_a_program_of_no_known_task_is_exported_without_and_says_so(
    loriner: Command, folder: Path, tmp_path: Path
) -> None:
    (tmp_path / "shots.py").write_text(SHOTS)
    done = loriner("export", "shots.py", "-o", "out")
    assert done.returncode == 0
    assert "no examples were written; name their task with --task TASK" in done.stderr
    assert "tools that out/tools.py lacks: examples" in done.stderr
    assert not (tmp_path / "out" / "examples.jsonl").exists()
    done = loriner(
        "export", "shots.py", "-o", "out", "--task", str(folder)
    )  # what was written can be completed
    assert (done.returncode, done.stderr) == (0, "")
    done = loriner("export", "shots.py", "-o", "other", "--task", "nowhere")
    assert done.returncode == 2 and "no task is called 'nowhere'" in done.stderr


def test_a_program_without_examples_needs_no_task(loriner: Command, tmp_path: Path) -> None:
    (tmp_path / "plain.py").write_text("def solve(model, question):\n    return model(question)\n")
    done = loriner("export", "plain.py", "-o", "out")
    assert (done.returncode, done.stderr) == (0, "")
    assert {each.name for each in (tmp_path / "out").iterdir()} == {
        "harness.py",
        "tools.py",
        "run_me.py",
        "README.md",
    }


def test_copying_the_nearest_item_stands_beside_the_scores(
    loriner: Command, stub: Stub, tmp_path: Path
) -> None:
    made = tmp_path / "tickets"
    made.mkdir()
    topics = ["parcel", "refund", "password", "invoice"]
    items = [
        {"id": n, "question": f"Ticket {n}: help me with my {topics[n % 4]} please", "answer": topics[n % 4]}
        for n in range(60)
    ]
    (made / "items.jsonl").write_text("".join(json.dumps(item) + "\n" for item in items))
    (made / "score.py").write_text("def score(item, answer):\n    return float(answer == item['answer'])\n")
    (made / "task.toml").write_text('name = "tickets"\nitems = "items.jsonl"\nscorer = "score.py:score"\n')
    options = ["--solver", stub.url, "--rounds", "1", "--harness", "library:minimal"]
    done = loriner("adapt", str(made), *options, "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["copied"]["score"] == 1.0 > document["constant"]["score"]
    assert any(
        "no more than copying the answer of the nearest feedback item" in each for each in document["remarks"]
    )
    table = loriner("adapt", str(made), *options).stdout
    assert "(nearest item copied)" in table and "(constant answer)" in table
    assert loriner("report", document["run"], "-o", "page.html").returncode == 0
    assert "the answer of the nearest feedback item" in (tmp_path / "page.html").read_text()
    sheet = json.loads(loriner("evaluate", f"{made},{made}", "--solver", stub.url, "--json").stdout)
    assert sheet["tasks"][0]["copied"]["score"] > 0.9
