"""Deadlines of runs, counted from the period's end or from queueing."""
