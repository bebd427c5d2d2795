"""The constant texts and numbers that a program holds, however it spells them.

Constant expressions are folded on the syntax tree, nothing is executed: concatenation, slices, `join`,
`chr`, comprehensions over constants, base64, hex, rot13, JSON and zlib. Simple encodings are also undone
where the program does not show how it would undo them.

Not guaranteed: a program can compute any text. This finds what a model writes, not what an adversary hides.
"""

from __future__ import annotations

import ast
import base64
import binascii
import codecs
import json
import operator
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from loriner.harness.contract import program_nodes

_SIZE = 200_000
"""Characters or items up to which a constant is folded."""
_STEPS = 200_000
"""Nodes visited in folding one program."""
_TABLES = 40
"""Tables of one program that are compared as parallel lists."""


@dataclass(frozen=True, slots=True)
class Text:
    """One constant, as text."""

    value: str
    line: int
    """From 1."""
    decoded: bool = False
    """It stands in the program only reversed, encoded, or as character codes."""


@dataclass(frozen=True, slots=True)
class ConstantTable:
    """The constants of one container, in its order."""

    values: tuple[str, ...]
    line: int
    in_text: bool = False
    """They are the words of one text, not the items of a container."""


@dataclass(frozen=True, slots=True)
class Link:
    """Constants by which a case is told (`keys`), and those that it leads to."""

    keys: tuple[str, ...]
    values: tuple[str, ...]
    line: int


@dataclass(frozen=True, slots=True)
class Literals:
    texts: tuple[Text, ...]
    tables: tuple[ConstantTable, ...]
    links: tuple[Link, ...]


def literals(source: str) -> Literals:
    """The constants of a program.

    Raises:
        SyntaxError: `source` is no Python program, or is nested too deeply to be read.
    """
    try:
        reader = _Reader(program_nodes(source))
    except RecursionError:
        raise SyntaxError("the program is nested too deeply to be read") from None
    texts = tuple(dict.fromkeys(reader.texts()))
    tables = tuple(dict.fromkeys(reader.tables()))
    return Literals(texts, tables, tuple(dict.fromkeys([*reader.links(), *_parallel(tables)])))


class _Unknown(Exception):
    """The expression is not constant, or too large to fold."""


_NOT_CONSTANT = object()


def _constant(value: Any) -> Any:
    if value is _NOT_CONSTANT:
        raise _Unknown
    return value


