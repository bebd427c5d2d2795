"""The format-varied setting: known questions in other layouts, with answers in other forms."""
