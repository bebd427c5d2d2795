"""The versions as an ordinary bare git repository: commits and references written from rows.

Nothing is read back but what another git wrote there: a commit by hand, or the versions of an older home,
which had no rows. The repository can be written anew at any time.
"""

from __future__ import annotations

import os
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TypeVar

from dulwich.config import StackedConfig
from dulwich.errors import NotGitRepository, ObjectFormatException
from dulwich.file import FileLocked
from dulwich.objects import Blob, Commit, ObjectID, ShaFile, Tag, Tree
from dulwich.refs import HEADREF, Ref
from dulwich.repo import Repo

from loriner.errors import StoreError
from loriner.records import Harness
from loriner.store.commit_message import VersionEntry, message_of, read_entry
from loriner.store.versions import Versions

T = TypeVar("T", bound=ShaFile)

FILE_NAME = "harness.py"
AUTHOR = b"loriner <loriner@localhost>"
STALE_S = 2.0
"""A lock file of git that stays longer, while we alone may write, was left by a killed process."""
_TASKS = "refs/heads/tasks/"
_OURS = (b"refs/heads/", b"refs/tags/")


def objects_of(harness: Harness, entry: VersionEntry) -> tuple[Blob, Tree, Commit]:
    """The git objects that show a version: a commit of one file. Equal entries give equal ids."""
    blob, tree, commit = Blob.from_string(harness.source.encode()), Tree(), Commit()
    tree.add(FILE_NAME.encode(), 0o100644, blob.id)
    commit.tree = tree.id
    commit.parents = [ObjectID(parent.encode()) for parent in entry.parents]
    commit.author = commit.committer = AUTHOR
    commit.author_time = commit.commit_time = _seconds(entry.when)
    commit.author_timezone = commit.commit_timezone = 0
    commit.encoding = b"UTF-8"
    commit.message = message_of(entry).encode()
    return blob, tree, commit


def sha_of(harness: Harness, entry: VersionEntry) -> str:
    """The id of the commit that shows a version."""
    return str(objects_of(harness, entry)[2].id.decode())


def _seconds(when: str) -> int:
    return int(datetime.fromisoformat(when).timestamp())


def now_after(parents: list[VersionEntry]) -> str:
    """This moment in UTC, as ISO 8601 in whole seconds, and no earlier than any of the parents."""
    now = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    return max([now, *(each.when for each in parents)])


class _Own(Repo):
    """A repository that goes by its own settings alone: those of the person may be broken or unreadable."""

    def get_config_stack(self) -> StackedConfig:
        own = self.get_config()
        return StackedConfig([own], writable=own)


