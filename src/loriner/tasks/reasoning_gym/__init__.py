"""Reasoning Gym families as tasks. Only child processes (`tasks/children/rg.py`) import the library."""
