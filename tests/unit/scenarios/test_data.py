"""A scenario's data as locations."""

from __future__ import annotations

from pathlib import Path
from typing import cast

from airflow_provider_runtime.core.model.dataset import Table
from airflow_provider_runtime.core.model.scenario import ScenarioData
from airflow_provider_runtime.core.planning.snapshot.table_chooser import LocationRequest
from airflow_provider_runtime.scenarios.data import make_locations


def test_path_of_a_file_is_written_as_hadoop_takes_it() -> None:
    table = Table.model_validate({"name": "t", "columns": [{"name": "id", "type": "string"}]}, strict=False)
    request = cast("LocationRequest", type("Request", (), {"table": table}))
    entry = ScenarioData.model_validate({"dataset": "t", "file": "my data.csv"})
    (location,) = make_locations([entry], request, (), Path("/a checkout/ä[1]"))
    assert location.uri == "file:///a checkout/ä\\[1\\]/my data.csv"
