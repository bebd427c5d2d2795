"""Trackers of experiments, behind one small interface that can never fail or stall a run."""
