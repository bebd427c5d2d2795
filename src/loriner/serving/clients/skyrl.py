"""SkyRL: `skyrl_gym.register(id="loriner", entry_point="loriner.serving.clients.skyrl:environment")`.

Each row of the data set has `env_class: loriner` and `reward_spec: {"ground_truth": ID OF THE CONTEXT}`.
"""

from __future__ import annotations

from typing import Any

from loriner.serving.clients.patient import scored


def environment(env_config: Any = None, extras: Any = None) -> Any:
    """An environment of one completion in one context. Source: SkyRL 0.4."""
    from skyrl_gym.envs.base_text_env import BaseTextEnv, BaseTextEnvStepOutput

    context = (extras or {})["reward_spec"]["ground_truth"]

    class LorinerEnv(BaseTextEnv):  # type: ignore[misc]  # its package need not be installed here
        def step(self, action: str) -> Any:
            """The end, with the reward of the completion."""
            row = scored(context, action)
            return BaseTextEnvStepOutput(observations=[], reward=row["reward"], done=True, metadata=row)

    return LorinerEnv()
