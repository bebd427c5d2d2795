"""Every harness of the library is a harness, says what it costs, and runs with any callable as model.

Each runs in a plain Python process beside a `tools.py`, as an exported harness would.
"""

import ast
import json
import subprocess
import sys

import pytest

from loriner.harness.contract import from_library, library_names
from loriner.harness.structure import measure

RUNNER = """\
import json, sys

class Model:
    def __init__(self, replies):
        self.replies, self.prompts = list(replies), []

    def __call__(self, prompt, *, system=None, temperature=0.0, max_tokens=512, stop=None, n=1):
        assert isinstance(prompt, str)
        self.prompts.append(prompt)
        replies = [self.replies.pop(0) if len(self.replies) > 1 else self.replies[0] for _ in range(n)]
        return replies if n > 1 else replies[0]

    def chat(self, messages, **options):
        assert all(set(message) == {"role", "content"} for message in messages)
        return self("\\n".join(message["content"] for message in messages), **options)

    def batch(self, prompts, **options):
        return [self(prompt, **options) for prompt in prompts]

from harness import solve

model = Model(json.loads(sys.argv[1]))
print(json.dumps({"answer": solve(model, sys.argv[2]), "prompts": model.prompts}))
"""
RUN_PYTHON = """\
import contextlib, io

def run_python(code):
    out = io.StringIO()
    try:
        with contextlib.redirect_stdout(out):
            exec(code, {})
    except BaseException as error:
        return out.getvalue() + "Error: " + type(error).__name__ + ": " + str(error)
    return out.getvalue()
"""
SEARCH = """\
FACTS = {"Bruna": "Bruna was born in Tarsk.", "Tarsk": "Tarsk lies on the river Ulm."}

def search(query, k=5):
    return [{"title": name, "text": text} for name, text in FACTS.items() if name in query][:k]
"""


def run(tmp_path, name, replies, question="How many primes are below 10?", tools=RUN_PYTHON + SEARCH):
    (tmp_path / "harness.py").write_text(from_library(name).source)
    (tmp_path / "tools.py").write_text(tools)
    (tmp_path / "runner.py").write_text(RUNNER)
    command = [sys.executable, "runner.py", json.dumps(replies), question]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    return found["answer"], found["prompts"]


@pytest.mark.parametrize("name", library_names())
def test_it_holds_the_contract_and_says_when_and_at_what_cost(name):
    harness = from_library(name)
    head = ast.get_docstring(ast.parse(harness.source))
    assert head
    assert "model call" in head
    assert measure(harness.source).n_model_calls >= 1


@pytest.mark.parametrize("name", library_names())
@pytest.mark.parametrize("tools", [RUN_PYTHON, RUN_PYTHON + SEARCH], ids=["no search", "search"])
def test_it_answers_with_and_without_search(tmp_path, name, tools):
    answer, prompts = run(tmp_path, name, ["So it is\n<answer> 4 </answer>"], tools=tools)
    assert answer == "4"
    assert "How many primes are below 10?" in prompts[0]


@pytest.mark.parametrize("name", library_names())
@pytest.mark.parametrize(
    "reply", ["", " \n", "no tag here", "<answer>", "```python\n", "SEARCH:", "Error: x"]
)
def test_an_odd_reply_is_no_crash(tmp_path, name, reply):
    answer, _ = run(tmp_path, name, [reply])
    assert isinstance(answer, str)


def test_the_seed_is_short_enough_to_read_edits_on_it():
    assert from_library("minimal").source.count("\n") <= 15


def test_a_program_is_run_and_its_last_line_returned(tmp_path):
    program = (
        "```python\nprint('counting')\nprint(sum(all(n % d for d in range(2, n)) for n in range(2, 10)))\n```"
    )
    answer, prompts = run(tmp_path, "program_of_thought", [program])
    assert (answer, len(prompts)) == ("4", 1)


def test_a_failing_program_is_shown_its_error_once(tmp_path):
    answer, prompts = run(tmp_path, "program_of_thought", ["```python\nprint(1 / 0)\n```", "print(2 + 2)"])
    assert answer == "4"
    assert "Error: ZeroDivisionError: division by zero" in prompts[1]


def test_after_two_failing_programs_the_question_is_asked_directly(tmp_path):
    answer, prompts = run(tmp_path, "program_of_thought", ["pass", "raise KeyError(1)", "<answer>4</answer>"])
    assert (answer, len(prompts)) == ("4", 3)
    assert "printed nothing" in prompts[1]


def test_passages_reach_the_retrieval_prompt(tmp_path):
    _, prompts = run(tmp_path, "retrieval", ["<answer>Tarsk</answer>"], "Where was Bruna born?")
    assert "Bruna was born in Tarsk." in prompts[0]


def test_the_second_hop_searches_for_what_is_missing(tmp_path):
    replies = ["river of Tarsk", "DONE", "<answer>the Ulm</answer>"]
    answer, prompts = run(tmp_path, "iterative_retrieval", replies, "On which river was Bruna born?")
    assert answer == "the Ulm"
    assert "river Ulm" not in prompts[0]
    assert "Tarsk lies on the river Ulm." in prompts[2]


def test_react_observes_what_its_actions_bring(tmp_path):
    replies = ["SEARCH: Tarsk", "```python\nprint(6 * 7)\n```", "<answer>the Ulm</answer>"]
    answer, prompts = run(tmp_path, "react", replies)
    assert answer == "the Ulm"
    assert "river Ulm" in prompts[1]
    assert "Output:\n42" in prompts[2]


def test_react_without_search_does_not_offer_it(tmp_path):
    _, prompts = run(tmp_path, "react", ["<answer>4</answer>"], tools=RUN_PYTHON)
    assert "SEARCH" not in prompts[0]


def test_the_majority_wins(tmp_path):
    replies = [f"<answer>{each}</answer>" for each in ("5", "Four", "four.", "6", "four")]
    assert run(tmp_path, "self_consistency", replies)[0] == "Four"


def test_reflection_answers_again_only_after_an_objection(tmp_path):
    once = run(tmp_path, "reflection", ["<answer>4</answer>", "CORRECT"])
    again = run(tmp_path, "reflection", ["<answer>5</answer>", "9 is not a prime.", "<answer>4</answer>"])
    assert (once[0], len(once[1])) == ("4", 2)
    assert (again[0], len(again[1])) == ("4", 3)
    assert "9 is not a prime." in again[1][2]


def test_a_plan_is_carried_out(tmp_path):
    answer, prompts = run(tmp_path, "plan_and_solve", ["1. List them", "<answer>4</answer>"])
    assert answer == "4"
    assert "1. List them" in prompts[1]


def test_parts_are_answered_before_the_whole(tmp_path):
    replies = [
        "1. Where was Bruna born?\n2. Which river is at Tarsk?",
        "Tarsk",
        "Ulm",
        "<answer>the Ulm</answer>",
    ]
    answer, prompts = run(tmp_path, "decompose", replies, "On which river was Bruna born?")
    assert (answer, len(prompts)) == ("the Ulm", 4)
    assert "Which river is at Tarsk? Ulm" in prompts[3]
