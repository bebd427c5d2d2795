"""Why trials were not right, read from their transcripts."""
