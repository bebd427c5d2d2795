"""Laws of the edit format, over programs and edits made of the lines that hurt."""

import re

from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from loriner.errors import EditError
from loriner.harness.blocks import parse_blocks
from loriner.harness.edits import STAGE_OF, apply_completion, format_revision, parse
from loriner.harness.messages import MAX_EDIT_CHARS, MAX_EDITS_TOLD
from loriner.harness.placing import apply_edits
from loriner.harness.rewrite import make_edits, make_function_edits
from loriner.records import Edit

HARD_LINES = (
    "<<<<<<< SEARCH",
    "=======",
    ">>>>>>> REPLACE",
    "======= ",
    "\\=======",
    "\\\\>>>>>>> REPLACE\t",
    "<think>",
    "</think>",
    "x = 1  # </think>",
    "```",
    "",
    " ",
    "\t",
    "\f",
    "a\u2028b",
    "a\x85b",
    "a\rb",
    "a",
    "b",
    "    a",
    "a  ",
    "def solve(model, question):",
    "    return model(question)",
    "\\1 $& \\n",
)
lines = st.lists(st.sampled_from(HARD_LINES), min_size=1, max_size=14)
texts = lines.map(lambda each: "\n".join(each) + "\n")
olds = texts.filter(lambda text: text.strip())
new_texts = st.one_of(st.just(""), texts)
edits = st.builds(Edit, olds, new_texts)
edit_lists = st.lists(edits, min_size=1, max_size=4)


def occurrences(program, block):
    """How often the lines of `block` stand in `program`, counted line by line."""
    wanted = block.split("\n")[:-1]
    has = program.split("\n")[:-1]
    return [i for i in range(len(has) - len(wanted) + 1) if has[i : i + len(wanted)] == wanted]


def bare(text):
    return "\n".join(line.rstrip(" \t") for line in text.split("\n"))


@given(olds, new_texts)
@settings(max_examples=400, deadline=None)
@example("a\nb\n", "")
@example("a\na\na\n", "a\na\n")
def test_a_rewrite_as_edits_gives_the_rewrite(old, new):
    assume(old != new)
    assert apply_edits(old, parse(make_edits(old, new)).edits) == new


@given(st.integers(0, 40), st.integers(0, 40), st.sampled_from(["x = 1", "y = 2", "    pass"]))
@settings(deadline=None)
def test_far_apart_changes_stay_within_the_number_of_edits(n, at, line):
    old = [f"x{i} = {i}" for i in range(120)]
    new = [line if i % 5 == at % 5 and i > n else each for i, each in enumerate(old)]
    one, other = "\n".join(old) + "\n", "\n".join(new) + "\n"
    assert apply_edits(one, parse(make_edits(one, other)).edits) == other


functions = st.lists(
    st.lists(
        st.sampled_from(["    x = 1", "    y = 2", "", "    # note", "    if x:\n        y = 3"]), max_size=5
    ),
    min_size=1,
    max_size=5,
).map(
    lambda bodies: (
        "\n\n".join("\n".join([f"def f{i}(x):", *body, "    return x"]) for i, body in enumerate(bodies))
        + "\n"
    )
)


@given(functions, functions)
@settings(max_examples=200, deadline=None)
def test_function_edits_give_the_rewrite_too(old, new):
    assume(old != new)
    assert apply_edits(old, parse(make_function_edits(old, new)).edits) == new


@given(edit_lists)
@settings(max_examples=300, deadline=None)
def test_formatted_edits_parse_to_themselves(each):
    assert parse(format_revision(each)).edits == tuple(each)


def result_of(source, each):
    try:
        return apply_edits(source, each)
    except EditError as error:
        return error.code


@given(olds, edit_lists, st.randoms())
@settings(max_examples=200, deadline=None)
def test_the_order_of_blocks_does_not_matter(source, each, random):
    shuffled = random.sample(each, len(each))
    one, other = result_of(source, each), result_of(source, shuffled)
    assert one == other or (one in STAGE_OF and other in STAGE_OF)


def with_crlf(text):
    return text.replace("\n", "\r\n")


