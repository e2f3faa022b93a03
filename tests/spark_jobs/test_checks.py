"""Checks from YAML to published files: what blocks, what warns, what is kept, and what later runs compare with."""

from __future__ import annotations

import contextlib
import hashlib
import threading
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from airflow_provider_runtime.cli.local_run import LocalRunner, RunResult
from airflow_provider_runtime.core.catalog.loader import load_catalog
from airflow_provider_runtime.core.planning.snapshot.builder import build_snapshot
from airflow_provider_runtime.core.registry.memory import MemoryRegistry
from spark_jobs.checks import duplicates, rows_read
from spark_jobs.checks.evaluation import Evaluation
from spark_jobs.contract.addresses import escape_pattern
from spark_jobs.contract.snapshot import Snapshot
from spark_jobs.errors import JobError
from spark_jobs.sinks.path import StagedFiles
from spark_jobs.sinks.publish import Publication
from spark_jobs.sources import parallel

pytestmark = pytest.mark.spark

CATALOG = """
datasource: {{id: lake, type: csv, path_prefix: ../data, options: {{header: "true"}}}}
---
datasource: {{id: out, type: {format}, path_prefix: ../out}}
---
resolver:
  id: lake
  version: 1
  is_default: true
  rules:
    - name: monthly
      strategy: {{type: path, datasource_id: lake, path: "{{{{table_name}}}}/{{{{identifier}}}}.csv"}}
---
dataset:
  id: ledger
  name: Ledger
  version: 1
  main_table:
    name: ledger
    temporal_mode: period
    columns:
      - {{name: journal, type: string}}
      - {{name: currency, type: string}}
      - {{name: amount, type: decimal, precision: 18, scale: 2}}
---
project:
  id: close
  name: close
  version: {version}
  input_dataset_id: ledger
{more}
  operations:
    - {{seq: 10, name: Double, type: update, arguments: {{assignments: [{{column: doubled, expression: amount * 2}}]}}}}
    - {{seq: 20, name: Lines, type: output, arguments: {{destination: {{datasource_id: out, path: lines}}{key}}}}}
    - {{seq: 30, name: Copy, type: output, arguments: {{destination: {{datasource_id: out, path: copy}}}}}}
  checks:
{checks}
"""
RIGHT = "J1,EUR,10.00\nJ2,USD,5.50\nJ3,,-1.25\n"


@dataclass
class Books:
    """A catalog with one project, its data, and a registry that remembers."""

    spark: SparkSession
    folder: Path
    registry: MemoryRegistry = field(default_factory=MemoryRegistry)
    lines: list[str] = field(default_factory=list)
    version: int = 0

    def define(self, *checks: str, format: str = "parquet", key: str = "", more: str = "") -> None:
        self.version += 1
        listed = "\n".join(f"    - {check}" for check in checks)
        text = CATALOG.format(checks=listed, format=format, version=self.version, key=key, more=more)
        (self.folder / "catalog").mkdir(exist_ok=True)
        (self.folder / "catalog" / "books.yaml").write_text(text)

    def write(self, period: str, rows: str) -> None:
        folder = self.folder / "data" / "ledger"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{period}.csv").write_text("journal,currency,amount\n" + rows)

    def resolve(self, period: str = "2026-01") -> Snapshot:
        loaded = load_catalog(self.folder / "catalog")
        return build_snapshot(loaded, "close", period, registry=self.registry)

    def run(self, period: str = "2026-01") -> RunResult:
        runner = LocalRunner(self.registry, lambda: self.spark, self.lines.append, report=self.folder / "report.json")
        return runner.execute(self.resolve(period), f"file://{self.folder}/snapshot.json")

    def list_published(self) -> list[str]:
        return sorted(
            str(path.parent.relative_to(self.folder / "out")) for path in self.folder.glob("out/*/period=*/*")
        )


@pytest.fixture
def books(spark: SparkSession, tmp_path: Path) -> Books:
    made = Books(spark, tmp_path)
    made.write("2026-01", RIGHT)
    return made


def get_check(result: RunResult, name: str) -> dict[str, Any]:
    return next(check for check in result.report["checks"] if check["name"] == name)


