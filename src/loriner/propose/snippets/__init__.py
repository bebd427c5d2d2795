"""Pieces of code and words that known revisions put into programs. None of them is a revision by itself."""
