"""The filter's decisions, by running its instructions as the kernel would, for both architectures."""

from __future__ import annotations

import errno
import re
from pathlib import Path

import pytest

from loriner.runtime import seccomp
from loriner.runtime.seccomp import SELF, Code

AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
PID = 4321
TABLES = ("_ALLOWED", "_NETWORK", "_PROCESS", "_FILE", "_CHECKED")


def decide(code: Code, number: int, arguments: tuple[int, ...] = (), arch: int = 0) -> int | str:
    """0 for allowed, the error number of a refusal, or `kill`."""
    words = [number, arch, 0, 0]
    for argument in (*arguments, *[0] * (6 - len(arguments))):
        words += [argument & 0xFFFFFFFF, argument >> 32 & 0xFFFFFFFF]
    at, accumulator = 0, 0
    while True:
        operation, if_true, if_false, operand = code[at]
        operand = PID if operand == SELF else operand
        at += 1
        match operation:
            case 0x20:
                accumulator = words[operand // 4]
            case 0x54:
                accumulator &= operand
            case 0x05:
                at += operand
            case 0x15:
                at += if_true if accumulator == operand else if_false
            case 0x35:
                at += if_true if accumulator >= operand else if_false
            case 0x06:
                actions: dict[int, int | str] = {0x7FFF: 0, 0x5: operand & 0xFFFF, 0x8000: "kill"}
                return actions[operand >> 16]
            case _:
                raise AssertionError(f"unknown instruction {operation:#x}")


@pytest.fixture(params=["x86_64", "aarch64"])
def machine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def numbers(machine: str, table: str) -> dict[str, int]:
    return seccomp.numbers(getattr(seccomp, table), ["x86_64", "aarch64"].index(machine))


def test_every_call_gets_the_answer_of_its_class(machine: str) -> None:
    code = seccomp.program(machine)
    listed = {}
    for table, answer in zip(TABLES[:4], (0, errno.ENETUNREACH, errno.EPERM, errno.EROFS), strict=True):
        listed |= dict.fromkeys(numbers(machine, table).values(), answer)
    checked = set(numbers(machine, "_CHECKED").values())
    for number in set(range(1024)) - checked:
        assert decide(code, number, arch=AUDIT[machine]) == listed.get(number, errno.ENOSYS), number
    assert len(checked) == 8


def test_a_foreign_call_ends_the_process(machine: str) -> None:
    code = seccomp.program(machine)
    other = next(arch for name, arch in AUDIT.items() if name != machine)
    assert decide(code, 1, arch=other) == "kill"
    assert decide(code, 1, arch=0x40000003) == "kill"
    assert decide(code, 0x40000000 + 39, arch=AUDIT[machine]) == "kill"


@pytest.mark.parametrize(
    ("name", "arguments", "answer"),
    [
        ("clone", (0x3D0F00,), 0),  # what a thread is made with
        ("clone", (0x1200011,), errno.EPERM),  # what fork is made with
        ("clone", (0x4111,), errno.EPERM),  # vfork
        ("clone", (0x3D0F00 | 0x10000000,), errno.EPERM),
        ("fcntl", (3, 3), 0),
        ("fcntl", (3, 4, 0o4000), 0),
        ("fcntl", (3, 4, 0o4000 | 0o20000), errno.EPERM),
        ("fcntl", (3, 8, 1), errno.EPERM),  # F_SETOWN
        ("fcntl", (3, 10, 9), errno.EPERM),  # F_SETSIG
        ("fcntl", (3, 15, 0), errno.EPERM),  # F_SETOWN_EX
        ("ioctl", (1, 0x5401), 0),
        ("ioctl", (1, 0x5452), errno.EPERM),  # FIOASYNC
        ("ioctl", (1, 0x8901), errno.EPERM),  # FIOSETOWN
        ("ioctl", (1, 0x5412), errno.EPERM),  # TIOCSTI
        ("kill", (PID, 15), 0),
        ("kill", (PID, 9), errno.EPERM),
        ("kill", (PID + 1, 15), errno.EPERM),
        ("kill", (0, 15), errno.EPERM),
        ("kill", (0xFFFFFFFF, 15), errno.EPERM),
        ("tgkill", (PID, PID + 1, 6), 0),
        ("tgkill", (PID, PID, 9), errno.EPERM),
        ("tgkill", (PID + 1, PID + 1, 6), errno.EPERM),
        ("prlimit64", (0, 0, 0, 0x7F0000000000), 0),
        ("prlimit64", (0, 0, 0x7F0000000000, 0), errno.EPERM),
        ("prlimit64", (PID + 1, 0, 0, 0), errno.EPERM),
        ("sendto", (3, 0x7F0000000000, 4, 0, 0), 0),
        ("sendto", (3, 0x7F0000000000, 4, 0, 0x7F0000000000), errno.ENETUNREACH),
        ("sendto", (3, 0x7F0000000000, 4, 0, 0x10), errno.ENETUNREACH),
        ("socketpair", (1, 1 | 0o2004000, 0), 0),
        ("socketpair", (1, 2, 0), errno.ENETUNREACH),
        ("socketpair", (2, 1, 0), errno.ENETUNREACH),
    ],
)
def test_arguments_decide(machine: str, name: str, arguments: tuple[int, ...], answer: int) -> None:
    number = numbers(machine, "_CHECKED")[name]
    assert decide(seccomp.program(machine), number, arguments, AUDIT[machine]) == answer


def test_no_call_is_listed_twice(machine: str) -> None:
    every = [number for table in TABLES for number in numbers(machine, table).values()]
    assert len(every) == len(set(every))


@pytest.mark.parametrize(
    ("machine", "header"),
    [
        ("x86_64", "/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
        ("x86_64", "/usr/include/asm/unistd_64.h"),
        ("aarch64", "/usr/include/asm-generic/unistd.h"),
    ],
)
def test_the_numbers_are_those_of_the_system_headers(machine: str, header: str) -> None:
    if not Path(header).exists():
        pytest.skip(f"{header} is not installed")
    pattern = r"#define __NR(?:3264)?_(\w+)\s+(\d+)$"
    known = {
        name: int(number) for name, number in re.findall(pattern, Path(header).read_text(), re.MULTILINE)
    }
    renamed = {"newfstatat": "fstatat"} if machine == "aarch64" else {}
    for table in TABLES:
        for name, number in numbers(machine, table).items():
            assert known.get(renamed.get(name, name), number) == number, name


def test_the_search_is_shallow(machine: str) -> None:
    code = seccomp.program(machine)

    def depth(number: int) -> int:
        at, steps, accumulator = 5, 0, number
        while code[at][0] in (0x35, 0x05):
            operation, if_true, if_false, operand = code[at]
            at += 1
            at += operand if operation == 0x05 else if_true if accumulator >= operand else if_false
            steps += 1
        return steps

    assert max(map(depth, range(1024))) <= 20
    assert len(code) < 4096
