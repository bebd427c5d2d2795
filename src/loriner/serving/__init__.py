"""Harnesses and rewards over HTTP, for clients that know nothing of this package."""
