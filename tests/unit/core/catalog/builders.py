"""Definitions with valid defaults, as YAML."""

from __future__ import annotations

from airflow_provider_runtime.core.catalog.loader import LoadResult, load_texts

LAKE = "datasource: {id: lake, type: parquet, path_prefix: data}\n"
RESOLVER = """\
resolver:
  id: r
  version: 1
  is_default: true
  rules:
    - {name: all, strategy: {type: path, datasource_id: lake, path: "{{table_name}}.parquet"}}
"""
GL = """\
dataset:
  id: gl
  name: GL Transactions
  version: 1
  main_table:
    name: transactions
    temporal_mode: period
    columns:
      - {name: journal_id, type: string, nullable: false}
      - {name: amount, type: decimal, precision: 18, scale: 2}
"""
PROJECT = """\
project:
  id: p
  name: fx
  version: 1
  input_dataset_id: gl
  operations:
    - {seq: 10, name: rate, type: update, arguments: {assignments: [{column: amount, expression: amount * 2}]}}
"""


def load(text: str, *others: str) -> LoadResult:
    """Load one document as wrong.yaml beside valid ones."""
    texts = {f"good{number}.yaml": other for number, other in enumerate(others)}
    return load_texts({**texts, "wrong.yaml": text})
