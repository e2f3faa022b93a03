"""A small catalog around the operations of a test, and the place that a test expects a problem at."""

from __future__ import annotations

from dataclasses import dataclass

from airflow_provider_runtime.core.catalog.catalog import Catalog
from airflow_provider_runtime.core.catalog.loader import load_texts
from airflow_provider_runtime.core.errors import Problem
from airflow_provider_runtime.core.planning.check.checked import CheckedProject
from airflow_provider_runtime.core.planning.check.project import ProjectChecks

MARK = "«"
CATALOG = """
datasource: {id: lake, type: parquet, path_prefix: data}
---
datasource: {id: dwh, type: jdbc, options: {url: "jdbc:postgresql://db/dwh", schema: finance}}
---
datasource: {id: closed, type: parquet, path_prefix: old, status: disabled}
---
resolver:
  id: lake-resolver
  version: 1
  is_default: true
  rules:
    - {name: all, strategy: {type: path, datasource_id: lake, path: "{{table_name}}.parquet"}}
---
dataset:
  id: orders
  name: Orders
  version: 1
  main_table:
    name: orders
    temporal_mode: period
    columns:
      - {name: order_id, type: string, nullable: false}
      - {name: customer_id, type: string}
      - {name: region, type: string}
      - {name: status, type: string}
      - {name: amount, type: decimal, precision: 18, scale: 2}
      - {name: quantity, type: integer}
      - {name: ordered_on, type: date}
      - {name: shipped_at, type: timestamp}
      - {name: is_paid, type: boolean}
  lookups:
    - alias: regions
      target:
        type: table
        name: regions
        columns:
          - {name: code, type: string}
          - {name: manager, type: string}
          - {name: weight, type: decimal, precision: 5, scale: 4}
      join_conditions: [{source_column: region, target_column: code}]
    - alias: people
      target: {type: dataset, id: customers}
      join_conditions: [{source_column: customer_id, target_column: id}]
---
dataset:
  id: customers
  name: Customers
  version: 1
  main_table: {name: customers, columns: [{name: id, type: string}, {name: tier, type: string}]}
---
dataset:
  id: customers
  name: Customers
  version: 2
  main_table:
    name: customers
    columns:
      - {name: id, type: string}
      - {name: tier, type: string}
      - {name: discount, type: decimal, precision: 5, scale: 4}
---
dataset:
  id: customers
  name: Customers
  version: 3
  status: disabled
  main_table: {name: customers, columns: [{name: id, type: string}]}
---
dataset:
  id: rates
  name: Rates
  version: 1
  main_table:
    name: rates
    temporal_mode: bitemporal
    temporal_columns: {from: valid_from, to: valid_to}
    columns:
      - {name: currency, type: string}
      - {name: rate, type: decimal, precision: 18, scale: 6}
---
dataset:
  id: budget
  name: Budget
  version: 1
  main_table:
    name: budget
    temporal_mode: period
    columns:
      - {name: region, type: string}
      - {name: amount, type: decimal, precision: 18, scale: 2}
---
dataset:
  id: plan
  name: Plan
  version: 1
  main_table:
    name: plan
    columns:
      - {name: region, type: string}
      - {name: kind, type: string}
      - {name: value, type: decimal, precision: 18, scale: 4}
      - {name: note, type: string}
---
dataset:
  id: mistyped
  name: Mistyped
  version: 1
  main_table: {name: mistyped, columns: [{name: amount, type: string}]}
---
dataset:
  id: retired
  name: Retired
  version: 1
  status: disabled
  main_table: {name: retired, columns: [{name: id, type: string}]}
"""
HEAD = """project:
  id: close
  name: close
  version: 1
  input_dataset_id: orders
  operations:
"""


@dataclass(frozen=True)
class Checked:
    """What the check of a test's project says, and where its text has the mark."""

    catalog: Catalog
    project: CheckedProject
    problems: tuple[Problem, ...]
    expected_places: tuple[tuple[int, int], ...]


def check_operations(*operations: str, selectors: str = "") -> Checked:
    """Check a project with these operations, each a line of YAML."""
    head = HEAD.replace("  operations:", f"  selectors: {{{selectors}}}\n  operations:") if selectors else HEAD
    return check_text(head + "".join(f"    - {operation}\n" for operation in operations))


def check_text(project: str, catalog: str = CATALOG, name: str = "close") -> Checked:
    """Check a project's document."""
    places = []
    while MARK in project:
        before, _, after = project.partition(MARK)
        places.append((before.count("\n") + 1, len(before) - before.rfind("\n")))
        project = before + after
    loaded = load_texts({"catalog.yaml": catalog, "project.yaml": project})
    definition = loaded.catalog.find_project(name)
    assert definition is not None, loaded.problems
    checked = ProjectChecks(loaded.catalog).check(definition)
    return Checked(loaded.catalog, checked, (*loaded.problems, *checked.problems), tuple(places))


def update(expression: str, column: str = "total", *, more: str = "", seq: int = 10, selector: str = "") -> str:
    """Return an update with one assignment."""
    chosen = f"selector: {selector}, " if selector else ""
    return (
        f"{{seq: {seq}, name: set, type: update, {chosen}arguments: "
        f"{{{more}assignments: [{{column: {column}, expression: {expression}}}]}}}}"
    )


def aggregate(expression: str, column: str = "total", *, group_by: str = "[region]", seq: int = 10) -> str:
    """Return an aggregate with one aggregation."""
    return (
        f"{{seq: {seq}, name: sum, type: aggregate, arguments: {{group_by: {group_by}, "
        f"aggregations: [{{column: {column}, expression: {expression}}}]}}}}"
    )


def append(dataset: str, more: str = "", *, seq: int = 10) -> str:
    """Return an append."""
    return f"{{seq: {seq}, name: add, type: append, arguments: {{source: {{dataset_id: {dataset}}}{more}}}}}"


def delete(selector: str, *, seq: int = 10) -> str:
    """Return a delete."""
    return f"{{seq: {seq}, name: drop, type: delete, selector: {selector}, arguments: {{}}}}"


def output(more: str = "", *, destination: str = "{datasource_id: lake, table: out}", seq: int = 90) -> str:
    """Return an output."""
    return f"{{seq: {seq}, name: write, type: output, arguments: {{destination: {destination}{more}}}}}"


def join(on: str, *, alias: str = "c", dataset: str = "customers", more: str = "") -> str:
    """Return the joins of an update, with one join."""
    return f"joins: [{{alias: {alias}, dataset_id: {dataset}{more}, on: {on}}}], "
