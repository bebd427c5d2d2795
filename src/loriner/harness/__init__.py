"""Harness programs: their contract, the edits that revise them, and a library of real ones."""
