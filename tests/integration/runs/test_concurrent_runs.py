"""Whole runs at the same time, over one registry, one Spark session and one destination."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from airflow_provider_runtime.cli.local_run import LocalRunner
from airflow_provider_runtime.core.errors import LeaseError
from airflow_provider_runtime.core.planning.snapshot.store import write_snapshot
from tests.integration.runs.workplace import Workplace, make_output, make_project, make_update, money

pytestmark = [
    pytest.mark.spark,
    pytest.mark.integration,
    pytest.mark.parametrize("workplace", ["sqlite", "postgresql"], indirect=True),
]

PERIODS = [f"2026-{month:02}" for month in range(1, 13)]


@pytest.fixture
def sales(workplace: Workplace) -> Workplace:
    output = make_output(20, "first", columns=["shop", "double"], register_as_dataset="Doubled Sales")
    workplace.write_catalog("first.yaml", make_project("first", [make_update(10, double="amount * 2"), output]))
    for number, period in enumerate(PERIODS, start=1):
        workplace.write_sales(period, north=f"{number}.00")
    return workplace


def test_twelve_periods_of_a_project_at_once_all_arrive(sales: Workplace) -> None:
    snapshots = [sales.resolve("first", period) for period in PERIODS]
    with ThreadPoolExecutor(12) as pool:
        results = list(pool.map(sales.execute, snapshots))
    assert all(result.succeeded for result in results)
    assert sales.read("first", "period", "double") == [
        (period, money(f"{2 * number}.00")) for number, period in enumerate(PERIODS, start=1)
    ]
    versions = sales.registry.list_versions("Doubled Sales")
    assert [version.version for version in versions] == list(range(1, 13))
    latest = sales.registry.find_version("Doubled Sales")
    assert latest is not None
    assert [item.period for item in latest.slices] == PERIODS
    assert {run.status for run in sales.registry.list_runs()} == {"succeeded"}


def test_of_two_runs_of_a_period_one_wins_and_the_other_is_run_001(sales: Workplace) -> None:
    first, second = sales.resolve("first", "2026-01"), sales.resolve("first", "2026-01")
    assert first.sha256 != second.sha256
    started, over = threading.Event(), threading.Event()

    def hold(line: str) -> None:
        if line.startswith("operation 20"):
            started.set()
            over.wait(60)

    runner = LocalRunner(sales.registry, lambda: sales.spark, hold)
    uri = write_snapshot(first, str(sales.folder / "snapshots"))
    with ThreadPoolExecutor(1) as pool:
        winner = pool.submit(runner.execute, first, uri)
        assert started.wait(60)
        with pytest.raises(LeaseError, match="RUN_001"):
            sales.execute(second)
        over.set()
        assert winner.result().succeeded
    assert sales.read("first", "double") == [(money("2.00"),)]
    assert sales.execute(second).succeeded
    assert [version.version for version in sales.registry.list_versions("Doubled Sales")] == [1, 2]
