"""The command validate: text with caret, JSON, annotations, exit statuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from airflow_provider_runtime.cli.validate import command
from airflow_provider_runtime.core.catalog.loader import load_catalog
from airflow_provider_runtime.core.registry.sql import open_registry
from spark_jobs.contract.plan import UsedDefinition
from tests.unit.core.registry.registry_cases import ELSEWHERE, make_start, make_write

DATASETS = """
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
  main_table: {name: entries, temporal_mode: period, columns: [{name: amount, type: decimal, precision: 18, scale: 2}]}
"""
PROJECT = """project:
  id: close
  name: close
  version: 1
  input_dataset_id: gl
  operations:
    - seq: 10
      name: double
      type: update
      arguments:
        assignments:
          - column: twice
            expression: "amount * 2"
"""


@pytest.fixture
def catalog(tmp_path: Path) -> Path:
    folder = tmp_path / "catalog"
    folder.mkdir()
    (folder / "datasets.yaml").write_text(DATASETS)
    (folder / "close.yaml").write_text(PROJECT)
    return folder


def run(catalog: Path, *arguments: str) -> Result:
    """Run validate on a catalog."""
    return CliRunner().invoke(command, ["--catalog", str(catalog), *arguments], catch_exceptions=False)


def test_valid_catalog_exits_zero_and_says_what_was_checked(catalog: Path) -> None:
    result = run(catalog)
    assert (result.exit_code, result.output) == (0, "valid: 1 dataset, 1 project\n")


RATES = """---
dataset:
  id: rates
  name: Rates
  version: 1
  resolver_id: rates-resolver
  main_table: {name: rates, columns: [{name: amount, type: decimal, precision: 18, scale: 2}]}
---
resolver:
  id: rates-resolver
  version: 1
  status: disabled
  rules: [{name: all, strategy: {type: path, datasource_id: lake, path: "{{table_name}}"}}]
