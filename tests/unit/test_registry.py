"""The registry: versions as commits that any git reads."""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from loriner.errors import ConfigError, StoreError
from loriner.records import Edit, Harness, Revision, Version
from loriner.store.blame import blame
from loriner.store.commit_message import Evidence
from loriner.store.registry import Registry

TASK = "rg:count_primes"
SEED = Harness("def solve(model, question):\n    reply = model(question)\n    return reply\n")
BETTER = Harness("def solve(model, question):\n    reply = model(question)\n    return reply.split()[-1]\n")
BEST = Harness(
    "def solve(model, question):\n"
    "    reply = model(question + ' Think.')\n"
    "    return reply.split()[-1]\n"
    "    # the end\n"
)


def keep(
    registry: Registry,
    harness: Harness,
    parent: Harness | None,
    *,
    run: str = "run-1",
    number: int = 0,
    score: float | None = 0.5,
    before: float | None = None,
    note: str = "",
    task: str = TASK,
) -> str:
    version = Version(
        harness_id=harness.id,
        parent_id=parent.id if parent else None,
        episode_id=run,
        round=number,
        revision=Revision(edits=(Edit("a\n", "b\n"),), note=note) if parent else None,
        mean_score=score,
        accepted=True,
    )
    evidence = Evidence(
        proposer="catalogue",
        parent_score=before,
        low=0.25,
        high=0.75,
        n_trials=24,
        usd=0.5,
        faults_before={"extraction": 12, "format": 1},
        faults_after={"extraction": 2},
    )
    return registry.commit(version, harness, task=task, evidence=evidence)


@pytest.fixture
def registry(tmp_path: Path) -> Registry:
    """Three versions of one task: 0.1, 0.5, 0.75."""
    registry = Registry.open(tmp_path)
    keep(registry, SEED, None, score=0.1)
    keep(
        registry, BETTER, SEED, number=1, score=0.5, before=0.1, note="Take the last word.\nIt is the answer."
    )
    keep(registry, BEST, BETTER, number=2, score=0.75, before=0.5)
    return registry


def git(registry: Registry, *arguments: str) -> str:
    if shutil.which("git") is None:
        pytest.skip("no git binary on this machine")
    command = ["git", "-c", "safe.directory=*", "-C", str(registry.path), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_the_log_is_newest_first_and_says_how_each_version_fared(registry: Registry) -> None:
    log = registry.log(TASK)
    assert [entry.harness_id for entry in log] == [BEST.id, BETTER.id, SEED.id]
    better = log[1]
    assert better.subject == "Round 1: Take the last word. It is the answer."
    assert (better.run, better.round, better.parent_id, better.score) == ("run-1", 1, SEED.id, 0.5)
    assert better.change == pytest.approx(0.4)
    assert better.evidence == Evidence(
        proposer="catalogue",
        parent_score=0.1,
        low=0.25,
        high=0.75,
        n_trials=24,
        usd=0.5,
        faults_before={"extraction": 12, "format": 1},
        faults_after={"extraction": 2},
    )
    assert log[2].parent_id is None and log[2].change is None
    assert registry.tasks() == [TASK]


def test_any_git_reads_it(registry: Registry) -> None:
    assert git(registry, "log", "--format=%s", "tasks/rg.count_primes").splitlines() == [
        "Round 2",
        "Round 1: Take the last word. It is the answer.",
        "Seed of rg:count_primes",
    ]
    assert git(registry, "show", "best/rg.count_primes:harness.py") == BEST.source
    assert "+    return reply.split()[-1]" in git(
        registry, "log", "-p", "-2", "--format=", "tasks/rg.count_primes"
    )
    trailers = git(registry, "log", "-1", "--format=%(trailers:only,unfold)", "tasks/rg.count_primes").split(
        "\n"
    )
    assert "Score: 0.7500 [0.2500, 0.7500]" in trailers
    assert f"Candidate: {BEST.id}" in trailers
    tags = ["accepted/rg.count_primes/0000", "accepted/rg.count_primes/0001", "accepted/rg.count_primes/0002"]
    assert git(registry, "tag").split() == [*tags, "best/rg.count_primes"]
    git(registry, "fsck", "--strict")


def test_git_clones_it_to_a_working_folder(registry: Registry, tmp_path: Path) -> None:
    git(registry, "clone", "-q", str(registry.path), str(tmp_path / "clone"))
    assert (tmp_path / "clone" / "harness.py").read_text() == BEST.source


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        (TASK, BEST),
        ("tasks/rg:count_primes", BEST),
        ("tasks/rg.count_primes", BEST),
        ("best/rg:count_primes", BEST),
        ("accepted/rg:count_primes/0001", BETTER),
        ("run-1", BEST),
        (BETTER.id, BETTER),
        (BETTER.id[:10], BETTER),
    ],
)
def test_a_version_has_many_names(registry: Registry, name: str, wanted: Harness) -> None:
    assert registry.resolve(name).harness_id == wanted.id
    assert registry.harness(name) == wanted


