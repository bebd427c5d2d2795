"""The registry: accepted harnesses as commits of an ordinary bare git repository, `registry` in `--home`.

Each task is a branch, and each commit on it holds one file, `harness.py`. A commit's first parent is the
version it was made from, its last parent the task's previous one; so nothing is ever rewritten, also where a
run starts again from the seed. One process writes at a time; any git may read.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from loriner.errors import ConfigError, StoreError
from loriner.records import Harness, Version
from loriner.store import refs
from loriner.store.entry import Entry, Evidence
from loriner.store.repository import FILE_NAME, Repository, create, locked, opened

FOLDER = "registry"


class Registry:
    """The versions of one `--home`. Holds no open file, so there is nothing to close."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._known: dict[str, Entry] = {}

    @classmethod
    def open(cls, home: Path) -> Registry:
        """The registry in a folder, which is made if need be.

        Raises:
            StoreError: it cannot be made or read, in words.
        """
        registry = cls(home / FOLDER)
        try:
            create(registry.path)
        except OSError as error:
            raise StoreError(f"making the registry {registry.path}: {error}: use another --home") from error
        with registry._reading():
            return registry

    @contextmanager
    def _reading(self) -> Iterator[Repository]:
        with opened(self.path, self._known) as repository:
            yield repository

    @contextmanager
    def _writing(self) -> Iterator[Repository]:
        with locked(self.path), opened(self.path, self._known) as repository:
            yield repository

    # Writing

    def commit(
        self, version: Version, harness: Harness, *, task: str, evidence: Evidence, message: str = ""
    ) -> str:
        """The commit of a version of a task: a new one, or the one that already holds it.

        The same (run, round, harness) is committed once, so a resumed run may say it again; a seed that the
        task already has, from any run, is not committed again. An accepted version gets the next
        `accepted/TASK/NNNN`; the one with the highest score so far is `best/TASK`. Without a message, the
        note of the revision says what changed.

        Raises:
            ConfigError: the parent is no version of the task.
            StoreError: the registry cannot be written.
        """
        with self._writing() as repository:
            branch = refs.task_ref(task)
            history = list(repository.history(repository.find(branch)))
            known = _same(history, version)
            entry = known or repository.write(harness, _entry(history, version, task, evidence, message))
            place = len(history) - 1 - history.index(known) if known else len(history)
            _name(repository, task, version, entry, place)
            if known is None:
                repository.check_out_by_default(branch)
                repository.point(branch, entry)  # last: until here a killed process has committed nothing
            return entry.sha

    def keep(self, version: Version, harness: Harness, *, task: str, evidence: Evidence) -> str:
        """The commit of a version that led and was not accepted: `candidate/TASK`, until another leads.

        It stands on no branch. The same (run, round, harness) is committed once.

        Raises:
            ConfigError: the parent is no version of the task.
            StoreError: the registry cannot be written.
        """
        with self._writing() as repository:
            ref = refs.candidate_ref(task)
            kept = repository.find(ref)
            entry = _same([] if kept is None else [kept], version)
            if entry is None:
                history = list(repository.history(repository.find(refs.task_ref(task))))
                entry = repository.write(harness, _entry(history, version, task, evidence, ""))
                repository.point(ref, entry)
            return entry.sha

    def take(self, task: str) -> str:
        """The commit that makes `candidate/TASK` the task's current and best version, on a person's word.

        Raises:
            ConfigError: no such task, or it has no candidate, or the candidate is its best already.
        """
        with self._writing() as repository:
            head, kept = self._head(repository, task), repository.find(refs.candidate_ref(task))
            best = repository.find(refs.best_ref(task))
            if kept is None:
                raise ConfigError(f"{task} has no candidate: the last search left none that led")
            if best is not None and best.harness_id == kept.harness_id:
                raise ConfigError(f"candidate/{task} is the best version of {task} already: nothing to take")
            place = len(list(repository.history(head)))
            parents = tuple(dict.fromkeys([*kept.parents[:1], head.sha]))
            new = replace(kept, parents=parents, subject=f"Taken unconfirmed: {kept.subject}")
            entry = repository.write(Harness(repository.source(kept.sha)), new)
            repository.point(refs.accepted_ref(task, place), entry)
            repository.point(refs.best_ref(task), entry)
            repository.point(refs.task_ref(task), entry)
            return entry.sha

    def revert(self, task: str, name: str) -> str:
        """The new commit that makes an earlier version the task's current one again.

        Raises:
            ConfigError: no such task or version.
        """
        target = self.resolve(name, task=task)
        with self._writing() as repository:
            head = self._head(repository, task)
            new = replace(
                target,
                parents=(head.sha,),
                subject=f"Revert to {target.sha[:10]}: {target.subject}",
                parent_id=head.harness_id,
                reverts_to=target.sha,
                evidence=replace(target.evidence, parent_score=head.score),
            )
            entry = repository.write(Harness(repository.source(target.sha)), new)
            repository.point(refs.task_ref(task), entry)
            return entry.sha

    def tag(self, name: str, version: str) -> str:
        """The commit that is now called `name`.

        Raises:
            ConfigError: no such version, or the name is not allowed or taken.
        """
        entry, ref = self.resolve(version), refs.tag_ref(name)
        with self._writing() as repository:
            taken = repository.find(ref)
            if taken is not None and taken.sha != entry.sha:
                raise ConfigError(f"the tag {name!r} already names {taken.sha[:10]}: choose another name")
            _require_free(repository, name)
            repository.point(ref, entry)
        return entry.sha

    # Reading

    def tasks(self) -> list[str]:
        """The names of the tasks that have versions."""
        with self._reading() as repository:
            return [refs.decoded(name) for name in repository.names("refs/heads/tasks/")]

    def log(self, task: str) -> list[Entry]:
        """The versions of a task, newest first.

        Raises:
            ConfigError: no such task.
        """
        with self._reading() as repository:
            return list(repository.history(self._head(repository, task)))

    def resolve(self, name: str, *, task: str | None = None) -> Entry:
        """The version that `name` means.

        It may be a tag, a branch, a task (its current version), a run (its last version), a harness id or a
        commit, both also shortened to at least four digits. With a task given, also `best` and `seed`.

        Raises:
            ConfigError: nothing, or more than one version, is called so; names what is near.
        """
        with self._reading() as repository:
            if task is not None and name in ("best", "seed"):
                history = list(repository.history(self._head(repository, task)))
                return (repository.find(refs.best_ref(task)) if name == "best" else None) or history[-1]
            for ref in refs.candidates(name):
                entry = repository.find(ref)
                if entry is not None:
                    return entry
            found = _by_digits(repository, name) if refs.DIGITS.fullmatch(name) else []
            if len(found) == 1:
                return found[0]
            raise ConfigError(_not_one(repository, name, found))

    def harness(self, name: str, *, task: str | None = None) -> Harness:
        """The program of a version. Raises as `resolve`."""
        entry = self.resolve(name, task=task)
        with self._reading() as repository:
            return Harness(repository.source(entry.sha))

    def diff(self, old: str, new: str) -> str:
        """How one version's program became another's, as a unified diff; empty for equal programs."""
        before, after = self.resolve(old), self.resolve(new)
        with self._reading() as repository:
            lines = difflib.unified_diff(
                repository.source(before.sha).splitlines(keepends=True),
                repository.source(after.sha).splitlines(keepends=True),
                f"{before.sha[:10]}/{FILE_NAME}",
                f"{after.sha[:10]}/{FILE_NAME}",
            )
            return "".join(lines)

    def lineage(self, name: str) -> list[tuple[Entry, str]]:
        """The versions that led to one, each with its source, from the seed on. Raises as `resolve`.

        A revert stands for the version that it brought back.
        """
        entry: Entry | None = self.resolve(name)
        path: list[tuple[Entry, str]] = []
        with self._reading() as repository:
            while entry is not None:
                if not entry.reverts_to:
                    path.append((entry, repository.source(entry.sha)))
                before = entry.made_from
                entry = None if before is None else repository.entry(before)
        return path[::-1]

    def _head(self, repository: Repository, task: str) -> Entry:
        head = repository.find(refs.task_ref(task))
        if head is None:
            raise ConfigError(_not_one(repository, task, []))
        return head


