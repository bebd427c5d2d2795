"""What a harness can rely on inside a run, and what the host makes of how it ends, through real processes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest
import pytest_asyncio

from loriner.errors import BudgetReached, ModelUnavailable, RuntimeUnavailable
from loriner.records import Status
from loriner.runtime.base import CallRefused, Limits, Program, Verdict
from loriner.runtime.host import LocalRuntime

SHORT = Limits(cpu_s=1, wall_s=60)


class Echo:
    """Services whose model answers the last message in capitals, and which remember what they were asked."""

    def __init__(self, delay_s: float = 0.0, error: Exception | None = None) -> None:
        self.delay_s = delay_s
        self.error = error
        self.requests: list[Mapping[str, Any]] = []
        self.n_waiting = self.most_waiting = 0
        self.scripts: list[tuple[str, str]] = []

    async def model(self, request: Mapping[str, Any]) -> list[str]:
        self.requests.append(request)
        if self.error is not None:
            raise self.error
        self.n_waiting += 1
        self.most_waiting = max(self.most_waiting, self.n_waiting)
        await asyncio.sleep(self.delay_s)
        self.n_waiting -= 1
        return [str(request["messages"][-1]["content"]).upper()] * request["n"]

    async def tool(self, name: str, arguments: Mapping[str, Any]) -> Any:
        return [{"title": name, "text": f"{key}={value}"} for key, value in arguments.items()]

    def ran_python(self, code: str, output: str, seconds: float) -> None:
        self.scripts.append((code, output))


pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.xdist_group("runtime")]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def runtime() -> AsyncIterator[LocalRuntime]:
    started = LocalRuntime()
    await started.start()
    yield started
    await started.close()


async def run(
    runtime: LocalRuntime, source: str, services: Echo | None = None, limits: Limits = SHORT, **more: Any
) -> Verdict:
    more = {"question": "what?", **more}
    return await runtime.run(Program(source=source, **more), services or Echo(), limits)


def solving(body: str, before: str = "") -> str:
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    return f"{before}\ndef solve(model, question):\n{lines}"


async def test_the_model_handle_serves_prompts_conversations_samples_and_batches(
    runtime: LocalRuntime,
) -> None:
    body = """one = model(question, system='be brief', temperature=0.5, max_tokens=7, stop='\\n')
