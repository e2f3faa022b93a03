"""A lock leaves its mark with a table, where the runs of other registries find it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from airflow_provider_runtime.core.errors import RuntimeProviderError
from airflow_provider_runtime.core.planning.snapshot.run_snapshots import RunSnapshots
from airflow_provider_runtime.core.registry.sql import open_registry
from airflow_provider_runtime.core.runs.lock_marks import leave_lock_marks
from airflow_provider_runtime.core.tables import CommitRequest
from spark_jobs.contract.hidden_folder import LockMark
from spark_jobs.contract.own_tables import name_lock
from tests.integration.tables.books import Books, double_into
from tests.integration.tables.kit import TableKit, lines, with_base

MARK = LockMark("ann", "audited, \"finally\" 'done' ü", "2026-02-03T04:05:06+00:00")
JANUARY = name_lock("gregorian", "2026-01")


def stage(kit: TableKit, period: str = "2026-01", *enclosing: str) -> CommitRequest:
    request = kit.stage(lines(period, "9.00"), period=period, token=2)
    return replace(request, locks=tuple(name_lock("gregorian", found) for found in (period, *enclosing)))


def test_period_that_was_locked_is_not_replaced(kit: TableKit) -> None:
    kit.publish(lines("2026-01", "1.00"))
    assert kit.open().leave_lock(JANUARY, MARK)
    assert kit.open().leave_lock(JANUARY, MARK)
    request = stage(kit)
    with pytest.raises(
        RuntimeProviderError, match=r"period 2026-01 was locked by ann: audited, .finally. 'done' ü"
    ) as e:
        kit.open().check_rows(request.note, request.locks)
    assert e.value.code == "PERIOD_002"
    with pytest.raises(RuntimeProviderError, match="2026-01 was locked by ann"):
        kit.open().commit(request)
    assert not kit.has_folder_of(request)
    kit.open().commit(stage(kit, "2026-02"))
    assert kit.read() == [*lines("2026-01", "1.00"), *lines("2026-02", "9.00")]


def test_period_that_is_part_of_a_locked_one_is_not_replaced(kit: TableKit) -> None:
    kit.publish(lines("2026-01", "1.00"))
    assert kit.open().leave_lock(name_lock("gregorian", "2026"), MARK)
    with pytest.raises(RuntimeProviderError, match="period 2026-01 is part of 2026, which was locked by ann"):
        kit.open().commit(stage(kit, "2026-01", "2026-Q1", "2026"))


def test_lock_that_comes_while_a_run_is_under_way_stops_it(kit: TableKit) -> None:
    base = kit.publish(lines("2026-01", "1.00"))
    january, february = (with_base(stage(kit, period), base) for period in ("2026-01", "2026-02"))
    assert kit.open().leave_lock(JANUARY, MARK)
    with pytest.raises(RuntimeProviderError, match="2026-01 was locked by ann"):
        kit.open().commit(january)
    kit.open().commit(february)
    assert kit.read() == [*lines("2026-01", "1.00"), *lines("2026-02", "9.00")]


def test_lock_changes_neither_rows_nor_what_was_read(kit: TableKit) -> None:
    version = kit.publish(lines("2026-01", "1.00"))
    before = kit.open().find_pin(version)
    assert kit.open().leave_lock(JANUARY, MARK)
    after = kit.open().find_pin()
    assert before is not None
    assert after is not None
    assert (set(after.files), kit.read()) == (set(before.files), lines("2026-01", "1.00"))


def test_table_that_is_not_there_has_no_mark(kit: TableKit) -> None:
    assert not kit.open().leave_lock(JANUARY, MARK)


def test_run_of_another_registry_finds_the_lock_before_its_job(books: Books) -> None:
    books.ledger.publish(lines("2026-01", "1.00"))
    books.define(double_into(books.destination()))
    books.run()
    place = books.place
    snapshots = RunSnapshots(str(place.folder / "snapshots"))
    assert leave_lock_marks(place.registry, snapshots, "gregorian", "2026-01", MARK) == []
    place.registry = open_registry(f"sqlite:///{place.folder}/other.db")
    with pytest.raises(RuntimeProviderError, match="period 2026-01 was locked by ann"):
        place.execute(place.resolve("close", "2026-01"))
    place.registry.close()
    assert books.read_results() == [("2026-01", "A0", "2.00")]
