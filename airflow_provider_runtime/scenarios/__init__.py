"""Scenario tests: a project, rows in, rows expected."""
