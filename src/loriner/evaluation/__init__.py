"""Trials: one harness on many questions, run, scored and stored."""
