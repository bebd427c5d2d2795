"""GRPO on a tiny policy: it learns, resumes exactly, scores by running programs, stops in words, goes
multistep.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from sums import CRASH, GOOD, HALF, SEED, Solver, Sums, edit, exercise, laboratory, vowels

from loriner.concurrency import opened
from loriner.errors import ConfigError, InfrastructureError
from loriner.records import Harness
from loriner.train.contexts import DrawPlan, draw
from loriner.train.journal import DeadSignal, Journal
from loriner.train.multistep import epochs
from loriner.train.patience import patient
from loriner.train.reward import Reward, Rewarder, Scored
from loriner.train.settings import TrainConfig

pytestmark = pytest.mark.filterwarnings(
    "ignore:::transformers", "ignore:::torch", "ignore:::trl", "ignore:::peft"
)

TASKS = {"sums": Sums()}
EXERCISES = [exercise(number=number) for number in range(8)]


def config(policy: Path, output: Path, **table: object) -> TrainConfig:
    return TrainConfig.model_validate(
        {
            "name": "tiny",
            "output": output,
            "solver": "scripted:echo",
            "policy": {"base": str(policy), "n_parameters": 2e5},
            "contexts": {"tasks": ["sums"], "n": 8},
            "grpo": {
                "contexts_per_update": 2,
                "completions": 4,
                "device_batch": 8,
                "learning_rate": 1e-3,
                "max_completion_tokens": 12,
                "save_every": 2,
                "advantage": "group",
                "bonus": True,
                "rarity": 0.0,
                "invalid_gain": -0.25,
                "harm": 1.0,
                "passes": 1,
                **table,
            },
        }
    )


class Scripted:
    """A policy that samples from hand-written completions, in turn, whatever its weights say."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts, self.n = texts, 0

    def __call__(self, prompts: Sequence[Any], trainer: Any) -> dict[str, Any]:
        tokenizer = trainer.processing_class
        written = [self.texts[(self.n + at) % len(self.texts)] for at in range(len(prompts))]
        self.n += len(prompts)
        shown = [
            tokenizer.apply_chat_template(p, add_generation_prompt=True, return_dict=False) for p in prompts
        ]
        ids = [[*tokenizer.encode(text), tokenizer.eos_token_id] for text in written]
        return {"prompt_ids": shown, "completion_ids": ids, "logprobs": None}


def weights(directory: Path) -> dict[str, Any]:
    from transformers import AutoModelForCausalLM

    return dict(AutoModelForCausalLM.from_pretrained(directory).state_dict())


def updates(made: TrainConfig) -> list[dict[str, Any]]:
    lines = map(json.loads, (made.output / "grpo" / "updates.jsonl").read_text().splitlines())
    return [{k: v for k, v in line.items() if not k.startswith("seconds")} for line in lines]


def quiet(text: str) -> None:
    """Says nothing."""


def test_a_dense_reward_rises(policy: Path, tmp_path: Path) -> None:
    from loriner.train.grpo import train_grpo

    made = config(policy, tmp_path, epochs=5, completions=8, device_batch=16, learning_rate=5e-3)
    train_grpo(made, str(policy), lambda epoch: EXERCISES, vowels, tell=quiet)
    rewards = [each["reward"] for each in updates(made)]
    assert len(rewards) == 20
    assert sum(rewards[-4:]) > 1.3 * sum(rewards[:4])


