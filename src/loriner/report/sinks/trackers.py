"""The four trackers, each the extra of its name. Their files lie below the home, unless told otherwise."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from loriner.report.sinks.base import Sink

PROJECT = "loriner"


def mlflow(run_id: str, home: Path) -> Sink:
    """A run of the experiment `loriner`: where `MLFLOW_TRACKING_URI` says, or `mlflow.db` below the home."""
    from mlflow.tracking import MlflowClient

    where = os.environ.get("MLFLOW_TRACKING_URI") or f"sqlite:///{(home / 'mlflow.db').resolve()}"
    client = MlflowClient(tracking_uri=where)
    experiment = client.get_experiment_by_name(PROJECT)
    number = experiment.experiment_id if experiment else client.create_experiment(PROJECT)
    return _Mlflow(client, client.create_run(number, run_name=run_id).info.run_id)


class _Mlflow:
    def __init__(self, client: Any, run_id: str) -> None:
        self._client, self._run_id = client, run_id

    def log(self, step: int, figures: Mapping[str, float]) -> None:
        for name, value in figures.items():
            self._client.log_metric(self._run_id, re.sub(r"[^\w./ -]", "_", name), value, step=step)

    def close(self) -> None:
        self._client.set_terminated(self._run_id)


def wandb(run_id: str, home: Path) -> Sink:
    """A run of the project `loriner`; offline unless `WANDB_MODE` says otherwise."""
    import wandb as library

    mode: Any = os.environ.get("WANDB_MODE", "offline")
    return _Session(library.init(project=PROJECT, name=run_id, dir=str(home), mode=mode))


def trackio(run_id: str, home: Path) -> Sink:
    """A run of the project `loriner`, in Trackio's own local store."""
    import trackio as library

    return _Session(library.init(project=PROJECT, name=run_id))


class _Session:
    """Trackio has the interface of Weights & Biases."""

    def __init__(self, session: Any) -> None:
        self._session = session

    def log(self, step: int, figures: Mapping[str, float]) -> None:
        self._session.log(dict(figures), step=step)

    def close(self) -> None:
        self._session.finish()


def tensorboard(run_id: str, home: Path) -> Sink:
    """Event files below `tensorboard/RUN` of the home."""
    from tensorboardX import SummaryWriter

    return _Events(SummaryWriter(str(home / "tensorboard" / run_id)))


class _Events:
    def __init__(self, writer: Any) -> None:
        self._writer = writer

    def log(self, step: int, figures: Mapping[str, float]) -> None:
        for name, value in figures.items():
            self._writer.add_scalar(name, value, step)

    def close(self) -> None:
        self._writer.close()