def test_blocking_failures_publish_nothing_and_are_all_told(books: Books) -> None:
    books.define(
        "{name: positive, output: 20, rows: amount > 0}",
        "{name: other output, output: 30, value: SUM(doubled), equals: {output: 20, value: SUM(amount)}}",
        "{name: fine, output: 30, value: COUNT(*), equals: {input: COUNT(*)}}",
        "{name: watched, output: 30, value: COUNT(*), equals: 4, on_fail: warn}",
    )
    result = books.run()
    assert books.list_published() == []
    assert [(problem.code, problem.location.field) for problem in result.problems] == [
        ("CHECK_001", "checks[0]"),
        ("CHECK_001", "checks[1]"),
    ]
    assert "Check 'positive' failed: 1 of 3 rows does not satisfy amount > 0" in result.problems[0].message
    assert "amount = -1.25" in result.problems[0].message
    assert "28.50, expected 14.25 (SUM(amount) of output 20), difference 14.25" in result.problems[1].message
    statuses = {check["name"]: check["status"] for check in result.report["checks"]}
    assert statuses == {"positive": "failed", "other output": "failed", "fine": "passed", "watched": "warned"}
    (run,) = books.registry.list_runs()
    assert run.status == "failed"
    assert [check["status"] for check in (run.report or {})["checks"]] == ["failed", "failed", "passed", "warned"]


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
    (file / "a.csv").write_text("journal,currency,amount\n" + "J0,EUR,1.00\n" * 80)
    (file / "b.csv").write_text("journal,currency,amount\nJ1,EUR,10.00\nJ1,USD,20.00\n")
    books.define(
        "{name: large, output: 20, rows: amount > 15, on_fail: warn}",
        "{name: one row a journal, output: 20, unique: [journal]}",
    )
    catalog = books.folder / "catalog" / "books.yaml"
    catalog.write_text(catalog.read_text().replace("name: Lines, type", 'name: Lines, selector: journal = "J1", type'))
    result = books.run()
    books.spark.conf.unset("spark.sql.files.maxPartitionBytes")
    assert [problem.code for problem in result.problems] == ["CHECK_001"]
    found = {name: get_check(result, name) for name in ("large", "one row a journal")}
    assert {name: (check["status"], check["failing_rows"]) for name, check in found.items()} == {
        "large": ("warned", 1),
        "one row a journal": ("failed", 2),
    }
    for check in found.values():
        assert books.spark.read.parquet(escape_pattern(check["failing_rows_uri"])).count() == check["failing_rows"]


@pytest.mark.parametrize("format", ["csv", "json", "orc"])
def test_outputs_of_every_format_are_checked_on_typed_rows(books: Books, format: str) -> None:
    books.define(
        "{name: nothing lost, output: 20, value: SUM(amount), equals: {input: SUM(amount)}}",
        "{name: currencies, output: 20, rows: currency IS NOT NULL, on_fail: warn}",
        "{name: one row a journal, output: 20, unique: [journal]}",
        format=format,
    )
    result = books.run()
    assert result.succeeded, result.problems
    assert [check["status"] for check in result.report["checks"]] == ["passed", "warned", "passed"]
    assert get_check(result, "nothing lost")["value"] == "14.25"
    assert sorted({place.split("/")[0] for place in books.list_published()}) == ["copy", "lines"]


def test_override_lets_a_check_pass_until_it_is_withdrawn(books: Books) -> None:
    books.define("{name: positive, output: 20, rows: amount > 0}")
    books.registry.add_override("close", "2026-01", "positive", who="ann", reason="a reversal")
    books.registry.add_override("close", "2026-02", "other", who="ann", reason="another period")
    snapshot = books.resolve()
    assert [(entry.check, entry.who, entry.reason) for entry in snapshot.overrides] == [
        ("positive", "ann", "a reversal")
    ]
    result = books.run()
    found = get_check(result, "positive")
    assert (result.succeeded, found["status"]) == (True, "overridden")
    assert (found["override"]["who"], found["override"]["reason"]) == ("ann", "a reversal")
    assert found["override"]["at"] == snapshot.overrides[0].at
    assert any(
        "check 'positive' overridden" in line and "(overridden by ann: a reversal)" in line for line in books.lines
    )
    books.registry.withdraw_override("close", "2026-01", "positive", who="bob")
    again = books.run()
    assert (again.succeeded, get_check(again, "positive")["status"]) == (False, "failed")


def test_check_that_was_one_of_another_form_is_no_baseline(books: Books) -> None:
    books.define(
        "{name: by currency, output: 20, group_by: [currency], value: SUM(amount), change: {to: 20%}}",
        "{name: many, output: 20, rows: amount > -100}",
    )
    assert books.run("2026-01").succeeded
    books.write("2026-02", RIGHT)
    books.define(
        "{name: by currency, output: 20, value: SUM(amount), change: {from: -20%, to: 20%}}",
        "{name: many, output: 20, value: SUM(amount), change: {from: -20%, to: 20%}}",
    )
    assert [check["status"] for check in books.run("2026-02").report["checks"]] == ["no_baseline", "no_baseline"]


