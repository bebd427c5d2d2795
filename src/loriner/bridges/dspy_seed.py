"""A DSPy program of one predictor as a harness that asks what the program would ask."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from loriner.bridges import framework
from loriner.errors import ConfigError

dspy = framework("dspy", "dspy", "3.4.1", "ChatAdapter")

_PROGRAM = '''import json
import re

MESSAGES = [
{messages}]


def solve(model, question):
    given = {given}
    messages = [{{**each, "content": fill(each["content"], given)}} for each in MESSAGES]
    reply = model.chat(messages, max_tokens=1024)
    found = re.search(r"\\[\\[ ## {output} ## \\]\\]\\s*(.*?)\\s*(?:\\[\\[ ##|$)", reply, re.DOTALL)
    return found[1] if found else reply.strip()


def fill(text, given):
    """The text, with each input in its place."""
    for name, value in given.items():
        text = text.replace("<<" + name + ">>", str(value))
    return text
'''


def question_of(given: Mapping[str, Any], inputs: Sequence[str]) -> str:
    """The inputs as one text: the only one as it is, several as JSON.

    Raises:
        ConfigError: an input is missing.
    """
    if missing := [name for name in inputs if name not in given]:
        raise ConfigError(f"the input {', '.join(missing)} is missing; found {', '.join(given.keys())}")
    if len(inputs) == 1:
        return str(given[inputs[0]])
    return json.dumps({name: given[name] for name in inputs}, ensure_ascii=False, default=str)


def seed_harness(student: Any) -> tuple[str, list[str], str]:
    """The program that asks in the words of DSPy's ChatAdapter, the names of its inputs, and its output.

    Raises:
        ConfigError: several predictors or outputs, which a harness cannot stand for.
    """
    predictors = student.named_predictors()
    if len(predictors) != 1:
        names = ", ".join(name for name, _ in predictors) or "none"
        raise ConfigError(
            f"Loriner adapts a program of one predictor; this one has {len(predictors)}: {names}"
        )
    predictor = predictors[0][1]
    signature = predictor.signature
    outputs = [name for name in signature.output_fields if name not in ("reasoning", "rationale")]
    if len(outputs) != 1:
        raise ConfigError(f"a harness returns one text; the signature has the outputs {', '.join(outputs)}")
    inputs = list(signature.input_fields)
    marks = {name: f"<<{name}>>" for name in inputs}
    asked = dspy.ChatAdapter().format(signature, predictor.demos, marks)
    return _program(asked, inputs, outputs[0]), inputs, outputs[0]


def _program(messages: Sequence[Mapping[str, Any]], inputs: Sequence[str], output: str) -> str:
    shown = "".join(
        f'    {{"role": "{each["role"]}", "content": {_literal(each["content"])}}},\n' for each in messages
    )
    given = "json.loads(question)" if len(inputs) > 1 else f"{{{json.dumps(inputs[0])}: question}}"
    return _PROGRAM.format(messages=shown, given=given, output=output)


def _literal(text: str) -> str:
    """A text as a literal over several lines, which an edit can take hold of."""
    escaped = text.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    return f'"""{escaped[:-1]}\\""""' if escaped.endswith('"') else f'"""{escaped}"""'
