"""Outputs whose folder meets what their own run reads are refused when the run is resolved."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_provider_runtime.core.planning.snapshot.builder import build_snapshot
from tests.unit.core.planning.resolve_builder import (
    OPTIONS,
    list_locations,
    list_problems,
    load,
    resolve,
    write_project,
    write_resolver,
)

OVERWRITE = ", write_mode: overwrite"


def write_rule(path: str) -> str:
    return write_resolver(f"{{name: all, strategy: {{type: path, datasource_id: lake, path: '{path}'}}}}")


def write_output(destination: str, mode: str = "") -> str:
    output = f"{{seq: 90, name: write, type: output, arguments: {{destination: {destination}{mode}}}}}"
    return write_project(f"    - {output}\n")


@pytest.mark.parametrize(
    ("source", "output", "mode"),
    [
        ("tt/{{YYYY}}-{{MM}}.csv", "tt", OVERWRITE),
        ("tt/{{YYYY}}/*.csv", "tt/2026", OVERWRITE),
        ("tt", "tt", OVERWRITE),
        ("tt", "TT/below", OVERWRITE),
        ("*/2026", "tt/2026/x", OVERWRITE),
        ("{tt,uu}/x", "tt", OVERWRITE),
        ("{tt/a,uu/b}", "vv", OVERWRITE),
        ("t[a-z]/x?.csv", "tt", OVERWRITE),
        ("tt", "tt", ""),
        ("tt", "tt/below", ""),
        ("tt/period={{identifier}}", "tt", ""),
        ("tt/period=*", "tt", ""),
        ("tt/period={{identifier}}/part.parquet", "tt", ""),
    ],
)
def test_output_onto_its_own_input(source: str, output: str, mode: str) -> None:
    destination = f"{{datasource_id: lake, path: {output}}}"
    (problem,) = list_problems(write_rule(source), write_output(destination, mode))
    assert problem.code == "OUTPUT_002"
    assert problem.message.startswith(f"output 90 would replace what the run reads: lake/{output} meets file:///")
    assert problem.hint == "write to a folder that this project does not read"
    assert (problem.location.operation_seq, problem.location.field) == (90, "operations[0].arguments.destination")


@pytest.mark.parametrize(
    ("source", "output", "mode"),
    [
        ("tt/{{YYYY}}-{{MM}}.csv", "tt", ""),
        ("tt/{{YYYY}}-{{MM}}.csv", "tt/2026-02.csv", OVERWRITE),
        ("tt/*.csv", "tt", ""),
        ("{tt,uu}/x", "vv", OVERWRITE),
        ("tt", "tt2", OVERWRITE),
        ("out/x/period=2025-12", "out/x", ""),
    ],
)
def test_output_beside_its_input(source: str, output: str, mode: str) -> None:
    resolve(write_rule(source), write_output(f"{{datasource_id: lake, path: {output}}}", mode))


def write_table_rule(table: str) -> str:
    return write_resolver(f"{{name: all, strategy: {{type: table, datasource_id: dwh, table: '{table}'}}}}")


@pytest.mark.parametrize("output", ["gl", "finance.gl", "FINANCE.GL"])
def test_output_that_overwrites_a_table_it_reads(output: str) -> None:
    destination = f"{{datasource_id: dwh, table: {output}}}"
    (problem,) = list_problems(write_table_rule("gl"), write_output(destination, OVERWRITE))
    assert problem.code == "OUTPUT_002"
    assert problem.message.endswith("meets the table finance.gl")
    assert problem.hint == "write to a table that this project does not read"


@pytest.mark.parametrize(("output", "mode"), [("gl", ""), ("gl2", OVERWRITE), ("other.gl", OVERWRITE)])
def test_output_beside_a_table_or_for_one_period_of_it(output: str, mode: str) -> None:
    resolve(write_table_rule("gl"), write_output(f"{{datasource_id: dwh, table: {output}}}", mode))


@pytest.mark.parametrize("path", ["/", "/catalog", "file:/catalog/"])
def test_overwriting_output_that_holds_the_catalog(path: str) -> None:
    problems = list_problems(write_rule("tt"), write_output(f"{{type: csv, path: '{path}'}}", OVERWRITE))
    assert [problem.code for problem in problems] == ["OUTPUT_002"]


@pytest.mark.parametrize("folder", ["run[1]", "a{b,c}", "x*", "what?", "back\\slash"])
def test_folder_of_the_catalog_means_itself(tmp_path: Path, folder: str) -> None:
    root = tmp_path / folder
    loaded = load(write_rule("tt/*.csv"), write_output("{datasource_id: lake, path: out}"), root=root)
    snapshot = build_snapshot(loaded, "conversion", "2026-01", OPTIONS)
    escaped = folder
    for character in "\\[]{}*?":
        escaped = escaped.replace(character, f"\\{character}")
    assert [found.uri for found in list_locations(snapshot)] == [f"file://{tmp_path}/{escaped}/data/lake/tt/*.csv"]
    assert snapshot.plan.outputs[0].destination.uri == f"file://{root}/data/lake/out"