def test_change_compares_with_what_was_published_before(books: Books) -> None:
    checks = (
        "{name: jump, output: 20, value: SUM(amount), change: {from: -20%, to: 20%}}",
        "{name: by currency, output: 20, group_by: [currency], value: SUM(amount), change: {from: -20%}}",
        "{name: again, output: 20, value: COUNT(*), change: {from: 0, to: 0, since: last_publication}, on_fail: warn}",
    )
    books.define(*checks)
    first = books.run("2026-01")
    assert [check["status"] for check in first.report["checks"]] == ["no_baseline"] * 3
    assert "recorded" not in first.report["checks"][1]
    books.write("2026-02", RIGHT.replace("10.00", "12.85"))
    second = books.run("2026-02")
    assert [check["status"] for check in second.report["checks"]] == ["passed", "passed", "no_baseline"]
    assert (get_check(second, "jump")["expected"], get_check(second, "jump")["difference"]) == ("14.25", "2.85")
    books.write("2026-02", RIGHT.replace("10.00", "12.86").replace("5.50", "0.50") + "J4,GBP,5.00\n")
    third = books.run("2026-02")
    assert [check["status"] for check in third.report["checks"]] == ["failed", "failed", "warned"]
    groups = {group["key"]["currency"]: group["status"] for group in get_check(third, "by currency")["groups"]}
    assert groups == {None: "passed", "EUR": "passed", "USD": "failed", "GBP": "failed"}
    assert "it was 14.25 in 2026-01, allowed is a change from -20% to 20%" in third.problems[0].message


