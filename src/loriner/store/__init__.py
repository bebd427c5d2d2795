"""What is kept: the feedback database and the registry of versions."""
