"""Single trials: question, right answer, given answer, calls, and what the scorer said."""
