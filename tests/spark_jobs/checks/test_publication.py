"""Checks and publication: what fails a check is never visible, and a retry is checked anew."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from spark_jobs.errors import JobError
from spark_jobs.sinks.publish import Publication
from tests.spark_jobs.checks.books import DOUBLE, LINES_BY_KEY, RIGHT, Books

pytestmark = pytest.mark.spark

FAULTS = {
    "a lost row": "J1,EUR,10.00\nJ2,USD,5.50\n",
    "a doubled row": RIGHT + "J2,USD,5.50\n",
    "a cent off": RIGHT.replace("5.50", "5.51"),
    "a NULL": RIGHT.replace("5.50", ""),
    "a missing group": "J1,EUR,10.00\nJ2,EUR,5.50\nJ3,,-1.25\n",
    "a group too many": RIGHT.replace("J1,EUR,10.00", "J1,EUR,9.00\nJ4,GBP,1.00"),
}


def list_files(books: Books) -> Iterator[Path]:
    return books.folder.glob("out/*/period=*/*.parquet")


def test_no_reader_ever_sees_a_fault(books: Books) -> None:
    checks = (
        "{name: total, output: 20, value: SUM(amount), equals: 14.25}",
        "{name: rows, output: 30, value: COUNT(*), equals: 3}",
        "{name: amounts, output: 30, rows: amount IS NOT NULL}",
        "{name: by currency, output: 20, group_by: [currency], value: COUNT(*), equals: 1}",
        "{name: currencies, output: 30, value: MAX_AGG(currency), equals: USD}",
    )
    books.define(*checks, operations=(DOUBLE, LINES_BY_KEY))
    assert books.run().succeeded
    before, published = books.list_published(), {path.read_bytes() for path in list_files(books)}
    seen: set[bytes] = set()
    done = threading.Event()

    def poll() -> None:
        while not done.is_set():
            for path in list_files(books):
                with contextlib.suppress(OSError):
                    seen.add(path.read_bytes())

    reader = threading.Thread(target=poll)
    reader.start()
    try:
        for fault, rows in FAULTS.items():
            books.write("2026-01", rows)
            assert {problem.code for problem in books.run().problems} == {"CHECK_001"}, fault
            assert books.list_published() == before, fault
    finally:
        done.set()
        reader.join()
    assert seen == published


def test_run_that_dies_between_checks_and_publication_is_checked_anew(
    books: Books, monkeypatch: pytest.MonkeyPatch
) -> None:
    books.define("{name: total, output: 20, value: SUM(amount), equals: 14.25}")

    def die(*_: object) -> None:
        raise JobError("INFRA_001", "the machine went away")

    with monkeypatch.context() as patched:
        patched.setattr(Publication, "publish", die)
        died = books.run()
    assert [check["status"] for check in died.report["checks"]] == ["passed"]
    assert books.list_published() == []
    books.write("2026-01", FAULTS["a cent off"])
    again = books.run()
    assert [problem.code for problem in again.problems] == ["CHECK_001"]
    assert books.list_published() == []
