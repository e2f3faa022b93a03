"""Comparison of what is staged with what is published."""
