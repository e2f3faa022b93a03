"""The command checks: the last results of each period, and overrides with who, when and why."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from airflow_provider_runtime.cli.checks import command
from airflow_provider_runtime.cli.main import command as root_command
from airflow_provider_runtime.core.errors import DefinitionError, PeriodError
from airflow_provider_runtime.core.registry.sql import open_registry
from tests.unit.core.registry.registry_cases import begin, make_start

CATALOG = """
datasource: {id: lake, type: parquet, path_prefix: data}
---
resolver:
  id: r
  version: 1
  is_default: true
  rules: [{name: all, strategy: {type: path, datasource_id: lake, path: "{{table_name}}"}}]
---
dataset:
  id: d
  name: D
  version: 1
  main_table: {name: d, columns: [{name: amount, type: integer}]}
---
project:
  id: p
  name: fx
  version: 1
  input_dataset_id: d
  operations:
    - {seq: 20, name: w, type: output, arguments: {destination: {datasource_id: lake, table: out}, key: [amount]}}
  checks:
    - {name: no jump, output: 20, value: COUNT(*), change: {to: 5%}}
    - {name: lines, output: 20, value: COUNT(*)}
    - {name: feed, output: 20, value: COUNT(*), equals: {dataset_id: D, value: COUNT(*)}}
