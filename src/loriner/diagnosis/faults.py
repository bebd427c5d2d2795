"""Why a trial was not right, from its own transcript, with the evidence.

The order of the questions asked, and why:

1. How did it end? Timeout, budget, misuse and crash are facts that the host saw. They come first even if
   a reply held the target: until the program runs to its end, nothing else about it matters.
2. Is the answer the target in another dress (`format`), or does a reply or a tool's output state the
   target while the answer does not (`extraction`)? Then the solver had it, and the program lost it.
3. Was a call refused, failed, empty, cut, or its output left unused (`communication`)? Then the solver
   was never heard, and what it can do is not known.
4. What is known of the answer itself: fields of an object (`wrong_fields`), an option taken for another
   (`wrong_choice`), documents that were not found (`not_retrieved`) or not understood (`misread`).
5. None of these: `reasoning`.

Not guaranteed: 2 and 3 are inferences from text. Their accuracy on hand-labelled trials of a real model is
in docs/diagnosis.md.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from loriner.diagnosis.answer_formats import (
    Place,
    forms,
    has_conclusion,
    is_telling,
    mentions,
    same,
    states,
    wraps,
)
from loriner.diagnosis.answer_shapes import FieldFault, fields_apart, object_of
from loriner.records import Call, Fault, Status, Trial

_ENDINGS = {
    Status.TIMEOUT: Fault.TIMEOUT,
    Status.BUDGET_EXCEEDED: Fault.BUDGET,
    Status.BAD_ANSWER: Fault.API_MISUSE,
    Status.DENIED: Fault.API_MISUSE,
    Status.MEMORY_LIMIT: Fault.CRASH,
    Status.OUTPUT_LIMIT: Fault.CRASH,
    Status.PROTOCOL_ERROR: Fault.CRASH,
    Status.SKIPPED_AFTER_CRASH: Fault.CRASH,
}
_FRAME = re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+), in (?P<name>.+)\n(?: {4}(?P<source>.+))?')
_BUDGET = re.compile(
    r"BudgetExceeded|\bbudget\b|\bcalls? (?:it|this run) may make|\bmay make \d+ calls", re.I
)
_CONTRACT = re.compile(
    r"\bmodel(?:\.\w+)?\(|\bthe model has no argument|\bModel\.|'Model' object|\bprompt must be text|"
    r"\ba message(?:'s|s)? |\b(?:temperature|max_tokens|stop|n) (?:must|may)\b|\bnot grant the tool|"
    r"\bNo module named|\bcannot import name|\btakes its other arguments by keyword|\bgot two values for"
)
_REPLY_AS_OBJECT = re.compile(
    r"'str' object has no attribute '(?:text|content|choices|message|messages|output|answer|reply|response)'|"
    r"string indices must be integers"
)
_REPLY_KEY = re.compile(
    r"\[\s*['\"](?:text|content|choices|message|output|role|response|reply)['\"]\s*\]|\.\w+"
)
_FAILED_OUTPUT = re.compile(r"^(?:Traceback \(most recent call last\)|\w*(?:Error|Exception): )", re.M)
_NOTHING = frozenset({"", "[]", "{}", "null", "none", '""'})
_FALLBACKS = frozenset({"", "none", "null", "unknown", "n a", "error", "no answer", "not found", "nan"})
_SEARCH = "search"
"""The kind of a call that returns passages of documents."""
_PIECE = 20
"""Characters from which a text that was passed on is a piece of a reply."""
_VERDICT_TOKENS = 8
"""A last reply up to this length may have steered the program without being quoted ("Yes, correct.")."""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The fault of one trial."""

    fault: Fault
    evidence: str
    """What shows it, with what was found and, where there is one, the cure."""
    where: str
    """`call 2 (model), line 5`, `answer`, or the line of the program: `harness.py, line 7 in solve: …`."""


@dataclass(frozen=True, slots=True)
class Profile:
    """The faults of a set of trials."""

    n_trials: int
    """Trials that counted, right ones included."""
    counts: Counter[Fault]
    examples: dict[Fault, tuple[Trial, Diagnosis]]
    """The first trial of each fault."""

    @property
    def n_right(self) -> int:
        return self.n_trials - self.counts.total()


