"""Runs in the sandbox as long as a session of DSPy lasts: fetches code, runs it, says what came of it."""

import ast
import contextlib
import io
import traceback

import tools


class Final(BaseException):
    """Ends the code that called SUBMIT."""


def solve(model, question):
    names = {"__name__": "__main__"}
    said = None
    while (job := tools.step(said=said)) is not None:
        for name in job["tools"]:
            names[name] = host_tool(name)
        names["SUBMIT"] = submitter(job["fields"])
        names.update(job["variables"])
        said = outcome(job["code"], names)
    return "closed"


def host_tool(name):
    def call(*args, **kwargs):
        return tools.host(name=name, args=list(args), kwargs=kwargs)

    call.__name__ = name
    return call


def submitter(fields):
    def submit(*args, **kwargs):
        if fields and len(args) <= len(fields):
            raise Final({**dict(zip(fields, args, strict=False)), **kwargs})
        raise Final(kwargs or (args[0] if len(args) == 1 else list(args)))

    return submit


def outcome(code, names):
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed):
            value = run(code, names)
    except Final as final:
        return {"final": final.args[0]}
    except SyntaxError as error:
        return {"syntax": str(error)}
    except Exception as error:  # noqa: BLE001 - the code may raise anything
        return {"error": "".join(traceback.format_exception_only(error)).strip()}
    plain = isinstance(value, str | int | float | bool | list | dict)
    return {"value": value if plain else None, "printed": printed.getvalue()}


def run(code, names):
    """The value of the last expression, if the code ends with one."""
    tree = ast.parse(code)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "<code>", "exec"), names)
    return None if last is None else eval(compile(ast.Expression(last.value), "<code>", "eval"), names)
