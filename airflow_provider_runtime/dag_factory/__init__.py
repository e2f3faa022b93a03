"""Dag_factory."""
