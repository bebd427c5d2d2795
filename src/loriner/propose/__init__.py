"""Proposers: what they are shown, and how a completion becomes a candidate."""
