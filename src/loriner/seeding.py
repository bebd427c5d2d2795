"""Seeds derived by hashing, so that each draw depends on names and never on the order of events."""

from __future__ import annotations

import hashlib
import random


def derive(seed: int, *names: str | int) -> int:
    """A seed in [0, 2**31) for the thing called `names` in a run seeded with `seed`.

    31 bits because some inference servers read the seed as a signed 32-bit integer.
    """
    key = "\x1f".join([str(seed), *map(str, names)])
    return int.from_bytes(hashlib.sha256(key.encode()).digest()[:4], "big") >> 1


def generator(seed: int, *names: str | int) -> random.Random:
    """A random generator for the thing called `names`."""
    return random.Random(derive(seed, *names))
