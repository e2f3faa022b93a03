"""JSON Schema of the documents."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner

from airflow_provider_runtime.cli.main import command
from airflow_provider_runtime.core.catalog.json_schema import SCHEMA_KINDS, make_schema

COLUMNS = [{"name": "a", "type": "string"}]
DATASET = {"dataset": {"id": "gl", "name": "GL", "version": 1, "main_table": {"name": "t", "columns": COLUMNS}}}
OPERATION = {"order": 10, "name": "x", "type": "delete", "parameters": {}}
PROJECT = {"project": {"id": "p", "name": 2026, "version": 1, "input_dataset_id": "gl", "operations": [OPERATION]}}
SCENARIO = {"scenario": "x", "run": {"project": "p", "period": 2026}, "expect": {"outputs": [{"operation": 1}]}}


@pytest.mark.parametrize("document", [DATASET, PROJECT, SCENARIO], ids=["dataset", "project", "scenario"])
def test_schema_of_all_kinds_accepts_valid_documents(document: dict[str, Any]) -> None:
    jsonschema.Draft202012Validator(make_schema()).validate(document)


@pytest.mark.parametrize("kind", SCHEMA_KINDS)
def test_schema_of_a_kind_is_a_valid_schema(kind: str) -> None:
    jsonschema.Draft202012Validator.check_schema(make_schema(kind))


def test_schema_accepts_an_unquoted_null_as_expression() -> None:
    arguments = {"assignments": [{"column": "a", "expression": None}]}
    operation = {"seq": 10, "name": "x", "type": "update", "arguments": arguments}
    document = {
        "project": {**PROJECT["project"], "operations": [operation, {"seq": 20, "name": "y", "type": "delete"}]}
    }
    jsonschema.Draft202012Validator(make_schema()).validate(document)


def test_schema_refuses_unknown_keys_and_both_names_of_seq() -> None:
    validator = jsonschema.Draft202012Validator(make_schema("project"))
    wrong = json.loads(json.dumps(PROJECT))
    wrong["project"]["operations"][0]["seq"] = 10
    assert not validator.is_valid(wrong)
    wrong = json.loads(json.dumps(PROJECT))
    wrong["project"]["versoin"] = 1
    assert not validator.is_valid(wrong)


def test_every_field_of_the_schema_has_a_description() -> None:
    schema = make_schema()
    bare = [
        f"{name}.{key}"
        for name, model in schema["$defs"].items()
        for key, entry in model.get("properties", {}).items()
        if not entry.get("description")
    ]
    assert bare == []


def test_command_prints_json_only() -> None:
    result = CliRunner().invoke(command, ["schema", "--kind", "dataset"])
    assert result.exit_code == 0
    assert json.loads(result.output)["title"] == "airflow-runtime dataset"
