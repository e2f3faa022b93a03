"""The rows that fail a check: those kept beside the report, and those shown."""

from __future__ import annotations

import pytest

from spark_jobs.checks import duplicates
from spark_jobs.contract.addresses import escape_pattern
from tests.spark_jobs.checks.books import DOUBLE, HEAD, LINES, LINES_BY_KEY, RIGHT, Books, get_check

pytestmark = pytest.mark.spark


def test_failing_rows_are_kept_beside_the_report_and_shown(books: Books) -> None:
    books.write("2026-01", "".join(f"J{number},EUR,-1\n" for number in range(1200)) + RIGHT)
    books.define("{name: positive, output: 20, rows: amount > 0, on_fail: warn}")
    check = get_check(books.run(), "positive")
    assert (check["status"], check["rows"], check["failing_rows"]) == ("warned", 1203, 1201)
    assert len(check["sample"]) == 10
    assert check["sample"][0]["amount"] == "-1.00"
    assert check["failing_rows_uri"].startswith(f"file://{books.folder}/report.failing-rows/2026-01/")
    assert books.spark.read.parquet(escape_pattern(check["failing_rows_uri"])).count() == 1000
    assert books.list_published()


def test_failing_rows_are_neither_kept_nor_shown_when_the_project_says_so(books: Books) -> None:
    books.define("{name: positive, output: 20, rows: amount > 0}", more="  keep_failing_rows: false")
    result = books.run()
    check = get_check(result, "positive")
    assert (check["failing_rows"], check["sample"], check["failing_rows_uri"]) == (1, [], None)
    assert not list(books.folder.glob("report.failing-rows*"))
    assert "example" not in result.problems[0].message


def test_failing_rows_are_found_beside_files_without_rows(books: Books) -> None:
    file = books.folder / "data" / "ledger" / "2026-01.csv"
    file.unlink()
    file.mkdir()
    # One task for each file, of which the first, for the larger file, writes no row.
    books.spark.conf.set("spark.sql.files.maxPartitionBytes", "1k")
    (file / "a.csv").write_text(HEAD + "J0,EUR,1.00\n" * 80)
    (file / "b.csv").write_text(HEAD + "J1,EUR,10.00\nJ1,USD,20.00\n")
    selected = LINES.replace("type: output", "selector: 'journal = \"J1\"', type: output")
    books.define(
        "{name: large, output: 20, rows: amount > 15, on_fail: warn}",
        "{name: one row a journal, output: 20, unique: [journal]}",
        operations=(DOUBLE, selected),
    )
    result = books.run()
    assert [problem.code for problem in result.problems] == ["CHECK_001"]
    found = {name: get_check(result, name) for name in ("large", "one row a journal")}
    assert {name: (check["status"], check["failing_rows"]) for name, check in found.items()} == {
        "large": ("warned", 1),
        "one row a journal": ("failed", 2),
    }
    for check in found.values():
        assert books.spark.read.parquet(escape_pattern(check["failing_rows_uri"])).count() == check["failing_rows"]


@pytest.mark.parametrize("most", [0, 1_000])
def test_key_of_an_output_blocks_repeated_rows(books: Books, monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    monkeypatch.setattr(duplicates, "MOST_LISTED", most)
    books.write("2026-01", RIGHT + "J1,EUR,10.00\n")
    books.define("{name: total, output: 20, value: SUM(amount)}", operations=(DOUBLE, LINES_BY_KEY))
    result = books.run()
    check = get_check(result, "key of output 20")
    assert (check["status"], check["failing_rows"]) == ("failed", 2)
    assert {row["journal"] for row in check["sample"]} == {"J1"}
    assert books.list_published() == []