@pytest.mark.parametrize("adapter", [None, {"rank": 4, "alpha": 8}], ids=["full", "lora"])
@pytest.mark.parametrize("passes", [1, 2])
def test_a_resumed_run_equals_an_uninterrupted_one(
    policy: Path, tmp_path: Path, adapter: object, passes: int
) -> None:
    import torch

    from loriner.train.grpo import train_grpo

    whole = config(policy, tmp_path / "whole", adapter=adapter, epochs=2, passes=passes)
    train_grpo(whole, str(policy), lambda epoch: EXERCISES, vowels, tell=quiet)
    resumed = config(policy, tmp_path / "resumed", adapter=adapter, epochs=2, passes=passes)
    shutil.copytree(whole.output / "grpo", resumed.output / "grpo")
    shutil.rmtree(resumed.output / "grpo" / "checkpoints" / f"checkpoint-{8 * passes}")
    shutil.rmtree(resumed.grpo_model)
    train_grpo(resumed, str(policy), lambda epoch: EXERCISES, vowels, tell=quiet)
    assert [each["update"] for each in updates(whole)] == list(range(1, 9))
    assert updates(resumed) == updates(whole)
    assert (
        Journal(resumed.output / "grpo").rollouts.read_text()
        == Journal(whole.output / "grpo").rollouts.read_text()
    )
    one, other = weights(whole.grpo_model), weights(resumed.grpo_model)
    assert all(torch.equal(one[name], other[name]) for name in one)
    train_grpo(resumed, str(policy), lambda epoch: EXERCISES, vowels, tell=quiet)
    again = weights(resumed.grpo_model)
    assert all(torch.equal(one[name], again[name]) for name in one), "a training that is done stays so"


def test_rewards_come_from_running_the_programs(policy: Path, tmp_path: Path) -> None:
    from loriner.train.grpo import train_grpo

    made = config(policy, tmp_path, max_completion_tokens=200)
    solver = Solver()
    policy_texts = Scripted([edit(GOOD), edit(HALF), edit(CRASH), "prose"])
    with opened(lambda: laboratory(tmp_path / "home", solver)) as door:
        rewarder = Rewarder(lab=door.inside, tasks=TASKS)

        def rewards(*rows: Any) -> list[Scored]:
            return door.call(lambda _: rewarder.scored_all(*rows))

        train_grpo(made, str(policy), lambda e: EXERCISES, rewards, tell=quiet, rollouts=policy_texts)
    found = updates(made)
    assert len(found) == 4
    for each in found:
        assert each["n"] == 8
        assert each["reward"] == pytest.approx((1.3 + 0.8 + 0.15 + 0.0) / 4)
        assert each["score"] == pytest.approx(1.5 / 4)
        assert (each["parsed"], each["applied"], each["completion_rate"]) == (0.75, 0.75, 0.5)
        assert each["invalid"] == {"no_edit_block": 2}
        assert each["groups_without_spread"] == 0.0
        assert each["distinct_candidates"] == 3
        assert {"entropy", "loss", "tokens_mean", "tokens_seen", "grad_norm"} <= each.keys()
    assert solver.n_calls == 12, "the program and three candidates on four questions; one never asks"
    timed = json.loads((made.output / "grpo" / "updates.jsonl").read_text().splitlines()[0])
    assert {"seconds_generating", "seconds_scoring", "seconds_updating"} <= timed.keys()


def rollouts_of(made: TrainConfig) -> list[dict[str, Any]]:
    return list(map(json.loads, (made.output / "grpo" / "rollouts.jsonl").read_text().splitlines()))


def trained(made: TrainConfig, policy: Path, texts: Sequence[str], start: Harness = SEED) -> None:
    """Trains on scripted completions in contexts of the program `start`, which are run and scored."""
    from loriner.train.grpo import train_grpo

    exercises = [exercise(number=number, harness=start) for number in range(8)]
    with opened(lambda: laboratory(made.output / "home")) as door:
        rewarder = Rewarder(lab=door.inside, tasks=TASKS)

        def rewards(*rows: Any) -> list[Scored]:
            return door.call(lambda _: rewarder.scored_all(*rows))

        train_grpo(made, str(policy), lambda e: exercises, rewards, tell=quiet, rollouts=Scripted(texts))


