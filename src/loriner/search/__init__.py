"""The search for a better harness: rounds, modes, budgets, history."""
