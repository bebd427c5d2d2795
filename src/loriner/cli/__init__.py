"""The command line: a thin face over the engine."""