"""
APPEND = """    - {seq: 20, name: more, type: append, arguments: {source: {dataset_id: rates}}}
"""


OVERRIDES = """  resolver_overrides: {gl: rates-resolver}
"""


@pytest.mark.parametrize(
    ("datasets", "project", "expected"),
    [
        (DATASETS.replace("  is_default: true\n", ""), PROJECT, ["RESOLVE_001 close.yaml:5"]),
        (DATASETS.replace("is_default: true", "is_default: true\n  status: disabled"), PROJECT,
         ["RESOLVE_002 close.yaml:5"]),
        (DATASETS.replace("  name: GL", "  name: GL\n  resolver_id: rates-resolver") + RATES, PROJECT,
         ["RESOLVE_002 close.yaml:5"]),
        (DATASETS + RATES, PROJECT + OVERRIDES, ["RESOLVE_002 close.yaml:14"]),
        (DATASETS + RATES, PROJECT + APPEND, ["APPEND_007 close.yaml:14"]),
        (DATASETS + RATES, PROJECT, []),
        (DATASETS + RATES.replace("status: disabled", "status: active"), PROJECT + APPEND, []),
        (DATASETS.replace("  name: GL", "  name: GL\n  resolver_id: nobody"), PROJECT,
         ["CATALOG_004 datasets.yaml:13"]),
        (DATASETS.replace("is_default: true", "is_default: maybe"), PROJECT, ["CATALOG_002 datasets.yaml:7"]),
    ],
    ids=["none", "disabled default", "disabled", "disabled override", "disabled source",
         "not used", "active", "unknown", "with a mistake"],
)  # fmt: skip
def test_used_dataset_without_a_resolver_is_reported_once(
    catalog: Path, datasets: str, project: str, expected: list[str]
) -> None:
    (catalog / "datasets.yaml").write_text(datasets)
    (catalog / "close.yaml").write_text(project)
    for arguments in ((), ("--project", "close")):
        found = json.loads(run(catalog, "--format", "json", *arguments).stdout)["errors"]
        errors = [error for error in found if error["severity"] == "error"]
        assert [f"{error['code']} {error['file']}:{error['line']}" for error in errors] == expected


def test_valid_catalog_as_json_is_only_json(catalog: Path) -> None:
    result = run(catalog, "--format", "json")
    assert (result.exit_code, json.loads(result.stdout)) == (0, {"valid": True, "errors": []})


def test_mistake_is_shown_with_place_caret_and_hint(catalog: Path) -> None:
    (catalog / "close.yaml").write_text(PROJECT.replace("amount * 2", "2 * amonut"))
    result = run(catalog)
    assert result.exit_code == 1
    assert "close.yaml:13:30" in result.output
    assert 'expression: "2 * amonut"' in result.output
    assert "^^^^^^" in result.output
    assert "did you mean 'amount'?" in result.output


def test_json_has_every_key_for_every_mistake(catalog: Path) -> None:
    (catalog / "close.yaml").write_text(PROJECT.replace("amount * 2", "2 * amonut"))
    result = run(catalog, "--format", "json", "--project", "close")
    assert result.exit_code == 1
    assert json.loads(result.stdout) == {
        "valid": False,
        "errors": [
            {
                "code": "EXPR_002",
                "severity": "error",
                "message": "Invalid assignment expression for 'twice': unknown column 'amonut'",
                "hint": "did you mean 'amount'?",
                "file": "close.yaml",
                "line": 13,
                "column": 30,
                "project": "close",
                "operation_seq": 10,
                "field": "operations[0].arguments.assignments[0].expression",
            }
        ],
    }


def test_github_format_writes_an_annotation(catalog: Path) -> None:
    (catalog / "close.yaml").write_text(PROJECT.replace("amount * 2", "2 * amonut"))
    result = run(catalog, "--format", "github")
    assert result.exit_code == 1
    assert result.output.startswith("::error file=")
    assert "close.yaml,line=13,col=30" in result.output


def test_project_option_leaves_other_projects_out(catalog: Path) -> None:
    broken = PROJECT.replace("close", "other").replace("amount * 2", "nothing")
    (catalog / "other.yaml").write_text(broken)
    assert run(catalog).exit_code == 1
    assert run(catalog, "--project", "close").exit_code == 0


def test_unreadable_file_does_not_hide_other_mistakes(catalog: Path) -> None:
    (catalog / "broken.yaml").write_text("project: {id: [")
    (catalog / "close.yaml").write_text(PROJECT.replace("amount * 2", "amonut"))
    codes = [error["code"] for error in json.loads(run(catalog, "--format", "json").stdout)["errors"]]
    assert codes == ["CATALOG_001", "EXPR_002"]


def test_unknown_project_has_its_code_a_file_and_the_nearest_name(catalog: Path) -> None:
    result = run(catalog, "--project", "clse", "--format", "json")
    (error,) = json.loads(result.stdout)["errors"]
    assert result.exit_code == 1
    assert error["code"] == "PROJECT_001"
    assert "'close'" in error["hint"]
    assert error["file"]
    assert error["line"] == 1


def test_inactive_project_cannot_be_validated_alone(catalog: Path) -> None:
    (catalog / "close.yaml").write_text(PROJECT.replace("  version: 1\n", "  version: 1\n  status: inactive\n"))
    (error,) = json.loads(run(catalog, "--project", "close", "--format", "json").stdout)["errors"]
    assert (error["code"], error["file"], error["line"]) == ("PROJECT_002", "close.yaml", 5)


def test_project_with_broken_document_shows_its_own_mistakes(catalog: Path) -> None:
    (catalog / "close.yaml").write_text(PROJECT.replace("name: double", "nam: double"))
    errors = json.loads(run(catalog, "--project", "close", "--format", "json").stdout)["errors"]
    assert {error["code"] for error in errors} == {"CATALOG_002"}


def test_broken_input_dataset_is_reported_and_not_called_unknown(catalog: Path) -> None:
    (catalog / "datasets.yaml").write_text(DATASETS.replace("type: decimal", "type: money"))
    for arguments in ([], ["--project", "close"]):
        errors = json.loads(run(catalog, "--format", "json", *arguments).stdout)["errors"]
        assert {error["code"] for error in errors} == {"CATALOG_002"}


def test_missing_catalog_folder_is_an_error_and_no_traceback(tmp_path: Path) -> None:
    result = run(tmp_path / "none", "--format", "json")
    assert result.exit_code == 1
    assert json.loads(result.stdout)["errors"][0]["code"] == "CATALOG_001"


def test_unknown_format_is_wrong_usage(catalog: Path) -> None:
    assert run(catalog, "--format", "xml").exit_code == 2


def test_project_option_shows_mistakes_of_the_project_whose_output_it_reads(catalog: Path) -> None:
    upstream = PROJECT.replace("close", "upstream").replace("amount * 2", "amonut") + (
        "    - {seq: 20, name: keep, type: output,\n"
        "       arguments: {destination: {datasource_id: lake, table: kept}, register_as_dataset: Kept}}\n"
    )
    (catalog / "upstream.yaml").write_text(upstream)
    (catalog / "close.yaml").write_text(PROJECT.replace("dataset_id: gl", "dataset_id: Kept"))
    errors = json.loads(run(catalog, "--project", "close", "--format", "json").stdout)["errors"]
    assert [(error["code"], error["project"]) for error in errors] == [("EXPR_002", "upstream")]
    (catalog / "upstream.yaml").write_text(upstream.replace("amonut", "amount"))
    assert run(catalog, "--project", "close").exit_code == 0


def test_registry_that_cannot_be_opened_is_reported_in_the_asked_format(catalog: Path) -> None:
    result = run(catalog, "--registry", "nonsense://x", "--format", "json")
    (error,) = json.loads(result.stdout)["errors"]
    assert result.exit_code == 1
    assert error["file"]
    assert "nonsense" in error["message"]


def test_folder_that_is_missing_is_the_only_problem(tmp_path: Path) -> None:
    arguments = ["--catalog", str(tmp_path / "none"), "--project", "close", "--format", "json"]
    result = CliRunner().invoke(command, arguments)
    assert result.exit_code == 1
    assert [error["code"] for error in json.loads(result.output)["errors"]] == ["CATALOG_001"]


def test_named_selector_with_a_mistake_is_reported_once_however_often_it_is_used(tmp_path: Path) -> None:
    operations = """  selectors: {BIG: amount >> 1}
  operations:
    - {seq: 10, name: one, type: delete, selector: "{{BIG}}"}
    - {seq: 20, name: two, type: append, arguments: {source: {dataset_id: gl}, source_selector: "{{BIG}}"}}