FOUR = (edit(GOOD), edit(HALF), edit(CRASH), "prose")
"""Gains of 1, 0.5 and 0 over the seed, which is never right, and one without a candidate."""
WORKED = {
    "group": (FOUR, SEED, {"advantage": "group"}, [1.0, 0.5, 0.0, -0.25], [1.4318, 0.3905, -0.6508, -1.1715]),
    "gain": (FOUR, SEED, {"advantage": "gain"}, [1.0, 0.5, 0.0, -0.25], [1.0, 0.5, 0.0, -0.25]),
    "mixed": (
        FOUR,
        SEED,
        {"advantage": "mixed"},
        [1.0, 0.5, 0.0, -0.25],
        [0.84375, 0.34375, -0.15625, -0.40625],
    ),
    "a better parent": (
        (edit(GOOD, HALF), edit(SEED, HALF), edit(CRASH, HALF), edit(HALF, SEED)),
        HALF,
        {"advantage": "gain"},
        [0.5, -0.5, -0.5, -0.25],
        [0.5, -0.5, -0.5, -0.25],
    ),
    "a loss counts a quarter": (
        (edit(GOOD, HALF), edit(SEED, HALF), edit(CRASH, HALF), edit(HALF, SEED)),
        HALF,
        {"advantage": "gain", "harm": 0.25, "invalid_gain": -0.1},
        [0.5, -0.125, -0.125, -0.1],
        [0.5, -0.125, -0.125, -0.1],
    ),
    "rarity": (
        (edit(GOOD), edit(GOOD), edit(HALF), "prose"),
        SEED,
        {"advantage": "gain", "rarity": 0.5},
        [0.75, 0.75, 0.5, -0.25],
        [0.75, 0.75, 0.5, -0.25],
    ),
    "bonus": (
        FOUR,
        SEED,
        {"advantage": "gain", "bonus": True},
        [1.0, 0.5, -0.15, -0.3],
        [1.0, 0.5, -0.15, -0.3],
    ),
}


@pytest.mark.parametrize(("texts", "start", "table", "gains", "advantages"), WORKED.values(), ids=WORKED)
def test_advantages_by_hand_reach_the_loss(
    policy: Path,
    tmp_path: Path,
    texts: Sequence[str],
    start: Harness,
    table: dict[str, Any],
    gains: list[float],
    advantages: list[float],
) -> None:
    made = config(policy, tmp_path, max_completion_tokens=250, **{"bonus": False, **table})
    trained(made, policy, texts, start)
    for each in updates(made):
        rows = [row for row in rollouts_of(made) if row["update"] == each["update"]]
        assert [row["gain"] for row in rows] == pytest.approx(2 * gains)
        assert [row["advantage"] for row in rows] == pytest.approx(2 * advantages, abs=1e-3)
        assert each["gain"] == pytest.approx(sum(gains) / 4)
        # with a ratio of 1 every completion adds its advantage, whatever its length
        assert each["loss"] == pytest.approx(-sum(advantages) / 4, abs=1e-3)


def log_probability(model: Path, text: str) -> float:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(model)
    shown = [{"role": each.role, "content": each.content} for each in exercise(harness=GOOD).messages]
    prompt = tokenizer.apply_chat_template(shown, add_generation_prompt=True, return_dict=False)
    written = tokenizer.encode(text)
    with torch.no_grad():
        found = AutoModelForCausalLM.from_pretrained(model, dtype=torch.float32)(
            torch.tensor([prompt + written])
        )
    steps = found.logits[0, len(prompt) - 1 : -1].log_softmax(-1)
    return float(steps.gather(1, torch.tensor(written)[:, None]).sum())


