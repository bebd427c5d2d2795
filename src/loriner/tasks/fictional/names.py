"""Names that no model has read: built from syllables, each used once."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping


def _words(text: str) -> list[str]:
    return text.split()


_ONSETS = _words("b br d dr f g gr h k kl l m n p pr r s sk st t tr v w z")
_VOWELS = _words("a e i o u ae ei ou")
_CODAS = _words("b d k l ld lm m n nd r rn s sk st t v x")

_WORK_ADJECTIVES = _words("Silent Crooked Last Burning Paper Hollow Winter Amber Borrowed Second Blind Salt")
_WORK_NOUNS = _words("Orchard Bridge Ledger Harbour Mirror Lantern Staircase River Garden Clock Tower Voyage")
_PLACE_PREFIXES = _words("Upper Lower New Old Port East West")
_TRADES = _words("Glassworks Press Shipping Mills Foundry Instruments Brewery Textiles Railways Optics")
_BY_NAMES = _words("Grey White Iron Quiet Windy Golden Lame Tall Red Wandering Younger Merry")
_BY_NOUNS: Mapping[str, list[str]] = {
    "person": _words("Heron Fox Weaver Miller Sparrow Mason Pilgrim Badger Fiddler Ferryman"),
    "town": _words("City Gate Crossing Haven Steps Market Wells Anchorage Hearth Terraces"),
    "region": _words("March Shore Reach Vale Plateau Fells Lowlands Ridge Basin Steppe"),
    "firm": _words("House Company Works Guild Concern Partnership Society Combine Bureau Union"),
    "work": _words("Book Tale Song Chronicle Romance Legend Comedy Elegy Fable Saga"),
}


class Namer:
    """Draws names and by-names; none twice."""

    def __init__(self, draw: random.Random) -> None:
        self._draw = draw
        self._used: set[str] = set()
        self._surnames: list[str] = []
        self._towns: list[str] = []

    def name(self, kind: str) -> str:
        """A new name for a person, town, region, firm or work."""
        make: Mapping[str, Callable[[], str]] = {
            "person": self._person,
            "town": self._town,
            "region": lambda: self._word(3),
            "firm": lambda: f"{self._word(2)} {self._draw.choice(_TRADES)}",
            "work": self._work,
        }
        return self._new(make[kind])

    def by_name(self, kind: str) -> str:
        """A new by-name, such as the Grey Heron; beyond the first hundred it carries a made-up word too."""
        nouns = _BY_NOUNS[kind]

        def make() -> str:
            base = f"{self._draw.choice(_BY_NAMES)} {self._draw.choice(nouns)}"
            return f"the {base}" if self._draw.random() < 0.3 else f"the {base} of {self._word(2)}"

        return self._new(make)

    def _new(self, make: Callable[[], str]) -> str:
        while (name := make()) in self._used:
            pass
        self._used.add(name)
        return name

    def _word(self, n_syllables: int) -> str:
        pick = self._draw.choice
        return "".join(pick(_ONSETS) + pick(_VOWELS) for _ in range(n_syllables - 1)).capitalize() + (
            pick(_ONSETS) + pick(_VOWELS) + pick(_CODAS)
        )

    def _person(self) -> str:
        """Surnames are shared by about four people, so that a surname alone finds the wrong ones too."""
        if not self._surnames or self._draw.random() < 0.25:
            self._surnames.append(self._word(2))
        return f"{self._word(2)} {self._draw.choice(self._surnames)}"

    def _town(self) -> str:
        """Half of the towns are an Upper or New one beside a town of the same name."""
        if self._towns and self._draw.random() < 0.5:
            return f"{self._draw.choice(_PLACE_PREFIXES)} {self._draw.choice(self._towns)}"
        self._towns.append(self._word(2))
        return self._towns[-1]

    def _work(self) -> str:
        return (
            f"The {self._draw.choice(_WORK_ADJECTIVES)} {self._draw.choice(_WORK_NOUNS)} of {self._word(2)}"
        )
