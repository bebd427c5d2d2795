"""Adapt a frozen language model to a task by rewriting the program around it."""

__version__ = "0.1.0"
