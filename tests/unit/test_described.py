"""What is said of the settings is said under their fields, and nowhere else."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from loriner.cli.app import ALIASES, COMMANDS, summary
from loriner.config import Settings, load
from loriner.described import as_toml, at, every

ROOT = Path(__file__).parents[2]


def test_every_setting_says_what_it_is() -> None:
    assert [each.place for each in every() if not each.about] == []


def test_the_page_of_settings_shows_them_all_with_their_defaults() -> None:
    page = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")
    assert f"```toml\n{as_toml()}```" in page, (
        "docs/configuration.md: put in what `loriner init --all` writes"
    )


def test_a_file_of_all_defaults_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "loriner.toml"
    path.write_text(as_toml(), encoding="utf-8")
    assert load(path) == Settings()


def test_a_place_is_a_setting_or_a_table() -> None:
    assert [each.place for each in at("cache")] == ["cache"]
    assert {each.place for each in at("budget")} == {
        f"budget.{name}" for name in ("calls", "tokens", "usd", "trials", "minutes")
    }
    with pytest.raises(KeyError):
        at("adapt.round")


@pytest.mark.parametrize(("name", "module"), {**COMMANDS, **ALIASES}.items())
def test_the_help_of_the_root_says_of_each_command_what_it_says_itself(name: str, module: str) -> None:
    tree = ast.parse((ROOT / "src" / "loriner" / "cli" / f"{module}.py").read_text(encoding="utf-8"))
    (function,) = (
        each
        for each in tree.body
        if isinstance(each, ast.FunctionDef) and each.name == name.replace("-", "_")
    )
    assert summary(module, function.name) == ast.get_docstring(function, clean=False) != ""
