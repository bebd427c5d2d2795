"""What users of other tools complain about in public, each complaint as a check of the command.

The stub is a local endpoint; nothing else is asked. `KILLS=15` kills more often than the default of 3.
Two of the twenty are elsewhere: luck taken for gain in test_no_luck.py; rates and the time of `--help` in
bench/chat.py and bench/trials.py.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement

from command import Command, command, environment, started
from loriner.harness.contract import from_library
from loriner.harness.rewrite import make_edits
from loriner.records import Trial
from loriner.store.database import Store
from loriner.tasks.by_name import open_task
from stub_server import Stub, adder

MINIMAL, PROGRAM = (from_library(name).source for name in ("minimal", "program_of_thought"))
GOOD = f"Run a program.\n\n{make_edits(MINIMAL, PROGRAM)}"
BLOCK = "<<<<<<< SEARCH\n{old}\n=======\n{new}\n>>>>>>> REPLACE\n"
RETURN = "    return found.group(1).strip() if found else reply.strip()"
N_KILLS = int(os.environ.get("KILLS", "3"))
SIZES = ("--feedback", "6", "--grade", "20", "--test", "12")
PRICE = 0.005
"""USD a call of the stub at the prices below."""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def adapt(loriner: Command, folder: Path, *more: str) -> subprocess.CompletedProcess[str]:
    return loriner("adapt", str(folder), "--rounds", "2", "-k", "2", *SIZES, "--json", *more)


def evaluate(loriner: Command, folder: Path, *more: str) -> dict[str, Any]:
    done = loriner("evaluate", str(folder), "--json", *more)
    assert done.returncode == 0, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def runs(loriner: Command) -> list[dict[str, Any]]:
    """All runs, newest first."""
    listed: list[dict[str, Any]] = json.loads(loriner("runs", "list", "--json").stdout)
    return listed


def stored(home: Path, run: str) -> list[tuple[str, Trial]]:
    """(purpose, trial) of a run, as another process reads them."""
    store = Store.open(home)
    try:
        return [
            (purpose, trial)
            for purpose in ("feedback", "grade", "test")
            for trial in store.trials(run, purpose=purpose, with_calls=True)
        ]
    finally:
        store.close()


def settled(document: dict[str, Any]) -> dict[str, Any]:
    """A document without its ids, times and bill."""
    return {key: value for key, value in document.items() if key not in ("run", "usage")}


def revising(*completions: str) -> Callable[[str], str | None]:
    """The stub's mind; as proposer it writes these completions one after the other, the last for ever."""
    written = itertools.chain(completions, itertools.repeat(completions[-1]))

    def mind(prompt: str) -> str | None:
        return next(written) if "def solve(" in prompt else adder(prompt)

    return mind


def until(stub: Stub, n_calls: int, process: subprocess.Popen[str]) -> None:
    """Waits for so many calls, or for the end of the process."""
    while len(stub.calls) < n_calls and process.poll() is None:
        time.sleep(0.01)


# 1. Everything fails, and the run "succeeds" with the seed.


def test_01_when_nothing_answers_the_run_fails_with_the_root_error_and_shows_no_best(
    loriner: Command, folder: Path
) -> None:
    done = adapt(loriner, folder, "--solver", "http://127.0.0.1:9/v1::none")
    assert done.returncode == 3
    assert set(json.loads(done.stdout)) == {"error"}
    assert "127.0.0.1:9" in done.stderr.strip().splitlines()[-1]
    assert "best" not in done.stderr
    run = runs(loriner)[0]
    assert run["status"] == "failed"
    failed = json.loads(loriner("runs", "show", run["run"], "--json").stdout)["trials"]
    assert len(failed) <= 10 and {each["score"] for each in failed} == {None}


# 2. No price before, no cap during.


@pytest.fixture
def priced(tmp_path: Path, stub: Stub) -> str:
    """The stub as a model with a price."""
    url, _, model = stub.url.rpartition("::")
    (tmp_path / "loriner.toml").write_text(
        f'[models.priced]\nbase_url = "{url}"\nmodel = "{model}"\nprice = {{ input = 100, output = 600 }}\n'
    )
    return "priced"