"""
    (tmp_path / "datasets.yaml").write_text(DATASETS)
    (tmp_path / "project.yaml").write_text(PROJECT[: PROJECT.index("  operations:")] + operations)
    result = CliRunner().invoke(command, ["--catalog", str(tmp_path), "--format", "json"])
    assert [error["code"] for error in json.loads(result.output)["errors"]] == ["EXPR_001"]


READER = """project:
  id: reader
  name: reader
  version: 1
  input_dataset_id: gl
  operations:
    - seq: 10
      name: join
      type: update
      arguments:
        joins: [{alias: old, dataset_id: DS, dataset_version: 1, on: "amount = old.a"}]
        assignments: [{column: b, expression: old.a}]
"""


def register(url: str, *changes: str) -> None:
    """Publish a dataset's slice of a month by a run that used the resolver with this digest."""
    registry = open_registry(url)
    for number, digest in enumerate(changes):
        used = UsedDefinition("resolver", "lake-resolver", 1, digest)
        attempt = registry.begin_attempt(make_start(str(number), definitions=(used,)), holder=ELSEWHERE)
        columns = [{"name": "a", "type": "decimal", "precision": 18, "scale": 2}]
        definition = {"id": "ds-id", "name": "DS", "resolver_id": "registry"}
        definition |= {"main_table": {"name": "DS", "temporal_mode": "period", "columns": columns}}
        registry.finish_attempt(attempt, [make_write(f"file:/s/{number}", definition=definition)], {})
    registry.close()


@pytest.mark.parametrize("options", [[], ["--project", "reader"]])
def test_pin_of_an_older_registered_version_is_known_as_to_resolve(
    catalog: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: list[str]
) -> None:
    url = f"sqlite:///{tmp_path}/registry.db"
    digest = load_catalog(catalog).catalog.resolvers["lake-resolver", 1].digest
    register(url, digest, digest)
    (catalog / "reader.yaml").write_text(READER)
    assert run(catalog, *options).exit_code == 1
    assert run(catalog, *options, "--registry", url).output.startswith("valid: ")
    monkeypatch.setenv("AIRFLOW_RUNTIME_REGISTRY", url)
    assert run(catalog, *options).output.startswith("valid: ")
    (catalog / "reader.yaml").write_text(READER.replace("dataset_version: 1", "dataset_version: 3"))
    result = run(catalog, *options)
    assert result.exit_code == 1
    assert "known versions: 1, 2" in result.output


@pytest.mark.parametrize("options", [[], ["--project", "close"]])
def test_definition_changed_after_use_is_reported_at_its_place(
    catalog: Path, tmp_path: Path, options: list[str]
) -> None:
    url = f"sqlite:///{tmp_path}/registry.db"
    register(url, "another digest")
    result = run(catalog, *options, "--registry", url, "--format", "json")
    (error,) = json.loads(result.stdout)["errors"]
    assert (result.exit_code, error["code"], error["file"]) == (1, "CATALOG_005", "datasets.yaml")
    (catalog / "close.yaml").write_text(PROJECT.replace("version: 1", "version: 1\n  status: draft"))
    assert run(catalog, *options, "--registry", url).exit_code == 0
