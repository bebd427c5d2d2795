"""Options are the settings: each lands at its place, and none is made up."""

from __future__ import annotations

import subprocess
import sys
from typing import Any, get_args, get_type_hints

import pytest
import typer
from typer.testing import CliRunner

from loriner.api.lab import Comparing, Opening, Running, Searching
from loriner.cli.flags import settled, spelt
from loriner.cli.globals import Globals
from loriner.config import AdaptSettings, CompareSettings, Settings
from loriner.setting_docs import at, every

GLOBALS = Globals(home=None, config=None, assignments=(), json=False, seed=None, offline=None, verbosity=0)


def run(*arguments: str, places: tuple[str, ...]) -> tuple[int, str, list[Settings]]:
    heard: list[Settings] = []
    app = typer.Typer()

    @app.command()
    @settled(*places)
    def command(given: Globals, settings: Settings, dry_run: bool = False) -> None:
        heard.append(settings)

    found = CliRunner().invoke(app, arguments, obj=GLOBALS)
    return found.exit_code, found.output, heard


@pytest.mark.parametrize(
    ("arguments", "place", "value"),
    [
        (["--rounds", "3"], "adapt.rounds", 3),
        (["-k", "2"], "adapt.candidates", 2),
        (["mine"], "adapt.task", "mine"),
        (["--no-history"], "adapt.history", False),
        (["--scores-only"], "adapt.scores_only", True),
        (["--max-usd", "1.5"], "budget.usd", 1.5),
        (["--max-usd", "0"], "budget.usd", 0.0),
        (["--test", "0"], "adapt.test", 0),
        (["--no-cache"], "cache", False),
        (["--sink", "wandb", "--sink", "mlflow"], "sinks", ["wandb", "mlflow"]),
    ],
)
def test_an_option_lands_at_its_place(arguments: list[str], place: str, value: Any) -> None:
    code, _, (settings,) = run(*arguments, places=("adapt", "budget", "sinks", "cache"))
    found: Any = settings
    for name in place.split("."):
        found = getattr(found, name)
    assert (code, found) == (0, value)


def test_what_is_not_given_stays_at_its_default() -> None:
    code, _, (settings,) = run(places=("adapt", "evaluate.split", "compare.modes", "budget", "cache"))
    assert (code, settings) == (0, Settings())


def test_lists_are_given_with_commas_or_one_by_one() -> None:
    places = ("compare.tasks", "compare.modes")
    _, _, (settings,) = run("a,b", "c", "--modes", "sampling,sequential", places=places)
    assert settings.compare.tasks == ["a", "b", "c"]
    assert settings.compare.modes == ["sampling", "sequential"]


def test_help_says_what_the_field_says_with_its_default() -> None:
    code, help_, _ = run("--help", places=("adapt.rounds", "adapt.accept", "cache"))
    words = " ".join(help_.replace("│", " ").split())
    assert code == 0
    assert "Largest number of rounds. Default: 10." in words
    assert "always|mean|paired" in words and "Default: paired." in words
    assert "--no-cache" in words and "Send requests again that were sent before." in words


def test_a_value_out_of_range_is_refused_before_anything_runs() -> None:
    code, told, heard = run("--rounds", "0", places=("adapt.rounds",))
    assert (code, heard) == (2, []) and "greater than or equal to 1" in told


def test_no_two_options_of_a_command_have_one_name() -> None:
    for places in (
        ("adapt", "sinks", "budget", "cache"),
        ("evaluate", "adapt.solver", "budget"),
        ("compare",),
    ):
        names = [
            name for place in places for each in at(place) if not each.flag.argument for name in spelt(each)
        ]
        assert len(names) == len(set(names))


def test_python_takes_the_settings_by_their_names() -> None:
    search, running = set(get_type_hints(Searching)), set(get_type_hints(Running))
    adapt = set(AdaptSettings.model_fields) - {"task", "solver", "proposer"}
    assert search - running == adapt
    compared = set(get_type_hints(Comparing))
    terms = set(CompareSettings.model_fields) - {"tasks"}
    assert terms <= compared <= terms | adapt | running
    assert set(get_type_hints(Opening)) | running <= {each.place for each in every()} | {"budget"}
    assert get_args(get_type_hints(Searching)["accept"]) == at("adapt.accept")[0].choices


def test_the_root_s_help_imports_no_engine() -> None:
    code = "import sys\nfrom loriner.cli import main\nmain(['--help'])\nprint('pydantic' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "False", done.stderr


def test_the_package_has_its_public_names_and_no_others() -> None:
    code = (
        "import loriner, sys\n"
        "assert 'loriner.api' not in sys.modules\n"
        "from loriner import *\n"
        "assert {'adapt', 'Cage', 'open'} <= set(loriner.__all__) and open is loriner.open\n"
        "from loriner import landlock_rules, records\n"
        "loriner.adopt"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "no attribute 'adopt'. Did you mean: 'adapt'?" in done.stderr
