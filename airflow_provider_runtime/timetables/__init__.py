"""Timetables and partition mappers: a run for every period of a calendar."""