def test_02_the_price_is_known_before_and_capped_during(
    loriner: Command, folder: Path, stub: Stub, priced: str
) -> None:
    told = json.loads(adapt(loriner, folder, "--solver", priced, "--dry-run").stdout)
    assert stub.calls == [] and runs(loriner) == []
    assert 0 < told["usd"]["low"] < told["usd"]["high"]
    assert 0 < told["trials"]["low"] < told["trials"]["high"]

    done = adapt(loriner, folder, "--solver", priced, "--max-usd", "0.20", "--set", "concurrency=4")
    assert done.returncode == 4, done.stderr
    assert "0.2 US dollars" in done.stderr
    assert json.loads(done.stdout)["seed"]["test"]["n"] == 12
    assert 24 <= len(stub.calls) <= 40 + 4
    run = runs(loriner)[0]
    assert run["status"] == "budget"
    assert run["usage"]["usd"] == pytest.approx(PRICE * run["usage"]["calls"])

    done = loriner("adapt", "--resume", run["run"], "--json")
    assert done.returncode == 0, done.stderr
    used = json.loads(done.stdout)["usage"]
    assert told["calls"]["low"] <= used["calls"] <= told["calls"]["high"]
    assert told["usd"]["low"] <= used["usd"] <= told["usd"]["high"]
    assert used["usd"] == pytest.approx(PRICE * used["calls"])


@pytest.mark.parametrize("arguments", [["--split", "grade"], ["--split", "test", "--limit", "5"]])
def test_02_the_estimate_of_an_evaluation_holds_what_it_takes(
    loriner: Command, folder: Path, stub: Stub, arguments: list[str]
) -> None:
    told = evaluate(loriner, folder, "--solver", stub.url, *arguments, "--dry-run")
    assert stub.calls == [] and told["usd"] is None
    done = evaluate(loriner, folder, "--solver", stub.url, *arguments)
    assert told["trials"] == {"low": len(done["trials"]), "high": len(done["trials"])}
    assert told["calls"]["low"] <= done["usage"]["calls"] <= told["calls"]["high"]


def test_02_an_evaluation_is_capped_too_and_goes_on_where_it_stopped(
    loriner: Command, folder: Path, stub: Stub, home: Path
) -> None:
    asked = ["--solver", stub.url, "--split", "test", "--limit", "9", "--samples", "2"]
    done = loriner("evaluate", str(folder), *asked, "--max-trials", "7")
    assert done.returncode == 4 and "7 trials" in done.stderr
    run = runs(loriner)[0]["run"]
    assert len(stub.calls) == len(scored(home, run)) == 7  # those in flight are not thrown away
    document = evaluate(loriner, folder, "--resume", run)
    assert document["score"]["n"] == 9 and len(document["trials"]) == 18
    assert document["usage"]["calls"] == len(stub.calls) == 9  # at temperature 0 the second sample is known


# 3. The budget never advances, or fits no revision.


def test_03_a_proposer_that_writes_rubbish_ends_at_the_last_round(
    loriner: Command, folder: Path, stub: Stub
) -> None:
    done = adapt(loriner, folder, "--solver", stub.url, "--proposer", "scripted:echo")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert len(document["rounds"]) == 2
    assert {each["code"] for round in document["rounds"] for each in round["candidates"]} == {"no_edit_block"}
    assert document["best"]["harness"] == document["seed"]["harness"]


@pytest.mark.parametrize("unit", ["trials", "calls"])
def test_03_a_cap_that_fits_no_revision_is_refused_with_the_least_that_does(
    loriner: Command, folder: Path, stub: Stub, unit: str
) -> None:
    done = adapt(loriner, folder, "--solver", stub.url, f"--max-{unit}", "69")
    assert done.returncode == 2
    assert f"--max-{unit} 70" in done.stderr
    assert stub.calls == [] and runs(loriner) == []
    done = loriner("adapt", str(folder), "--solver", stub.url, "-k", "1", *SIZES, f"--max-{unit}", "70")
    assert done.returncode == 4, done.stderr
    shown = json.loads(loriner("runs", "show", runs(loriner)[0]["run"], "--json").stdout)
    assert len(shown["candidates"]) == 1 and len(shown["trials"]) >= 46


# 4. Stopping throws away what was paid for.


