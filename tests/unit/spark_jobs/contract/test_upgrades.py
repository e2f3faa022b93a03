"""What a plan of version 1 spelled out in SQL only, a plan of today says."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from spark_jobs.contract.operations import Read
from spark_jobs.contract.snapshot import Snapshot, UnreadableSnapshotError, parse_snapshot
from spark_jobs.contract.upgrades import list_reads

GOLDEN = Path(__file__).parents[3] / "spark_jobs" / "golden" / "version_1_close.json"


@pytest.fixture
def snapshot() -> Snapshot:
    content = GOLDEN.read_bytes()
    return parse_snapshot(content, hashlib.sha256(content).hexdigest())


def test_operations_say_what_they_read_and_add(snapshot: Snapshot) -> None:
    convert, discount, totals, *_ = snapshot.plan.operations
    assert [column.name for column in convert.adds] == ["usd", "tier"]
    assert [column.name for column in totals.adds] == ["lines"]
    assert convert.expressions[0].reads == (Read("amount"), Read("rate", "r"))
    assert discount.where_aliases == ("t",)
    assert {join.alias: join.earlier_aliases for join in discount.joins} == {
        "regions": frozenset(),
        "t": frozenset({"regions"}),
    }
    assert discount.joins[1].match_columns == ("tier", "manager")


def test_columns_are_the_same_after_all_operations(snapshot: Snapshot) -> None:
    names = [column.name for column in snapshot.plan.columns]
    assert names[:4] == ["id", "region", "currency", "amount"]
    assert set(names[4:]) >= {"usd", "tier", "lines", "_row_id", "_period"}


def test_settings_keep_what_they_said(snapshot: Snapshot) -> None:
    settings = snapshot.plan.settings
    assert settings.enclosing_periods == ("2026-Q1", "2026")
    assert {entry.dataset for entry in settings.trace.values()} >= {"ledger", "rates"}


def test_texts_that_look_like_columns_are_not_read() -> None:
    sql = "concat('`@w`.`not`', `@w`.`yes`, 'it\\'s `@@fx`.`not`', `@@fx`.`a``b`)"
    assert list_reads(sql) == [{"column": "yes", "alias": None}, {"column": "a`b", "alias": "fx"}]


@pytest.mark.parametrize(
    "content",
    [
        b'{"snapshot_version": 1}',
        b'{"snapshot_version": 1, "plan": []}',
        b'{"snapshot_version": 1, "plan": {"input_columns": [{}], "operations": []}}',
        b'{"snapshot_version": 1, "plan": {"input_columns": [], "operations": [1]}}',
        b'{"snapshot_version": true}',
        b'{"snapshot_version": 3}',
    ],
)
def test_other_documents_are_refused(content: bytes) -> None:
    with pytest.raises(UnreadableSnapshotError):
        parse_snapshot(content, hashlib.sha256(content).hexdigest())