two = model.chat([{'role': 'user', 'content': 'a'}, {'role': 'assistant', 'content': 'b'}], n=2)
three = model.batch(['x', 'y', 'z'], max_tokens=3)
return repr((one, two, three))"""
    services = Echo()
    verdict = await run(runtime, solving(body), services)
    assert (verdict.status, verdict.answer) == (Status.OK, "('WHAT?', ['B', 'B'], ['X', 'Y', 'Z'])"), verdict
    assert services.requests[0] == {
        "messages": [{"role": "system", "content": "be brief"}, {"role": "user", "content": "what?"}],
        "temperature": 0.5,
        "max_tokens": 7,
        "stop": ["\n"],
        "n": 1,
    }
    assert services.requests[1]["n"] == 2


async def test_a_batch_is_served_concurrently(runtime: LocalRuntime) -> None:
    services = Echo(delay_s=0.1)
    verdict = await run(runtime, solving("return ''.join(model.batch(list('abcdefgh')))"), services)
    assert verdict.answer == "ABCDEFGH"
    assert services.most_waiting == 8


async def test_threads_may_call_the_model(runtime: LocalRuntime) -> None:
    body = "with ThreadPoolExecutor(4) as pool:\n    return ''.join(pool.map(model, 'abcd'))"
    verdict = await run(runtime, solving(body, "from concurrent.futures import ThreadPoolExecutor"))
    assert (verdict.status, verdict.answer) == (Status.OK, "ABCD"), verdict


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("model(3)", "TypeError: the prompt must be text, not int"),
        ("model('a', top_p=1)", "TypeError: the model has no argument 'top_p'; it takes system"),
        ("model('a', temperature='hot')", "ValueError: temperature must be a number from 0 to 2, not 'hot'"),
        ("model('a', temperature=float('nan'))", "ValueError: temperature must be"),
        ("model('a', max_tokens=0)", "ValueError: max_tokens must be an integer of at least 1, not 0"),
        ("model('a', n=True)", "ValueError: n must be"),
        ("model('a', stop=[1])", "ValueError: stop must be"),
        ("model.chat('a')", "TypeError: model.chat(messages) takes a list"),
        ("model.chat([{'role': 'tool', 'content': 'a'}])", "ValueError: a message's role is"),
        ("model.chat([{'role': 'user', 'content': None}])", "TypeError: a message's content must be text"),
        ("model.batch('abc')", "TypeError: model.batch(prompts) takes a list of texts"),
    ],
)
async def test_a_misused_model_is_the_programs_crash_in_words(
    runtime: LocalRuntime, call: str, message: str
) -> None:
    verdict = await run(runtime, solving(f"return {call}"))
    assert (verdict.status, verdict.stage) == (Status.CRASHED, "solve")
    assert verdict.detail == message.partition(":")[0]
    assert message in verdict.error


RAW = "a\x1b[31mb\x00c\r\n"
"""An answer that no screen should see, and that a scorer must."""


@pytest.mark.parametrize(
    ("value", "answer"),
    [("'text'", "text"), ("12", "12"), ("-0.5", "-0.5"), ("2.0", "2.0"), (repr(RAW), RAW)],
)
async def test_answers_are_text_or_numbers_by_a_fixed_rule(
    runtime: LocalRuntime, value: str, answer: str
) -> None:
    verdict = await run(runtime, solving(f"return {value}"))
    assert (verdict.status, verdict.answer) == (Status.OK, answer), verdict


@pytest.mark.parametrize(
    ("value", "status", "detail"),
    [
        ("[1]", Status.BAD_ANSWER, "list"),
        ("True", Status.BAD_ANSWER, "bool"),
        ("float('nan')", Status.BAD_ANSWER, "float"),
        ("10 ** 9999", Status.BAD_ANSWER, "int"),
        ("'x' * 70_000", Status.BAD_ANSWER, "too_long"),
        ("'x' * 3_000_000", Status.BAD_ANSWER, "str"),
        ("None", Status.NO_ANSWER, "None"),
        ("' \\n'", Status.NO_ANSWER, "empty"),
    ],
)
async def test_other_answers_are_refused(
    runtime: LocalRuntime, value: str, status: Status, detail: str
) -> None:
    verdict = await run(runtime, solving(f"return {value}"))
    assert (verdict.status, verdict.detail, verdict.answer) == (status, detail, "")


async def test_a_granted_tool_is_importable_and_another_is_an_import_error(runtime: LocalRuntime) -> None:
    source = solving("return search(question, 3)[1]['text'] + lookup(key=1)[0]['text']")
    tools = frozenset({"search", "lookup"})
    granted = await run(runtime, "from tools import search, lookup" + source, tools=tools)
    assert (granted.status, granted.answer) == (Status.OK, "k=3key=1"), granted
    refused = await run(runtime, "from tools import run_python" + source, tools=tools)
    assert (refused.status, refused.detail, refused.stage) == (Status.CRASHED, "ImportError", "import")
    assert "does not grant the tool 'run_python'; granted: lookup, search" in refused.error


@pytest.mark.parametrize(
    ("code", "output"),
    [
        ("print(6 * 7)", "42\n"),
        ("print('a')\nprint(1 / 0)", "a\nError: ZeroDivisionError: division by zero"),
        ("import sys\nprint('a', end='')\nsys.exit('no')", "a\nError: SystemExit: no"),
        ("print('done')\nexit()", "done\n"),
        ("def f(:", "Error: SyntaxError: invalid syntax"),
        ("while True: pass", "Error: it used its 1 s of CPU time"),
        ("from tools import search", "Error: ModuleNotFoundError: No module named 'tools'"),
    ],
)
async def test_run_python_is_a_sibling_without_model(runtime: LocalRuntime, code: str, output: str) -> None:
    services = Echo()
    source = "from tools import run_python" + solving(f"return run_python({code!r})")
    limits = Limits(cpu_s=1, wall_s=60)
    verdict = await run(runtime, source, services, limits, tools=frozenset({"run_python"}))
    assert (verdict.status, verdict.answer) == (Status.OK, output), verdict
    assert services.scripts == [(code, output)]


async def test_a_refused_call_is_raised_in_the_program(runtime: LocalRuntime) -> None:
    body = "try:\n    model('a')\nexcept RuntimeError as error:\n    return str(error)"
    verdict = await run(runtime, solving(body), Echo(error=CallRefused("no more money")))
    assert (verdict.status, verdict.answer) == (Status.OK, "no more money")
    verdict = await run(runtime, solving("model('a')"), Echo(error=CallRefused("no more money")))
    assert (verdict.status, verdict.detail) == (Status.BUDGET_EXCEEDED, "calls")


async def test_calls_over_the_budget_are_refused_and_far_over_it_killed(runtime: LocalRuntime) -> None:
    limits = Limits(cpu_s=1, wall_s=30, n_calls=3)
    body = "texts = []\nfor _ in range({n}):\n    try:\n        texts.append(model('a'))\n"
    body += "    except RuntimeError as error:\n        texts.append('refused')\nreturn ' '.join(texts)"
    services = Echo()
    some = await run(runtime, solving(body.format(n=5)), services, limits)
    assert (some.status, some.answer) == (Status.OK, "A A A refused refused"), some
    assert len(services.requests) == 3
    many = await run(runtime, solving(body.format(n=50)), Echo(), limits)
    assert many.status is Status.BUDGET_EXCEEDED
    tokens = await run(runtime, solving("model('a', max_tokens=20_000)"), services, limits)
    assert tokens.status is Status.BUDGET_EXCEEDED
    assert "16384 completion tokens" in tokens.error
    assert len(services.requests) == 3


async def test_a_dead_model_is_ours_and_a_reached_cap_stops_the_caller(runtime: LocalRuntime) -> None:
    verdict = await run(runtime, solving("model('a')"), Echo(error=ModelUnavailable("nobody listens")))
    assert verdict.status is Status.INFRA_ERROR
    assert "nobody listens" in verdict.error
    with pytest.raises(BudgetReached):
        await run(runtime, solving("model('a')"), Echo(error=BudgetReached("spent")))
    slow = Limits(cpu_s=1, wall_s=60, call_s=0.1)
    verdict = await run(runtime, solving("model('a')"), Echo(delay_s=60), slow)
    assert verdict.status is Status.INFRA_ERROR


async def test_waiting_for_the_model_costs_no_own_time(runtime: LocalRuntime) -> None:
    limits = Limits(cpu_s=1, wall_s=5)
    body = "return ''.join(model('a') for _ in range(6))"
    verdict = await run(runtime, solving(body), Echo(delay_s=1.0), limits)
    assert (verdict.status, verdict.answer) == (Status.OK, "AAAAAA"), verdict
    assert verdict.seconds >= 6


async def test_runs_that_wait_for_the_model_leave_their_place_to_others() -> None:
    runtime = LocalRuntime(n_at_work=1)
    await runtime.start()
    services = Echo(delay_s=1.5)
    source = solving("return model(question)")
    verdicts = await asyncio.gather(*(run(runtime, source, services, question=f"q{i}") for i in range(40)))
    await runtime.close()
    assert [verdict.answer for verdict in verdicts] == [f"Q{i}" for i in range(40)]
    assert services.most_waiting > 5


async def test_the_seed_and_nothing_else_decides_the_random_stream(runtime: LocalRuntime) -> None:
    source = solving(
        'return f\'{random.random()} {hash(question)} {list({"a", "b", "c"})}\'', "import random"
    )
    first, second, other = [await run(runtime, source, seed=seed) for seed in (1, 1, 2)]
    assert first.answer == second.answer != other.answer
    assert first.answer.split()[1:] == other.answer.split()[1:]


async def test_a_crash_says_where_in_the_harness_and_nothing_of_the_host(runtime: LocalRuntime) -> None:
    verdict = await run(runtime, solving("print('before')\nreturn json.loads('{')", "import json"))
    assert (verdict.status, verdict.detail) == (Status.CRASHED, "JSONDecodeError")
    assert verdict.stdout == "before\n"
    assert 'File "harness.py", line 4, in solve\n    return json.loads' in verdict.error
    assert 'File "json/__init__.py"' in verdict.error
    assert "child.py" not in verdict.error


async def test_a_dead_zygote_is_ours_and_the_next_run_is_unharmed(runtime: LocalRuntime) -> None:
    source = solving("return model(question)")
    running = asyncio.create_task(run(runtime, source, Echo(delay_s=60)))
    services = Echo()
    await asyncio.sleep(0.3)
    (zygote,) = [each for each in runtime.zygotes if each.n_running]
    zygote.process.kill()
    verdict = await running
    assert verdict.status is Status.INFRA_ERROR
    assert "the zygote died: its process ended" in verdict.error
    assert (await run(runtime, source, services)).status is Status.OK


async def test_a_cancelled_run_gives_its_place_back() -> None:
    runtime = LocalRuntime(n_at_work=1)
    await runtime.start()
    for body in ("while True: pass", "model('a')"):
        running = asyncio.create_task(
            run(runtime, solving(body), Echo(delay_s=60), Limits(wall_s=120, cpu_s=99))
        )
        await asyncio.sleep(0.3)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
    assert (await run(runtime, solving("return 1"))).answer == "1"
    await runtime.close()


async def test_a_runtime_that_is_not_started_says_so() -> None:
    with pytest.raises(RuntimeUnavailable, match="not started"):
        await run(LocalRuntime(), solving("return 1"))
