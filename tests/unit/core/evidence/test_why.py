"""Questions about rows, compiled from a snapshot alone, and the answers as text."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from airflow_provider_runtime.core.catalog.loader import load_catalog
from airflow_provider_runtime.core.errors import DefinitionError, PlanError
from airflow_provider_runtime.core.evidence.row_story import WIDTH, write_history
from airflow_provider_runtime.core.evidence.why import Question, describe_history, history_to_json, make_request
from airflow_provider_runtime.core.planning.snapshot.builder import ResolveOptions, build_snapshot
from airflow_provider_runtime.core.runs.published import FoundRun, find_reported_run
from spark_jobs.contract.report import Report
from spark_jobs.contract.snapshot import Snapshot
from spark_jobs.contract.why import (
    Change,
    Contribution,
    Difference,
    Group,
    History,
    JoinMatch,
    Origin,
    OutputProof,
    RowHistory,
    Step,
)
from tests.unit.core.books import CATALOG, Books, publish_books


@pytest.fixture(scope="module")
def books(tmp_path_factory: pytest.TempPathFactory) -> Books:
    return publish_books(tmp_path_factory.mktemp("why"))


@pytest.fixture(scope="module")
def snapshot(books: Books) -> Snapshot:
    return build_snapshot(load_catalog(books.root / "catalog"), "close", "2026-01", ResolveOptions(slice_store="s"))


def test_conditions_are_taken_apart_with_the_columns_that_they_read(snapshot: Snapshot) -> None:
    request = make_request(snapshot, Question('shop = "its" AND (usd > 5 OR sales.amount IS NULL) AND _deleted'))
    assert [condition.columns for condition in request.conditions] == [{"shop"}, {"usd", "amount"}, {"_deleted"}]
    assert request.conditions[0].sql == "`@w`.`shop` = 'its'"


@pytest.mark.parametrize(
    ("where", "codes"),
    [
        ("shopp = 1", ["EXPR_002"]),
        ("shop", ["EXPR_004"]),
        ("shop = ", ["EXPR_001"]),
        ("fx.rate > 1", ["EXPR_002"]),
        ("SUM(usd) > 1", ["EXPR_005"]),
        ("{{NONE}}", ["SELECTOR_001"]),
        ('shop = 1 AND sho = ""', ["EXPR_004", "EXPR_002"]),
    ],
)
def test_wrong_condition_is_shown_with_all_its_mistakes(snapshot: Snapshot, where: str, codes: list[str]) -> None:
    with pytest.raises(DefinitionError) as caught:
        make_request(snapshot, Question(where))
    assert [problem.code for problem in caught.value.problems] == codes
    assert {problem.location.source_line for problem in caught.value.problems} == {where}


def test_unknown_output_is_refused_and_later_columns_are_unknown_to_an_output(snapshot: Snapshot) -> None:
    with pytest.raises(DefinitionError, match="there is no output 10"):
        make_request(snapshot, Question("TRUE", output=10))
    assert make_request(snapshot, Question("usd > 1", output=20)).output == 20


def test_what_an_aggregation_sums_up_is_found(books: Books, tmp_path: Path) -> None:
    operations = CATALOG.replace(
        "operations:\n    - {seq: 10, name: Convert",
        "operations:\n    - {seq: 5, name: Total, type: aggregate, arguments: {group_by: [shop], aggregations: ["
        '{column: both, expression: "SUM(amount * 2) / COUNT(*) + MAX_AGG(amount)"},'
        "{column: lines, expression: COUNT(*)}]}}\n    - {seq: 10, name: Convert",
        1,
    )
    made = Books(tmp_path)
    made.write(operations)
    found = build_snapshot(load_catalog(tmp_path / "catalog"), "close", "2026-01", ResolveOptions(slice_store="s"))
    terms = make_request(found, Question("TRUE")).terms
    assert [(term.column, term.sql) for term in terms[5]] == [
        ("both", "`@w`.`amount` * CAST(2L AS DECIMAL(20,0))"),
        ("both", "`@w`.`amount`"),
    ]


def make_history() -> History:
    created = (Change("shop", None, "north"), Change("amount", None, "10.00"), Change("_deleted", None, "false"))
    update = Step(
        10,
        "update",
        "Convert",
        "books.yaml",
        38,
        touched=True,
        joins=(JoinMatch("fx", {"currency": "EUR", "rate": "1.100000"}), JoinMatch("none", None)),
        changes=(Change("usd", None, "11.00"), Change("_updated_at", None, "2026-02-01T00:00:00Z")),
    )
    group = Group({"shop": None}, 1200, (Contribution("total", "row-1", "11.00"), Contribution("total", None, "9.00")))
    summed = Step(15, "aggregate", "Sum", "books.yaml", 40, touched=True, group=group)
    proof = OutputProof(
        20, selected=True, published=True, equal=False, differences=(Difference("usd", "11.00", "\x1b[2Jx"),)
    )
    steps = (Step(0, "load", "sales", touched=True, changes=created), update, summed)
    return History(
        (RowHistory("row-1", Origin("sales", 1, 0, "/data/a.csv"), steps, (proof,)),), ("/data/a.csv",), True
    )


def test_story_shows_values_matches_groups_and_differences(books: Books, snapshot: Snapshot) -> None:
    record = books.registry.list_runs()[0]
    found = FoundRun(record, Report("", 1, "succeeded"), datetime(2026, 2, 1, 9, 30, tzinfo=UTC))
    story = write_history(snapshot, found, describe_history(snapshot, make_history()))
    told = " ".join(story.split())
    for sentence in (
        "published on 2026-02-01 at 09:30 UTC.",
        "It was read from /data/a.csv, version 1 of the dataset sales:",
        "Operation 10, Convert (books.yaml, line 38), changed it.",
        "fx: found currency EUR, rate 1.100000.",
        "none: nothing was found.",
        "usd: NULL became 11.00, by ROUND(amount * fx.rate, 2).",
        "It went into the group shop NULL: 1,200 rows.",
        "11.00 row-1 (this row)",
        "9.00 a row of the source",
        "usd is �[2Jx, replayed it is 11.00",
        "There are more rows than these 1",
        "Changed since the run has read them: /data/a.csv",
    ):
        assert sentence in told
    assert "_updated_at" not in story
    assert "\x1b" not in story
    assert max(map(len, story.splitlines())) <= WIDTH


def test_json_has_the_keys_that_are_promised(snapshot: Snapshot) -> None:
    document = history_to_json(describe_history(snapshot, make_history()))
    assert set(document) == {"rows", "changed_sources"}
    (row,) = document["rows"]
    assert set(row) == {"row_id", "origin", "steps", "outputs"}
    assert row["origin"] == {"dataset_id": "sales", "version": 1, "operation_seq": 0, "file": "/data/a.csv"}
    step = row["steps"][1]
    assert set(step) == {"seq", "type", "name", "file", "line", "touched", "joins", "changes", "group"}
    assert step["changes"][0] == {
        "column": "usd",
        "before": None,
        "after": "11.00",
        "expression": "ROUND(amount * fx.rate, 2)",
    }
    assert set(row["outputs"][0]) == {"seq", "selected", "published", "equal", "differences"}


def test_run_that_is_asked_about_must_have_published(books: Books) -> None:
    with pytest.raises(PlanError, match="nothing is published of close, 2031-01"):
        find_reported_run(books.registry, "close", "2031-01")
    with pytest.raises(PlanError, match="run nobody is not known"):
        find_reported_run(books.registry, "close", "2026-01", "nobody")
    run = next(run for run in books.registry.list_runs(project="close", period="2026-01"))
    with pytest.raises(PlanError, match="and not of close, 2026-02"):
        find_reported_run(books.registry, "close", "2026-02", run.run_id)
    assert find_reported_run(books.registry, "close", "2026-01", run.run_id).replaced_by is None
