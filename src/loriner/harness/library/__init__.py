"""Harness files to start from and to beat. They are read as text and run in the sandbox only."""
