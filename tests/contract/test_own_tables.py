"""The tables in which the job keeps what it stages and publishes are no outputs, neither to core nor to the job."""

from __future__ import annotations

import pytest

from airflow_provider_runtime.core.planning.resolve import destinations
from spark_jobs.sinks import jdbc_target


@pytest.mark.parametrize(
    ("table", "refused"),
    [
        (jdbc_target.LEDGER, True),
        (f"books.{jdbc_target.LEDGER.upper()}", True),
        (f"{jdbc_target.STAGE}0a1b", True),
        (f"books.{jdbc_target.STAGE}0a1b", True),
        (f"{jdbc_target.LEDGER}_2", False),
        (f"my_{jdbc_target.LEDGER}", False),
        (f"my_{jdbc_target.STAGE}0a1b", False),
    ],
)
def test_both_refuse_the_same_tables(table: str, refused: bool) -> None:
    found = [pattern.search(table) is not None for pattern in (destinations._OWN_TABLE, jdbc_target._OWN_TABLE)]
    assert found == [refused, refused]