def diagnose(
    trial: Trial, target: str | Sequence[str], question: str, *, options: Iterable[str] = ()
) -> Diagnosis | None:
    """The fault of a trial that is not right; None for a right one and for one that failed by our fault.

    `target` is the right answer, or all of its accepted forms; `question` the text that the harness saw;
    `options` all right answers of the task, where they are a choice.
    """
    if trial.status in (Status.OK, Status.INFRA_ERROR):
        return None
    trial = replace(trial, calls=trial.program_calls)
    targets = [target] if isinstance(target, str) else list(target)
    held = next(_holders(trial, targets, question), None)
    return (
        _ending(trial, held)
        or _format(trial, targets, question)
        or held
        or _deaf(trial)
        or _unused(trial)
        or _fields(trial, targets)
        or _choice(trial, targets, frozenset(options))
        or _not_retrieved(trial, targets, question)
        or Diagnosis(Fault.REASONING, _never_stated(trial, targets), _last_call(trial))
    )


def profile(trials: Iterable[tuple[Trial, Diagnosis | None]]) -> Profile:
    """The faults of diagnosed trials, counted, with an example of each; our own failures do not count."""
    counts: Counter[Fault] = Counter()
    examples: dict[Fault, tuple[Trial, Diagnosis]] = {}
    n_trials = 0
    for trial, diagnosis in trials:
        n_trials += trial.status is not Status.INFRA_ERROR
        if diagnosis:
            counts[diagnosis.fault] += 1
            examples.setdefault(diagnosis.fault, (trial, diagnosis))
    return Profile(n_trials, counts, examples)


def bottleneck(found: Profile) -> str:
    """What was seen in most of the wrong trials, in a sentence; what to do about it is left to the reader."""
    wrong = found.counts.total()
    if not wrong:
        return f"All {found.n_trials} trials were right."
    lost = found.counts[Fault.EXTRACTION] + found.counts[Fault.FORMAT]
    if found.counts[Fault.REASONING] * 2 > wrong:
        n = found.counts[Fault.REASONING]
        return f"In {n} of {wrong} wrong trials the right answer never appears in any reply of the model."
    if lost * 2 > wrong:
        return f"In {lost} of {wrong} wrong trials the answer was at hand and lost in extraction or format."
    fault, n = found.counts.most_common(1)[0]
    return f"The most common fault is {fault} ({n} of {wrong} wrong trials)."


# 1. How it ended.


def _ending(trial: Trial, held: Diagnosis | None) -> Diagnosis | None:
    fault = _crash(trial) if trial.status is Status.CRASHED else _ENDINGS.get(trial.status)
    if fault is None:
        return None
    words = trial.error.strip().splitlines()[-1:] or [trial.detail or "no message"]
    evidence = (
        f"it ended as {trial.status}" + (f" ({trial.detail})" if trial.detail else "") + f": {words[0]}"
    )
    if held:
        evidence += f"; the target was at hand in {held.where}"
    return Diagnosis(fault, evidence, _program_line(trial) or _last_call(trial))


def _crash(trial: Trial) -> Fault:
    message = (trial.error.strip().splitlines() or [""])[-1]
    if trial.detail == "BudgetExceeded" or _BUDGET.search(message):
        return Fault.BUDGET
    frame = _last_frame(trial.error)
    source = (frame["source"] or "") if frame else ""
    refused = any(call.error and call.error in message for call in trial.calls)
    as_object = _REPLY_AS_OBJECT.search(message) and _REPLY_KEY.search(source)
    return Fault.API_MISUSE if refused or as_object or _CONTRACT.search(message) else Fault.CRASH


def _last_frame(error: str) -> re.Match[str] | None:
    """The innermost frame in the harness itself, as opposed to a library that it called."""
    frames = list(_FRAME.finditer(error))
    return next((f for f in reversed(frames) if f["file"] == "harness.py"), frames[-1] if frames else None)


def _program_line(trial: Trial) -> str:
    frame = _last_frame(trial.error)
    if not frame:
        return ""
    return f"{frame['file']}, line {frame['line']} in {frame['name']}" + (
        f": {frame['source']}" if frame["source"] else ""
    )


# 2. The solver had it.


