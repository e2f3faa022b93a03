"""Calendars and their periods, and which period may run: all that the scheduler needs."""
