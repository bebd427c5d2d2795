"""What every test shares: hypothesis without a clock, since the machine may be busy."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("loriner", deadline=None, database=None)
settings.load_profile("loriner")