def test_a_commit_is_found_by_its_first_digits(registry: Registry) -> None:
    for entry in registry.log(TASK):
        assert registry.resolve(entry.sha[:12]) == entry
        assert registry.resolve(entry.sha) == entry


def test_best_and_seed_are_names_within_a_task(registry: Registry) -> None:
    assert registry.harness("best", task=TASK) == BEST
    assert registry.harness("seed", task=TASK) == SEED
    with pytest.raises(ConfigError, match="no version 'best'"):
        registry.harness("best")


def test_an_unknown_name_says_what_is_near(registry: Registry) -> None:
    with pytest.raises(ConfigError, match=r"nearest: .*rg:count_primes"):
        registry.resolve("rg:count_prime")
    with pytest.raises(ConfigError, match="no version 'rg:maze'"):
        registry.log("rg:maze")
    with pytest.raises(ConfigError):
        registry.resolve("")


def test_diff_shows_the_change(registry: Registry) -> None:
    diff = registry.diff(SEED.id, BETTER.id)
    assert "-    return reply\n" in diff and "+    return reply.split()[-1]\n" in diff
    assert registry.diff("best/rg:count_primes", TASK) == ""


def test_revert_is_a_new_commit_and_work_goes_on_from_it(registry: Registry) -> None:
    sha = registry.revert(TASK, BETTER.id[:12])
    log = registry.log(TASK)
    assert len(log) == 4 and log[0].sha == sha
    assert log[0].subject.startswith("Revert to ") and log[0].score == 0.5
    assert registry.harness(TASK) == BETTER
    assert registry.harness("best", task=TASK) == BEST
    assert log[0].reverts_to == log[2].sha
    next_one = Harness(BETTER.source + "# later\n")
    keep(registry, next_one, BETTER, run="run-2", number=1)
    origins = {line.text: line.entry for line in blame(registry, TASK)}
    assert origins["    return reply.split()[-1]"].sha == log[2].sha, "credit stays with who wrote it"


def test_blame_names_the_version_and_its_gain(registry: Registry) -> None:
    lines = blame(registry, "best/rg:count_primes")
    assert [line.text for line in lines] == BEST.source.splitlines()
    assert [line.entry.round for line in lines] == [0, 2, 1, 2]
    assert [line.entry.change for line in lines] == [
        None,
        pytest.approx(0.25),
        pytest.approx(0.4),
        pytest.approx(0.25),
    ]
    assert lines[2].as_json()["subject"] == "Round 1: Take the last word. It is the answer."


def test_the_same_version_is_committed_once(registry: Registry) -> None:
    before = registry.log(TASK)
    assert keep(registry, SEED, None, run="run-9", score=0.2) == before[2].sha
    assert keep(registry, BETTER, SEED, number=1) == before[1].sha
    assert registry.log(TASK) == before
    assert registry.resolve("run-9").harness_id == SEED.id