@pytest.mark.parametrize("advantage", ["group", "gain", "mixed"])
def test_a_text_that_all_write_and_that_gains_nothing_is_pushed_down_by_the_gain_alone(
    policy: Path, tmp_path: Path, advantage: str
) -> None:
    harmful = edit(HALF, GOOD)
    made = config(
        policy, tmp_path, advantage=advantage, bonus=False, learning_rate=1e-4, max_completion_tokens=250
    )
    trained(made, policy, [harmful], GOOD)
    assert {row["gain"] for row in rollouts_of(made)} == {-0.5}
    assert [each["groups_without_spread"] for each in updates(made)] == [1.0] * 4
    change = log_probability(made.grpo_model, harmful) - log_probability(policy, harmful)
    assert change == pytest.approx(0, abs=0.5) if advantage == "group" else change < -5


def test_the_clip_acts_from_the_second_pass_on(policy: Path, tmp_path: Path) -> None:
    clipped = {}
    for passes in (1, 2):
        made = config(policy, tmp_path / str(passes), passes=passes, max_completion_tokens=250)
        trained(made, policy, FOUR)
        assert [each["update"] for each in updates(made)] == [1, 2, 3, 4]
        clipped[passes] = [each["share_clipped"] for each in updates(made)]
    assert clipped[1] == [0.0] * 4
    assert all(share > 0 for share in clipped[2])


def test_what_the_policy_chooses_is_in_the_journal(policy: Path, tmp_path: Path) -> None:
    made = config(policy, tmp_path, max_completion_tokens=250)
    trained(made, policy, FOUR)
    last = updates(made)[-1]
    assert len(last["choices"]) == 3 and sum(last["choices"].values()) == pytest.approx(1)
    assert all(kind.startswith("own:") for kind in last["choices"])
    assert (last["choices_often"], last["information"]) == (3, 0.0), "all contexts are of one family"
    assert last["distinct_in_a_group"] == 3 and last["better"] == 0.5


def test_a_dead_signal_stops_training_in_words_and_keeps_a_checkpoint(policy: Path, tmp_path: Path) -> None:
    from loriner.train.grpo import train_grpo
    from loriner.train.policy import last_checkpoint

    made = config(policy, tmp_path, dead_after=2, epochs=2, save_every=4)

    def flat(exercises: Any, completions: Any, indices: Any) -> list[Scored]:
        reward = Reward(score=0.0, parsed=False, applied=False, completion_rate=0.0)
        return [
            Scored(rollout=each.rollout, reward=reward, before=0.0)
            for each in vowels(exercises, completions, indices)
        ]

    with pytest.raises(DeadSignal, match=r"last 2 updates no group .*no_edit_block 100%.*SFT"):
        train_grpo(made, str(policy), lambda epoch: EXERCISES, flat, tell=quiet)
    checkpoint = last_checkpoint(made.output / "grpo" / "checkpoints")
    assert checkpoint is not None and checkpoint.name == "checkpoint-2"
    assert len(updates(made)) == 2


def test_a_solver_that_stays_away_stops_training_and_keeps_the_checkpoint(
    policy: Path, tmp_path: Path
) -> None:
    from loriner.train.grpo import train_grpo
    from loriner.train.policy import last_checkpoint

    made = config(policy, tmp_path, epochs=1)
    asked: list[int] = []

    def away(exercises: Any, completions: Any, indices: Any) -> list[Scored]:
        asked.append(len(completions))
        scored = vowels(exercises, completions, indices)
        return scored if len(asked) <= 2 else [Scored(rollout=each.rollout, reward=None) for each in scored]

    pauses: list[float] = []
    rewards = patient(away, 40.0, quiet, sleep=pauses.append)
    with pytest.raises(InfrastructureError, match="8 of 8 completions could not be scored in 40 s"):
        train_grpo(made, str(policy), lambda epoch: EXERCISES, rewards, tell=quiet)
    assert pauses == [5.0, 10.0, 20.0, 5.0]
    checkpoint = last_checkpoint(made.output / "grpo" / "checkpoints")
    assert checkpoint is not None and checkpoint.name == "checkpoint-2"
    assert [each["reward"] > 0 for each in updates(made)] == [True, True]
    train_grpo(made, str(policy), lambda epoch: EXERCISES, vowels, tell=quiet)
    assert [each["update"] for each in updates(made)] == [1, 2, 3, 4]