"""


def make_check(name: str = "no jump", **changes: Any) -> dict[str, Any]:
    return {
        "name": name,
        "output": 20,
        "kind": "value",
        "on_fail": "block",
        "status": "failed",
        "rows": 9,
        "failing_rows": None,
        "value": "9",
        "expected": "5",
        "difference": "4",
        "groups": [],
        "sample": [],
        "failing_rows_uri": None,
        "message": "COUNT(*) is 9",
        "recorded": [],
        **changes,
    }


@pytest.fixture
def place(tmp_path: Path) -> list[str]:
    (tmp_path / "catalog").mkdir()
    (tmp_path / "catalog" / "all.yaml").write_text(CATALOG)
    url = f"sqlite:///{tmp_path}/registry.db"
    registry = open_registry(url)
    attempt = begin(registry, make_start("a"))
    by_group = make_check(
        "by group",
        status="passed",
        groups=[{"key": {"unit": "A"}, "value": "1", "expected": "1", "difference": "0", "status": "passed"}],
    )
    report = {"checks": [make_check(), make_check("rows", kind="rows", status="warned", failing_rows=2), by_group]}
    registry.fail_attempt(attempt, {"code": "CHECK_001", "message": "m"}, report)
    return ["--registry", url, "--catalog", str(tmp_path / "catalog"), "--project", "fx"]


def run(place: list[str], *arguments: str) -> Result:
    return CliRunner().invoke(command, [*place, *arguments], catch_exceptions=False)


def test_results_of_the_last_run_of_each_period_are_a_table(place: list[str]) -> None:
    lines = run(place).stdout.splitlines()
    assert lines[0].split() == ["period", "check", "value", "expected", "difference", "status"]
    assert lines[1].split() == ["2026-01", "no", "jump", "9", "5", "4", "failed"]
    assert lines[2].split() == ["2026-01", "rows", "2", "of", "9", "rows", "fail", "warned"]
    assert "1 (unit = A)" in lines[3]


def test_results_as_json_are_those_of_the_report(place: list[str]) -> None:
    (found,) = json.loads(run(place, "--format", "json").stdout)
    assert (found["project"], found["period"], found["run_id"], found["status"]) == ("fx", "2026-01", "run-a", "failed")
    assert [check["name"] for check in found["checks"]] == ["no jump", "rows", "by group"]
    assert "recorded" not in found["checks"][0]


def test_override_and_its_end_say_who_when_and_why(place: list[str]) -> None:
    arguments = ("--period", "2026-01", "--format", "json")
    (found,) = json.loads(run(place, *arguments, "--override", "no jump", "--reason", " a merger ").stdout)
    (override,) = found["overrides"]
    assert (override["check"], override["why"], override["withdrawn_by"]) == ("no jump", "a merger", None)
    assert override["who"]
    assert override["when"].endswith("Z")
    (found,) = json.loads(run(place, *arguments, "--withdraw", "no jump", "--reason", "it fell through").stdout)
    (ended,) = found["overrides"]
    assert (ended["withdrawn_by"], ended["withdrawn_why"]) == (override["who"], "it fell through")
    assert "a merger" in run(place).stdout


def test_check_of_the_catalog_can_be_overridden_before_its_first_run(place: list[str]) -> None:
    arguments = ("--period", "2026-02", "--override", "key of output 20", "--reason", "r", "--format", "json")
    (found,) = json.loads(run(place, *arguments).stdout)
    assert (found["period"], found["run_id"], found["overrides"][0]["check"]) == ("2026-02", None, "key of output 20")


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        (("--override", "no jmp", "--reason", "r"), DefinitionError, "has no check 'no jmp'"),
        (("--withdraw", "no jump"), DefinitionError, "is not overridden"),
    ],
)
def test_unknown_checks_are_refused(
    place: list[str], arguments: tuple[str, ...], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        run(place, "--period", "2026-01", *arguments)


def test_second_override_is_refused_with_the_one_that_holds(place: list[str]) -> None:
    arguments = ("--period", "2026-01", "--override", "no jump", "--reason")
    run(place, *arguments, "a merger")
    run(place, *arguments, "a merger")
    with pytest.raises(DefinitionError, match=r"overridden already, by .*: a merger"):
        run(place, *arguments, "another reason")
    run(place, "--period", "2026-01", "--withdraw", "no jump")
    assert "another reason" in run(place, *arguments, "another reason").stdout


def test_control_total_is_not_overridden_as_it_cannot_fail(place: list[str]) -> None:
    with pytest.raises(DefinitionError, match="check 'lines' is a control total, which cannot fail"):
        run(place, "--period", "2026-01", "--override", "lines", "--reason", "r")


def test_period_that_the_calendar_does_not_have_is_refused(place: list[str]) -> None:
    for arguments in (("--override", "no jump", "--reason", "r"), ()):
        with pytest.raises(PeriodError):
            run(place, "--period", "2026-13", *arguments)


def test_project_that_is_not_there_is_refused(place: list[str]) -> None:
    with pytest.raises(DefinitionError, match="PROJECT_001"):
        run([*place[:-1], "fy"])


def test_period_without_results_is_reported(place: list[str]) -> None:
    assert "no results of checks" in run(place, "--period", "2026-02").stdout


def test_dry_run_and_resolve_say_what_is_checked_and_what_may_fail(place: list[str]) -> None:
    run(place, "--period", "2026-01", "--override", "no jump", "--reason", "a merger")
    dry = CliRunner().invoke(root_command, ["run", *place, "--period", "2026-01", "--dry-run"])
    assert [line.split() for line in dry.stdout.splitlines() if "block" in line] == [
        ["key", "of", "output", "20", "20", "unique", "block"],
        ["no", "jump", "20", "value", "block"],
        ["lines", "20", "value", "block"],
        ["feed", "20", "value", "block"],
    ]
    assert ["check", "feed", "d", "1", "r"] in [line.split() for line in dry.stdout.splitlines()]
    resolved = CliRunner().invoke(root_command, ["resolve", *place, "--period", "2026-01"])
    for told in (dry.stdout, resolved.stderr):
        assert "check 'no jump' may fail: overridden by " in told
        assert ": a merger" in told


@pytest.mark.parametrize(
    "arguments",
    [
        ("--override", "no jump", "--reason", "r"),
        ("--period", "2026-01", "--override", "no jump"),
        ("--period", "2026-01", "--override", "no jump", "--reason", " "),
        ("--period", "2026-01", "--reason", "r"),
        ("--period", "2026-01", "--override", "a", "--withdraw", "b", "--reason", "r"),
    ],
)
def test_wrong_use_has_exit_status_2(place: list[str], arguments: tuple[str, ...]) -> None:
    assert CliRunner().invoke(command, [*place, *arguments]).exit_code == 2