def test_another_run_from_the_seed_rewrites_nothing(registry: Registry) -> None:
    other = Harness(SEED.source.replace("return reply", "return reply.strip()"))
    keep(registry, SEED, None, run="run-2")
    sha = keep(registry, other, SEED, run="run-2", number=1, score=0.3, before=0.1)
    log = registry.log(TASK)
    assert [entry.harness_id for entry in log] == [other.id, BEST.id, BETTER.id, SEED.id]
    assert [entry.harness_id for entry, _ in registry.lineage(sha)] == [SEED.id, other.id]
    assert registry.harness(TASK) == other
    assert registry.harness("best", task=TASK) == BEST, "0.3 is no better than 0.75"
    assert {line.entry.harness_id for line in blame(registry, TASK)} == {SEED.id, other.id}
    assert "return reply.strip()" in git(
        registry, "blame", "--first-parent", "tasks/rg.count_primes", "harness.py"
    )


def test_a_task_named_by_its_folder_is_found_by_its_name(registry: Registry) -> None:
    folder = "data/of/a/project/with/a/long/path/to/its/tasks/and/further/down"
    with pytest.raises(ConfigError, match=rf"nearest: {TASK}$"):
        registry.resolve(f"{folder}/{TASK}")


def test_a_parent_that_was_never_committed_is_named(registry: Registry) -> None:
    with pytest.raises(ConfigError, match="no version of 'rg:count_primes'"):
        keep(registry, BEST, Harness("x = 1\n"), number=7)


def test_tags(registry: Registry) -> None:
    sha = registry.tag("release-1", BETTER.id)
    assert registry.resolve("release-1").sha == sha
    assert registry.tag("release-1", BETTER.id) == sha
    with pytest.raises(ConfigError, match="already names"):
        registry.tag("release-1", "best/rg:count_primes")
    for bad in ("a b", "best/mine", "x..y", "x.lock", "-d", ""):
        with pytest.raises(ConfigError):
            registry.tag(bad, BETTER.id)


@pytest.mark.parametrize(
    ("name", "by"),
    [
        ("run-1", "the branch runs/run-1"),
        ("sums", "the branch tasks/sums"),
        ("f391381ea1", "the id of a commit or a harness"),
        ("20261129-182403-k3f9", "the id of a run"),
        ("HEAD", "git keeps HEAD"),
        ("refs/heads/sums", "git keeps refs"),
        ("best", "the registry keeps best"),
        ("accepted", "the registry keeps accepted"),
        ("tasks/next", "the registry keeps tasks"),
        ("seed", "the registry keeps seed"),
        ("v1", "there is 'v1/x'"),
        ("v1/x/y", "there is 'v1/x'"),
    ],
)
def test_a_tag_takes_no_name_that_means_something_else(registry: Registry, name: str, by: str) -> None:
    keep(registry, SEED, None, run="run-2", task="sums")
    keep(registry, BETTER, SEED, run="run-2", number=1, task="sums")
    registry.tag("v1/x", BETTER.id)
    with pytest.raises(ConfigError, match=f"cannot be a tag: .*{re.escape(by)}.*: choose another name"):
        registry.tag(name, SEED.id)
    assert registry.resolve("sums").harness_id == BETTER.id
    registry.tag("v1/y", SEED.id)
    registry.tag("v1-x", SEED.id)


