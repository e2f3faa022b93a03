"""Rows before and after, against a comparison in plain Python."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

from spark_jobs.compare.rows import compare_rows
from spark_jobs.contract.comparison import OutputComparison
from spark_jobs.contract.operations import Destination, OutputOperation
from spark_jobs.contract.tables import Column

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

COLUMNS = (
    Column("_row_id", "string"),
    Column("line", "bigint"),
    Column("shop", "string"),
    Column("usd", "decimal(18,2)"),
    Column("note", "string"),
)
OPERATION = OutputOperation(
    seq=20,
    name="Publish",
    mark="20",
    columns=COLUMNS,
    include_deleted=False,
    write_mode="replace_period",
    destination=Destination(kind="files", format="parquet", display="out/close"),
)
Row = tuple[Any, ...]
START: list[Row] = [
    ("a", 1, "Bern", Decimal("1.00"), None),
    ("b", 2, "Oslo", Decimal("2.00"), "x"),
    ("c", 3, None, None, None),
]


def make_frame(spark: SparkSession, rows: Sequence[Row]) -> DataFrame:
    return spark.createDataFrame(list(rows), ", ".join(f"{column.name} {column.type}" for column in COLUMNS))


def compare(spark: SparkSession, before: Sequence[Row], after: Sequence[Row], *key: str) -> OutputComparison:
    return compare_rows(OPERATION, make_frame(spark, before), make_frame(spark, after), key, 10)


def count(found: OutputComparison) -> tuple[int, int, int, int]:
    return found.added, found.removed, found.changed, found.same


def test_equal_rows_are_the_same_whatever_their_ids(spark: SparkSession) -> None:
    after = [("other", *row[1:]) for row in reversed(START)]
    found = compare(spark, START, after, "line")
    assert count(found) == (0, 0, 0, 3)
    assert not found.differs
    assert [column.name for column in found.columns] == ["line", "shop", "usd", "note"]


def test_cent_is_found_with_its_totals(spark: SparkSession) -> None:
    after = [START[0], ("b", 2, "Oslo", Decimal("2.01"), "x"), START[2]]
    found = compare(spark, START, after, "line")
    assert count(found) == (0, 0, 1, 2)
    usd = next(column for column in found.columns if column.name == "usd")
    assert (usd.changed, usd.total_before, usd.total_after, usd.difference) == (1, "3.00", "3.01", "0.01")
    assert found.sample[0].key == {"line": "2"}
    assert (found.sample[0].before, found.sample[0].after) == ({"usd": "2.00"}, {"usd": "2.01"})


def test_values_that_changed_places_are_changed_rows(spark: SparkSession) -> None:
    after = [("a", 1, "Bern", Decimal("2.00"), None), ("b", 2, "Oslo", Decimal("1.00"), "x"), START[2]]
    assert count(compare(spark, START, after, "line")) == (0, 0, 2, 1)


def test_null_that_became_a_value_is_a_change(spark: SparkSession) -> None:
    after = [*START[:2], ("c", 3, "", None, None)]
    found = compare(spark, START, after, "line")
    assert count(found) == (0, 0, 1, 2)
    assert found.sample[0].before == {"shop": None}


def test_null_is_a_key_like_any_other(spark: SparkSession) -> None:
    assert count(compare(spark, START, START, "shop")) == (0, 0, 0, 3)
    changed = [*START[:2], ("c", 3, None, Decimal("9.00"), None)]
    assert count(compare(spark, START, changed, "shop")) == (0, 0, 1, 2)


def test_without_a_key_rows_are_a_multiset(spark: SparkSession) -> None:
    after = [START[0], START[0], START[2]]
    found = compare(spark, START, after)
    assert (count(found), found.key) == ((1, 1, 0, 2), ())
    assert {row.change for row in found.sample} == {"added", "removed"}


@pytest.mark.parametrize("key", [(), ("line",)])
def test_values_that_changed_rows_are_found_where_no_key_identifies_rows(
    spark: SparkSession, key: tuple[str, ...]
) -> None:
    before = [("a", 1, "Bern", Decimal("1.00"), "x"), ("b", 1, "Oslo", Decimal("1.00"), "y")]
    after = [("a", 1, "Bern", Decimal("1.00"), "y"), ("b", 1, "Oslo", Decimal("1.00"), "x")]
    found = compare(spark, before, after, *key)
    assert (count(found), found.key) == ((2, 2, 0, 0), ())


def test_key_that_is_not_unique_is_compared_as_a_multiset(spark: SparkSession) -> None:
    twice = [*START, ("d", 1, "Bern", Decimal("5.00"), None)]
    found = compare(spark, START, twice, "line")
    assert (count(found), found.key) == ((1, 0, 0, 3), ())


def test_nothing_published_before_means_that_all_rows_are_added(spark: SparkSession) -> None:
    found = compare_rows(OPERATION, None, make_frame(spark, START), ("line",), 10)
    assert (found.rows_before, found.rows_after, count(found)) == (0, 3, (3, 0, 0, 0))


def test_empty_sides_are_accepted(spark: SparkSession) -> None:
    assert count(compare(spark, START, [], "line")) == (0, 3, 0, 0)
    assert count(compare(spark, [], [], "line")) == (0, 0, 0, 0)


def test_timestamps_are_shown_in_utc_whatever_the_zone_of_the_driver(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    operation = replace(OPERATION, columns=(Column("line", "bigint"), Column("at", "timestamp")))
    sides = [
        spark.createDataFrame([(1, f"2026-01-31 {clock}Z"), (2, None)], "line bigint, at string").selectExpr(
            "line", "CAST(at AS timestamp) AS at"
        )
        for clock in ("23:30:00", "23:30:00.000001")
    ]
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        found = compare_rows(operation, sides[0], sides[1], ("line",), 10)
    finally:
        monkeypatch.undo()
        time.tzset()
    assert found.sample[0].before == {"at": "2026-01-31T23:30:00.000000Z"}
    assert found.sample[0].after == {"at": "2026-01-31T23:30:00.000001Z"}


def compare_in_python(before: Sequence[Row], after: Sequence[Row], key: int | None) -> tuple[int, int, int, int]:
    old, new = [row[1:] for row in before], [row[1:] for row in after]
    keys = [[row[key - 1] for row in side] for side in (old, new)] if key is not None else []
    if key is None or any(len(set(side)) < len(side) for side in keys):
        lost, won = Counter(old) - Counter(new), Counter(new) - Counter(old)
        return won.total(), lost.total(), 0, len(new) - won.total()
    by_key = [{row[key - 1]: row for row in side} for side in (old, new)]
    both = by_key[0].keys() & by_key[1].keys()
    changed = sum(by_key[0][found] != by_key[1][found] for found in both)
    return len(new) - len(both), len(old) - len(both), changed, len(both) - changed


def make_rows(chance: random.Random) -> list[Row]:
    return [
        (
            str(number),
            chance.choice([number, number, None, 1]) if chance.random() < 0.2 else number,
            chance.choice(["Bern", "Oslo", None]),
            chance.choice([Decimal("0.00"), Decimal("1.25"), Decimal("-7.00"), None]),
            chance.choice(["", "x", None]),
        )
        for number in chance.sample(range(8), chance.randrange(7))
    ]


@pytest.mark.parametrize("seed", [*range(4), *(pytest.param(seed, marks=pytest.mark.chaos) for seed in range(4, 300))])
def test_random_pairs_are_compared_as_in_python(spark: SparkSession, seed: int) -> None:
    chance = random.Random(seed)
    before = make_rows(chance)
    after = [row for row in before if chance.random() < 0.8] + make_rows(chance)[:2]
    for key, position in ((("line",), 1), ((), None)):
        found = compare(spark, before, after, *key)
        assert count(found) == compare_in_python(before, after, position), (before, after)
        assert found.rows_after == found.same + found.added + found.changed
