"""The command explain: Spark SQL, schema and lineage of every operation."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from airflow_provider_runtime.cli.explain import command
from airflow_provider_runtime.core.errors import RuntimeProviderError

CATALOG = """
datasource: {id: lake, type: parquet, path_prefix: data}
---
resolver:
  id: lake-resolver
  version: 1
  is_default: true
  rules: [{name: all, strategy: {type: path, datasource_id: lake, path: "{{table_name}}"}}]
---
dataset:
  id: gl
  name: GL
  version: 1
  main_table:
    name: entries
    temporal_mode: period
    columns: [{name: amount, type: decimal, precision: 18, scale: 2}, {name: currency, type: string}]
---
dataset:
  id: fx
  name: FX
  version: 2
  main_table: {name: rates, columns: [{name: code, type: string}, {name: rate, type: decimal, precision: 18, scale: 6}]}
---
project:
  id: close
  name: close
  version: 3
  input_dataset_id: gl
  operations:
    - seq: 10
      name: convert "all"
      type: update
      arguments:
        joins: [{alias: fx, dataset_id: fx, on: currency = fx.code}]
        assignments: [{column: converted, expression: amount * fx.rate}, {column: day, expression: TODAY()}]
    - seq: 20
      name: sum
      type: aggregate
      arguments: {group_by: [currency], aggregations: [{column: converted, expression: SUM(converted)}]}
    - seq: 30
      name: write
      type: output
      arguments: {destination: {datasource_id: lake, table: out}, columns: [currency, converted]}
"""


@pytest.fixture
def catalog(tmp_path: Path) -> Path:
    (tmp_path / "all.yaml").write_text(CATALOG)
    return tmp_path


def run(catalog: Path, *arguments: str) -> Result:
    """Run explain on a catalog."""
    arguments = ("--catalog", str(catalog), "--project", "close", *arguments)
    return CliRunner().invoke(command, arguments, catch_exceptions=False)


def test_json_has_sql_schema_and_lineage(catalog: Path) -> None:
    document = json.loads(run(catalog, "--format", "json", "--period", "2026-01").stdout)
    convert, total, write = document["operations"]
    assert "`@w`.`amount` * `@@fx`.`rate`" in convert["spark_sql"]
    match = "(SELECT struct(`rate`) FROM `join:10:fx` AS `@@fx` WHERE `@w`.`currency` = `@@fx`.`code`) AS `@@fx`"
    assert match in convert["spark_sql"]
    assert convert["reads"] == ["join:10:fx"]
    assert "2026-02-01" in convert["spark_sql"]
    assert "/*@" not in convert["spark_sql"]
    assert "ELSE NULL END AS `converted`" in convert["spark_sql"]
    types = {column["name"]: column["type"] for column in total["schema"]}
    assert types["converted"] == "decimal(38,8)"
    assert convert["lineage"]["converted"] == ["FX.rates.rate", "GL.entries.amount"]
    assert convert["conditions"] == ["FX.rates.code", "GL.entries.currency"]
    assert write["lineage"]["currency"] == ["GL.entries.currency"]
    assert write["destination"] == "lake/out"


def test_text_shows_statement_new_columns_and_lineage(catalog: Path) -> None:
    output = run(catalog).output
    assert '10 update: convert "all"' in output
    assert "GROUP BY `@w`.`currency`" in output
    assert "+ converted" in output
    assert "converted <- FX.rates.rate, GL.entries.amount" in output


def test_mermaid_draws_tables_operations_and_destinations(catalog: Path) -> None:
    lines = run(catalog, "--format", "mermaid").output.splitlines()
    assert lines[0] == "flowchart LR"
    assert '  op10["10 update<br/>convert #quot;all#quot;"]' in lines
    assert "  t1 -->|fx| op10" in lines
    assert "  op20 --> op30" in lines
    assert '  out30[/"lake/out"/]' in lines


@pytest.mark.parametrize("form", ["text", "mermaid"])
def test_names_with_characters_that_are_not_seen_are_shown_without_them(tmp_path: Path, form: str) -> None:
    name = '"a\\u202Eb\\u200Bc"'
    text = (
        CATALOG.replace("name: sum", f"name: {name}")
        .replace("name: close", f"name: {name}")
        .replace("name: FX", f"name: {name}")
    )
    (tmp_path / "all.yaml").write_text(text)
    output = run(tmp_path, "--format", form).output
    assert "a?b?c" in output
    assert all(line.isprintable() for line in output.split("\n"))


APPENDS = """
    - {seq: 4, name: four, type: delete, selector: look.rate > 1}
    - {seq: 40, name: forty, type: append, arguments: {source: {dataset_id: gl}}}
