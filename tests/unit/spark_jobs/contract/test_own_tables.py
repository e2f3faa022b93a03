"""The tables in which the job keeps what it stages and publishes are not outputs."""

from __future__ import annotations

import pytest

from spark_jobs.contract.own_tables import LEDGER, STAGE_PREFIX, is_own_table


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        (LEDGER, True),
        (f"books.{LEDGER.upper()}", True),
        (f"{STAGE_PREFIX}0a1b", True),
        (f"books.{STAGE_PREFIX}0a1b", True),
        (f"{LEDGER}_2", False),
        (f"my_{LEDGER}", False),
        (f"my_{STAGE_PREFIX}0a1b", False),
    ],
)
def test_own_tables_are_known_in_any_schema_and_case(table: str, expected: bool) -> None:
    assert is_own_table(table) is expected
