"""The command resolve: the snapshot and nothing else on standard output."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from airflow_provider_runtime.cli.main import command as root_command
from airflow_provider_runtime.core.errors import RuntimeProviderError
from airflow_provider_runtime.core.planning.snapshot.store import read_snapshot


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(root_command, ["resolve", "--project", "conversion", *arguments])


def test_resolve_prints_the_snapshot_alone_and_its_digest_aside(folder: Path) -> None:
    result = invoke("--period", "2026-01", "--as-of", "2026-01-15", "--timestamp", "2026-02-01T01:00:00+01:00")
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert document["as_of"] == "2026-01-15"
    assert document["run_timestamp"] == "2026-02-01T00:00:00Z"
    assert result.stderr.split()[1] == hashlib.sha256(result.stdout_bytes).hexdigest()
    uri = document["plan"]["tables"]["input"]["locations"][0]["uri"]
    assert uri == f"file://{folder}/catalog/data/lake/transactions/2026-01.parquet"
    assert not (folder / ".runtime").exists()


def test_resolve_writes_to_a_file_or_into_a_store(folder: Path) -> None:
    result = invoke("--period", "2026-01", "--output", "out/snapshot.json")
    assert (result.exit_code, result.stdout) == (0, "")
    sha256 = result.stderr.split()[1]
    assert read_snapshot("out/snapshot.json", sha256).period.identifier == "2026-01"
    result = invoke("--period", "2026-01", "--output", "store/")
    assert read_snapshot(result.stderr.split()[2]).sha256 == result.stderr.split()[1]


def test_resolve_with_a_registry_sees_its_period_status(folder: Path) -> None:
    from airflow_provider_runtime.core.registry.sql import open_registry

    registry = open_registry("sqlite:///.runtime/registry.db")
    registry.set_period_status("gregorian", "2026-01", "closed", who="me", reason="done")
    registry.close()
    result = invoke("--period", "2026-01")
    assert isinstance(result.exception, RuntimeProviderError)
    assert result.exception.code == "PERIOD_002"
    assert invoke("--period", "2026-01", "--allow-closed").exit_code == 0
    assert invoke("--period", "2026-02", "--registry", "sqlite:///.runtime/registry.db").exit_code == 0


@pytest.mark.parametrize(
    "arguments", [(), ("--period", "2026-01", "--as-of", "tomorrow"), ("--period", "2026-01", "--timestamp", "noon")]
)
def test_resolve_used_wrongly_exits_with_2(folder: Path, arguments: tuple[str, ...]) -> None:
    assert invoke(*arguments).exit_code == 2


@pytest.mark.parametrize(
    ("timestamp", "reason"),
    [
        ("1960-01-01", "before 1970"),
        ("1970-01-01T00:00:00+05:00", "before 1970"),
        ("9999-12-31T23:59:59-14:00", "outside the years"),
        ("0001-01-01T00:00:00+14:00", "outside the years"),
        ("yesterday", "not a timestamp"),
        ("2026-02-03T04:05:06.789Z", "has a fraction of a second"),
    ],
)
def test_timestamp_that_no_run_can_have_is_wrong_usage(folder: Path, timestamp: str, reason: str) -> None:
    result = invoke("--period", "2026-01", "--timestamp", timestamp)
    assert result.exit_code == 2
    assert reason in result.output
    assert not (folder / ".runtime").exists()
