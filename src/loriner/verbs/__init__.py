"""What can be done: one async function a verb, from an open workspace, settings and an observer to a result.

The command line and the Python interface call these and add nothing to them.
"""
