from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import airflow
import jsonschema
import pytest
from airflow import plugins_manager
from airflow.providers.common.compat.sdk import AirflowException, AirflowFailException
from airflow.serialization.helpers import find_registered_custom_deadline_reference, find_registered_custom_timetable

from airflow_provider_runtime.core.errors import DefinitionError, Problem, get_error_class
from airflow_provider_runtime.core.runs.report import make_job_error
from airflow_provider_runtime.failures import to_airflow_error, translate_errors
from airflow_provider_runtime.get_provider_info import get_provider_info
from airflow_provider_runtime.hooks import storage
from airflow_provider_runtime.hooks.credentials import make_environment, read_properties, read_secret
from airflow_provider_runtime.hooks.runtime import RuntimeHook
from spark_jobs.contract.codes import Code
from spark_jobs.contract.report import ErrorReport, Report
from spark_jobs.credentials import credential_variable

pytestmark = pytest.mark.airflow


def connect(monkeypatch: pytest.MonkeyPatch, conn_id: str, **fields: Any) -> None:
    monkeypatch.setenv(f"AIRFLOW_CONN_{conn_id.upper()}", json.dumps(fields))


def test_provider_info_fits_airflows_schema() -> None:
    schema = json.loads(Path(airflow.__path__[0], "provider_info.schema.json").read_text())

    jsonschema.validate(get_provider_info(), schema)


def test_plugin_is_found_by_its_entry_point() -> None:
    names = {plugin.name for plugin in plugins_manager._get_plugins()[0]}

    assert "runtime" in names
    assert find_registered_custom_timetable("airflow_provider_runtime.timetables.period_timetable.PeriodTimetable")
    assert find_registered_custom_deadline_reference("airflow_provider_runtime.deadlines.references.PeriodEndReference")


def test_without_connection_everything_lives_below_the_home() -> None:
    settings = RuntimeHook().settings

    assert settings.registry_url.startswith("sqlite:////")
    assert settings.registry_url.endswith("/.runtime/registry.db")
    assert settings.snapshot_store.startswith("file:///")
    assert settings.slice_store.endswith("/.runtime/slices")


def test_connection_that_is_named_must_exist() -> None:
    with pytest.raises(DefinitionError, match="connection 'finance' is not defined"):
        _ = RuntimeHook("finance").settings


def test_connection_sets_places_and_keeps_its_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    extra = {"snapshot_store": "s3a://bucket/snapshots/", "slice_store": "/slices", "catalog_path": "/catalog"}
    connect(monkeypatch, "finance", conn_type="runtime", password="postgresql://u:canary@h/db", extra=extra)
    settings = RuntimeHook("finance").settings

    assert settings.registry_url == "postgresql://u:canary@h/db"
    assert settings.snapshot_store == "s3a://bucket/snapshots"
    assert settings.slice_store == "file:///slices"
    assert "canary" not in repr(settings)


