"""The git side of the registry: a bare repository, one writer at a time, commits as entries."""

from __future__ import annotations

import fcntl
import os
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TypeVar

from dulwich.errors import NotGitRepository, ObjectFormatException
from dulwich.file import FileLocked
from dulwich.objects import Blob, Commit, ObjectID, ShaFile, Tag, Tree
from dulwich.refs import HEADREF, Ref
from dulwich.repo import Repo

from loriner.errors import StoreError
from loriner.records import Harness
from loriner.store.entry import Entry, candidate_of, message_of, read_entry

T = TypeVar("T", bound=ShaFile)

FILE_NAME = "harness.py"
AUTHOR = b"loriner <loriner@localhost>"
LOCK_S = 30.0
"""How long a process waits for another one that writes."""
STALE_S = 2.0
"""A lock file of git that stays longer, while we alone may write, was left by a killed process."""


class Repository:
    """An open bare repository whose commits each hold one harness."""

    def __init__(self, repo: Repo, known: dict[str, Entry]) -> None:
        self._repo = repo
        self._path = repo.path
        self._known = known
        """Entries read before; commits never change."""
        self._trees: dict[str, bytes] = {}

    def find(self, ref: Ref) -> Entry | None:
        """The entry that a reference leads to, if it exists."""
        sha = self._repo.refs.follow(ref)[1]
        return None if sha is None else self.entry(sha.decode())

    def names(self, below: str) -> list[str]:
        """The references below a prefix, without it, sorted."""
        return sorted(ref.decode("utf-8", "replace") for ref in self._repo.refs.subkeys(Ref(below.encode())))

    def entry(self, sha: str) -> Entry:
        if sha not in self._known:
            commit = self._commit(sha)
            own, message = commit.id.decode(), commit.message.decode("utf-8", "replace")
            self._trees[own] = commit.tree
            harness_id = candidate_of(message) or Harness(self.source(own)).id
            parents = tuple(parent.decode() for parent in commit.parents)
            self._known[sha] = read_entry(own, parents, message, commit.commit_time, harness_id)
        return self._known[sha]

    def source(self, sha: str) -> str:
        """The program of a commit."""
        tree = self._object(self._trees.get(sha) or self._commit(sha).tree, Tree)
        if FILE_NAME.encode() not in tree:
            raise StoreError(f"commit {sha[:10]} of {self._path} holds no {FILE_NAME}: it is no version")
        return self._object(tree[FILE_NAME.encode()][1], Blob).data.decode()

    def history(self, head: Entry | None) -> Iterator[Entry]:
        """A task's versions from one back to its first."""
        while head is not None:
            yield head
            head = self.entry(head.parents[-1]) if head.parents else None

    def write(self, harness: Harness, entry: Entry) -> Entry:
        """The entry as committed: one tree with one file. No branch moves."""
        blob, tree, commit = Blob.from_string(harness.source.encode()), Tree(), Commit()
        tree.add(FILE_NAME.encode(), 0o100644, blob.id)
        commit.tree = tree.id
        commit.parents = [ObjectID(parent.encode()) for parent in entry.parents]
        commit.author = commit.committer = AUTHOR
        latest = max((self._commit(parent).commit_time for parent in entry.parents), default=0)
        commit.author_time = commit.commit_time = max(int(time.time()), latest)
        commit.author_timezone = commit.commit_timezone = 0
        commit.encoding = b"UTF-8"
        commit.message = message_of(entry).encode()
        for each in (blob, tree, commit):
            _past_stale_locks(partial(self._repo.object_store.add_object, each))
        return self.entry(commit.id.decode())

    def point(self, ref: Ref, entry: Entry) -> None:
        """Makes a reference lead to an entry."""

        def set_ref() -> None:
            self._repo.refs[ref] = ObjectID(entry.sha.encode())

        _past_stale_locks(set_ref)

    def check_out_by_default(self, branch: Ref) -> None:
        """Lets a clone check a branch out, unless it already checks one out."""
        if self._repo.refs.follow(HEADREF)[1] is None:
            _past_stale_locks(lambda: self._repo.refs.set_symbolic_ref(HEADREF, branch))

    def _commit(self, sha: str) -> Commit:
        return self._object(sha.encode(), Commit)

    def _object(self, sha: bytes, kind: type[T]) -> T:
        try:
            found = self._repo[ObjectID(sha)]
            while isinstance(found, Tag):  # made by another git
                found = self._repo[found.object[1]]
        except (KeyError, zlib.error, ObjectFormatException) as error:
            raise self._damaged(sha, "is missing or unreadable") from error
        if not isinstance(found, kind):
            raise self._damaged(sha, f"is no {kind.__name__.lower()}")
        return found

    def _damaged(self, sha: bytes, what: str) -> StoreError:
        return StoreError(
            f"the registry is damaged: object {sha.decode()[:10]} of {self._path} {what}. "
            f"See `git -C {self._path} fsck`, and restore a copy"
        )


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
def opened(path: Path, known: dict[str, Entry]) -> Iterator[Repository]:
    """The repository at `path`, to be read.

    Raises:
        StoreError: it is no repository, an object is missing, or the disk failed; in words.
    """
    try:
        repo = Repo(str(path))
    except (NotGitRepository, OSError, ValueError) as error:
        raise StoreError(
            f"{path} is no readable git repository ({error}): move it aside, or restore a copy"
        ) from error
    try:
        yield Repository(repo, known)
    except OSError as error:
        raise StoreError(
            f"the registry {path}: {error}: check the disk and the owner of the files"
        ) from error
    finally:
        repo.close()


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Lets one process at a time write below `path`; the system frees the lock when a process dies.

    Raises:
        StoreError: another process held it too long.
    """
    with path.with_suffix(".lock").open("w") as lock:
        deadline = time.monotonic() + LOCK_S
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise StoreError(
                        f"another process has been writing to {path} for {LOCK_S:.0f} s: see which is stuck"
                    ) from None
                time.sleep(0.02)
        yield


def create(path: Path) -> None:
    """An empty bare repository at `path`, unless there is one."""
    if not (path / "HEAD").exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        with locked(path):
            if not (path / "HEAD").exists():
                path.mkdir(exist_ok=True)
                Repo.init_bare(str(path)).close()