def _format(trial: Trial, targets: Sequence[str], question: str) -> Diagnosis | None:
    for target in targets:
        if same(trial.answer, target):
            evidence = f"the answer {_short(trial.answer)} is the target {_short(target)} in another form"
            return Diagnosis(Fault.FORMAT, evidence, "answer")
        if place := wraps(trial.answer, target, question):
            evidence = f"the answer holds the target {_short(target)} {place.why}: {_short(place.line)}"
            return Diagnosis(Fault.FORMAT, evidence, "answer")
    return None


def _holders(trial: Trial, targets: Sequence[str], question: str) -> Iterator[Diagnosis]:
    """The calls whose reply states a target, the last one first."""
    for number, call in reversed(list(enumerate(trial.calls, 1))):
        for target in targets:
            if place := _stated_by(call, target, question):
                evidence = (
                    f"the reply states the target {_short(target)} {place.why} ({_short(place.line)}), "
                    f"the answer was {_short(trial.answer)}"
                )
                fault = Fault.MISREAD if _was_read(trial, number) else Fault.EXTRACTION
                yield Diagnosis(fault, evidence, f"{_name(number, call)}, line {place.line_number}")


def _stated_by(call: Call, target: str, question: str) -> Place | None:
    if call.error:
        return None
    place = states(call.reply, target, question, cut=call.finish_reason == "length")
    return place or (mentions(call.reply, target, question) if call.kind != "model" else None)


# 3. The solver was not heard.


def _deaf(trial: Trial) -> Diagnosis | None:
    """The call from which nothing could be learned: the last of its kind, or half of the model's."""
    calls = list(enumerate(trial.calls, 1))
    models = [(number, call) for number, call in calls if call.kind == "model"]
    tools = [(number, call) for number, call in calls if call.kind != "model"]
    deaf = [(n, call) for n, call in models if _deafness(call) and not _passed_on(trial, n - 1)]
    if len(deaf) * 2 < len(models):
        deaf = [pair for pair in deaf if pair == models[-1]]
    for number, call in tools[-1:] + deaf[::-1]:
        if reason := _deafness(call):
            return Diagnosis(_call_fault(call), reason, _name(number, call))
    return None


def _unused(trial: Trial) -> Diagnosis | None:
    """The last model call, or any tool call, of whose output nothing was used."""
    last_model = max((i for i, call in enumerate(trial.calls) if call.kind == "model"), default=-1)
    for index, call in enumerate(trial.calls):
        if (call.kind != "model" or index == last_model) and _is_unused(trial, index):
            evidence = f"nothing of its output {_short(call.reply)} is in a later call or in the answer"
            where = _name(index + 1, call)
            return Diagnosis(Fault.COMMUNICATION, f"{evidence} {_short(trial.answer)}", where)
    return None


def _passed_on(trial: Trial, index: int) -> bool:
    """Whether a later call got a whole piece of this reply (a program): a cut behind it does no harm."""
    reply = trial.calls[index].reply.rstrip()
    texts = (text.strip() for call in trial.calls[index + 1 :] for text in _texts(call.request))
    return any(len(text) >= _PIECE and text in reply and not reply.endswith(text) for text in texts)


def _call_fault(call: Call) -> Fault:
    if _BUDGET.search(call.error):
        return Fault.BUDGET
    return Fault.API_MISUSE if _CONTRACT.search(call.error) else Fault.COMMUNICATION


def _deafness(call: Call) -> str:
    """Why nothing could be learned from the call; empty if something could."""
    cut, empty = call.finish_reason == "length", call.reply.strip().casefold() in _NOTHING
    if call.error:
        return f"the call failed: {call.error}"
    if cut and (empty or _only_thinking(call.reply)):
        return (
            "truncated_thinking: the reply broke off at its length limit before any content; "
            "raise max_tokens or turn the model's thinking off"
        )
    if empty:
        return "it came back empty"
    if cut and not has_conclusion(call.reply):
        return f"cut at its length limit before a result (…{call.reply[-60:]!r}): raise max_tokens"
    if call.kind != "model" and (failed := _FAILED_OUTPUT.search(call.reply)):
        return f"it gave an error for an output: {call.reply[failed.start() :].strip().splitlines()[-1]}"
    return ""


