"""Sources of questions with a scorer. The host alone reads this package: targets live here."""
