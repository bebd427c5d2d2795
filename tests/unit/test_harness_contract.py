"""What a harness file must be, told in words where it is not."""

import pytest

from loriner.errors import HarnessError
from loriner.harness.contract import canonical, from_library, library_names, load

GOOD = "def solve(model, question):\n    return model(question)\n"


@pytest.mark.parametrize(
    "data",
    [
        GOOD.encode(),
        b"\xef\xbb\xbf" + GOOD.encode(),
        GOOD.replace("\n", "\r\n").encode(),
        GOOD.rstrip("\n").encode(),
        GOOD.encode() + b"\n\n",
    ],
)
def test_every_spelling_of_a_file_is_one_harness(tmp_path, data):
    path = tmp_path / "harness.py"
    path.write_bytes(data)
    assert load(path).source == GOOD


def test_canonical_text_stays_as_it_is():
    assert canonical(canonical(" a \r\n\r\n")) == canonical(" a \r\n\r\n") == " a \n"


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("", "missing_solve"),
        ("def answer(model, question):\n    pass\n", "missing_solve"),
        ("class A:\n    def solve(model, question): pass\n", "missing_solve"),
        (GOOD + GOOD, "duplicate_solve"),
        ("def solve(model, question, k=3):\n    pass\n", "signature_changed.*k=3"),
        ("async def solve(model, question):\n    pass\n", "signature_changed.*async def"),
        ("def solve(model, question, /):\n    pass\n", "signature_changed"),
        ("def solve(model, *, question):\n    pass\n", "signature_changed"),
        ("def solve(model, question)\n    pass\n", "syntax_error.*Line 1: expected ':'"),
        (GOOD + "#" * 16_000, "too_large.*16"),
    ],
)
def test_a_file_that_is_no_harness_is_refused_by_name(tmp_path, source, words):
    path = tmp_path / "broken.py"
    path.write_text(source)
    with pytest.raises(HarnessError, match=rf"(?s)broken\.py.*{words}"):
        load(path)


def test_annotations_and_decorators_are_no_change_of_signature(tmp_path):
    path = tmp_path / "annotated.py"
    path.write_text(
        "import functools\n\n\n@functools.cache\ndef solve(model, question: str) -> str:\n    return ''\n"
    )
    assert load(path).id


def test_a_missing_file_and_a_wrong_encoding_are_told(tmp_path):
    with pytest.raises(HarnessError, match="No such file"):
        load(tmp_path / "absent.py")
    path = tmp_path / "latin.py"
    path.write_bytes(b"# caf\xe9\n")
    with pytest.raises(HarnessError, match=r"not UTF-8 \(byte 5\)"):
        load(path)


def test_an_unknown_library_name_is_told_the_nearest():
    assert "minimal" in library_names()
    with pytest.raises(HarnessError, match="Did you mean 'minimal'"):
        from_library("minimla")
