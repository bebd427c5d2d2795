"""Why trials were not right, read off their transcripts."""