def by_hand(registry: Registry, clone: Path, source: str) -> None:
    """A commit with an annotated tag, pushed from a clone."""
    git(registry, "clone", "-q", str(registry.path), str(clone))
    (clone / "harness.py").write_text(source)
    who = ["-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "safe.directory=*"]
    for arguments in (["commit", "-qam", "Tidy\n\nScore: high\nRound: none"], ["tag", "-am", "t", "mine"]):
        subprocess.run(["git", *who, "-C", str(clone), *arguments], check=True)
    push = ["git", *who, "-C", str(clone), "push", "-q", "--follow-tags", "origin", "HEAD"]
    subprocess.run(push, check=True)


def test_a_commit_by_hand_is_a_version_too(registry: Registry, tmp_path: Path) -> None:
    by_hand(registry, tmp_path / "clone", BEST.source + "# by hand\n")
    head = registry.log(TASK)[0]
    assert (head.subject, head.score, head.round) == ("Tidy", None, 0)
    assert head.harness_id == Harness(BEST.source + "# by hand\n").id
    assert registry.resolve("mine").sha == head.sha
    assert [line.entry.round for line in blame(registry, TASK)][:4] == [0, 2, 1, 2]


def test_packed_by_git_it_still_reads_and_writes(registry: Registry) -> None:
    git(registry, "gc", "-q", "--prune=now")
    assert len(registry.log(TASK)) == 3
    fresh = Registry(registry.path.parent)
    assert [entry.sha for entry in fresh.log(TASK)] == [entry.sha for entry in registry.log(TASK)]
    keep(fresh, Harness(BEST.source + "# more\n"), BEST, number=3)
    assert len(fresh.log(TASK)) == 4


def test_what_git_lost_is_written_anew_from_the_store(registry: Registry) -> None:
    registry.tag("mine", BETTER.id)
    log, names = registry.log(TASK), git(registry, "show-ref", "--head")
    (registry.path / "objects" / log[1].sha[:2] / log[1].sha[2:]).unlink()
    assert Registry(registry.path.parent).log(TASK) == log, "the rows know all of it"
    with pytest.raises(subprocess.CalledProcessError):
        git(registry, "fsck", "--strict")
    assert Registry(registry.path.parent).rebuild() == 3
    git(registry, "fsck", "--strict")
    assert git(registry, "show-ref", "--head") == names
    assert registry.log(TASK) == log
    assert [each.name for each in registry.path.parent.glob("registry.1*")], "the old one is kept"


def test_without_a_repository_it_is_written_from_the_store(registry: Registry) -> None:
    names = git(registry, "show-ref", "--head")
    shutil.rmtree(registry.path)
    again = Registry.open(registry.path.parent)
    assert git(again, "show-ref", "--head") == names
    git(again, "fsck", "--strict")


def test_a_hand_made_commit_is_written_anew_as_it_was(registry: Registry, tmp_path: Path) -> None:
    by_hand(registry, tmp_path / "clone", BEST.source + "# by hand\n")
    log = registry.log(TASK)
    shutil.rmtree(registry.path)
    again = Registry.open(registry.path.parent)
    assert again.log(TASK) == log
    git(again, "fsck", "--strict")


def test_a_lost_damaged_repository_of_an_older_home_is_said(tmp_path: Path) -> None:
    """Its versions stand there alone: nothing is made up in their place."""
    first = Registry.open(tmp_path)
    sha = keep(first, SEED, None)
    shutil.move(first.path, tmp_path / "older" / "registry")
    (tmp_path / "older" / "registry" / "objects" / sha[:2] / sha[2:]).unlink()
    with pytest.raises(StoreError, match=r"object .* missing or unreadable"):
        Registry.open(tmp_path / "older")


def test_a_folder_that_is_no_repository_is_refused(tmp_path: Path) -> None:
    (tmp_path / "registry").mkdir()
    (tmp_path / "registry" / "HEAD").write_text("garbage")
    with pytest.raises(StoreError, match="no readable git repository"):
        Registry.open(tmp_path)


MORE = Harness(BEST.source + "# more\n")
BLOB = hashlib.sha1(f"blob {len(MORE.source)}\0{MORE.source}".encode()).hexdigest()


@pytest.mark.parametrize(
    "name",
    [
        "refs/heads/tasks/rg.count_primes.lock",
        "refs/heads/runs/run-1.lock",
        f"objects/{BLOB[:2]}/{BLOB[2:]}.lock",
    ],
    ids=["task", "run", "object"],
)
def test_a_lock_left_by_a_killed_process_is_swept_away(registry: Registry, name: str) -> None:
    (registry.path / name).parent.mkdir(exist_ok=True)
    (registry.path / name).write_bytes(b"")
    keep(registry, MORE, BEST, number=3)
    assert len(registry.log(TASK)) == 4
    assert not (registry.path / name).exists()
