"""Two projects that register one dataset or write one table are reported when the catalog is validated."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_provider_runtime.core.errors import Problem
from airflow_provider_runtime.core.planning.check.validation import validate_catalog
from tests.unit.core.catalog.builders import GL, LAKE, RESOLVER

OUTPUT = """\
project:
  id: {name}
  name: {name}
  version: 1
  status: {status}
  input_dataset_id: gl
  operations:
    - seq: 10
      name: write
      type: output
      arguments: {{destination: {{datasource_id: lake, table: {table}{shared}}}{more}}}
"""


def write(name: str, table: str = "out", *, shared: bool = False, more: str = "", status: str = "active") -> str:
    said = ", shared: true" if shared else ""
    return OUTPUT.format(name=name, table=table, shared=said, more=more, status=status)


def validate(folder: Path, *projects: str) -> list[Problem]:
    for number, text in enumerate((LAKE, RESOLVER, GL, *projects)):
        (folder / f"{number}.yaml").write_text(text)
    found = validate_catalog(folder).problems
    return [problem for problem in found if problem.code in {"OUTPUT_002", "CATALOG_003"}]


def test_two_writers_of_a_table_are_a_warning(tmp_path: Path) -> None:
    (problem,) = validate(tmp_path, write("a"), write("b"))
    assert (problem.code, problem.severity, problem.location.file) == ("OUTPUT_002", "warning", "4.yaml")
    assert "project 'a' writes to lake/out as well" in problem.message
    assert problem.location.field == "operations[0].arguments.destination"


@pytest.mark.parametrize(
    "projects",
    [
        (write("a", shared=True), write("b", shared=True)),
        (write("a"), write("b", table="other")),
        (write("a"), write("b", status="draft")),
    ],
)
def test_tables_that_are_shared_or_apart_are_fine(tmp_path: Path, projects: tuple[str, ...]) -> None:
    assert validate(tmp_path, *projects) == []


def test_two_registrants_of_a_name_are_refused(tmp_path: Path) -> None:
    registers = ", register_as_dataset: Totals"
    (problem,) = validate(tmp_path, write("a", "x", more=registers), write("b", "y", more=registers))
    assert (problem.code, problem.severity) == ("CATALOG_003", "error")
    assert problem.message == "dataset 'Totals' is registered by project 'a' as well"