@pytest.mark.parametrize("most", [0, 1_000])
def test_key_of_an_output_blocks_rows_that_stand_twice(
    books: Books, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr(duplicates, "MOST_LISTED", most)
    books.write("2026-01", RIGHT + "J1,EUR,10.00\n")
    books.define("{name: total, output: 20, value: SUM(amount)}", key=", key: [journal]")
    result = books.run()
    check = get_check(result, "key of output 20")
    assert (check["status"], check["failing_rows"]) == ("failed", 2)
    assert {row["journal"] for row in check["sample"]} == {"J1"}
    assert books.list_published() == []


SUMMARY = (
    "    - {seq: 15, name: By currency, type: aggregate, arguments: {group_by: [currency],"
    " aggregations: [{column: doubled, expression: SUM(doubled)}]}}\n"
)


@pytest.mark.parametrize("is_small", [True, False])
def test_output_that_is_staged_in_two_steps_is_checked_as_one(
    books: Books, monkeypatch: pytest.MonkeyPatch, is_small: bool
) -> None:
    load, split = parallel.load_table, StagedFiles.split
    splits: list[str] = []
    monkeypatch.setattr(parallel, "load_table", lambda *asked: replace(load(*asked), is_small=is_small))
    monkeypatch.setattr(StagedFiles, "split", lambda files: (splits.append(files.uri), split(files)))
    values = ["SUM(doubled)", "COUNT(journal)", "MIN_AGG(doubled)", "MAX_AGG(currency)", "AVG(doubled)", "COUNT(*)"]
    books.define(
        *(f"{{name: v{number}, output: 20, value: {value}}}" for number, value in enumerate(values)),
        "{name: some, output: 20, where: doubled > 0, value: SUM(doubled), equals: {output: 30, value: SUM(doubled)}}",
        "{name: positive, output: 20, rows: doubled > 0, on_fail: warn}",
        "{name: named, output: 20, where: doubled > 0, rows: LEN(journal) > 0, on_fail: warn}",
        "{name: none, output: 20, where: doubled > 1000, value: SUM(doubled), equals: 0, on_fail: warn}",
    )
    catalog = books.folder / "catalog" / "books.yaml"
    catalog.write_text(catalog.read_text().replace("    - {seq: 20,", SUMMARY + "    - {seq: 20,"))
    result = books.run()
    assert len(splits) == (0 if is_small else 1)
    found = {check["name"]: (check["value"], check["rows"], check["failing_rows"]) for check in result.report["checks"]}
    assert found == {
        "v0": ("57.00", 6, None),
        "v1": ("3", 6, None),
        "v2": ("-2.50", 6, None),
        "v3": ("USD", 6, None),
        "v4": ("9.500000", 6, None),
        "v5": ("6", 6, None),
        "some": ("62.00", 4, None),
        "positive": (None, 6, 2),
        "named": (None, 4, 2),
        "none": (None, 0, None),
    }
    some = get_check(result, "some")
    assert (some["expected"], some["status"]) == ("57.00", "failed")


@pytest.mark.parametrize("most", [1000, 1])
def test_groups_are_compared_alike_by_driver_and_by_spark(
    books: Books, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    build = rows_read.GroupTotals.__init__
    monkeypatch.setattr(rows_read.GroupTotals, "__init__", lambda self, open: build(self, open, most))
    by = "output: 20, group_by: [currency], value: SUM(amount), on_fail: warn"
    other = "{input: SUM(amount), where: 'amount > 0'}"
    books.define(
        f"{{name: constant, {by}, equals: 10}}",
        f"{{name: near, {by}, equals: 10, tolerance: 4.5}}",
        f"{{name: between, {by}, between: [-1.25, 9.999]}}",
        f"{{name: other, {by}, equals: {other}}}",
        f"{{name: absolute, {by}, equals: {other}, tolerance: 0.01}}",
        f"{{name: percent, {by}, equals: {other}, tolerance: '5%'}}",
        f"{{name: twice, {by}, equals: {{input: SUM(amount * 2)}}, tolerance: '50%'}}",
        "{name: recorded, output: 20, group_by: [currency], value: SUM(amount)}",
        "{name: text, output: 20, group_by: [currency], value: MAX_AGG(journal), equals: {input: MAX_AGG(journal)}}",
    )
    found = {
        check["name"]: (check["status"], check["rows"], [(g["key"]["currency"], g["status"]) for g in check["groups"]])
        for check in books.run().report["checks"]
    }
    passed = [(None, "passed"), ("EUR", "passed"), ("USD", "passed")]
    other_failed = [(None, "warned"), ("EUR", "passed"), ("USD", "passed")]
    assert found == {
        "constant": ("warned", 3, [(None, "warned"), ("USD", "warned"), ("EUR", "passed")]),
        "near": ("warned", 3, [(None, "warned"), ("EUR", "passed"), ("USD", "passed")]),
        "between": ("warned", 3, [("EUR", "warned"), (None, "passed"), ("USD", "passed")]),
        "other": ("warned", 3, other_failed),
        "absolute": ("warned", 3, other_failed),
        "percent": ("warned", 3, other_failed),
        "twice": ("passed", 3, passed),
        "recorded": ("recorded", 3, [(None, "recorded"), ("EUR", "recorded"), ("USD", "recorded")]),
        "text": ("passed", 3, passed),
    }


@pytest.mark.parametrize("is_small", [True, False])
def test_no_source_is_read_again_for_a_check(books: Books, monkeypatch: pytest.MonkeyPatch, is_small: bool) -> None:
    source = books.folder / "data" / "ledger" / "2026-01.csv"
    aside = source.with_suffix(".aside")
    finish = Evaluation.finish
    load = parallel.load_table

    def finish_without_source(*arguments: Any) -> Any:
        source.rename(aside)
        try:
            return finish(*arguments)
        finally:
            aside.rename(source)

    monkeypatch.setattr(Evaluation, "finish", finish_without_source)
    monkeypatch.setattr(parallel, "load_table", lambda *asked: replace(load(*asked), is_small=is_small))
    books.define(
        "{name: total, output: 20, value: SUM(amount), equals: {input: SUM(amount)}}",
        "{name: journals, output: 20, group_by: [currency], value: COUNT(*), equals: {input: COUNT(journal)}}",
        "{name: total by currency, output: 20, group_by: [currency], value: SUM(doubled),"
        " equals: {input: SUM(amount * 2)}}",
        "{name: period, output: 20, group_by: [_period, _deleted], value: MAX_AGG(_row_id),"
        " equals: {input: MAX_AGG(_row_id)}}",
    )
    result = books.run()
    assert {check["name"]: check["status"] for check in result.report["checks"]} == {
        "total": "passed",
        "journals": "passed",
        "total by currency": "passed",
        "period": "passed",
    }
    assert [check["rows"] for check in result.report["checks"]] == [3, 3, 3, 3]


RATES = """
---
dataset:
  id: rates
  name: Rates
  version: 1
  main_table:
    name: rates
    temporal_mode: period
    columns: [{name: currency, type: string}, {name: lines, type: integer}]
---
project:"""


@pytest.mark.parametrize("kind", ["join", "append"])
def test_dataset_that_checks_and_operations_read_is_read_once(
    books: Books, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    source = books.folder / "data" / "rates" / "2026-01.csv"
    source.parent.mkdir(parents=True)
    source.write_text("currency,lines\nEUR,1\nUSD,2\n")
    aside = source.with_suffix(".aside")
    finish = Evaluation.finish
    opened: list[str] = []
    load = parallel.load_table

    def finish_without_source(*arguments: Any) -> Any:
        source.rename(aside)
        try:
            return finish(*arguments)
        finally:
            aside.rename(source)

    def note(context: Any, table: Any) -> Any:
        opened.append(table.dataset_id)
        return load(context, table)

    monkeypatch.setattr(Evaluation, "finish", finish_without_source)
    monkeypatch.setattr(parallel, "load_table", note)
    books.define(
        "{name: lines, output: 20, value: COUNT(*), equals: {dataset_id: rates, value: SUM(lines)}, on_fail: warn}",
        "{name: currencies, output: 20, group_by: [currency], value: COUNT(*),"
        " equals: {dataset_id: rates, value: SUM(lines)}, on_fail: warn}",
    )
    catalog = books.folder / "catalog" / "books.yaml"
    text = catalog.read_text().replace("\n---\nproject:", RATES)
    joined = (
        "joins: [{alias: r, dataset_id: rates, on: currency = r.currency}],"
        " assignments: [{column: doubled, expression: amount * r.lines}]"
    )
    text = text.replace("assignments: [{column: doubled, expression: amount * 2}]", joined) if kind == "join" else text
    appended = (
        "    - {seq: 15, name: Rates, type: append, arguments: {source: {dataset_id: rates}, add_columns: true}}\n"
    )
    text = text.replace("    - {seq: 20,", appended + "    - {seq: 20,") if kind == "append" else text
    catalog.write_text(text)
    result = books.run()
    assert result.succeeded, result.problems
    assert opened.count("rates") == 1
    lines, currencies = result.report["checks"]
    assert lines["expected"] == "3"
    found = {group["key"]["currency"]: group["expected"] for group in currencies["groups"]}
    assert found == {None: None, "EUR": "1", "USD": "2"}


@pytest.mark.parametrize(
    ("check", "field"),
    [
        ("{name: numbers, output: 20, value: 'SUM(NUMBER(journal, 5, 0))', between: [0, 5]}", "checks[0].value"),
        ("{name: numbers, output: 20, rows: 'INTEGER(journal) > 0'}", "checks[0].rows"),
        (
            "{name: numbers, output: 20, value: COUNT(*), equals: {input: 'SUM(INTEGER(journal))'}}",
            "checks[0].equals.input",
        ),
    ],
)
def test_value_that_a_check_cannot_compute_is_told_with_the_check(books: Books, check: str, field: str) -> None:
    books.define(check)
    (problem,) = books.run().problems
    assert (problem.code, problem.location.field) == ("DATA_003", field)
    assert problem.message.startswith("check 'numbers': ")
    assert books.list_published() == []


FAULTS = {
    "a lost row": "J1,EUR,10.00\nJ2,USD,5.50\n",
    "a doubled row": RIGHT + "J2,USD,5.50\n",
    "a cent off": RIGHT.replace("5.50", "5.51"),
    "a NULL": RIGHT.replace("5.50", ""),
    "a missing group": "J1,EUR,10.00\nJ2,EUR,5.50\nJ3,,-1.25\n",
    "a group too many": RIGHT.replace("J1,EUR,10.00", "J1,EUR,9.00\nJ4,GBP,1.00"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_no_reader_ever_sees_a_fault(books: Books, fault: str) -> None:
    checks = (
        "{name: total, output: 20, value: SUM(amount), equals: 14.25}",
        "{name: rows, output: 30, value: COUNT(*), equals: 3}",
        "{name: amounts, output: 30, rows: amount IS NOT NULL}",
        "{name: by currency, output: 20, group_by: [currency], value: COUNT(*), equals: 1}",
        "{name: currencies, output: 30, value: MAX_AGG(currency), equals: USD}",
    )
    books.define(*checks, key=", key: [journal]")
    assert books.run().succeeded
    before = books.list_published()
    seen: set[str] = set()
    done = threading.Event()

    def poll() -> None:
        while not done.is_set():
            for path in books.folder.glob("out/*/period=*/*.parquet"):
                with contextlib.suppress(OSError):
                    seen.add(hashlib.sha256(path.read_bytes()).hexdigest())

    published = {
        hashlib.sha256(path.read_bytes()).hexdigest() for path in books.folder.glob("out/*/period=*/*.parquet")
    }
    reader = threading.Thread(target=poll)
    reader.start()
    try:
        books.write("2026-01", FAULTS[fault])
        result = books.run()
    finally:
        done.set()
        reader.join()
    assert {problem.code for problem in result.problems} == {"CHECK_001"}
    assert seen == published
    assert books.list_published() == before


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