def test_connection_test_reports_everything_that_is_wrong(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    extra = {"snapshot_store": str(tmp_path / "file" / "x"), "slice_store": str(tmp_path), "catalog_path": "/none"}
    connect(monkeypatch, "faulty", conn_type="runtime", password=f"sqlite:///{tmp_path}/registry.db", extra=extra)

    good, text = RuntimeHook("faulty").test_connection()

    assert not good
    assert "snapshot store: cannot be written to: Not a directory (NotADirectoryError)" in text
    assert "catalog: CATALOG_001" in text
    assert "registry" not in text
    assert "slice store" not in text


def test_connection_test_of_garbage_is_explained(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    extra = {"snapshot_store": str(tmp_path), "slice_store": "zz://nope", "catalog_path": "/none"}
    connect(monkeypatch, "garbage", conn_type="runtime", password="garbage url secretX", extra=extra)

    good, text = RuntimeHook("garbage").test_connection()

    assert not good
    assert "registry: CATALOG_002: the registry's URL is not an SQLAlchemy URL" in text
    assert "slice store: no storage of this kind is installed" in text
    assert "secretX" not in text
    assert list(tmp_path.iterdir()) == []


def test_unknown_key_of_a_connection_is_refused_with_the_nearest(monkeypatch: pytest.MonkeyPatch) -> None:
    connect(monkeypatch, "misspelt", conn_type="runtime", extra={"catalog": "/catalog", "slice_store": "/slices"})

    with pytest.raises(DefinitionError) as raised:
        _ = RuntimeHook("misspelt").settings
    good, text = RuntimeHook("misspelt").test_connection()

    assert raised.value.problems[0].hint == "did you mean 'catalog_path'?"
    assert not good
    assert text.count("unknown key 'catalog' in the extra of connection 'misspelt'") == 1
    assert "catalog_path" in text


def test_connection_test_of_a_good_one_passes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "catalog").mkdir()
    extra = {name: str(tmp_path / name) for name in ("snapshot_store", "slice_store")}
    extra["catalog_path"] = str(tmp_path / "catalog")
    connect(monkeypatch, "good", conn_type="runtime", password=f"sqlite:///{tmp_path}/registry.db", extra=extra)

    good, text = RuntimeHook("good").test_connection()
    assert good
    assert text.startswith("registry and stores are usable; ")


def test_connection_test_of_an_empty_one_passes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("AIRFLOW_HOME", str(tmp_path))
    monkeypatch.setenv("AIRFLOW_CONN_EMPTY", json.dumps({"conn_type": "runtime"}))

    good, text = RuntimeHook("empty").test_connection()
    assert good
    assert f"file://{tmp_path}/.runtime/snapshots" in text
    assert text.endswith("DAG files name their catalog")


def test_credentials_come_from_connections_and_only_those_of_airflow(monkeypatch: pytest.MonkeyPatch) -> None:
    connect(monkeypatch, "dwh", conn_type="postgres", login="etl", password="canary", extra={"sslmode": "require"})
    environment = make_environment(["airflow://dwh", "env://TOKEN"])

    assert list(environment) == [credential_variable("airflow://dwh")]
    assert json.loads(environment[credential_variable("airflow://dwh")]) == {
        "user": "etl",
        "password": "canary",
        "sslmode": "require",
    }


def test_secret_of_a_service_is_a_login_where_the_connection_has_one(monkeypatch: pytest.MonkeyPatch) -> None:
    connect(monkeypatch, "basic", conn_type="http", login="etl", password="canary", extra={"sslmode": "require"})
    connect(monkeypatch, "bearer", conn_type="http", password="canary")
    connect(monkeypatch, "empty", conn_type="http", login="etl")

    assert json.loads(read_secret("airflow://basic")) == {"user": "etl", "password": "canary"}
    assert read_secret("airflow://bearer") == "canary"
    with pytest.raises(DefinitionError, match="CATALOG_004: the connection of 'airflow://empty' has no password"):
        read_secret("airflow://empty")


def test_connection_of_type_iceberg_is_a_rest_catalog_with_its_properties(monkeypatch: pytest.MonkeyPatch) -> None:
    extra = {"warehouse": "prod", "scope": "PRINCIPAL_ROLE:ALL"}
    fields = {"host": "https://catalog.example/v1", "login": "client", "password": "canary"}
    connect(monkeypatch, "lake", conn_type="iceberg", extra=extra, **fields)

    assert read_properties("airflow://lake") == {
        "uri": "https://catalog.example/v1",
        "type": "rest",
        "user": "client",
        "password": "canary",
        **extra,
    }


@pytest.mark.parametrize(
    ("code", "fails_now"),
    [("CATALOG_002", True), ("DATA_003", True), ("RUN_002", True), ("RUN_001", False), ("INFRA_001", False)],
)
def test_only_what_time_may_cure_is_retried(code: Code, fails_now: bool) -> None:
    made = to_airflow_error(get_error_class(code)(Problem(code, "it broke", "mend it")))

    assert isinstance(made, AirflowFailException) is fails_now
    assert isinstance(made, AirflowException)
    assert code in str(made)
    assert "mend it" in str(made)


def test_error_of_a_report_points_at_the_yaml() -> None:
    error = make_job_error(
        Report("a", 1, "failed", error=ErrorReport("DATA_003", "12 does not fit", "use a wider type", "fx.yaml", 7))
    )

    with pytest.raises(AirflowFailException, match=r"fx\.yaml:7"), translate_errors():
        raise error


@pytest.mark.parametrize(("code", "retried"), [("OUTPUT_003", True), ("INFRA_002", True), ("JOIN_010", False)])
def test_code_of_a_report_decides_about_a_retry(code: Code, retried: bool) -> None:
    assert make_job_error(Report("a", 1, "failed", error=ErrorReport(code, "x"))).retryable is retried


def test_document_that_never_ends_is_read_in_part_from_an_object_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Airflow's own store of files stands in for one that needs a provider."""
    from airflow.sdk import ObjectStoragePath

    monkeypatch.setattr(storage, "_open_object", lambda uri: ObjectStoragePath(f"file://{tmp_path}/{uri[5:]}"))
    monkeypatch.setattr(storage, "MAX_SNAPSHOT_BYTES", 4)
    found = storage.AirflowStorage()
    found.write_once("s3://a.json", b"1234567")
    assert found.read_bytes("s3://a.json") == b"12345"
    assert found.find_bytes("s3://none.json") is None
