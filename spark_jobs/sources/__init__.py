"""Spark job."""