"""
LOOKUP = """  lookups:
    - alias: look
      target: {type: dataset, id: fx}
      join_conditions: [{source_column: currency, target_column: code}]
---
dataset:
  id: fx
"""


def test_mermaid_leads_lookups_and_appends_to_the_operations_that_read_them(catalog: Path) -> None:
    text = CATALOG.replace("---\ndataset:\n  id: fx\n", LOOKUP) + APPENDS
    (catalog / "all.yaml").write_text(text)
    lines = run(catalog, "--format", "mermaid").output.splitlines()
    assert [line for line in lines if "-->|" in line] == [
        "  t1 -->|look| op4",
        "  t2 -->|fx| op10",
        "  t3 -->|rows| op40",
    ]


def test_wrong_project_raises_its_problems(catalog: Path) -> None:
    (catalog / "all.yaml").write_text(CATALOG.replace("amount * fx.rate", "amount * fx.rat"))
    with pytest.raises(RuntimeProviderError) as caught:
        run(catalog)
    assert [problem.code for problem in caught.value.problems] == ["JOIN_008"]


@pytest.mark.parametrize("period", ["0001-01", "0999-12", "9999-11"])
def test_periods_at_the_edge_of_the_calendar_are_explained(catalog: Path, period: str) -> None:
    assert run(catalog, "--period", period).exit_code == 0


def test_period_without_a_day_after_it_is_refused_with_a_message(catalog: Path) -> None:
    with pytest.raises(RuntimeProviderError, match=r"PERIOD_001: there is no day after period 9999-12"):
        run(catalog, "--period", "9999-12")


def test_unknown_period_raises_period_error(catalog: Path) -> None:
    with pytest.raises(RuntimeProviderError) as caught:
        run(catalog, "--period", "2026-13")
    assert caught.value.code == "PERIOD_001"


CHECKS = """
  checks:
    - {name: nothing lost, output: 30, value: SUM(converted), equals: {input: SUM(amount)}, on_fail: warn}
    - {name: one row a currency, output: 30, unique: [currency]}
    - {name: rates, output: 30, value: COUNT(*), equals: {dataset_id: fx, value: COUNT(code)}}
"""


def test_checks_are_explained_with_their_sql_and_lineage(catalog: Path) -> None:
    (catalog / "all.yaml").write_text(CATALOG.rstrip("\n") + CHECKS)
    document = json.loads(run(catalog, "--format", "json").stdout)
    lost, unique, rates = document["checks"]
    assert (lost["name"], lost["kind"], lost["output"], lost["on_fail"]) == ("nothing lost", "value", 30, "warn")
    assert [sql.splitlines()[1] for sql in lost["spark_sql"]] == ["FROM `output 30` AS `@w`", "FROM `input` AS `@w`"]
    assert lost["lineage"] == ["FX.rates.rate", "GL.entries.amount"]
    assert unique["lineage"] == ["GL.entries.currency"]
    assert "HAVING count(1) > 1" in unique["spark_sql"][0]
    assert rates["lineage"] == ["FX.rates.code"]
    assert "check:2" in {table["key"] for table in document["tables"]}
    text = run(catalog).output
    assert "check 'nothing lost' on output 30, warns" in text
    assert "depends on FX.rates.rate, GL.entries.amount" in text


def test_mermaid_leads_outputs_and_tables_to_the_checks_that_read_them(catalog: Path) -> None:
    (catalog / "all.yaml").write_text(CATALOG.rstrip("\n") + CHECKS)
    lines = run(catalog, "--format", "mermaid").output.splitlines()
    assert [line.strip() for line in lines if "check" in line] == [
        'check0{{"nothing lost"}}',
        "out30 --> check0",
        "t0 --> check0",
        'check1{{"one row a currency"}}',
        "out30 --> check1",
        'check2{{"rates"}}',
        "out30 --> check2",
        "t2 --> check2",
    ]