class _Reader:
    def __init__(self, nodes: Sequence[ast.AST]) -> None:
        self._nodes = nodes
        self._steps = 0
        self._known: dict[ast.expr, Any] = {}
        assigned: dict[str, list[ast.expr]] = {}
        for node in nodes:
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                assigned.setdefault(node.targets[0].id, []).append(node.value)
        self._names = {name: values[0] for name, values in assigned.items() if len(values) == 1}
        self._constants = list(self._folded(nodes))

    def texts(self) -> Iterator[Text]:
        for value, line in self._constants:
            if isinstance(value, tuple):
                yield from (Text(each, line, decoded=True) for each in _spelled(value))
            elif (text := _text(value)) is not None:
                yield Text(text, line)
                yield from (Text(each, line, decoded=True) for each in decoded(text))

    def tables(self) -> Iterator[ConstantTable]:
        for value, line in self._constants:
            for values in _columns(value):
                texts = tuple(text for each in values if (text := _text(each)) is not None)
                if len(texts) > 2:
                    yield ConstantTable(texts, line, in_text=isinstance(value, str))

    def links(self) -> Iterator[Link]:
        for node in self._nodes:
            for keys, values in _cases(node):
                if (known := self._under(keys)) and (found := self._under(values)):
                    yield Link(known, found, getattr(values[0], "lineno", 1))
        for table, line in self._constants:
            if isinstance(table, dict):
                pairs = ((_text(key), _text(value)) for key, value in table.items())
                yield from (Link((key,), (value,), line) for key, value in pairs if key and value)

    def _under(self, nodes: Sequence[ast.AST]) -> tuple[str, ...]:
        found = (_text(value) for node in nodes for value, _ in self._folded(ast.walk(node)))
        return tuple(dict.fromkeys(text for text in found if text is not None))

    def _folded(self, nodes: Iterable[ast.AST]) -> Iterator[tuple[Any, int]]:
        """Every constant expression among the nodes, with its line; parts of one come after it."""
        for node in nodes:
            if isinstance(node, ast.expr) and not isinstance(node, ast.Name):
                try:
                    yield self._fold(node, {}), node.lineno
                except _Unknown:
                    continue

    def _fold(self, node: ast.expr, local: Mapping[str, Any]) -> Any:
        if local or node not in self._known:
            self._steps += 1
            value = self._evaluated(node, local) if self._steps <= _STEPS else _NOT_CONSTANT
            if local:
                return _constant(value)
            self._known[node] = value
        return _constant(self._known[node])

    def _evaluated(self, node: ast.expr, local: Mapping[str, Any]) -> Any:
        try:
            value = self._value(node, local)
        except Exception:  # noqa: BLE001 - an expression that fails is no constant, whatever its error
            return _NOT_CONSTANT
        too_large = isinstance(value, str | bytes | tuple | dict) and len(value) > _SIZE
        return _NOT_CONSTANT if too_large else value

    def _value(self, node: ast.expr, local: Mapping[str, Any]) -> Any:
        def fold(part: ast.expr) -> Any:
            return self._fold(part, local)

        match node:
            case ast.Constant():
                return node.value
            case ast.Name() if node.id in local:
                return local[node.id]
            case ast.Name() if node.id in self._names:
                return fold(self._names[node.id])
            case ast.List() | ast.Tuple() | ast.Set():
                return tuple(map(fold, node.elts))
            case ast.Dict():
                return {fold(k or node): fold(v) for k, v in zip(node.keys, node.values, strict=True)}
            case ast.JoinedStr():
                return "".join(str(fold(part)) for part in node.values)
            case ast.FormattedValue():
                return fold(node.value)
            case ast.UnaryOp(op=ast.USub()):
                return -fold(node.operand)
            case ast.BinOp():
                return _combined(node.op, fold(node.left), fold(node.right))
            case ast.Slice():
                return slice(*(fold(part) if part else None for part in (node.lower, node.upper, node.step)))
            case ast.Subscript():
                return fold(node.value)[fold(node.slice)]
            case ast.ListComp() | ast.GeneratorExp() if len(node.generators) == 1:
                return self._comprehended(node, fold(node.generators[0].iter), local)
            case ast.Call():
                return self._called(node, fold)
        raise _Unknown

    def _comprehended(
        self, node: ast.ListComp | ast.GeneratorExp, values: Any, local: Mapping[str, Any]
    ) -> tuple[Any, ...]:
        target = node.generators[0].target
        if node.generators[0].ifs or not isinstance(target, ast.Name):
            raise _Unknown
        return tuple(self._fold(node.elt, {**local, target.id: value}) for value in values)

    def _called(self, node: ast.Call, fold: Callable[[ast.expr], Any]) -> Any:
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if node.keywords:
            raise _Unknown
        if name == "map" and isinstance(node.args[0], ast.Name):
            return tuple(map(_FUNCTIONS[node.args[0].id], fold(node.args[1])))
        if name in _FUNCTIONS:
            return _FUNCTIONS[name](*map(fold, node.args))
        if name in _METHODS and isinstance(node.func, ast.Attribute):
            owner = fold(node.func.value)
            if isinstance(owner, str | bytes):
                arguments = map(fold, node.args) if name in ("join", "split") else ()
                return _METHODS[name](owner, *arguments)
        raise _Unknown


def _cases(node: ast.AST) -> Iterator[tuple[Sequence[ast.AST], Sequence[ast.AST]]]:
    """(what tells the case, what it leads to), for each way in which a program can pair the two."""
    match node:
        case ast.Dict():
            yield from (((key,), (value,)) for key, value in zip(node.keys, node.values, strict=True) if key)
        case ast.Tuple() | ast.List() if 2 <= len(node.elts) <= 6:
            yield node.elts[:-1], node.elts[-1:]
        case ast.If():
            yield (node.test,), node.body
        case ast.IfExp():
            yield (node.test,), (node.body,)
        case ast.match_case():
            yield (node.pattern,), node.body
        case ast.Assign(targets=[ast.Subscript() as target, *_]):
            yield (target.slice,), (node.value,)
        case ast.Call(args=[key, value]):
            yield (key,), (value,)


def _decompressed(data: bytes) -> bytes:
    return zlib.decompressobj().decompress(data, _SIZE)


def _joined(separator: Any, parts: Any) -> Any:
    if sum(len(part) + len(separator) for part in parts) > _SIZE:
        raise _Unknown
    return separator.join(parts)


def _bytes(value: Any) -> bytes:
    if isinstance(value, int):
        raise _Unknown  # would make as many zeros
    return bytes(value)


def _as_string(value: Any) -> str:
    if isinstance(value, tuple | dict):
        raise _Unknown
    return str(value)