def _same(history: list[Entry], version: Version) -> Entry | None:
    """The commit that already holds a version."""
    for entry in history:
        if version.harness_id == entry.harness_id and entry.reverts_to is None:
            if version.parent_id is None and entry.parent_id is None:
                return entry
            if (entry.run, entry.round) == (version.episode_id, version.round):
                return entry
    return None


def _entry(history: list[Entry], version: Version, task: str, evidence: Evidence, message: str) -> Entry:
    note = message or (version.revision.note if version.revision else "")
    words = f"Seed of {task}" if version.parent_id is None else f"Round {version.round}"
    return Entry(
        sha="",
        parents=_parents(history, version, task),
        subject=f"{words}: {note}" if note else words,
        when="",
        run=version.episode_id,
        round=version.round,
        parent_id=version.parent_id,
        harness_id=version.harness_id,
        score=version.mean_score,
        evidence=evidence,
    )


def _parents(history: list[Entry], version: Version, task: str) -> tuple[str, ...]:
    """First the version it was made from, preferably of the same run; last the task's current version."""
    head = [entry.sha for entry in history[:1]]
    if version.parent_id is None:
        return tuple(head)
    of_parent = [entry for entry in history if entry.harness_id == version.parent_id]
    if not of_parent:
        raise ConfigError(
            f"the parent {version.parent_id[:12]} is no version of {task!r}: commit the seed before its heirs"
        )
    parent = next((entry for entry in of_parent if entry.run == version.episode_id), of_parent[0])
    return tuple(dict.fromkeys([parent.sha, *head]))