def _only_thinking(reply: str) -> bool:
    return "<think>" in reply and "</think>" not in reply


def _is_unused(trial: Trial, index: int) -> bool:
    """Whether nothing that the call brought in shows in the answer or in a later request.

    A number that the program worked out from a reply stands in no reply: then nothing is claimed.
    """
    call, answer = trial.calls[index], set(forms(trial.answer))
    brought = set(forms(call.reply)) - set(forms(_request_text(call)))
    later = answer.union(*(forms(_request_text(each)) for each in trial.calls[index + 1 :]))
    if brought & later:
        return False
    if " ".join(forms(trial.answer)) in _FALLBACKS:
        return True
    if not brought:
        return False
    from_others = any(answer <= set(forms(each.reply)) for each in trial.calls if each is not call)
    return from_others and (call.kind != "model" or len(forms(call.reply)) > _VERDICT_TOKENS)


# 4. What is known of the answer.


def _fields(trial: Trial, targets: Sequence[str]) -> Diagnosis | None:
    wanted = next((found for found in map(object_of, targets) if found is not None), None)
    if wanted is None or not trial.answer.strip():
        return None
    answer = object_of(trial.answer)
    if answer is None:
        return Diagnosis(Fault.FORMAT, f"the answer {_short(trial.answer)} is no JSON object", "answer")
    apart = fields_apart(answer, wanted)
    if not apart:
        return None
    only_form = all(each.how == "format" for each in apart)
    return Diagnosis(Fault.FORMAT if only_form else Fault.WRONG_FIELDS, _in_words(apart, wanted), "answer")


def _in_words(apart: Sequence[FieldFault], wanted: Mapping[str, object]) -> str:
    n_wrong = sum(each.how != "extra" for each in apart)
    return f"{n_wrong} of {len(wanted)} fields wrong: " + "; ".join(map(str, apart[:8]))


def _choice(trial: Trial, targets: Sequence[str], options: frozenset[str]) -> Diagnosis | None:
    target = next((each for each in targets if each in options), None)
    if target is None or not trial.answer.strip():
        return None
    taken = next((each for each in sorted(options) if same(trial.answer, each)), None)
    if taken is not None:
        evidence = f"took {_short(taken)} for {_short(target)}"
    else:
        evidence = (
            f"the answer {_short(trial.answer)} is none of the {len(options)} seen, {_short(target)} is right"
        )
    return Diagnosis(Fault.WRONG_CHOICE, evidence, _last_call(trial))


def _was_read(trial: Trial, number: int) -> bool:
    """Whether call `number` is a search whose passages the model could read: it was asked later."""
    later = any(call.kind == "model" for call in trial.calls[number:])
    return trial.calls[number - 1].kind == _SEARCH and later


def _not_retrieved(trial: Trial, targets: Sequence[str], question: str) -> Diagnosis | None:
    """Where no passage states the target; nothing is claimed of one too short or named in the question."""
    searches = [(number, call) for number, call in enumerate(trial.calls, 1) if call.kind == _SEARCH]
    if not searches or not targets or not all(is_telling(each, question) for each in targets):
        return None
    number, call = searches[-1]
    evidence = f"no passage of {len(searches)} searches states the target {_short(targets[0])}"
    return Diagnosis(Fault.NOT_RETRIEVED, evidence, _name(number, call))


def _request_text(call: Call) -> str:
    return " ".join(_texts(call.request))


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from _texts(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _texts(each)


# Words.


def _never_stated(trial: Trial, targets: Sequence[str]) -> str:
    n = len(trial.calls)
    if not targets:
        return f"the scorer gave {trial.score}; the answer was {_short(trial.answer)}"
    source = f"none of the {n} replies states the target" if n else "it made no call"
    return f"{source}; the answer was {_short(trial.answer)}"


def _last_call(trial: Trial) -> str:
    return _name(len(trial.calls), trial.calls[-1]) if trial.calls else "solve"


def _name(number: int, call: Call) -> str:
    return f"call {number} ({call.kind})"


def _short(text: str) -> str:
    text = " ".join(text.split())
    return repr(text if len(text) <= 80 else text[:77] + "...")