_METHODS: dict[str, Callable[..., Any]] = {
    "join": _joined,
    "split": lambda text, *by: tuple(text.split(*by)),
    "splitlines": lambda text: tuple(text.splitlines()),
    **{
        name: operator.methodcaller(name)
        for name in ("strip", "lower", "upper", "title", "capitalize", "swapcase", "encode", "decode", "hex")
    },
}
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "chr": chr,
    "ord": ord,
    "str": _as_string,
    "int": int,
    "float": float,
    "list": tuple,
    "tuple": tuple,
    "bytes": _bytes,
    "dict": dict,
    "zip": lambda *columns: tuple(zip(*columns, strict=False)),
    "reversed": lambda values: tuple(reversed(values)),
    "b64decode": base64.b64decode,
    "urlsafe_b64decode": base64.urlsafe_b64decode,
    "b32decode": base64.b32decode,
    "b16decode": base64.b16decode,
    "fromhex": bytes.fromhex,
    "unhexlify": binascii.unhexlify,
    "decompress": _decompressed,
    "loads": lambda text: _frozen(json.loads(text)),
    "a2b_base64": binascii.a2b_base64,
}
_OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.BitXor: operator.xor,
    ast.Mod: operator.mod,
    ast.FloorDiv: operator.floordiv,
    ast.Mult: operator.mul,
}


def _combined(kind: ast.operator, left: Any, right: Any) -> Any:
    if isinstance(kind, ast.Mult) and not all(isinstance(each, int | float) for each in (left, right)):
        count, body = (left, right) if isinstance(left, int) else (right, left)
        if count * max(1, len(body)) > _SIZE:
            raise _Unknown
    if isinstance(kind, ast.Mod) and isinstance(left, str):
        raise _Unknown  # a width such as "%999999999d" would be unbounded
    return _OPERATORS[type(kind)](left, right)


def _frozen(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(map(_frozen, value))
    return {key: _frozen(each) for key, each in value.items()} if isinstance(value, dict) else value


def _text(value: Any) -> str | None:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, bool) or value is None:
        return None
    return str(value) if isinstance(value, str | int | float) else None


def _columns(value: Any) -> Iterator[tuple[Any, ...]]:
    """The rows of values that stand side by side in a container."""
    if isinstance(value, dict):
        yield tuple(value.values())
        yield tuple(value)
    elif isinstance(value, tuple):
        yield value
        rows = all(isinstance(row, tuple) and len(row) == len(value[0]) for row in value)
        if value and rows and len(value) * len(value[0]) <= _SIZE:
            yield from zip(*value, strict=True)
    elif isinstance(value, str) and len(parts := re.split(r"[,;|\n]\s*|\s+", value.strip())) > 2:
        yield tuple(parts)


def _spelled(values: tuple[Any, ...]) -> Iterator[str]:
    """The text that a list of characters or of their codes spells, forwards and backwards."""
    if len(values) > 1 and all(isinstance(each, str) and len(each) == 1 for each in values):
        text = "".join(values)
    elif len(values) > 1 and all(type(each) is int and 32 <= each < 0x11_0000 for each in values):
        text = "".join(map(chr, values))
    else:
        return
    yield text
    yield text[::-1]


def decoded(text: str) -> Iterator[str]:
    """What `text` says when it is reversed, or read as rot13, base64 or hex."""
    if len(text) > 1:
        yield text[::-1]
        yield codecs.encode(text, "rot13")
    compact = "".join(text.split())
    if len(compact) % 4 == 0 and re.fullmatch(r"[A-Za-z0-9+/_-]+={0,2}", compact):
        yield from _readable(lambda: base64.b64decode(compact.translate({45: "+", 95: "/"})))
    if len(compact) % 2 == 0 and re.fullmatch(r"(?:0x)?[0-9a-fA-F]+", compact):
        yield from _readable(lambda: bytes.fromhex(compact.removeprefix("0x")))


def _readable(decode: Callable[[], bytes]) -> Iterator[str]:
    try:
        text = decode().decode()
    except ValueError:
        return
    if text.replace("\n", " ").isprintable():
        yield text


def _parallel(tables: tuple[ConstantTable, ...]) -> Iterator[Link]:
    """Tables of equal length may be read side by side: the one as keys of the other."""
    for left, right in combinations([table for table in tables if not table.in_text][:_TABLES], 2):
        if len(left.values) == len(right.values):
            for one, other in zip(left.values, right.values, strict=True):
                yield Link((one,), (other,), left.line)
                yield Link((other,), (one,), right.line)
