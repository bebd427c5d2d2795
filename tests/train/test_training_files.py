"""Every shipped training file loads and divides; bad files are refused in words; estimates are worked
numbers.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from loriner.errors import ConfigError
from loriner.tasks.suites import spelt_out
from loriner.train.estimate import of_grpo, of_sft
from loriner.train.exercise import require_divisible
from loriner.train.settings import load

CONFIGS = Path(__file__).parents[2] / "configs"
FILES = sorted(CONFIGS.glob("*.toml"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_shipped_file_loads_divides_and_estimates(path: Path) -> None:
    config = load(path)
    batch = config.grpo.contexts_per_update * config.grpo.completions
    assert require_divisible(config.contexts.n, config.grpo.contexts_per_update) >= 1
    assert batch % (config.grpo.device_batch * config.hardware.processes) == 0
    assert (
        config.sft.batch % (config.sft.device_batch * config.hardware.processes) == 0
        or "sft" not in path.stem
    )
    if config.hardware.accelerate is not None:
        assert (CONFIGS / config.hardware.accelerate).is_file()
    assert of_grpo(config).memory_gib < config.hardware.gpu_gib
    assert of_sft(config, config.teacher.n_examples).memory_gib < config.hardware.gpu_gib


def test_there_is_a_file_for_each_setting_and_size() -> None:
    wanted = {
        f"{task}-{setting}{size}"
        for task in ("rg", "qa")
        for setting in ("sft", "single-step", "multistep")
        for size in ("", "-8gpu", "-nodes")
    }
    assert wanted <= {path.stem for path in FILES}


def test_the_source_s_numbers_stand_in_its_files() -> None:
    config = load(CONFIGS / "rg-single-step.toml")
    assert (config.grpo.contexts_per_update, config.grpo.completions, config.contexts.n) == (40, 8, 640)
    assert (config.grpo.learning_rate, config.sft.epochs, config.sft.adapter.rank) == (1e-6, 2.9, 32)
    assert config.grpo.adapter is None
    assert not config.grpo.multistep
    assert load(CONFIGS / "rg-multistep.toml").grpo.multistep


def test_worked_estimates() -> None:
    config = load(CONFIGS / "rg-single-step.toml", ["grpo.max_completion_tokens=1000", "contexts.grade=8"])
    found = of_grpo(config)
    assert found.updates == 16
    assert found.completions == 5_120
    assert found.solver_calls == 69_120  # 8 revisions and the program itself, 8 questions, 1.5 calls each
    assert found.completion_tokens == 5_120_000
    assert found.prompt_tokens == 5_120 * 4_096
    assert 60 < found.memory_gib < 100  # 64 GB of masters and optimizer, 8 GB of copy: docs/training.md
    adapter = load(CONFIGS / "small.toml").grpo.adapter
    lora = of_grpo(config.model_copy(update={"grpo": config.grpo.model_copy(update={"adapter": adapter})}))
    assert lora.memory_gib < found.memory_gib / 2
    assert of_sft(config, 432).updates == 79


def test_memory_counts_what_a_device_step_holds() -> None:
    sets = ["grpo.device_batch=4", "grpo.vllm_memory=0.12"]
    shared = of_grpo(load(CONFIGS / "small-room.toml", sets)).memory_gib
    assert 34.0 < shared < 41.5  # as that training was seen on a GPU: docs/training.md
    own = of_grpo(load(CONFIGS / "small-room.toml", [*sets, "grpo.generation=vllm_server"])).memory_gib
    assert shared - own == pytest.approx(0.12 * 141)
    saved = of_grpo(load(CONFIGS / "small-room.toml", [*sets, "grpo.checkpointing=true"])).memory_gib
    doubled = of_grpo(load(CONFIGS / "small-room.toml", [*sets, "grpo.device_batch=8"])).memory_gib
    assert saved < shared - 10
    assert doubled > shared + 15


def test_suites_are_spelt_out_and_each_task_is_taken_once() -> None:
    assert spelt_out(["rg-hard", "rg:ab", "mine"])[-2:] == ("rg:sokoban", "mine")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("nonsense = 1", "unknown key nonsense"),
        ("[grpo]\nlearning_rte = 1", "unknown key grpo.learning_rte"),
        ("[grpo]\nloss = 'ppo'", "grpo.loss"),
        ("[contexts]\nn = 0", "contexts.n"),
        ("extends = 'none.toml'", "no such training file"),
        ("extends = 'own.toml'", "extends itself"),
        ("= 1", "cannot be read"),
    ],
)
def test_a_bad_file_is_refused_with_its_place(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "own.toml"
    below = "" if "extends" in text else f"extends = '{CONFIGS / 'rg.toml'}'\n"
    path.write_text(below + text)
    with pytest.raises(ConfigError, match=words):
        load(path)


def test_later_layers_win_key_by_key(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(f"extends = '{CONFIGS / 'rg.toml'}'\n[grpo]\ndevice_batch = 2\n")
    config = load(path, ["grpo.beta=0.04", "policy.base=mine"])
    assert (config.grpo.device_batch, config.grpo.beta, config.grpo.completions) == (2, 0.04, 8)
    assert (config.policy.base, config.policy.n_parameters) == ("mine", 4e9)