class Projection:
    """An open repository that shows versions."""

    def __init__(self, repo: Repo) -> None:
        self._repo = repo
        self._path = repo.path

    def read(self, versions: Versions) -> None:
        """Records the commits that another git wrote, and the names that lead to them.

        A reference whose commit is known keeps the version that its row names; a commit without a
        `harness.py` is no version, and the reference to it is left alone.
        """
        known = versions.led_to()
        refs = self._refs().items()
        news = {name: sha for name, sha in refs if name not in known or not versions.has(sha)}
        for name, sha in news.items():
            if all(self._read(versions, each) for each in self._unknown(versions, sha)):
                versions.point(name, sha)

    def show(self, versions: Versions, names: Mapping[str, str]) -> None:
        """Writes the commits that these names lead to, then the references, those of tasks last."""
        for sha in dict.fromkeys(names.values()):
            self._write(versions, sha)
        for name in sorted(names, key=lambda name: name.startswith(_TASKS)):
            self._point(versions, name, names[name])
        if self._repo.refs.follow(HEADREF)[1] is None and (branches := versions.names(_TASKS)):
            branch = Ref(f"{_TASKS}{branches[0]}".encode())  # a clone checks it out
            _past_stale_locks(lambda: self._repo.refs.set_symbolic_ref(HEADREF, branch))

    def _refs(self) -> dict[str, str]:
        """The branches and tags, each with its commit."""
        found = {}
        for ref in self._repo.refs.allkeys():
            sha = self._repo.refs.follow(ref)[1] if ref.startswith(_OURS) else None
            with suppress(UnicodeDecodeError):  # a name that is no text leads to no version
                if sha is not None:
                    found[ref.decode()] = self._peeled(sha.decode())
        return found

    def _peeled(self, sha: str) -> str:
        """The commit behind an annotated tag; any other object is itself."""
        if self._has(sha):
            found = self._repo[ObjectID(sha.encode())]
            while isinstance(found, Tag):
                found = self._repo[found.object[1]]
            return str(found.id.decode())
        return sha

    def _unknown(self, versions: Versions, sha: str) -> list[str]:
        """The commits without a row that lead to one, parents first."""

        def parents(each: str) -> list[str]:
            return [parent.decode() for parent in self._object(each, Commit).parents]

        return _parents_first(sha, parents, versions.has)

    def _read(self, versions: Versions, sha: str) -> bool:
        """Records a commit; False where it is no version."""
        commit = self._object(sha, Commit)
        tree = self._object(commit.tree.decode(), Tree)
        if FILE_NAME.encode() not in tree:
            return False
        source = self._object(tree[FILE_NAME.encode()][1].decode(), Blob).data.decode()
        harness, parents = Harness(source), tuple(each.decode() for each in commit.parents)
        message = commit.message.decode("utf-8", "replace")
        entry = read_entry(sha, parents, message, commit.commit_time, harness.id)
        ours = sha_of(harness, entry) == sha
        versions.add(harness, entry, None if ours else commit.as_raw_string())
        return True

    def _write(self, versions: Versions, sha: str) -> None:
        """Writes a commit with those that lead to it, as far as they are not there."""
        for each in _parents_first(sha, lambda each: versions.entry(each).parents, self._has):
            for one in self._objects(versions, each):
                _past_stale_locks(partial(self._repo.object_store.add_object, one))

    def _objects(self, versions: Versions, sha: str) -> tuple[ShaFile, ...]:
        blob, tree, commit = objects_of(Harness(versions.source(sha)), versions.entry(sha))
        if (text := versions.commit_text(sha)) is not None:
            commit = Commit.from_string(text)
            if commit.tree != tree.id:
                raise StoreError(
                    f"commit {sha[:10]} was made by another git and holds more than {FILE_NAME}: the store "
                    f"cannot write it anew; keep the repository {self._path}, or restore a copy"
                )
        return blob, tree, commit

    def _point(self, versions: Versions, name: str, sha: str) -> None:
        """Makes a reference lead to a commit, unless another git made it lead to what is no version."""
        ref = Ref(name.encode())
        there = self._repo.refs.follow(ref)[1]
        before = None if there is None else self._peeled(there.decode())
        if before == sha or (before is not None and self._has(before) and not versions.has(before)):
            return

        def set_ref() -> None:
            self._repo.refs[ref] = ObjectID(sha.encode())

        _past_stale_locks(set_ref)

    def _has(self, sha: str) -> bool:
        return ObjectID(sha.encode()) in self._repo.object_store

    def _object(self, sha: str, kind: type[T]) -> T:
        try:
            found = self._repo[ObjectID(sha.encode())]
        except (KeyError, zlib.error, ObjectFormatException) as error:
            raise self._damaged(sha, "is missing or unreadable") from error
        if not isinstance(found, kind):
            raise self._damaged(sha, f"is no {kind.__name__.lower()}")
        return found

    def _damaged(self, sha: str, what: str) -> StoreError:
        return StoreError(
            f"the repository is damaged: object {sha[:10]} of {self._path} {what}. "
            "`loriner store check --rebuild` writes it anew from the store"
        )


def _parents_first(
    sha: str, parents: Callable[[str], Iterable[str]], known: Callable[[str], bool]
) -> list[str]:
    """A commit and all that lead to it, each after its parents; those that are known are not gone into."""
    found: dict[str, None] = {}
    waiting = [(sha, False)]
    while waiting:
        each, is_next = waiting.pop()
        if is_next:
            found[each] = None
        elif each not in found and not known(each):
            waiting += [(each, True), *((parent, False) for parent in parents(each))]
    return list(found)


def _past_stale_locks(write: Callable[[], None]) -> None:
    """Writes, after sweeping away a lock file of git that nobody gives up.

    We write one process at a time, so it is that of a killed process or, for a moment, of another git.
    """
    patience = time.monotonic() + STALE_S
    while True:
        try:
            return write()
        except FileLocked as error:
            if time.monotonic() > patience:
                Path(os.fsdecode(error.lockfilename)).unlink(missing_ok=True)
        time.sleep(0.02)


@contextmanager
def opened(path: Path) -> Iterator[Projection]:
    """The repository at `path`, which is made if need be.

    Raises:
        StoreError: it is no repository, an object is missing, or the disk failed; in words.
    """
    try:
        if not (path / "HEAD").exists():
            path.mkdir(parents=True, exist_ok=True)
            _Own.init_bare(str(path), config=StackedConfig([])).close()
        repo = _Own(str(path))
    except (NotGitRepository, OSError, ValueError) as error:
        raise StoreError(
            f"{path} is no readable git repository ({error}): move it aside, and "
            "`loriner store check --rebuild` writes it anew from the store"
        ) from error
    try:
        yield Projection(repo)
    except OSError as error:
        raise StoreError(
            f"the registry {path}: {error}: check the disk and the owner of the files"
        ) from error
    finally:
        repo.close()


def state(path: Path) -> str:
    """What changes whenever a reference of the repository is written: the times of its folders."""
    folders = [path / "packed-refs", *(Path(each) for each, _, _ in os.walk(path / "refs"))]
    return " ".join(str(each.stat().st_mtime_ns) for each in folders if each.exists())
