"""Operators: resolve a project's snapshot for a period, and run it."""
