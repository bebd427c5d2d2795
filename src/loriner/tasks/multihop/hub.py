"""Rows of a multi-hop data set from a hub, through the library `datasets` (extra `[hub]`).

A name is `OWNER/NAME` or `OWNER/NAME/CONFIG`, as in `hotpotqa/hotpot_qa/distractor`; a folder of that name
in the working directory comes before the hub.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Mapping
from typing import Any

from loriner.errors import MissingExtra, TaskError

PREFIX = "hub:"
_SPLITS = {"dev": "validation", "train": "train"}


def hub_records(name: str, part: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The records of one official split, each with where it stands. A wide set takes minutes and memory.

    Raises:
        MissingExtra: `datasets` is not installed.
        TaskError: the data set, its configuration or its split cannot be read.
    """
    if importlib.util.find_spec("datasets") is None:
        raise MissingExtra("hub", f"reading {name} from a hub")
    import datasets

    owner, _, rest = name.partition("/")
    repository, _, config = rest.partition("/")
    try:
        rows = datasets.load_dataset(f"{owner}/{repository}", config or None, split=_SPLITS[part])
    except (OSError, ValueError, RuntimeError) as error:
        raise TaskError(
            f"cannot read the {_SPLITS[part]} split of {name} from a hub: {error}. Expected OWNER/NAME or "
            "OWNER/NAME/CONFIG; without a hub, name a file of it"
        ) from error
    for number, record in enumerate(rows):
        yield f"{name}, {_SPLITS[part]} row {number}", {**record, "split": part}
