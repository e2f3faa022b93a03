"""Links of tasks: addresses that a browser can open."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from airflow_provider_runtime.operators.resolve import ResolveOperator
from tests.airflow.tasks import FakeTask

pytestmark = pytest.mark.airflow


def list_links(operator: Any) -> dict[str, str]:
    return {link.name: link.get_link(operator, ti_key=None) for link in operator.operator_extra_links}


@pytest.mark.parametrize("base", ["", "https://airflow.example/finance/"])
def test_links_lead_to_the_board(base: str, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW__API__BASE_URL", base)
    operator = ResolveOperator(task_id="resolve", project="fx-close")
    assert set(list_links(operator).values()) == {""}

    pins = operator.execute(FakeTask().context("resolve"))
    links = {name: urlsplit(link) for name, link in list_links(operator).items()}
    prefix = urlsplit(base).path.rstrip("/")

    assert links["Evidence"].path == f"{prefix}/plugin/periods"
    assert parse_qs(links["Evidence"].query) == {"dag": ["close"], "project": ["fx-close"], "period": ["2026-01"]}
    assert links["Snapshot"].path == f"{prefix}/runtime-board/api/dags/close/periods/2026-01/snapshot.json"
    assert parse_qs(links["Snapshot"].query)["run_id"] == [pins["run_id"]]
    assert {link.netloc for link in links.values()} == {urlsplit(base).netloc}