@given(olds, edit_lists, st.booleans())
@settings(max_examples=300, deadline=None)
def test_a_crlf_program_gives_the_crlf_result(source, each, ended):
    source = source if ended else source.removesuffix("\n")
    assume(source.strip() and "\n" in source)
    result = result_of(source, each)
    assert result_of(with_crlf(source), each) == (result if result in STAGE_OF else with_crlf(result))


@given(olds, st.integers(0, 13), st.integers(1, 3), new_texts)
@settings(max_examples=300, deadline=None)
def test_an_applied_edit_has_one_place_and_leaves_the_rest(source, start, n, new):
    all_lines = source.split("\n")[:-1]
    chosen = all_lines[start : start + n]
    assume(any(line.strip() for line in chosen))
    old = "\n".join(chosen) + "\n"
    exact = occurrences(source, old)
    result = result_of(source, [Edit(old, new)])
    if len(exact) > 1:
        assert result == "span_ambiguous"
    elif old == new:
        assert result == "no_change"
    else:
        at = exact[0]
        new_lines = new.split("\n")[:-1]
        expected = all_lines[:at] + new_lines + all_lines[at + len(chosen) :]
        assert result == "".join(f"{line}\n" for line in expected)


@given(olds, olds, new_texts)
@settings(max_examples=300, deadline=None)
def test_without_an_exact_place_only_blanks_at_line_ends_are_forgiven(source, old, new):
    assume(not occurrences(source, old) and old != new)
    places = occurrences(bare(source), bare(old))
    result = result_of(source, [Edit(old, new)])
    if len(places) == 1:
        assert result not in STAGE_OF or result == "no_change"
    else:
        assert result == ("span_ambiguous" if places else "span_not_found")


hostile = st.one_of(
    st.text(max_size=400),
    st.text(alphabet=st.characters(categories=("Cs", "Cc", "Zs", "Po")), max_size=60),
    st.lists(
        st.sampled_from((*HARD_LINES, '{"edits": [', '{"find": "a"', "}]}", "\ud800", "\0")), max_size=30
    ).map("\n".join),
)


@given(hostile, hostile, st.booleans())
@settings(max_examples=600, deadline=None)
def test_any_text_gives_a_result_or_an_edit_error_in_few_words(source, completion, json_adapter):
    try:
        apply_completion(source, completion, json_adapter=json_adapter)
    except EditError as error:
        assert error.code in STAGE_OF
        assert 0 < len(str(error)) <= MAX_EDITS_TOLD * (MAX_EDIT_CHARS + 1)


@given(olds, st.lists(st.builds(Edit, olds, new_texts), min_size=1, max_size=16))
@settings(max_examples=200, deadline=None)
def test_each_edit_is_told_in_bounded_words(source, each):
    try:
        apply_edits(source * 3, each)
    except EditError as error:
        told = re.split(r"^(?=Edit \d+ of \d+ was not applied)", str(error), flags=re.MULTILINE)
        assert all(len(part) <= MAX_EDIT_CHARS + 1 for part in told)
        assert len(told) - 1 <= MAX_EDITS_TOLD


@given(st.lists(st.sampled_from(["\n", "\r\n"]), min_size=5, max_size=5), st.booleans(), st.integers(0, 4))
@settings(deadline=None)
def test_untouched_lines_keep_their_own_line_ends(ends, ended, at):
    pieces = [f"line {i}{end}" for i, end in enumerate(ends)]
    source = "".join(pieces) if ended else "".join(pieces).rstrip("\r\n")
    main = "\r\n" if source.count("\r\n") * 2 > source.count("\n") else "\n"
    new = "".join([*pieces[:at], f"one{main}two{main}", *pieces[at + 1 :]])
    if not ended:
        new = new.rstrip("\r\n")
    assert apply_edits(source, [Edit(f"line {at}\n", "one\ntwo\n")]) == new


@given(texts)
@settings(deadline=None)
def test_a_parsed_block_ends_each_line(text):
    try:
        found = parse_blocks(text)
    except EditError:
        return
    assert all(edit.old.endswith("\n") and (not edit.new or edit.new.endswith("\n")) for edit in found.edits)
