"""Settings: every wrong key is named with the nearest right one; later origins win."""

from __future__ import annotations

from pathlib import Path

import pytest

from loriner.config import Settings, changed, load
from loriner.errors import ConfigError
from loriner.models.meter import Allowance
from loriner.search.modes import mode_of
from loriner.search.plan import Plan, planned


def write(folder: Path, text: str) -> Path:
    path = folder / "loriner.toml"
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("sed = 1", "unknown key sed; did you mean seed?"),
        ("[adapt]\nround = 3", "unknown key adapt.round; did you mean rounds?"),
        ("[limits]\ncpus = 1.0", "unknown key limits.cpus; did you mean cpu_s?"),
        ("[models.a]\nbase_ur = 'x'", "unknown key models.a.base_ur; did you mean base_url?"),
        ("[budget]\ndollars = 3", "unknown key budget.dollars"),
        ("[adapt]\nrounds = 0", "adapt.rounds"),
        ("[adapt]\naccept = 'maybe'", "adapt.accept"),
        ("seed = 'x'", "found 'x'"),
        ("seed = 9007199254740992", "seed: Input should be less than or equal to 9007199254740991"),
        ("[budget]\nminutes = nan", "minutes = nan: expected 0 or more"),
        ("[budget]\nusd = -0.5", "usd = -0.5: expected 0 or more"),
        ("seed =", "not valid TOML"),
    ],
)
def test_a_wrong_file_is_told_in_words(tmp_path: Path, text: str, told: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(ConfigError) as error:
        load(path)
    assert told in str(error.value)
    assert str(path) in str(error.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no such file"):
        load(tmp_path / "none.toml")


def test_assignments_win_over_the_file_and_flags_over_both(tmp_path: Path) -> None:
    path = write(tmp_path, "seed = 1\n[adapt]\nrounds = 2\ncandidates = 5\n")
    loaded = load(path, ["seed=3", "adapt.rounds=4", "models.m.base_url=http://x/v1"])
    assert (loaded.seed, loaded.adapt.rounds, loaded.adapt.candidates) == (3, 4, 5)
    assert loaded.models["m"].base_url == "http://x/v1"
    flagged = changed(loaded, seed=None, adapt={"rounds": 6, "task": None}, budget={"calls": 9})
    assert (flagged.seed, flagged.adapt.rounds, flagged.adapt.candidates) == (3, 6, 5)
    assert flagged.budget.calls == 9


def test_settings_survive_their_own_record() -> None:
    settings = load(None, ["models.m.model=q", "budget.usd=1.5", "limits.cpu_s=3"])
    assert Settings.model_validate(settings.as_json()) == settings


def test_the_settings_of_a_search_are_its_plan(tmp_path: Path) -> None:
    path = write(
        tmp_path, '[adapt]\nrounds = 3\nrevise = "seed"\nallowance = { unit = "tokens", amount = 900 }\n'
    )
    settings = load(path)
    plan = Plan.of(settings.adapt, oracle=True)
    assert (plan.rounds, plan.grade, mode_of(plan)) == (3, 128, "best-of-n")
    assert plan.allowance == Allowance("tokens", 900)
    assert planned(plan.model_dump(mode="json")) == plan
    assert Settings.model_validate(settings.as_json()) == settings
    with pytest.raises(ConfigError, match=r"adapt\.allowance\.unit"):
        load(None, ["adapt.allowance.unit=trials", "adapt.allowance.amount=1"])