def test_04_stopping_keeps_what_was_paid_for(
    loriner: Command, folder: Path, stub: Stub, tmp_path: Path, home: Path
) -> None:
    stub.delay_s = 0.2
    asked = ["adapt", str(folder), "--solver", stub.url, "--rounds", "2", "-k", "2", *SIZES]
    process = started(tmp_path, home, *asked, "--set", "concurrency=2")
    until(stub, 40, process)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=60)
    assert process.returncode == 5, told
    run = runs(loriner)[0]
    assert run["status"] == "interrupted"
    in_flight = 2 * 2  # the two candidates of a round are evaluated side by side
    assert stub.n_answered - in_flight <= run["usage"]["calls"] <= stub.n_answered
    kept = scored(home, run["run"])
    assert len(kept) >= stub.n_answered - in_flight
    page = tmp_path / "report.html"
    assert loriner("report", run["run"], "-o", str(page)).returncode == 0
    assert "interrupted" in page.read_text(encoding="utf-8")

    stub.delay_s, before = 0.0, len(stub.calls)
    done = loriner("adapt", "--resume", run["run"], "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["run"] == run["run"] and document["best"]["test"]["score"] == 1.0
    assert not repeated(stub, before, kept)


def repeated(stub: Stub, since: int, trials: list[Trial]) -> set[str]:
    """What the stub was asked from its call `since` on, although these trials had it answered."""
    calls = [call for trial in trials for call in trial.calls if call.kind == "model"]
    paid = {json.dumps(call.request["messages"]) for call in calls}
    return paid & {json.dumps(call["messages"]) for call in stub.calls[since:]}


# 5. Resuming pays again, or comes to other numbers.


@pytest.mark.slow
def test_05_killed_at_any_moment_nothing_is_lost_or_paid_again_and_the_numbers_are_the_same(
    loriner: Command, folder: Path, stub: Stub, tmp_path: Path, home: Path
) -> None:
    asked = ["adapt", str(folder), "--solver", stub.url, "--rounds", "2", "-k", "2", *SIZES, "--seed", "7"]
    whole = command(tmp_path, tmp_path / "unbroken")(*asked, "--json")
    n_calls, chance = len(stub.calls), random.Random(20261129)
    stub.calls.clear()
    stub.delay_s, known, run = 0.05, list[Trial](), ""
    for moment in sorted(chance.sample(range(1, n_calls - 4), N_KILLS)):
        since = len(stub.calls)
        process = started(tmp_path, home, *(["adapt", "--resume", run] if run else asked))
        until(stub, max(moment, since + 1), process)
        run = run or runs(loriner)[0]["run"]
        acknowledged = scored(home, run)
        process.kill()
        process.communicate(timeout=60)
        assert runs(loriner)[0]["status"] == "killed"
        assert all(trial in scored(home, run) for trial in [*known, *acknowledged])
        assert not repeated(stub, since, known)
        known = scored(home, run)
    since = len(stub.calls)
    done = loriner("adapt", "--resume", run, "--json")
    assert done.returncode == 0, done.stderr
    assert not repeated(stub, since, known)
    assert settled(json.loads(done.stdout)) == settled(json.loads(whole.stdout))
    assert loriner("store", "check").returncode == 0


def test_05_equal_seeds_are_equal_runs_and_a_replay_asks_no_model(
    loriner: Command, folder: Path, stub: Stub, tmp_path: Path
) -> None:
    stub.mind = revising(f"Not yet.\n\n{BLOCK.format(old='no such line', new='x')}", GOOD)
    asked = ["--solver", stub.url, "--proposer", stub.url, "-k", "1", "--seed", "5"]
    first = json.loads(adapt(loriner, folder, *asked).stdout)
    stub.mind = revising(f"Not yet.\n\n{BLOCK.format(old='no such line', new='x')}", GOOD)
    second = json.loads(adapt(loriner, folder, *asked, "--home", str(tmp_path / "other")).stdout)
    assert settled(first) == settled(second)
    assert first["usage"]["calls"] == second["usage"]["calls"] == len(stub.calls) / 2

    before, stub.status = len(stub.calls), lambda number, prompt: 500
    done = loriner("adapt", "--replay", first["run"], "--offline", "--json")
    assert done.returncode == 0, done.stderr
    again = json.loads(done.stdout)
    assert settled(again) == settled(first) and again["run"] != first["run"]
    assert again["usage"]["calls"] == 0 and len(stub.calls) == before
    assert "Candidates" in loriner("runs", "show", first["run"]).stdout, "a replay is no arm of a comparison"


def test_05_a_replay_names_the_call_that_is_not_on_record(
    loriner: Command, folder: Path, stub: Stub, tmp_path: Path
) -> None:
    run = evaluate(loriner, folder, "--solver", stub.url, "--limit", "3", "--no-cache")["run"]
    (tmp_path / "other.py").write_text(MINIMAL.replace("Give your final", "Now give your final"))
    done = loriner("evaluate", "--replay", run, "--harness", "other.py")
    assert done.returncode == 3
    assert run in done.stderr and "Now give your final answer" in done.stderr
    (tmp_path / "same.py").write_text(f"# Another program that asks the same.\n{MINIMAL}")
    done = loriner("evaluate", "--replay", run, "--harness", "same.py", "--json")
    assert done.returncode == 0 and json.loads(done.stdout)["score"]["n"] == 3
    assert len(stub.calls) == 3


def test_05_two_processes_never_work_on_one_run(
    loriner: Command, folder: Path, stub: Stub, tmp_path: Path, home: Path
) -> None:
    stub.delay_s = 0.3
    process = started(tmp_path, home, "evaluate", str(folder), "--solver", stub.url, "--set", "concurrency=1")
    until(stub, 2, process)
    run = runs(loriner)[0]["run"]
    second = loriner("evaluate", "--resume", run)
    assert second.returncode == 2 and f"another process works on run {run}" in second.stderr
    assert runs(loriner)[0]["status"] == "running"
    process.kill()
    process.communicate(timeout=60)
    assert loriner("runs", "watch", run).returncode == 0  # nothing more comes of it
    stub.delay_s = 0.0
    again = loriner("evaluate", str(folder), "--solver", stub.url, "--resume", run, "--limit", "3")
    assert again.returncode == 0
    assert [line for line in again.stderr.splitlines() if line.startswith("note:")] == [
        "note: a resumed run keeps its original settings: evaluate.limit stays None, not 3"
    ]
    assert list((home / "running").iterdir()) == []


def scored(home: Path, run: str) -> list[Trial]:
    return [trial for _, trial in stored(home, run) if trial.score is not None]


# 6. A resumed run counts wrongly, and its totals start anew.


def test_06_after_two_failed_rounds_and_a_restart_all_rounds_are_done_and_totals_are_sums(
    loriner: Command, folder: Path, stub: Stub
) -> None:
    stub.mind = revising("Nothing to change.", BLOCK.format(old="no such line", new="x"), GOOD)
    asked = Counter[bool]()

    def status(number: int, prompt: str) -> int:
        asked["def solve(" in prompt] += 1
        return 401 if "def solve(" in prompt and asked[True] == 3 else 200

    stub.status = status
    arguments = ["--solver", stub.url, "--proposer", stub.url, "-k", "1", "--rounds", "4"]
    done = adapt(loriner, folder, *arguments)
    assert done.returncode == 3 and "401" in done.stderr
    stopped = runs(loriner)[0]
    assert stopped["usage"]["calls"] == stub.n_answered
    time.sleep(1.0)  # time between the sessions is not spent
    resumed = json.loads(loriner("adapt", "--resume", stopped["run"], "--json").stdout)
    codes = [each["candidates"][0]["code"] for each in resumed["rounds"]]
    assert codes == ["no_edit_block", "span_not_found", None]
    assert [each["accepted"] for each in resumed["rounds"]] == [False, False, True]
    log = json.loads(loriner("log", "sums", "--json").stdout)
    assert [entry["round"] for entry in log] == [3, 0]
    assert resumed["usage"]["calls"] == stub.n_answered
    assert resumed["usage"]["prompt_tokens"] == 20 * stub.n_answered
    assert resumed["usage"]["seconds"] > stopped["usage"]["seconds"]


# 7. A crash or a full disk damages the store.


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A folder on a disk of its own of 20 MB."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=20m", "tmpfs", str(place)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("mounting a small disk needs root and the right to mount")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def test_07_a_full_disk_ends_in_words_and_the_run_goes_on_once_there_is_space(
    folder: Path, stub: Stub, tmp_path: Path, small_disk: Path
) -> None:
    noise = random.Random(7)
    stub.mind = lambda prompt: f"<answer>1</answer>{noise.randbytes(30_000).hex()}"
    loriner, home = command(tmp_path, small_disk / "home"), small_disk / "home"
    (small_disk / "ballast").write_bytes(bytes(19_000_000))
    done = loriner("evaluate", str(folder), "--solver", stub.url, "--set", "concurrency=2")
    assert done.returncode == 6, done.stderr
    assert "disk is full" in done.stderr and "Traceback" not in done.stderr

    (small_disk / "ballast").unlink()
    assert loriner("store", "check").returncode == 0
    run, before = runs(loriner)[0]["run"], len(stub.calls)
    kept = scored(home, run)
    assert kept
    document = evaluate(loriner, folder, "--resume", run)
    assert document["score"]["n"] == len(document["trials"]) > len(kept)
    assert not repeated(stub, before, kept)


# 8. Errors of the infrastructure are scored as 0.


def test_08_an_endpoint_that_stumbles_changes_no_mean_and_what_failed_is_counted_apart(
    loriner: Command, folder: Path, stub: Stub, tmp_path: Path
) -> None:
    stub.mind = lambda prompt: adder(f"```python {prompt}" if "1" in prompt else prompt)
    asked = ["--solver", stub.url, "--harness", "library:program_of_thought"]
    clean = evaluate(loriner, folder, *asked)
    stub.headers = {"Retry-After": "0.1"}
    stub.status = lambda number, prompt: 503 if number % 5 == 0 else 200
    shaken = evaluate(loriner, folder, *asked, "--no-cache")
    assert shaken["infra_errors"] == 0 and shaken["score"] == clean["score"]

    items = [json.loads(line) for line in (folder / "items.jsonl").read_text().splitlines()]
    graded = {each["question"] for each in clean["trials"]}
    lost = next(each["question"] for each in items if each["id"] in graded)
    stub.status = lambda number, prompt: 503 if lost in prompt else 200
    without = evaluate(loriner, folder, *asked, "--no-cache", "--set", "concurrency=64")
    assert without["infra_errors"] == 1
    assert without["score"]["n"] == clean["score"]["n"] - 1
    assert clean["score"]["low"] <= without["score"]["score"] <= clean["score"]["high"]


# 9. The algorithm is right and the answer is lost.


def test_09_an_answer_lost_behind_a_right_reply_is_called_extraction_and_shown(
    loriner: Command, folder: Path, stub: Stub, tmp_path: Path
) -> None:
    def prose(prompt: str) -> str:
        one, two = map(int, re.findall(r"\d+", prompt)[:2])
        return f"We add {one} and {two}.\nThe answer is {one + two}."

    stub.mind = prose
    (tmp_path / "lost.py").write_text(
        "import re\n\n\ndef solve(model, question):\n"
        '    return re.search(r"\\d+", model(question)).group()  # the first number, not the last\n'
    )
    document = evaluate(loriner, folder, "--solver", stub.url, "--harness", "lost.py", "--limit", "4")
    assert document["score"]["score"] == 0.0
    found = json.loads(loriner("diagnose", document["run"], "--json").stdout)
    assert {each["fault"] for each in found} == {"extraction"}
    shown = loriner("diagnose", document["run"]).stdout
    assert "The answer is" in shown and "call 1 (model), line 2" in shown


# 10. Edits do not apply, and iterations are wasted.


def test_10_edits_that_do_not_apply_are_told_apart_and_cost_no_trial(
    loriner: Command, folder: Path, stub: Stub, tmp_path: Path, home: Path
) -> None:
    twice = "    prompt = prompt.strip()\n"
    (tmp_path / "start.py").write_text(MINIMAL.replace("    reply =", f"{twice}{twice}    reply ="))
    edits = {
        "span_not_found": (RETURN.replace("strip()", "strip(' ')"), "    return '1'"),
        "span_ambiguous": (twice.rstrip("\n"), "    prompt += '!'"),
        "empty_search": ("", "    return '1'"),
        "no_change": (RETURN, RETURN),
        "no_effect": (RETURN, RETURN.replace("else", " else")),
    }
    stub.mind = revising(*(BLOCK.format(old=old, new=new) for old, new in edits.values()))
    arguments = ["--proposer", stub.url, "--harness", "start.py", "-k", "1", "--rounds", "5"]
    done = adapt(loriner, folder, "--solver", stub.url, *arguments)
    document = json.loads(done.stdout)
    assert [each["candidates"][0]["code"] for each in document["rounds"]] == list(edits)
    harnesses = {trial.harness_id for _, trial in stored(home, document["run"])}
    assert harnesses == {document["seed"]["harness"]}
    prompts = [call["messages"][-1]["content"] for call in stub.calls if len(call["messages"]) > 1]
    assert "The nearest line of the program is" in prompts[1] and RETURN.strip() in prompts[1]
    for code, prompt in zip(edits, prompts[1:], strict=False):
        assert code in prompt


# 11. A timeout does not kill.

TO_THE_END = """
import ctypes, os, subprocess, sys, time
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER: orphans of the command become ours
done = subprocess.run(sys.argv[1:], capture_output=True, text=True)
time.sleep(0.5)
try:
    while os.waitpid(-1, os.WNOHANG)[0]:
        pass
    left = True
except ChildProcessError:
    left = False
print("LEFT" if left else done.stdout or done.stderr)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="orphans are found with a subreaper, which Linux has")
def test_11_a_program_that_does_not_end_is_killed_with_all_that_it_started(
    folder: Path, tmp_path: Path, home: Path
) -> None:
    (tmp_path / "endless.py").write_text(
        "import os\nimport signal\n\n\ndef solve(model, question):\n"
        "    which = int(question.split()[2]) % 3\n"
        "    if which == 0:\n        signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "    if which == 1:\n        os.fork()\n"
        "    while True:\n        pass\n"
    )
    arguments = ["evaluate", str(folder), "--solver", "scripted:echo", "--harness", "endless.py"]
    limits = ["--limit", "9", "--json", "--set", "limits.wall_s=1.0", "--set", "limits.cpu_s=1.0"]
    done = subprocess.run(
        [sys.executable, "-c", TO_THE_END, sys.executable, "-m", "loriner", *arguments, *limits],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=tmp_path,
        env=environment(home),
    )
    assert "LEFT" not in done.stdout
    trials = json.loads(done.stdout)["trials"]
    statuses = {each["status"] for each in trials}
    assert len(trials) == 9 and "timeout" in statuses and statuses <= {"timeout", "denied"}
    assert all(each["score"] == 0.0 for each in trials)


# 12. Candidate code sees the key, files, the network.


def test_12_a_program_sees_no_key_no_file_and_no_network(
    loriner: Command, folder: Path, stub: Stub, tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_KEY", "sk-" + "very-private")
    url, _, model = stub.url.rpartition("::")
    (tmp_path / "loriner.toml").write_text(
        f'[models.keyed]\nbase_url = "{url}"\nmodel = "{model}"\napi_key_env = "SECRET_KEY"\n'
    )
    host, port = re.findall(r"//([\d.]+):(\d+)", url)[0]
    attacks = {
        "environment": "import os\n    return repr(dict(os.environ)) + open('/proc/self/environ').read()",
        "items": f"return open({str(folder / 'items.jsonl')!r}).read()",
        "network": f"import socket\n    return repr(socket.create_connection(({host!r}, {port})))",
    }
    for name, body in attacks.items():
        (tmp_path / f"{name}.py").write_text(f"def solve(model, question):\n    {body}\n")
        arguments = ["--solver", "keyed", "--harness", f"{name}.py", "--limit", "2"]
        document = evaluate(loriner, folder, *arguments)
        for _, trial in stored(home, document["run"]):
            seen = trial.answer + trial.stdout + trial.error
            assert "very-private" not in seen and '"answer"' not in seen
            assert trial.status in (
                ("wrong", "denied", "crashed") if name == "environment" else ("denied", "crashed")
            )
    assert stub.calls == []
    assert all(b"very-private" not in file.read_bytes() for file in home.rglob("*") if file.is_file())


def test_12_doctor_names_the_sandbox_and_none_at_all_is_said_aloud(
    loriner: Command, folder: Path, stub: Stub
) -> None:
    told = json.loads(loriner("doctor", "--json").stdout)
    assert told["level"] >= 2 and {"TCP", "file"} <= {
        word for row in told["rows"] for word in row["name"].split()
    }
    bare = ["--set", "isolation=none"]
    refused = adapt(loriner, folder, "--solver", stub.url, *bare)
    assert refused.returncode == 3 and "--allow-reduced" in refused.stderr
    assert stub.calls == []
    assert loriner("doctor", *bare).returncode == 3
    allowed = adapt(loriner, folder, "--solver", "scripted:empty", "--rounds", "1", *bare, "--allow-reduced")
    assert allowed.returncode == 0 and "level 0" in allowed.stderr
    assert evaluate(loriner, folder, "--solver", stub.url, "--limit", "1", *bare)["level"] == 0


# 13. It fits the training items.


def test_13_the_test_questions_stay_sealed_until_the_end_and_a_table_of_answers_is_refused(
    loriner: Command, folder: Path, stub: Stub, tmp_path: Path, home: Path
) -> None:
    task = open_task(str(folder), home=home)
    questions = [*task.questions("feedback")[:6], *task.questions("grade")[:20]]
    table = {question.text.split()[2]: question.target for question in questions}
    known = f"    return {table!r}[question.split()[2]]"
    stub.mind = revising(BLOCK.format(old=RETURN, new=known), GOOD)
    arguments = ["--proposer", stub.url, "-k", "1"]
    done = adapt(loriner, folder, "--solver", stub.url, *arguments)
    assert done.returncode == 0, done.stderr
    run = runs(loriner)[0]["run"]
    document = json.loads(done.stdout)
    assert [each["candidates"][0]["code"] for each in document["rounds"]] == ["memorised", None]
    tested = {trial.harness_id for purpose, trial in stored(home, run) if purpose == "test"}
    assert tested == {document["seed"]["harness"], document["best"]["harness"]}
    assert document["best"]["grade"]["n"] == 20 and document["best"]["test"]["n"] == 12
    prompts = [call["messages"][-1]["content"] for call in stub.calls]
    sealed = [each.text for each in task.questions("test")]
    first = next(n for n, prompt in enumerate(prompts) if any(text in prompt for text in sealed))
    assert not any("# Program" in prompt for prompt in prompts[first:])
    page = tmp_path / "report.html"
    assert loriner("report", run, "-o", str(page)).returncode == 0
    words = page.read_text(encoding="utf-8").lower()
    assert "feedback" in words and "grade" in words and "test" in words and "memorised" in words


# 14. Luck is taken for gain: test_no_luck.py. Here: no score without n and interval.


def test_14_every_score_has_n_and_an_interval(loriner: Command, folder: Path, stub: Stub) -> None:
    done = loriner("adapt", str(folder), "--solver", stub.url, "--rounds", "1", *SIZES)
    assert done.returncode == 0, done.stderr
    row = next(line for line in done.stdout.splitlines() if re.match(r"\W*best ", line))
    assert len(re.findall(r"\d\.\d\d \[\d\.\d\d, \d\.\d\d\]\s*\W\s*\d+", row)) == 2


# 15. The cache hides sampling, or goes stale.


def test_15_samples_are_different_calls_known_calls_are_free_and_changed_programs_ask_anew(
    loriner: Command, folder: Path, stub: Stub, tmp_path: Path, home: Path
) -> None:
    count = itertools.count()
    stub.mind = lambda prompt: f"reply {next(count)}"
    (tmp_path / "warm.py").write_text(
        "def solve(model, question):\n    return model(question, temperature=1.0)\n"
    )
    arguments = ["--solver", stub.url, "--harness", "warm.py", "--limit", "1", "--samples", "5"]

    def answers(*more: str) -> list[str]:
        document = evaluate(loriner, folder, *arguments, *more)
        return [trial.answer for _, trial in stored(home, document["run"])]

    first = answers()
    assert len(set(first)) == 5 and len({call["seed"] for call in stub.calls}) == 5
    assert answers() == first and len(stub.calls) == 5
    assert not set(answers("--seed", "1")) & set(first) and len(stub.calls) == 10
    assert not set(answers("--no-cache")) & set(first) and len(stub.calls) == 15
    (tmp_path / "warm.py").write_text(
        "def solve(model, question):\n    return model(question + '!', temperature=1.0)\n"
    )
    assert not set(answers()) & set(first) and len(stub.calls) == 20


# 16. One cannot see what changed. 17. The result is of no use outside the tool.


def test_16_what_changed_is_seen_by_our_verbs_by_git_and_in_one_file(
    loriner: Command, folder: Path, stub: Stub, tmp_path: Path, home: Path
) -> None:
    document = json.loads(adapt(loriner, folder, "--solver", stub.url).stdout)
    seed, best = document["seed"]["harness"], document["best"]["harness"]
    assert [each["harness_id"] for each in json.loads(loriner("log", "sums", "--json").stdout)] == [
        best,
        seed,
    ]
    assert "+from tools import run_python" in loriner("diff", seed[:10], best[:10]).stdout.replace("\r", "")
    assert loriner("revert", "sums", seed[:10]).returncode == 0
    if git := shutil.which("git"):
        (repository,) = (
            path.parent for path in (home / "registry").rglob("HEAD") if "logs" not in path.parts
        )
        told = subprocess.run(
            [git, f"--git-dir={repository}", "-c", "safe.directory=*", "log", "--all", "--stat"],
            capture_output=True,
            text=True,
        )
        assert told.returncode == 0 and told.stdout.count("\ncommit ") >= 2
    page = tmp_path / "report.html"
    assert loriner("report", document["run"], "-o", str(page)).returncode == 0
    html = page.read_text(encoding="utf-8")
    assert not re.search(r"""(src|href)=["']?(https?:)?//|url\(\s*["']?https?:|@import""", html)
    assert "run_python" in html


ALONE = """
import json, sys, urllib.request
sys.path.insert(0, sys.argv[1])
from harness import solve

def model(prompt, **options):
    body = {"messages": [{"role": "user", "content": prompt}], "model": "stub", "temperature": 0.0}
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(sys.argv[2], json.dumps(body).encode(), headers)
    return json.load(urllib.request.urlopen(request))["choices"][0]["message"]["content"]

items = [json.loads(line) for line in open(sys.argv[3])][:10]
right = [solve(model, item["question"]) == item["answer"] for item in items]
print(sum(right) / len(right), "loriner" in sys.modules)
"""


def test_17_an_exported_program_scores_the_same_with_plain_python(
    loriner: Command, folder: Path, stub: Stub, tmp_path: Path
) -> None:
    (tmp_path / "short.py").write_text(
        "from tools import run_python\n\n\ndef solve(model, question):\n"
        "    reply = model(question + ' Reply with one ```python block.')\n"
        "    return run_python(reply.split('```python')[1].split('```')[0]).strip()\n"
    )
    document = evaluate(loriner, folder, "--solver", stub.url, "--harness", "short.py")
    assert document["score"]["score"] == 1.0
    assert loriner("export", document["harness"][:12], "-o", "out").returncode == 0
    url = f"{stub.url.rpartition('::')[0]}/chat/completions"
    done = subprocess.run(
        [sys.executable, "-I", "-c", ALONE, str(tmp_path / "out"), url, str(folder / "items.jsonl")],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.stdout == "1.0 False\n", done.stderr


# 18. Local endpoints are second class, and a rate limit is fatal.


def test_18_an_address_and_a_name_are_enough_and_a_rate_limit_fails_no_trial(
    loriner: Command, folder: Path, stub: Stub
) -> None:
    stub.headers = {"Retry-After": "0.2"}
    stub.status = lambda number, prompt: 429 if number % 4 == 0 else 200
    document = evaluate(loriner, folder, "--solver", stub.url)
    assert {each["status"] for each in document["trials"]} == {"wrong"}
    assert document["infra_errors"] == 0
    assert document["usage"]["calls"] == len(document["trials"]) == stub.n_answered < len(stub.calls)


# 19. Thinking eats the reply; an unknown price is taken for $0.


def test_19_a_reply_that_only_thought_is_named_with_advice(
    loriner: Command, folder: Path, stub: Stub
) -> None:
    stub.mind, stub.finish_reason = lambda prompt: None, "length"
    document = evaluate(loriner, folder, "--solver", stub.url, "--limit", "3")
    assert {each["status"] for each in document["trials"]} == {"no_answer"}
    told = loriner("diagnose", document["run"]).stdout
    assert "truncated_thinking" in told and "max_tokens" in told


def test_19_an_unknown_price_is_unpriced_everywhere_and_no_cap_on_money_starts_without_one(
    loriner: Command, folder: Path, stub: Stub
) -> None:
    for verb in (["evaluate"], ["adapt", *SIZES]):
        refused = loriner(verb[0], str(folder), "--solver", stub.url, *verb[1:], "--max-usd", "1")
        assert refused.returncode == 2
        assert "no known price" in refused.stderr and "price = {" in refused.stderr
    assert stub.calls == [] and runs(loriner) == []
    arguments = ["evaluate", str(folder), "--solver", stub.url, "--limit", "2"]
    assert "unpriced" in loriner(*arguments, "--dry-run").stdout
    assert "unpriced" in loriner(*arguments).stdout
    run = runs(loriner)[0]
    assert run["usage"]["usd"] is None
    assert "unpriced" in loriner("runs", "show", run["run"]).stdout


# 20. The install is heavy, and the tool writes and calls where it should not.


def test_20_the_core_is_small_and_few() -> None:
    root = Path(__file__).parents[2]
    wanted = tomllib.loads((root / "pyproject.toml").read_text())["project"]["dependencies"]
    found = dict[str, int]()
    while wanted:
        needed = Requirement(wanted.pop())
        if needed.name in found or (needed.marker and not needed.marker.evaluate({"extra": ""})):
            continue
        installed = distribution(needed.name)
        wanted += installed.requires or []
        paths = [Path(str(file.locate())) for file in installed.files or () if file.suffix != ".pyc"]
        found[needed.name] = sum(path.stat().st_size for path in paths if path.is_file())
    files = [path for path in (root / "src").rglob("*") if path.is_file() and path.suffix != ".pyc"]
    trained = sum(path.stat().st_size for path in files if path.suffix == ".gguf")
    own = sum(path.stat().st_size for path in files) - trained
    assert len(found) + 1 <= 30
    assert sum(found.values()) + own <= 40e6
    assert trained <= 20e6, "the proposer that comes with the package"


@pytest.fixture
def no_network() -> list[str]:
    """What to put before a command so that it runs in a network namespace without routes."""
    prefix = ["unshare", "-n"] if os.geteuid() == 0 else ["unshare", "-rn"]
    if shutil.which("unshare") is None or subprocess.run([*prefix, "true"], capture_output=True).returncode:
        pytest.skip("a network namespace needs unshare and the right to make one")
    return prefix


def test_20_it_works_without_a_network_and_writes_below_its_home_alone(
    folder: Path, tmp_path: Path, no_network: list[str]
) -> None:
    place, home = tmp_path / "place", tmp_path / "home"
    place.mkdir()
    before = sorted(folder.rglob("*"))
    variables = {**environment(home), "HOME": str(place), "XDG_CACHE_HOME": str(place / "cache")}
    for arguments in (
        ["adapt", str(folder), "--solver", "scripted:echo", "--rounds", "1", *SIZES],
        ["evaluate", str(folder), "--solver", "scripted:echo"],
        ["tasks", "check", str(folder)],
        ["runs", "list"],
        ["store", "check"],
    ):
        done = subprocess.run(
            [*no_network, sys.executable, "-m", "loriner", *arguments],
            capture_output=True,
            text=True,
            timeout=120,
            cwd=place,
            env=variables,
        )
        assert done.returncode == 0, done.stderr
    assert list(place.rglob("*")) == []
    assert [path for path in sorted(folder.rglob("*")) if "__pycache__" not in path.parts] == before
