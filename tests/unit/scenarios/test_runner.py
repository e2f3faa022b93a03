"""Scenarios that end before Spark would start."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import NoReturn
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner

from airflow_provider_runtime.cli.test import command
from airflow_provider_runtime.scenarios.compare import Mismatch
from airflow_provider_runtime.scenarios.loading import load_scenarios
from airflow_provider_runtime.scenarios.reporting import render_result
from airflow_provider_runtime.scenarios.runner import ScenarioResult, ScenarioRunner

SCENARIO = """
scenario: {name}
run: {{project: p, period: 2026-01}}
datasets:
  - id: orders
    name: Orders
    version: 1
    main_table: {{name: orders, columns: [{{name: id, type: string}}]}}
projects:
  - id: p
    name: p
    version: 1
    input_dataset_id: orders
    operations:
      - seq: 10
        name: change
        type: update
        arguments: {{assignments: [{{column: x, expression: {expression}}}]}}
{more}
"""


def refuse_spark() -> NoReturn:
    raise AssertionError("Spark is not needed here")


def write(folder: Path, *, name: str = "first", expression: str = "nope", more: str = "") -> Path:
    path = folder / f"{name}.yaml"
    path.write_text(SCENARIO.format(name=name, expression=expression, more=more))
    return path


def run(path: Path) -> list[ScenarioResult]:
    runner = ScenarioRunner(refuse_spark)
    return [runner.run(loaded) for loaded in load_scenarios([path])]


def test_an_expected_error_passes_by_code_and_message(tmp_path: Path) -> None:
    [result] = run(write(tmp_path, more='expect: {error: {code: EXPR_002, message: "no.e"}}'))
    assert (result.status, result.mismatches) == ("passed", ())


def test_another_code_fails_and_says_what_came(tmp_path: Path) -> None:
    [result] = run(write(tmp_path, more="expect: {error: {code: JOIN_001}}"))
    assert result.status == "failed"
    assert "expected JOIN_001, found EXPR_002" in result.message


def test_a_message_that_the_pattern_does_not_find_fails(tmp_path: Path) -> None:
    [result] = run(write(tmp_path, more='expect: {error: {code: EXPR_002, message: "^nope$"}}'))
    assert result.status == "failed"


def test_an_error_that_nobody_expects_is_an_error_with_its_place(tmp_path: Path) -> None:
    [result] = run(write(tmp_path, more="expect: {outputs: [{operation: 10, row_count: 1}]}"))
    assert result.status == "error"
    assert result.problems[0].location.line == 18
    assert result.problems[0].location.file == str(tmp_path / "first.yaml")


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("expect: {}", "nothing is expected"),
        ("expected: {error: {code: X}}", "unknown key 'expected'"),
        ("expect: {error: {code: A, message: '('}}", "not a regular expression"),
        ("expect: {error: {code: A}}\ndata: [{dataset: orders}]", "either rows or a file"),
        ("expect: {error: {code: A}, outputs: [{operation: 1}]}", "exclude each other"),
        ("expect: {outputs: [{operation: 1, match: some}]}", "match"),
    ],
)
def test_a_scenario_that_makes_no_sense_is_explained(tmp_path: Path, more: str, said: str) -> None:
    [result] = run(write(tmp_path, more=more))
    assert result.status == "error"
    assert said in result.message


def test_data_for_an_unknown_dataset_or_table_is_refused_with_a_hint(tmp_path: Path) -> None:
    more = (
        "expect: {error: {code: NONE}}\ndata: [{dataset: ordres, rows: []}, {dataset: orders, table: lines, rows: []}]"
    )
    [result] = run(write(tmp_path, expression='"1"', more=more))
    assert "dataset 'ordres', which is not defined" in result.message
    assert "no table 'lines'" in result.message


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("/etc/passwd", "'/etc/passwd' is not a csv, parquet or json file"),
        ("rows", "'rows' is not a csv, parquet or json file"),
        ('"\\0.csv"', "holds a control character"),
        ('"a\\nb.csv"', "holds a control character"),
    ],
)
def test_a_file_that_cannot_hold_rows_stops_its_own_scenario_only(tmp_path: Path, name: str, said: str) -> None:
    data = f"data: [{{dataset: orders, file: {name}}}]"
    write(tmp_path, expression='"1"', more=f"{data}\nexpect: {{outputs: [{{operation: 10, row_count: 1}}]}}")
    write(tmp_path, name="second", more="expect: {error: {code: EXPR_002}}")
    refused, passed = run(tmp_path)
    assert (refused.status, passed.status) == ("error", "passed")
    assert said in refused.message
    assert [(problem.code, problem.location.line) for problem in refused.problems] == [("CATALOG_002", 19)]


@pytest.mark.parametrize(
    ("period", "said"),
    [("9999-12", "no day after period 9999-12"), ("0001-01", "before 1970"), ("1969-11", "before 1970")],
)
def test_a_period_without_a_day_to_run_on_is_refused_with_a_message(tmp_path: Path, period: str, said: str) -> None:
    path = write(tmp_path, expression='"1"', more="expect: {snapshot: {input_dataset_version: 1}}")
    path.write_text(path.read_text().replace("2026-01", period))
    [result] = run(path)
    assert result.status == "error"
    assert [problem.code for problem in result.problems] == ["PERIOD_001"]
    assert said in result.message


def test_an_old_period_is_run_at_the_given_time(tmp_path: Path) -> None:
    path = write(tmp_path, expression='"1"', more="expect: {snapshot: {input_dataset_version: 1}}")
    path.write_text(path.read_text().replace("period: 2026-01", "period: 0001-01, timestamp: 1970-01-01"))
    [result] = run(path)
    assert result.status == "passed", result.message


@pytest.mark.parametrize("name", ["pipe.yaml", "zero.yaml"])
def test_a_file_that_never_ends_is_refused(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / "pipe.yaml")
    (tmp_path / "zero.yaml").symlink_to("/dev/zero")
    [result] = run(tmp_path / name)
    assert "not a regular file" in result.message


def test_a_snapshot_expectation_needs_no_spark(tmp_path: Path) -> None:
    more = "expect: {snapshot: {input_dataset_version: 1, input_dataset_id: orders, resolver_source: system_default}}"
    [result] = run(write(tmp_path, expression='"1"', more=more))
    assert result.status == "passed", result.message


def test_a_snapshot_that_differs_names_the_path(tmp_path: Path) -> None:
    [result] = run(write(tmp_path, expression='"1"', more="expect: {snapshot: {input_dataset_version: 2}}"))
    assert result.message == "input_dataset_version: expected 2, found 1"


def test_files_of_a_catalog_beside_the_scenarios_are_passed_over(tmp_path: Path) -> None:
    write(tmp_path, more="expect: {error: {code: EXPR_002}}")
    (tmp_path / "catalog").mkdir()
    (tmp_path / "catalog" / "d.yaml").write_text("datasource: {id: x, type: csv}\n")
    assert [result.status for result in run(tmp_path)] == ["passed"]


def test_the_command_prints_json_and_fails_with_a_failing_scenario(tmp_path: Path) -> None:
    write(tmp_path, more="expect: {error: {code: EXPR_002}}")
    write(tmp_path, name="second", more="expect: {error: {code: JOIN_001}}")
    result = CliRunner().invoke(command, [str(tmp_path), "--format", "json"])
    document = json.loads(result.stdout)
    assert result.exit_code == 1
    assert (document["passed"], document["failed"]) == (1, 1)
    assert {entry["scenario"]: entry["status"] for entry in document["results"]} == {
        "first": "passed",
        "second": "failed",
    }
    assert document["results"][1]["mismatches"][0]["kind"] == "error"


def test_the_command_prints_junit(tmp_path: Path) -> None:
    write(tmp_path, more="expect: {error: {code: JOIN_001}}")
    result = CliRunner().invoke(command, [str(tmp_path), "--format", "junit"])
    suite = ElementTree.fromstring(result.stdout)
    assert (suite.get("tests"), suite.get("failures")) == ("1", "1")
    assert suite.find("testcase/failure") is not None


def test_select_takes_scenarios_by_a_part_of_their_name(tmp_path: Path) -> None:
    write(tmp_path, more="expect: {error: {code: EXPR_002}}")
    write(tmp_path, name="second", more="expect: {error: {code: JOIN_001}}")
    assert CliRunner().invoke(command, [str(tmp_path), "--select", "irs"]).exit_code == 0
    assert CliRunner().invoke(command, [str(tmp_path), "--select", "third"]).exit_code == 2


def test_no_scenario_at_all_is_wrong_usage(tmp_path: Path) -> None:
    assert CliRunner().invoke(command, [str(tmp_path)]).exit_code == 2


FORGED = "a\\npassed  forged  (0.1 s)\\r\\e[2J\\u202E"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("scenario: first", f'scenario: "{FORGED}"'),
        ("code: JOIN_001", f'code: "{FORGED}"'),
        ("code: JOIN_001", f'code: JOIN_001, message: "{FORGED}"'),
        ("{error: {code: JOIN_001}}", f'{{snapshot: {{"{FORGED}": "{FORGED}"}}}}'),
        ("expect:", f'data: [{{dataset: "{FORGED}", rows: []}}]\nexpect:'),
    ],
)
def test_no_text_of_a_scenario_forges_a_line_of_the_results(tmp_path: Path, old: str, new: str) -> None:
    path = write(tmp_path, expression="id", more="expect: {error: {code: JOIN_001}}")
    path.write_text(path.read_text().replace(old, new))
    (loaded,) = load_scenarios([path])
    message = "a\npassed  forged\x1b[2J\u202e"
    results = [ScenarioRunner(refuse_spark).run(loaded)] if "snapshot" in new or "data:" in new else []
    results.append(ScenarioResult(loaded.name, str(path), "failed", "", (Mismatch("error", message),)))
    results.append(ScenarioResult(loaded.name, str(path), "error", message))
    for result in results:
        lines = render_result(result, color=False).split("\n")
        assert all(line.isprintable() for line in lines)
        assert not any(line.startswith("passed") for line in lines)


def test_name_that_is_not_found_is_reported_in_one_line(tmp_path: Path) -> None:
    path = write(tmp_path)
    path.write_text(path.read_text().replace("scenario: first", f'scenario: "{FORGED}"'))
    result = CliRunner().invoke(command, [str(path), "--select", "x\n1 passed\x1b"])
    assert result.exit_code == 2
    assert all(line.isprintable() and not line.startswith(("1 ", "passed")) for line in result.output.split("\n"))
