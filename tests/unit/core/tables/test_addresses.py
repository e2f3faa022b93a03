"""From places in a plan to addresses of tables."""

from __future__ import annotations

import subprocess
import sys

import pytest

from airflow_provider_runtime.core.errors import DefinitionError
from airflow_provider_runtime.core.tables import CommitNote
from airflow_provider_runtime.core.tables.addresses import make_address, read_env_properties, to_job_uri
from airflow_provider_runtime.core.tables.notes import find_note, is_attempt_folder
from spark_jobs.contract.tables import Location

PLACE = Location(kind="table", format="iceberg", table="a.b", credential_ref="env://X")


@pytest.mark.parametrize(
    ("uri", "found", "expected"),
    [
        ("postgresql+psycopg://u@h/d", {"password": "p/1"}, {"uri": "postgresql+psycopg://u:p%2F1@h/d"}),
        ("postgresql+psycopg://h/d", {"user": "u", "password": "p"}, {"uri": "postgresql+psycopg://u:p@h/d"}),
        ("https://h/v1", {"user": "id", "password": "s"}, {"uri": "https://h/v1", "credential": "id:s"}),
        ("https://h/v1", {"password": "t"}, {"uri": "https://h/v1", "token": "t"}),
        ("https://h/v1", {"s3.region": "eu"}, {"uri": "https://h/v1", "s3.region": "eu"}),
    ],
)
def test_credential_goes_where_the_kind_of_catalog_takes_it(
    uri: str, found: dict[str, str], expected: dict[str, str]
) -> None:
    place = Location(kind="table", format="iceberg", table="a.b", options={"uri": uri}, credential_ref="env://X")
    address = make_address(place, lambda reference: found)
    assert address.properties == expected
    assert "p/1" not in repr(address)


def test_options_of_the_datasource_come_before_those_of_the_credential() -> None:
    address = make_address(
        Location(kind="table", format="iceberg", table="a.b", options={"name": "c", "type": "sql"}, credential_ref="x"),
        lambda reference: {"type": "rest", "uri": "sqlite://"},
    )
    assert (address.catalog, address.properties) == ("c", {"type": "sql", "uri": "sqlite://"})


def test_variable_holds_a_password_or_a_json_object(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("X", "secret")
    assert read_env_properties("env://X") == {"password": "secret"}
    monkeypatch.setenv("X", '{"user": "u", "n": 1, "none": null}')
    assert read_env_properties("env://X") == {"user": "u", "n": "1"}
    monkeypatch.setenv("X", "{secret")
    with pytest.raises(DefinitionError) as caught:
        read_env_properties("env://X")
    assert "secret" not in str(caught.value)
    monkeypatch.delenv("X")
    with pytest.raises(DefinitionError, match="is not set"):
        read_env_properties("env://X")


@pytest.mark.parametrize(
    ("uri", "expected"),
    [
        ("s3://b/k", "s3a://b/k"),
        ("s3n://b/k", "s3a://b/k"),
        ("gs://b/k", "gs://b/k"),
        ("/tmp/a b", "file:///tmp/a b"),
        ("file:/tmp/a", "file:///tmp/a"),
    ],
)
def test_job_gets_addresses_that_hadoop_knows(uri: str, expected: str) -> None:
    assert to_job_uri(uri) == expected


def test_note_survives_a_tables_history() -> None:
    note = CommitNote("p", "2026-01", "d" * 64, 7, 20, "runtime-x/1", ("2026-01", "2026-01-05"), "c")
    assert find_note({**note.to_properties(), "operation": "overwrite"}) == note
    whole = CommitNote("p", "2026-01", "d" * 64, 7, 20)
    assert find_note(whole.to_properties()) == whole
    assert find_note({"operation": "append", "airflow-provider-runtime.token": "7"}) is None


@pytest.mark.parametrize(
    ("folder", "is_one"),
    [
        ("runtime-0123456789abcdef/00000000000000000007-1a2b3c4d-20", True),
        ("runtime-0123456789abcdef/../other", False),
        ("data/00000000000000000007-1a2b3c4d-20", False),
    ],
)
def test_folder_of_an_attempt_is_recognised_by_its_name(folder: str, is_one: bool) -> None:
    assert is_attempt_folder(folder) is is_one


def test_libraries_are_not_loaded_before_a_table_is_opened() -> None:
    rooms = ("planning.snapshot.builder", "runs.execution")
    imports = "".join(f"import airflow_provider_runtime.core.{room}\n" for room in rooms)
    code = (
        f"import sys\n{imports}print([name for name in ('pyiceberg', 'deltalake', 'pyarrow') if name in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
