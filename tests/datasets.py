"""Datasets of one table by period, for tests that do not care about more than its columns."""

from __future__ import annotations

MONEY = "decimal, precision: 18, scale: 2"


def define_dataset(name: str, **columns: str) -> str:
    """Return the YAML of a dataset: the types of its columns by their names."""
    listed = "".join(f"      - {{name: {column}, type: {type_}}}\n" for column, type_ in columns.items())
    return f"""
dataset:
  id: {name}
  name: {name.title()}
  version: 1
  main_table:
    name: {name}
    temporal_mode: period
    columns:
{listed}"""
