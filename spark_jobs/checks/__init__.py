"""Checks of staged outputs: what must be true before anything is published."""
