"""What Airflow itself knows of the package: provider, plugin, and a connection with its test button."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.integration.airflow.standalone import Standalone

pytestmark = [pytest.mark.integration, pytest.mark.airflow, pytest.mark.timeout(900)]


def test_provider_and_timetable_are_listed(airflow: Standalone) -> None:
    providers = json.loads(airflow.command("providers", "list", "--output", "json"))
    assert "airflow-provider-runtime" in {entry["package_name"] for entry in providers}
    plugins = json.loads(airflow.command("plugins", "--output", "json"))
    (ours,) = [entry for entry in plugins if entry["name"] == "runtime"]
    assert "PeriodTimetable" in json.dumps(ours)


def test_test_button_distinguishes_a_good_connection_from_a_bad_one(airflow: Standalone, tmp_path: Path) -> None:
    extra = {
        "snapshot_store": str(tmp_path),
        "slice_store": str(tmp_path),
        "catalog_path": str(airflow.dags / "catalog"),
    }
    connection = {
        "connection_id": "books",
        "conn_type": "runtime",
        "password": f"sqlite:///{tmp_path}/registry.db",
        "extra": json.dumps(extra),
    }
    good = airflow.api("POST", "/connections/test", connection)
    assert good["status"] is True
    assert good["message"].startswith(f"registry and stores are usable; snapshots in {tmp_path.as_uri()}")
    assert good["message"].endswith(f"; catalog {airflow.dags / 'catalog'}")
    bad = airflow.api("POST", "/connections/test", {**connection, "password": "postgresql://u:canary@127.0.0.1:1/db"})
    assert bad["status"] is False
    assert "INFRA_001" in bad["message"]
    assert "canary" not in bad["message"]
