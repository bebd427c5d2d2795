"""Clients of the reward service, one file for each trainer. They need the standard library alone."""
