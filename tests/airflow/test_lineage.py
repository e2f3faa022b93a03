from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from airflow_provider_runtime.operators.lineage import SourceColumn, make_operator_lineage, read_plan, trace_plan
from airflow_provider_runtime.operators.resolve import ResolveOperator
from tests.airflow.tasks import FakeTask

pytestmark = pytest.mark.airflow

EXAMPLES = Path(__file__).resolve().parents[2] / "dags_examples"


@pytest.fixture
def snapshot_uri(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    shutil.copytree(EXAMPLES / "catalog", tmp_path / "catalog")
    monkeypatch.setenv("AIRFLOW_HOME", str(tmp_path))
    operator = ResolveOperator(task_id="resolve", project="fx-close")
    return str(operator.execute(FakeTask().context("resolve"))["snapshot_uri"])


def test_lineage_follows_a_column_through_joins_and_aggregates(snapshot_uri: str, tmp_path: Path) -> None:
    report = {"outputs": [{"seq": 30, "rows": 13}, {"seq": 60, "rows": 10}]}
    found = trace_plan(read_plan(snapshot_uri), report)
    ledger, close = found.outputs
    data = f"{tmp_path}/data/fx_close"

    assert (ledger.namespace, ledger.name, ledger.rows) == ("file", f"{tmp_path}/warehouse/ledger_usd", 13)
    assert ledger.columns["amount_usd"] == {
        SourceColumn("file", f"{data}/transactions/2026-01.csv", "amount_local"),
        SourceColumn("file", f"{data}/exchange_rates.csv", "rate"),
    }
    assert ledger.columns["amount_usd"] <= close.columns["actual_usd"]
    assert {source.column for source in close.columns["budget_usd"]} == {"amount"}


def test_lineage_names_every_input_with_its_schema(snapshot_uri: str, tmp_path: Path) -> None:
    inputs = {dataset.name: dict(dataset.schema) for dataset in trace_plan(read_plan(snapshot_uri)).inputs}

    assert {name.removeprefix(f"{tmp_path}/data/fx_close/") for name in inputs} == {
        "transactions/2026-01.csv",
        "exchange_rates.csv",
        "accounts.csv",
        "budgets/2026-01.csv",
    }
    assert "rate" in inputs[f"{tmp_path}/data/fx_close/exchange_rates.csv"]


def test_lineage_without_openlineage_is_nothing(snapshot_uri: str) -> None:
    assert make_operator_lineage(read_plan(snapshot_uri)) is None