def _name(repository: Repository, task: str, version: Version, entry: Entry, place: int) -> None:
    """Lets the run's branch and the task's tags lead to a version, the task's `place`-th from 0."""
    repository.point(refs.run_ref(version.episode_id), entry)
    if version.accepted:
        repository.point(refs.accepted_ref(task, place), entry)
        best = repository.find(refs.best_ref(task))
        if best is None or _rank(entry) >= _rank(best):
            repository.point(refs.best_ref(task), entry)


def _require_free(repository: Repository, name: str) -> None:
    """Refuses a tag that would hide a branch, or that git cannot keep beside another tag."""
    for ref in refs.candidates(name):
        branch = ref.decode("utf-8", "replace").removeprefix("refs/heads/")
        if ref.startswith(b"refs/heads/") and repository.find(ref) is not None:
            raise ConfigError(
                f"{name!r} cannot be a tag: it names the branch {branch} already: choose another name"
            )
    for tag in repository.names("refs/tags/"):
        if tag.startswith(f"{name}/") or name.startswith(f"{tag}/"):
            raise ConfigError(
                f"{name!r} cannot be a tag: git keeps none within another, and there is {tag!r}: "
                "choose another name"
            )


def _rank(entry: Entry) -> float:
    return -1.0 if entry.score is None else entry.score


def _by_digits(repository: Repository, digits: str) -> list[Entry]:
    """The commits, and the newest version of each harness, whose id begins so."""
    found: dict[str, Entry] = {}
    for branch in repository.names("refs/heads/"):
        for entry in repository.history(repository.find(refs.branch_ref(branch))):
            if entry.sha.startswith(digits):
                found[entry.sha] = entry
            elif entry.harness_id.startswith(digits):
                found[entry.harness_id] = max(found.get(entry.harness_id, entry), entry, key=lambda e: e.when)
    return list(found.values())


def _not_one(repository: Repository, name: str, found: list[Entry]) -> str:
    if found:
        several = ", ".join(f"{entry.sha[:10]} ({entry.subject})" for entry in found[:4])
        return f"{name!r} begins {len(found)} versions: {several}: write more of it"
    known = [refs.decoded(task) for task in repository.names("refs/heads/tasks/")]
    known += repository.names("refs/tags/")
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.5) or known[:3]
    return f"the registry has no version {name!r}" + (f"; nearest: {', '.join(near)}" if near else " yet")
