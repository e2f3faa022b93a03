"""`airflow-runtime init --from`: a catalog for files of one's own, with what was guessed marked as guesses."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from pathlib import Path

import click

from airflow_provider_runtime.cli.guessing import GuessedColumn, GuessedTable, guess_tables

MARK = "# guess"
PROJECT = "first"


def make_catalog(files: Sequence[Path], folder: Path) -> tuple[dict[Path, bytes], list[GuessedTable]]:
    """Return the files of a catalog that reads these files, and the tables that they hold."""
    for file in files:
        if file.suffix.lower() not in (".csv", ".parquet"):
            raise click.UsageError(f"{file} is neither CSV nor Parquet")
    found = [file.resolve() for file in files]
    root = Path(os.path.commonpath([file.parent for file in found]))
    tables = guess_tables(found, root)
    prefix = os.path.relpath(root, folder.resolve() / "catalog")
    return {
        Path("catalog", "datasets.yaml"): "---\n".join(_write_dataset(table) for table in tables).encode(),
        Path("catalog", "sources.yaml"): "\n".join(_write_sources(tables, prefix)).encode(),
        Path("catalog", f"{PROJECT}.yaml"): "\n".join(_write_project(choose_input(tables))).encode(),
    }, tables


def choose_input(tables: Sequence[GuessedTable]) -> GuessedTable:
    """Return the table that a first project reads: one with rows of periods, if there is one."""
    return next((table for table in tables if table.temporal_mode == "period"), tables[0])


def choose_period(table: GuessedTable) -> str:
    """Return a period to run first: the last that the files name, else last month."""
    last_month = date.today().replace(day=1) - timedelta(days=1)
    return table.newest or f"{last_month:%Y-%m}"


def _quote(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _write_dataset(table: GuessedTable) -> str:
    lines = [
        "dataset:",
        f"  id: {table.name}",
        f"  name: {table.name}",
        "  version: 1",
        "  main_table:",
        f"    name: {table.name}",
        f"    temporal_mode: {table.temporal_mode}   {MARK}: {_explain_time(table)}",
    ]
    if table.temporal_columns:
        names = ", ".join(f"{key}: {name}" for key, name in table.temporal_columns.items())
        lines.append(f"    temporal_columns: {{{names}}}   {MARK}")
    lines.append("    columns:")
    lines += [f"      - {_write_column(column)}" for column in table.columns]
    lines += [f"    # {_flatten(remark)}" for remark in table.remarks]
    return "\n".join(lines) + "\n"


def _explain_time(table: GuessedTable) -> str:
    if table.temporal_mode == "bitemporal":
        return "rows hold from one day to another"
    if table.temporal_mode == "period":
        return "a column names the period" if table.temporal_columns else f"a file for each {table.level}"
    return "the same rows for every period"


def _write_column(column: GuessedColumn) -> str:
    size = "" if column.precision is None else f", precision: {column.precision}, scale: {column.scale}"
    remark = f", {_flatten(column.remark)}" if column.remark else ""
    return f"{{name: {column.name}, type: {column.type}{size}}}   {MARK}{remark}"


def _flatten(text: str) -> str:
    return "".join(letter if letter.isprintable() else "?" for letter in text)


def _write_sources(tables: Sequence[GuessedTable], prefix: str) -> Iterator[str]:
    sources: dict[tuple[str, str], str] = {}
    for table in tables:
        key = (table.format, json.dumps(table.options))
        if key in sources:
            continue
        sources[key] = table.format if table.format not in sources.values() else f"{table.format}_{len(sources) + 1}"
        yield from ("datasource:", f"  id: {sources[key]}", f"  type: {table.format}")
        yield f"  path_prefix: {_quote(prefix)}"
        if table.options:
            options = ", ".join(f"{name}: {_quote(value)}" for name, value in table.options.items())
            yield f"  options: {{{options}}}   {MARK}"
        yield "---"
    yield from ("datasource:", "  id: warehouse", "  type: parquet", "  path_prefix: ../warehouse", "---")
    yield "# Drafts (status: draft) write here instead of to their destinations."
    yield from ("datasource:", "  id: sandbox", "  type: parquet", "  path_prefix: ../sandbox", "---")
    yield from ("resolver:", "  id: files", "  version: 1", "  is_default: true", "  rules:")
    for table in tables:
        source = sources[table.format, json.dumps(table.options)]
        yield f"    - name: {table.name}"
        yield f'      when: table.name = "{table.name}"'
        yield f"      data_level: {table.level or 'any'}"
        yield f"      strategy: {{type: path, datasource_id: {source}, path: {_quote(table.path)}}}"
    yield ""


def _write_project(table: GuessedTable) -> Iterator[str]:
    yield "# A first project: it copies what it reads. Put operations before the output."
    yield from ("project:", f"  id: {PROJECT}", f"  name: {PROJECT}", "  version: 1", "  status: draft")
    yield from (f"  input_dataset_id: {table.name}", f"  level: {'day' if table.level == 'day' else 'month'}")
    yield from ("  operations:", "    - seq: 10", f"      name: Write {table.name}", "      type: output")
    yield f"      arguments: {{destination: {{datasource_id: warehouse, table: {table.name}_copy}}}}"
    yield ""