def test_leftover_contexts_and_uneven_batches_are_refused(policy: Path, tmp_path: Path) -> None:
    from loriner.train.grpo import train_grpo

    with pytest.raises(ConfigError, match="7 contexts do not divide into updates of 2: 1 would be left over"):
        train_grpo(config(policy, tmp_path), str(policy), lambda epoch: EXERCISES[:7], vowels, tell=quiet)
    with pytest.raises(ConfigError, match=r"grpo\.device_batch"):
        uneven = config(policy, tmp_path, device_batch=5)
        train_grpo(uneven, str(policy), lambda epoch: EXERCISES, vowels, tell=quiet)


def test_multistep_draws_later_contexts_from_the_policy_s_own_revisions(policy: Path, tmp_path: Path) -> None:
    from loriner.train.grpo import train_grpo

    made = config(policy, tmp_path, epochs=2, multistep=True, max_completion_tokens=200)
    with opened(lambda: laboratory(tmp_path / "home")) as door:
        rewarder = Rewarder(lab=door.inside, tasks=TASKS)

        def rewards(*rows: Any) -> list[Scored]:
            return door.call(lambda _: rewarder.scored_all(*rows))

        def redraw(states: Any, n: int, epoch: int) -> Any:
            plan = DrawPlan(n=n, pool=6, feedback=3, grade=4, max_prompt_tokens=1100, seed=epoch)
            return door.call(lambda lab: draw(lab, TASKS, states, plan))

        def unrevised(exercises: Any) -> Any:
            return door.call(lambda _: rewarder.unrevised(exercises))

        source = epochs(made, EXERCISES, redraw, unrevised)
        texts = Scripted([edit(HALF), edit(CRASH), "prose", "<<<<<<< SEARCH\n"])
        train_grpo(made, str(policy), source, rewards, tell=quiet, rollouts=texts)
        second = source(1)
    assert len(second) == 8
    assert {each.context.round for each in second} == {1, 2}
    assert sum(each.context.harness == HALF for each in second) == 4
    assert sum(each.context.harness == SEED for each in second) == 4
    assert [each["update"] for each in updates(made)] == list(range(1, 9))


def test_a_time_limit_ends_training_with_a_model(policy: Path, tmp_path: Path) -> None:
    from loriner.train.grpo import train_grpo

    made, said = config(policy, tmp_path, epochs=3, max_minutes=1e-4), list[str]()
    model = train_grpo(made, str(policy), lambda epoch: EXERCISES, vowels, tell=said.append)
    assert len(updates(made)) == 1
    assert said[0].startswith("update 1/12: "), "of all epochs, whenever it ends"
    assert (model / "config.json").exists()


def test_the_processes_part_at_the_end(policy: Path, tmp_path: Path) -> None:
    """A group that is left open has its library warn of leaked resources in a training's last line."""
    from torch import distributed

    from loriner.train.grpo import train_grpo

    distributed.init_process_group("gloo", store=distributed.HashStore(), rank=0, world_size=1)
    made = config(policy, tmp_path, max_minutes=1e-4)
    train_grpo(made, str(policy), lambda epoch: EXERCISES, vowels, tell=quiet)
    assert not distributed.is_initialized()


@pytest.mark.parametrize("loss", ["grpo", "dr_grpo", "dapo"])
def test_each_loss_by_name_moves_the_policy(policy: Path, tmp_path: Path, loss: str) -> None:
    import torch

    from loriner.train.grpo import train_grpo

    made = config(policy, tmp_path, loss=loss)
    train_grpo(made, str(policy), lambda epoch: EXERCISES[:2], vowels, tell=quiet)
    before, after = weights(policy), weights(made.grpo_model)
    assert any(not torch.equal(before[name].bfloat16(), after[name].bfloat16()) for name in before)
